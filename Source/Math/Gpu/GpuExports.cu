// What the GPU library exports.
#include "Math/Gpu/CudaRuntime.h"
#include "Math/Gpu/GpuDevice.h"
#include "Math/Gpu/GpuLibrary.h"

#define CNTK_GPU_EXPORT extern "C" __attribute__((visibility("default")))

CNTK_GPU_EXPORT const char* CntkGpuStamp();
CNTK_GPU_EXPORT cntk::Device* CntkMakeGpu(const cntk::GpuRequest& request);

const char* CntkGpuStamp()
{
    return CNTK_GPU_STAMP;
}

cntk::Device* CntkMakeGpu(const cntk::GpuRequest& request)
{
    return cntk::FindGpu(
               request, cntk::MakeCudaRuntime(), [&] { return cntk::MakeCuBlas(request.matrixMath); },
               [&](cntk::GpuContext& context) { return cntk::MakeCuDnn(context, request.matrixMath); })
        .release();
}
