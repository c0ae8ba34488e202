// Softmax at extreme values, normalisation by statistics, and the errors of both.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

using testing::ElementsAre;

std::vector<double> ValueOfNode(const std::string& type, const TensorShape& shape, const std::vector<double>& numbers)
{
    TestNetwork net;
    const ComputationNodePtr x = net.Parameter("x", shape);
    dynamic_cast<LearnableParameterNode&>(*x).Values().FromHost(numbers);
    const ComputationNodePtr y = net.Add(type, "y", {x});
    net.network.Validate();
    Evaluator evaluator(net.network, {y});
    evaluator.Forward();
    return ValueOf(y);
}

TEST(NormalizationNodesTest, SoftmaxStandsExtremeValues)
{
    EXPECT_THAT(ValueOfNode("Softmax", {3, 1}, {1e4, -1e4, 0}), ElementsAre(1, 0, 0));
    EXPECT_THAT(ValueOfNode("LogSoftmax", {3, 1}, {1e4, -1e4, 0}), ElementsAre(0, -2e4, -1e4));
    EXPECT_THAT(ValueOfNode("Softmax", {2, 2}, {-1e4, -1e4, 1e4, 1e4}), ElementsAre(0.5, 0.5, 0.5, 0.5));
}

TEST(NormalizationNodesTest, HardmaxTakesTheFirstOfEqualElements)
{
    EXPECT_THAT(ValueOfNode("Hardmax", {3, 2}, {1, 5, 5, -2, -3, -4}), ElementsAre(0, 1, 0, 1, 0, 0));
}

TEST(NormalizationNodesTest, NormalisingAndBack)
{
    TestNetwork net;
    net.SetFrames(2);
    const ComputationNodePtr x = net.Input("x", {2});
    const ComputationNodePtr mean = net.Parameter("mean", {2, 1});
    const ComputationNodePtr deviation = net.Parameter("invStdDev", {2, 1});
    dynamic_cast<LearnableParameterNode&>(*mean).Values().FromHost(std::vector<double>{1, -1});
    dynamic_cast<LearnableParameterNode&>(*deviation).Values().FromHost(std::vector<double>{2, 0.5});
    const ComputationNodePtr normal = net.Add("PerDimMVNorm", "normal", {x, mean, deviation});
    const ComputationNodePtr back = net.Add("PerDimMVDeNorm", "back", {normal, mean, deviation});
    net.network.Validate();
    const std::vector<double> data = {3, 3, -1, 0};
    dynamic_cast<InputValueNode&>(*x).SetDense(data.data(), 2, 2);
    Evaluator evaluator(net.network, {normal, back});
    evaluator.Forward();
    EXPECT_THAT(ValueOf(normal), ElementsAre(4, 2, -4, 0.5));
    EXPECT_THAT(ValueOf(back), ElementsAre(3, 3, -1, 0));
    EXPECT_FALSE(mean->IsTrainableLeaf()) << "statistics are never trained";
    EXPECT_FALSE(deviation->IsTrainableLeaf());
}

TEST(NormalizationNodesTest, TakesStatisticsOnly)
{
    const auto message = [](auto&& build)
    {
        TestNetwork net;
        net.Add("PerDimMeanVarNormalization", "y", build(net, net.Input("x", {2})));
        return MessageOf([&] { net.network.Validate(); });
    };
    using Nodes = std::vector<ComputationNodePtr>;
    EXPECT_EQ(message(
                  [](TestNetwork& net, const ComputationNodePtr& x) {
                      return Nodes{x, net.Add("InvStdDev", "d", {x}), net.Add("Mean", "m", {x})};
                  }),
              "PerDimMeanVarNormalization takes the data, a Mean and an InvStdDev (or two parameters), but 'd' is a "
              "InvStdDev and 'm' a Mean");
    EXPECT_EQ(message(
                  [](TestNetwork& net, const ComputationNodePtr& x) {
                      return Nodes{x, net.Parameter("m", {3}), net.Parameter("d", {3})};
                  }),
              "PerDimMeanVarNormalization: 'm' [3] has 3 elements, but the data 'x' [2] have 2");
    EXPECT_EQ(
        message(
            [](TestNetwork& net, const ComputationNodePtr& x)
            {
                const ComputationNodePtr mean = net.Add("Mean", "m", {x});
                return Nodes{mean, mean, net.Add("InvStdDev", "d", {x})};
            }),
        "the first input of PerDimMeanVarNormalization, 'm', is itself a statistic (Mean); expected the data to be "
        "normalised");
}

} // namespace

} // namespace cntk::Testing
