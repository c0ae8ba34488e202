// Convolution: where elements stand in both layouts, sizes, fusion with bias and non-linearity, errors.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/ConvolutionNode.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

using testing::ElementsAre;
using testing::HasSubstr;
using Parameters = std::map<std::string, std::string>;

NodeParameters ParametersOf(const Parameters& values)
{
    NodeParameters parameters;
    for (const auto& [name, value] : values)
        parameters.Set(name, value);
    return parameters;
}

Parameters Plane(const std::string& width, const std::string& height, const std::string& maps,
                 const std::string& layout, bool padding = false)
{
    return {{"kernelShape", width},       {"kernelHeight", height},   {"outputChannels", maps},
            {"horizontalSubsample", "1"}, {"verticalSubsample", "1"}, {"zeroPadding", padding ? "true" : "false"},
            {"imageLayout", layout}};
}

struct ImageNetwork : TestNetwork
{
    ImageNetwork(const TensorShape& weightShape, const TensorShape& imageShape, const Parameters& parameters)
    {
        SetFrames(1);
        weights = Parameter("W", weightShape);
        image = Input("x", imageShape);
        convolution = network.Add("Convolution", "c", {weights, image}, ParametersOf(parameters));
    }

    std::vector<double> Run(const std::vector<double>& weightValues, const std::vector<double>& imageValues)
    {
        network.Validate();
        dynamic_cast<LearnableParameterNode&>(*weights).Values().FromHost(weightValues);
        dynamic_cast<InputValueNode&>(*image).SetDense(imageValues.data(), imageValues.size(), 1);
        Evaluator evaluator(network, {convolution});
        evaluator.Forward();
        return ValueOf(convolution);
    }

    std::string Error()
    {
        return MessageOf([&] { network.Validate(); });
    }

    ComputationNodePtr weights, image, convolution;
};

// Channels fastest, then rows, then columns; the kernel's elements in the order row, column, channel, outputs fastest.
TEST(ConvolutionNodeTest, ChannelsFirstHasTheBooksOrder)
{
    // 3 wide, 2 high, 2 channels; kernel 2 wide, 1 high; 2 maps.
    ImageNetwork net({2, 4}, {2, 3, 2}, Plane("2", "1", "2", "HWC"));
    const std::vector<double> image = {/* x=0: y=0 */ 1, 2,  /* y=1 */ 3, 4, /* x=1 */ 5, 6, 7, 8,
                                       /* x=2 */ 9,      10, 11,          12};
    // Columns: channel 0 at q=0, at q=1, channel 1 at q=0, at q=1.
    const std::vector<double> weights = {1, 0, 10, 0, 100, 0, 1000, 1};
    EXPECT_THAT(net.Run(weights, image), ElementsAre(6251, 6, 8473, 8, 10695, 10, 12917, 12));
    EXPECT_EQ(net.convolution->SampleLayout(), (TensorShape{2, 2, 2}));
}

// CNTK v1.1 stores the fields in this form.
TEST(ConvolutionNodeTest, TheBooksFormCountsMapsAlongTheChannels)
{
    for (const char* layout : {"HWC", "CHW"})
    {
        ImageNetwork net({2, 4}, layout == std::string("HWC") ? TensorShape{2, 3, 2} : TensorShape{3, 2, 2},
                         Plane("2", "1", "2", layout));
        net.network.Validate();
        EXPECT_THAT(net.convolution->DescribeFields(), HasSubstr("kernel=2 x 1 x 2  maps=1 x 1 x 2  stride=1 x 1 x 2"));
    }
}

// x fastest, then y, then channels; one kernel after another.
TEST(ConvolutionNodeTest, ChannelsLastHasKernelAfterKernel)
{
    ImageNetwork net({2, 4}, {3, 2, 2}, Plane("2", "1", "2", "CHW"));
    const std::vector<double> image = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    // Matrix [2 x 4] whose memory is read kernel by kernel.
    const std::vector<double> weights = {1, 10, 100, 1000, 0, 0, 0, 1};
    EXPECT_THAT(net.Run(weights, image), ElementsAre(8721, 9832, 12054, 13165, 8, 9, 11, 12));
    EXPECT_EQ(net.convolution->SampleLayout(), (TensorShape{2, 2, 2}));
}

TEST(ConvolutionNodeTest, PaddingBeginsHalfAKernelBefore)
{
    const std::vector<double> line = {1, 2, 3, 4};
    // Even kernels: HWC begins floor(K/2) before the image, CHW has the longer half behind the centre.
    ImageNetwork first({1, 2}, {1, 4, 1}, Plane("2", "1", "1", "HWC", true));
    EXPECT_THAT(first.Run({1, 10}, line), ElementsAre(10, 21, 32, 43));
    ImageNetwork last({1, 2}, {4, 1, 1}, Plane("2", "1", "1", "CHW", true));
    EXPECT_THAT(last.Run({1, 10}, line), ElementsAre(21, 32, 43, 4));
}

