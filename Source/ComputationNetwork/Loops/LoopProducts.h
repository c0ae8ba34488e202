// What a recurrent loop computes in one go instead of node by node: delays that are equal are one, products that share
// an operand (the gates of an LSTM) are one product with their weights stacked, and element-wise nodes that follow one
// another are one pass. Weights are stacked, and packed for the products of either direction, once a minibatch instead
// of being rearranged at each time step.
#pragma once

#include "ComputationNetwork/Evaluation/BoundMemory.h"
#include "ComputationNetwork/Loops/LoopChain.h"
#include "ComputationNetwork/Loops/LoopGradients.h"
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

// Of one loop of a plan. The memory of merged nodes is its own: their lives are those of the whole loop, forward and
// backward.
class LoopProducts
{
public:
    using NodeSet = LoopMemory::NodeSet;
    // wanted: nodes whose values others read; they keep their memory. panels: memory for packed weights, which all
    // loops share, and both directions of one; what is there is not needed outside of Forward and Backward.
    LoopProducts(const PlanStep& loop, const EvaluationPlan& plan, const NodeSet& wanted, Buffer& panels);

    // After the evaluator bound the nodes' memory.
    void Bind();
    void Unbind();
    size_t Bytes() const { return m_merges.Bytes() + m_memory.Bytes(); } // without the panels
    // What of the nodes Bind gives memory to. After SetBackward.
    void AppendBound(BoundMemory::Elsewhere& bound) const;

    // All nodes of the loop, in order, time step by time step: forwards in time with direction +1.
    void Forward(int direction);

    // The calls of the backward pass inside the loop, of which merged ones are left out, and the gradients to zero.
    // callsAfter: those that follow, for the whole minibatch; those that have nothing to do are marked.
    void SetBackward(std::span<const EvaluationProgram::BackwardCall> calls, std::span<ComputationNode* const> zeroed,
                     std::span<EvaluationProgram::BackwardCall> callsAfter, const MemoryPlan& memory);
    // The whole backward pass.
    void ListProducts(std::span<EvaluationProgram::BackwardCall> calls) const { m_gradients.ListProducts(calls); }
    void Backward(int direction);
    // Around the products of those calls that follow.
    void SumBeginnings(std::span<Product> products);
    void RestoreGradients();

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

    // One of: a node, a group in the place of its first product, element-wise passes of several nodes.
    struct Action
    {
        ComputationNode* node = nullptr;
        DelayNode* delay = nullptr; // what the node is, if it is one
        Group* group = nullptr;
        LoopChain* chain = nullptr;
    };
    struct BackwardAction
    {
        ComputationNode* node = nullptr;
        DelayNode* delay = nullptr; // what the node is, or the group's operand
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

    const EvaluationPlan& m_plan;
    const NodeSet& m_wanted;
    Buffer& m_panels;
    NodeSet m_members;
    LoopMemory::Consumers m_consumers;
    LoopMerges m_merges;
    LoopMemory m_memory;
    LoopGradients m_gradients;
    const MBLayout* m_layout = nullptr;
    Device& m_device;
    std::vector<Action> m_forward;
    std::vector<BackwardAction> m_backward;
    // Every action works on the columns of each sequence alone.
    bool m_canForwardApart = true;
    bool m_canBackwardApart = true;
    std::vector<ComputationNode*> m_zeroed;
    std::vector<std::unique_ptr<LoopChain>> m_forwardChains;
    std::vector<std::unique_ptr<LoopChain>> m_backwardChains;
    // Of gradients that no earlier time step adds to: the call whose contribution replaces what is there.
    std::unordered_map<const ComputationNode*, std::pair<const ComputationNode*, size_t>> m_firstContributions;
};

} // namespace cntk
