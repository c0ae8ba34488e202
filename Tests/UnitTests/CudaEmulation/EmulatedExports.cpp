// The emulated GPU as a GPU library, for end-to-end tests.
#include "CudaEmulation/EmulatedGpu.h"
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
    return cntk::FindGpu(request, std::make_unique<cntk::EmulatedRuntime>(), cntk::MakeEmulatedBlas,
                         [&](cntk::GpuContext& context) { return cntk::MakeEmulatedDnn(context, request.matrixMath); })
        .release();
}
