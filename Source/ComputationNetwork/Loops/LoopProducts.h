// The parts of a recurrent loop that are computed together instead of node by node. Equal delays are one node, products
// that share an operand (the gates of an LSTM) are one product with stacked weights, and consecutive element-wise nodes
// are one fused operation. Weights are stacked, and packed for the products of either direction, once a minibatch
// instead of at each time step.
#pragma once

#include "ComputationNetwork/Evaluation/BoundMemory.h"
#include "ComputationNetwork/Loops/LoopChain.h"
#include "ComputationNetwork/Loops/LoopMemory.h"
#include "ComputationNetwork/Loops/LoopMerges.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "ComputationNetwork/Plan/EvaluationProgram.h"

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace cntk
{

// The products of one loop of a plan. Merged nodes have their own memory, because they live as long as the whole loop,
// forward and backward.
class LoopProducts
{
public:
    using NodeSet = LoopMemory::NodeSet;
    // wanted: nodes whose values are read elsewhere; they keep their memory. panels: memory for packed weights, shared
    // by all loops and both directions. Its content is needed only during Forward and Backward.
    LoopProducts(const PlanStep& loop, const EvaluationPlan& plan, const NodeSet& wanted, Buffer& panels);

    // Call after the evaluator bound the nodes' memory.
    void Bind();
    void Unbind();
    size_t Bytes() const { return m_merges.Bytes() + m_memory.Bytes(); } // without the panels
    // Appends the values and gradients that Bind binds. Call after SetBackward.
    void AppendBound(BoundMemory::Elsewhere& bound) const;

    // Computes all nodes of the loop, in order, one time step after another: forwards in time with direction +1.
    void Forward(int direction);

    // Takes over the backward calls inside the loop, without the merged ones, and the gradients to zero. callsAfter:
    // the later calls for the whole minibatch.
    void SetBackward(std::span<const EvaluationProgram::BackwardCall> calls, std::span<ComputationNode* const> zeroed,
                     std::span<const EvaluationProgram::BackwardCall> callsAfter);
    // Back-propagates through all time steps.
    void Backward(int direction);

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
        DelayNode* delay = nullptr; // the node, if it is a delay
        Group* group = nullptr;
        LoopChain* chain = nullptr;
    };
    struct BackwardAction
    {
        ComputationNode* node = nullptr;
        DelayNode* delay = nullptr; // the node or the group's operand, if it is a delay
        size_t input = 0;
        Group* group = nullptr;
        bool overwrites = false; // of the group: nothing was added to the operand's gradient before
        LoopChain* chain = nullptr;
    };

    void BeginForward(int direction);
    void BeginBackward();
    void RunForward(const Part& part) const;
    bool IsRepeated(const Group& group, size_t time) const;
    void MultiplyGroup(Group& group, const Part& part) const;
    void RunBackward(const Part& part) const;
    template <class Run>
    void ForEachPart(int direction, bool canBeApart, Run&& run) const;
    size_t BlocksApart() const;

    void PlanForward(const PlanStep& loop);
    void FindFirstContributions(std::span<ComputationNode* const> zeroed);
    void ChainBackward();
    bool IsFirst(const BackwardAction& action) const;
    static bool IsGradientRead(const BackwardAction& action, size_t time);
    bool ReadsFrom(const Action& action, const LoopChain& chain) const;

    Buffer& m_panels;
    NodeSet m_members;
    LoopMemory::Consumers m_consumers;
    LoopMerges m_merges;
    LoopMemory m_memory;
    const MBLayout* m_layout = nullptr;
    Device& m_device;
    std::vector<Action> m_forward;
    std::vector<BackwardAction> m_backward;
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
