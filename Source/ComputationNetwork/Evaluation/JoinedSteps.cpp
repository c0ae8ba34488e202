#include "ComputationNetwork/Evaluation/JoinedSteps.h"

#include <algorithm>

namespace cntk
{

JoinedSteps::JoinedSteps(const EvaluationPlan& plan, const EvaluationProgram& program,
                         const Settings& settings)
    : m_plan(plan), m_loops(plan.Steps().size()), m_lookups(plan.Steps().size())
{
    const std::vector<PlanStep>& steps = plan.Steps();
    for (size_t i = 0; i < steps.size(); i++)
        if (steps[i].kind == PlanStep::Kind::Lookup)
            m_lookups[i] = std::make_unique<LookupProducts>(steps[i], plan);
    if (!settings.joinLoops)
        return;
    for (const ComputationNodePtr& root : plan.Roots())
        m_wanted.insert(root.get());
    for (const ComputationNodePtr& node : settings.keepValues)
        m_wanted.insert(node.get());
    for (size_t i = 0; i < steps.size(); i++)
    {
        if (steps[i].kind != PlanStep::Kind::Loop)
            continue;
        m_loops[i] = std::make_unique<LoopProducts>(steps[i], plan, m_wanted, m_panels);
        if (program.backwardSteps.empty())
            continue;
        const EvaluationProgram::BackwardStep& backward = program.backwardSteps[steps.size() - 1 - i];
        m_loops[i]->SetBackward(backward.calls.Of(program.calls), backward.zeroed.Of(program.loopGradients),
                                backward.callsAfter.Of(program.calls));
    }
}

BoundMemory::Elsewhere JoinedSteps::BoundElsewhere() const
{
    BoundMemory::Elsewhere bound;
    for (const auto& loop : m_loops)
        if (loop)
            loop->AppendBound(bound);
    return bound;
}

void JoinedSteps::Bind()
{
    for (const auto& loop : m_loops)
        if (loop)
            loop->Bind();
    for (const auto& lookup : m_lookups)
        if (lookup)
            lookup->Bind();
}

void JoinedSteps::BindLoopsOf(const std::vector<const MBLayout*>& layouts)
{
    for (size_t i = 0; i < m_loops.size(); i++)
        if (m_loops[i] && std::find(layouts.begin(), layouts.end(),
                                    m_plan.Steps()[i].nodes.front()->GetMBLayout().get()) != layouts.end())
            m_loops[i]->Bind();
}

void JoinedSteps::Unbind()
{
    for (const auto& loop : m_loops)
        if (loop)
            loop->Unbind();
}

size_t JoinedSteps::Bytes() const
{
    size_t bytes = m_panels.Bytes();
    for (const auto& loop : m_loops)
        if (loop)
            bytes += loop->Bytes();
    for (const auto& lookup : m_lookups)
        if (lookup)
            bytes += lookup->Bytes();
    return bytes;
}

} // namespace cntk