// Strides that do not tile: the original's engines for the CPU split the rest evenly.
TEST(ConvolutionNodeTest, TheRestOfStridesIsSplitEvenly)
{
    ImageNetwork net({1, 2}, {5, 1, 1},
                     {{"kernelShape", "1:1:1"}, {"stride", "3:1:1"}, {"autoPadding", "false"}, {"mapCount", "2"}});
    EXPECT_THAT(net.Run({1, 10}, {1, 2, 3, 4, 5}), ElementsAre(1, 4, 10, 40));
    ImageNetwork wide({1, 1}, {6, 1, 1}, {{"kernelShape", "1:1:1"}, {"stride", "4:1:1"}, {"autoPadding", "false"}});
    EXPECT_THAT(wide.Run({1}, {1, 2, 3, 4, 5, 6}), ElementsAre(1, 5));
    ImageNetwork wider({1, 1}, {7, 1, 1}, {{"kernelShape", "1:1:1"}, {"stride", "4:1:1"}, {"autoPadding", "false"}});
    EXPECT_THAT(wider.Run({1}, {1, 2, 3, 4, 5, 6, 7}), ElementsAre(2, 6));
    ImageNetwork padded(
        {1, 3}, {5, 1, 1},
        {{"kernelShape", "3:1:1"}, {"stride", "3:1:1"}, {"autoPadding", "false"}, {"lowerPad", "1:0:0"}});
    EXPECT_THAT(padded.Run({1, 10, 100}, {1, 2, 3, 4, 5}), ElementsAre(210, 543));
}

TEST(ConvolutionNodeTest, SizesFollowFromTheImage)
{
    ImageNetwork net({0, 0}, {3, 28, 20}, Plane("5", "3", "16", "HWC"));
    net.network.Validate();
    EXPECT_EQ(net.weights->SampleLayout(), (TensorShape{16, 45}));
    EXPECT_EQ(net.convolution->SampleLayout(), (TensorShape{16, 24, 18}));
    ImageNetwork same({0, 0}, {28, 20, 3}, Plane("5", "4", "8", "CHW", true));
    same.network.Validate();
    EXPECT_EQ(same.convolution->SampleLayout(), (TensorShape{28, 20, 8}));
    EXPECT_EQ(same.weights->SampleLayout(), (TensorShape{8, 60}));
}

TEST(ConvolutionNodeTest, SaysWhatDoesNotFit)
{
    EXPECT_EQ(ImageNetwork({2, 9}, {16}, Plane("3", "3", "2", "HWC")).Error(),
              "Convolution with imageLayout=HWC takes images of three dimensions, [channels x width x height], but 'x' "
              "[16] has 1; read the data with ImageInput, or give them their dimensions with Reshape(x, rows, "
              "imageWidth=..., imageHeight=..., imageChannels=...)");
    EXPECT_EQ(ImageNetwork({2, 9}, {1, 2, 4}, Plane("3", "3", "2", "HWC")).Error(),
              "the window's width is 3, more than the 2 of the image");
    EXPECT_EQ(
        ImageNetwork({2, 9}, {2, 4, 4}, Plane("3", "3", "2", "HWC")).Error(),
        "the weights 'W' [2 x 9] do not fit the image 'x' [2 x 4 x 4]; expected [2 x 18]: 2 output channels of 18 "
        "elements");
    EXPECT_EQ(
        ImageNetwork({2, 9}, {4, 4, 1}, {{"kernelShape", "3:3"}}).Error(),
        "the kernel [3 x 3] has 2 dimensions, but the input [4 x 4 x 1] has 3; a kernel has as many dimensions as "
        "its input, the channels included");
    EXPECT_EQ(ImageNetwork({2, 9}, {4, 4, 1}, {{"kernelShape", "3:3:1"}, {"stride", "1:2"}}).Error(),
              "stride has 2 values; expected one for all dimensions or one for each of the 3 dimensions of the input");
    EXPECT_EQ(ImageNetwork({2, 9}, {4, 2, 1}, {{"kernelShape", "3:3:1"}, {"autoPadding", "false"}}).Error(),
              "the kernel has 3 elements in dimension 2, but the input only 2");
    EXPECT_EQ(ImageNetwork({2, 9}, {4, 4, 1}, {{"kernelShape", "3:3:1"}, {"imageLayout", "HWC"}}).Error(),
              "Convolution over any number of dimensions needs imageLayout=CHW; for HWC images give kernelWidth, "
              "kernelHeight, outputChannels, horizontalSubsample and verticalSubsample");
}

