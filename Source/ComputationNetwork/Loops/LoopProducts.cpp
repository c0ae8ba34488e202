// Plans the actions of a loop's time step, and runs the time steps.
#include "ComputationNetwork/Loops/LoopProducts.h"

#include "ComputationNetwork/Nodes/ElementwiseNodes.h"
#include "Math/Operations.h"

#include <algorithm>
#include <utility>

namespace cntk
{

namespace
{

// Number of sequences that make a thread of their own worthwhile. A product of fewer columns uses too few registers,
// and each thread reads all of the weights.
constexpr size_t c_sequencesApart = 12;

} // namespace

// ---- planning ----

LoopProducts::LoopProducts(const PlanStep& loop, const EvaluationPlan& plan, const NodeSet& wanted, Buffer& panels)
    : m_plan(plan), m_wanted(wanted), m_panels(panels), m_merges(plan, m_members, m_consumers, wanted),
      m_memory(plan, m_members, m_consumers, wanted), m_layout(loop.nodes.front()->GetMBLayout().get()),
      m_device(loop.nodes.front()->GetDevice())
{
    for (const ComputationNodePtr& node : loop.nodes)
        m_members.insert(node.get());
    for (const PlanStep& step : plan.Steps())
        for (const ComputationNodePtr& node : step.nodes)
            for (const ComputationNodePtr& input : node->Inputs())
                if (m_members.contains(input.get()))
                    m_consumers[input.get()].push_back(node.get());
    m_merges.Find(loop);
    m_memory.FindValuesOfStep(loop.nodes);
    for (const auto& group : m_merges.Groups())
        group->isOfStep = m_memory.AddMergedValues(group->products);
    PlanForward(loop);
}

void LoopProducts::PlanForward(const PlanStep& loop)
{
    LoopChain* chain = nullptr; // the chain that the next pass can join
    for (const ComputationNodePtr& node : loop.nodes)
    {
        Group* group = m_merges.GroupOf(node.get());
        const bool isMerged =
            m_merges.IsLaterTwin(node.get()) || (group != nullptr && group->products.front() != node.get());
        if (isMerged)
            continue;
        const std::optional<ElementwisePass> pass = ForwardPassOf(*node);
        if (!pass)
        {
            const Action action{.node = node.get(), .delay = DelayOf(node.get()), .group = group};
            m_canForwardApart = m_canForwardApart && (group != nullptr || action.delay != nullptr);
            // An action that reads nothing of the chain is inserted before it, so that the chain can continue. Delays
            // read other time steps.
            const bool isBefore = chain != nullptr && (action.delay != nullptr || !ReadsFrom(action, *chain));
            m_forward.insert(isBefore ? m_forward.end() - 1 : m_forward.end(), action);
            if (!isBefore)
                chain = nullptr;
        }
        else if (chain == nullptr || !chain->Add(*pass, true, m_memory))
        {
            chain = m_forwardChains.emplace_back(std::make_unique<LoopChain>()).get();
            chain->Add(*pass, true, m_memory);
            m_forward.push_back({.chain = chain});
        }
    }
}

bool LoopProducts::ReadsFrom(const Action& action, const LoopChain& chain) const
{
    if (action.group != nullptr)
        return chain.Computes(action.group->operand);
    const std::vector<ComputationNodePtr>& inputs = action.node->Inputs();
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const ComputationNodePtr& input) { return chain.Computes(input.get()); });
}

// ---- memory ----

void LoopProducts::Bind()
{
    m_merges.Bind(*m_layout, m_panels);
    m_memory.Bind(m_layout->ParallelSequences());
    m_gradients.Bind();
}

void LoopProducts::Unbind()
{
    m_memory.Unbind();
    m_gradients.Unbind();
    m_merges.Unbind();
}

void LoopProducts::AppendBound(BoundMemory::Elsewhere& bound) const
{
    m_merges.AppendBound(bound);
    m_memory.AppendBound(bound);
    m_gradients.AppendBound(bound);
}

// ---- time steps ----

// Returns the number of blocks of sequences into which threads divide the loop. Each block runs through all time steps
// without waiting for the others.
size_t LoopProducts::BlocksApart() const
{
    const size_t threads = Ops::ThreadsApart(m_device);
    return m_layout->ParallelSequences() >= threads * c_sequencesApart ? threads : 1;
}

template <class Run>
void LoopProducts::ForEachPart(int direction, bool canBeApart, Run&& run) const
{
    const size_t steps = m_layout->TimeSteps(), sequences = m_layout->ParallelSequences();
    const size_t blocks = canBeApart ? BlocksApart() : 1;
    const auto runBlock = [&](size_t block)
    {
        const size_t first = sequences * block / blocks;
        for (size_t i = 0; i < steps; i++)
        {
            const size_t time = direction > 0 ? i : steps - 1 - i;
            run(Part{time, first, sequences * (block + 1) / blocks - first, time * sequences + first});
        }
    };
    Ops::RunApart(m_device, blocks, runBlock);
}

