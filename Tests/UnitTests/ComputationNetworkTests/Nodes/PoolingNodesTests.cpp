// Pooling: values in both layouts, ties, padding, errors.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

using testing::ElementsAre;
using Parameters = std::map<std::string, std::string>;

struct PoolingNetwork : TestNetwork
{
    PoolingNetwork(const std::string& type, const TensorShape& shape, const Parameters& values)
    {
        SetFrames(1);
        NodeParameters parameters;
        for (const auto& [name, value] : values)
            parameters.Set(name, value);
        image = Input("x", shape);
        offset = Parameter("offset", shape);
        dynamic_cast<LearnableParameterNode&>(*offset).Values().SetZero();
        sum = Add("Plus", "sum", {image, offset});
        pooling = network.Add(type, "pool", {sum}, parameters);
        criterion = Add("SumElements", "ce", {pooling});
    }

    std::vector<double> Run(const std::vector<double>& values)
    {
        network.Validate();
        dynamic_cast<InputValueNode&>(*image).SetDense(values.data(), values.size(), 1);
        EvaluatorOptions options;
        options.training = true;
        options.keepValues = {pooling};
        Evaluator evaluator(network, {criterion}, options);
        evaluator.Forward();
        evaluator.Backward(criterion);
        gradient = GradientOf(offset);
        return ValueOf(pooling);
    }

    ComputationNodePtr image, offset, sum, pooling, criterion;
    std::vector<double> gradient;
};

Parameters Window(const char* width, const char* height, const char* stepW, const char* stepH, const char* layout)
{
    return {
        {"windowWidth", width}, {"windowHeight", height}, {"stepW", stepW}, {"stepH", stepH}, {"imageLayout", layout}};
}

TEST(PoolingNodesTest, ChannelsFirstPoolsRowsAndColumns)
{
    // 2 channels, 2 wide, 4 high; windows 1 wide and 2 high.
    PoolingNetwork net("MaxPooling", {2, 2, 4}, Window("1", "2", "1", "2", "HWC"));
    const std::vector<double> image = {1, 20, 2, 10, 4, 30, 3, 40, /* x=1 */ 9, 8, 7, 6, 5, 4, 3, 2};
    EXPECT_THAT(net.Run(image), ElementsAre(2, 20, 4, 40, 9, 8, 5, 4));
    EXPECT_EQ(net.pooling->SampleLayout(), (TensorShape{2, 2, 2}));
    EXPECT_THAT(net.gradient, ElementsAre(0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0));
}

TEST(PoolingNodesTest, EachMaximumGetsTheGradient)
{
    PoolingNetwork net("MaxPooling", {2, 2, 1}, Window("2", "2", "2", "2", "CHW"));
    EXPECT_THAT(net.Run({3, 1, 3, 2}), ElementsAre(3));
    EXPECT_THAT(net.gradient, ElementsAre(1, 0, 1, 0));
}

TEST(PoolingNodesTest, AveragesOfWindowsThatOverlap)
{
    PoolingNetwork net("AveragePooling", {4, 1, 1}, Window("2", "1", "1", "1", "CHW"));
    EXPECT_THAT(net.Run({1, 3, 5, 11}), ElementsAre(2, 4, 8));
    EXPECT_THAT(net.gradient, ElementsAre(0.5, 1, 1, 0.5));
}

TEST(PoolingNodesTest, PaddingIsNoMaximumAndDoesNotCount)
{
    PoolingNetwork largest("Pooling", {3, 1, 1}, {{"kind", "max"}, {"kernelShape", "3:1:1"}});
    EXPECT_THAT(largest.Run({-5, -3, -4}), ElementsAre(-3, -3, -3));
    PoolingNetwork mean("Pooling", {3, 1, 1}, {{"kind", "average"}, {"kernelShape", "3:1:1"}, {"stride", "2:1:1"}});
    EXPECT_THAT(mean.Run({2, 4, 8}), ElementsAre(3, 6));
    EXPECT_THAT(mean.gradient, ElementsAre(0.5, 1, 0.5));
}

TEST(PoolingNodesTest, SaysWhatDoesNotFit)
{
    const auto message = [](const std::string& type, const TensorShape& shape, const Parameters& parameters)
    {
        return MessageOf(
            [&]
            {
                PoolingNetwork net(type, shape, parameters);
                net.network.Validate();
            });
    };
    EXPECT_EQ(
        message("MaxPooling", {8}, Window("2", "2", "2", "2", "CHW")),
        "MaxPooling with imageLayout=CHW takes images of three dimensions, [width x height x channels], but 'sum' "
        "[8] has 1; read the data with ImageInput, or give them their dimensions with Reshape(x, rows, "
        "imageWidth=..., imageHeight=..., imageChannels=...)");
    EXPECT_EQ(message("AveragePooling", {1, 3, 2}, Window("2", "3", "1", "1", "HWC")),
              "the window's height is 3, more than the 2 of the image");
    for (const char* layout : {"HWC", "CHW"})
        EXPECT_EQ(message("MaxPooling", {6, 6, 6}, Window("3", "2", "3", "3", layout)),
                  "the stride along the height is 3, more than the 2 of the window, so that parts of the image would "
                  "not be read; expected 2 or less");
    EXPECT_EQ(message("MaxPooling", {1, 3, 2}, Window("2", "0", "1", "1", "HWC")),
              "parameter 'windowHeight' is 0; expected 1 or more");
    EXPECT_EQ(message("Pooling", {3, 3, 1}, {{"kind", "maximum"}, {"kernelShape", "2:2:1"}}),
              "parameter 'kind' is 'maximum'; expected max or average");
    EXPECT_EQ(message("Pooling", {3, 3, 1}, {{"kind", "max"}, {"kernelShape", "2:2:1"}, {"imageLayout", "HWC"}}),
              "Pooling over any number of dimensions needs imageLayout=CHW; for HWC images use MaxPooling or "
              "AveragePooling");
}

} // namespace

} // namespace cntk::Testing
