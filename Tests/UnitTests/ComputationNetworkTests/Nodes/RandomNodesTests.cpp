// Dropout: the original's masks, their seeds, and gradients through the same mask.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/DropoutNode.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <cmath>
#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

// The network of an experiment of the original's (rate 0.5, one node, seed 1): 3 inputs, 4 outputs, minibatches of 3.
struct DropoutExperiment
{
    DropoutExperiment()
    {
        net.SetFrames(3);
        x = std::dynamic_pointer_cast<InputValueNode>(net.Input("x", {3}));
        const auto weights = std::dynamic_pointer_cast<LearnableParameterNode>(net.Parameter("W", {4, 3}));
        weights->Values().FromHost(std::vector<double>{0.8817, 0.9097, 0.6874, -0.0028, -0.8371, 0.0492, 0.7433,
                                                       -0.2525, 0.1201, 0.5835, -0.2199, 0.6719});
        const auto bias = std::dynamic_pointer_cast<LearnableParameterNode>(net.Parameter("b", {4, 1}));
        bias->Values().FromHost(std::vector<double>{-0.3325, -0.6796, -0.0825, 0.5218});
        labels = std::dynamic_pointer_cast<InputValueNode>(net.Input("labels", {4}));
        const ComputationNodePtr sum = net.Add("Plus", "z", {net.Add("Times", "p", {weights, x}), bias});
        dropout = std::dynamic_pointer_cast<DropoutNode>(net.Add("Dropout", "y", {net.Add("Tanh", "t", {sum})}));
        criterion = net.Add("SquareError", "c", {labels, dropout});
        net.network.Validate();
        const std::vector<double> data = {0.539, -0.183, -0.732, -0.764, -0.546, 0.477, -0.558, -0.905, 0.175};
        x->SetDense(data.data(), 3, 3);
        const std::vector<double> targets = {0.069,  0.565,  -0.778, -0.199, 0.615,  -0.341,
                                             -0.633, -0.241, -0.065, 0.634,  -0.609, 0.055};
        labels->SetDense(targets.data(), 4, 3);
    }
    TestNetwork net;
    std::shared_ptr<InputValueNode> x, labels;
    std::shared_ptr<DropoutNode> dropout;
    ComputationNodePtr criterion;
};

TEST(DropoutTest, DrawsTheOriginalsMask)
{
    DropoutExperiment experiment;
    experiment.dropout->SetRate(0.5);
    experiment.dropout->SetSeed(1);
    Evaluator evaluator(experiment.net.network, {experiment.criterion});
    evaluator.Forward();
    EXPECT_NEAR(ValueOf(experiment.criterion)[0] / 3, 3.92677757, 5e-9); // as its log printed it
    EXPECT_EQ(experiment.dropout->Seed(), 1 + 1073807359u);
}

TEST(DropoutTest, ATrainingSeedGivesOtherMasksAndTheSameCount)
{
    const auto valuesWith = [](const SeedStream& seeds, size_t worker = 0)
    {
        TestNetwork net;
        const auto node =
            std::dynamic_pointer_cast<DropoutNode>(net.Add("Dropout", "y", {net.Parameter("x", {40, 10})}));
        const ComputationNodePtr criterion = net.Add("SumElements", "c", {node});
        net.network.Validate();
        node->SetSeeds(seeds);
        node->SetWorker(worker);
        node->SetRate(0.5);
        EvaluatorOptions options;
        options.keepValues = {node};
        Evaluator evaluator(net.network, {criterion}, options);
        evaluator.Forward();
        EXPECT_EQ(node->Seed(), 1 + 1073807359u);
        return ValueOf(node);
    };
    const std::vector<double> original = valuesWith({});
    EXPECT_EQ(valuesWith(SeedStream(0, "dropout")), original);
    EXPECT_EQ(valuesWith(SeedStream(7, "dropout")), valuesWith(SeedStream(7, "dropout")));
    EXPECT_NE(valuesWith(SeedStream(7, "dropout")), valuesWith(SeedStream(8, "dropout")));
    EXPECT_NE(valuesWith(SeedStream(7, "dropout")), original);
    EXPECT_NE(valuesWith({}, 1), original);
    EXPECT_NE(valuesWith({}, 1), valuesWith({}, 2));
    EXPECT_NE(valuesWith(SeedStream(7, "dropout"), 1), valuesWith(SeedStream(7, "dropout")));
}

TEST(DropoutTest, RateZeroPassesThrough)
{
    DropoutExperiment experiment;
    EvaluatorOptions options;
    options.keepValues = {experiment.dropout, experiment.dropout->Input(0)};
    Evaluator evaluator(experiment.net.network, {experiment.criterion}, options);
    evaluator.Forward();
    EXPECT_EQ(ValueOf(experiment.dropout), ValueOf(experiment.dropout->Input(0)));
    EXPECT_NEAR(ValueOf(experiment.dropout)[0], 0.205063258414, 1e-12);
    EXPECT_EQ(experiment.dropout->Seed(), 1u) << "no mask was drawn";
}

TEST(DropoutTest, GradientsGoThroughTheSameMask)
{
    TestNetwork net;
    const ComputationNodePtr x = net.Parameter("x", {20, 10});
    const auto dropout = std::dynamic_pointer_cast<DropoutNode>(net.Add("Dropout", "y", {x}));
    const ComputationNodePtr sum = net.Add("SumElements", "sum", {dropout});
    net.network.Validate();
    dropout->SetRate(0.25);
    EvaluatorOptions options;
    options.training = true;
    options.keepValues = {dropout};
    Evaluator evaluator(net.network, {sum}, options);
    std::vector<double> first;
    for (int call = 0; call < 2; call++)
    {
        evaluator.Forward();
        evaluator.Backward(sum);
        const std::vector<double> values = ValueOf(x), outputs = ValueOf(dropout), gradients = GradientOf(x);
        size_t kept = 0;
        for (size_t i = 0; i < values.size(); i++)
        {
            EXPECT_DOUBLE_EQ(outputs[i], values[i] * gradients[i]);
            EXPECT_TRUE(gradients[i] == 0 || std::abs(gradients[i] - 4.0 / 3) < 1e-12);
            kept += gradients[i] != 0;
        }
        EXPECT_NEAR(double(kept), 150, 30);
        if (call == 0)
            first = gradients;
        else
            EXPECT_NE(first, gradients) << "each forward call draws anew";
    }
}

TEST(DropoutTest, RatesOutsideTheRangeAreErrors)
{
    DropoutNode dropout;
    EXPECT_EQ(MessageOf([&] { dropout.SetRate(1); }), "the dropout rate is 1; expected 0 or more and less than 1");
    EXPECT_EQ(MessageOf([&] { dropout.SetRate(-0.1); }),
              "the dropout rate is -0.1; expected 0 or more and less than 1");
}

} // namespace

} // namespace cntk::Testing
