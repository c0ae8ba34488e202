// Noise for processors with AVX-512 (F, BW, DQ, VL).
#include "Math/Cpu/NoiseIsaTemplates.h"

namespace cntk
{

NoiseIsaSet NoiseAvx512()
{
    return c_noise;
}

} // namespace cntk
