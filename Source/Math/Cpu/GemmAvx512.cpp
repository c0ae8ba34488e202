// The project's own matrix product, compiled for AVX-512.
#include "Math/Cpu/GemmKernel.h"

namespace cntk
{

const GemmIsa& GemmAvx512()
{
    static const GemmIsa isa = MakeGemmIsa<64, 12>("AVX-512");
    return isa;
}

} // namespace cntk
