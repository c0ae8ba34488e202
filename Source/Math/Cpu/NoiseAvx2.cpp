// Noise for processors with AVX2.
#include "Math/Cpu/NoiseIsaTemplates.h"

namespace cntk
{

NoiseIsaSet NoiseAvx2()
{
    return c_noise;
}

} // namespace cntk
