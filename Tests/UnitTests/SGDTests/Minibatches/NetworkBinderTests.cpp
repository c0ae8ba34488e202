// Tests which streams are bound to which input nodes, and the messages if they do not fit.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "SGD/Minibatches/NetworkBinder.h"
#include "SGDTests/TrainingFixture.h"

namespace cntk
{

namespace
{

class NetworkBinderTest : public TrainingTest
{
protected:
    std::string MessageFor(const std::vector<StreamInfo>& streams)
    {
        const auto network = Classifier();
        return MessageOf(ErrorKind::Config,
                         [&] { NetworkBinder binder(network->Group(NodeGroup::Criterion), streams); });
    }
    static StreamInfo Stream(const std::string& name, size_t rows)
    {
        StreamInfo stream;
        stream.name = name;
        stream.rows = rows;
        return stream;
    }
};

} // namespace

TEST_F(NetworkBinderTest, NamesMatchInAnyCaseAndAreWantedAsTheNetworkSpellsThem)
{
    const auto network = Classifier();
    const NetworkBinder binder(network->Group(NodeGroup::Criterion), {Stream("LABELS", 2), Stream("Features", 2)});
    auto wanted = binder.Wanted();
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(wanted, (std::vector<std::string>{"features", "labels"}));
}

TEST_F(NetworkBinderTest, OnlyInputsBelowTheRootsNeedAStream)
{
    const auto network = Classifier();
    const NetworkBinder binder(network->Group(NodeGroup::Output), {Stream("features", 2)});
    EXPECT_EQ(binder.Wanted(), std::vector<std::string>{"features"});
}

TEST_F(NetworkBinderTest, AnInputWithoutStreamNamesBothSides)
{
    EXPECT_EQ(MessageFor({Stream("features", 2), Stream("label", 2)}),
              "no stream of the reader feeds input node 'labels' of the network; streams of the reader: 'features', "
              "'label'; did you mean 'label'?");
    EXPECT_EQ(MessageFor({Stream("features", 2)}),
              "no stream of the reader feeds input node 'labels' of the network; streams of the reader: 'features'");
}

TEST_F(NetworkBinderTest, DifferentDimensionsAreBothNamedWithTheirSources)
{
    StreamInfo labels = Stream("labels", 3);
    labels.isLabel = true;
    labels.source = "'data.txt', labelDim=3 at exp.cntk:15:16";
    labels.labelNames = {"a", "b", "c"};
    EXPECT_EQ(MessageFor({Stream("features", 2), labels}),
              "input node 'labels' of the network has dimension 2, but stream 'labels' of the reader has dimension 3 "
              "(from 'data.txt', labelDim=3 at exp.cntk:15:16, with 3 labels in its map); expected labelDim of the "
              "reader and the label dimension of the network to agree");
    EXPECT_EQ(MessageFor({Stream("features", 4), Stream("labels", 2)}),
              "input node 'features' of the network has dimension 2, but stream 'features' of the reader has dimension "
              "4; expected dim of the reader and the input dimension of the network to agree");
}

TEST_F(NetworkBinderTest, ClassesOfWordsAndOfTheNetworkAreComparedWhereBothAreKnown)
{
    ComputationNetwork network(DataType::Float64, MakeCpuDevice());
    const auto labels = network.AddInput("labels", {4});
    const auto h = network.AddInput("h", {2});
    const auto words = network.AddParameter("W", {2, 9});
    const auto classes = network.AddParameter("C", {3, 2});
    const auto scores = network.Add("Times", "ClassPostProb", {classes, h});
    const auto criterion = network.Add("ClassBasedCrossEntropyWithSoftmax", "ce", {labels, h, words, scores});
    network.Validate();
    const auto bind = [&](size_t wordClasses)
    {
        StreamInfo stream = Stream("Labels", 4);
        stream.wordClasses = wordClasses;
        stream.wordClassSource = "vocab.txt";
        std::vector<std::string> texts;
        const NetworkBinder binder({criterion}, {Stream("h", 2), stream});
        for (const NodeWarning& warning : binder.Warnings())
        {
            EXPECT_EQ(warning.node, scores);
            texts.push_back(warning.text);
        }
        return texts;
    };
    EXPECT_TRUE(bind(0).empty()) << "the reader does not know";
    EXPECT_TRUE(bind(3).empty());
    const std::string begin = "node 'ClassPostProb' has 3 rows, one a class, but 'vocab.txt' puts the words of stream "
                              "'Labels' into ";
    EXPECT_EQ(bind(2), std::vector<std::string>{begin + "2 classes; expected nbrClass=2"});
    EXPECT_EQ(bind(1), std::vector<std::string>{begin + "1 class; expected nbrClass=1"});
    EXPECT_EQ(MessageOf(ErrorKind::Config, [&] { bind(4); }), begin + "4 classes; expected nbrClass=4");
}

TEST_F(NetworkBinderTest, ImagesInAnotherOrderOfTheirElements)
{
    ComputationNetwork network(DataType::Float64, MakeCpuDevice());
    const auto image = network.AddInput("image", {3, 4, 4});
    const auto gray = network.AddInput("gray", {1, 6, 8});
    const auto vector = network.AddInput("vector", {48});
    network.Validate();
    const auto bind = [](const ComputationNodePtr& x, std::vector<size_t> shape)
    {
        StreamInfo stream = Stream(x->Name(), 48);
        stream.shape = std::move(shape);
        stream.shapeSource = "mbFormat=nchw at exp.cntk:9";
        return NetworkBinder({x}, {stream}).Warnings();
    };
    ASSERT_EQ(bind(image, {4, 4, 3}).size(), 1u);
    EXPECT_EQ(bind(image, {4, 4, 3})[0].node, image);
    EXPECT_EQ(
        bind(image, {4, 4, 3})[0].text,
        "input node 'image' takes images as [3 x 4 x 4], but stream 'image' of the reader delivers them as [4 x 4 x 3] "
        "(mbFormat=nchw at exp.cntk:9); expected the same order of the elements, or the network mixes pixels and "
        "channels");
    EXPECT_TRUE(bind(image, {3, 4, 4}).empty());
    EXPECT_TRUE(bind(image, {}).empty()) << "the reader does not know";
    EXPECT_TRUE(bind(gray, {6, 8, 1}).empty()) << "one channel has one order";
    EXPECT_TRUE(bind(vector, {4, 4, 3}).empty()) << "a vector";
}

// A network trained with noise words has labels of 2 (K + 1) rows. Evaluation needs one row, the word.
TEST_F(NetworkBinderTest, LabelsOfOneRowAreWordsToACriterionOfNoise)
{
    ComputationNetwork network(DataType::Float64, MakeCpuDevice());
    const auto labels = network.AddInput("labels", {6});
    const auto x = network.AddInput("x", {2});
    const auto criterion =
        network.Add("NCEBasedCrossEntropyWithSoftmax", "c",
                    {labels, x, network.AddParameter("W", {2, 9}), network.AddParameter("b", {1, 9})});
    network.Validate();
    TakeSingleWords(network, {Stream("x", 2), Stream("labels", 6)});
    EXPECT_EQ(labels->SampleElements(), 6u);
    TakeSingleWords(network, {Stream("X", 1), Stream("LABELS", 1)});
    EXPECT_EQ(labels->SampleElements(), 1u);
    EXPECT_EQ(x->SampleElements(), 2u);
    EXPECT_EQ(network.DescribeShape(*criterion), "[1]");
}

TEST_F(NetworkBinderTest, LabelsThatOtherNodesUseKeepTheirRows)
{
    ComputationNetwork network(DataType::Float64, MakeCpuDevice());
    const auto labels = network.AddInput("labels", {6});
    const auto x = network.AddInput("x", {2});
    network.Add("NCEBasedCrossEntropyWithSoftmax", "c",
                {labels, x, network.AddParameter("W", {2, 9}), network.AddParameter("b", {1, 9})});
    network.Add("SumElements", "s", {labels});
    network.Validate();
    TakeSingleWords(network, {Stream("labels", 1)});
    EXPECT_EQ(labels->SampleElements(), 6u);
}

TEST_F(NetworkBinderTest, ValuesAndLayoutArriveInTheNetwork)
{
    const auto network = Classifier();
    NetworkBinder binder(network->Group(NodeGroup::Criterion), {Stream("features", 2), Stream("labels", 2)});
    HostMinibatch<float> minibatch;
    auto layout = std::make_shared<MBLayout>();
    layout->Init(2, 3);
    layout->AddSequence(0, 0, 0, 3);
    layout->AddSequence(1, 1, 0, 1);
    layout->AddGap(1, 1, 3);
    for (int stream = 0; stream < 2; ++stream)
    {
        StreamBatch<float> batch;
        batch.rows = 2;
        batch.columns = 6;
        for (int i = 0; i < 12; ++i)
            batch.values.push_back(float(i));
        batch.layout = layout;
        minibatch.streams.push_back(batch);
    }
    binder.Bind(minibatch);
    EXPECT_EQ(binder.Columns(), 6u);
    EXPECT_EQ(binder.Samples(), 4u);
    EXPECT_TRUE(*network->Layout() == *layout);
    const uint64_t version = network->Layout()->Version();
    binder.Bind(minibatch);
    EXPECT_EQ(network->Layout()->Version(), version);
}

// One label per sequence of features: averages are over the labels, which have the default axis.
TEST_F(NetworkBinderTest, SamplesOfTheDefaultAxisAreCounted)
{
    for (const bool labelsAreDefault : {true, false})
    {
        auto network = std::make_unique<ComputationNetwork>(DataType::Float32, m_device);
        const auto input = [&](const char* name, bool isDefault)
        {
            NodeParameters parameters;
            parameters.Set("rows", "1");
            if (!isDefault)
                parameters.Set("dynamicAxis", std::string(name) + "Axis");
            return network->Add("InputValue", name, {}, parameters);
        };
        const std::vector<ComputationNodePtr> inputs = {input("features", false), input("labels", labelsAreDefault)};
        network->Validate();
        NetworkBinder binder(inputs, {Stream("features", 1), Stream("labels", 1)});
        HostMinibatch<float> minibatch;
        minibatch.streams.resize(2);
        for (size_t i = 0; i < 2; ++i)
        {
            StreamBatch<float>& batch = minibatch.streams[i];
            batch.rows = 1;
            batch.columns = i == 0 ? 6 : 2;
            batch.values.resize(batch.columns);
            batch.layout = std::make_shared<MBLayout>();
            if (i == 1)
                batch.layout->InitAsFrameMode(2);
            else
            {
                batch.layout->Init(2, 3);
                batch.layout->AddSequence(0, 0, 0, 3);
                batch.layout->AddSequence(1, 1, 0, 2);
                batch.layout->AddGap(1, 2, 3);
            }
        }
        binder.Bind(minibatch);
        EXPECT_EQ(binder.Columns(), 6u);
        EXPECT_EQ(binder.Samples(), labelsAreDefault ? 2u : 5u);
    }
}

TEST_F(NetworkBinderTest, AStreamMayTakeTheRowsOfItsNode)
{
    const auto network = Classifier();
    StreamInfo labels = Stream("labels", StreamInfo::c_rowsOfNode);
    labels.sparse = true;
    NetworkBinder binder({network->Require("labels")}, {labels});
    HostMinibatch<float> minibatch;
    StreamBatch<float>& batch = minibatch.streams.emplace_back();
    batch.rows = StreamInfo::c_rowsOfNode;
    batch.columns = 3;
    batch.sparse = true;
    batch.values = {1, 1, 1};
    batch.rowIndices = {0, 0, 0};
    batch.columnStarts = {0, 1, 2, 3};
    binder.Bind(minibatch);
    EXPECT_EQ(network->Require("labels")->GetMBLayout()->Columns(), 3u);
}

TEST_F(NetworkBinderTest, StreamsOfDifferentSequencesOnOneAxisAreAnError)
{
    const auto network = Classifier();
    NetworkBinder binder(network->Group(NodeGroup::Criterion), {Stream("features", 2), Stream("labels", 2)});
    HostMinibatch<double> minibatch;
    minibatch.streams.resize(2);
    for (size_t i = 0; i < 2; ++i)
    {
        StreamBatch<double>& batch = minibatch.streams[i];
        batch.rows = 2;
        batch.columns = 3 + i;
        batch.values.resize(2 * batch.columns);
        batch.layout = std::make_shared<MBLayout>();
        batch.layout->InitAsFrameMode(batch.columns);
    }
    try
    {
        binder.Bind(minibatch);
        FAIL() << "no error";
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Kind(), ErrorKind::Data);
        EXPECT_NE(error.Message().find("(4 columns)"), std::string::npos) << error.Message();
        EXPECT_NE(error.Message().find("(3 columns)"), std::string::npos) << error.Message();
    }
}

