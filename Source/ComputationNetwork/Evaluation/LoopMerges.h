// Nodes of a recurrent loop that are computed as one: delays of one node by the same step, and products that share an
// operand. An LSTM's gates, each with its own delay, become one product with stacked weights.
#pragma once

#include "ComputationNetwork/Evaluation/BoundMemory.h"
#include "ComputationNetwork/Evaluation/LoopMemory.h"
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

// Returns the node if it is a delay of dense values; else null.
DelayNode* DelayOf(ComputationNode* node);

// The merged nodes of one loop of a plan. They have their own memory, because they live as long as the whole loop,
// forward and backward.
class LoopMerges
{
public:
    using NodeSet = LoopMemory::NodeSet;

    // Products that share an operand: Times(W1, x), Times(W2, x), ... Often only one.
    struct Group
    {
        ComputationNode* operand = nullptr;
        const DelayNode* delay = nullptr; // the operand, if it is a delay
        std::vector<ComputationNode*> products;
        size_t outputs = 0; // rows of all products
        Buffer value;
        Buffer gradient;
        Buffer stacked; // weights of several products, [outputs x inner], on devices that do not pack them
        std::vector<MatrixView> parts; // all weights, stacked: their own memory, or the stacked copy
        PackedOperand weights;
        PackedOperand transposedWeights;
        MatrixView valueView, gradientView, stackedView;
        bool isPacked = false;  // the weights are packed in this pass, or need not be
        bool isInPlace = false; // the parts are multiplied by single columns
        bool isOfStep = false;  // the value holds one time step only
        bool isZeroed = true;   // the gradient is zeroed before the first time step
    };

    // members: the loop's nodes. consumers: those of each member. wanted: nodes whose values are read elsewhere; they
    // keep their memory. All arguments must outlive this object.
    LoopMerges(const EvaluationPlan& plan, const NodeSet& members, const LoopMemory::Consumers& consumers,
               const NodeSet& wanted)
        : m_plan(plan), m_members(members), m_consumers(consumers), m_wanted(wanted)
    {
    }
    void Find(const PlanStep& loop);

    // Returns the first one of equal delays, whose memory the others share; for any other node the node itself.
    ComputationNode* FirstTwin(ComputationNode* node) const;
    bool IsLaterTwin(const ComputationNode* node) const { return m_firstTwins.contains(node); }
    Group* GroupOf(const ComputationNode* node) const; // null: not a merged product
    std::span<const std::unique_ptr<Group>> Groups() const { return m_groups; }
    const NodeSet& Products() const { return m_products; } // of all groups

    // Binds memory after the evaluator bound that of all other nodes. panels: memory for packed weights, shared by both
    // directions and all loops.
    void Bind(const MBLayout& layout, Buffer& panels);
    // Appends the values and gradients that Bind binds.
    void AppendBound(BoundMemory::Elsewhere& bound) const;
    size_t Bytes() const; // without the panels

private:
    // Equal delays, which share the memory of the first one.
    struct Twins
    {
        std::vector<ComputationNode*> delays;
        Buffer value;
        Buffer gradient;
    };
    // Bytes of the packed weights of the groups found.
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
    std::unordered_map<const ComputationNode*, ComputationNode*> m_firstTwins; // of the later ones
    std::unordered_map<const ComputationNode*, Group*> m_groupOf;
    std::vector<Twins> m_twins;
    std::vector<std::unique_ptr<Group>> m_groups;
};

} // namespace cntk
