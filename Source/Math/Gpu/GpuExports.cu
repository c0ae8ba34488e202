// The functions that the GPU library exports.
#include "Math/Gpu/GpuDevice.h"
#include "Math/Gpu/GpuLibrary.h"

#define CNTK_GPU_EXPORT extern "C" __attribute__((visibility("default")))

CNTK_GPU_EXPORT const char* CntkGpuStamp();
CNTK_GPU_EXPORT cntk::Device* CntkMakeGpu(const cntk::GpuRequest& request);
CNTK_GPU_EXPORT void CntkListGpus(std::vector<cntk::GpuFound>& found);

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

void CntkListGpus(std::vector<cntk::GpuFound>& found)
{
    found = cntk::ListGpus(*cntk::MakeCudaRuntime());
}
