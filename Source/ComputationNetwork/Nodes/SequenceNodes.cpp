// Nodes that read whole sequences: TimeReverse, CRF and its decoder.
#include "Common/Error.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace cntk
{

namespace
{

using Lifetime = TemporarySpec::Lifetime;

// Calls body(row, first step, end) for the part of each sequence inside the minibatch.
template <class Body>
void ForEachSequence(const MBLayout& layout, Body&& body)
{
    if (layout.IsFrameMode())
    {
        for (size_t row = 0; row < layout.ParallelSequences(); row++)
            body(row, size_t(0), size_t(1));
        return;
    }
    for (const SequenceInfo& sequence : layout.Sequences())
        if (sequence.id != SequenceInfo::c_gap)
            body(sequence.row, size_t(std::max<ptrdiff_t>(sequence.begin, 0)),
                 size_t(std::min(sequence.end, ptrdiff_t(layout.TimeSteps()))));
}

// ---- TimeReverse ----

// Reverses each sequence in time.
class TimeReverseNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        SetShape(Input(0)->SampleLayout(), Input(0)->GetMBLayout());
        if (inference.IsFinalPass() && !HasMBLayout())
            Fail(ErrorKind::Model, "TimeReverse needs minibatch data, but ", DescribeShape(*Input(0)),
                 " is the same at all times");
    }

    void BeginForwardProp() override
    {
        const MBLayout& layout = *GetMBLayout();
        if (m_layoutVersion == layout.Version())
            return;
        m_layoutVersion = layout.Version();
        const size_t rows = layout.ParallelSequences();
        m_source.assign(layout.Columns(), c_gap);
        ForEachSequence(layout,
                        [&](size_t row, size_t first, size_t end)
                        {
                            for (size_t time = first; time < end; time++)
                                m_source[time * rows + row] = (first + end - 1 - time) * rows + row;
                        });
    }

    void ForwardProp(const FrameRange&) override
    {
        ForEachStretch(
            [&](size_t column, size_t source, size_t count)
            {
                const MatrixView to = Value().Columns(column, count);
                if (source == c_gap)
                    Ops::Fill(to, 0);
                else
                    Ops::Copy(Input(0)->Value().Columns(source, count), to);
            });
    }

    void BackpropTo(size_t, const FrameRange& range) override
    {
        const MatrixView inputGradient = InputGradient(0, range);
        ForEachStretch(
            [&](size_t column, size_t source, size_t count)
            {
                if (source != c_gap)
                    Ops::Elementwise(ElementwiseOp::Copy, Gradient().Columns(column, count),
                                     inputGradient.Columns(source, count), 1, 1);
            });
    }

private:
    static constexpr size_t c_gap = SIZE_MAX;

    // Calls body(column, source, count) for columns that are consecutive on both sides, such as those of one step.
    template <class Body>
    void ForEachStretch(Body&& body) const
    {
        for (size_t column = 0; column < m_source.size();)
        {
            const size_t source = m_source[column];
            size_t count = 1;
            while (column + count < m_source.size() &&
                   m_source[column + count] == (source == c_gap ? c_gap : source + count))
                count++;
            body(column, source, count);
            column += count;
        }
    }

    uint64_t m_layoutVersion = UINT64_MAX;
    std::vector<size_t> m_source; // source of each column
};

// ---- CRF ----

// A matrix on the host, column-major.
struct HostMatrix
{
    size_t rows = 0;
    std::vector<double> values;

    void Take(const MatrixView& view)
    {
        rows = view.rows;
        values.resize(view.Elements());
        VisitType(view.type,
                  [&](auto tag)
                  {
                      using T = decltype(tag);
                      std::vector<T> typed(view.Elements());
                      view.device->CopyToHost(typed.data(), view.data, typed.size() * sizeof(T));
                      std::copy(typed.begin(), typed.end(), values.begin());
                  });
    }
    void Give(const MatrixView& view) const
    {
        VisitType(view.type,
                  [&](auto tag)
                  {
                      using T = decltype(tag);
                      const std::vector<T> typed(values.begin(), values.end());
                      view.device->CopyFromHost(view.data, typed.data(), typed.size() * sizeof(T));
                  });
    }
    double& At(size_t row, size_t column) { return values[column * rows + row]; }
    double At(size_t row, size_t column) const { return values[column * rows + row]; }
    size_t LargestRow(size_t column) const
    {
        const auto first = values.begin() + ptrdiff_t(column * rows);
        return size_t(std::max_element(first, first + ptrdiff_t(rows)) - first);
    }
};

