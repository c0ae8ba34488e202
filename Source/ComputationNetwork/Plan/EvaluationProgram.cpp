// Flattens a plan into the calls of the forward pass and the ordered calls of the backward pass.
#include "ComputationNetwork/Plan/EvaluationProgram.h"

#include "Math/Products.h"

#include <algorithm>
#include <unordered_map>

namespace cntk
{

EvaluationProgram::EvaluationProgram(const EvaluationPlan& plan, const MemoryPlan& memory, bool frameByFrame)
    : m_plan(plan), m_memory(memory), m_frameByFrame(frameByFrame)
{
    PlanForward();
    if (plan.BackwardRoot())
        PlanBackward();
}

// Returns true if a node runs frame by frame (for tests). Nodes whose inputs have other time steps cannot.
bool EvaluationProgram::StepsInTime(const ComputationNode& node) const
{
    return m_frameByFrame && node.HasMBLayout() && !node.Type().traits.isLeaf &&
           !node.Type().traits.needsWholeMinibatch &&
           std::all_of(node.Inputs().begin(), node.Inputs().end(),
                       [&](const ComputationNodePtr& input)
                       { return !input->HasMBLayout() || input->GetMBLayout() == node.GetMBLayout(); });
}

void EvaluationProgram::PlanForward()
{
    for (const PlanStep& step : m_plan.Steps())
    {
        const size_t begin = forwardNodes.size();
        for (const ComputationNodePtr& node : step.nodes)
            forwardNodes.push_back(node.get());
        forwardSteps.push_back({step.kind,
                                step.activation,
                                step.direction,
                                step.kind == PlanStep::Kind::Node && StepsInTime(*step.nodes.front()),
                                {begin, forwardNodes.size()}});
    }
}

void EvaluationProgram::PlanBackward()
{
    m_started.insert(m_plan.BackwardRoot().get());
    const std::vector<PlanStep>& steps = m_plan.Steps();
    for (size_t i = steps.size(); i-- > 0;)
    {
        const PlanStep& step = steps[i];
        BackwardStep backward{step.kind, -step.direction, false, step.nodes.front().get(), {}, {}, {}};
        if (step.kind == PlanStep::Kind::Loop)
            PlanLoopBackward(step, backward);
        else
        {
            backward.stepByStep = step.kind == PlanStep::Kind::Node && StepsInTime(*step.nodes.front());
            backward.calls.begin = calls.size();
            for (size_t k = step.nodes.size(); k-- > 0;)
                AddCalls(*step.nodes[k], step, Inputs::All);
            backward.calls.end = calls.size();
        }
        backwardSteps.push_back(backward); // even without calls: the index is the plan's time
    }
    m_started.clear();
    MarkUpdates();
}

void EvaluationProgram::PlanLoopBackward(const PlanStep& step, BackwardStep& backward)
{
    backward.zeroed.begin = loopGradients.size();
    for (const ComputationNodePtr& node : step.nodes)
        if (m_plan.NeedsGradient(node.get()) && m_started.insert(node.get()).second)
            loopGradients.push_back(node.get());
    backward.zeroed.end = loopGradients.size();

    backward.calls.begin = calls.size();
    for (size_t k = step.nodes.size(); k-- > 0;)
        AddCalls(*step.nodes[k], step, Inputs::OfTheStep);
    backward.calls.end = backward.callsAfter.begin = calls.size();
    for (size_t k = step.nodes.size(); k-- > 0;)
        AddCalls(*step.nodes[k], step, Inputs::OfOthers);
    backward.callsAfter.end = calls.size();
}

void EvaluationProgram::AddCalls(ComputationNode& node, const PlanStep& step, Inputs inputs)
{
    if (!m_plan.NeedsGradient(&node))
        return;
    for (size_t i = 0; i < node.InputCount(); i++)
    {
        ComputationNode& input = *node.Input(i);
        if (!m_plan.NeedsGradient(&input))
            continue;
        if (step.IsGradientFusedAway(0) && &input == step.nodes.front().get())
            continue;
        const bool isOfStep = std::find(step.nodes.begin(), step.nodes.end(), node.Input(i)) != step.nodes.end();
        if (inputs != Inputs::All && isOfStep != (inputs == Inputs::OfTheStep))
            continue;
        const bool isAlias = m_memory.IsGradientAlias(&input);
        const bool isFirst = m_started.insert(&input).second;
        calls.push_back({.node = &node,
                         .input = &input,
                         .inputIndex = i,
                         .isFirst = isFirst,
                         .mayOverwrite = node.Type().traits.backpropOverwrites && !StepsInTime(node),
                         .isParameter = input.IsTrainableLeaf(),
                         .mayUpdate = false,
                         .isPassedOn = isAlias && node.Type().traits.gradientPassesThrough});
    }
}

// Marks calls that contribute a parameter's whole gradient, except those made time step by time step.
void EvaluationProgram::MarkUpdates()
{
    std::unordered_map<const ComputationNode*, size_t> contributions;
    for (const BackwardCall& call : calls)
        contributions[call.input] += StepsInTime(*call.node) ? 2 : 1;
    for (BackwardCall& call : calls)
    {
        MatrixView gradient;
        gradient.rows = gradient.stride = call.input->ValueRows();
        gradient.columns = call.input->ValueColumns();
        gradient.type = call.input->GetDataType();
        gradient.device = &call.input->GetDevice();
        call.mayUpdate = call.isParameter && contributions.at(call.input) == 1 &&
                         (call.node->Type().traits.replacesTouchedColumns || Ops::CanUpdateBehind(gradient, SIZE_MAX));
    }
}

} // namespace cntk
