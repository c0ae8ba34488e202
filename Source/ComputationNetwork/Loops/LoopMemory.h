// What of a recurrent loop need not be written to memory for the whole minibatch: values and gradients that only their
// own time step looks at, of which one step's columns stay in the cache, and gradients that are those of another node.
#pragma once

#include "ComputationNetwork/Evaluation/BoundMemory.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "ComputationNetwork/Plan/EvaluationProgram.h"
#include "ComputationNetwork/Plan/MemoryPlan.h"
#include "Math/Matrix.h"

#include <cstddef>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace cntk
{

// Whether the node takes its gradient column by column, so that it may be rows of a larger matrix: other types of nodes
// may take it for one piece of memory.
bool ReadsGradientByColumns(const ComputationNode& node);

// Of one loop of a plan. Delays are not asked about: other time steps look at them.
class LoopMemory
{
public:
    using NodeSet = std::unordered_set<const ComputationNode*>;
    using Consumers = std::unordered_map<const ComputationNode*, std::vector<const ComputationNode*>>;

    LoopMemory(const EvaluationPlan& plan, const NodeSet& members, const Consumers& consumers, const NodeSet& wanted);

    // Values that element-wise passes alone write and read.
    void FindValuesOfStep(std::span<const ComputationNodePtr> nodes);
    // The same for merged products, whose memory is somebody else's. False: at least one of them is read otherwise.
    bool AddMergedValues(std::span<ComputationNode* const> products);

    // Calls inside of the loop that pass a gradient on to a node that nobody else reads: the two are one. merged:
    // products whose gradient is rows of a larger matrix.
    bool IsPassedOn(const EvaluationProgram::BackwardCall& call) const;
    void PassOn(const EvaluationProgram::BackwardCall& call, const NodeSet& merged);
    bool IsShared(const ComputationNode* node) const { return m_passedOn.contains(node); }
    // Whose gradient's memory is that of the node's; the node itself where it shares none.
    const ComputationNode* OwnerOfGradient(const ComputationNode* node) const;
    // replaced: gradients that the first contribution of a step sets. callsAfter: those that see all steps.
    void FindGradientsOfStep(const NodeSet& replaced, const NodeSet& merged,
                             std::span<const EvaluationProgram::BackwardCall> callsAfter);

    bool IsValueOfStep(const ComputationNode* node) const { return m_values.contains(node); }
    bool IsGradientOfStep(const ComputationNode* node) const { return m_gradients.contains(node); }

    // After all other memory of the nodes is bound.
    void Bind(size_t sequences);
    void Unbind();
    size_t Bytes() const;
    void AppendBound(BoundMemory::Elsewhere& bound) const;

private:
    struct OfStep
    {
        ComputationNode* node = nullptr;
        MemoryPlan::Life::What what = MemoryPlan::Life::What::Value;
        Buffer buffer;
    };
    // Nodes with one gradient, and who has its memory.
    struct Shared
    {
        ComputationNode* owner = nullptr;
        std::vector<ComputationNode*> others;
    };
    bool IsPass(const ComputationNode* node) const;
    bool HasValueOfStep(const ComputationNode* node) const;
    bool IsReadInStepsAlone(const ComputationNode* node) const;
    const ComputationNode* RootOf(const ComputationNode* node) const;
    bool MayBeRows(const ComputationNode* root, const Shared& shared, const NodeSet& merged) const;

    const EvaluationPlan& m_plan;
    const NodeSet& m_members;
    const Consumers& m_consumers;
    const NodeSet& m_wanted;
    NodeSet m_values;
    NodeSet m_gradients;
    std::unordered_map<const ComputationNode*, const ComputationNode*> m_passedOn; // input of the call -> its node
    std::unordered_map<const ComputationNode*, Shared> m_shared;                   // by the first node that passes on
    std::vector<OfStep> m_ofStep;
};

} // namespace cntk
