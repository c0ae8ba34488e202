// Two networks paired: gradients through both, sequences of different lengths, model files, errors.
#include "ComputationNetwork/Evaluation/GradientCheck.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <filesystem>
#include <gtest/gtest.h>

namespace cntk::Testing
{
namespace
{

// An encoder with a recurrent layer and a decoder that attends to it, in a loop of its own.
struct Pair
{
    std::shared_ptr<Device> device = MakeCpuDevice({.threads = 1});
    TestNetwork encoder{DataType::Float64, device};
    TestNetwork decoder{DataType::Float64, device};
    ComputationNodePtr encoded, criterion;

    Pair()
    {
        const ComputationNodePtr x = encoder.Input("x", {3});
        const ComputationNodePtr past = encoder.network.AddUnconnected("PastValue", "past", Delay(2));
        encoded = encoder.Add("Tanh", "encoded",
                              {encoder.Add("Plus", "sum",
                                           {encoder.Add("Times", "", {encoder.Parameter("W", {2, 3}), x}),
                                            encoder.Add("Times", "", {encoder.Parameter("R", {2, 2}), past})})});
        encoder.network.SetInputs(past, {encoded});
        encoder.network.Validate();

        NodeParameters parameters;
        parameters.Set("rows", "2");
        parameters.Set("dynamicAxis", "encoder");
        const ComputationNodePtr alone = decoder.network.Add("InputValue", "alone", {}, parameters);
        const ComputationNodePtr memory = decoder.Add("PairNetwork", "memory", {alone});
        const ComputationNodePtr keys = decoder.Add("Times", "keys", {decoder.Parameter("W", {4, 2}), memory});
        const ComputationNodePtr state = decoder.network.AddUnconnected("PastValue", "state", Delay(4));
        const ComputationNodePtr context = decoder.Add("Attention", "context", {memory, keys, state});
        const ComputationNodePtr y = decoder.Input("y", {4});
        const ComputationNodePtr hidden = decoder.Add(
            "Sigmoid", "hidden",
            {decoder.Add("Plus", "", {y, decoder.Add("Times", "", {decoder.Parameter("V", {4, 2}), context})})});
        decoder.network.SetInputs(state, {hidden});
        criterion = decoder.Add("TestCriterion", "criterion", {hidden});
        decoder.network.Validate();
    }

    void Connect()
    {
        decoder.network.Pair(decoder.network.Require("memory"), encoder.network, encoded);
        decoder.network.Validate();
    }

    void SetSequences(const std::vector<size_t>& ofEncoder, const std::vector<size_t>& ofDecoder)
    {
        encoder.SetSequences(ofEncoder);
        encoder.FillInputs(1);
        decoder.SetSequences(ofDecoder);
        const auto y = std::dynamic_pointer_cast<InputValueNode>(decoder.network.Require("y"));
        std::vector<double> values;
        for (size_t i = 0; i < 4 * y->GetMBLayout()->Columns(); i++)
            values.push_back(double(i * 37 % 11) / 10 - 0.5);
        y->SetDense(values.data(), 4, y->GetMBLayout()->Columns());
    }

