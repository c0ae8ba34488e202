// Noise for every x86-64.
#include "Math/Cpu/NoiseIsaTemplates.h"

namespace cntk
{

NoiseIsaSet NoiseBaseline()
{
    return c_noise;
}

} // namespace cntk
