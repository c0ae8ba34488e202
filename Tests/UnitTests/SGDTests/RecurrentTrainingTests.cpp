// Recurrent state through training and evaluation: carried from minibatch to minibatch and through a stop, gone when a
// pass begins.
#include "Common/Error.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "SGD/Evaluation/Evaluation.h"
#include "SGDTests/TrainingFixture.h"

#include <cmath>
#include <filesystem>
#include <sstream>
#include <tuple>

namespace cntk
{

namespace
{

constexpr size_t c_rows = 3;
constexpr size_t c_steps = 12;

// Three rows of twelve steps: a sequence of 12; of 4 and 8; of 7, a gap, and 4. Minibatches of as many steps as are
// asked for.
class TruncatingReader final : public IDataReader<double>
{
public:
    // The steps of each pass: it begins and ends within sequences unless they are all.
    explicit TruncatingReader(size_t first = 0, size_t end = c_steps) : m_first(first), m_end(end)
    {
        m_streams.resize(2);
        m_streams[0].name = "features";
        m_streams[1].name = "labels";
        for (StreamInfo& stream : m_streams)
            stream.rows = 1;
    }
    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    size_t TotalSamples() override { return c_rows * c_steps; }
    std::vector<std::string> CreateLabelMaps() override { return {}; }
    size_t ParallelSequences(size_t) const override { return c_rows; }

    void StartEpoch(const EpochRequest& request) override
    {
        m_size = request.minibatchSize;
        m_begin = m_first;
    }

    bool GetMinibatch(HostMinibatch<double>& minibatch) override
    {
        if (m_begin >= m_end)
            return false;
        const size_t end = std::min(m_begin + m_size, m_end);
        m_layout->Init(c_rows, end - m_begin);
        for (const SequenceInfo& sequence :
             {SequenceInfo{0, 0, 0, 12}, SequenceInfo{1, 1, 0, 4}, SequenceInfo{2, 1, 4, 12}, SequenceInfo{3, 2, 0, 7},
              SequenceInfo{SequenceInfo::c_gap, 2, 7, 8}, SequenceInfo{4, 2, 8, 12}})
            AddPart(sequence, ptrdiff_t(end));
        minibatch.streams.resize(2);
        for (size_t stream = 0; stream < 2; ++stream)
        {
            StreamBatch<double>& batch = minibatch.streams[stream];
            batch.rows = 1;
            batch.columns = c_rows * (end - m_begin);
            batch.layout = m_layout;
            batch.values.clear();
            for (size_t column = c_rows * m_begin; column < c_rows * end; ++column)
                batch.values.push_back(std::sin(double(column) + 3 * double(stream)));
        }
        m_begin = end;
        return true;
    }

private:
    void AddPart(const SequenceInfo& sequence, ptrdiff_t end)
    {
        const ptrdiff_t begin = ptrdiff_t(m_begin);
        if (sequence.end <= begin || sequence.begin >= end)
            return;
        if (sequence.id == SequenceInfo::c_gap)
            m_layout->AddGap(sequence.row, sequence.begin - begin, sequence.end - begin);
        else
            m_layout->AddSequence(sequence.id, sequence.row, sequence.begin - begin, sequence.end - begin);
    }

    std::vector<StreamInfo> m_streams;
    MBLayoutPtr m_layout = std::make_shared<MBLayout>();
    size_t m_first;
    size_t m_end;
    size_t m_size = 1;
    size_t m_begin = 0;
};

class RecurrentTraining : public TrainingTest
{
protected:
    // h = tanh(x + w h(t-1)) against the labels.
    std::unique_ptr<ComputationNetwork> Network() const
    {
        auto network = std::make_unique<ComputationNetwork>(DataType::Float64, m_device);
        const auto features = network->AddInput("features", {1});
        const auto labels = network->AddInput("labels", {1});
        const auto w = std::dynamic_pointer_cast<LearnableParameterNode>(network->AddParameter("W", {1, 1}));
        w->InitFixed(0.8);
        const auto past = network->AddUnconnected("PastValue", "past");
        const auto sum = network->Add("Plus", "sum", {features, network->Add("Times", "wh", {w, past})});
        const auto h = network->Add("Tanh", "h", {sum});
        network->SetInputs(past, {h});
        network->AddToGroup(NodeGroup::Criterion, network->Add("SquareError", "se", {labels, h}));
        network->Validate();
        return network;
    }

