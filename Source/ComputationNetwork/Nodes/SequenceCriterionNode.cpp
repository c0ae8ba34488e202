// Computes sums over lattices on the host, and softmax and gradients on the network's device.
#include "ComputationNetwork/Nodes/SequenceCriterionNode.h"

#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"

#include <algorithm>
#include <limits>

namespace cntk
{

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
    dynamic_cast<SequenceCriterionNode&>(node).SetLattices(lattices);
}

} // namespace

using namespace Samples;

void RegisterSequenceCriterion(NodeRegistry& registry)
{
    NodeType type = CriterionType("SequenceWithSoftmax", {"SEWithSM"}, "");
    type.inputs = {3, 3};
    type.inputNames = {"labels", "z", "logLikelihood"};
    type.doc =
        "Sequence training over lattices, which the reader gives: with gamma the probability of a state at a frame "
        "among "
        "the paths of the lattice, v = sum over sequences of log p(reference) - log p(lattice), which is to grow; dz = "
        "(1 - "
        "h) softmax(z) + h gamma - labels, h = hSmoothingWeight. labels: one state a frame, sparse or dense. With "
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
