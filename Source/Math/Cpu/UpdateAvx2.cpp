// The inner loops of update rules for processors with AVX2 and FMA.
#include "Math/Cpu/UpdateIsaTemplates.h"

namespace cntk
{

UpdateIsaSet UpdateAvx2()
{
    return {&c_floatUpdates, &c_doubleUpdates};
}

} // namespace cntk
