// What a recurrent loop computes in one go instead of node by node: delays that are equal are one, products that share
// an operand (the gates of an LSTM) are one product with their weights stacked, and element-wise nodes that follow one
// another are one pass. Weights are stacked, and packed for the products of either direction, once a minibatch instead
// of being rearranged at each time step.
#pragma once

#include "ComputationNetwork/EvaluationPlan.h"
#include "ComputationNetwork/EvaluationProgram.h"
#include "ComputationNetwork/LoopChain.h"
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
    using NodeSet = std::unordered_set<const ComputationNode*>;
    // wanted: nodes whose values others read; they keep their memory.
    LoopProducts(const PlanStep& loop, const EvaluationPlan& plan, const NodeSet& wanted);

    // After the evaluator bound the nodes' memory.
    void Bind();
    void Unbind();
    size_t Bytes() const;

    // All nodes of the loop for one time step, in order.
    void BeginForward();
    void Forward(const FrameRange& range);

    // The calls of the backward pass inside the loop, of which merged ones are left out, and the gradients to zero.
    void SetBackward(std::span<const EvaluationProgram::BackwardCall> calls, std::span<ComputationNode* const> zeroed);
    void BeginBackward();
    void Backward(const FrameRange& range);

private:
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
        std::vector<ComputationNode*> products;
        size_t outputs = 0; // of all products
        Buffer value;
        Buffer gradient;
        Buffer stacked; // weights of several products, [outputs x inner]
        PackedOperand weights;
        PackedOperand transposedWeights;
        MatrixView valueView, gradientView, stackedView;
        bool isZeroed = true; // the gradient, before the first time step

        // Of one product its own weights.
        MatrixView StackedWeights() const;
    };
    // One of: a node, a group in the place of its first product, element-wise passes of several nodes.
    struct Action
    {
        ComputationNode* node = nullptr;
        Group* group = nullptr;
        LoopChain* chain = nullptr;
    };
    struct BackwardAction
    {
        ComputationNode* node = nullptr;
        size_t input = 0;
        Group* group = nullptr;
        bool overwrites = false; // of the group: nothing was added to the operand's gradient before
        LoopChain* chain = nullptr;
    };

    void FindTwins(const PlanStep& loop);
    void FindGroups(const PlanStep& loop);
    void PlanForward(const PlanStep& loop);
    void FindFirstContributions(std::span<ComputationNode* const> zeroed);
    void ChainBackward();
    bool IsFirst(const BackwardAction& action) const;
    bool IsOnlyUsedInside(const ComputationNode* node) const;
    bool IsPlainProduct(const ComputationNode& node) const;
    ComputationNode* FirstTwin(ComputationNode* node) const;

    const EvaluationPlan& m_plan;
    const NodeSet& m_wanted;
    NodeSet m_members;
    std::unordered_map<const ComputationNode*, std::vector<const ComputationNode*>> m_consumers;
    std::unordered_map<const ComputationNode*, ComputationNode*> m_firstTwins; // of the others
    std::unordered_map<const ComputationNode*, Group*> m_groupOf;
    std::vector<Twins> m_twins;
    std::vector<std::unique_ptr<Group>> m_groups;
    const MBLayout* m_layout = nullptr;
    std::vector<Action> m_forward;
    std::vector<BackwardAction> m_backward;
    std::vector<ComputationNode*> m_zeroed;
    std::vector<std::unique_ptr<LoopChain>> m_forwardChains;
    std::vector<std::unique_ptr<LoopChain>> m_backwardChains;
    // Of gradients that no earlier time step adds to: the call whose contribution replaces what is there.
    std::unordered_map<const ComputationNode*, std::pair<const ComputationNode*, size_t>> m_firstContributions;
};

} // namespace cntk
