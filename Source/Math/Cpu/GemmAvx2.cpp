// The project's own matrix product, compiled for AVX2.
#include "Math/Cpu/GemmKernel.h"

namespace cntk
{

const GemmIsa& GemmAvx2()
{
    static const GemmIsa isa = MakeGemmIsa<32, 6>("AVX2");
    return isa;
}

} // namespace cntk
