// Labels mixed on the host, before they are bound: readers fill host memory.
#include "SGD/Minibatches/LabelMixer.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Math/Operations.h"

#include <algorithm>
#include <utility>

namespace cntk
{

bool AdaptsByKL(const SgdOptions& options)
{
    return options.adaptationRegType == AdaptationRegularization::KL && options.adaptationRegWeight > 0;
}

ComputationNodePtr RequireReferenceNode(const ComputationNetwork& reference, const std::string& name)
{
    if (name.empty())
        Fail(ErrorKind::Config, "refNodeName is missing; adaptationRegType=KL needs the name of the original model's "
                                "output node (its posteriors)");
    ComputationNodePtr node = reference.Find(name);
    if (node)
        return node;
    std::vector<std::string> names;
    for (const ComputationNodePtr& candidate : reference.Nodes())
        names.push_back(candidate->Name());
    Fail(ErrorKind::Config, "refNodeName names '", name, "', but there is no such node in the original model",
         DidYouMean(name, names));
}

namespace
{

size_t LabelStreamOf(const ComputationNetwork& trained, const ComputationNode& node,
                     const std::vector<StreamInfo>& streams)
{
    const std::vector<ComputationNodePtr> labels = trained.Group(NodeGroup::Label);
    if (labels.empty())
        Fail(ErrorKind::Config, "the network has no label node to mix with '", node.Name(),
             "'; tag one with tag=\"label\"");
    const ComputationNode& label = *labels.front();
    if (label.SampleElements() != node.SampleElements())
        Fail(ErrorKind::Config, "refNodeName '", node.Name(), "' has dimension ", node.SampleElements(),
             ", but label '", label.Name(), "' has ", label.SampleElements(),
             "; expected the same, since they are mixed");
    const auto found =
        std::find_if(streams.begin(), streams.end(),
                     [&](const StreamInfo& stream) { return EqualsIgnoreCase(stream.name, label.Name()); });
    if (found == streams.end())
        Fail(ErrorKind::Config, "no stream of the reader feeds label node '", label.Name(), "' of the network");
    return size_t(found - streams.begin());
}

} // namespace

LabelMixer::LabelMixer(std::unique_ptr<ComputationNetwork> reference, const std::string& node,
                       const ComputationNetwork& trained, const std::vector<StreamInfo>& streams, double weight)
    : m_reference(std::move(reference)), m_node(RequireReferenceNode(*m_reference, node)),
      m_labelStream(LabelStreamOf(trained, *m_node, streams)), m_weight(weight), m_evaluator(*m_reference, {m_node}),
      m_binder({m_node}, streams), m_outputs(0, 0, m_reference->GetDataType(), m_reference->GetDevice())
{
}

template <class ElemType>
void LabelMixer::FillLabels(const StreamBatch<ElemType>& labels, StreamBatch<ElemType>& mixed) const
{
    mixed.rows = m_node->SampleElements();
    mixed.columns = labels.columns;
    mixed.layout = labels.layout;
    mixed.values.resize(mixed.rows * labels.columns);
    VisitType(m_outputs.Type(),
              [&](auto tag)
              {
                  const auto* outputs = reinterpret_cast<const decltype(tag)*>(m_hostOutputs.data());
                  for (size_t i = 0; i < mixed.values.size(); ++i)
                      mixed.values[i] = ElemType(m_weight * double(outputs[i]));
              });
    if (!labels.sparse)
    {
        for (size_t i = 0; i < mixed.values.size(); ++i)
            mixed.values[i] = ElemType(double(mixed.values[i]) + (1 - m_weight) * double(labels.values[i]));
        return;
    }
    for (size_t column = 0; column < labels.columns; ++column)
    {
        for (auto k = size_t(labels.columnStarts[column]); k < size_t(labels.columnStarts[column + 1]); ++k)
            mixed.values[column * mixed.rows + size_t(labels.rowIndices[k])] +=
                ElemType((1 - m_weight) * double(labels.values[k]));
    }
}

template <class ElemType>
void LabelMixer::Mix(HostMinibatch<ElemType>& minibatch)
{
    m_binder.Bind(minibatch);
    m_evaluator.Forward();
    StreamBatch<ElemType>& labels = minibatch.streams[m_labelStream];
    const MatrixView outputs = m_node->Value();
    if (outputs.columns != labels.columns)
        Fail(ErrorKind::Data, "refNodeName '", m_node->Name(), "' gave ", Counted(outputs.columns, "column"), " for ",
             labels.columns, " labels; expected one for each");
    m_outputs.Resize(outputs.rows, outputs.columns);
    Ops::Copy(outputs, m_outputs);
    m_hostOutputs.resize(m_outputs.Elements() * SizeOf(m_outputs.Type()));
    m_outputs.CopyToHost(m_hostOutputs.data());
    auto& mixed = std::get<StreamBatch<ElemType>>(m_other);
    FillLabels(labels, mixed);
    std::swap(labels, mixed);
    m_isMixed = true;
}

template <class ElemType>
void LabelMixer::Unmix(HostMinibatch<ElemType>& minibatch)
{
    if (m_isMixed)
        std::swap(minibatch.streams[m_labelStream], std::get<StreamBatch<ElemType>>(m_other));
    m_isMixed = false;
}

template void LabelMixer::Mix(HostMinibatch<float>&);
template void LabelMixer::Mix(HostMinibatch<double>&);
template void LabelMixer::Unmix(HostMinibatch<float>&);
template void LabelMixer::Unmix(HostMinibatch<double>&);

} // namespace cntk
