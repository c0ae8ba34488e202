// The inner loops for processors with AVX2 and FMA.
#include "Math/Cpu/VectorKernelSets.h"
#include "Math/Cpu/VectorKernelTemplates.h"

namespace cntk
{

VectorKernelSet Avx2Kernels()
{
    return {&simd::c_floatKernels, &simd::c_doubleKernels};
}

} // namespace cntk
