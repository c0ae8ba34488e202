// Scores from a network: batches of frames, and the thread that stays one batch ahead of the search.
#include "ActionsLib/Decoding/NetworkScores.h"

#include "ActionsLib/Decoding/UtteranceFiles.h"
#include "Common/Error.h"
#include "Common/StartThread.h"
#include "Common/Text.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "Math/Device.h"
#include "SGD/Minibatches/NetworkBinder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace cntk
{

namespace
{

// Frames of one evaluation. Products of this size reach the processor's full rate, and the values stay in its caches.
constexpr size_t c_framesOfBatch = 1024;
// Parallel utterances of a recurrent network.
constexpr size_t c_parallelUtterances = 16;

// The nodes of a network that a decoder uses.
struct ScoreNodes
{
    ComputationNodePtr features;
    ComputationNodePtr output;
};

std::string ListOf(const std::vector<ComputationNodePtr>& nodes)
{
    std::vector<std::string> names;
    for (const ComputationNodePtr& node : nodes)
        names.push_back("'" + node->Name() + "'");
    return names.empty() ? "none" : Join(names, ", ");
}

ComputationNodePtr FindOutput(const ComputationNetwork& network, const DecodeOptions& options)
{
    if (ComputationNodePtr node = network.Find(options.outputNode))
        return node;
    const std::vector<ComputationNodePtr>& outputs = network.Group(NodeGroup::Output);
    if (outputs.size() == 1)
        return outputs[0];
    Fail(ErrorKind::Model, "model '", options.am, "' has no node '", options.outputNode,
         "' and not exactly one output node; its output nodes: ", ListOf(outputs),
         "; give -output-node, the node of the scaled log likelihoods",
         DidYouMean(options.outputNode, network.NearestNames(options.outputNode)));
}

ScoreNodes FindNodes(const ComputationNetwork& network, const DecodeOptions& options)
{
    ScoreNodes found{network.Find(options.featureNode), FindOutput(network, options)};
    std::vector<ComputationNodePtr> inputs;
    for (const ComputationNodePtr& node : ComputationNetwork::Below({found.output}))
        if (node->Type().traits.kind == NodeKind::Input)
            inputs.push_back(node);
    if (!found.features || found.features->Type().traits.kind != NodeKind::Input)
        Fail(ErrorKind::Model, "model '", options.am, "' has no input node '", options.featureNode,
             "'; the inputs of '", found.output->Name(), "': ", ListOf(inputs), "; give -feature-node");
    if (!found.output->HasMBLayout())
        Fail(ErrorKind::Model, "node '", found.output->Name(), "' of model '", options.am,
             "' has no column for each frame; give -output-node, the node of the scaled log likelihoods");
    return found;
}

// True if a column of the output may depend on other frames of the utterance than those of its input column.
bool SeesSequences(const ComputationNodePtr& output)
{
    const std::vector<ComputationNodePtr> nodes = ComputationNetwork::Below({output});
    return std::any_of(nodes.begin(), nodes.end(),
                       [](const ComputationNodePtr& node)
                       {
                           const NodeTraits& traits = node->Type().traits;
                           return node->HasMBLayout() && (traits.isDelay || traits.needsWholeMinibatch ||
                                                          traits.makesLayout || traits.inputsReadWhole != 0);
                       });
}

// One frame side by side with its neighbours. The first and the last frame stand for neighbours that do not exist.
template <class ElemType>
void FillColumn(const UtteranceScores& utterance, size_t frame, size_t window, ElemType* column)
{
    const auto half = ptrdiff_t(window / 2), last = ptrdiff_t(utterance.frames) - 1;
    for (ptrdiff_t i = ptrdiff_t(frame) - half; i <= ptrdiff_t(frame) + half; ++i, column += utterance.rows)
    {
        const float* source = utterance.values.data() + size_t(std::clamp<ptrdiff_t>(i, 0, last)) * utterance.rows;
        std::copy_n(source, utterance.rows, column);
    }
}

StreamInfo StreamOf(const ComputationNode& features)
{
    StreamInfo stream;
    stream.name = features.Name();
    stream.rows = features.SampleElements();
    return stream;
}

// Computes the scores of several utterances at once.
class BatchScorer
{
public:
    virtual ~BatchScorer() = default;
    // Replaces the features of each utterance by its scores.
    virtual void Score(std::vector<UtteranceScores>& utterances) = 0;
};

template <class ElemType>
class NetworkScorer final : public BatchScorer
{
public:
    NetworkScorer(std::unique_ptr<ComputationNetwork> network, const ScoreNodes& nodes, size_t window)
        : m_network(std::move(network)), m_output(nodes.output), m_window(window),
          m_isSequential(SeesSequences(m_output)), m_binder({m_output}, {StreamOf(*nodes.features)}),
          m_evaluator(*m_network, {m_output}), m_layout(std::make_shared<MBLayout>()),
          m_staging(0, 0, DataTypeOf<ElemType>(), m_output->GetDevice())
    {
        m_minibatch.streams.resize(1);
        m_minibatch.streams[0].rows = nodes.features->SampleElements();
    }

    void Score(std::vector<UtteranceScores>& utterances) override
    {
        std::vector<std::vector<float>> scores(utterances.size());
        for (size_t i = 0; i < utterances.size(); ++i)
            scores[i].resize(m_output->SampleElements() * utterances[i].frames);
        if (m_isSequential)
            ScoreSequences(utterances, scores);
        else
            ScoreFrames(utterances, scores);
        for (size_t i = 0; i < utterances.size(); ++i)
        {
            utterances[i].values = std::move(scores[i]);
            utterances[i].rows = m_output->SampleElements();
        }
    }

private:
    // Place of a frame of the batch: its utterance and its number there.
    struct Place
    {
        size_t utterance = 0;
        size_t frame = 0;
        size_t column = 0;
    };

    void ScoreFrames(const std::vector<UtteranceScores>& utterances, std::vector<std::vector<float>>& scores)
    {
        m_places.clear();
        for (size_t i = 0; i < utterances.size(); ++i)
            for (size_t t = 0; t < utterances[i].frames; ++t)
            {
                m_places.push_back({i, t, m_places.size()});
                if (m_places.size() == c_framesOfBatch)
                    ScorePlaces(utterances, nullptr, c_framesOfBatch, scores);
            }
        if (!m_places.empty())
            ScorePlaces(utterances, nullptr, m_places.size(), scores);
    }

    void ScoreSequences(const std::vector<UtteranceScores>& utterances, std::vector<std::vector<float>>& scores)
    {
        std::vector<size_t> numbers;
        std::vector<uint32_t> lengths;
        for (size_t i = 0; i < utterances.size(); ++i)
            if (utterances[i].frames > 0)
            {
                numbers.push_back(i);
                lengths.push_back(uint32_t(utterances[i].frames));
            }
        if (numbers.empty())
            return;
        SequencePacking packing;
        packing.Pack(lengths);
        packing.Fill(*m_layout, lengths);
        m_places.clear();
        for (size_t i = 0; i < numbers.size(); ++i)
            for (size_t t = 0; t < lengths[i]; ++t)
            {
                const SequencePacking::Place& place = packing.Places()[i];
                m_places.push_back({numbers[i], t, (place.begin + t) * packing.Rows() + place.row});
            }
        ScorePlaces(utterances, m_layout, packing.Columns(), scores);
    }

    // Evaluates the frames of m_places and clears it.
    void ScorePlaces(const std::vector<UtteranceScores>& utterances, const MBLayoutPtr& layout, size_t columns,
                     std::vector<std::vector<float>>& scores)
    {
        StreamBatch<ElemType>& batch = m_minibatch.streams[0];
        batch.columns = columns;
        batch.layout = layout;
        batch.values.resize(batch.rows * columns);
        if (m_places.size() < columns) // gaps
            std::fill(batch.values.begin(), batch.values.end(), ElemType(0));
        for (const Place& place : m_places)
            FillColumn(utterances[place.utterance], place.frame, m_window,
                       batch.values.data() + place.column * batch.rows);
        m_binder.BeginPass();
        m_binder.Bind(m_minibatch);
        m_evaluator.Forward();
        const size_t rows = m_output->SampleElements();
        m_outputs.resize(rows * columns);
        m_staging.CopyFrom(m_output->Value());
        m_staging.CopyToHost(m_outputs.data());
        for (const Place& place : m_places)
            std::copy_n(m_outputs.data() + place.column * rows, rows,
                        scores[place.utterance].data() + place.frame * rows);
        m_places.clear();
    }

    std::unique_ptr<ComputationNetwork> m_network;
    ComputationNodePtr m_output;
    size_t m_window;
    bool m_isSequential;
    NetworkBinder m_binder;
    Evaluator m_evaluator;
    MBLayoutPtr m_layout;
    HostMinibatch<ElemType> m_minibatch;
    std::vector<Place> m_places;
    Matrix m_staging;
    std::vector<ElemType> m_outputs;
};

class NetworkScores final : public ScoreSource
{
public:
    // frameRows: of the features; rows: of the scores.
    NetworkScores(UtteranceFiles files, std::unique_ptr<BatchScorer> scorer, size_t frameRows, size_t rows,
                  bool runsNextToSearch)
        : m_files(std::move(files)), m_scorer(std::move(scorer)), m_frameRows(frameRows), m_rows(rows),
          m_runsNextToSearch(runsNextToSearch)
    {
    }

    ~NetworkScores() override
    {
        {
            const std::lock_guard<std::mutex> lock(m_mutex);
            m_isStopped = true;
        }
        m_changed.notify_all();
        if (m_thread.joinable())
            m_thread.join();
    }

    size_t Utterances() const override { return m_files.Count(); }
    size_t Rows() const override { return m_rows; }
    double NetworkSeconds() const override { return m_seconds; }

    bool Next(UtteranceScores& scores) override
    {
        if (!m_runsNextToSearch)
        {
            if (m_ready.empty())
                for (UtteranceScores& one : MakeBatch())
                    m_ready.push_back(std::move(one));
            return TakeFirst(scores);
        }
        if (!m_thread.joinable())
            m_thread = StartThread([this] { Produce(); });
        std::unique_lock<std::mutex> lock(m_mutex);
        m_changed.wait(lock, [this] { return !m_ready.empty() || m_hasEnded; });
        if (m_ready.empty() && m_error)
            std::rethrow_exception(m_error);
        const bool isTaken = TakeFirst(scores);
        lock.unlock();
        m_changed.notify_all();
        return isTaken;
    }

private:
    bool TakeFirst(UtteranceScores& scores)
    {
        if (m_ready.empty())
            return false;
        scores = std::move(m_ready.front());
        m_ready.pop_front();
        return true;
    }

    // Reads the next utterances and computes their scores. Empty at the end of the list.
    std::vector<UtteranceScores> MakeBatch()
    {
        std::vector<UtteranceScores> batch;
        for (size_t total = 0;
             m_next < m_files.Count() && total < c_framesOfBatch && batch.size() < c_parallelUtterances; ++m_next)
        {
            UtteranceScores& one = batch.emplace_back();
            m_files.Read(m_next, one);
            if (one.problem.empty() && one.rows != m_frameRows)
                one.problem = Concat(m_files.Location(m_next), ": the frames of '", m_files.PathOf(m_next), "' have ",
                                     one.rows, " values, but the model takes ", m_frameRows);
            if (!one.problem.empty())
                one.frames = 0;
            total += one.frames;
        }
        const auto begin = std::chrono::steady_clock::now();
        m_scorer->Score(batch);
        m_seconds = m_seconds + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        return batch;
    }

    // The body of the thread: stays one batch ahead of the search.
    void Produce()
    {
        try
        {
            for (std::vector<UtteranceScores> batch = MakeBatch(); !batch.empty(); batch = MakeBatch())
            {
                std::unique_lock<std::mutex> lock(m_mutex);
                m_changed.wait(lock, [this] { return m_ready.size() < c_parallelUtterances || m_isStopped; });
                if (m_isStopped)
                    return;
                for (UtteranceScores& one : batch)
                    m_ready.push_back(std::move(one));
                lock.unlock();
                m_changed.notify_all();
            }
        }
        catch (...)
        {
            m_error = std::current_exception();
        }
        {
            const std::lock_guard<std::mutex> lock(m_mutex);
            m_hasEnded = true;
        }
        m_changed.notify_all();
    }

    UtteranceFiles m_files;
    std::unique_ptr<BatchScorer> m_scorer;
    size_t m_frameRows;
    size_t m_rows;
    bool m_runsNextToSearch;
    size_t m_next = 0;
    std::atomic<double> m_seconds = 0;
    std::deque<UtteranceScores> m_ready;

    // State of the thread that runs next to the search. The mutex protects m_ready and the following members.
    std::thread m_thread;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    bool m_isStopped = false;
    bool m_hasEnded = false;
    std::exception_ptr m_error;
};

// Fails if the input of the network does not take the windows of the frames.
void RequireWindow(const DecodeOptions& options, const ComputationNode& features, size_t rows)
{
    const size_t wanted = features.SampleElements(), window = options.dnnWindowSize;
    if (rows == 0 || rows * window == wanted)
        return;
    const bool fits = wanted % rows == 0 && (wanted / rows) % 2 == 1;
    Fail(ErrorKind::Data, "input '", features.Name(), "' of model '", options.am, "' has ", wanted,
         " rows, but the frames of '", options.infiles, "' have ", rows, " values, which is ", rows * window,
         " in a window of ", window,
         fits ? Concat("; expected -dnn_window_size ", wanted / rows)
              : std::string("; expected the features on which the model was trained"));
}

} // namespace

std::unique_ptr<ScoreSource> MakeNetworkScores(const DecodeOptions& options,
                                               std::unique_ptr<ComputationNetwork> network)
{
    UtteranceFiles files(options);
    const ScoreNodes nodes = FindNodes(*network, options);
    RequireWindow(options, *nodes.features, files.DimensionOfFirst());
    std::unique_ptr<BatchScorer> scorer;
    const auto make = [&]<class ElemType>()
    { scorer = std::make_unique<NetworkScorer<ElemType>>(std::move(network), nodes, options.dnnWindowSize); };
    const bool isHost = nodes.output->GetDevice().IsHostMemory();
    WithNote(
        [&]
        {
            if (nodes.output->GetDataType() == DataType::Float32)
                make.template operator()<float>();
            else
                make.template operator()<double>();
        },
        [&] { return Concat("the decoder feeds '", nodes.features->Name(), "' alone"); });
    // A GPU belongs to the thread that chose it.
    return std::make_unique<NetworkScores>(std::move(files), std::move(scorer),
                                           nodes.features->SampleElements() / options.dnnWindowSize,
                                           nodes.output->SampleElements(), options.threads > 1 && isHost);
}

} // namespace cntk