TEST_F(NetworkBinderTest, ASequenceThatLacksSamplesOfAStreamIsNamed)
{
    const auto network = Classifier();
    StreamInfo features = Stream("features", 2);
    features.source = "a.ctf";
    NetworkBinder binder(network->Group(NodeGroup::Criterion), {features, Stream("labels", 2)});
    HostMinibatch<double> minibatch;
    minibatch.streams.resize(2);
    minibatch.sequenceKeys = {"17", "23"};
    for (size_t i = 0; i < 2; ++i)
    {
        StreamBatch<double>& batch = minibatch.streams[i];
        const size_t steps = i == 0 ? 3 : 2; // the second sequence lacks one label
        batch.rows = 2;
        batch.columns = 2 * steps;
        batch.values.resize(2 * batch.columns);
        batch.layout = std::make_shared<MBLayout>();
        batch.layout->Init(2, steps);
        batch.layout->AddSequence(0, 0, 0, 1);
        batch.layout->AddGap(0, 1, ptrdiff_t(steps));
        batch.layout->AddSequence(1, 1, 0, steps);
    }
    try
    {
        binder.Bind(minibatch);
        FAIL() << "no error";
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Kind(), ErrorKind::Data);
        EXPECT_TRUE(error.Message() ==
                        "sequence '23' has 2 samples of stream 'labels', but 3 of 'features'; expected as "
                        "many of each, since their inputs share an axis" ||
                    error.Message() == "sequence '23' has 3 samples of stream 'features' (from a.ctf), but 2 of "
                                       "'labels'; expected as many of each, since their inputs share an axis")
            << error.Message();
    }
}

} // namespace cntk
