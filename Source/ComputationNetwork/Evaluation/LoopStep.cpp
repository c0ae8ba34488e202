// Plans the actions of a loop's time step, fuses element-wise nodes into chains, and runs the time steps.
#include "ComputationNetwork/Evaluation/LoopStep.h"

#include "Math/Operations.h"

#include <algorithm>
#include <unordered_map>
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

LoopStep::LoopStep(const PlanStep& loop, StepCalls calls, const EvaluationPlan& plan, const NodeSet& wanted,
                   Buffer& panels)
    : Step(loop, std::move(calls)), m_panels(panels), m_merges(plan, m_members, m_consumers, wanted),
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
    PlanForward();
    PlanBackward();
}

void LoopStep::PlanForward()
{
    LoopChain* chain = nullptr; // the chain that the next pass can join
    for (const ComputationNodePtr& node : m_plan.nodes)
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

bool LoopStep::ReadsFrom(const Action& action, const LoopChain& chain) const
{
    if (action.group != nullptr)
        return chain.Computes(action.group->operand);
    const std::vector<ComputationNodePtr>& inputs = action.node->Inputs();
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const ComputationNodePtr& input) { return chain.Computes(input.get()); });
}

// ---- memory ----

void LoopStep::Bind()
{
    m_merges.Bind(*m_layout, m_panels);
    m_memory.Bind(m_layout->ParallelSequences());
}

void LoopStep::AppendBound(BoundMemory::Elsewhere& bound) const
{
    m_merges.AppendBound(bound);
    m_memory.AppendBound(bound);
}

// ---- time steps ----

// Returns the number of blocks of sequences into which threads divide the loop. Each block runs through all time steps
// without waiting for the others.
size_t LoopStep::BlocksApart() const
{
    const size_t threads = Ops::ThreadsApart(m_device);
    return m_layout->ParallelSequences() >= threads * c_sequencesApart ? threads : 1;
}

template <class Run>
void LoopStep::ForEachPart(int direction, bool canBeApart, Run&& run) const
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

void LoopStep::BeginForward()
{
    const size_t first = m_plan.direction > 0 ? 0 : m_layout->TimeSteps() - 1;
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
        // The weights of products with a single column are read in place.
        group->isInPlace =
            m_device.IsHostMemory() && m_layout->ParallelSequences() == 1 && group->stackedView.data == nullptr;
        // If the first product has a single column, it is computed while its weights are packed.
        group->isPacked = group->isInPlace || isApart || m_layout->TimeSteps() == 0 || !IsRepeated(*group, first);
        if (group->isPacked && !group->isInPlace)
            group->weights.Pack(group->parts, Ops::Transpose::No);
    }
    LoopChain::Bind(m_forwardChains);
}

void LoopStep::RunForward(const Part& part) const
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
bool LoopStep::IsRepeated(const Group& group, size_t time) const
{
    return group.delay != nullptr && m_device.IsHostMemory() && group.delay->SourceOfStep(time) == DelayNode::c_initial;
}

void LoopStep::MultiplyGroup(Group& group, const Part& part) const
{
    const MatrixView operand = group.operand->Value().Columns(part.firstColumn, part.sequences);
    const MatrixView value =
        group.valueView.Columns(group.isOfStep ? part.firstSequence : part.firstColumn, part.sequences);
    if (group.isInPlace)
    {
        size_t row = 0;
        for (const MatrixView& weights : group.parts)
        {
            Ops::Multiply(weights, Ops::Transpose::No, operand, Ops::Transpose::No, value.Rows(row, weights.rows));
            row += weights.rows;
        }
        return;
    }
    if (!IsRepeated(group, part.time))
        return group.weights.Multiply(operand, value);
    if (group.isPacked) // always, if several threads share the group
        group.weights.Multiply(operand.Columns(0, 1), value.Columns(0, 1));
    else
    {
        group.weights.PackAndMultiply(group.parts, operand.Columns(0, 1), value.Columns(0, 1));
        group.isPacked = true;
    }
    if (part.sequences > 1)
        Ops::Elementwise(ElementwiseOp::Copy, value.Columns(0, 1), value.Columns(1, part.sequences - 1));
}

