// A GPU library for the tests of GpuLibrary: it finds no GPU.
#include "Common/Error.h"
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
    cntk::Fail(cntk::ErrorKind::Device, "GPU ", request.id, " is not there");
}

void CntkListGpus(std::vector<cntk::GpuFound>&)
{
    cntk::Fail(cntk::ErrorKind::Device, "there is no GPU");
}
