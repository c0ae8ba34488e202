// The inner loops of update rules for processors with AVX-512 F, BW, DQ and VL.
#include "Math/Cpu/UpdateIsaTemplates.h"

namespace cntk
{

UpdateIsaSet UpdateAvx512()
{
    return {&c_floatUpdates, &c_doubleUpdates};
}

} // namespace cntk
