// Prints values of nodes as text.
#include "SGD/NodeTracing.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "Math/Device.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace cntk
{

namespace
{

// Prints the fewest digits that restore the number; minus zero as zero.
template <class T>
void AppendNumber(std::string& text, T value)
{
    char buffer[40];
    text.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value == 0 ? T(0) : value).ptr);
}

} // namespace

NodeTracer::NodeTracer(const ComputationNetwork& network, const NodesToTrace& names, Log& log) : m_log(log)
{
    Add(network, names.traceNodeNamesReal, "traceNodeNamesReal", Form::Real);
    Add(network, names.traceNodeNamesCategory, "traceNodeNamesCategory", Form::Category);
    Add(network, names.traceNodeNamesSparse, "traceNodeNamesSparse", Form::Sparse);
}

void NodeTracer::Add(const ComputationNetwork& network, const TracedNames& names, const char* key, Form form)
{
    for (const std::string& name : names.names)
    {
        if (name.empty())
            continue;
        const ComputationNodePtr node = network.Find(name);
        if (node == nullptr)
        {
            std::vector<std::string> candidates;
            for (const ComputationNodePtr& candidate : network.Nodes())
                candidates.push_back(candidate->Name());
            FailAt(names.where, ErrorKind::Config, key, " lists '", name, "', but there is no such node in the network",
                   DidYouMean(name, candidates));
        }
        const auto isSame = [&](const Traced& traced) { return traced.node == node && traced.form == form; };
        if (std::any_of(m_traced.begin(), m_traced.end(), isSame))
            continue;
        m_traced.push_back({node, form, {}});
        if (std::find(m_nodes.begin(), m_nodes.end(), node) == m_nodes.end())
            m_nodes.push_back(node);
    }
}

std::vector<ComputationNodePtr> NodeTracer::AddTo(const std::vector<ComputationNodePtr>& roots) const
{
    std::vector<ComputationNodePtr> all;
    for (const ComputationNodePtr& node : m_nodes)
        if (std::find(roots.begin(), roots.end(), node) == roots.end())
            all.push_back(node);
    all.insert(all.end(), roots.begin(), roots.end());
    return all;
}

void NodeTracer::UseLabels(const std::vector<StreamInfo>& streams)
{
    for (Traced& traced : m_traced)
    {
        const size_t rows = traced.node->SampleElements();
        const StreamInfo* found = nullptr;
        size_t candidates = 0;
        bool isBound = false;
        for (const StreamInfo& stream : streams)
        {
            if (EqualsIgnoreCase(stream.name, traced.node->Name()))
            {
                isBound = true;
                found = &stream;
                break;
            }
            if (stream.labelNames.empty() || stream.rows != rows)
                continue;
            found = &stream;
            candidates++;
        }
        traced.labels.clear();
        if (found != nullptr && (isBound || candidates == 1) && found->labelNames.size() <= rows)
            traced.labels = found->labelNames;
    }
}

void NodeTracer::Print(const std::string& of)
{
    static constexpr const char* c_forms[] = {"real", "category", "sparse"};
    for (const Traced& traced : m_traced)
    {
        Fetch(*traced.node);
        std::string text = Concat("Trace of ", of, ": ", traced.node->Name(), " = ", traced.node->TypeName(), " [",
                                  m_rows, " x ", m_columns, "], ", c_forms[size_t(traced.form)], "\n");
        AppendSamples(text, traced);
        m_log.Write(text);
        m_log.WriteShort(text);
    }
}

// Converts a sparse value to a dense one: tracing need not be fast.
void NodeTracer::Fetch(const ComputationNode& node)
{
    if (!node.IsSparse())
    {
        m_staging.CopyFrom(node.Value());
        m_rows = m_staging.Rows();
        m_columns = m_staging.Columns();
        m_values = m_staging.ToHost();
        return;
    }
    const SparseView view = node.SparseValue(FrameRange::All());
    m_rows = view.rows;
    m_columns = view.columns;
    m_values.assign(m_rows * m_columns, 0);
    std::vector<int32_t> starts(m_columns + 1);
    view.device->CopyToHost(starts.data(), view.columnStarts, starts.size() * sizeof(int32_t));
    std::vector<int32_t> indices(size_t(starts.back()));
    if (indices.empty())
        return;
    view.device->CopyToHost(indices.data(), view.rowIndices, indices.size() * sizeof(int32_t));
    VisitType(view.type,
              [&](auto tag)
              {
                  std::vector<decltype(tag)> values(indices.size());
                  view.device->CopyToHost(values.data(), view.values, values.size() * sizeof(tag));
                  for (size_t column = 0; column < m_columns; column++)
                      for (int32_t i = starts[column]; i < starts[column + 1]; i++)
                          m_values[column * m_rows + size_t(indices[size_t(i)])] += double(values[size_t(i)]);
              });
}

// Skips gaps. Time counts from the beginning of a sequence, which may lie in an earlier minibatch.
void NodeTracer::AppendSamples(std::string& text, const Traced& traced)
{
    const MBLayout* layout = traced.node->GetMBLayout().get();
    if (layout == nullptr || layout->IsFrameMode())
    {
        for (size_t column = 0; column < m_columns; column++)
        {
            text += Concat(layout == nullptr ? "  column " : "  sample ", column, ": ");
            AppendSample(text, traced, column);
        }
        return;
    }
    for (const SequenceInfo& sequence : layout->Sequences())
    {
        if (sequence.id == SequenceInfo::c_gap)
            continue;
        const ptrdiff_t end = std::min<ptrdiff_t>(sequence.end, ptrdiff_t(layout->TimeSteps()));
        for (ptrdiff_t time = std::max<ptrdiff_t>(sequence.begin, 0); time < end; time++)
        {
            text += Concat("  sequence ", sequence.id, ", time ", time - sequence.begin, ": ");
            AppendSample(text, traced, size_t(time) * layout->ParallelSequences() + sequence.row);
        }
    }
}

void NodeTracer::AppendSample(std::string& text, const Traced& traced, size_t column) const
{
    const double* const values = m_values.data() + column * m_rows;
    if (traced.form == Form::Category)
    {
        const size_t best = size_t(std::max_element(values, values + m_rows) - values);
        text += std::to_string(best);
        if (best < traced.labels.size())
            text += " '" + traced.labels[best] + "'";
        text += '\n';
        return;
    }
    const char* separator = "";
    for (size_t row = 0; row < m_rows; row++)
    {
        if (traced.form == Form::Sparse && values[row] == 0)
            continue;
        text += separator;
        if (traced.form == Form::Sparse)
            text += std::to_string(row) + ":";
        if (traced.node->GetDataType() == DataType::Float32)
            AppendNumber(text, float(values[row]));
        else
            AppendNumber(text, values[row]);
        separator = " ";
    }
    text += '\n';
}

} // namespace cntk