double LogSum(const std::vector<double>& terms)
{
    const double largest = *std::max_element(terms.begin(), terms.end());
    double sum = 0;
    for (const double term : terms)
        sum += std::exp(term - largest);
    return largest + std::log(sum);
}

// Checks labels, scores and the square matrix of transitions.
void CheckTaggerInputs(const ComputationNode& node, const ShapeInference& inference)
{
    RequireDenseInputs(node, inference);
    if (!inference.IsFinalPass())
        return;
    const ComputationNode &labels = *node.Input(0), &scores = *node.Input(1), &transitions = *node.Input(2);
    if (!labels.HasMBLayout() || !scores.HasMBLayout() || labels.SampleElements() != scores.SampleElements())
        Fail(ErrorKind::Model, node.TypeName(), " needs labels and scores of minibatch data with equal sizes, but got ",
             DescribeShape(labels), " and ", DescribeShape(scores));
    if (transitions.HasMBLayout() || transitions.ValueRows() != scores.SampleElements() ||
        transitions.ValueColumns() != scores.SampleElements())
        Fail(ErrorKind::Model, node.TypeName(), " needs transitions [", scores.SampleElements(), " x ",
             scores.SampleElements(), "] (to x from) as its third input, but got ", DescribeShape(transitions));
}

// Computes v = -log p(labels) of a linear chain with scores for the labels and for the transitions between them, summed
// over the sequences. The label before the first one is assumed to equal the first one.
class CrfNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        const size_t size = Input(1)->SampleElements();
        if (size > 0 && Input(1)->HasMBLayout())
            InferInputShape(2, TensorShape{size, size});
        CheckTaggerInputs(*this, inference);
        CommonLayoutOfInputs(inference);
        SetScalarShape();
    }

    std::vector<TemporarySpec> Temporaries() const override
    {
        return {TemporaryLikeInput(*this, 1, Lifetime::ForwardBackward),
                TemporaryLikeInput(*this, 2, Lifetime::ForwardBackward)};
    }

    void ForwardProp(const FrameRange&) override
    {
        m_labels.Take(Input(0)->Value());
        m_scores.Take(Input(1)->Value());
        m_transitions.Take(Input(2)->Value());
        m_scoreGradient.rows = m_scores.rows;
        m_scoreGradient.values.assign(m_scores.values.size(), 0);
        m_transitionGradient.rows = m_transitions.rows;
        m_transitionGradient.values.assign(m_transitions.values.size(), 0);
        double sum = 0;
        ForEachSequence(*Input(1)->GetMBLayout(),
                        [&](size_t row, size_t first, size_t end) { sum += AddSequence(row, first, end); });
        Ops::Fill(Value(), sum);
        m_scoreGradient.Give(Temporary(0, FrameRange::All()));
        m_transitionGradient.Give(Temporary(1, FrameRange::All()));
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        if (input == 0)
            return;
        Ops::Elementwise(ElementwiseOp::Product, Temporary(input - 1, FrameRange::All()), Gradient(),
                         InputGradient(input, range), 1, 1);
    }

