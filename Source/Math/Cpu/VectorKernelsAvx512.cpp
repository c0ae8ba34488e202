// The inner loops for processors with AVX-512 F, BW, DQ and VL.
#include "Math/Cpu/VectorKernelSets.h"
#include "Math/Cpu/VectorKernelTemplates.h"

namespace cntk
{

VectorKernelSet Avx512Kernels()
{
    return {&simd::c_floatKernels, &simd::c_doubleKernels};
}

} // namespace cntk
