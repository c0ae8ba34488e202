#include "SGD/Minibatches/NetworkBinder.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ComputationNode.h"

#include <algorithm>
#include <span>
#include <unordered_set>

namespace cntk
{

namespace
{

std::string ListOf(const std::vector<StreamInfo>& streams)
{
    std::vector<std::string> names;
    for (const StreamInfo& stream : streams)
        names.push_back(Concat("'", stream.name, "'"));
    return names.empty() ? "none" : Join(names, ", ");
}

std::string SourceOf(const StreamInfo& stream)
{
    std::vector<std::string> parts;
    if (!stream.source.empty())
        parts.push_back("from " + stream.source);
    if (!stream.labelNames.empty())
        parts.push_back(Concat("with ", Counted(stream.labelNames.size(), "label"), " in its map"));
    return parts.empty() ? "" : " (" + Join(parts, ", ") + ")";
}

size_t StreamOf(const InputValueNode& node, const std::vector<StreamInfo>& streams)
{
    std::vector<std::string> names;
    for (size_t i = 0; i < streams.size(); ++i)
    {
        if (EqualsIgnoreCase(streams[i].name, node.Name()))
            return i;
        names.push_back(streams[i].name);
    }
    FailOf(node, ErrorKind::Config, "no stream of the reader feeds input node '", node.Name(),
           "' of the network; streams of the reader: ", ListOf(streams), DidYouMean(node.Name(), names));
}

void CheckDimension(const InputValueNode& node, const StreamInfo& stream)
{
    if (stream.rows != node.SampleElements() && stream.rows != StreamInfo::c_rowsOfNode)
        FailOf(node, ErrorKind::Config, "input node '", node.Name(), "' of the network has dimension ",
               node.SampleElements(), ", but stream '", stream.name, "' of the reader has dimension ", stream.rows,
               SourceOf(stream), "; ",
               stream.isLabel ? "expected labelDim of the reader and the label dimension of the network to agree"
                              : "expected dim of the reader and the input dimension of the network to agree");
}

} // namespace

void AssignLayout(MBLayout& target, const MBLayout& source)
{
    if (source.IsFrameMode())
    {
        if (!target.IsFrameMode() || target.Columns() != source.Columns())
            target.InitAsFrameMode(source.Columns());
        return;
    }
    if (target == source)
        return;
    // A copy would also copy the version number, which must grow.
    target.Init(source.ParallelSequences(), source.TimeSteps());
    for (const SequenceInfo& sequence : source.Sequences())
    {
        if (sequence.id == SequenceInfo::c_gap)
            target.AddGap(sequence.row, sequence.begin, sequence.end);
        else
            target.AddSequence(sequence.id, sequence.row, sequence.begin, sequence.end);
    }
}

namespace
{

// Returns the nodes from which the roots are computed. Inputs below a computed statistic are not needed: for example,
// the labels if the output subtracts their prior.
std::vector<ComputationNodePtr> NodesToFeed(const std::vector<ComputationNodePtr>& roots)
{
    std::vector<ComputationNodePtr> found;
    std::unordered_set<const ComputationNode*> seen;
    std::vector<ComputationNodePtr> open(roots.rbegin(), roots.rend());
    while (!open.empty())
    {
        const ComputationNodePtr node = open.back();
        open.pop_back();
        if (!seen.insert(node.get()).second)
            continue;
        found.push_back(node);
        // The node that a PairNetwork node is paired with has its own reader.
        if (node->ReadsInputs() && !node->InputWhenAlone())
            open.insert(open.end(), node->Inputs().rbegin(), node->Inputs().rend());
    }
    return found;
}

} // namespace

NetworkBinder::NetworkBinder(const std::vector<ComputationNodePtr>& roots, const std::vector<StreamInfo>& streams)
{
    for (const StreamInfo& stream : streams)
    {
        StreamInfo known = stream;
        known.labelNames.clear();
        m_streams.push_back(std::move(known));
    }
    const std::vector<ComputationNodePtr> fed = NodesToFeed(roots);
    for (const ComputationNodePtr& below : fed)
    {
        auto node = std::dynamic_pointer_cast<InputValueNode>(below);
        if (!node)
            continue;
        const size_t stream = StreamOf(*node, streams);
        CheckDimension(*node, streams[stream]);
        CheckOrder(node, streams[stream]);
        const MBLayoutPtr& layout = node->GetMBLayout();
        if (!layout)
            Fail(ErrorKind::Internal, "input node '", node->Name(),
                 "' has no minibatch layout; the network is not validated");
        auto axis = std::find_if(m_axes.begin(), m_axes.end(), [&](const Axis& a) { return a.layout == layout; });
        if (axis == m_axes.end())
            axis = m_axes.insert(m_axes.end(), Axis{layout, stream, false});
        axis->isDefault = axis->isDefault || node->DynamicAxis().empty();
        m_bindings.push_back({std::move(node), stream, size_t(axis - m_axes.begin())});
    }
    for (const ComputationNodePtr& node : fed)
    {
        if (node->Type().traits.labelForm == LabelForm::WordsWithClasses)
            CheckWordClasses(*node);
        if (node->Type().traits.labelForm == LabelForm::WordsWithNoise)
            RequireNoWordClasses(*node);
        if (auto criterion = std::dynamic_pointer_cast<SequenceCriterionNode>(node))
            m_latticeNodes.push_back(std::move(criterion));
    }
}

// Compares the number of class scores in the network with the number of classes in the data.
void NetworkBinder::CheckWordClasses(const ComputationNode& criterion)
{
    const auto binding = std::find_if(m_bindings.begin(), m_bindings.end(),
                                      [&](const Binding& b) { return b.node == criterion.Input(0); });
    if (binding == m_bindings.end() || m_streams[binding->stream].wordClasses == 0)
        return;
    const StreamInfo& stream = m_streams[binding->stream];
    const ComputationNode& scores = *criterion.Input(3);
    if (scores.SampleElements() == stream.wordClasses)
        return;
    const std::string expected =
        Concat("node '", scores.Name(), "' has ", Counted(scores.SampleElements(), "row"), ", one a class, but '",
               stream.wordClassSource, "' puts the words of stream '", stream.name, "' into ",
               Counted(stream.wordClasses, "class"), "; expected nbrClass=", stream.wordClasses);
    if (scores.SampleElements() < stream.wordClasses)
        FailOf(scores, ErrorKind::Config, expected);
    m_warnings.push_back({expected, criterion.Input(3)});
}

// Warns if the network and the reader differ in the order of three image dimensions (channels first or last): the
// elements would be mixed up without any other error.
void NetworkBinder::CheckOrder(const std::shared_ptr<InputValueNode>& node, const StreamInfo& stream)
{
    const TensorShape& taken = node->SampleLayout();
    const TensorShape delivered{std::span(stream.shape)};
    const auto withoutOnes = [](const TensorShape& shape)
    {
        std::vector<size_t> dims(shape.Dims().begin(), shape.Dims().end());
        std::erase(dims, 1);
        return dims;
    };
    if (taken.Rank() != 3 || delivered.Rank() != 3 || withoutOnes(taken) == withoutOnes(delivered))
        return;
    m_warnings.push_back(
        {Concat("input node '", node->Name(), "' takes images as [", taken.ToString(), "], but stream '", stream.name,
                "' of the reader delivers them as [", delivered.ToString(), "] (", stream.shapeSource,
                "); expected the same order of the elements, or the network mixes pixels and channels"),
         node});
}

// The dimension does not show the mistake: labels with one noise word have four rows, same as labels with classes.
void NetworkBinder::RequireNoWordClasses(const ComputationNode& criterion) const
{
    for (const Binding& binding : m_bindings)
        if (binding.node == criterion.Input(0) && m_streams[binding.stream].wordClasses > 0)
            FailOf(criterion, ErrorKind::Config, criterion.TypeName(), " '", criterion.Name(),
                   "' takes words with their probabilities, but stream '", m_streams[binding.stream].name,
                   "' has words with their classes; expected mode=nce of its reader, with noise_number");
}

void NetworkBinder::RequireNoLattices() const
{
    if (!m_latticeNodes.empty())
        FailOf(*m_latticeNodes[0], ErrorKind::Config, m_latticeNodes[0]->TypeName(), " '", m_latticeNodes[0]->Name(),
               "' needs lattices, which the reader does not deliver; expected a block such as "
               "lattices=[denLatTocFile=den.toc] of HTKMLFReader");
}

std::vector<std::string> NetworkBinder::Wanted() const
{
    std::vector<std::string> names;
    for (const Binding& binding : m_bindings)
        names.push_back(binding.node->Name());
    return names;
}

void NetworkBinder::BeginPass()
{
    for (const Axis& axis : m_axes)
        axis.layout->BeginPass();
}

template <class ElemType>
void NetworkBinder::BindLayout(const Axis& axis, const HostMinibatch<ElemType>& minibatch)
{
    const StreamBatch<ElemType>& batch = minibatch.streams[axis.firstStream];
    if (batch.layout)
        AssignLayout(*axis.layout, *batch.layout);
    else if (!axis.layout->IsFrameMode() || axis.layout->Columns() != batch.columns)
        axis.layout->InitAsFrameMode(batch.columns);
    axis.layout->BeginMinibatch();
    m_columns = std::max(m_columns, axis.layout->Columns());
}

namespace
{

// Returns the samples of a sequence. In frame mode, each column is a sequence.
template <class ElemType>
size_t LengthOf(const StreamBatch<ElemType>& batch, size_t sequence)
{
    if (!batch.layout || batch.layout->IsFrameMode())
        return sequence < batch.columns ? 1 : 0;
    const auto& all = batch.layout->Sequences();
    const auto found = std::find_if(all.begin(), all.end(), [&](const SequenceInfo& s) { return s.id == sequence; });
    return found == all.end() ? 0 : size_t(found->end - found->begin);
}

// Names the first sequence whose length differs between the streams.
template <class ElemType>
[[noreturn]] void FailDifferent(const StreamInfo& firstStream, const StreamBatch<ElemType>& first,
                                const StreamInfo& stream, const StreamBatch<ElemType>& batch,
                                const std::vector<std::string>& keys)
{
    for (size_t i = 0; i < keys.size(); ++i)
    {
        const size_t ours = LengthOf(first, i), theirs = LengthOf(batch, i);
        if (ours != theirs)
            Fail(ErrorKind::Data, "sequence '", keys[i], "' has ", ours, ours == 1 ? " sample" : " samples",
                 " of stream '", firstStream.name, "'", SourceOf(firstStream), ", but ", theirs, " of '", stream.name,
                 "'; expected as many of each, since their inputs share an axis");
    }
    Fail(ErrorKind::Data, "streams '", firstStream.name, "' (", Counted(first.columns, "column"), ") and '",
         stream.name, "' (", batch.columns,
         " columns) of the reader differ in their sequences; expected the same, since their inputs share an axis");
}

} // namespace

template <class ElemType>
size_t NetworkBinder::SamplesOf(const HostMinibatch<ElemType>& minibatch) const
{
    size_t most = 0;
    for (const Axis& axis : m_axes)
    {
        const StreamBatch<ElemType>& batch = minibatch.streams[axis.firstStream];
        const size_t samples = batch.layout ? batch.layout->ActualSamples() : batch.columns;
        if (axis.isDefault)
            return samples;
        most = std::max(most, samples);
    }
    return most;
}

template <class ElemType>
void NetworkBinder::Bind(const HostMinibatch<ElemType>& minibatch)
{
    m_columns = 0;
    for (const Axis& axis : m_axes)
        BindLayout(axis, minibatch);
    m_samples = SamplesOf(minibatch);
    for (const Binding& binding : m_bindings)
    {
        const StreamBatch<ElemType>& batch = minibatch.streams[binding.stream];
        const Axis& axis = m_axes[binding.axis];
        const StreamBatch<ElemType>& first = minibatch.streams[axis.firstStream];
        const bool sameLayout =
            batch.layout == first.layout || (batch.layout && first.layout && *batch.layout == *first.layout);
        if (!sameLayout || batch.columns != axis.layout->Columns())
            FailDifferent(m_streams[axis.firstStream], first, m_streams[binding.stream], batch, minibatch.sequenceKeys);
        if (batch.sparse)
            binding.node->SetSparse(
                batch.values.data(), batch.rowIndices.data(), batch.columnStarts.data(),
                batch.rows == StreamInfo::c_rowsOfNode ? binding.node->SampleElements() : batch.rows, batch.columns);
        else
            binding.node->ReferToDense(batch.values.data(), batch.rows, batch.columns);
    }
    for (const auto& node : m_latticeNodes)
        node->SetLattices(minibatch.lattices);
}

template void NetworkBinder::Bind(const HostMinibatch<float>& minibatch);
template void NetworkBinder::Bind(const HostMinibatch<double>& minibatch);
template size_t NetworkBinder::SamplesOf(const HostMinibatch<float>& minibatch) const;
template size_t NetworkBinder::SamplesOf(const HostMinibatch<double>& minibatch) const;

void TakeSingleWords(ComputationNetwork& network, const std::vector<StreamInfo>& streams)
{
    const std::vector<ComputationNodePtr> nodes = network.Nodes();
    // True if every use of the input is as the labels of a criterion with noise words.
    const auto isWordLabel = [&](const ComputationNodePtr& input)
    {
        bool isUsed = false;
        for (const ComputationNodePtr& node : nodes)
            for (size_t i = 0; i < node->Inputs().size(); ++i)
                if (node->Inputs()[i] == input)
                {
                    if (i > 0 || node->Type().traits.labelForm != LabelForm::WordsWithNoise)
                        return false;
                    isUsed = true;
                }
        return isUsed;
    };
    bool hasChanged = false;
    for (const StreamInfo& stream : streams)
    {
        const auto input = std::dynamic_pointer_cast<InputValueNode>(network.Find(stream.name));
        if (stream.rows != 1 || !input || input->SampleElements() == 1 || !isWordLabel(input))
            continue;
        input->SetSampleShape(TensorShape{1});
        hasChanged = true;
    }
    if (hasChanged)
        network.Validate();
}

} // namespace cntk