// ---- forward ----

void LoopProducts::BeginForward(int direction)
{
    const size_t first = direction > 0 ? 0 : m_layout->TimeSteps() - 1;
    const bool isApart = m_canForwardApart && BlocksApart() > 1;
    for (const auto& group : m_merges.Groups())
    {
        size_t row = 0;
        for (size_t i = 0; i < group->products.size(); i++)
        {
            const MatrixView weights = group->products[i]->Input(0)->Value();
            if (group->stackedView.data == nullptr)
                group->parts[i] = weights;
            else
                Ops::Copy(weights, group->stackedView.Rows(row, weights.rows));
            row += weights.rows;
        }
        // If the first product has a single column, it is computed while its weights are packed.
        group->isPacked = isApart || m_layout->TimeSteps() == 0 || !IsRepeated(*group, first);
        if (group->isPacked)
            group->weights.Pack(group->parts, Ops::Transpose::No);
    }
    LoopChain::Bind(m_forwardChains);
}

void LoopProducts::RunForward(const Part& part) const
{
    for (const Action& action : m_forward)
    {
        if (action.chain != nullptr)
            action.chain->Run(part.firstColumn, part.sequences, part.firstSequence);
        else if (action.group != nullptr)
            MultiplyGroup(*action.group, part);
        else if (action.delay != nullptr)
            action.delay->ForwardSequences(part.time, part.firstSequence, part.sequences);
        else
            action.node->ForwardProp(FrameRange::Step(part.time));
    }
}

// Returns true if all sequences begin at this step: all columns of a product are then equal.
bool LoopProducts::IsRepeated(const Group& group, size_t time) const
{
    return group.delay != nullptr && m_device.IsHostMemory() && group.delay->SourceOfStep(time) == DelayNode::c_initial;
}

void LoopProducts::MultiplyGroup(Group& group, const Part& part) const
{
    const MatrixView operand = group.operand->Value().Columns(part.firstColumn, part.sequences);
    const MatrixView value =
        group.valueView.Columns(group.isOfStep ? part.firstSequence : part.firstColumn, part.sequences);
    if (!IsRepeated(group, part.time))
        return group.weights.Multiply(operand, value);
    if (std::exchange(group.isPacked, true))
        group.weights.Multiply(operand.Columns(0, 1), value.Columns(0, 1));
    else
        group.weights.PackAndMultiply(group.parts, operand.Columns(0, 1), value.Columns(0, 1));
    if (part.sequences > 1)
        Ops::Elementwise(ElementwiseOp::Copy, value.Columns(0, 1), value.Columns(1, part.sequences - 1));
}

void LoopProducts::Forward(int direction)
{
    BeginForward(direction);
    ForEachPart(direction, m_canForwardApart, [this](const Part& part) { RunForward(part); });
}

// ---- backward ----

void LoopProducts::SetBackward(std::span<const EvaluationProgram::BackwardCall> calls,
                               std::span<ComputationNode* const> zeroed,
                               std::span<EvaluationProgram::BackwardCall> callsAfter, const MemoryPlan& memory)
{
    for (const EvaluationProgram::BackwardCall& call : calls)
        m_memory.PassOn(call, m_merges.Products());
    for (const EvaluationProgram::BackwardCall& call : calls)
    {
        if (m_merges.IsLaterTwin(call.node) || m_memory.IsPassedOn(call))
            continue;
        Group* group = m_merges.GroupOf(call.node);
        if (group == nullptr || call.inputIndex != 1)
            m_backward.push_back({.node = call.node, .input = call.inputIndex});
        else if (group->products.front() == call.node) // the last one in this direction
            m_backward.push_back({.node = call.node, .input = call.inputIndex, .group = group});
    }
    FindFirstContributions(zeroed);
    for (ComputationNode* node : zeroed)
        if (!m_merges.IsLaterTwin(node) && m_merges.GroupOf(node) == nullptr && !m_firstContributions.contains(node) &&
            !m_memory.IsShared(node))
            m_zeroed.push_back(node);
    for (const auto& group : m_merges.Groups())
        group->isZeroed = !std::all_of(group->products.begin(), group->products.end(),
                                       [&](const ComputationNode* product) {
                                           return m_firstContributions.contains(product) || m_memory.IsShared(product);
                                       });
    NodeSet replaced;
    for (const auto& [node, call] : m_firstContributions)
        replaced.insert(node);
    m_memory.FindGradientsOfStep(replaced, m_merges.Products(), callsAfter);
    m_gradients.Find(callsAfter, m_plan, memory, m_memory, m_merges.Products(), m_wanted);
    ChainBackward();
}

