// The tables of inner loops, one for each instruction set.
#pragma once

#include "Math/Cpu/VectorKernels.h"

namespace cntk
{

struct VectorKernelSet
{
    const VectorKernels<float>* floats;
    const VectorKernels<double>* doubles;
};

VectorKernelSet BaselineKernels();
VectorKernelSet Avx2Kernels();
VectorKernelSet Avx512Kernels();

} // namespace cntk