void LoopStep::Forward()
{
    BeginForward();
    ForEachPart(m_plan.direction, m_canForwardApart, [this](const Part& part) { RunForward(part); });
}

// ---- backward ----

void LoopStep::PlanBackward()
{
    for (const BackwardCall& call : m_calls.calls)
        m_memory.PassOn(call, m_merges.Products());
    for (const BackwardCall& call : m_calls.calls)
    {
        if (m_merges.IsLaterTwin(call.node) || m_memory.IsPassedOn(call))
            continue;
        Group* group = m_merges.GroupOf(call.node);
        if (group == nullptr || call.inputIndex != 1)
            m_backward.push_back({.node = call.node, .input = call.inputIndex});
        else if (group->products.front() == call.node) // the last one in this direction
            m_backward.push_back({.node = call.node, .input = call.inputIndex, .group = group});
    }
    FindFirstContributions();
    for (ComputationNode* node : m_calls.zeroed)
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
    m_memory.FindGradientsOfStep(replaced, m_merges.Products(), m_calls.callsAfter);
    ChainBackward();
}

// Finds gradients that only this time step adds to. They need no zeros if the first contribution can overwrite them.
void LoopStep::FindFirstContributions()
{
    NodeSet open; // without a contribution so far
    for (const ComputationNode* node : m_calls.zeroed)
        if (!m_merges.IsLaterTwin(node) && !m_memory.IsShared(node))
            open.insert(node);
    for (const Action& action : m_backward) // a delay adds to another time step
        if (action.node->Type().traits.isDelay)
            open.erase(m_merges.FirstTwin(action.node->Input(action.input).get()));
    for (const Action& action : m_backward)
    {
        const ComputationNode* input = m_merges.FirstTwin(action.node->Input(action.input).get());
        if (open.erase(input) > 0 && (action.group != nullptr || BackwardPassOf(*action.node, action.input)))
            m_firstContributions[input] = {action.node, action.input};
    }
}

bool LoopStep::IsFirst(const Action& action) const
{
    const auto found = m_firstContributions.find(m_merges.FirstTwin(action.node->Input(action.input).get()));
    return found != m_firstContributions.end() &&
           found->second == std::pair<const ComputationNode*, size_t>(action.node, action.input);
}

