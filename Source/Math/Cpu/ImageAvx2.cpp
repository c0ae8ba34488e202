// The inner loops of convolution and pooling for processors with AVX2 and FMA.
#include "Math/Cpu/ImageIsaTemplates.h"

namespace cntk
{

ImageIsaSet ImageAvx2()
{
    static constexpr ImageIsa<float> floats = ImageLoops<float, 32, 12>::Table();
    static constexpr ImageIsa<double> doubles = ImageLoops<double, 32, 12>::Table();
    return {&floats, &doubles};
}

} // namespace cntk
