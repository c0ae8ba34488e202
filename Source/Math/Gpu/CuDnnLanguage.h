// The names of cuDNN: for nvcc those of cudnn.h, where CMake has found it; for any other compiler those of the unit
// tests' emulation, which runs what the backend makes of them on the processor.
#pragma once

#ifdef __CUDACC__
#ifdef CNTK_WITH_CUDNN
#include <cudnn.h>
#endif
#else
#define CNTK_WITH_CUDNN
#include <CudaEmulation/CuDnnEmulation.h>
namespace cntk
{
using namespace CuDnnEmulation;
}
#endif
