// Values of nodes in the log: each form, layouts with gaps, sparse inputs, labels, and what tracing leaves alone.
#include "Common/Error.h"
#include "SGD/Evaluation/Evaluation.h"
#include "SGD/Minibatches/NetworkBinder.h"
#include "SGD/NodeTracing.h"
#include "SGDTests/TrainingFixture.h"

namespace cntk
{

namespace
{

class NodeTracingTest : public TrainingTest
{
protected:
    static NodesToTrace Names(std::vector<std::string> real, std::vector<std::string> category = {},
                              std::vector<std::string> sparse = {})
    {
        NodesToTrace names;
        names.traceNodeNamesReal = {std::move(real), {}};
        names.traceNodeNamesCategory = {std::move(category), {}};
        names.traceNodeNamesSparse = {std::move(sparse), {}};
        return names;
    }
    // y = W x, where x is a sparse input of three rows and W = (1, 2, 3).
    std::unique_ptr<ComputationNetwork> SparseProduct() const
    {
        auto network = std::make_unique<ComputationNetwork>(DataType::Float32, m_device);
        const auto input = network->AddInput("x", {3}, true);
        const auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(network->AddParameter("W", {1, 3}));
        parameter->Values().FromHost(std::vector<double>{1, 2, 3});
        network->AddToGroup(NodeGroup::Output, network->Add("Times", "y", {parameter, input}));
        network->Validate();
        return network;
    }
    static StreamInfo Stream(const std::string& name, size_t rows, std::vector<std::string> labels = {})
    {
        StreamInfo stream;
        stream.name = name;
        stream.rows = rows;
        stream.labelNames = std::move(labels);
        return stream;
    }
};

} // namespace

TEST_F(NodeTracingTest, NumbersOfInputsParametersAndCriteria)
{
    const auto network = Line(2, DataType::Float32);
    const SyntheticData data{.featureDim = 1, .labelDim = 1, .features = {0.1, -2, 0}, .labels = {3, 3, 3}};
    MinibatchSource source(std::make_unique<SyntheticReader<float>>(data));
    NodeTracer tracer(*network, Names({"Features", "w", "criterion"}), *m_log);
    EvaluationSettings settings;
    settings.minibatchSize = 2;
    settings.tracer = &tracer;
    EvaluateCriteria(*network, SelectEvaluationNodes(*network, {}), source, settings, *m_log);
    EXPECT_EQ(LogText(), "Trace of minibatch 1: features = InputValue [1 x 2], real\n"
                         "  sample 0: 0.1\n"
                         "  sample 1: -2\n"
                         "Trace of minibatch 1: W = LearnableParameter [1 x 1], real\n"
                         "  column 0: 2\n"
                         "Trace of minibatch 1: criterion = SquareError [1 x 1], real\n"
                         "  column 0: 56.84\n"
                         "Trace of minibatch 2: features = InputValue [1 x 1], real\n"
                         "  sample 0: 0\n"
                         "Trace of minibatch 2: W = LearnableParameter [1 x 1], real\n"
                         "  column 0: 2\n"
                         "Trace of minibatch 2: criterion = SquareError [1 x 1], real\n"
                         "  column 0: 9\n"
                         "Final Results: Minibatch[1-2]: SamplesSeen = 3    criterion: SquareError/Sample = 21.946667"
                         "    \n");
}

TEST_F(NodeTracingTest, SequencesHaveTheirTimeAndGapsAreLeftOut)
{
    const auto network = SparseProduct();
    const NodesToTrace names = Names({"y"}, {"x"}, {"x"});
    NodeTracer tracer(*network, names, *m_log);
    tracer.UseLabels({Stream("x", 3, {"the", "cat", "sat"})});
    const std::vector<ComputationNodePtr> roots = tracer.AddTo(network->Group(NodeGroup::Output));
    NetworkBinder binder(roots, {Stream("x", 3)});
    // Sequence 7 began two steps before this minibatch; sequence 9 is followed by a gap.
    HostMinibatch<float> minibatch;
    minibatch.streams.resize(1);
    StreamBatch<float>& batch = minibatch.streams[0];
    batch.layout = std::make_shared<MBLayout>();
    batch.layout->Init(2, 2);
    batch.layout->AddSequence(7, 0, -2, 2);
    batch.layout->AddSequence(9, 1, 0, 1);
    batch.layout->AddGap(1, 1, 2);
    batch.rows = 3;
    batch.columns = 4;
    batch.sparse = true;
    batch.values = {1, 0.5f, 2, 1};
    batch.rowIndices = {1, 0, 2, 0};
    batch.columnStarts = {0, 1, 3, 4, 4};
    binder.Bind(minibatch);
    Evaluator evaluator(*network, roots);
    evaluator.Forward();
    tracer.Print("minibatch 5");
    EXPECT_EQ(LogText(), "Trace of minibatch 5: y = Times [1 x 4], real\n"
                         "  sequence 7, time 2: 2\n"
                         "  sequence 7, time 3: 1\n"
                         "  sequence 9, time 0: 6.5\n"
                         "Trace of minibatch 5: x = SparseInputValue [3 x 4], category\n"
                         "  sequence 7, time 2: 1 'cat'\n"
                         "  sequence 7, time 3: 0 'the'\n"
                         "  sequence 9, time 0: 2 'sat'\n"
                         "Trace of minibatch 5: x = SparseInputValue [3 x 4], sparse\n"
                         "  sequence 7, time 2: 1:1\n"
                         "  sequence 7, time 3: 0:1\n"
                         "  sequence 9, time 0: 0:0.5 2:2\n");
}

TEST_F(NodeTracingTest, LabelsOfAnOutputAreThoseOfTheOnlyMapOfItsSize)
{
    const auto network = Classifier();
    const SyntheticData data = TwoClasses(1, 3);
    const auto lastLine = [&](const std::vector<StreamInfo>& streams)
    {
        MinibatchSource source(std::make_unique<SyntheticReader<double>>(data));
        NodeTracer tracer(*network, Names({}, {"labels"}), *m_log);
        tracer.UseLabels(streams);
        source.BindTo(network->Group(NodeGroup::Label));
        source.StartEpoch({});
        EXPECT_TRUE(source.Next());
        Evaluator evaluator(*network, tracer.AddTo({}));
        evaluator.Forward();
        tracer.Print("minibatch 1");
        const std::string text = LogText();
        return text.substr(text.rfind("  sample"));
    };
    const std::string number = data.labels[0] == 1 ? "0" : "1";
    const std::string label = data.labels[0] == 1 ? "yes" : "no";
    EXPECT_EQ(lastLine({Stream("labels", 2, {"yes", "no"})}), "  sample 0: " + number + " '" + label + "'\n");
    EXPECT_EQ(lastLine({Stream("words", 2, {"yes", "no"})}), "  sample 0: " + number + " '" + label + "'\n");
    EXPECT_EQ(lastLine({Stream("words", 3, {"yes", "no", "?"})}), "  sample 0: " + number + "\n");
    EXPECT_EQ(lastLine({Stream("a", 2, {"yes", "no"}), Stream("b", 2, {"1", "2"})}), "  sample 0: " + number + "\n");
    // Its own stream has no labels: those of another one are not its.
    EXPECT_EQ(lastLine({Stream("labels", 2), Stream("b", 2, {"1", "2"})}), "  sample 0: " + number + "\n");
}

TEST_F(NodeTracingTest, UnknownNamesHaveTheirPlaceAndTheNearestName)
{
    const auto network = Classifier();
    NodesToTrace names = Names({}, {"H1", "HLst"});
    names.traceNodeNamesCategory.where = {std::make_shared<const SourceText>("exp.cntk", "x\n  y"), 4, 1};
    try
    {
        NodeTracer tracer(*network, names, *m_log);
        ADD_FAILURE() << "no error";
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Kind(), ErrorKind::Config);
        EXPECT_EQ(error.Message(), "traceNodeNamesCategory lists 'HLst', but there is no such node in the network; did "
                                   "you mean 'HLast'?");
        EXPECT_EQ(error.Where().Location(), "exp.cntk:2:3");
    }
}

