// The order in which the nodes below some roots are computed: a list of steps, built once per set of roots.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <string>
#include <vector>

namespace cntk
{

// A node computed for the whole minibatch, or a recurrent loop stepped in time.
struct PlanStep
{
    enum class Kind
    {
        Node,
        Loop,
        // Times, Plus of a bias and a non-linearity as one pass; nodes = {times, plus, activation or nothing}
        FusedAffine
    };
    Kind kind = Kind::Node;
    std::vector<ComputationNodePtr> nodes; // one node; the loop's nodes in order of one time step; the fused chain
    int direction = +1;                    // loops: +1 t = 0..T-1 (PastValue), -1 backwards (FutureValue)
};

// Immutable. Tarjan's strongly connected components; a loop without a delay, or with contradicting directions, is an
// error (Model) that lists the loop's nodes.
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
    // backwardRoot may be null. Criteria and evaluations in the order of roots.
    static EvaluationPlan Build(const std::vector<ComputationNodePtr>& roots, const Options& options);

    const std::vector<PlanStep>& Steps() const { return m_steps; }
    const std::vector<ComputationNodePtr>& Roots() const { return m_roots; }
    bool NeedsGradient(const ComputationNode* node) const;
    // For each node of the plan in order, inputs before consumers.
    std::vector<ComputationNodePtr> NodesInOrder() const;
    std::string ToString() const; // one line a step, for traceLevel and tests

private:
    std::vector<PlanStep> m_steps;
    std::vector<ComputationNodePtr> m_roots;
    std::vector<const ComputationNode*> m_needsGradient; // sorted
};

} // namespace cntk
