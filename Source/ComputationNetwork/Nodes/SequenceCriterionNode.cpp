// Computes sums over lattices on the host, and softmax and gradients on the network's device.
#include "ComputationNetwork/Nodes/SequenceCriterionNode.h"

#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace cntk
{

namespace
{

constexpr double c_impossible = -std::numeric_limits<double>::infinity();

double AddLogarithms(double a, double b)
{
    if (a < b)
        std::swap(a, b);
    return b == c_impossible ? a : a + std::log1p(std::exp(b - a));
}

// Calls body(frame, state) for each frame of the arc.
template <class Body>
void ForEachFrame(const Lattice& lattice, size_t arc, Body&& body)
{
    uint32_t frame = lattice.nodeFrames[lattice.arcs[arc].from];
    for (uint32_t i = lattice.arcs[arc].firstSegment; i < lattice.EndOfSegments(arc); ++i)
        for (; frame < lattice.segments[i].end; ++frame)
            body(frame, lattice.segments[i].state);
}

} // namespace

template <class ElemType>
void LatticeSums::Compute(const Lattice& lattice, const FrameScores<ElemType>& scores,
                          std::span<const uint32_t> reference, const SequenceTrainingSettings& settings)
{
    m_referenceScore = 0;
    for (size_t frame = 0; frame < reference.size(); ++frame)
        m_referenceScore += scores.At(frame, reference[frame]);
    m_referenceScore /= settings.acousticFactor;
    ScoreArcs(lattice, scores, reference, settings);
    SumPaths(lattice);
    SumAccuracies(lattice);
}

template <class ElemType>
void LatticeSums::ScoreArcs(const Lattice& lattice, const FrameScores<ElemType>& scores,
                            std::span<const uint32_t> reference, const SequenceTrainingSettings& settings)
{
    m_scores.resize(lattice.arcs.size());
    m_right.resize(lattice.arcs.size());
    for (size_t i = 0; i < lattice.arcs.size(); ++i)
    {
        const LatticeArc& arc = lattice.arcs[i];
        double score = settings.languageFactor * arc.languageScore + (arc.isWord ? settings.wordPenalty : 0);
        size_t right = 0;
        ForEachFrame(lattice, i,
                     [&](uint32_t frame, uint32_t state)
                     {
                         score += scores.At(frame, state);
                         right += reference[frame] == state ? 1 : 0;
                     });
        m_right[i] = double(right);
        m_scores[i] = score / settings.acousticFactor - settings.boost * double(right);
    }
}

void LatticeSums::SumPaths(const Lattice& lattice)
{
    const size_t nodes = lattice.nodeFrames.size();
    m_forward.assign(nodes, c_impossible);
    m_backward.assign(nodes, c_impossible);
    m_forward.front() = 0;
    m_backward.back() = 0;
    for (size_t i = 0; i < lattice.arcs.size(); ++i)
    {
        const LatticeArc& arc = lattice.arcs[i];
        m_forward[arc.to] = AddLogarithms(m_forward[arc.to], m_forward[arc.from] + m_scores[i]);
    }
    for (size_t i = lattice.arcs.size(); i-- > 0;)
    {
        const LatticeArc& arc = lattice.arcs[i];
        m_backward[arc.from] = AddLogarithms(m_backward[arc.from], m_backward[arc.to] + m_scores[i]);
    }
    m_logTotal = m_forward.back();
}

void LatticeSums::SumAccuracies(const Lattice& lattice)
{
    const size_t nodes = lattice.nodeFrames.size();
    m_forwardRight.assign(nodes, 0);
    m_backwardRight.assign(nodes, 0);
    const auto share = [](double part, double whole) { return whole == c_impossible ? 0 : std::exp(part - whole); };
    for (size_t i = 0; i < lattice.arcs.size(); ++i)
    {
        const LatticeArc& arc = lattice.arcs[i];
        m_forwardRight[arc.to] +=
            share(m_forward[arc.from] + m_scores[i], m_forward[arc.to]) * (m_forwardRight[arc.from] + m_right[i]);
    }
    for (size_t i = lattice.arcs.size(); i-- > 0;)
    {
        const LatticeArc& arc = lattice.arcs[i];
        m_backwardRight[arc.from] +=
            share(m_backward[arc.to] + m_scores[i], m_backward[arc.from]) * (m_backwardRight[arc.to] + m_right[i]);
    }
    m_accuracy = m_forwardRight.back();
}

// Collects the entries of each frame in the order of arcs, then merges them so that each state of a frame occurs once.
void LatticeSums::ComputePosteriors(const Lattice& lattice, size_t states, bool usesMbr)
{
    std::vector<size_t>& ends = m_frameStarts;
    ends.assign(lattice.frames + 1, 0);
    for (size_t i = 0; i < lattice.arcs.size(); ++i)
        ForEachFrame(lattice, i, [&](uint32_t frame, uint32_t) { ++ends[frame + 1]; });
    for (size_t frame = 0; frame < lattice.frames; ++frame)
        ends[frame + 1] += ends[frame];
    m_unsorted.resize(ends.back());
    for (size_t i = 0; i < lattice.arcs.size(); ++i)
    {
        const LatticeArc& arc = lattice.arcs[i];
        double value = std::exp(m_forward[arc.from] + m_scores[i] + m_backward[arc.to] - m_logTotal);
        if (usesMbr)
            value *= m_forwardRight[arc.from] + m_right[i] + m_backwardRight[arc.to] - m_accuracy;
        ForEachFrame(lattice, i, [&](uint32_t frame, uint32_t state) { m_unsorted[ends[frame]++] = {state, value}; });
    }
    // The end of each frame's entries is now the beginning of the next frame's.
    m_ofState.assign(states, 0);
    m_isThere.assign((states + 63) / 64, 0);
    m_posteriors.clear();
    size_t begin = 0;
    for (size_t frame = 0; frame < lattice.frames; ++frame)
    {
        const size_t end = ends[frame];
        ends[frame] = m_posteriors.size();
        for (size_t i = begin; i < end; ++i)
        {
            const StatePosterior& entry = m_unsorted[i];
            m_ofState[entry.state] += entry.value;
            m_isThere[entry.state / 64] |= uint64_t(1) << entry.state % 64;
        }
        TakeStates();
        begin = end;
    }
    ends.back() = m_posteriors.size();
}

// Appends the sums of a frame and resets them to 0.
void LatticeSums::TakeStates()
{
    for (size_t word = 0; word < m_isThere.size(); ++word)
        for (; m_isThere[word] != 0; m_isThere[word] &= m_isThere[word] - 1)
        {
            const auto state = uint32_t(word * 64 + size_t(std::countr_zero(m_isThere[word])));
            m_posteriors.push_back({state, m_ofState[state]});
            m_ofState[state] = 0;
        }
}

double LatticeSums::Posterior(size_t frame, uint32_t state) const
{
    const std::span<const StatePosterior> all = Posteriors(frame);
    const auto found = std::lower_bound(all.begin(), all.end(), state,
                                        [](const StatePosterior& a, uint32_t wanted) { return a.state < wanted; });
    return found != all.end() && found->state == state ? found->value : 0;
}

template void LatticeSums::Compute(const Lattice&, const FrameScores<float>&, std::span<const uint32_t>,
                                   const SequenceTrainingSettings&);
template void LatticeSums::Compute(const Lattice&, const FrameScores<double>&, std::span<const uint32_t>,
                                   const SequenceTrainingSettings&);

namespace
{

using Lifetime = TemporarySpec::Lifetime;
using StatePosterior = LatticeSums::StatePosterior;

// Returns a matrix' values in host memory.
template <class ElemType>
const ElemType* HostValues(const MatrixView& view, std::vector<ElemType>& copy)
{
    if (view.device->IsHostMemory() && view.IsContiguous())
        return view.As<ElemType>();
    copy.resize(view.Elements());
    view.device->CopyToHost(copy.data(), view.data, copy.size() * sizeof(ElemType));
    return copy.data();
}

// Appends the target of a frame: target = softmax - gradient / g, the remainder of labels - smoothing * posteriors,
// states ascending. posteriors: those of MMI. Those of MBR are signed and stand for labels - posteriors.
void AddTarget(std::span<const StatePosterior> posteriors, uint32_t reference, const SequenceTrainingSettings& settings,
               std::vector<StatePosterior>& target)
{
    const double h = settings.smoothing;
    const double factor = settings.usesMbr ? h : -h;
    const double ofReference = settings.usesMbr ? 1 - h : 1;
    bool isThere = false;
    for (const StatePosterior& posterior : posteriors)
    {
        if (!isThere && posterior.state > reference)
            target.push_back({reference, ofReference});
        isThere = isThere || posterior.state >= reference;
        target.push_back(
            {posterior.state, factor * posterior.value + (posterior.state == reference ? ofReference : 0)});
    }
    if (!isThere)
        target.push_back({reference, ofReference});
}

} // namespace

void SequenceCriterionNode::InferShape(ShapeInference& inference)
{
    InferFromLabels(inference);
    if (!inference.IsFinalPass())
        return;
    if (!Input(1)->HasMBLayout())
        Fail(ErrorKind::Model, TypeName(), " needs minibatch data, but ", DescribeShape(*Input(1)),
             " is the same at all times");
    if (!Input(2)->HasMBLayout() || Input(2)->SampleElements() != Input(1)->SampleElements())
        Fail(ErrorKind::Model, "the log likelihoods of ", TypeName(), ", ", DescribeShape(*Input(2)),
             ", must have a row for each of those of ", DescribeShape(*Input(1)), ", and change with the samples");
}

std::vector<TemporarySpec> SequenceCriterionNode::Temporaries() const
{
    TemporarySpec softmax = TemporaryLikeInput(*this, 1, Lifetime::ForwardBackward);
    softmax.gradientOfInput = 1;
    return {TemporaryLikeInput(*this, 1, LabelsAreData() ? Lifetime::Forward : Lifetime::ForwardBackward), softmax};
}

// Reads the reference's states, one per frame.
void SequenceCriterionNode::ReadReference()
{
    const size_t rows = Input(0)->SampleElements(), columns = Input(0)->ValueColumns();
    const std::span<const uint8_t> mask = SampleMask(0);
    m_reference.assign(columns, 0);
    const auto take = [&](size_t column, size_t count, size_t state, double value)
    {
        if (!mask.empty() && mask[column] == 0)
            return;
        if (count != 1 || value != 1)
            Fail(ErrorKind::Data, "'", Input(0)->Name(), "' of ", NameOfSample(*Input(0)->GetMBLayout(), column),
                 " of the minibatch ", count == 1 ? Concat("is ", value) : Concat("has ", count, " states"), "; ",
                 TypeName(), " expects a single 1, the state of the reference");
        m_reference[column] = uint32_t(state);
    };
    VisitType(GetDataType(),
              [&](auto tag)
              {
                  using T = decltype(tag);
                  std::vector<T> copy;
                  if (!Input(0)->HasSparseForm())
                  {
                      const T* values = HostValues<T>(Input(0)->Value(), copy);
                      for (size_t j = 0; j < columns; ++j)
                      {
                          const T* column = values + j * rows;
                          const size_t state = size_t(std::max_element(column, column + rows) - column);
                          take(j, size_t(rows - size_t(std::count(column, column + rows, T(0)))), state,
                               double(column[state]));
                      }
                      return;
                  }
                  const SparseView labels = Input(0)->SparseValue(FrameRange::All());
                  const bool isOnHost = labels.device->IsHostMemory();
                  const int32_t* starts = isOnHost ? labels.columnStarts : labels.hostColumnStarts;
                  const int32_t* states = isOnHost ? labels.rowIndices : labels.hostRowIndices;
                  const T* values = static_cast<const T*>(labels.values);
                  if (!isOnHost)
                  {
                      copy.resize(labels.nonZeros);
                      labels.device->CopyToHost(copy.data(), labels.values, copy.size() * sizeof(T));
                      values = copy.data();
                  }
                  for (size_t j = 0; j < columns; ++j)
                  {
                      const size_t count = size_t(starts[j + 1] - starts[j]);
                      const size_t at = size_t(starts[j]);
                      take(j, count, count == 0 ? 0 : size_t(states[at]), count == 0 ? 0 : double(values[at]));
                  }
              });
}

const Lattice& SequenceCriterionNode::LatticeOf(const SequenceInfo& sequence) const
{
    if (sequence.id >= m_lattices.size() || m_lattices[sequence.id] == nullptr)
        Fail(ErrorKind::Data, TypeName(), " has no lattice of sequence ", sequence.id, " of the minibatch");
    const Lattice& lattice = *m_lattices[sequence.id];
    const ptrdiff_t frames = sequence.end - sequence.begin;
    if (sequence.begin < 0 || sequence.end > ptrdiff_t(Input(1)->GetMBLayout()->TimeSteps()))
        Fail(ErrorKind::Config, TypeName(), " needs whole sequences, but sequence ", sequence.id,
             " is cut; expected truncated=false of the reader");
    if (ptrdiff_t(lattice.frames) != frames)
        Fail(ErrorKind::Data, "sequence ", sequence.id, " of the minibatch has ", Counted(size_t(frames), "frame"),
             ", but its lattice has ", lattice.frames);
    for (const LatticeSegment& segment : lattice.segments)
        if (segment.state >= Input(1)->SampleElements())
            Fail(ErrorKind::Data, "the lattice of sequence ", sequence.id, " of the minibatch has state ",
                 segment.state, ", but ", DescribeShape(*Input(1)), " has ",
                 Counted(Input(1)->SampleElements(), "state"));
    return lattice;
}

// Takes the posteriors of the sequence's frames. Call after ComputePosteriors.
template <class ElemType>
void SequenceCriterionNode::TakePosteriors(const SequenceInfo& sequence, const FrameScores<ElemType>& scores)
{
    for (size_t frame = 0; frame < size_t(sequence.end - sequence.begin); ++frame)
    {
        const size_t column = scores.firstColumn + frame * scores.stride;
        const uint32_t reference = m_sequenceReference[frame];
        if (!m_settings.usesMbr && m_sums.Posterior(frame, reference) < m_settings.frameDropThreshold)
            continue;
        m_columnMask[column] = 1;
        AddTarget(m_sums.Posteriors(frame), reference, m_settings, m_targets[column]);
    }
}

// Computes the criterion and, if a backward pass follows, the posteriors that it subtracts from the softmax.
template <class ElemType>
double SequenceCriterionNode::SumSequences()
{
    const MBLayout& layout = *Input(1)->GetMBLayout();
    const MatrixView likelihoods = Input(2)->Value();
    std::vector<ElemType> copy;
    FrameScores<ElemType> scores{HostValues<ElemType>(likelihoods, copy), likelihoods.rows, 0,
                                 layout.ParallelSequences()};
    m_columnMask.assign(layout.Columns(), 0);
    m_targets.resize(std::max(m_targets.size(), layout.Columns()));
    for (auto& target : m_targets)
        target.clear();
    double sum = 0;
    for (const SequenceInfo& sequence : SequencesOf(layout))
    {
        const Lattice& lattice = LatticeOf(sequence);
        scores.firstColumn = size_t(sequence.begin) * scores.stride + sequence.row;
        m_sequenceReference.clear();
        for (uint32_t frame = 0; frame < lattice.frames; ++frame)
            m_sequenceReference.push_back(m_reference[scores.firstColumn + frame * scores.stride]);
        m_sums.Compute(lattice, scores, m_sequenceReference, m_settings);
        sum += m_settings.usesMbr ? m_sums.ExpectedAccuracy() : m_sums.ReferenceScore() - m_sums.LogTotal();
        if (!m_isTraining)
            continue;
        m_sums.ComputePosteriors(lattice, scores.rows, m_settings.usesMbr);
        TakePosteriors(sequence, scores);
    }
    return sum;
}

template <class ElemType>
void SequenceCriterionNode::MakeTarget()
{
    std::vector<ElemType> values;
    std::vector<int32_t> states, starts{0};
    for (size_t column = 0; column < m_columnMask.size(); ++column)
    {
        for (const StatePosterior& entry : m_targets[column])
        {
            values.push_back(ElemType(entry.value));
            states.push_back(int32_t(entry.state));
        }
        starts.push_back(int32_t(values.size()));
    }
    if (m_target.Rows() == 0)
        m_target = SparseMatrix(GetDataType(), GetDevice());
    m_target.FromHost(Input(1)->SampleElements(), m_columnMask.size(), values.data(), states, starts);
}

void SequenceCriterionNode::ForwardProp(const FrameRange& range)
{
    ReadReference();
    double sum = 0;
    VisitType(GetDataType(),
              [&](auto tag)
              {
                  sum = SumSequences<decltype(tag)>();
                  if (m_isTraining)
                      MakeTarget<decltype(tag)>();
              });
    if (m_isTraining)
    {
        const MatrixView softmax = Temporary(1, range);
        if (Input(0)->HasSparseForm())
            Ops::CrossEntropyWithSoftmax(Input(0)->SparseValue(range), Input(1)->Value(), SampleMask(1),
                                         Temporary(0, range), softmax, Value(), !LabelsAreData());
        else
            Ops::CrossEntropyWithSoftmax(Input(0)->Value(), Input(1)->Value(), SampleMask(1), Temporary(0, range),
                                         softmax, Value());
        Ops::Scale(softmax, 1 - m_settings.smoothing);
        Ops::MaskColumns(softmax, m_columnMask);
    }
    Ops::Fill(Value(), sum);
}

void SequenceCriterionNode::BackpropTo(size_t input, const FrameRange& range)
{
    const MatrixView inputGradient = InputGradient(input, range);
    const double beta = GradientBeta(input);
    if (input == 0)
        Ops::Elementwise(ElementwiseOp::Product, Temporary(0, range), Gradient(), inputGradient, -1, beta);
    else if (input == 1)
        Ops::CrossEntropyWithSoftmaxGradient(m_target, Temporary(1, range), SampleMask(1), Gradient(), inputGradient,
                                             beta);
    else if (beta == 0)
        Ops::Fill(inputGradient, 0);
}

std::string SequenceCriterionNode::UnsuitableData() const
{
    return Concat(
        "the gradient of ", TypeName(), " '", Name(),
        "' is not that of its value: it is that of z as if z were the log likelihoods, with the cross entropy "
        "of the frames mixed in (hSmoothingWeight), and lowers what the value raises");
}

namespace
{

// Creates a lattice for each sequence of a sample: one path through state 0 in all frames, another through state 1 in
// all but the first.
void GiveLattices(ComputationNode& node, const MBLayout& layout)
{
    std::vector<LatticePtr> lattices;
    for (const SequenceInfo& sequence : SequencesOf(layout))
    {
        const auto frames = uint32_t(sequence.end - sequence.begin);
        auto lattice = std::make_shared<Lattice>();
        lattice->frames = frames;
        lattice->nodeFrames = {0, 1, frames};
        lattice->arcs = {{0, 1, 0, true, -0.5}, {1, 2, 1, true, -1}, {1, 2, 2, false, 0}};
        lattice->segments = {{1, 0}, {frames, 0}, {frames, 1}};
        lattices.resize(std::max(lattices.size(), sequence.id + 1));
        lattices[sequence.id] = std::move(lattice);
    }
    static_cast<SequenceCriterionNode&>(node).SetLattices(lattices);
}

} // namespace

using namespace Samples;

void RegisterSequenceCriterion(NodeRegistry& registry)
{
    NodeType type = CriterionType("SequenceWithSoftmax", {"SEWithSM"}, "");
    type.inputs = {3, 3};
    type.inputNames = {"labels", "z", "logLikelihood"};
    type.doc =
        "Sequence training over lattices from the reader. gamma is the probability of a state at a frame among the "
        "paths of the lattice. v = sum over sequences of log p(reference) - log p(lattice) is maximised. dz = (1 "
        "- h) softmax(z) + h gamma - labels, h = hSmoothingWeight. labels: one state a frame, sparse or dense. With "
        "seqGammarUsesMBR, v is the expected number of frames that have the state of the reference.";
    type.traits.backpropReadsInputs = false;
    type.traits.backpropOverwrites = true;
    type.traits.inputsReadSparse = 1;
    type.traits.isMaximised = true;
    const GradientSample::Input likelihood = NotChecked(Data(TensorShape{3}));
    type.samples = {Case({Labels(3), Data(TensorShape{3}), likelihood}),
                    Case({SparseLabels(3), Data(TensorShape{3}), likelihood})};
    for (GradientSample& sample : type.samples)
    {
        sample.prepare = GiveLattices;
        // Differences cannot check a gradient that is not the derivative of the value (UnsuitableData).
        sample.tolerance = std::numeric_limits<double>::infinity();
    }
    registry.Add<SequenceCriterionNode>(type);
}

} // namespace cntk
