// Orders the nodes: depth-first, recurrent loops as blocks; then prunes gradients. No function here recurses: networks
// may be thousands of nodes deep.
#include "ComputationNetwork/Plan/EvaluationPlan.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Loops/RecurrentLoops.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace cntk
{

namespace
{

PlanStep MakeLoop(const std::vector<ComputationNodePtr>& component)
{
    PlanStep step;
    step.kind = PlanStep::Kind::Loop;
    step.nodes = OrderOfOneStep(component);
    if (const std::optional<LoopFault> fault = FaultOf(step.nodes))
        Fail(ErrorKind::Model, fault->message);
    const auto delay = std::find_if(step.nodes.begin(), step.nodes.end(),
                                    [](const ComputationNodePtr& node) { return node->Type().traits.isDelay; });
    step.direction = (*delay)->Type().traits.delayDirection;
    return step;
}

// Returns any trained parameter at or below the node, for the message about a network that cannot be trained.
const ComputationNode* TrainedParameterBelow(const ComputationNodePtr& node)
{
    for (const ComputationNodePtr& below : ComputationNetwork::Below({node}))
        if (below->IsTrainableLeaf())
            return below.get();
    return nullptr;
}

// Finds the nodes at or above a trained parameter.
std::unordered_set<const ComputationNode*> NodesAboveParameters(const std::vector<PlanStep>& steps)
{
    std::unordered_set<const ComputationNode*> above;
    for (const PlanStep& step : steps)
    {
        // In a loop every node is above every other one.
        const bool any =
            std::any_of(step.nodes.begin(), step.nodes.end(),
                        [&](const ComputationNodePtr& node)
                        {
                            return node->IsTrainableLeaf() ||
                                   (node->ReadsInputs() &&
                                    std::any_of(node->Inputs().begin(), node->Inputs().end(),
                                                [&](const auto& input) { return above.contains(input.get()); }));
                        });
        if (any)
            for (const ComputationNodePtr& node : step.nodes)
                above.insert(node.get());
    }
    return above;
}

// Selects those nodes between a parameter and the criterion, which get a gradient.
std::vector<const ComputationNode*> NodesWithGradient(const std::vector<PlanStep>& steps,
                                                      const ComputationNodePtr& criterion)
{
    if (criterion->HasMBLayout() || criterion->SampleElements() != 1)
        Fail(ErrorKind::Model, "the training criterion '", criterion->Name(), "' (", criterion->TypeName(),
             ") is not a single number: its shape is [", criterion->SampleLayout().ToString(),
             criterion->HasMBLayout() ? " x *]" : "]");

    const std::unordered_set<const ComputationNode*> above = NodesAboveParameters(steps);
    std::vector<const ComputationNode*> withGradient;
    if (!above.contains(criterion.get()))
        return withGradient;
    std::unordered_set<const ComputationNode*> seen{criterion.get()};
    std::vector<ComputationNodePtr> open{criterion};
    while (!open.empty())
    {
        const ComputationNodePtr node = open.back();
        open.pop_back();
        withGradient.push_back(node.get());
        if (!node->Type().traits.differentiable && node->InputCount() > 0)
            Fail(ErrorKind::Model, "cannot train the criterion '", criterion->Name(), "': node '", node->Name(), "' (",
                 node->TypeName(), ") has no gradient, and the parameter '", TrainedParameterBelow(node)->Name(),
                 "' below it is trained; use another node type, or exclude the parameters below it from training");
        for (const ComputationNodePtr& input : node->Inputs())
            if (above.contains(input.get()) && seen.insert(input.get()).second)
                open.push_back(input);
    }
    std::sort(withGradient.begin(), withGradient.end(), std::less<>());
    return withGradient;
}

} // namespace

EvaluationPlan EvaluationPlan::Build(const std::vector<ComputationNodePtr>& roots, const Options& options)
{
    EvaluationPlan plan;
    plan.m_roots = roots;
    for (std::vector<ComputationNodePtr>& component : ComponentsBelow(roots))
    {
        if (IsLoop(component))
            plan.m_steps.push_back(MakeLoop(component));
        else
            plan.m_steps.push_back({PlanStep::Kind::Node, std::move(component), ElementwiseOp::Copy, +1});
    }
    if (options.training && !roots.empty())
    {
        plan.m_backwardRoot = options.backwardRoot ? options.backwardRoot : roots.back();
        if (std::find(roots.begin(), roots.end(), plan.m_backwardRoot) == roots.end())
            Fail(ErrorKind::Internal, "the backward root '", plan.m_backwardRoot->Name(), "' is not one of the roots");
        plan.m_needsGradient = NodesWithGradient(plan.m_steps, plan.m_backwardRoot);
    }
    if (options.fuse)
    {
        plan.FuseAffineChains(options.keepValues);
        plan.FuseLookups(options.keepValues);
    }
    return plan;
}

EvaluationPlan EvaluationPlan::FromSteps(std::vector<PlanStep> steps, std::vector<ComputationNodePtr> roots,
                                         ComputationNodePtr backwardRoot)
{
    EvaluationPlan plan;
    plan.m_steps = std::move(steps);
    plan.m_roots = std::move(roots);
    plan.m_backwardRoot = std::move(backwardRoot);
    if (plan.m_backwardRoot)
        plan.m_needsGradient = NodesWithGradient(plan.m_steps, plan.m_backwardRoot);
    return plan;
}

bool EvaluationPlan::NeedsGradient(const ComputationNode* node) const
{
    return std::binary_search(m_needsGradient.begin(), m_needsGradient.end(), node, std::less<>());
}

std::vector<ComputationNodePtr> EvaluationPlan::NodesInOrder() const
{
    std::vector<ComputationNodePtr> nodes;
    for (const PlanStep& step : m_steps)
        nodes.insert(nodes.end(), step.nodes.begin(), step.nodes.end());
    return nodes;
}

std::string EvaluationPlan::ToString() const
{
    std::string text;
    for (const PlanStep& step : m_steps)
    {
        std::vector<std::string> names;
        for (const ComputationNodePtr& node : step.nodes)
            names.push_back(node->Name());
        if (step.kind == PlanStep::Kind::Loop)
            text += step.direction > 0 ? "loop forward: " : "loop backward: ";
        else if (step.kind == PlanStep::Kind::FusedAffine)
            text += "fused: ";
        else if (step.kind == PlanStep::Kind::Lookup)
            text += "lookup: ";
        text += Join(names, ", ") + "\n";
    }
    return text;
}

} // namespace cntk
