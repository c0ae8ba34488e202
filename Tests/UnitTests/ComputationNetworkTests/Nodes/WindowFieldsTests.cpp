// The fields of convolution, pooling and batch normalization as files of all versions have them.
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/ImageGeometry.h"
#include "ComputationNetworkTests/Files/FieldBytes.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

using testing::DoubleNear;
using testing::Pointwise;

ComputationNodePtr NodeOfType(TestNetwork& net, const std::string& type)
{
    return net.network.AddUnconnected(type, "node", {});
}

TEST(WindowFieldsTest, ConvolutionOfAllVersions)
{
    TestNetwork net;
    const ComputationNodePtr node = NodeOfType(net, "Convolution");
    const std::string plane = "kernel=5 x 4 x 1  maps=1 x 1 x 16  stride=2 x 1 x 1  autoPadding=true  imageLayout=";
    // August 2015: the channels take eight bytes, whose upper half reads as the layout.
    const auto old = [](uint32_t layout)
    {
        return FieldBytes()
            .Add(uint64_t(5))
            .Add(uint64_t(4))
            .Add(uint64_t(2))
            .Add(uint64_t(1))
            .Add(uint32_t(16))
            .Add(layout)
            .Add(true)
            .Add(uint64_t(9));
    };
    old(0).Load(*node, 2);
    EXPECT_EQ(node->DescribeFields(), plane + "HWC  maxTempMemSizeInSamples=9");
    old(1).Load(*node, 4);
    EXPECT_EQ(node->DescribeFields(), plane + "CHW  maxTempMemSizeInSamples=9");
    EXPECT_EQ(MessageOf([&] { old(2).Load(*node, 4); }), "the image layout is 2; expected 0 (HWC) or 1 (CHW)");

    const auto recent = [](bool withTranspose)
    {
        FieldBytes bytes;
        bytes.Shape({3, 2, 1}).Shape({4}).Shape({1, 2, 1}).List({true}).List({true, false, false});
        bytes.Shape({0}).Shape({0, 1, 0}).Add(int32_t(0)).Add(int32_t(1)).Add(uint64_t(0));
        if (withTranspose)
            bytes.Add(false);
        return bytes.Add(false);
    };
    for (const uint64_t version : {5, 8, 9, 14})
    {
        recent(version >= 9).Load(*node, version);
        EXPECT_EQ(node->DescribeFields(),
                  "kernel=3 x 2 x 1  maps=4  stride=1 x 2 x 1  autoPadding=true:false:false  lowerPad=0  "
                  "upperPad=0 x 1 x 0  imageLayout=CHW  maxTempMemSizeInSamples=0");
    }
}

TEST(WindowFieldsTest, PoolingOfAllVersions)
{
    TestNetwork net;
    const ComputationNodePtr largest = NodeOfType(net, "MaxPooling");
    FieldBytes().Add(uint32_t(3)).Add(uint32_t(1)).Add(uint64_t(2)).Add(uint64_t(4)).Add(uint64_t(5)).Load(*largest, 8);
    EXPECT_EQ(largest->DescribeFields(), "windowWidth=3  windowHeight=2  stepW=4  stepH=5  imageLayout=CHW");
    FieldBytes().Add(uint64_t(3)).Add(uint64_t(2)).Add(uint64_t(4)).Add(uint64_t(5)).Load(*largest, 2);
    EXPECT_EQ(largest->DescribeFields(), "windowWidth=3  windowHeight=2  stepW=4  stepH=5  imageLayout=HWC");

    TestNetwork other;
    const ComputationNodePtr pooling = NodeOfType(other, "Pooling");
    const auto fields = [](int32_t kind)
    {
        FieldBytes bytes;
        bytes.Shape({2, 2, 1}).Shape({1}).Shape({2}).List({true}).List({false}).Shape({0}).Shape({0});
        return bytes.Add(kind).Add(int32_t(1)).Add(uint64_t(0));
    };
    fields(2).Load(*pooling, 8);
    EXPECT_EQ(pooling->DescribeFields(), "kind=average  kernel=2 x 2 x 1  stride=2  autoPadding=false");
    EXPECT_EQ(MessageOf([&] { fields(3).Load(*pooling, 8); }),
              "the kind of pooling is 3; expected 1 (max) or 2 (average)");
}

