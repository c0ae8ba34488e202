#include "ComputationNetwork/Evaluation/LoopMerges.h"

#include "ComputationNetwork/Nodes/ElementwiseNodes.h"
#include "Math/Operations.h"

#include <algorithm>
#include <utility>

namespace cntk
{

namespace
{

using What = MemoryPlan::Life::What;

constexpr size_t c_lineBytes = 64;

constexpr size_t RoundUp(size_t value, size_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

// Returns the column stride. Columns whose distance is a multiple of c_clashingBytes map to a few places of the
// first-level cache, so that products would be slow without copying them.
size_t StrideOf(size_t rows, DataType type)
{
    constexpr size_t c_clashingBytes = 4096;
    return rows * SizeOf(type) % c_clashingBytes == 0 ? rows + c_lineBytes / SizeOf(type) : rows;
}

} // namespace

DelayNode* DelayOf(ComputationNode* node)
{
    auto* delay = As<DelayNode>(node);
    return delay != nullptr && !delay->Input(0)->IsSparse() ? delay : nullptr;
}

// ---- planning ----

void LoopMerges::Find(const PlanStep& loop)
{
    FindTwins(loop);
    FindGroups(loop);
}

bool LoopMerges::IsOnlyUsedInside(const ComputationNode* node) const
{
    const auto found = m_consumers.find(node);
    return !m_wanted.contains(node) && found != m_consumers.end() &&
           std::all_of(found->second.begin(), found->second.end(),
                       [&](const ComputationNode* consumer) { return m_members.contains(consumer); });
}

void LoopMerges::FindTwins(const PlanStep& loop)
{
    std::vector<std::vector<ComputationNode*>> sets;
    for (const ComputationNodePtr& node : loop.nodes)
    {
        const DelayNode* const delay = DelayOf(node.get());
        if (delay == nullptr || !IsOnlyUsedInside(delay))
            continue;
        const auto twins = std::find_if(sets.begin(), sets.end(),
                                        [&](const std::vector<ComputationNode*>& set)
                                        { return delay->IsTwinOf(*DelayOf(set.front())); });
        if (twins == sets.end())
            sets.push_back({node.get()});
        else
            twins->push_back(node.get());
    }
    for (std::vector<ComputationNode*>& set : sets)
    {
        if (set.size() < 2)
            continue;
        for (size_t i = 1; i < set.size(); i++)
            m_firstTwins[set[i]] = set[0];
        Twins twins;
        twins.delays = std::move(set);
        m_twins.push_back(std::move(twins));
    }
}

ComputationNode* LoopMerges::FirstTwin(ComputationNode* node) const
{
    const auto found = m_firstTwins.find(node);
    return found == m_firstTwins.end() ? node : found->second;
}

LoopMerges::Group* LoopMerges::GroupOf(const ComputationNode* node) const
{
    const auto found = m_groupOf.find(node);
    return found == m_groupOf.end() ? nullptr : found->second;
}

// Returns true for a parameter matrix times one column per sample of the loop. Its memory need not be contiguous.
bool LoopMerges::IsPlainProduct(const ComputationNode& node) const
{
    if (node.TypeName() != "Times" || node.InputCount() != 2)
        return false;
    const ComputationNode& matrix = *node.Input(0);
    const ComputationNode& data = *node.Input(1);
    if (matrix.HasMBLayout() || matrix.SampleLayout().Rank() > 2 || !m_members.contains(&data) ||
        data.SampleElements() != matrix.ValueColumns() || node.SampleElements() != matrix.ValueRows() ||
        m_members.contains(&matrix) || !IsOnlyUsedInside(&node))
        return false;
    const std::vector<const ComputationNode*>& consumers = m_consumers.at(&node);
    return std::all_of(consumers.begin(), consumers.end(),
                       [](const ComputationNode* consumer) { return ElementwiseOpOf(*consumer).has_value(); });
}

void LoopMerges::FindGroups(const PlanStep& loop)
{
    std::unordered_map<const ComputationNode*, Group*> byOperand;
    for (const ComputationNodePtr& node : loop.nodes)
    {
        if (!IsPlainProduct(*node))
            continue;
        ComputationNode* operand = FirstTwin(node->Input(1).get());
        Group*& group = byOperand[operand];
        if (group == nullptr)
        {
            m_groups.push_back(std::make_unique<Group>());
            group = m_groups.back().get();
            group->operand = operand;
            group->delay = DelayOf(operand);
        }
        group->products.push_back(node.get());
        group->outputs += node->SampleElements();
        m_groupOf[node.get()] = group;
        m_products.insert(node.get());
    }
}

// ---- memory ----

void LoopMerges::Bind(const MBLayout& layout, Buffer& panels)
{
    for (Twins& twins : m_twins)
        BindTwins(twins, layout.Columns());
    PanelBytes taken;
    for (const auto& group : m_groups)
        BindGroup(*group, layout, panels, taken);
}

void LoopMerges::BindTwins(Twins& twins, size_t columns) const
{
    const ComputationNode& first = *twins.delays.front();
    const MatrixView value = MakeView(twins.value, first, first.ValueRows(), columns);
    const bool needsGradient = m_plan.NeedsGradient(&first);
    const MatrixView gradient =
        needsGradient ? MakeView(twins.gradient, first, first.ValueRows(), columns) : MatrixView();
    for (ComputationNode* delay : twins.delays)
    {
        NodeBinder::Bind(*delay, What::Value, 0, value);
        if (needsGradient)
            NodeBinder::Bind(*delay, What::Gradient, 0, gradient);
    }
}

void LoopMerges::BindGroup(Group& group, const MBLayout& layout, Buffer& panels, PanelBytes& taken) const
{
    const ComputationNode& first = *group.products.front();
    const size_t inner = group.operand->ValueRows();
    const bool needsGradient = m_plan.NeedsGradient(&first);
    group.valueView =
        MakeView(group.value, first, group.outputs, group.isOfStep ? layout.ParallelSequences() : layout.Columns());
    group.parts.clear();
    for (const ComputationNode* product : group.products)
        group.parts.push_back(product->Input(0)->Value());
    group.weights.UseMemory(panels, taken.forward);
    const size_t bytes = group.weights.Reserve(group.parts, Ops::Transpose::No);
    taken.forward += RoundUp(bytes, c_lineBytes);
    if (bytes == 0 && group.parts.size() > 1)
    {
        group.stackedView = MakeView(group.stacked, first, group.outputs, inner);
        group.parts.assign(1, group.stackedView);
    }
    if (needsGradient)
    {
        group.gradientView = MakeView(group.gradient, first, group.outputs, layout.Columns(),
                                      StrideOf(group.outputs, first.GetDataType()));
        group.transposedWeights.UseMemory(panels, taken.backward);
        taken.backward += RoundUp(group.transposedWeights.Reserve(group.parts, Ops::Transpose::Yes), c_lineBytes);
    }
    size_t row = 0;
    for (ComputationNode* product : group.products)
    {
        const size_t rows = product->SampleElements();
        NodeBinder::Bind(*product, What::Value, 0, group.valueView.Rows(row, rows));
        if (needsGradient)
            NodeBinder::Bind(*product, What::Gradient, 0, group.gradientView.Rows(row, rows));
        row += rows;
    }
}

void LoopMerges::AppendBound(BoundMemory::Elsewhere& bound) const
{
    const auto append = [&](const std::vector<ComputationNode*>& nodes)
    {
        for (const ComputationNode* node : nodes)
            for (const What what : {What::Value, What::Gradient})
                bound.insert({node, what});
    };
    for (const Twins& twins : m_twins)
        append(twins.delays);
    for (const auto& group : m_groups)
        append(group->products);
}

size_t LoopMerges::Bytes() const
{
    size_t bytes = 0;
    for (const Twins& twins : m_twins)
        bytes += twins.value.Bytes() + twins.gradient.Bytes();
    for (const auto& group : m_groups)
        bytes += group->value.Bytes() + group->gradient.Bytes() + group->stacked.Bytes();
    return bytes;
}

} // namespace cntk