private:
    // Steps of one sequence in the minibatch.
    struct Steps
    {
        size_t row, first, count, parallel;
        size_t Column(size_t step) const { return (first + step) * parallel + row; }
    };

    // Returns the sequence's part of the value: log sum of all paths from its first label on, minus the path of its
    // labels. Adds its gradients to those kept for the backward pass.
    double AddSequence(size_t row, size_t first, size_t end)
    {
        const Steps steps{row, first, end - first, Input(1)->GetMBLayout()->ParallelSequences()};
        const double path = PathOfLabels(steps);
        const double total = SumOfPaths(steps);
        AddPosteriors(steps, total);
        return total - path;
    }

    // Returns the path's score and subtracts its gradients.
    double PathOfLabels(const Steps& steps)
    {
        double path = 0;
        for (size_t step = 0; step < steps.count; step++)
        {
            const size_t column = steps.Column(step);
            const size_t label = m_labels.LargestRow(column);
            const size_t before = m_labels.LargestRow(steps.Column(step == 0 ? 0 : step - 1));
            path += m_scores.At(label, column) + m_transitions.At(label, before);
            m_scoreGradient.At(label, column) -= 1;
            m_transitionGradient.At(label, before) -= 1;
        }
        return path;
    }

    // Sums forward from the first step. entering(to, step): log sum of all paths that lead to a label, before its score
    // is added; alpha: with its score.
    double SumOfPaths(const Steps& steps)
    {
        const size_t labels = m_scores.rows;
        const size_t start = m_labels.LargestRow(steps.Column(0));
        m_alpha.assign(labels * steps.count, 0);
        m_entering.assign(labels * steps.count, 0);
        m_terms.resize(labels);
        for (size_t step = 0; step < steps.count; step++)
            for (size_t to = 0; to < labels; to++)
            {
                if (step == 0)
                    m_entering[to] = m_transitions.At(to, start);
                else
                {
                    for (size_t from = 0; from < labels; from++)
                        m_terms[from] = m_alpha[(step - 1) * labels + from] + m_transitions.At(to, from);
                    m_entering[step * labels + to] = LogSum(m_terms);
                }
                m_alpha[step * labels + to] = m_scores.At(to, steps.Column(step)) + m_entering[step * labels + to];
            }
        m_terms.assign(m_alpha.end() - ptrdiff_t(labels), m_alpha.end());
        return LogSum(m_terms);
    }

    // Goes backward from the last step and adds the probabilities of labels and of label pairs, which are the gradients
    // of the sum of all paths. Call after SumOfPaths.
    void AddPosteriors(const Steps& steps, double total)
    {
        const size_t labels = m_scores.rows;
        const size_t start = m_labels.LargestRow(steps.Column(0));
        m_posterior.resize(labels);
        for (size_t label = 0; label < labels; label++)
            m_posterior[label] = std::exp(m_terms[label] - total);
        for (size_t step = steps.count; step-- > 0;)
        {
            m_earlier.assign(labels, 0);
            for (size_t to = 0; to < labels; to++)
            {
                m_scoreGradient.At(to, steps.Column(step)) += m_posterior[to];
                if (step == 0)
                {
                    m_transitionGradient.At(to, start) += m_posterior[to];
                    continue;
                }
                for (size_t from = 0; from < labels; from++)
                {
                    const double both = std::exp(m_alpha[(step - 1) * labels + from] + m_transitions.At(to, from) -
                                                 m_entering[step * labels + to]) *
                                        m_posterior[to];
                    m_transitionGradient.At(to, from) += both;
                    m_earlier[from] += both;
                }
            }
            std::swap(m_posterior, m_earlier);
        }
    }

    HostMatrix m_labels, m_scores, m_transitions, m_scoreGradient, m_transitionGradient;
    std::vector<double> m_alpha, m_entering, m_posterior, m_earlier, m_terms;
};

// Finds the best path through scores and transitions from the first label of each sequence to its last, as one-hot
// columns.
class SequenceDecoderNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        CheckTaggerInputs(*this, inference);
        CommonLayoutOfInputs(inference);
        SetShape(Input(1)->SampleLayout(), Input(1)->GetMBLayout());
    }

    void ForwardProp(const FrameRange&) override
    {
        m_labels.Take(Input(0)->Value());
        m_scores.Take(Input(1)->Value());
        m_transitions.Take(Input(2)->Value());
        m_path.rows = m_scores.rows;
        m_path.values.assign(m_scores.values.size(), 0);
        ForEachSequence(*GetMBLayout(), [&](size_t row, size_t first, size_t end) { Decode(row, first, end); });
        m_path.Give(Value());
    }