// Turns consecutive calls that are element-wise passes into one action.
void LoopStep::ChainBackward()
{
    std::vector<Action> actions;
    LoopChain* chain = nullptr;
    for (Action& action : m_backward)
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

void LoopStep::BeginBackward()
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

void LoopStep::RunBackward(const Part& part) const
{
    for (const Action& action : m_backward)
    {
        if (action.chain != nullptr)
            action.chain->Run(part.firstColumn, part.sequences, part.firstSequence);
        else if (action.group != nullptr && action.delay != nullptr && !action.delay->PassesGradient(part.time))
            continue; // nobody reads the operand's gradient
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

void LoopStep::Backward(BackwardPass& pass)
{
    if (!m_calls.calls.empty())
    {
        BeginBackward();
        ForEachPart(-m_plan.direction, m_canBackwardApart, [this](const Part& part) { RunBackward(part); });
    }
    else
        for (const ComputationNode* node : m_calls.zeroed)
            Ops::Fill(node->Gradient(), 0);
    pass.RunReadingCalls(m_calls.callsAfter);
}

// ---- chains ----

namespace
{

bool IsOfStep(const ElementwisePass::Operand& operand, const LoopMemory& memory)
{
    return operand.isGradient ? memory.IsGradientOfStep(operand.node) : memory.IsValueOfStep(operand.node);
}

// Binds the place and returns true if it changed.
bool BindPlace(ElementwiseLink::Place& place, const ElementwisePass::Operand& operand)
{
    const MatrixView view = operand.isGradient ? operand.node->Gradient() : operand.node->Value();
    const size_t stride = operand.node->HasMBLayout() ? view.stride : 0;
    const bool isOther = place.data != view.data || place.stride != stride;
    place.data = view.data;
    place.stride = stride;
    return isOther;
}

// Calls visit(place, true if its previous content is used) in the order in which places are read and written.
template <class Link, class Visit>
void ForEachPlace(Link& link, Visit&& visit)
{
    for (size_t input = 0; input < ArityOf(link.op); input++)
        visit(link.inputs[input], true);
    visit(link.output, link.beta != 0);
}

} // namespace

bool LoopChain::Add(const ElementwisePass& pass, bool overwrites, const LoopMemory& memory)
{
    const ComputationNode& node = *pass.output.node;
    if (m_parts.empty())
    {
        m_chain.device = &node.GetDevice();
        m_chain.type = node.GetDataType();
        m_chain.rows = node.SampleElements();
    }
    else if (m_chain.rows != node.SampleElements())
        return false;
    m_parts.push_back({pass, overwrites ? 0.0 : 1.0});
    ElementwiseLink& link = m_chain.links.emplace_back();
    for (size_t input = 0; input < pass.inputCount; input++)
        link.inputs[input].isOfStep = IsOfStep(pass.inputs[input], memory);
    link.output.isOfStep = IsOfStep(pass.output, memory);
    return true;
}

bool LoopChain::Computes(const ComputationNode* node) const
{
    return std::any_of(m_parts.begin(), m_parts.end(),
                       [&](const Part& part) { return part.pass.output.node == node && !part.pass.output.isGradient; });
}

bool LoopChain::BindPlaces()
{
    bool isOther = false;
    for (size_t i = 0; i < m_parts.size(); i++)
    {
        const auto& [pass, beta] = m_parts[i];
        ElementwiseLink& link = m_chain.links[i];
        link.op = pass.op;
        link.alpha = pass.factor;
        link.beta = beta;
        for (size_t input = 0; input < pass.inputCount; input++)
            isOther = BindPlace(link.inputs[input], pass.inputs[input]) || isOther;
        isOther = BindPlace(link.output, pass.output) || isOther;
    }
    return isOther;
}

// Buffers that hold one step's columns are read only by chains, and written by chains or products. A buffer is
// therefore a temporary of this chain if no other chain uses it and the chain writes it before reading it.
void LoopChain::Bind(std::span<const std::unique_ptr<LoopChain>> chains)
{
    bool isOther = false;
    for (const auto& chain : chains)
        isOther = chain->BindPlaces() || isOther;
    if (!isOther)
        return;
    std::unordered_map<const void*, const LoopChain*> owners; // null: no single owner
    for (const auto& chain : chains)
        for (const ElementwiseLink& link : chain->m_chain.links)
            ForEachPlace(link,
                         [&](const ElementwiseLink::Place& place, bool isRead)
                         {
                             const auto [owner, isFirst] = owners.try_emplace(place.data, chain.get());
                             if (!place.isOfStep || owner->second != chain.get() || (isFirst && isRead))
                                 owner->second = nullptr;
                         });
    for (const auto& chain : chains)
    {
        std::unordered_set<const void*> own;
        for (const auto& [data, owner] : owners)
            if (owner == chain.get())
                own.insert(data);
        chain->NumberTemporaries(own);
        chain->m_chain.known = KnownChains::Find(chain->m_chain);
    }
}

void LoopChain::NumberTemporaries(const std::unordered_set<const void*>& own)
{
    std::vector<ElementwiseLink>& links = m_chain.links;
    std::unordered_map<const void*, size_t> lastLinks;
    for (size_t i = 0; i < links.size(); i++)
        ForEachPlace(links[i], [&](const ElementwiseLink::Place& place, bool) { lastLinks[place.data] = i; });
    std::unordered_map<const void*, int> numbers; // of all memory seen so far
    std::vector<bool> isTaken;
    for (size_t i = 0; i < links.size(); i++)
    {
        ForEachPlace(links[i],
                     [&](ElementwiseLink::Place& place, bool)
                     {
                         const auto [number, isFirst] = numbers.try_emplace(place.data, ElementwiseLink::c_kept);
                         if (isFirst && own.contains(place.data))
                         {
                             const auto free = std::find(isTaken.begin(), isTaken.end(), false);
                             number->second = int(free - isTaken.begin());
                             if (free == isTaken.end())
                                 isTaken.push_back(true);
                             else
                                 *free = true;
                         }
                         place.temporary = number->second;
                     });
        for (const auto& [data, number] : numbers)
            if (number != ElementwiseLink::c_kept && lastLinks.at(data) == i)
                isTaken[size_t(number)] = false;
    }
}

} // namespace cntk
