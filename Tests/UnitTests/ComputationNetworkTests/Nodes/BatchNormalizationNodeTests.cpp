// BatchNormalization: statistics of training, running ones, inference, gaps, errors.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/BatchNormalizationNode.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace cntk::Testing
{

namespace
{

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;
using Parameters = std::map<std::string, std::string>;

struct BatchNetwork : TestNetwork
{
    explicit BatchNetwork(const Parameters& values, const TensorShape& shape = {2}, size_t statistics = 2)
    {
        SetFrames(2);
        NodeParameters parameters;
        for (const auto& [name, value] : values)
            parameters.Set(name, value);
        x = Input("x", shape);
        const auto vector = [&](const char* name, double value, float multiplier)
        {
            const auto node = std::dynamic_pointer_cast<LearnableParameterNode>(Parameter(name, {statistics, 1}));
            node->Values().FromHost(std::vector<double>(statistics, value));
            node->SetLearningRateMultiplier(multiplier);
            return node;
        };
        scale = vector("scale", 2, 1);
        bias = vector("bias", 1, 1);
        runMean = vector("mean", 10, 0);
        runInvStdDev = vector("invStdDev", 0.5, 0);
        y = network.Add("BatchNormalization", "y", {x, scale, bias, runMean, runInvStdDev}, parameters);
        criterion = Add("SumElements", "ce", {y});
    }

    std::vector<double> Run(const std::vector<double>& data, bool training)
    {
        network.Validate();
        const size_t columns = network.Layout()->Columns();
        dynamic_cast<InputValueNode&>(*x).SetDense(data.data(), data.size() / columns, columns);
        EvaluatorOptions options;
        options.training = training;
        options.keepValues = {y};
        Evaluator evaluator(network, {criterion}, options);
        evaluator.Forward();
        return ValueOf(y);
    }

    ComputationNodePtr x, y, criterion;
    std::shared_ptr<LearnableParameterNode> scale, bias, runMean, runInvStdDev;
};

const std::vector<double> c_data = {1, 2, 3, 10}; // means 2 and 6, deviations 1 and 4

TEST(BatchNormalizationNodeTest, TrainingTakesTheMinibatch)
{
    BatchNetwork net(Parameters{{"epsilon", "1e-14"}});
    EXPECT_THAT(net.Run(c_data, true), Pointwise(DoubleNear(1e-9), {-1, -1, 3, 3}));
    EXPECT_THAT(net.runMean->Values().ToHost(), Pointwise(DoubleNear(1e-9), {2, 6}));
    EXPECT_THAT(net.runInvStdDev->Values().ToHost(), Pointwise(DoubleNear(1e-9), {1.0, 0.25}));
}

// inv = 1 / sqrt(var + epsilon)
TEST(BatchNormalizationNodeTest, EpsilonIsAddedToTheVariance)
{
    BatchNetwork net(Parameters{{"epsilon", "3"}}); // variances 1 and 16
    EXPECT_THAT(net.Run(c_data, true), Pointwise(DoubleNear(1e-12), {1 - 2 * 0.5, 1 - 8 / std::sqrt(19.0), 1 + 2 * 0.5,
                                                                     1 + 8 / std::sqrt(19.0)}));
    EXPECT_THAT(net.runInvStdDev->Values().ToHost(), Pointwise(DoubleNear(1e-12), {0.5, 1 / std::sqrt(19.0)}));
}

TEST(BatchNormalizationNodeTest, OtherwiseRunningStatisticsCount)
{
    BatchNetwork net({});
    EXPECT_THAT(net.Run(c_data, false), ElementsAre(2 * (1 - 10) * 0.5 + 1, -7, -6, 1));
    EXPECT_THAT(net.runMean->Values().ToHost(), ElementsAre(10, 10));
}

TEST(BatchNormalizationNodeTest, RunningStatisticsFollowAndAreBlended)
{
    BatchNetwork net({{"epsilon", "1e-14"}, {"normalizationTimeConstant", "4"}, {"blendTimeConstant", "6"}});
    const double fresh = 1 - std::exp(-0.5);
    const double mean = fresh * 2 + (1 - fresh) * 10;
    const double inverse = fresh * 1 + (1 - fresh) * 0.5;
    const double blend = 6.0 / 8;
    const double usedMean = blend * mean + (1 - blend) * 2;
    const double usedInverse = blend * inverse + (1 - blend) * 1;
    EXPECT_NEAR(net.Run(c_data, true)[0], 2 * (1 - usedMean) * usedInverse + 1, 1e-9);
    EXPECT_NEAR(net.runMean->Values().ToHost()[0], mean, 1e-9);
    EXPECT_NEAR(net.runInvStdDev->Values().ToHost()[0], inverse, 1e-9);
}

TEST(BatchNormalizationNodeTest, BelowZeroAllMinibatchesCountAlike)
{
    BatchNetwork net(Parameters{{"normalizationTimeConstant", "-1"}});
    net.Run(c_data, true);
    EXPECT_NEAR(net.runMean->Values().ToHost()[0], 2, 1e-9);
    net.Run({5, 2, 7, 10}, true);
    EXPECT_NEAR(net.runMean->Values().ToHost()[0], 4, 1e-9);
    net.Run({100, 2, 100, 10}, false); // not one of them
    net.Run({9, 2, 11, 10}, true);
    EXPECT_NEAR(net.runMean->Values().ToHost()[0], 6, 1e-9);
}

TEST(BatchNormalizationNodeTest, GapsDoNotCount)
{
    BatchNetwork net({{"epsilon", "1e-14"}}, {1}, 1);
    net.SetSequences({2, 1});
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> values = net.Run({1, 3, 5, nothing}, true); // time by time; the second ends early
    EXPECT_NEAR(net.runMean->Values().ToHost()[0], 3, 1e-9);
    EXPECT_NEAR(net.runInvStdDev->Values().ToHost()[0], 1 / std::sqrt(8.0 / 3), 1e-9);
    EXPECT_NEAR(values[1], 1, 1e-9);
}

TEST(BatchNormalizationNodeTest, SpatialHasOneStatisticAChannel)
{
    for (const std::string layout : {"CHW", "HWC"})
    {
        BatchNetwork net({{"spatial", "true"}, {"imageLayout", layout}},
                         layout == "CHW" ? TensorShape{2, 1, 2} : TensorShape{2, 2, 1});
        net.SetFrames(1);
        net.Run(layout == "CHW" ? std::vector<double>{1, 3, 10, 20} : std::vector<double>{1, 10, 3, 20}, true);
        EXPECT_THAT(net.runMean->Values().ToHost(), Pointwise(DoubleNear(1e-9), {2, 15})) << layout;
    }
}

// Time constants are numbers of samples, however many pixels these have.
TEST(BatchNormalizationNodeTest, TimeConstantsOfImagesAreSamples)
{
    BatchNetwork net({{"spatial", "true"},
                      {"imageLayout", "CHW"},
                      {"epsilon", "1e-14"},
                      {"normalizationTimeConstant", "4"},
                      {"blendTimeConstant", "6"}},
                     {3, 1, 1}, 1);
    // Two images of three pixels: mean 4, deviation 2.
    const double fresh = 1 - std::exp(-2.0 / 4), blend = 6.0 / (6 + 2);
    const double mean = fresh * 4 + (1 - fresh) * 10; // the deviation was 2 before, too
    const double usedMean = blend * mean + (1 - blend) * 4;
    EXPECT_NEAR(net.Run({2, 2, 2, 6, 6, 6}, true)[0], 2 * (2 - usedMean) * 0.5 + 1, 1e-9);
    EXPECT_NEAR(net.runMean->Values().ToHost()[0], mean, 1e-9);
}

TEST(BatchNormalizationNodeTest, SaysWhatDoesNotFit)
{
    const auto message = [](BatchNetwork& net) { return MessageOf([&] { net.network.Validate(); }); };
    BatchNetwork tooLong({}, {3}, 2);
    EXPECT_EQ(message(tooLong), "BatchNormalization of 'x' [3] takes a scale of 3 values, one for each element, but "
                                "'scale' [2 x 1] has 2");
    BatchNetwork channels({{"spatial", "true"}}, {4, 4, 3}, 2);
    EXPECT_EQ(message(channels),
              "BatchNormalization of 'x' [4 x 4 x 3] takes a scale of 3 values, one for each channel, "
              "but 'scale' [2 x 1] has 2");
    BatchNetwork trained({});
    trained.runMean->SetLearningRateMultiplier(1);
    EXPECT_EQ(message(trained),
              "the runMean 'mean' of BatchNormalization must not be trained; give it needGradient=false");
    EXPECT_EQ(MessageOf(
                  [] {
                      BatchNetwork(Parameters{{"epsilon", "0"}});
                  }),
              "parameter 'epsilon' is 0; expected a finite number above 0");
    EXPECT_EQ(MessageOf(
                  [] {
                      BatchNetwork(Parameters{{"blendTimeConstant", "-1"}});
                  }),
              "parameter 'blendTimeConstant' is -1; expected 0 (only the minibatch counts) or more");
    EXPECT_EQ(MessageOf(
                  [] {
                      BatchNetwork(Parameters{{"engine", "mkl"}});
                  }),
              "parameter 'engine' is 'mkl'; expected cntk or cudnn");
}

} // namespace

} // namespace cntk::Testing