TEST(ConvolutionNodeTest, SaysWhichArgumentsAreWrong)
{
    const auto message = [](const Parameters& parameters) {
        return MessageOf([&] { ImageNetwork({2, 9}, {1, 4, 4}, parameters); });
    };
    Parameters plane = Plane("3", "3", "2", "HWC");
    plane.erase("verticalSubsample");
    EXPECT_EQ(message(plane), "Convolution takes seven arguments (w, image, kernelWidth, kernelHeight, outputChannels, "
                              "horizontalSubsample, verticalSubsample) or three (w, image, kernelShape)");
    EXPECT_EQ(message(Plane("0", "3", "2", "HWC")), "parameter 'kernelShape' is 0; expected 1 or more");
    EXPECT_EQ(message(Plane("3", "3", "2", "WHC")),
              "parameter 'imageLayout' is 'WHC'; expected HWC (legacy) or CHW (cudnn)");
    EXPECT_EQ(message({{"kernelShape", "3:x:1"}}),
              "parameter 'kernelShape' is '3:x:1'; expected a number or a list of numbers like {5, 5, 3}");
    EXPECT_EQ(message({{"kernelShape", "3:3:1"}, {"sharing", "true:2"}}),
              "parameter 'sharing' is 'true:2'; expected true or false, or a list of them like {true, true, false}");
    EXPECT_EQ(message({{"kernelShape", "3:3:1"}, {"maxTempMemSizeInSamples", "-1"}}),
              "parameter 'maxTempMemSizeInSamples' is -1; expected 0 (no limit) or more");
}

// The weights' size cannot be inferred then; the reason is told.
TEST(ConvolutionNodeTest, WeightsOfNoSizeAndDataThatAreNoImage)
{
    EXPECT_EQ(ImageNetwork({0, 0}, {16}, Plane("3", "3", "2", "HWC")).Error(),
              ImageNetwork({2, 9}, {16}, Plane("3", "3", "2", "HWC")).Error());
}

// ---- fusion ----

struct FusedNetwork : TestNetwork
{
    FusedNetwork(const std::string& layout, const TensorShape& biasShape)
    {
        SetSequences({3, 1, 2});
        const TensorShape imageShape = layout == "HWC" ? TensorShape{2, 4, 3} : TensorShape{4, 3, 2};
        auto x = Input("x", imageShape);
        auto w = Parameter("W", {3, 18});
        c = network.Add("Convolution", "c", {w, x}, ParametersOf(Plane("3", "3", "3", layout, true)));
        sum = network.Add("Plus", "sum", {c, Parameter("b", biasShape)});
        y = network.Add("RectifiedLinear", "y", {sum});
        criterion = network.Add("TestCriterion", "ce", {y});
        network.Validate();
        FillInputs();
    }

    std::string Plan() const
    {
        return EvaluationPlan::Build({criterion},
                                     {.training = true, .fuse = true, .backwardRoot = {}, .keepValues = {}})
            .ToString();
    }

    // The criterion, then the gradients of all parameters.
    std::vector<double> Run(bool fuse)
    {
        EvaluatorOptions options;
        options.training = true;
        options.fuse = fuse;
        options.checkPlan = true;
        Evaluator evaluator(network, {criterion}, options);
        evaluator.Forward();
        evaluator.Backward(criterion);
        std::vector<double> results = ValueOf(criterion);
        for (const auto& parameter : evaluator.Parameters())
            for (const double gradient : GradientOf(parameter))
                results.push_back(gradient);
        return results;
    }

    ComputationNodePtr c, sum, y, criterion;
};

TEST(ConvolutionNodeTest, BiasAndNonLinearityBecomeOneStep)
{
    for (const std::string layout : {"HWC", "CHW"})
    {
        FusedNetwork net(layout, layout == "HWC" ? TensorShape{3, 1} : TensorShape{1, 1, 3});
        EXPECT_THAT(net.Plan(), HasSubstr("fused: c, sum, y\n"));
        const std::vector<double> apart = net.Run(false);
        const std::vector<double> fused = net.Run(true);
        ASSERT_EQ(apart.size(), fused.size());
        for (size_t i = 0; i < apart.size(); i++)
            EXPECT_NEAR(apart[i], fused[i], 1e-12);
    }
}

TEST(ConvolutionNodeTest, ABiasOfEachPixelIsNotFused)
{
    EXPECT_THAT(FusedNetwork("HWC", {3, 4, 3}).Plan(), Not(HasSubstr("fused")));
    EXPECT_THAT(FusedNetwork("HWC", {1, 1}).Plan(), Not(HasSubstr("fused")));
    EXPECT_THAT(FusedNetwork("CHW", {1, 3, 1}).Plan(), Not(HasSubstr("fused")));
}

} // namespace

} // namespace cntk::Testing
