// The inner loops of update rules for every x86-64.
#include "Math/Cpu/UpdateIsaTemplates.h"

namespace cntk
{

UpdateIsaSet UpdateBaseline()
{
    return {&c_floatUpdates, &c_doubleUpdates};
}

} // namespace cntk
