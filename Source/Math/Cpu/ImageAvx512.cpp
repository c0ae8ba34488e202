// The inner loops of convolution and pooling for processors with AVX-512.
#include "Math/Cpu/ImageIsaTemplates.h"

namespace cntk
{

ImageIsaSet ImageAvx512()
{
    static constexpr ImageIsa<float> floats = ImageLoops<float, 64, 28>::Table();
    static constexpr ImageIsa<double> doubles = ImageLoops<double, 64, 28>::Table();
    return {&floats, &doubles};
}

} // namespace cntk
