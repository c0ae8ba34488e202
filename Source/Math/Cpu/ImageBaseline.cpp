// The inner loops of convolution and pooling for every x86-64.
#include "Math/Cpu/ImageIsaTemplates.h"

namespace cntk
{

ImageIsaSet ImageBaseline()
{
    static constexpr ImageIsa<float> floats = ImageLoops<float, 16, 12>::Table();
    static constexpr ImageIsa<double> doubles = ImageLoops<double, 16, 12>::Table();
    return {&floats, &doubles};
}

} // namespace cntk
