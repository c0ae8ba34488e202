// Finds values and gradients of a recurrent loop that are read only within their time step, and gradients that are
// equal.
#include "ComputationNetwork/Evaluation/LoopMemory.h"

#include "ComputationNetwork/Nodes/ElementwiseNodes.h"

#include <algorithm>

namespace cntk
{

namespace
{

using What = MemoryPlan::Life::What;

} // namespace

bool ReadsGradientByColumns(const ComputationNode& node)
{
    if (ForwardPassOf(node) || ElementwiseOpOf(node))
        return true;
    if (node.TypeName() != "Times")
        return false;
    const ComputationNode& matrix = *node.Input(0);
    return !matrix.HasMBLayout() && matrix.SampleLayout().Rank() <= 2 && node.SampleElements() == matrix.ValueRows();
}

MatrixView MakeView(Buffer& buffer, const ComputationNode& like, size_t rows, size_t columns, size_t stride)
{
    MatrixView view;
    view.type = like.GetDataType();
    view.device = &like.GetDevice();
    view.rows = rows;
    view.stride = std::max(rows, stride);
    view.columns = columns;
    if (buffer.GetDevice() == nullptr)
        buffer = Buffer(like.GetDevice());
    buffer.Reserve(view.stride * columns * SizeOf(view.type));
    view.data = buffer.Data();
    return view;
}

LoopMemory::LoopMemory(const EvaluationPlan& plan, const NodeSet& members, const Consumers& consumers,
                       const NodeSet& wanted)
    : m_plan(plan), m_members(members), m_consumers(consumers), m_wanted(wanted)
{
}

// Returns true for a node that is an element-wise pass over its own time step.
bool LoopMemory::IsPass(const ComputationNode* node) const
{
    return m_members.contains(node) && !node->Type().traits.isDelay && ForwardPassOf(*node).has_value();
}

// Returns true if only element-wise passes read the node.
bool LoopMemory::IsReadInStepsAlone(const ComputationNode* node) const
{
    const auto found = m_consumers.find(node);
    return !m_wanted.contains(node) && found != m_consumers.end() &&
           std::all_of(found->second.begin(), found->second.end(),
                       [&](const ComputationNode* consumer) { return IsPass(consumer); });
}

// ---- values ----

bool LoopMemory::HasValueOfStep(const ComputationNode* node) const
{
    if (!IsReadInStepsAlone(node) || (m_plan.NeedsGradient(node) && node->Type().traits.backpropReadsOutput))
        return false;
    const std::vector<const ComputationNode*>& consumers = m_consumers.at(node);
    return std::none_of(consumers.begin(), consumers.end(),
                        [&](const ComputationNode* consumer)
                        { return m_plan.NeedsGradient(consumer) && consumer->Type().traits.backpropReadsInputs; });
}

void LoopMemory::FindValuesOfStep(std::span<const ComputationNodePtr> nodes)
{
    for (const ComputationNodePtr& node : nodes)
        if (IsPass(node.get()) && HasValueOfStep(node.get()))
        {
            m_values.insert(node.get());
            m_ofStep.push_back({.node = node.get(), .what = What::Value, .buffer = {}});
        }
}

bool LoopMemory::AddMergedValues(std::span<ComputationNode* const> products)
{
    if (!std::all_of(products.begin(), products.end(),
                     [&](const ComputationNode* product) { return HasValueOfStep(product); }))
        return false;
    m_values.insert(products.begin(), products.end());
    return true;
}

// ---- gradients ----

const ComputationNode* LoopMemory::RootOf(const ComputationNode* node) const
{
    for (auto found = m_passedOn.find(node); found != m_passedOn.end(); found = m_passedOn.find(node))
        node = found->second;
    return node;
}

bool LoopMemory::IsPassedOn(const BackwardCall& call) const
{
    const auto found = m_passedOn.find(call.input);
    return found != m_passedOn.end() && found->second == call.node;
}

// Returns true if all nodes that read the gradient or add to it do so column by column.
bool LoopMemory::MayBeRows(const ComputationNode* root, const Shared& shared, const NodeSet& merged) const
{
    const auto adds = [&](const ComputationNode* consumer)
    {
        return !m_plan.NeedsGradient(consumer) || consumer->Type().traits.isDelay || merged.contains(consumer) ||
               ForwardPassOf(*consumer) || ElementwiseOpOf(*consumer);
    };
    const auto consumers = m_consumers.find(root);
    return ReadsGradientByColumns(*root) &&
           std::all_of(shared.others.begin(), shared.others.end(),
                       [](const ComputationNode* other) { return ReadsGradientByColumns(*other); }) &&
           (consumers == m_consumers.end() || std::all_of(consumers->second.begin(), consumers->second.end(), adds));
}

void LoopMemory::PassOn(const BackwardCall& call, const NodeSet& merged)
{
    const std::optional<ElementwisePass> pass = BackwardPassOf(*call.node, call.inputIndex);
    if (!pass || pass->op != ElementwiseOp::Copy || pass->factor != 1 || call.input->Type().traits.isDelay ||
        call.node->Type().traits.isDelay || m_wanted.contains(call.input) || merged.contains(call.node))
        return;
    const auto consumers = m_consumers.find(call.input);
    if (consumers == m_consumers.end() || consumers->second.size() != 1)
        return;
    const ComputationNode* root = RootOf(call.node);
    if (m_wanted.contains(root))
        return;
    Shared& shared = m_shared[root];
    if (shared.owner == nullptr)
        shared = {const_cast<ComputationNode*>(root), {}};
    if (merged.contains(call.input))
    {
        // Rows of one matrix cannot be rows of two products.
        if (merged.contains(shared.owner) || !MayBeRows(root, shared, merged))
            return;
        shared.others.push_back(shared.owner);
        shared.owner = call.input;
    }
    else if (merged.contains(shared.owner) && !ReadsGradientByColumns(*call.input))
        return;
    else
        shared.others.push_back(call.input);
    m_passedOn[call.input] = call.node;
}

void LoopMemory::FindGradientsOfStep(const NodeSet& replaced, const NodeSet& merged,
                                     std::span<const BackwardCall> callsAfter)
{
    NodeSet seenByAll;
    for (const BackwardCall& call : callsAfter)
        seenByAll.insert(call.node);
    // Nodes that share a gradient must all belong to the step.
    const auto isOfStep = [&](const ComputationNode* node)
    { return IsPass(node) && !merged.contains(node) && !seenByAll.contains(node) && IsReadInStepsAlone(node); };
    for (const ComputationNode* node : replaced)
    {
        const auto shared = m_shared.find(node);
        const bool isShared = shared != m_shared.end() && !shared->second.others.empty();
        if (!isOfStep(node) ||
            (isShared && (merged.contains(shared->second.owner) ||
                          !std::all_of(shared->second.others.begin(), shared->second.others.end(), isOfStep))))
            continue;
        m_gradients.insert(node);
        m_ofStep.push_back({.node = const_cast<ComputationNode*>(node), .what = What::Gradient, .buffer = {}});
        if (isShared)
            m_gradients.insert(shared->second.others.begin(), shared->second.others.end());
    }
}

// ---- memory ----

void LoopMemory::Bind(size_t sequences)
{
    for (OfStep& own : m_ofStep)
        NodeBinder::Bind(*own.node, own.what, 0, MakeView(own.buffer, *own.node, own.node->ValueRows(), sequences));
    for (const auto& [root, shared] : m_shared)
        for (ComputationNode* other : shared.others)
            NodeBinder::Bind(*other, What::Gradient, 0, shared.owner->Gradient());
}

void LoopMemory::AppendBound(BoundMemory::Elsewhere& bound) const
{
    for (const OfStep& own : m_ofStep)
        bound.insert({own.node, own.what});
    for (const auto& [root, shared] : m_shared)
        for (const ComputationNode* other : shared.others)
            bound.insert({other, What::Gradient});
}

size_t LoopMemory::Bytes() const
{
    size_t bytes = 0;
    for (const OfStep& own : m_ofStep)
        bytes += own.buffer.Bytes();
    return bytes;
}

} // namespace cntk
