// Forward passes over a data set.
#include "SGD/Evaluation/Evaluation.h"

#include "Common/Error.h"
#include "Common/Interruption.h"
#include "Common/Log.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

namespace cntk
{

namespace
{

std::vector<EvaluatedNode> Averages(const std::vector<ComputationNodePtr>& nodes, const std::vector<double>& sums,
                                    size_t samples)
{
    std::vector<EvaluatedNode> averages;
    for (size_t i = 0; i < nodes.size(); ++i)
        averages.push_back({nodes[i]->Name(), nodes[i]->TypeName(), samples == 0 ? 0 : sums[i] / double(samples)});
    return averages;
}

// Intermediate lines: results since the previous line.
class IntermediateLines
{
public:
    IntermediateLines(const EvaluationSettings& settings, Log& log, size_t nodes)
        : m_interval(settings.traceLevel > 0 ? settings.numMBsToShowResult : 0), m_log(log), m_shownSums(nodes)
    {
    }

    bool IsDue(size_t minibatch) const { return m_interval != 0 && minibatch % m_interval == 0; }
    // True if minibatches remain after the last intermediate line; they get a line too. Without intermediate lines it
    // would only repeat the final line.
    bool HasRest(size_t minibatch) const { return m_shownMinibatch != 0 && minibatch > m_shownMinibatch; }
    void Show(size_t minibatch, CriterionSums& sums)
    {
        std::vector<double> since(m_shownSums.size());
        for (size_t i = 0; i < since.size(); ++i)
        {
            const double sum = sums.Sum(i);
            since[i] = sum - m_shownSums[i];
            m_shownSums[i] = sum;
        }
        const size_t samples = sums.Samples() - m_shownSamples;
        m_log.Write(FormatEvaluation(m_shownMinibatch + 1, minibatch, samples, Averages(sums.Nodes(), since, samples),
                                     EvaluationLine::Intermediate) +
                    "\n");
        m_shownMinibatch = minibatch;
        m_shownSamples = sums.Samples();
    }

private:
    size_t m_interval;
    Log& m_log;
    std::vector<double> m_shownSums;
    size_t m_shownMinibatch = 0;
    size_t m_shownSamples = 0;
};

} // namespace

EvaluationResult EvaluateCriteria(Evaluator& evaluator, const std::vector<ComputationNodePtr>& nodes,
                                  MinibatchSource& source, const EvaluationSettings& settings, Log& log)
{
    CriterionSums sums(nodes, nodes.front()->GetDevice());
    IntermediateLines lines(settings, log, nodes.size());
    EvaluationResult result;
    const auto note = [&] { return Concat("while evaluating minibatch ", result.minibatches + 1); };
    WithNote(
        [&]
        {
            source.StartEpoch({.epoch = 0,
                               .minibatchSize = settings.minibatchSize,
                               .epochSize = settings.epochSize == 0 ? c_wholeDataSet : settings.epochSize,
                               .rank = 0,
                               .workers = 1,
                               .eachOnce = true,
                               .wanted = {}});
            while (source.Next())
            {
                source.NameSequenceWhereFails([&] { evaluator.Forward(); });
                sums.Add(source.Samples());
                ++result.minibatches;
                if (settings.afterMinibatch)
                    settings.afterMinibatch();
                if (settings.tracer != nullptr)
                    settings.tracer->Print(Concat(settings.tracedAs, " ", result.minibatches));
                if (settings.stopRequested && settings.stopRequested())
                    throw Interrupted("evaluation stopped");
                if (lines.IsDue(result.minibatches))
                    lines.Show(result.minibatches, sums);
            }
        },
        note);
    if (result.minibatches == 0)
        Fail(ErrorKind::Data, "the reader delivered no data to evaluate");
    if (lines.HasRest(result.minibatches))
        lines.Show(result.minibatches, sums);

    std::vector<double> totals;
    for (size_t i = 0; i < nodes.size(); ++i)
        totals.push_back(sums.Sum(i));
    result.samples = sums.Samples();
    result.nodes = Averages(nodes, totals, result.samples);
    log.Write(FormatEvaluation(1, result.minibatches, result.samples, result.nodes, EvaluationLine::Final) + "\n");
    return result;
}

EvaluationResult EvaluateCriteria(ComputationNetwork& network, const std::vector<ComputationNodePtr>& nodes,
                                  MinibatchSource& source, const EvaluationSettings& settings, Log& log)
{
    TakeSingleWords(network, source.Streams());
    std::vector<ComputationNodePtr> roots = nodes;
    if (settings.tracer != nullptr)
    {
        roots = settings.tracer->AddTo(nodes);
        settings.tracer->UseLabels(source.Streams());
    }
    EvaluatorOptions options;
    options.keepValues = settings.keepValues;
    Evaluator evaluator(network, roots, options);
    source.BindTo(NodesToRead(network, roots));
    for (const NodeWarning& warning : source.Warnings())
        log.Warn(warning.text);
    return EvaluateCriteria(evaluator, nodes, source, settings, log);
}

EvaluationSummary DescribeEvaluation(const ComputationNetwork& network, const std::vector<ComputationNodePtr>& nodes,
                                     const EvaluationResult& result, const std::string& modelPath)
{
    EvaluationSummary summary;
    summary.samples = result.samples;
    summary.modelPath = modelPath;
    const std::vector<ComputationNodePtr>& criteria = network.Group(NodeGroup::Criterion);
    for (size_t i = 0; i < nodes.size(); ++i)
    {
        const bool isCriterion = std::find(criteria.begin(), criteria.end(), nodes[i]) != criteria.end();
        summary.nodes.push_back({nodes[i]->Name(), nodes[i]->TypeName(), result.nodes[i].average, isCriterion});
    }
    return summary;
}

bool Precompute(ComputationNetwork& network, MinibatchSource& source, size_t minibatchSize, size_t epochSize, Log& log,
                const std::function<bool()>& stopRequested)
{
    std::vector<ComputationNodePtr> roots;
    std::vector<std::shared_ptr<PrecomputeNode>> nodes;
    for (const ComputationNodePtr& candidate : network.Nodes())
    {
        auto node = std::dynamic_pointer_cast<PrecomputeNode>(candidate);
        if (!node || node->HasComputed())
            continue;
        roots.push_back(candidate);
        nodes.push_back(std::move(node));
    }
    if (nodes.empty())
    {
        log.Print("No PreCompute nodes found, skipping PreCompute step.\n");
        return false;
    }
    log.Print("\nPrecomputing --> %zu PreCompute nodes found.\n\n", nodes.size());
    for (const auto& node : nodes)
    {
        log.Print("\t%s = %s()\n", node->Name().c_str(), node->TypeName().c_str());
        node->BeginPrecompute();
    }

    Evaluator evaluator(network, roots);
    source.BindTo(roots);
    size_t minibatches = 0;
    WithNote(
        [&]
        {
            source.StartEpoch({.epoch = 0,
                               .minibatchSize = minibatchSize,
                               .epochSize = epochSize,
                               .rank = 0,
                               .workers = 1,
                               .eachOnce = true,
                               .wanted = {}});
            while (source.Next())
            {
                source.NameSequenceWhereFails([&] { evaluator.Forward(); });
                ++minibatches;
                if (stopRequested && stopRequested())
                    throw Interrupted("precomputing was stopped as asked; nothing of it is kept, and the same command "
                                      "begins it again");
            }
            for (const auto& node : nodes)
                node->MarkComputed();
        },
        [&] { return Concat("while precomputing, minibatch ", minibatches + 1); });
    log.Print("\nPrecomputing --> Completed.\n\n");
    return true;
}

} // namespace cntk
