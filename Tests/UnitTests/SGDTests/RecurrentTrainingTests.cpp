// Recurrent state through training and evaluation: carried from minibatch to minibatch, gone when a pass begins.
#include "SGD/Evaluation.h"
#include "SGDTests/TrainingFixture.h"

#include <cmath>

namespace cntk
{

namespace
{

constexpr size_t c_rows = 2;
constexpr size_t c_steps = 6;

// Two rows of six steps: a sequence of 6, and sequences of 4 and 2; minibatches of as many steps as are asked for.
class TruncatingReader final : public IDataReader<double>
{
public:
    TruncatingReader()
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
    size_t ParallelSequences() const override { return c_rows; }

    void StartEpoch(const EpochRequest& request) override
    {
        m_size = request.minibatchSize;
        m_begin = 0;
    }

    bool GetMinibatch(HostMinibatch<double>& minibatch) override
    {
        if (m_begin >= c_steps)
            return false;
        const size_t end = std::min(m_begin + m_size, c_steps);
        const ptrdiff_t shift = -ptrdiff_t(m_begin);
        m_layout->Init(c_rows, end - m_begin);
        m_layout->AddSequence(0, 0, shift, 6 + shift);
        if (m_begin < 4)
            m_layout->AddSequence(1, 1, shift, 4 + shift);
        if (end > 4)
            m_layout->AddSequence(2, 1, 4 + shift, 6 + shift);
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
    std::vector<StreamInfo> m_streams;
    MBLayoutPtr m_layout = std::make_shared<MBLayout>();
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

TEST_F(RecurrentTraining, RatesPerMinibatchCountTheParallelSequences)
{
    TrainingRequest request;
    request.options.maxEpochs = 2;
    request.options.truncated = true;
    request.options.minibatchSize = 3;
    request.options.learningRatesPerMB = 0.06f;
    request.options.momentumPerMB = 0.0f;
    request.modelPath = Path("m.dnn");
    request.dataType = DataType::Float64;
    request.device = m_device;
    request.buildNetwork = [this] { return Network(); };
    request.openReader = [] { return std::make_unique<MinibatchSource>(std::make_unique<TruncatingReader>()); };
    Run(request);
    EXPECT_NE(LogText().find("learning rate per sample = 0.010000"), std::string::npos) << LogText();
}

} // namespace cntk