    // Everything that carries state: an LSTM on the features and what they were three steps before; on it a recurrence
    // over one step and one over two, whose states have the same size; and a recurrence that looks ahead.
    std::unique_ptr<ComputationNetwork> EveryKind() const
    {
        auto network = std::make_unique<ComputationNetwork>(DataType::Float64, m_device);
        uint64_t seed = 1;
        const auto parameter = [&](const char* name, const TensorShape& shape)
        {
            auto node = std::dynamic_pointer_cast<LearnableParameterNode>(network->AddParameter(name, shape));
            node->InitUniform(seed++, 10);
            return node;
        };
        const auto delay = [&](const char* name, const char* kind, int steps)
        {
            NodeParameters parameters;
            parameters.Set("timeStep", std::to_string(steps));
            return network->AddUnconnected(kind, name, parameters);
        };
        const auto features = network->AddInput("features", {1});
        const auto labels = network->AddInput("labels", {1});
        const auto before = delay("zBefore", "PastValue", 3);
        network->SetInputs(before, {features});
        const auto dropped = network->Add("Dropout", "dropped", {network->Add("Plus", "x", {features, before})});
        ComputationNodePtr last = network->Add("LSTM", "lstm",
                                               {dropped, parameter("Wi", {2, 5}), parameter("Wf", {2, 5}),
                                                parameter("Wo", {2, 5}), parameter("Wc", {2, 4})});
        for (const auto& [name, kind, steps] : {std::tuple("yTwo", "PastValue", 2), std::tuple("aOne", "PastValue", 1),
                                                std::tuple("mAhead", "FutureValue", 1)})
        {
            const std::string of = name;
            const auto delayed = delay(name, kind, steps);
            const auto product = network->Add("Times", of + "W*h", {parameter((of + "W").c_str(), {2, 2}), delayed});
            last = network->Add("Tanh", of + "H", {network->Add("Plus", of + "Sum", {last, product})});
            network->SetInputs(delayed, {last});
        }
        const auto output = network->Add("Times", "output", {parameter("Wout", {1, 2}), last});
        network->AddToGroup(NodeGroup::Criterion, network->Add("SquareError", "se", {labels, output}));
        network->Validate();
        return network;
    }

