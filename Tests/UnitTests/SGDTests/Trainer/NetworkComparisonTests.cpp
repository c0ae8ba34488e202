// Two networks with a loop that differ in one thing, or in nothing that counts.
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "SGD/Trainer/ResumePoint.h"
#include "SGDTests/TrainingFixture.h"

namespace cntk
{

namespace
{

struct Described
{
    const char* hidden = "Tanh";
    const char* hiddenName = "h";
    const char* timeStep = "1";
    const char* inputWeights = "U";
    const char* recurrentWeights = "V";
    size_t stacked = 2; // inputs of the node below the criterion, each of 1 row
    bool hasEvaluation = true;
    double value = 0.5;
};

class NetworkComparisonTest : public TrainingTest
{
protected:
    std::unique_ptr<ComputationNetwork> Network(const Described& is) const
    {
        auto network = std::make_unique<ComputationNetwork>(DataType::Float64, m_device);
        const auto x = network->AddInput("x", {1});
        const auto labels = network->AddInput("labels", {is.stacked});
        for (const char* name : {"U", "V"})
            std::dynamic_pointer_cast<LearnableParameterNode>(network->AddParameter(name, {1, 1}))->InitFixed(is.value);
        NodeParameters step;
        step.Set("timeStep", is.timeStep);
        const auto past = network->AddUnconnected("PastValue", "", step);
        const auto fromBefore = network->Add("Times", "", {network->Find(is.recurrentWeights), past});
        const auto fromInput = network->Add("Times", "", {network->Find(is.inputWeights), x});
        const auto h = network->Add(is.hidden, is.hiddenName, {network->Add("Plus", "", {fromInput, fromBefore})});
        network->SetInputs(past, {h});
        const auto z = network->Add("RowStack", "z", std::vector<ComputationNodePtr>(is.stacked, h));
        network->AddToGroup(NodeGroup::Criterion, network->Add("CrossEntropyWithSoftmax", "ce", {labels, z}));
        if (is.hasEvaluation)
            network->AddToGroup(NodeGroup::Evaluation, network->Add("ErrorPrediction", "error", {labels, z}));
        network->Validate();
        return network;
    }
    std::string Difference(const Described& loaded, const Described& described) const
    {
        return FirstDifference(*Network(loaded), *Network(described));
    }
};

} // namespace

TEST_F(NetworkComparisonTest, TheSameNetworkIsNoOther)
{
    EXPECT_EQ(Difference({}, {}), "");
    EXPECT_EQ(Difference({}, {.hiddenName = "state", .value = 2}), "") << "names of inner nodes and values";
    SaveModel(*Network({}), Path("m.dnn"));
    EXPECT_EQ(FirstDifference(*LoadModel(Path("m.dnn"), DataType::Float64, m_device), *Network({})), "");
}

TEST_F(NetworkComparisonTest, AnotherKindOfNodeIsFoundInALoop)
{
    EXPECT_EQ(Difference({}, {.hidden = "Sigmoid"}), "its 'h' is Tanh, but Sigmoid in the description");
}

TEST_F(NetworkComparisonTest, OtherArgumentsAreFound)
{
    const std::string difference = Difference({}, {.timeStep = "2"});
    EXPECT_EQ(difference.substr(0, 5), "its '");
    EXPECT_EQ(difference.substr(difference.find("' (") + 1), " (PastValue) has other arguments in the description");
}

TEST_F(NetworkComparisonTest, AParameterInAnotherPlaceIsFound)
{
    EXPECT_EQ(Difference({}, {.inputWeights = "V", .recurrentWeights = "U"}),
              "it has 'U' where 'V' stands in the description");
}

TEST_F(NetworkComparisonTest, OtherNumbersOfInputsAndCriteriaAreFound)
{
    EXPECT_EQ(Difference({.stacked = 3}, {}), "its 'z' (RowStack) has 3 inputs, but 2 in the description");
    EXPECT_EQ(Difference({}, {.hasEvaluation = false}), "it has 1 evaluation node, but 0 in the description");
}

// Constants inside of calls, as Scale(0.5, x): a command that runs alone gives them other numbers than behind others.
TEST_F(NetworkComparisonTest, ParametersWithoutNamesAreKnownByTheirPlaces)
{
    const auto make = [&](const char* first, const char* second, size_t rows)
    {
        auto network = std::make_unique<ComputationNetwork>(DataType::Float64, m_device);
        const auto scaled =
            network->Add("ElementTimes", "", {network->AddParameter(first, {1, 1}), network->AddInput("x", {2})});
        const auto sum = network->Add("Plus", "", {network->AddParameter(second, {rows, 1}), scaled});
        network->AddToGroup(NodeGroup::Criterion, network->Add("SumElements", "ce", {sum}));
        network->Validate();
        return network;
    };
    EXPECT_EQ(FirstDifference(*make("unnamed1", "unnamed2", 2), *make("unnamed12", "L1.unnamed11", 2)), "");
    EXPECT_EQ(FirstDifference(*make("unnamed1", "unnamed2", 2), *make("unnamed2", "unnamed1", 1)),
              "its 'unnamed2' is 2 x 1, but 1 x 1 in the description");
    EXPECT_EQ(FirstDifference(*make("unnamed1", "unnamed2", 2), *make("unnamed1", "b", 2)),
              "it has no parameter 'b' (2 x 1)");
}

// Statistics, counts and limits that a training leaves in nodes are not the description's.
TEST_F(NetworkComparisonTest, WhatTrainingSetsDoesNotCount)
{
    const auto make = [&](const char* limit, const char* constant)
    {
        auto network = std::make_unique<ComputationNetwork>(DataType::Float64, m_device);
        NodeParameters window, normalization;
        for (const auto& [name, value] :
             {std::pair("kernelShape", "2"), std::pair("kernelHeight", "2"), std::pair("outputChannels", "1"),
              std::pair("horizontalSubsample", "1"), std::pair("verticalSubsample", "1"),
              std::pair("maxTempMemSizeInSamples", limit)})
            window.Set(name, value);
        normalization.Set("normalizationTimeConstant", constant);
        const auto w = network->AddParameter("w", {1, 4});
        const auto image = network->Add("Convolution", "c", {w, network->AddInput("x", {1, 3, 3})}, window);
        std::vector<ComputationNodePtr> inputs{image};
        for (const char* name : {"scale", "bias", "mean", "deviation"})
        {
            inputs.push_back(network->AddParameter(name, {4, 1}));
            std::dynamic_pointer_cast<LearnableParameterNode>(inputs.back())
                ->SetLearningRateMultiplier(inputs.size() < 4 ? 1 : 0);
        }
        const auto normalized = network->Add("BatchNormalization", "n", inputs, normalization);
        network->AddToGroup(NodeGroup::Criterion,
                            network->Add("SquareError", "se", {network->AddInput("y", {4}), normalized}));
        network->Validate();
        return network;
    };
    EXPECT_EQ(FirstDifference(*make("0", "0"), *make("5", "20")), "");
}

} // namespace cntk
