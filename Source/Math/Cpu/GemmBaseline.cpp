// The project's own matrix product, compiled for SSE2.
#include "Math/Cpu/GemmKernel.h"

namespace cntk
{

const GemmIsa& GemmBaseline()
{
    static const GemmIsa isa = MakeGemmIsa<16, 4>("SSE2");
    return isa;
}

} // namespace cntk
