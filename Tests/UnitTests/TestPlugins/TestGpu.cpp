// A GPU library for the tests of GpuLibrary: it finds no GPU.
#include "Common/Error.h"
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
    cntk::Fail(cntk::ErrorKind::Device, "GPU ", request.id, " is not there");
}
