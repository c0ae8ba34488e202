// Nodes of a recurrent loop that are computed as one: delays of one node by the same step, and products that share an
// operand (the gates of an LSTM, each written with a delay of its own), which are one product with their weights one
// above another.
#pragma once

#include "ComputationNetwork/Evaluation/BoundMemory.h"
#include "ComputationNetwork/Loops/LoopBeginnings.h"
#include "ComputationNetwork/Loops/LoopMemory.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "Math/Products.h"

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace cntk
{

// What the node is, if it is a delay of dense values; else null.
DelayNode* DelayOf(ComputationNode* node);

// Of one loop of a plan. The memory of these nodes is its own: their lives are those of the whole loop, forward and
// backward.
class LoopMerges
{
public:
    using NodeSet = LoopMemory::NodeSet;

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

    // members: the loop's nodes. consumers: of each of them. wanted: nodes whose values others read; they keep their
    // memory. All live longer than this.
    LoopMerges(const EvaluationPlan& plan, const NodeSet& members, const LoopMemory::Consumers& consumers,
               const NodeSet& wanted)
        : m_plan(plan), m_members(members), m_consumers(consumers), m_wanted(wanted)
    {
    }
    void Find(const PlanStep& loop);

    // Of equal delays the first one, whose memory the others have; of all other nodes the node itself.
    ComputationNode* FirstTwin(ComputationNode* node) const;
    bool IsLaterTwin(const ComputationNode* node) const { return m_firstTwins.contains(node); }
    Group* GroupOf(const ComputationNode* node) const; // null: it is no such product
    std::span<const std::unique_ptr<Group>> Groups() const { return m_groups; }
    const NodeSet& Products() const { return m_products; } // of all groups

    // After the evaluator bound the memory of all other nodes. panels: memory for packed weights, which both directions
    // and all loops share.
    void Bind(const MBLayout& layout, Buffer& panels);
    void Unbind();
    // What of the nodes Bind gives memory to.
    void AppendBound(BoundMemory::Elsewhere& bound) const;
    size_t Bytes() const; // without the panels

private:
    // The others have the memory of the first.
    struct Twins
    {
        std::vector<ComputationNode*> delays;
        Buffer value;
        Buffer gradient;
    };
    // Bytes of the panels of the groups so far.
    struct PanelBytes
    {
        size_t forward = 0;
        size_t backward = 0;
    };

    void FindTwins(const PlanStep& loop);
    void FindGroups(const PlanStep& loop);
    bool IsOnlyUsedInside(const ComputationNode* node) const;
    bool IsPlainProduct(const ComputationNode& node) const;
    void BindTwins(Twins& twins, size_t columns) const;
    void BindGroup(Group& group, const MBLayout& layout, Buffer& panels, PanelBytes& taken) const;

    const EvaluationPlan& m_plan;
    const NodeSet& m_members;
    const LoopMemory::Consumers& m_consumers;
    const NodeSet& m_wanted;
    NodeSet m_products;
    std::unordered_map<const ComputationNode*, ComputationNode*> m_firstTwins; // of the others
    std::unordered_map<const ComputationNode*, Group*> m_groupOf;
    std::vector<Twins> m_twins;
    std::vector<std::unique_ptr<Group>> m_groups;
};

} // namespace cntk
