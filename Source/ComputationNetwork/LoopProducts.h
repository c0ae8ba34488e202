// What a recurrent loop computes in one go instead of node by node: delays that are equal are one, products that share
// an operand (the gates of an LSTM) are one product with their weights stacked, and element-wise nodes that follow one
// another are one pass. Weights are stacked, and packed for the products of either direction, once a minibatch instead
// of being rearranged at each time step.
#pragma once

#include "ComputationNetwork/BoundMemory.h"
#include "ComputationNetwork/EvaluationPlan.h"
#include "ComputationNetwork/EvaluationProgram.h"
#include "ComputationNetwork/LoopBeginnings.h"
#include "ComputationNetwork/LoopChain.h"
#include "ComputationNetwork/LoopGradients.h"
#include "ComputationNetwork/LoopMemory.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "Math/PackedOperand.h"

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
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
    size_t Bytes() const; // without the panels
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
    // Delays of one node by the same step: the others have the memory of the first.
    struct Twins
    {
        std::vector<ComputationNode*> delays;
        Buffer value;
        Buffer gradient;
    };
    // Times(W1, x), Times(W2, x), ...; often one alone
    struct Group
    {
        ComputationNode* operand = nullptr;
        const DelayNode* delay = nullptr; // what the operand is, if it is one
        std::vector<ComputationNode*> products;
        size_t outputs = 0; // of all products
        Buffer value;
        Buffer gradient;
        Buffer stacked; // weights of several products, [outputs x inner], where the device keeps no panels of them
        std::vector<MatrixView> parts; // all weights, one above another: their own memory, or the stacked one
        PackedOperand weights;
        PackedOperand transposedWeights;
        MatrixView valueView, gradientView, stackedView;
        bool isPacked = false; // the weights, in this pass
        bool isOfStep = false; // the value: one time step's alone
        bool isZeroed = true;  // the gradient, before the first time step
        LoopBeginnings beginnings;
    };
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

    void FindTwins(const PlanStep& loop);
    void FindGroups(const PlanStep& loop);
    void PlanForward(const PlanStep& loop);
    void FindFirstContributions(std::span<ComputationNode* const> zeroed);
    void ChainBackward();
    bool IsFirst(const BackwardAction& action) const;
    static bool IsGradientRead(const BackwardAction& action, size_t time);
    bool ReadsFrom(const Action& action, const LoopChain& chain) const;
    bool IsOnlyUsedInside(const ComputationNode* node) const;
    bool IsPlainProduct(const ComputationNode& node) const;
    ComputationNode* FirstTwin(ComputationNode* node) const;

    const EvaluationPlan& m_plan;
    const NodeSet& m_wanted;
    Buffer& m_panels;
    NodeSet m_members;
    LoopMemory::Consumers m_consumers;
    LoopMemory m_memory;
    LoopGradients m_gradients;
    NodeSet m_merged;                                                          // products of groups
    std::unordered_map<const ComputationNode*, ComputationNode*> m_firstTwins; // of the others
    std::unordered_map<const ComputationNode*, Group*> m_groupOf;
    std::vector<Twins> m_twins;
    std::vector<std::unique_ptr<Group>> m_groups;
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
