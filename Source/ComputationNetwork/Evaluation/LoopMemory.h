// Values and gradients of a recurrent loop that need no memory for the whole minibatch. Some are read only within their
// own time step and need only one step's columns, which stay in the cache. Some gradients share the memory of another
// node's.
#pragma once

#include "ComputationNetwork/Evaluation/Steps.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "ComputationNetwork/Plan/MemoryPlan.h"
#include "Math/Matrix.h"

#include <cstddef>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace cntk
{

// Returns true if the node reads its gradient column by column, so that the gradient may be some rows of a larger
// matrix. Other node types may require contiguous memory.
bool ReadsGradientByColumns(const ComputationNode& node);

// Creates a view of the buffer, which grows if it is too small. like: a node of the same device and type. stride 0:
// equal to rows.
MatrixView MakeView(Buffer& buffer, const ComputationNode& like, size_t rows, size_t columns, size_t stride = 0);

// The memory of one loop of a plan. Delays are never included, because other time steps read them.
class LoopMemory
{
public:
    using NodeSet = std::unordered_set<const ComputationNode*>;
    using Consumers = std::unordered_map<const ComputationNode*, std::vector<const ComputationNode*>>;

    LoopMemory(const EvaluationPlan& plan, const NodeSet& members, const Consumers& consumers, const NodeSet& wanted);

    // Finds values that only element-wise passes write and read.
    void FindValuesOfStep(std::span<const ComputationNodePtr> nodes);
    // Does the same for merged products, whose memory another class owns. Returns false if at least one of them has
    // another reader.
    bool AddMergedValues(std::span<ComputationNode* const> products);

    // PassOn lets the node and the input of a call inside the loop share one gradient, if the call passes it on and the
    // input has no other reader. IsPassedOn finds such calls. merged: products whose gradient is rows of a larger
    // matrix.
    bool IsPassedOn(const BackwardCall& call) const;
    void PassOn(const BackwardCall& call, const NodeSet& merged);
    bool IsShared(const ComputationNode* node) const { return m_passedOn.contains(node); }
    // replaced: gradients that the first contribution of a step overwrites. callsAfter: calls that read all steps.
    void FindGradientsOfStep(const NodeSet& replaced, const NodeSet& merged, std::span<const BackwardCall> callsAfter);

    bool IsValueOfStep(const ComputationNode* node) const { return m_values.contains(node); }
    bool IsGradientOfStep(const ComputationNode* node) const { return m_gradients.contains(node); }

    // Call after all other memory of the nodes is bound.
    void Bind(size_t sequences);
    size_t Bytes() const;
    void AppendBound(BoundMemory::Elsewhere& bound) const;

private:
    struct OfStep
    {
        ComputationNode* node = nullptr;
        MemoryPlan::Life::What what = MemoryPlan::Life::What::Value;
        Buffer buffer;
    };
    // Nodes that share one gradient, and the owner of its memory.
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
    std::unordered_map<const ComputationNode*, Shared> m_shared; // by the first node that passes it on
    std::vector<OfStep> m_ofStep;
};

} // namespace cntk
