// Which device a config asks for.
#include "Common/Error.h"
#include "Common/Text.h"
#include "Math/Device.h"

namespace cntk
{

std::shared_ptr<Device> MakeGpuDevice(DeviceId id)
{
    Fail(ErrorKind::Device, "GPU ", id, " cannot be used: this build has no GPU library; deviceId=cpu runs on the CPU");
}

std::shared_ptr<Device> MakeDevice(const std::string& deviceId, const CpuOptions& options)
{
    // Without a GPU library the best device is the CPU.
    if (EqualsIgnoreCase(deviceId, "auto") || EqualsIgnoreCase(deviceId, "cpu"))
        return MakeCpuDevice(options);
    const std::optional<long long> id = ParseInteger(deviceId);
    if (!id || *id < c_cpuDevice || *id > 1023)
        Fail(ErrorKind::Config, "deviceId is '", deviceId, "'; expected auto, cpu, -1 (CPU) or the number of a GPU");
    return *id == c_cpuDevice ? MakeCpuDevice(options) : MakeGpuDevice(DeviceId(*id));
}

} // namespace cntk