TEST(WindowFieldsTest, BatchNormalizationOfAllVersions)
{
    TestNetwork net;
    const ComputationNodePtr node = NodeOfType(net, "BatchNormalization");
    FieldBytes().Add(true).Add(10.0).Add(20.0).Add(int32_t(0)).Add(uint64_t(3)).Add(0.5).Add(true).Load(*node, 8);
    EXPECT_EQ(node->DescribeFields(), "spatial=true  normalizationTimeConstant=10  blendTimeConstant=20  epsilon=0.5  "
                                      "imageLayout=HWC  minibatches=3");
    // Before version 6 the record has a version of its own.
    FieldBytes().Add(int32_t(0x10001)).Add(int32_t(0x10001)).Add(false).Add(false).Add(0.25).Load(*node, 5);
    EXPECT_EQ(node->DescribeFields(), "spatial=false  normalizationTimeConstant=10  blendTimeConstant=20  epsilon=0.5  "
                                      "imageLayout=HWC  minibatches=3");
    FieldBytes()
        .Add(int32_t(0x10002))
        .Add(int32_t(0x10001))
        .Add(true)
        .Add(true)
        .Add(0.25)
        .Add(int32_t(1))
        .Add(uint64_t(5))
        .Load(*node, 5);
    EXPECT_EQ(node->DescribeFields(), "spatial=true  normalizationTimeConstant=10  blendTimeConstant=20  epsilon=0.5  "
                                      "imageLayout=CHW  minibatches=5");
    FieldBytes()
        .Add(int32_t(0x10003))
        .Add(int32_t(0x10001))
        .Add(false)
        .Add(false)
        .Add(0.25)
        .Add(int32_t(0))
        .Add(uint64_t(6))
        .Add(0.75)
        .Add(true)
        .Load(*node, 5);
    EXPECT_EQ(node->DescribeFields(),
              "spatial=false  normalizationTimeConstant=10  blendTimeConstant=20  epsilon=0.75  "
              "imageLayout=HWC  minibatches=6");
    FieldBytes()
        .Add(int32_t(0x10004))
        .Add(int32_t(0x10001))
        .Add(false)
        .Add(true)
        .Add(7.0)
        .Add(int32_t(1))
        .Add(uint64_t(8))
        .Add(0.125)
        .Add(false)
        .Load(*node, 5);
    EXPECT_EQ(node->DescribeFields(), "spatial=true  normalizationTimeConstant=7  blendTimeConstant=20  epsilon=0.125  "
                                      "imageLayout=CHW  minibatches=8");
}

TEST(WindowFieldsTest, ARunningVarianceBecomesTheInverseDeviation)
{
    TestNetwork net;
    std::vector<ComputationNodePtr> inputs = {net.Input("x", {2})};
    for (const char* name : {"scale", "bias", "mean", "variance"})
    {
        inputs.push_back(net.Parameter(name, {2, 1}));
        dynamic_cast<LearnableParameterNode&>(*inputs.back()).SetLearningRateMultiplier(0);
    }
    auto& variance = dynamic_cast<LearnableParameterNode&>(*inputs.back()).Values();
    variance.FromHost(std::vector<double>{3, 0});
    const ComputationNodePtr node = net.Add("BatchNormalization", "y", inputs);
    FieldBytes().Add(false).Add(0.0).Add(0.0).Add(int32_t(1)).Add(uint64_t(640)).Add(1.0).Add(true).Load(*node, 13);
    net.network.Validate();
    net.network.Validate(); // once only
    EXPECT_THAT(variance.ToHost(), Pointwise(DoubleNear(1e-12), {0.5, 1.0}));
    // 640 samples stand for one minibatch, of which nobody knows how many there were; none for none.
    EXPECT_THAT(node->DescribeFields(), testing::EndsWith("  minibatches=1"));
    FieldBytes().Add(false).Add(0.0).Add(0.0).Add(int32_t(1)).Add(uint64_t(0)).Add(1.0).Add(true).Load(*node, 14);
    EXPECT_THAT(node->DescribeFields(), testing::EndsWith("  minibatches=0"));
}

} // namespace

} // namespace cntk::Testing