    static NodeParameters Delay(size_t rows)
    {
        NodeParameters parameters;
        parameters.Set("rows", std::to_string(rows));
        parameters.Set("timeStep", "1");
        return parameters;
    }
};

TEST(PairNetworkTest, GradientsGoThroughBothNetworks)
{
    Pair pair;
    pair.Connect();
    pair.SetSequences({5, 1, 3}, {2, 4, 3});
    EvaluatorOptions options;
    options.training = true;
    options.checkPlan = true;
    options.poisonMemory = true;
    Evaluator evaluator(pair.decoder.network, {pair.criterion}, options);
    const auto comparisons = CompareGradients(evaluator, pair.criterion, {.elementsPerParameter = 100});
    // W of the encoder and of the decoder have the same name.
    EXPECT_EQ(evaluator.Parameters().size(), 4u);
    EXPECT_EQ(comparisons.size(), 6u + 4u + 8u + 8u);
    for (const GradientComparison& comparison : comparisons)
        EXPECT_NEAR(comparison.backpropagated, comparison.numeric, 1e-6) << comparison.Describe(*pair.criterion);
}

// Values in gaps and the arrangement of parallel sequences do not change the result.
TEST(PairNetworkTest, EachSequenceSeesItsOwnMemoriesOnly)
{
    const auto criterionOf = [](std::vector<size_t> ofEncoder, std::vector<size_t> ofDecoder)
    {
        Pair pair;
        pair.Connect();
        pair.SetSequences(ofEncoder, ofDecoder);
        Evaluator evaluator(pair.decoder.network, {pair.decoder.network.Require("context")});
        evaluator.Forward();
        return ValueOf(pair.decoder.network.Require("context"));
    };
    // One memory alone has the weight 1.
    Pair pair;
    pair.Connect();
    pair.SetSequences({1, 3}, {2, 2});
    Evaluator evaluator(pair.decoder.network, {pair.encoded, pair.decoder.network.Require("context")});
    evaluator.Forward();
    const std::vector<double> encoded = ValueOf(pair.encoded);
    const std::vector<double> context = criterionOf({1, 3}, {2, 2});
    for (const size_t step : {0, 1})
        for (const size_t row : {0, 1})
            EXPECT_DOUBLE_EQ(context[step * 4 + row], encoded[row]);
    EXPECT_NE(context[2], encoded[2]);
}

TEST(PairNetworkTest, SequencesWithoutCounterpartAreAnError)
{
    Pair pair;
    pair.Connect();
    pair.SetSequences({2}, {2, 1});
    Evaluator evaluator(pair.decoder.network, {pair.criterion});
    EXPECT_NE(MessageOf([&] { evaluator.Forward(); }).find("a sequence 1 of 'state', but none of 'memory'"),
              std::string::npos);
}

TEST(PairNetworkTest, ModelsAreWrittenAsIfNothingWerePaired)
{
    const std::string path = (std::filesystem::temp_directory_path() / "PairNetworkTest.dnn").string();
    Pair pair;
    pair.Connect();
    SaveModel(pair.decoder.network, path);
    const auto loaded = LoadModel(path, DataType::Float64, MakeCpuDevice(), TestRegistry());
    std::filesystem::remove(path);
    EXPECT_EQ(loaded->Require("memory")->Input(0), loaded->Require("alone"));
    EXPECT_EQ(loaded->size(), pair.decoder.network.size());
}

TEST(PairNetworkTest, WhatCannotBePairedIsAnError)
{
    Pair pair;
    const ComputationNodePtr wide = pair.encoder.Add("RowStack", "wide", {pair.encoded, pair.encoded});
    pair.encoder.network.Validate();
    const auto connect = [&](const ComputationNodePtr& source)
    {
        return MessageOf(
            [&] { pair.decoder.network.Pair(pair.decoder.network.Require("memory"), pair.encoder.network, source); });
    };
    EXPECT_EQ(connect(wide),
              "PairNetwork node 'memory' expects 2 rows of another network (those of its input 'alone'), "
              "but 'wide' (RowStack) of that network has 4");
    EXPECT_EQ(connect(pair.criterion), "node 'criterion' does not belong to this network");
}

TEST(AttentionTest, WrongInputsAreAnError)
{
    TestNetwork test;
    const ComputationNodePtr x = test.Input("x", {3}), y = test.Input("y", {2});
    test.Add("Attention", "a", {x, x, y});
    EXPECT_EQ(MessageOf([&] { test.network.Validate(); }),
              "the keys of Attention, 'x' [3], and its query, 'y' [2], must have the same number of rows");
    TestNetwork other;
    other.Add("Attention", "a", {other.Input("x", {3}), other.Parameter("k", {3}), other.Input("y", {3})});
    EXPECT_NE(MessageOf([&] { other.network.Validate(); }).find("input 1 of Attention, 'k' [3], does not change"),
              std::string::npos);
}

// The steps to come are not computed yet.
TEST(PairNetworkTest, AttentionCannotLookAtItsOwnLoop)
{
    for (const bool keysToo : {false, true})
    {
        TestNetwork net;
        const ComputationNodePtr x = net.Input("x", {2});
        const ComputationNodePtr past = net.network.AddUnconnected("PastValue", "past", Pair::Delay(2));
        const ComputationNodePtr context = net.Add("Attention", "context", {keysToo ? x : past, keysToo ? past : x, x});
        const ComputationNodePtr h = net.Add("Tanh", "h", {context});
        net.network.SetInputs(past, {h});
        EXPECT_EQ(MessageOf([&] { net.network.Validate(); }),
                  "node 'context' (Attention) reads all time steps of its input 'past' (PastValue), which cannot be "
                  "part of the same recurrent loop; the nodes of the loop are past (PastValue), context (Attention), "
                  "h (Tanh)");
    }
}

} // namespace
} // namespace cntk::Testing
