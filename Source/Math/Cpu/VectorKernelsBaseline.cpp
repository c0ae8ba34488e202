// The inner loops for every x86-64.
#include "Math/Cpu/VectorKernelSets.h"
#include "Math/Cpu/VectorKernelTemplates.h"

namespace cntk
{

VectorKernelSet BaselineKernels()
{
    return {&simd::c_floatKernels, &simd::c_doubleKernels};
}

} // namespace cntk
