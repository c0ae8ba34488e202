// Creates the device that a config asks for.
#include "Common/Error.h"
#include "Common/Text.h"
#include "Math/Device.h"
#include "Math/Gpu/GpuChoice.h"

namespace cntk
{

std::shared_ptr<Device> MakeGpuDevice(DeviceId id, const GpuOptions& options)
{
    return OpenCheckedGpu(id, options, GpuSearch::Default());
}

std::shared_ptr<Device> MakeDevice(const std::string& deviceId, const CpuOptions& options, const GpuOptions& gpuOptions)
{
    if (EqualsIgnoreCase(deviceId, "cpu"))
        return MakeCpuDevice(options);
    if (EqualsIgnoreCase(deviceId, "auto"))
    {
        const GpuChoice choice = ChooseGpu(gpuOptions, GpuSearch::Default());
        if (gpuOptions.report)
            gpuOptions.report((choice.device ? "deviceId=auto takes " : "deviceId=auto takes the CPU: ") +
                              choice.report);
        return choice.device ? choice.device : MakeCpuDevice(options);
    }
    const std::optional<long long> id = ParseInteger(deviceId);
    if (!id || *id < c_cpuDevice || *id > 1023)
        Fail(ErrorKind::Config, "deviceId is '", deviceId, "'; expected auto, cpu, -1 (CPU) or the number of a GPU");
    return *id == c_cpuDevice ? MakeCpuDevice(options) : MakeGpuDevice(DeviceId(*id), gpuOptions);
}

} // namespace cntk