// Values that the plan would fuse away or overwrite are shown, and the training is the same to the bit.
TEST_F(NodeTracingTest, TrainingIsTheSameWithAndWithout)
{
    TrainingRequest request = ClassifierRequest(2);
    request.modelPath = Path("plain.dnn");
    Run(request);
    EXPECT_EQ(LogText().find("Trace of"), std::string::npos);
    static_cast<NodesToTrace&>(request.options) = Names({"W0*features", "z"}, {"HLast", "err"}, {"H1"});
    request.modelPath = Path("traced.dnn");
    request.openCvReader = request.openReader;
    Run(request);
    EXPECT_EQ(BytesOf(Path("plain.dnn")), BytesOf(Path("traced.dnn")));
    for (const char* line : {"\nTrace of minibatch 1: W0*features = Times [5 x 5], real\n  sample 0: ",
                             "\nTrace of minibatch 5: z = Plus [5 x 3], real\n  sample 0: ",
                             "\nTrace of validation minibatch 1: HLast = Plus [2 x 5], category\n  sample 0: ",
                             "\nTrace of minibatch 1: H1 = Sigmoid [5 x 5], sparse\n  sample 0: 0:0."})
        EXPECT_NE(LogText().find(line), std::string::npos) << line << "\n" << LogText();
}

} // namespace cntk
