// Appends layouts with their sequences, the places of values that nodes own, and whatever nodes append themselves.
#include "ComputationNetwork/Evaluation/StepKey.h"

#include "ComputationNetwork/Nodes/RecurrentNodes.h"

#include <algorithm>

namespace cntk
{

namespace
{

uint64_t NumberOf(const void* place)
{
    return reinterpret_cast<uintptr_t>(place);
}

} // namespace

StepKey::StepKey(const std::vector<ComputationNodePtr>& nodes) : m_nodes(nodes)
{
    for (const ComputationNodePtr& node : m_nodes)
    {
        const MBLayout* const layout = node->GetMBLayout().get();
        if (layout != nullptr && std::find(m_layouts.begin(), m_layouts.end(), layout) == m_layouts.end())
            m_layouts.push_back(layout);
        if (const auto* delay = As<DelayNode>(node.get()))
            m_farthest = std::max(m_farthest, ptrdiff_t(delay->TimeStep()));
    }
}

// Appends a layout. Sequence ids increase through a pass, so only their differences show which parts of two layouts
// belong together. Inner parts of one long sequence are equal: no node depends on the distance to its beginning.
void StepKey::AppendLayout(const MBLayout& layout, uint64_t firstId)
{
    m_key.insert(m_key.end(), {layout.IsFrameMode(), layout.ParallelSequences(), layout.TimeSteps()});
    m_key.push_back(layout.Sequences().size());
    for (const SequenceInfo& sequence : layout.Sequences())
    {
        const bool isGap = sequence.id == SequenceInfo::c_gap;
        const uint64_t id = m_layouts.size() > 1 && !isGap ? sequence.id - firstId : 0;
        const ptrdiff_t begin = std::max(sequence.begin, -m_farthest);
        const ptrdiff_t end = std::min(sequence.end, ptrdiff_t(layout.TimeSteps()) + m_farthest);
        m_key.insert(m_key.end(), {isGap, id, sequence.row, uint64_t(begin), uint64_t(end)});
    }
}

std::vector<uint64_t>& StepKey::Make(bool isTraining)
{
    m_key.clear();
    m_key.push_back(isTraining);
    uint64_t firstId = UINT64_MAX;
    for (const MBLayout* layout : m_layouts)
        for (const SequenceInfo& sequence : layout->Sequences())
            if (sequence.id != SequenceInfo::c_gap)
                firstId = std::min<uint64_t>(firstId, sequence.id);
    for (const MBLayout* layout : m_layouts)
        AppendLayout(*layout, firstId);
    for (const ComputationNodePtr& node : m_nodes)
    {
        if (node->IsSparse())
        {
            const SparseView value = node->SparseValue(FrameRange::All());
            m_key.insert(m_key.end(),
                         {NumberOf(value.values), NumberOf(value.rowIndices), NumberOf(value.columnStarts)});
        }
        else if (node->OwnsValue())
            m_key.push_back(NumberOf(node->Value().data));
        if (const auto* const state = Interface<StepState>(*node))
            state->AppendStepKey(m_key);
    }
    return m_key;
}

} // namespace cntk
