// Orders the nodes: depth-first, recurrent loops (Tarjan's strongly connected components) as blocks, then prunes
// gradients (spec engine-and-sgd.md 1). Nothing here recurses: networks may be thousands of nodes deep.
#include "ComputationNetwork/EvaluationPlan.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace cntk
{

namespace
{

std::string ListNames(const std::vector<const ComputationNode*>& nodes)
{
    constexpr size_t c_most = 20;
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(nodes.size(), c_most); i++)
        names.push_back(nodes[i]->Name() + " (" + nodes[i]->TypeName() + ")");
    std::string text = Join(names, ", ");
    if (nodes.size() > c_most)
        text += Concat(" and ", nodes.size() - c_most, " more");
    return text;
}

std::vector<const ComputationNode*> Pointers(const std::vector<ComputationNodePtr>& nodes)
{
    std::vector<const ComputationNode*> pointers;
    for (const ComputationNodePtr& node : nodes)
        pointers.push_back(node.get());
    return pointers;
}

// One depth-first walk yields the order of evaluation and the loops.
class LoopFinder
{
public:
    explicit LoopFinder(const std::vector<ComputationNodePtr>& roots)
    {
        for (const ComputationNodePtr& root : roots)
            if (!m_marks.contains(root.get()))
                Walk(root);
    }

    // Strongly connected components, inputs before consumers; the nodes of each in depth-first order.
    std::vector<std::vector<ComputationNodePtr>> TakeComponents() { return std::move(m_components); }

private:
    struct Mark
    {
        size_t index;    // in order of discovery
        size_t lowest;   // lowest index reachable within the component, as far as known
        size_t finished; // in order of completion
        bool isOpen;     // its component is not complete
    };
    struct Visit
    {
        ComputationNodePtr node;
        Mark* mark;
        size_t nextInput;
    };

    void Enter(const ComputationNodePtr& node)
    {
        const size_t index = m_marks.size();
        Mark& mark = m_marks.emplace(node.get(), Mark{index, index, 0, true}).first->second;
        m_open.push_back(node);
        m_stack.push_back({node, &mark, 0});
    }

    void Walk(const ComputationNodePtr& root)
    {
        Enter(root);
        while (!m_stack.empty())
        {
            Visit& top = m_stack.back();
            if (top.node->ReadsInputs() && top.nextInput < top.node->InputCount())
            {
                const ComputationNodePtr& input = top.node->Input(top.nextInput++);
                const auto known = m_marks.find(input.get());
                if (known == m_marks.end())
                    Enter(input);
                else if (known->second.isOpen)
                    top.mark->lowest = std::min(top.mark->lowest, known->second.index);
                continue;
            }
            const Visit done = std::move(top);
            m_stack.pop_back();
            done.mark->finished = m_finished++;
            if (done.mark->lowest == done.mark->index)
                CloseComponent(done.node);
            if (!m_stack.empty())
                m_stack.back().mark->lowest = std::min(m_stack.back().mark->lowest, done.mark->lowest);
        }
    }

    void CloseComponent(const ComputationNodePtr& first)
    {
        std::vector<ComputationNodePtr> component;
        do
        {
            component.push_back(std::move(m_open.back()));
            m_open.pop_back();
            m_marks.at(component.back().get()).isOpen = false;
        } while (component.back() != first);
        std::sort(component.begin(), component.end(),
                  [this](const auto& a, const auto& b)
                  { return m_marks.at(a.get()).finished < m_marks.at(b.get()).finished; });
        m_components.push_back(std::move(component));
    }

    std::unordered_map<const ComputationNode*, Mark> m_marks; // addresses of values stay valid
    std::vector<Visit> m_stack;
    std::vector<ComputationNodePtr> m_open;
    size_t m_finished = 0;
    std::vector<std::vector<ComputationNodePtr>> m_components;
};

bool IsLoop(const std::vector<ComputationNodePtr>& component)
{
    const auto& inputs = component.front()->Inputs();
    return component.size() > 1 || std::find(inputs.begin(), inputs.end(), component.front()) != inputs.end();
}

// The order of one time step: a second walk that does not pass through delay nodes, from the nodes whose only consumers
// inside the loop are delay nodes.
std::vector<ComputationNodePtr> OrderOfOneStep(const std::vector<ComputationNodePtr>& loop)
{
    std::unordered_set<const ComputationNode*> members, consumed;
    for (const ComputationNodePtr& node : loop)
        members.insert(node.get());
    for (const ComputationNodePtr& node : loop)
        if (!node->Type().traits.isDelay)
            for (const ComputationNodePtr& input : node->Inputs())
                consumed.insert(input.get());
    std::vector<ComputationNodePtr> starts;
    for (const ComputationNodePtr& node : loop)
        if (!consumed.contains(node.get()))
            starts.push_back(node);
    starts.insert(starts.end(), loop.begin(), loop.end()); // where there is a cycle without delay, it has no start

    std::vector<ComputationNodePtr> order;
    std::unordered_map<const ComputationNode*, bool> isFinished;
    std::vector<std::pair<ComputationNodePtr, size_t>> stack;
    for (const ComputationNodePtr& start : starts)
    {
        if (isFinished.emplace(start.get(), false).second)
            stack.emplace_back(start, 0);
        while (!stack.empty())
        {
            auto& [node, nextInput] = stack.back();
            if (!node->Type().traits.isDelay && nextInput < node->InputCount())
            {
                const ComputationNodePtr& input = node->Input(nextInput++);
                if (!members.contains(input.get()))
                    continue;
                const auto [found, isNew] = isFinished.emplace(input.get(), false);
                if (isNew)
                    stack.emplace_back(input, 0);
                else if (!found->second)
                {
                    std::vector<const ComputationNode*> cycle;
                    for (size_t i = stack.size(); i-- > 0;)
                    {
                        cycle.push_back(stack[i].first.get());
                        if (stack[i].first == input)
                            break;
                    }
                    std::reverse(cycle.begin(), cycle.end());
                    Fail(ErrorKind::Model, "the nodes ", ListNames(cycle),
                         " form a loop without a delay; a recurrent loop needs a PastValue or FutureValue node");
                }
                continue;
            }
            isFinished[node.get()] = true;
            order.push_back(std::move(node));
            stack.pop_back();
        }
    }
    return order;
}

PlanStep MakeLoop(const std::vector<ComputationNodePtr>& component)
{
    PlanStep step;
    step.kind = PlanStep::Kind::Loop;
    step.nodes = OrderOfOneStep(component);

    const ComputationNode* delay = nullptr;
    for (const ComputationNodePtr& node : step.nodes)
    {
        const NodeTraits& traits = node->Type().traits;
        if (traits.isDelay)
        {
            if (delay == nullptr)
                delay = node.get();
            else if (delay->Type().traits.delayDirection != traits.delayDirection)
                Fail(ErrorKind::Model, "the delay nodes '", delay->Name(), "' (", delay->TypeName(), ") and '",
                     node->Name(), "' (", node->TypeName(),
                     ") of one recurrent loop point in opposite directions; the nodes of the loop are ",
                     ListNames(Pointers(step.nodes)));
        }
        if (traits.needsWholeMinibatch)
            Fail(ErrorKind::Model, "node '", node->Name(), "' (", node->TypeName(),
                 ") needs the whole minibatch at once and cannot be part of a recurrent loop; the nodes of the loop "
                 "are ",
                 ListNames(Pointers(step.nodes)));
        if (!node->HasMBLayout() || node->GetMBLayout() != step.nodes.front()->GetMBLayout())
            Fail(ErrorKind::Model, "node '", node->Name(), "' (", node->TypeName(),
                 ") is part of a recurrent loop, but ",
                 node->HasMBLayout() ? "has another minibatch layout than the loop's other nodes"
                                     : "depends on no minibatch data",
                 "; the nodes of the loop are ", ListNames(Pointers(step.nodes)));
    }
    step.direction = delay->Type().traits.delayDirection;
    return step;
}

// Any trained parameter at or below the node; for the message of a network that cannot be trained.
const ComputationNode* TrainedParameterBelow(const ComputationNodePtr& node)
{
    for (const ComputationNodePtr& below : ComputationNetwork::Below({node}))
        if (below->IsTrainableLeaf())
            return below.get();
    return nullptr;
}

// Nodes at or above a trained parameter.
std::unordered_set<const ComputationNode*> NodesAboveParameters(const std::vector<PlanStep>& steps)
{
    std::unordered_set<const ComputationNode*> above;
    for (const PlanStep& step : steps)
    {
        // In a loop everybody is above everybody else.
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

// Of those, the ones between a parameter and the criterion: they get a gradient.
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
    for (std::vector<ComputationNodePtr>& component : LoopFinder(roots).TakeComponents())
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
        plan.FuseAffineChains(options.keepValues);
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
        text += Join(names, ", ") + "\n";
    }
    return text;
}

} // namespace cntk