    TrainingRequest EveryKindRequest() const
    {
        TrainingRequest request;
        request.options.maxEpochs = 3;
        request.options.truncated = true;
        request.options.minibatchSize = 2;
        request.options.learningRatesPerSample = 0.05f;
        request.options.momentumPerMB = 0.5f;
        request.modelPath = Path("m.dnn");
        request.dataType = DataType::Float64;
        request.device = m_device;
        request.buildNetwork = [this] { return EveryKind(); };
        request.openReader = [] { return std::make_unique<MinibatchSource>(std::make_unique<TruncatingReader>()); };
        return request;
    }
};

} // namespace

TEST_F(RecurrentTraining, EvaluationCarriesStateAndEachPassBeginsAnew)
{
    const auto network = Network();
    const std::vector<ComputationNodePtr>& nodes = network->Group(NodeGroup::Criterion);
    MinibatchSource source(std::make_unique<TruncatingReader>());
    const auto evaluate = [&](size_t size)
    {
        EvaluationSettings settings;
        settings.minibatchSize = size;
        return EvaluateCriteria(*network, nodes, source, settings, *m_log).nodes.front().average;
    };
    const double whole = evaluate(c_steps);
    for (const size_t size : {1, 2, 4, 5})
        EXPECT_DOUBLE_EQ(evaluate(size), whole) << "minibatches of " << size;
    EXPECT_EQ(evaluate(2), evaluate(2));
}

// Pass by pass the first minibatch is of sequences that began before it, and the last one of such as go on behind it.
// In front of the first step h is 0.1, the initial value, and not what the pass before ended with.
TEST_F(RecurrentTraining, APassThatBeginsWithinSequencesTakesNothingFromTheOneBefore)
{
    constexpr size_t first = 9, end = 11;
    double sum = 0;
    for (size_t row = 0; row < c_rows; ++row)
    {
        double h = double(0.1f);
        for (size_t column = c_rows * first + row; column < c_rows * end; column += c_rows)
        {
            h = std::tanh(std::sin(double(column)) + 0.8 * h);
            sum += std::pow(std::sin(double(column) + 3) - h, 2);
        }
    }
    const double expected = sum / double(c_rows * (end - first));
    const auto network = Network();
    const std::vector<ComputationNodePtr>& nodes = network->Group(NodeGroup::Criterion);
    Evaluator evaluator(*network, nodes);
    MinibatchSource source(std::make_unique<TruncatingReader>(first, end));
    source.BindTo(nodes);
    for (const size_t size : {2, 2, 1, 1})
    {
        EvaluationSettings settings;
        settings.minibatchSize = size;
        EXPECT_DOUBLE_EQ(EvaluateCriteria(evaluator, nodes, source, settings, *m_log).nodes.front().average, expected);
    }
}

TEST_F(RecurrentTraining, RatesPerMinibatchCountTheParallelSequences)
{
    TrainingRequest request;
    request.options.maxEpochs = 2;
    request.options.truncated = true;
    request.options.minibatchSize = 3;
    request.options.learningRatesPerMB = 0.09f;
    request.options.momentumPerMB = 0.0f;
    request.modelPath = Path("m.dnn");
    request.dataType = DataType::Float64;
    request.device = m_device;
    request.buildNetwork = [this] { return Network(); };
    request.openReader = [] { return std::make_unique<MinibatchSource>(std::make_unique<TruncatingReader>()); };
    Run(request);
    EXPECT_NE(LogText().find("learning rate per sample = 0.010000"), std::string::npos) << LogText();

    // The rate that nobody gave does not.
    request.options.learningRatesPerMB = {};
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    request.modelPath = Path("default.dnn");
    Run(request);
    EXPECT_NE(LogText().find("learning rate per sample = 0.166667"), std::string::npos) << LogText();
}

TEST_F(RecurrentTraining, StoppedWithinAnEpochItEndsWithTheSameBits)
{
    for (const size_t steps : {1, 2, 5})
    {
        SCOPED_TRACE(steps);
        for (const auto& entry : std::filesystem::directory_iterator(m_folder))
            if (entry.path().filename() != "log.txt")
                std::filesystem::remove(entry.path());
        TrainingRequest request = EveryKindRequest();
        request.makeMode = true;
        request.options.minibatchSize = steps;
        request.options.dropoutRate = 0.3;
        ExpectSameBits(request, 3);
    }
}

// Sequences that begin, end and go on at the same places in each epoch: what was recorded in one is repeated in the
// next.
TEST_F(RecurrentTraining, AGpuThatRecordsItsStepsGetsTheSameBits)
{
    for (const size_t steps : {2, 5, 12})
    {
        SCOPED_TRACE(steps);
        const auto train = [&](bool graphs, size_t& launches)
        {
            auto runtime = std::make_unique<EmulatedRuntime>(EmulatedMemory::Open, size_t(64) << 20);
            const EmulatedRuntime& asked = *runtime;
            GpuRequest gpu{0};
            gpu.graphs = graphs;
            m_device = MakeEmulatedGpu(std::move(runtime), gpu);
            TrainingRequest request = EveryKindRequest();
            request.options.maxEpochs = 9;
            request.options.minibatchSize = steps;
            request.options.dropoutRate = 0.3;
            request.makeMode = false;
            request.modelPath = Path(graphs ? "graphs.dnn" : "steps.dnn");
            Run(request);
            launches = asked.Counts().graphLaunches;
            return BytesOf(request.modelPath);
        };
        size_t launches = 0, none = 0;
        const std::string graphs = train(true, launches);
        EXPECT_TRUE(graphs == train(false, none)) << "the models differ";
        EXPECT_GT(launches, 20u);
        EXPECT_EQ(none, 0u);
    }
}

// The state is that of all sequences, whatever the parts: of one and of two sequences, and, with minibatches of five
// steps, in other parts of the last one, which has two.
TEST_F(RecurrentTraining, PartsOfTruncatedSequencesTrainAsTheWholeMinibatch)
{
    for (const size_t steps : {1, 2, 5})
    {
        TrainingRequest request = EveryKindRequest();
        request.options.minibatchSize = steps;
        const auto train = [&](size_t parts, size_t columns)
        {
            request.modelPath = Path(Concat("m", steps, ".", parts, ".", columns));
            request.options.numSubminibatches = parts;
            request.options.maxSamplesInRAM = columns;
            Run(request);
            const auto network = LoadModel(request.modelPath, DataType::Float64, m_device);
            std::vector<double> values;
            for (const char* name : {"Wi", "Wf", "Wo", "Wc", "yTwoW", "aOneW", "mAheadW", "Wout"})
                for (const double value : ValuesOf(*network, name))
                    values.push_back(value);
            return values;
        };
        const std::vector<double> whole = train(1, SIZE_MAX);
        for (const auto& [parts, columns] : {std::pair(2, SIZE_MAX), std::pair(3, SIZE_MAX), std::pair(1, size_t(6))})
        {
            const std::vector<double> inParts = train(size_t(parts), columns);
            for (size_t i = 0; i < whole.size(); ++i)
                EXPECT_NEAR(inParts[i], whole[i], 1e-12)
                    << steps << " steps, " << parts << " parts, element " << i << " of the parameters";
        }
    }
}

// The last part of a minibatch is some of its sequences; a validation is about all of them.
TEST_F(RecurrentTraining, ValidationBehindMinibatchesInPartsSeesAllSequences)
{
    TrainingRequest request = EveryKindRequest();
    request.openCvReader = request.openReader;
    const auto validations = [&](size_t parts)
    {
        request.modelPath = Path(Concat("m", parts));
        request.options.numSubminibatches = parts;
        const size_t before = LogText().size();
        Run(request);
        std::vector<std::string> found;
        std::istringstream lines(LogText().substr(before));
        for (std::string line; std::getline(lines, line);)
            if (line.find("[Validation Set]") != std::string::npos)
                found.push_back(line);
        return found;
    };
    const std::vector<std::string> whole = validations(1);
    EXPECT_EQ(whole.size(), 3u) << LogText();
    EXPECT_EQ(validations(2), whole);
}

TEST_F(RecurrentTraining, StoppedBetweenMinibatchesInPartsItEndsWithTheSameBits)
{
    TrainingRequest request = EveryKindRequest();
    request.makeMode = true;
    request.options.numSubminibatches = 2;
    ExpectSameBits(request, 3);
}

} // namespace cntk