// Finds gradients that only this time step adds to. They need no zeros if the first contribution can overwrite them.
void LoopProducts::FindFirstContributions(std::span<ComputationNode* const> zeroed)
{
    NodeSet open; // without a contribution so far
    for (const ComputationNode* node : zeroed)
        if (!m_merges.IsLaterTwin(node) && !m_memory.IsShared(node))
            open.insert(node);
    for (const BackwardAction& action : m_backward) // a delay adds to another time step
        if (As<DelayNode>(action.node) != nullptr)
            open.erase(m_merges.FirstTwin(action.node->Input(action.input).get()));
    for (const BackwardAction& action : m_backward)
    {
        const ComputationNode* input = m_merges.FirstTwin(action.node->Input(action.input).get());
        if (open.erase(input) > 0 && (action.group != nullptr || BackwardPassOf(*action.node, action.input)))
            m_firstContributions[input] = {action.node, action.input};
    }
}

bool LoopProducts::IsFirst(const BackwardAction& action) const
{
    const auto found = m_firstContributions.find(m_merges.FirstTwin(action.node->Input(action.input).get()));
    return found != m_firstContributions.end() &&
           found->second == std::pair<const ComputationNode*, size_t>(action.node, action.input);
}

// Turns consecutive calls that are element-wise passes into one action.
void LoopProducts::ChainBackward()
{
    std::vector<BackwardAction> actions;
    LoopChain* chain = nullptr;
    for (BackwardAction& action : m_backward)
    {
        const std::optional<ElementwisePass> pass =
            action.group != nullptr ? std::nullopt : BackwardPassOf(*action.node, action.input);
        if (!pass)
        {
            chain = nullptr;
            action.overwrites = IsFirst(action);
            action.delay = DelayOf(action.group != nullptr ? action.group->operand : action.node);
            m_canBackwardApart = m_canBackwardApart && (action.group != nullptr || action.delay != nullptr);
            actions.push_back(action);
        }
        else if (chain == nullptr || !chain->Add(*pass, IsFirst(action), m_memory))
        {
            chain = m_backwardChains.emplace_back(std::make_unique<LoopChain>()).get();
            chain->Add(*pass, IsFirst(action), m_memory);
            actions.push_back({.chain = chain});
        }
    }
    m_backward = std::move(actions);
}

void LoopProducts::BeginBackward()
{
    for (ComputationNode* node : m_zeroed)
        Ops::Fill(node->Gradient(), 0);
    for (const auto& group : m_merges.Groups())
    {
        if (group->gradientView.data == nullptr)
            continue;
        if (group->isZeroed)
            Ops::Fill(group->gradientView, 0);
        group->transposedWeights.Pack(group->parts, Ops::Transpose::Yes);
    }
    LoopChain::Bind(m_backwardChains);
}

// Returns true if the gradient of the operand at this time is read. Gradients that a delay does not pass on are not.
bool LoopProducts::IsGradientRead(const BackwardAction& action, size_t time)
{
    return action.delay == nullptr || action.delay->PassesGradient(time);
}

void LoopProducts::RunBackward(const Part& part) const
{
    for (const BackwardAction& action : m_backward)
    {
        if (action.chain != nullptr)
            action.chain->Run(part.firstColumn, part.sequences, part.firstSequence);
        else if (action.group != nullptr && !IsGradientRead(action, part.time))
            continue;
        else if (action.group != nullptr)
            action.group->transposedWeights.Multiply(
                action.group->gradientView.Columns(part.firstColumn, part.sequences),
                action.group->operand->Gradient().Columns(part.firstColumn, part.sequences), 1,
                action.overwrites ? 0 : 1);
        else if (action.delay != nullptr)
            action.delay->BackpropSequences(part.time, part.firstSequence, part.sequences);
        else
            action.node->BackpropTo(action.input, FrameRange::Step(part.time));
    }
}

void LoopProducts::Backward(int direction)
{
    BeginBackward();
    ForEachPart(direction, m_canBackwardApart, [this](const Part& part) { RunBackward(part); });
}

void LoopProducts::SumBeginnings(std::span<Product> products)
{
    for (const auto& group : m_merges.Groups())
        if (group->delay != nullptr && group->gradientView.data != nullptr && m_device.IsHostMemory())
            group->beginnings.Sum(*group->delay, group->gradientView, products);
}

void LoopProducts::RestoreGradients()
{
    for (const auto& group : m_merges.Groups())
        group->beginnings.Restore();
}

} // namespace cntk
