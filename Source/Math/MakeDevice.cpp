// Which device a config asks for.
#include "Common/Error.h"
#include "Common/Text.h"
#include "Math/Device.h"
#include "Math/Gpu/GpuLibrary.h"

namespace cntk
{

namespace
{

// Numbers that nobody has compared with the CPU's are not for those who did not ask for them: until the backend has
// been proved on cards, a GPU is taken only where its number is given.
std::string WhyNotTheGpu(const GpuOptions& options)
{
    try
    {
        const auto gpu = OpenGpu({c_bestGpu, options.matrixMath, options.graphs, options.trace}, GpuSearch::Default());
        return Concat("the GPU backend has not been proved on cards yet; deviceId=", gpu->Id(), " asks for ",
                      gpu->Describe());
    }
    catch (const Error& error)
    {
        return error.Message();
    }
}

} // namespace

std::shared_ptr<Device> MakeGpuDevice(DeviceId id, const GpuOptions& options)
{
    return OpenGpu({id, options.matrixMath, options.graphs, options.trace}, GpuSearch::Default());
}

std::shared_ptr<Device> MakeDevice(const std::string& deviceId, const CpuOptions& options, const GpuOptions& gpuOptions)
{
    if (EqualsIgnoreCase(deviceId, "cpu"))
        return MakeCpuDevice(options);
    if (EqualsIgnoreCase(deviceId, "auto"))
    {
        if (gpuOptions.report)
            gpuOptions.report("deviceId=auto takes the CPU: " + WhyNotTheGpu(gpuOptions));
        return MakeCpuDevice(options);
    }
    const std::optional<long long> id = ParseInteger(deviceId);
    if (!id || *id < c_cpuDevice || *id > 1023)
        Fail(ErrorKind::Config, "deviceId is '", deviceId, "'; expected auto, cpu, -1 (CPU) or the number of a GPU");
    return *id == c_cpuDevice ? MakeCpuDevice(options) : MakeGpuDevice(DeviceId(*id), gpuOptions);
}

} // namespace cntk
