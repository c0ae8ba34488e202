// The recurrent networks of SimpleNetworkBuilder: structure of an LSTM block, and what the messages say.
#include "ActionsLib/Networks/NetworkParts.h"
#include "ActionsLib/Networks/SimpleNetworkBuilder.h"
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace cntk
{
namespace
{

SimpleNetworkOptions OptionsFor(const char* kind, std::vector<size_t> layerSizes)
{
    SimpleNetworkOptions options;
    options.rnnType = {kind};
    options.layerSizes = std::move(layerSizes);
    return options;
}

std::unique_ptr<ComputationNetwork> Build(const SimpleNetworkOptions& options)
{
    return BuildSimpleNetwork(options, DataType::Float64, MakeCpuDevice({.threads = 1}));
}

std::string MessageOf(const SimpleNetworkOptions& options)
{
    return cntk::MessageOf(ErrorKind::Config, [&] { Build(options); });
}

// Warnings about options without effect.
std::vector<std::string> WarningsAbout(const std::string& block)
{
    const auto parsed = ConfigParameters::Parse(block, "exp.cntk");
    return WarningsOf(ReadSimpleNetworkOptions(*parsed), *parsed);
}

size_t DelayOf(const ComputationNetwork& network, const std::string& name)
{
    return std::dynamic_pointer_cast<DelayNode>(network.Require(name))->TimeStep();
}

size_t CountOf(const ComputationNetwork& network, const std::string& type)
{
    size_t count = 0;
    for (const ComputationNodePtr& node : network.Nodes())
        count += node->TypeName() == type;
    return count;
}

} // namespace

TEST(RecurrentNetworks, AnLstmBlockHasSevenDelaysAndThreePeepholes)
{
    const auto network = Build(OptionsFor("lstm", {5, 3, 2}));
    EXPECT_EQ(CountOf(*network, "PastValue"), 7u);
    EXPECT_EQ(CountOf(*network, "DiagTimes"), 3u);
    const auto bias = std::dynamic_pointer_cast<LearnableParameterNode>(network->Require("bf0"));
    EXPECT_EQ(bias->Values().ToHost(), std::vector<double>(3, -1));
    EXPECT_EQ(network->Group(NodeGroup::Output).front()->Name(), "outputs");
}

TEST(RecurrentNetworks, LayersThatAreNotRecurrentHaveTheirOwnNonlinearity)
{
    for (const char* kind : {"SIMPLERNN", "CLASSLM"})
    {
        SimpleNetworkOptions options = OptionsFor(kind, {5, 3, 4, 2, 5});
        options.layerTypes = {"Sigmoid", "Tanh", "RectifiedLinear"};
        options.recurrentLayer = {1, 3};
        options.vocabSize = 5;
        options.nbrClass = 2;
        if (kind == std::string("CLASSLM"))
            options.trainingCriterion = options.evalCriterion = "ClassCrossEntropyWithSoftmax";
        const auto network = Build(options);
        EXPECT_EQ(CountOf(*network, "Sigmoid"), 2u) << kind << ": recurrent layers have the first one";
        EXPECT_EQ(CountOf(*network, "Tanh"), 1u) << kind;
        EXPECT_EQ(CountOf(*network, "RectifiedLinear"), 0u) << kind;

        EXPECT_EQ(CountOf(*network, "Mean"), 0u) << kind;
        options.needPrior = true; // the labels' mean, which nothing uses
        EXPECT_EQ(CountOf(*Build(options), "Mean"), 1u) << kind;
    }
}

TEST(RecurrentNetworks, ATransducerSeesTheLabelBeforeAndTheLetters)
{
    SimpleNetworkOptions options = OptionsFor("unidirectionalLSTMWithPastPrediction", {1, 3, 4, 2, 5});
    options.streamSizes = {5, 12};
    options.lookupTableOrderSizes = {1, 2};
    options.forgetGateInitVal = 0.5;
    options.needPrior = true;
    const auto network = Build(options);
    const auto sizes = [&](const char* name)
    {
        const auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(network->Require(name));
        return std::pair(parameter->Values().Rows(), parameter->Values().Columns());
    };
    const auto inputs = [&](const char* name)
    {
        std::vector<std::string> names;
        const ComputationNodePtr node = network->Require(name);
        for (size_t i = 0; i < node->InputCount(); ++i)
            names.push_back(node->Input(i)->Name());
        return names;
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(sizes("Embedding0"), std::pair(size_t(3), size_t(5)));
    EXPECT_EQ(sizes("Embedding1"), std::pair(size_t(3), size_t(6)));
    EXPECT_EQ(inputs("LOOKUP1"), (Names{"Embedding1", "ltrForward"}));
    EXPECT_EQ(inputs("LOOKUP0"), (Names{"Embedding0", "featurepastValueedTarget"}));
    EXPECT_EQ(inputs("Parallel0"), (Names{"LOOKUP0", "LOOKUP1"}));
    EXPECT_EQ(inputs("LSTM1"),
              (Names{"Parallel0", "WINPUTGATE1", "WFORGETGATE1", "WOUTPUTGATE1", "WMEMORYCELLWEIGHT1"}));
    EXPECT_EQ(inputs("LSTM2").front(), "LSTM1");
    EXPECT_EQ(sizes("WINPUTGATE1"), std::pair(size_t(4), size_t(9 + 4 + 2)));
    EXPECT_EQ(sizes("WMEMORYCELLWEIGHT2"), std::pair(size_t(2), size_t(4 + 2 + 1)));
    EXPECT_EQ(sizes("ConnectToLowerLayers"), std::pair(size_t(5), size_t(2)));
    const auto start = [&](const char* name)
    { return std::dynamic_pointer_cast<LearnableParameterNode>(network->Require(name))->Values().ToHost(); };
    EXPECT_EQ(start("WFORGETGATE2")[0], 0.5);
    EXPECT_EQ(start("WFORGETGATE2")[1], 0.5);
    EXPECT_NE(start("WFORGETGATE2")[2], 0.5);
    EXPECT_EQ(start("WOUTPUTGATE1")[3], -1);
    EXPECT_EQ(start("WMEMORYCELLWEIGHT1")[3], 0);
    EXPECT_NE(start("WMEMORYCELLWEIGHT1")[4], 0);
    EXPECT_EQ(inputs("CrossEntropyWithSoftmax")[1], network->Require("outputs")->Input(0)->Name());
    EXPECT_EQ(inputs("ScaledLogLikelihood"), (Names{"outputs", "LogOfPrior"}));
    EXPECT_EQ(network->Group(NodeGroup::Output).front()->Name(), "ScaledLogLikelihood");
    EXPECT_EQ(network->Group(NodeGroup::Feature).size(), 2u);
}

TEST(RecurrentNetworks, StreamsAreReadInBothDirections)
{
    SimpleNetworkOptions options = OptionsFor("jointConditionalBiLSTMStreams", {1, 3, 4, 2, 5});
    options.streamSizes = {5, 12};
    options.lookupTableOrderSizes = {1, 2};
    const auto network = Build(options);
    const auto columns = [&](const char* name)
    { return std::dynamic_pointer_cast<LearnableParameterNode>(network->Require(name))->Values().Columns(); };
    EXPECT_EQ(CountOf(*network, "TimeReverse"), 2u);
    EXPECT_EQ(columns("WXI101"), 9u) << "the label before and two letters";
    EXPECT_EQ(columns("WXI201"), 6u) << "two letters";
    EXPECT_EQ(columns("WXI102"), 4u);
    EXPECT_EQ(columns("WXI202"), 4u);
    EXPECT_EQ(columns("WXI3"), 4u) << "both directions";
    EXPECT_EQ(columns("ConnectToLowerLayers"), 2u);
    EXPECT_EQ(network->Require("Parallel1")->Input(1)->TypeName(), "TimeReverse");
    options.layerSizes = {1, 3, 5};
    EXPECT_EQ(MessageOf(options), "rnnType JOINTCONDITIONALBILSTMSTREAMS needs an embedding and a hidden layer in "
                                  "layerSizes, as in 100:50:200:40");
}

TEST(RecurrentNetworks, WhatATransducerNeeds)
{
    SimpleNetworkOptions options = OptionsFor("TRANSDUCER", {1, 3, 5});
    EXPECT_EQ(MessageOf(options),
              "rnnType TRANSDUCER needs an embedding and a hidden layer in layerSizes, as in 100:50:200:40");
    options.layerSizes = {1, 3, 4, 5};
    options.streamSizes = {5};
    EXPECT_EQ(MessageOf(options), "rnnType TRANSDUCER needs two entries each in streamSizes and lookupTableOrderSizes, "
                                  "for featurepastValueedTarget and ltrForward; found 1 and 0");
    options.streamSizes = {5, 11};
    options.lookupTableOrderSizes = {1, 2};
    EXPECT_EQ(MessageOf(options),
              "streamSizes says 11 for ltrForward, expected a multiple of its lookupTableOrderSizes, 2");
    options.applyMeanVarNorm = true;
    EXPECT_EQ(MessageOf(options), "applyMeanVarNorm=true: rnnType TRANSDUCER embeds words, which are not normalised");
}

// Nothing in training is as large as the vocabulary times the minibatch: the words of a class are all that a sample
// has values for.
TEST(RecurrentNetworks, TrainingAClassLanguageModelTakesNoMatrixOfVocabularyTimesMinibatch)
{
    constexpr size_t c_words = 3000, c_hidden = 4, c_sequences = 20, c_steps = 10;
    SimpleNetworkOptions options = OptionsFor("CLASSLSTM", {c_words, c_hidden, c_hidden, c_words});
    options.lookupTableOrder = 1;
    options.vocabSize = int(c_words);
    options.nbrClass = 30;
    options.trainingCriterion = options.evalCriterion = "ClassCrossEntropyWithSoftmax";
    const auto network = Build(options);
    network->Layout()->Init(c_sequences, c_steps);
    for (size_t sequence = 0; sequence < c_sequences; ++sequence)
        network->Layout()->AddSequence(sequence, sequence, 0, c_steps);
    constexpr size_t c_columns = c_sequences * c_steps;
    std::vector<double> ones(c_columns, 1), labels;
    std::vector<int32_t> words(c_columns), columnStarts(c_columns + 1);
    for (size_t column = 0; column < c_columns; ++column)
    {
        const size_t word = column * 14 % c_words, first = word / 100 * 100;
        words[column] = int32_t(word);
        columnStarts[column + 1] = int32_t(column + 1);
        for (const size_t value : {word, word / 100, first, first + 100})
            labels.push_back(double(value));
    }
    const auto input = [&](const char* name)
    { return std::dynamic_pointer_cast<InputValueNode>(network->Require(name)); };
    input("features")->SetSparse(ones.data(), words.data(), columnStarts.data(), c_words, c_columns);
    input("labels")->ReferToDense(labels.data(), 4, c_columns);
    const ComputationNodePtr criterion = network->Group(NodeGroup::Criterion).front();
    EvaluatorOptions evaluation;
    evaluation.training = true;
    Evaluator evaluator(*network, {criterion}, evaluation);
    evaluator.Forward();
    evaluator.Backward(criterion);
    EXPECT_GT(Ops::ScalarOf(criterion->Value()), double(c_columns)); // near log(30 classes * 100 words) each
    // Gradients of parameters are a part of it, the embedding and the output of c_words * c_hidden each.
    EXPECT_LT(evaluator.BytesAllocated(), c_words * c_columns * sizeof(double) / 2);
}

TEST(RecurrentNetworks, ConstantGatesAreLeftOut)
{
    SimpleNetworkOptions options = OptionsFor("LSTM", {5, 3, 2});
    options.constInputGateValue = options.constForgetGateValue = options.constOutputGateValue = true;
    const auto network = Build(options);
    EXPECT_EQ(CountOf(*network, "DiagTimes"), 0u);
    EXPECT_EQ(CountOf(*network, "Sigmoid"), 0u);
}

TEST(RecurrentNetworks, AnLstmBlockThatRecurrentLayerNamesHasTwoDropouts)
{
    SimpleNetworkOptions options = OptionsFor("LSTM", {8, 4, 5, 6, 3});
    options.addDropoutNodes = true;
    EXPECT_EQ(CountOf(*Build(options), "Dropout"), 3u); // one of the first block, one of each feed-forward layer
    options.recurrentLayer = {1};
    EXPECT_EQ(CountOf(*Build(options), "Dropout"), 4u);
    options = OptionsFor("CLASSLSTM", {9, 3, 4, 5, 9});
    options.addDropoutNodes = true;
    options.lookupTableOrder = 1;
    options.vocabSize = 9;
    options.nbrClass = 3;
    options.trainingCriterion = options.evalCriterion = "ClassCrossEntropyWithSoftmax";
    EXPECT_EQ(CountOf(*Build(options), "Dropout"), 3u); // one of the lookup table, one of each block
}

TEST(RecurrentNetworks, DirectConnectionsGetTheirSeedsInTheOrderOfTheLayers)
{
    const auto connections = [](std::vector<size_t> layers)
    {
        SimpleNetworkOptions options = OptionsFor("NCELSTM", {6, 4, 4, 6});
        options.trainingCriterion = options.evalCriterion = "NoiseContrastiveEstimation";
        options.noise_number = 2;
        options.directConnect = std::move(layers);
        const auto network = Build(options);
        std::vector<std::vector<double>> values;
        for (const char* name : {"D0", "D1"})
            values.push_back(
                std::dynamic_pointer_cast<LearnableParameterNode>(network->Require(name))->Values().ToHost());
        return values;
    };
    const auto rising = connections({1, 2}), falling = connections({2, 1});
    EXPECT_NE(rising[0], rising[1]);
    SimpleNetworkOptions options = OptionsFor("NCELSTM", {6, 4, 4, 6});
    options.trainingCriterion = options.evalCriterion = "NoiseContrastiveEstimation";
    options.noise_number = 2;
    options.directConnect = {1};
    const auto network = Build(options);
    const auto valuesOf = [&](const char* name)
    { return std::dynamic_pointer_cast<LearnableParameterNode>(network->Require(name))->Values().ToHost(); };
    EXPECT_EQ(valuesOf("BiasVector"), std::vector<double>(6, -std::log(6.0))); // each word is as probable as any other
    EXPECT_EQ(valuesOf("SV0"), std::vector<double>{0.01});
    EXPECT_EQ(falling[0], rising[1]); // the list says which number is in the name
    EXPECT_EQ(falling[1], rising[0]);
}

TEST(RecurrentNetworks, RecurrentLayersAreTakenInOrder)
{
    SimpleNetworkOptions options = OptionsFor("SIMPLERNN", {5, 4, 3, 2});
    options.recurrentLayer = {2};
    const auto network = Build(options);
    EXPECT_EQ(CountOf(*network, "PastValue"), 1u);
    EXPECT_TRUE(network->Find("B0")); // the first layer is not recurrent and has a bias
    EXPECT_TRUE(network->Find("W1"));
    EXPECT_FALSE(network->Find("B1"));
}

TEST(RecurrentNetworks, OthersAreBuiltAndValid)
{
    SimpleNetworkOptions logBilinear = OptionsFor("LBLM", {6, 4, 6});
    logBilinear.maOrder = 2;
    logBilinear.recurrentLayer = {1};
    const auto bilinear = Build(logBilinear);
    EXPECT_EQ(CountOf(*bilinear, "PastValue"), 3u);
    EXPECT_EQ(DelayOf(*bilinear, "pastValue1"), 1u); // what each weight matrix sees
    EXPECT_EQ(DelayOf(*bilinear, "pastValue2"), 2u);

    SimpleNetworkOptions feedForward = OptionsFor("NPLM", {6, 4, 6});
    feedForward.recurrentLayer = {1};
    const auto words = Build(feedForward);
    EXPECT_EQ(CountOf(*words, "PastValue"), 4u);
    std::set<size_t> delays;
    for (const ComputationNodePtr& node : words->Nodes())
        if (node->TypeName() == "PastValue")
            delays.insert(DelayOf(*words, node->Name()));
    EXPECT_EQ(delays, (std::set<size_t>{1, 2, 3, 4}));

    SimpleNetworkOptions conditional = OptionsFor("CLSTM", {9, 3, 4, 9});
    conditional.lookupTableOrder = 1;
    conditional.vocabSize = 9;
    conditional.nbrClass = 3;
    conditional.trainingCriterion = conditional.evalCriterion = "ClassCrossEntropyWithSoftmax";
    EXPECT_TRUE(Build(conditional)->Find("PlusGlobalBias"));
}

TEST(RecurrentNetworks, CrfScoresLabelsAndTransitions)
{
    SimpleNetworkOptions options = OptionsFor("CRF", {6, 3, 4, 5, 2});
    options.lookupTableOrder = 2;
    options.recurrentLayer = {3};
    options.trainingCriterion = options.evalCriterion = "CRF";
    const auto network = Build(options);
    EXPECT_EQ(network->Require("E0")->SampleLayout(), (TensorShape{3, 3}));
    EXPECT_EQ(network->Require("U1")->SampleLayout(), (TensorShape{4, 6})); // two words side by side
    EXPECT_EQ(network->Require("WXI2")->SampleLayout(), (TensorShape{5, 4}));
    EXPECT_FALSE(network->Find("WXI1"));
    const auto transitions = std::dynamic_pointer_cast<LearnableParameterNode>(network->Require("TransProb3"));
    EXPECT_EQ(transitions->Values().ToHost(), std::vector<double>(4, 0.5));
    const ComputationNodePtr criterion = network->Group(NodeGroup::Criterion).at(0);
    EXPECT_EQ(criterion->Name(), "CRFTrainCriterion");
    EXPECT_EQ(criterion->Input(1)->Name(), "outputsBeforeSoftmax");
    EXPECT_EQ(criterion->Input(2), network->Require("TransProb3"));
    EXPECT_EQ(network->Group(NodeGroup::Evaluation).at(0), criterion);
    EXPECT_EQ(network->Group(NodeGroup::Output).at(0)->TypeName(), "SequenceDecoderNode");
    EXPECT_EQ(network->Require("PosteriorProb")->Input(0)->Name(), "outputsBeforeSoftmax");

    options.evalCriterion = "ErrorPrediction";
    EXPECT_EQ(Build(options)->Require("CRFEvalCriterion")->TypeName(), "ErrorPrediction");
    options.evalCriterion = "ClassCrossEntropyWithSoftmax";
    EXPECT_EQ(MessageOf(options), "the criterion ClassCrossEntropyWithSoftmax needs a network that has word classes: "
                                  "rnnType CLASSLM, CLASSLSTM or CLSTM");
    SimpleNetworkOptions other = OptionsFor("LSTM", {5, 3, 2});
    other.trainingCriterion = "CRF";
    EXPECT_EQ(MessageOf(other), "the criterion CRF needs a network that scores sequences of labels: rnnType CRF");
    options = OptionsFor("CRF", {6, 3, 2});
    options.lookupTableOrder = 1;
    EXPECT_EQ(MessageOf(options), "layerSizes has no hidden layer after the lookup table; expected one more size, as "
                                  "in 1000:100:200:20");
}

TEST(RecurrentNetworks, SaysWhatIsMissing)
{
    SimpleNetworkOptions classes = OptionsFor("CLASSLM", {9, 4, 9});
    classes.trainingCriterion = classes.evalCriterion = "ClassCrossEntropyWithSoftmax";
    EXPECT_EQ(MessageOf(classes), "vocabSize is not given, but the last of the layerSizes is 9; expected the same: the "
                                  "vocabulary size should be the same as the output layer size");
    classes.vocabSize = 9;
    EXPECT_EQ(MessageOf(classes), "nbrClass is not given; expected the number of word classes, 1 or more");
    EXPECT_EQ(MessageOf(OptionsFor("CLASSLSTM", {9, 3, 4, 9})),
              "rnnType CLASSLSTM needs a lookup table: set lookupTableOrder=1 and "
              "layerSizes=vocabulary:embedding:hidden:vocabulary, as in 10000:100:200:10000");
    EXPECT_EQ(MessageOf(OptionsFor("LSTM", {9, 3})),
              "rnnType LSTM needs at least one hidden layer in layerSizes, as in 1000:200:1000");
    EXPECT_EQ(MessageOf(OptionsFor("NCELSTM", {9, 3, 9})),
              "rnnType NCELSTM needs noise_number, the number of noise words, 1 or more; found -1");
    EXPECT_EQ(MessageOf(OptionsFor("NPLM", {9, 3, 9})), "rnnType NPLM needs recurrentLayer to begin with 1");
    SimpleNetworkOptions words = OptionsFor("LSTM", {10, 3, 4, 2});
    words.lookupTableOrder = 3;
    EXPECT_EQ(MessageOf(words), "lookupTableOrder is 3, but the first of the layerSizes, 10, is not a multiple of it");
    SimpleNetworkOptions wrong = OptionsFor("LSTM", {5, 3, 2});
    wrong.trainingCriterion = "ClassCrossEntropyWithSoftmax";
    EXPECT_EQ(MessageOf(wrong), "the criterion ClassCrossEntropyWithSoftmax needs a network that has word classes: "
                                "rnnType CLASSLM, CLASSLSTM or CLSTM");
}

TEST(RecurrentNetworks, CriteriaOfAllWordsDoNotFitFactoredOutputs)
{
    SimpleNetworkOptions classes = OptionsFor("CLASSLM", {9, 4, 9});
    classes.vocabSize = 9;
    classes.nbrClass = 3;
    classes.trainingCriterion = "CrossEntropyWithSoftmax";
    const std::string rest = " needs the scores of all words, which this network does not compute; expected "
                             "ClassCrossEntropyWithSoftmax for rnnType CLASSLM, CLASSLSTM or CLSTM, and "
                             "NoiseContrastiveEstimation for NCELSTM";
    EXPECT_EQ(MessageOf(classes), "the criterion CrossEntropyWithSoftmax" + rest);
    classes.trainingCriterion = "ClassCrossEntropyWithSoftmax";
    classes.evalCriterion = "ErrorPrediction";
    EXPECT_EQ(MessageOf(classes), "the criterion ErrorPrediction" + rest);
    SimpleNetworkOptions noise = OptionsFor("NCELSTM", {9, 3, 9});
    noise.noise_number = 2;
    noise.trainingCriterion = "CrossEntropyWithSoftmax";
    EXPECT_EQ(MessageOf(noise), "the criterion CrossEntropyWithSoftmax" + rest);
}

TEST(RecurrentNetworks, NumbersOfLayersThatAreNotThere)
{
    const auto about = [](const std::string& rest) { return WarningsAbout("layerSizes=6:3:4:6\n" + rest); };
    using Texts = std::vector<std::string>;
    EXPECT_EQ(about("rnnType=SIMPLERNN; recurrentLayer=1:2"), Texts{});
    EXPECT_EQ(
        about("rnnType=SIMPLERNN; recurrentLayer=1:5"),
        Texts{"exp.cntk:2:35: recurrentLayer: 5 names no layer; layerSizes has 2 hidden layers, numbered from 1"});
    EXPECT_EQ(
        about("rnnType=CLASSLM; recurrentLayer=0"),
        Texts{"exp.cntk:2:33: recurrentLayer: 0 names no layer; layerSizes has 2 hidden layers, numbered from 1"});
    EXPECT_EQ(about("rnnType=SIMPLERNN; recurrentLayer=2:1"),
              Texts{"exp.cntk:2:35: recurrentLayer: 1 behind 2 has no effect; expected rising numbers"});
    EXPECT_EQ(about("rnnType=LBLM; lookupTableOrder=1; recurrentLayer=1"),
              Texts{"exp.cntk:2:50: recurrentLayer: 1 has no effect: layer 1 is the lookup table"});
    EXPECT_EQ(about("recurrentLayer=1"),
              Texts{"exp.cntk:2:16: recurrentLayer has no effect: rnnType SIMPLENET has no recurrent layers"});
    EXPECT_EQ(about("rnnType=DEEPRNN"), Texts{"exp.cntk:2:9: rnnType DEEPRNN is a feed-forward network, as SIMPLENET; "
                                              "SIMPLERNN has recurrent layers"});
}

// The book's class-based language model (7.2.1) as listed: without the key, no layer is recurrent.
TEST(RecurrentNetworks, NoRecurrentLayerAtAllIsTold)
{
    const auto about = [](const std::string& rest) { return WarningsAbout("layerSizes=6:3:4:6\n" + rest); };
    using Texts = std::vector<std::string>;
    EXPECT_EQ(about("rnnType=CLASSLM"),
              Texts{"exp.cntk:2:9: no layer of this CLASSLM is recurrent, since recurrentLayer is not given; "
                    "recurrentLayer=1 makes the first hidden layer recurrent"});
    EXPECT_EQ(about("rnnType=simplernn").size(), 1u);
    EXPECT_EQ(about("rnnType=LSTM"), Texts{});
    EXPECT_EQ(WarningsAbout("rnnType=SIMPLERNN; layerSizes=6:3"), Texts{});
}

TEST(RecurrentNetworks, LayersHaveTheNamesOfTheNetworkDescriptionToo)
{
    for (const char* word : {"RectifiedLinear", "ReLU", "relu"})
        EXPECT_STREQ(FindLayerType(word), "RectifiedLinear") << word;
    EXPECT_EQ(FindLayerType("Relu6"), nullptr);
}

TEST(RecurrentNetworks, WordsWhereNoneAreEmbeddedAreTold)
{
    const auto about = [](const std::string& rest) { return WarningsAbout("layerSizes=6:3:4:6\n" + rest); };
    using Texts = std::vector<std::string>;
    EXPECT_EQ(
        about("lookupTableOrder=1"),
        Texts{"exp.cntk:2:18: lookupTableOrder has no effect: rnnType SIMPLENET has no lookup table; the second of "
              "the layerSizes is its first hidden layer"});
    EXPECT_EQ(about("rnnType=CLASSLM; recurrentLayer=1:2; lookupTableOrder=1").size(), 1u);
    EXPECT_EQ(about("rnnType=CRF; lookupTableOrder=2; sparseinput=true"),
              Texts{"exp.cntk:2:46: sparseinput has no effect: the features of rnnType CRF are dense; a network in NDL "
                    "may have SparseInput"});
    EXPECT_EQ(about("rnnType=LSTM; lookupTableOrder=2; sparseinput=true"), Texts{});
    EXPECT_EQ(about("rnnType=CLASSLSTM; lookupTableOrder=1; sparseinput=true"), Texts{});
    EXPECT_EQ(about("lookupTableOrder=0; sparseinput=false"), Texts{});
}

// The original's count: the first layer is an LSTM block whatever is said, the one behind it is number 1.
TEST(RecurrentNetworks, LstmLayersAreCountedFromTheSecond)
{
    using Texts = std::vector<std::string>;
    EXPECT_EQ(WarningsAbout("rnnType=LSTM; layerSizes=6:3:4:6; recurrentLayer=2"),
              Texts{"exp.cntk:1:50: recurrentLayer: 2 has no effect: rnnType LSTM begins to count at the second layer; "
                    "layer 2 is 1"});
    EXPECT_EQ(WarningsAbout("rnnType=LSTM; layerSizes=6:3:4:6; recurrentLayer=1:2"), Texts{});
    EXPECT_EQ(WarningsAbout("rnnType=LSTM; layerSizes=6:3:4:6; lookupTableOrder=1; recurrentLayer=2"), Texts{});
    EXPECT_EQ(WarningsAbout("rnnType=LSTM; layerSizes=6:3:6; recurrentLayer=1"), Texts{});
    EXPECT_EQ(WarningsAbout("rnnType=CLASSLSTM; layerSizes=6:3:4:6; recurrentLayer=7"), Texts{});
}

} // namespace cntk
