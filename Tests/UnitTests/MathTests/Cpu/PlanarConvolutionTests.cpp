// Operands of convolutions in the layout of the inner loops.
#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/PlanarConvolution.h"

#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace cntk
{
namespace
{

using Weights = ConvolutionGeometry::Weights;

// 2 channels of 4 x 3 pixels, kernels of 3 x 2 with padding on one side, 5 maps, stride 2 along A.
ConvolutionGeometry Geometry(Weights weights)
{
    const WindowAxis channels{2, 2, 1, 0, 1, 5, true};
    const WindowAxis a{4, 3, 2, -1, 2, 1, true};
    const WindowAxis b{3, 2, 1, -1, 4, 1, true};
    ConvolutionGeometry geometry;
    geometry.rank = 3;
    geometry.weights = weights;
    if (weights == Weights::OutputsFastest)
        geometry.axes = {channels, a, b};
    else
        geometry.axes = {a, b, channels};
    return geometry;
}

std::vector<double> Counting(size_t count)
{
    std::vector<double> values(count);
    std::iota(values.begin(), values.end(), 1.0);
    return values;
}

} // namespace

TEST(PlanarFormTest, TakesAllChannelsAndTwoAxes)
{
    for (const Weights weights : {Weights::OutputsFastest, Weights::KernelByKernel})
    {
        const auto form = PlanarForm::Of(Geometry(weights));
        ASSERT_TRUE(form);
        EXPECT_EQ(form->channelsFirst, weights == Weights::OutputsFastest);
        EXPECT_EQ(form->channels, 2u);
        EXPECT_EQ(form->maps, 5u);
        EXPECT_EQ(form->a.kernel, 3u);
        EXPECT_EQ(form->b.kernel, 2u);
        EXPECT_EQ(form->PaddedElements(), 5u * 5 * 2);
    }
}

TEST(PlanarFormTest, RefusesOthers)
{
    ConvolutionGeometry someChannels = Geometry(Weights::OutputsFastest);
    someChannels.axes[0].kernel = 1;
    someChannels.axes[0].windows = 2;
    EXPECT_FALSE(PlanarForm::Of(someChannels));
    ConvolutionGeometry ownKernels = Geometry(Weights::KernelByKernel);
    ownKernels.axes[1].isShared = false;
    EXPECT_FALSE(PlanarForm::Of(ownKernels));
    ConvolutionGeometry volume = Geometry(Weights::OutputsFastest);
    volume.axes[volume.rank++] = WindowAxis{3, 2, 1, 0, 2, 1, true};
    EXPECT_FALSE(PlanarForm::Of(volume));
}

TEST(PlanarFormTest, PackedWeightsComeBack)
{
    const ImageFunctions<double>& functions = KernelsFor(InstructionSet::Baseline).images.Of<double>();
    for (const Weights weights : {Weights::OutputsFastest, Weights::KernelByKernel})
    {
        const PlanarForm form = *PlanarForm::Of(Geometry(weights));
        const std::vector<double> values = Counting(form.maps * form.Elements());
        GrowingMemory memory;
        const double* packed = PackWeights(functions, form, values.data(), memory);
        std::vector<double> back(values.size(), -1);
        UnpackWeights(functions, form, packed, 0.0, back.data());
        EXPECT_EQ(back, values);
        UnpackWeights(functions, form, packed, 1.0, back.data()); // added to the old values
        for (size_t i = 0; i < values.size(); ++i)
            EXPECT_EQ(back[i], 2 * values[i]);
    }
}

TEST(PlanarFormTest, ImagesHavePadding)
{
    const ImageFunctions<double>& functions = KernelsFor(InstructionSet::Baseline).images.Of<double>();
    for (const Weights weights : {Weights::OutputsFastest, Weights::KernelByKernel})
    {
        const PlanarForm form = *PlanarForm::Of(Geometry(weights));
        const std::vector<double> image = Counting(form.InputPixels() * form.channels);
        PlanarMemory memory;
        const double* padded = PaddedImage(functions, form, image.data(), memory);
        for (size_t b = 0; b < 5; ++b)
            for (size_t a = 0; a < 5; ++a)
                for (size_t channel = 0; channel < 2; ++channel)
                {
                    // One pixel of padding before each axis. Along A the image ends with the last window.
                    const bool isInside = a >= 1 && a < 5 && b >= 1 && b < 4;
                    const size_t pixel = isInside ? (a - 1) + 4 * (b - 1) : 0;
                    const double expected = !isInside            ? 0
                                            : form.channelsFirst ? image[channel + 2 * pixel]
                                                                 : image[pixel + 12 * channel];
                    EXPECT_EQ(padded[channel + 2 * (a + 5 * b)], expected) << a << ' ' << b << ' ' << channel;
                }
    }
}

} // namespace cntk
