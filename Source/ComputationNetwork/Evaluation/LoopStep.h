// A recurrent loop of which parts are computed together instead of node by node. Equal delays are one node, products
// that share an operand (the gates of an LSTM) are one product with stacked weights, and consecutive element-wise nodes
// are one fused operation. Weights are stacked, and packed for the products of either direction, once a minibatch
// instead of at each time step.
#pragma once

#include "ComputationNetwork/Evaluation/LoopMemory.h"
#include "ComputationNetwork/Evaluation/LoopMerges.h"
#include "ComputationNetwork/Evaluation/Steps.h"
#include "ComputationNetwork/Nodes/ElementwiseNodes.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "Math/ElementwiseChain.h"

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace cntk
{

// Consecutive element-wise nodes, fused into one operation per time step.
class LoopChain
{
public:
    // Adds a pass. Returns false, and adds nothing, if its rows differ from those of the passes before it.
    bool Add(const ElementwisePass& pass, bool overwrites, const LoopMemory& memory);
    // Returns true if the chain computes this value.
    bool Computes(const ComputationNode* node) const;
    // Binds the chains of one direction. Call once a minibatch, when the memory of all nodes is bound.
    static void Bind(std::span<const std::unique_ptr<LoopChain>> chains);
    void Run(size_t firstColumn, size_t columns, size_t firstSequence) const
    {
        Ops::RunChain(m_chain, firstColumn, columns, firstSequence);
    }

private:
    bool BindPlaces();
    void NumberTemporaries(const std::unordered_set<const void*>& own);

    struct Part
    {
        ElementwisePass pass;
        double beta = 0;
    };
    std::vector<Part> m_parts;
    ElementwiseChain m_chain;
};

// Merged nodes have their own memory, because they live as long as the whole loop, forward and backward.
class LoopStep final : public Step
{
public:
    using NodeSet = LoopMemory::NodeSet;
    // wanted: nodes whose values are read elsewhere; they keep their memory. panels: memory for packed weights, shared
    // by all loops and both directions. Its content is needed only during Forward and Backward.
    LoopStep(const PlanStep& loop, StepCalls calls, const EvaluationPlan& plan, const NodeSet& wanted, Buffer& panels);

    void Forward() override;
    void Backward(BackwardPass& pass) override;
    void Bind() override;
    void AppendBound(BoundMemory::Elsewhere& bound) const override;
    size_t Bytes() const override { return m_merges.Bytes() + m_memory.Bytes(); } // without the panels

private:
    // Some of the parallel sequences at one time step.
    struct Part
    {
        size_t time = 0;
        size_t firstSequence = 0;
        size_t sequences = 0;
        size_t firstColumn = 0; // of the minibatch
    };
    using Group = LoopMerges::Group;

    // One of: a node, a group in place of its first product, a fused chain of several nodes.
    struct Action
    {
        ComputationNode* node = nullptr;
        size_t input = 0;           // backward: the input whose gradient it adds to
        DelayNode* delay = nullptr; // the node, if it is a delay; backward also the group's operand, if it is one
        Group* group = nullptr;
        LoopChain* chain = nullptr;
        bool overwrites = false; // backward, of the group: nothing was added to the operand's gradient before
    };

    void PlanForward();
    void PlanBackward();
    void FindFirstContributions();
    void ChainBackward();
    bool IsFirst(const Action& action) const;
    bool ReadsFrom(const Action& action, const LoopChain& chain) const;

    template <class Run>
    void ForEachPart(int direction, bool canBeApart, Run&& run) const;
    size_t BlocksApart() const;
    void BeginForward();
    void RunForward(const Part& part) const;
    bool IsRepeated(const Group& group, size_t time) const;
    void MultiplyGroup(Group& group, const Part& part) const;
    void BeginBackward();
    void RunBackward(const Part& part) const;

    Buffer& m_panels;
    NodeSet m_members;
    LoopMemory::Consumers m_consumers;
    LoopMerges m_merges;
    LoopMemory m_memory;
    const MBLayout* m_layout = nullptr;
    Device& m_device;
    std::vector<Action> m_forward;
    std::vector<Action> m_backward;
    // True if every action works on the columns of each sequence independently.
    bool m_canForwardApart = true;
    bool m_canBackwardApart = true;
    std::vector<ComputationNode*> m_zeroed;
    std::vector<std::unique_ptr<LoopChain>> m_forwardChains;
    std::vector<std::unique_ptr<LoopChain>> m_backwardChains;
    // Gradients that no earlier time step adds to: the call whose contribution overwrites the gradient.
    std::unordered_map<const ComputationNode*, std::pair<const ComputationNode*, size_t>> m_firstContributions;
};

} // namespace cntk
