// Finds gradients that a loop passes on, and the outside nodes that receive no other gradient.
#include "ComputationNetwork/Loops/LoopGradients.h"

#include "ComputationNetwork/Evaluation/NodeBinder.h"
#include "ComputationNetwork/Nodes/ElementwiseNodes.h"

#include <algorithm>
#include <unordered_map>

namespace cntk
{

namespace
{

using BackwardCall = EvaluationProgram::BackwardCall;
using Life = MemoryPlan::Life;

bool IsCopy(const BackwardCall& call)
{
    const std::optional<ElementwisePass> pass = BackwardPassOf(*call.node, call.inputIndex);
    return pass && pass->op == ElementwiseOp::Copy && pass->factor == 1;
}

// Counts how often nodes with a gradient read each node.
std::unordered_map<const ComputationNode*, size_t> CountReaders(const EvaluationPlan& plan)
{
    std::unordered_map<const ComputationNode*, size_t> counts;
    for (const PlanStep& step : plan.Steps())
        for (const ComputationNodePtr& node : step.nodes)
            if (plan.NeedsGradient(node.get()))
                for (const ComputationNodePtr& input : node->Inputs())
                    counts[input.get()]++;
    return counts;
}

using PlainNodes = std::unordered_map<const ComputationNode*, ComputationNode*>;

// Finds nodes that are computed for the whole minibatch, separately, with their bias or once for each word, and whose
// gradients may be rows of a larger matrix.
PlainNodes FindPlain(const EvaluationPlan& plan)
{
    PlainNodes plain;
    for (const PlanStep& step : plan.Steps())
        if (step.kind != PlanStep::Kind::Loop)
            for (const ComputationNodePtr& node : step.nodes)
                if (ReadsGradientByColumns(*node))
                    plain[node.get()] = node.get();
    return plain;
}

// Appends the nodes that share these nodes' gradient by the memory plan. Returns true if all of them are plain and none
// is wanted elsewhere.
bool AppendAliases(const MemoryPlan& memory, const PlainNodes& plain, const LoopMemory::NodeSet& wanted,
                   std::vector<ComputationNode*>& nodes)
{
    bool arePlain = true;
    for (size_t i = 0; i < nodes.size(); i++)
        for (const Life& life : memory.Lives())
        {
            if (life.what != Life::What::Gradient || life.aliasOf != nodes[i])
                continue;
            const auto found = plain.find(life.node);
            arePlain = arePlain && found != plain.end() && !wanted.contains(life.node);
            if (found != plain.end())
                nodes.push_back(found->second);
        }
    return arePlain;
}

} // namespace

void LoopGradients::Find(std::span<BackwardCall> callsAfter, const EvaluationPlan& plan, const MemoryPlan& memory,
                         const LoopMemory& loop, const NodeSet& merged, const NodeSet& wanted)
{
    const auto readers = CountReaders(plan);
    const auto plain = FindPlain(plan);
    NodeSet owners; // nodes that already pass their gradient on
    for (BackwardCall& call : callsAfter)
    {
        const ComputationNode* const owner = loop.OwnerOfGradient(call.node);
        if (!merged.contains(owner) || owners.contains(owner) || wanted.contains(call.input) || !IsCopy(call) ||
            readers.at(call.input) != 1)
            continue;
        Shared shared{owner, {call.input}};
        const bool isPlain = plain.contains(call.input) && AppendAliases(memory, plain, wanted, shared.others);
        if (!isPlain)
            continue;
        owners.insert(owner);
        m_shared.push_back(std::move(shared));
        call.isPassedOn = true;
    }
}

void LoopGradients::Bind() const
{
    for (const Shared& shared : m_shared)
        for (ComputationNode* other : shared.others)
            NodeBinder::Bind(*other, Life::What::Gradient, 0, shared.owner->Gradient());
}

void LoopGradients::Unbind() const
{
    for (const Shared& shared : m_shared)
        for (ComputationNode* other : shared.others)
            NodeBinder::Bind(*other, Life::What::Gradient, 0, {});
}

void LoopGradients::AppendBound(BoundMemory::Elsewhere& bound) const
{
    for (const Shared& shared : m_shared)
        for (const ComputationNode* other : shared.others)
            bound.insert({other, Life::What::Gradient});
}

// Lists products: the gradients are kept, and the operand's value lives until its last reader.
void LoopGradients::ListProducts(std::span<BackwardCall> calls) const
{
    NodeSet outside;
    for (const Shared& shared : m_shared)
        outside.insert(shared.others.begin(), shared.others.end());
    std::unordered_map<const ComputationNode*, size_t> contributions; // to each parameter
    for (const BackwardCall& call : calls)
        contributions[call.input]++;
    std::unordered_map<const ComputationNode*, std::vector<BackwardCall*>> ofOperand;
    for (BackwardCall& call : calls)
        if (call.isParameter && call.inputIndex == 0 && call.node->InputCount() == 2 && outside.contains(call.node) &&
            contributions.at(call.input) == 1)
            ofOperand[call.node->Input(1).get()].push_back(&call);
    for (const auto& [operand, listed] : ofOperand)
    {
        for (BackwardCall* call : listed)
            call->isListed = true;
        listed.back()->endsList = true;
    }
}

} // namespace cntk
