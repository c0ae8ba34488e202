// Equal keys of minibatches that run the same device work.
#include "ComputationNetwork/Evaluation/StepKey.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

// The key of a network that reads so many steps back and ahead. The minibatch has five steps of one sequence.
std::vector<uint64_t> KeyOf(const std::string& type, size_t delay, ptrdiff_t begin, ptrdiff_t end)
{
    TestNetwork net;
    NodeParameters parameters;
    parameters.Set("timeStep", std::to_string(delay));
    net.network.Add(type, "delay", {net.Input("x", {2})}, parameters);
    net.network.Validate();
    net.network.Layout()->Init(1, 5);
    net.network.Layout()->AddSequence(0, 0, begin, end);
    std::vector<ComputationNodePtr> nodes; // without the values, whose memory is another one each time
    for (const ComputationNodePtr& node : net.network.Nodes())
        if (node->TypeName() == type)
            nodes.push_back(node);
    return StepKey(nodes).Make(true);
}

} // namespace

TEST(StepKeyTest, HowFarAwayASequenceBeginsMakesNoDifference)
{
    EXPECT_EQ(KeyOf("PastValue", 1, -1, 5), KeyOf("PastValue", 1, -40, 5));
    EXPECT_NE(KeyOf("PastValue", 1, 0, 5), KeyOf("PastValue", 1, -1, 5));
    EXPECT_EQ(KeyOf("PastValue", 3, -3, 5), KeyOf("PastValue", 3, -40, 5));
    EXPECT_NE(KeyOf("PastValue", 3, -2, 5), KeyOf("PastValue", 3, -3, 5));
    EXPECT_EQ(KeyOf("FutureValue", 2, 0, 7), KeyOf("FutureValue", 2, 0, 100));
    EXPECT_NE(KeyOf("FutureValue", 2, 0, 6), KeyOf("FutureValue", 2, 0, 7));
    EXPECT_NE(KeyOf("FutureValue", 2, 0, 5), KeyOf("FutureValue", 2, 0, 6));
}

// Parts of a minibatch have equal layouts, but read their sequences' states from other columns.
TEST(StepKeyTest, PartsOfAMinibatchAreOfDifferentForms)
{
    TestNetwork net;
    const auto x = net.Input("x", {1});
    const auto gate = net.Parameter("gate", {1, 4}), cell = net.Parameter("cell", {1, 3});
    net.network.Layout()->Init(1, 2);
    net.network.Layout()->AddSequence(0, 0, -2, 4);
    for (const ComputationNodePtr& node :
         {net.Add("PastValue", "past", {x}), net.Add("LSTM", "cells", {x, gate, gate, gate, cell})})
    {
        net.network.Validate();
        const std::vector<ComputationNodePtr> nodes = {node};
        StepKey key(nodes);
        std::vector<std::vector<uint64_t>> keys;
        for (const SequenceWindow& window : {SequenceWindow{}, {0, 2}, {1, 2}, {1, 3}})
        {
            dynamic_cast<RecurrentState&>(*node).SetWindow(window);
            keys.push_back(key.Make(true));
            EXPECT_EQ(key.Make(true), keys.back());
            for (size_t other = 0; other + 1 < keys.size(); other++)
                EXPECT_NE(keys.back(), keys[other]) << node->Name() << ", windows " << other << ", " << keys.size() - 1;
        }
    }
}

// A running average over all minibatches gives each minibatch another weight; one over some samples does not.
TEST(StepKeyTest, AveragesOfAllMinibatchesMakeEachAnotherForm)
{
    const auto isOneForm = [](const std::string& normalizationTimeConstant)
    {
        TestNetwork net;
        net.SetFrames(2);
        NodeParameters parameters;
        parameters.Set("normalizationTimeConstant", normalizationTimeConstant);
        std::vector<ComputationNodePtr> inputs = {net.Input("x", {1})};
        for (const char* name : {"scale", "bias", "mean", "invStdDev"})
        {
            inputs.push_back(net.Parameter(name, {1, 1}));
            dynamic_cast<LearnableParameterNode&>(*inputs.back()).SetLearningRateMultiplier(0);
        }
        const auto y = net.network.Add("BatchNormalization", "y", inputs, parameters);
        const auto criterion = net.Add("SumElements", "ce", {y});
        net.network.Validate();
        SetInput(inputs[0], {1, 3});
        Evaluator evaluator(net.network, {criterion}, Checked(true));
        const std::vector<ComputationNodePtr> nodes = {y};
        StepKey key(nodes);
        evaluator.Forward();
        const std::vector<uint64_t> first = key.Make(true);
        evaluator.Forward();
        return key.Make(true) == first;
    };
    EXPECT_FALSE(isOneForm("-1"));
    EXPECT_TRUE(isOneForm("0"));
    EXPECT_TRUE(isOneForm("20"));
}

} // namespace cntk::Testing
