// The order in which the nodes below some roots are computed: a list of steps, built once per set of roots.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <string>
#include <vector>

namespace cntk
{

// A node computed for the whole minibatch, a recurrent loop stepped in time, or nodes computed as one.
struct PlanStep
{
    enum class Kind
    {
        Node,
        Loop,
        // Times, Plus of a bias and a non-linearity as one operation; nodes = {times, plus, activation or nothing}
        FusedAffine,
        // LookupTable and all its readers; nodes = {lookup, times, plus or nothing, activation or nothing, times, ..}
        Lookup
    };
    Kind kind = Kind::Node;
    std::vector<ComputationNodePtr> nodes; // one node; the loop's nodes in order of one time step; the fused chain
    ElementwiseOp activation = ElementwiseOp::Copy; // of the fused chain
    int direction = +1;                             // loops: +1 t = 0..T-1 (PastValue), -1 backwards (FutureValue)

    // Returns true if the k-th node of a Lookup step is one of the products that read the embedding.
    bool IsProductOfLookup(size_t k) const
    {
        return k > 0 && nodes[k]->InputCount() == 2 && nodes[k]->Input(1) == nodes[0];
    }
    // Returns true if the value of the k-th node is not stored: only the next node, or all products of a Lookup, would
    // read it.
    bool IsFusedAway(size_t k) const
    {
        if (kind == Kind::Lookup)
            return k == 0 || (k + 1 < nodes.size() && !IsProductOfLookup(k + 1));
        return kind == Kind::FusedAffine && k + 1 < nodes.size();
    }
    // Returns true if the gradient of the k-th node is not stored either.
    bool IsGradientFusedAway(size_t k) const { return kind == Kind::Lookup && k == 0; }
};

// Immutable. Loops are Tarjan's strongly connected components. A loop without a delay, or with contradicting
// directions, is an error (Model) that lists the loop's nodes.
class EvaluationPlan
{
public:
    struct Options
    {
        bool training = false;
        bool fuse = true;
        ComputationNodePtr backwardRoot;            // training: the criterion; null: the last root
        std::vector<ComputationNodePtr> keepValues; // never fused away
    };
    // Builds the plan. Criteria and evaluations keep the order of roots. Training fails (Model) if a node without a
    // gradient stands between the criterion and a trained parameter.
    static EvaluationPlan Build(const std::vector<ComputationNodePtr>& roots, const Options& options);

    // Returns a plan of the given steps without checks, for tests of the plan checker.
    static EvaluationPlan FromSteps(std::vector<PlanStep> steps, std::vector<ComputationNodePtr> roots,
                                    ComputationNodePtr backwardRoot = nullptr);

    const std::vector<PlanStep>& Steps() const { return m_steps; }
    const std::vector<ComputationNodePtr>& Roots() const { return m_roots; }
    const ComputationNodePtr& BackwardRoot() const { return m_backwardRoot; } // null: not for training
    // Returns true if the node lies between a trained parameter and the backward root.
    bool NeedsGradient(const ComputationNode* node) const;
    // Returns the nodes of the plan in order, inputs before consumers.
    std::vector<ComputationNodePtr> NodesInOrder() const;
    std::string ToString() const; // one line a step, for traceLevel and tests

private:
    void FuseAffineChains(const std::vector<ComputationNodePtr>& keepValues); // PlanFusion.cpp
    void FuseLookups(const std::vector<ComputationNodePtr>& keepValues);      // after the chains
    void MergeLookup(size_t lookup, const std::vector<size_t>& chains);

    std::vector<PlanStep> m_steps;
    std::vector<ComputationNodePtr> m_roots;
    ComputationNodePtr m_backwardRoot;
    std::vector<const ComputationNode*> m_needsGradient; // sorted
};

} // namespace cntk
