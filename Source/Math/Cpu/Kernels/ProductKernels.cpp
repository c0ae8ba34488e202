// The matrix products of this instruction set.
#include "Math/Cpu/Kernels/CompiledFor.h"
#include "Math/Cpu/Kernels/GemmKernel.h"

namespace cntk
{

// The columns of C beside its rows in registers are as many as leave registers for A and B.
template <>
ProductKernels MakeProductKernels<c_compiledFor>()
{
    constexpr size_t c_columns = c_registerBytes == 64 ? 12 : c_registerBytes == 32 ? 6 : 4;
    return MakeProducts<c_registerBytes, c_columns>();
}

} // namespace cntk
