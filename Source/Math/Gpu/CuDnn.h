// cuDNN as the GPU backend's library for convolution and pooling.
#pragma once

#include "Math/Device.h"
#include "Math/Gpu/CuDnnFunctions.h"
#include "Math/Gpu/GpuDnn.h"

#ifdef CNTK_WITH_CUDNN
namespace cntk
{

// For the current device, whose context must outlive it. Where cuDNN cannot start, one that does nothing and says why.
std::unique_ptr<GpuDnn> MakeDnn(const CuDnnFunctions& functions, GpuContext& context, GpuMatrixMath math);

} // namespace cntk
#endif