private:
    void Decode(size_t row, size_t first, size_t end)
    {
        const size_t labels = m_scores.rows, steps = end - first, parallel = GetMBLayout()->ParallelSequences();
        const auto column = [&](size_t step) { return (first + step) * parallel + row; };
        m_best.assign(labels * steps, -std::numeric_limits<double>::infinity());
        m_from.assign(labels * steps, 0);
        const size_t start = m_labels.LargestRow(column(0));
        m_best[start] = m_scores.At(start, column(0));
        for (size_t step = 1; step < steps; step++)
            for (size_t to = 0; to < labels; to++)
            {
                double& best = m_best[step * labels + to];
                for (size_t from = 0; from < labels; from++)
                {
                    const double score =
                        m_best[(step - 1) * labels + from] + m_transitions.At(to, from) + m_scores.At(to, column(step));
                    if (score > best)
                    {
                        best = score;
                        m_from[step * labels + to] = from;
                    }
                }
            }
        size_t label = steps == 1 ? start : m_labels.LargestRow(column(steps - 1));
        for (size_t step = steps; step-- > 0;)
        {
            m_path.At(label, column(step)) = 1;
            label = m_from[step * labels + label];
        }
    }

    HostMatrix m_labels, m_scores, m_transitions, m_path;
    std::vector<double> m_best;
    std::vector<size_t> m_from;
};

} // namespace

// ---- records ----

void RegisterSequenceNodes(NodeRegistry& registry)
{
    const auto input = [](TensorShape shape, bool inLayout)
    {
        GradientSample::Input described;
        described.shape = shape;
        described.inLayout = inLayout;
        return described;
    };
    NodeType reverse;
    reverse.name = "TimeReverse";
    reverse.doc = "v(t) = x at the same distance from the other end of its sequence; a truncated sequence is reversed "
                  "within the minibatch. Gaps are 0.";
    reverse.inputs = {1, 1};
    reverse.inputNames = {"x"};
    reverse.traits = {.backpropReadsInputs = false, .backpropReadsOutput = false, .needsWholeMinibatch = true};
    reverse.samples.resize(2);
    reverse.samples[0].inputs = {input({3}, true)};
    reverse.samples[1].inputs = {input({2, 3}, true)};
    registry.Add<TimeReverseNode>(reverse);

    GradientSample tagger;
    tagger.inputs = {input({3}, true), input({3}, true), input({3, 3}, false)};
    tagger.inputs[0].oneHot = true;
    tagger.inputs[0].checkGradient = false;

    NodeType crf;
    crf.name = "CRF";
    crf.doc = "v = -log p(labels) of a conditional random field: scores [labels x *], transitions [to x from]; the "
              "label before the first one of a sequence is taken to be the first one. Each piece of a truncated "
              "sequence counts as a separate sequence.";
    crf.inputs = {3, 3};
    crf.inputNames = {"labels", "scores", "transitions"};
    crf.traits = {
        .backpropReadsInputs = false, .backpropReadsOutput = false, .needsWholeMinibatch = true, .isCriterion = true};
    crf.samples = {tagger};
    registry.Add<CrfNode>(crf);

    NodeType decoder;
    decoder.name = "SequenceDecoderNode";
    decoder.aliases = {"SequenceDecoder"};
    decoder.doc = "The most likely labels, one 1 a column, given scores and transitions [to x from]; the first and the "
                  "last label of each sequence are those of the labels input. Each piece of a truncated sequence is "
                  "decoded separately.";
    decoder.inputs = {3, 3};
    decoder.inputNames = {"labels", "scores", "transitions"};
    decoder.traits = {.needsWholeMinibatch = true, .differentiable = false};
    decoder.samples = {tagger};
    registry.Add<SequenceDecoderNode>(decoder);
}

} // namespace cntk
