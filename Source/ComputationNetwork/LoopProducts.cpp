// Finds equal delays and products of one operand in a loop, and runs the loop's time steps.
#include "ComputationNetwork/LoopProducts.h"

#include "ComputationNetwork/NodeBinder.h"
#include "ComputationNetwork/Nodes/ElementwiseNodes.h"
#include "Math/Apart.h"
#include "Math/Operations.h"

#include <algorithm>
#include <utility>

namespace cntk
{

namespace
{

using What = MemoryPlan::Life::What;

constexpr size_t c_lineBytes = 64;

constexpr size_t RoundUp(size_t value, size_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

// Columns that begin at multiples of the former bytes share a few places of a first-level cache: products could not
// read them as they lie.
size_t StrideOf(size_t rows, DataType type)
{
    constexpr size_t c_clashingBytes = 4096;
    return rows * SizeOf(type) % c_clashingBytes == 0 ? rows + c_lineBytes / SizeOf(type) : rows;
}

// stride 0: as many as rows
MatrixView MakeView(Buffer& buffer, const ComputationNode& like, size_t rows, size_t columns, size_t stride = 0)
{
    MatrixView view;
    view.type = like.GetDataType();
    view.device = &like.GetDevice();
    view.rows = rows;
    view.stride = std::max(rows, stride);
    view.columns = columns;
    if (buffer.GetDevice() == nullptr)
        buffer = Buffer(like.GetDevice());
    buffer.Reserve(view.stride * columns * SizeOf(view.type));
    view.data = buffer.Data();
    return view;
}

// Sequences from which on a thread of its own is worth it to them: a product of fewer columns keeps too few registers
// busy, and each thread reads all of the weights.
constexpr size_t c_sequencesApart = 12;

DelayNode* DelayOf(ComputationNode* node)
{
    auto* delay = dynamic_cast<DelayNode*>(node);
    return delay != nullptr && !delay->Input(0)->IsSparse() ? delay : nullptr;
}

} // namespace

// ---- planning ----

LoopProducts::LoopProducts(const PlanStep& loop, const EvaluationPlan& plan, const NodeSet& wanted, Buffer& panels)
    : m_plan(plan), m_wanted(wanted), m_panels(panels), m_memory(plan, m_members, m_consumers, wanted),
      m_layout(loop.nodes.front()->GetMBLayout().get()), m_device(loop.nodes.front()->GetDevice())
{
    for (const ComputationNodePtr& node : loop.nodes)
        m_members.insert(node.get());
    for (const PlanStep& step : plan.Steps())
        for (const ComputationNodePtr& node : step.nodes)
            for (const ComputationNodePtr& input : node->Inputs())
                if (m_members.contains(input.get()))
                    m_consumers[input.get()].push_back(node.get());
    FindTwins(loop);
    FindGroups(loop);
    for (const auto& [product, group] : m_groupOf)
        m_merged.insert(product);
    m_memory.FindValuesOfStep(loop.nodes);
    for (const auto& group : m_groups)
        group->isOfStep = m_memory.AddMergedValues(group->products);
    PlanForward(loop);
}

void LoopProducts::PlanForward(const PlanStep& loop)
{
    LoopChain* chain = nullptr; // that the next pass can join
    for (const ComputationNodePtr& node : loop.nodes)
    {
        const auto found = m_groupOf.find(node.get());
        Group* group = found == m_groupOf.end() ? nullptr : found->second;
        const bool isMerged =
            m_firstTwins.contains(node.get()) || (group != nullptr && group->products.front() != node.get());
        if (isMerged)
            continue;
        const std::optional<ElementwisePass> pass = ForwardPassOf(*node);
        if (!pass)
        {
            const Action action{.node = node.get(), .delay = DelayOf(node.get()), .group = group};
            m_canForwardApart = m_canForwardApart && (group != nullptr || action.delay != nullptr);
            // Before the chain, which can go on then, where it reads nothing of it: delays read other time steps.
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

bool LoopProducts::IsOnlyUsedInside(const ComputationNode* node) const
{
    const auto found = m_consumers.find(node);
    return !m_wanted.contains(node) && found != m_consumers.end() &&
           std::all_of(found->second.begin(), found->second.end(),
                       [&](const ComputationNode* consumer) { return m_members.contains(consumer); });
}

void LoopProducts::FindTwins(const PlanStep& loop)
{
    std::vector<std::vector<ComputationNode*>> sets;
    for (const ComputationNodePtr& node : loop.nodes)
    {
        const auto* delay = dynamic_cast<const DelayNode*>(node.get());
        if (delay == nullptr || !IsOnlyUsedInside(delay))
            continue;
        const auto twins = std::find_if(sets.begin(), sets.end(),
                                        [&](const std::vector<ComputationNode*>& set)
                                        { return delay->IsTwinOf(dynamic_cast<const DelayNode&>(*set.front())); });
        if (twins == sets.end())
            sets.push_back({node.get()});
        else
            twins->push_back(node.get());
    }
    for (std::vector<ComputationNode*>& set : sets)
    {
        if (set.size() < 2)
            continue;
        for (size_t i = 1; i < set.size(); i++)
            m_firstTwins[set[i]] = set[0];
        Twins twins;
        twins.delays = std::move(set);
        m_twins.push_back(std::move(twins));
    }
}

ComputationNode* LoopProducts::FirstTwin(ComputationNode* node) const
{
    const auto found = m_firstTwins.find(node);
    return found == m_firstTwins.end() ? node : found->second;
}

// A parameter's matrix times a column a sample of the loop; the product's memory need not be in one piece.
bool LoopProducts::IsPlainProduct(const ComputationNode& node) const
{
    if (node.TypeName() != "Times" || node.InputCount() != 2)
        return false;
    const ComputationNode& matrix = *node.Input(0);
    const ComputationNode& data = *node.Input(1);
    if (matrix.HasMBLayout() || matrix.SampleLayout().Rank() > 2 || !m_members.contains(&data) ||
        data.SampleElements() != matrix.ValueColumns() || node.SampleElements() != matrix.ValueRows() ||
        m_members.contains(&matrix) || !IsOnlyUsedInside(&node))
        return false;
    const std::vector<const ComputationNode*>& consumers = m_consumers.at(&node);
    return std::all_of(consumers.begin(), consumers.end(),
                       [](const ComputationNode* consumer) { return ElementwiseOpOf(*consumer).has_value(); });
}

void LoopProducts::FindGroups(const PlanStep& loop)
{
    std::unordered_map<const ComputationNode*, Group*> byOperand;
    for (const ComputationNodePtr& node : loop.nodes)
    {
        if (!IsPlainProduct(*node))
            continue;
        ComputationNode* operand = FirstTwin(node->Input(1).get());
        Group*& group = byOperand[operand];
        if (group == nullptr)
        {
            m_groups.push_back(std::make_unique<Group>());
            group = m_groups.back().get();
            group->operand = operand;
            group->delay = DelayOf(operand);
        }
        group->products.push_back(node.get());
        group->outputs += node->SampleElements();
        m_groupOf[node.get()] = group;
    }
}

// ---- memory ----

void LoopProducts::Bind()
{
    const size_t columns = m_layout->Columns();
    for (Twins& twins : m_twins)
    {
        const ComputationNode& first = *twins.delays.front();
        const MatrixView value = MakeView(twins.value, first, first.ValueRows(), columns);
        const bool needsGradient = m_plan.NeedsGradient(&first);
        const MatrixView gradient =
            needsGradient ? MakeView(twins.gradient, first, first.ValueRows(), columns) : MatrixView();
        for (ComputationNode* delay : twins.delays)
        {
            NodeBinder::Bind(*delay, What::Value, 0, value);
            if (needsGradient)
                NodeBinder::Bind(*delay, What::Gradient, 0, gradient);
        }
    }
    // Where the panels of the next group are, in either direction.
    size_t forwardPanels = 0, backwardPanels = 0;
    for (const auto& group : m_groups)
    {
        const ComputationNode& first = *group->products.front();
        const size_t inner = group->operand->ValueRows();
        const bool needsGradient = m_plan.NeedsGradient(&first);
        group->valueView =
            MakeView(group->value, first, group->outputs, group->isOfStep ? m_layout->ParallelSequences() : columns);
        group->parts.clear();
        for (const ComputationNode* product : group->products)
            group->parts.push_back(product->Input(0)->Value());
        group->weights.UseMemory(m_panels, forwardPanels);
        const size_t bytes = group->weights.Reserve(group->parts, Ops::Transpose::No);
        forwardPanels += RoundUp(bytes, c_lineBytes);
        if (bytes == 0 && group->parts.size() > 1)
        {
            group->stackedView = MakeView(group->stacked, first, group->outputs, inner);
            group->parts.assign(1, group->stackedView);
        }
        if (needsGradient)
        {
            group->gradientView = MakeView(group->gradient, first, group->outputs, columns,
                                           StrideOf(group->outputs, first.GetDataType()));
            group->transposedWeights.UseMemory(m_panels, backwardPanels);
            backwardPanels += RoundUp(group->transposedWeights.Reserve(group->parts, Ops::Transpose::Yes), c_lineBytes);
        }
        size_t row = 0;
        for (ComputationNode* product : group->products)
        {
            const size_t rows = product->SampleElements();
            NodeBinder::Bind(*product, What::Value, 0, group->valueView.Rows(row, rows));
            if (needsGradient)
                NodeBinder::Bind(*product, What::Gradient, 0, group->gradientView.Rows(row, rows));
            row += rows;
        }
    }
    m_memory.Bind(m_layout->ParallelSequences());
    m_gradients.Bind();
}

void LoopProducts::Unbind()
{
    m_memory.Unbind();
    m_gradients.Unbind();
    for (const Twins& twins : m_twins)
        for (ComputationNode* delay : twins.delays)
            for (const What what : {What::Value, What::Gradient})
                NodeBinder::Bind(*delay, what, 0, {});
    for (const auto& group : m_groups)
        for (ComputationNode* product : group->products)
            for (const What what : {What::Value, What::Gradient})
                NodeBinder::Bind(*product, what, 0, {});
}

void LoopProducts::AppendBound(BoundMemory::Elsewhere& bound) const
{
    const auto append = [&](const std::vector<ComputationNode*>& nodes)
    {
        for (const ComputationNode* node : nodes)
            for (const What what : {What::Value, What::Gradient})
                bound.insert({node, what});
    };
    for (const Twins& twins : m_twins)
        append(twins.delays);
    for (const auto& group : m_groups)
        append(group->products);
    m_memory.AppendBound(bound);
    m_gradients.AppendBound(bound);
}

size_t LoopProducts::Bytes() const
{
    size_t bytes = m_memory.Bytes();
    for (const Twins& twins : m_twins)
        bytes += twins.value.Bytes() + twins.gradient.Bytes();
    for (const auto& group : m_groups)
        bytes += group->value.Bytes() + group->gradient.Bytes() + group->stacked.Bytes();
    return bytes;
}

// ---- time steps ----

// Into how many blocks of sequences the threads share out the loop; each then goes through all time steps without
// waiting for the others.
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
    for (const auto& group : m_groups)
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
        // Where the first product has one column it is made while its weights are packed.
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

// Whether all sequences begin: one column of a product is then that of all.
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
        m_memory.PassOn(call, m_merged);
    for (const EvaluationProgram::BackwardCall& call : calls)
    {
        if (m_firstTwins.contains(call.node) || m_memory.IsPassedOn(call))
            continue;
        const auto found = m_groupOf.find(call.node);
        if (found == m_groupOf.end() || call.inputIndex != 1)
            m_backward.push_back({.node = call.node, .input = call.inputIndex});
        else if (found->second->products.front() == call.node) // the last of them in this direction
            m_backward.push_back({.node = call.node, .input = call.inputIndex, .group = found->second});
    }
    FindFirstContributions(zeroed);
    for (ComputationNode* node : zeroed)
        if (!m_firstTwins.contains(node) && !m_groupOf.contains(node) && !m_firstContributions.contains(node) &&
            !m_memory.IsShared(node))
            m_zeroed.push_back(node);
    for (const auto& group : m_groups)
        group->isZeroed = !std::all_of(group->products.begin(), group->products.end(),
                                       [&](const ComputationNode* product) {
                                           return m_firstContributions.contains(product) || m_memory.IsShared(product);
                                       });
    NodeSet replaced;
    for (const auto& [node, call] : m_firstContributions)
        replaced.insert(node);
    m_memory.FindGradientsOfStep(replaced, m_merged, callsAfter);
    m_gradients.Find(callsAfter, m_plan, memory, m_memory, m_merged, m_wanted);
    ChainBackward();
}

// Gradients that only this time step adds to need no zeros where the first who does can replace instead.
void LoopProducts::FindFirstContributions(std::span<ComputationNode* const> zeroed)
{
    NodeSet open; // nothing was added yet
    for (const ComputationNode* node : zeroed)
        if (!m_firstTwins.contains(node) && !m_memory.IsShared(node))
            open.insert(node);
    for (const BackwardAction& action : m_backward) // what a delay adds belongs to another time step
        if (dynamic_cast<const DelayNode*>(action.node) != nullptr)
            open.erase(FirstTwin(action.node->Input(action.input).get()));
    for (const BackwardAction& action : m_backward)
    {
        const ComputationNode* input = FirstTwin(action.node->Input(action.input).get());
        if (open.erase(input) > 0 && (action.group != nullptr || BackwardPassOf(*action.node, action.input)))
            m_firstContributions[input] = {action.node, action.input};
    }
}

bool LoopProducts::IsFirst(const BackwardAction& action) const
{
    const auto found = m_firstContributions.find(FirstTwin(action.node->Input(action.input).get()));
    return found != m_firstContributions.end() &&
           found->second == std::pair<const ComputationNode*, size_t>(action.node, action.input);
}

// Calls that are element-wise passes and follow one another become one action.
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
    for (const auto& group : m_groups)
    {
        if (group->gradientView.data == nullptr)
            continue;
        if (group->isZeroed)
            Ops::Fill(group->gradientView, 0);
        group->transposedWeights.Pack(group->parts, Ops::Transpose::Yes);
    }
    LoopChain::Bind(m_backwardChains);
}

// Of the operand at the time: what a delay does not pass on nobody reads.
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
    for (const auto& group : m_groups)
        if (group->delay != nullptr && group->gradientView.data != nullptr && m_device.IsHostMemory())
            group->beginnings.Sum(*group->delay, group->gradientView, products);
}

void LoopProducts::RestoreGradients()
{
    for (const auto& group : m_groups)
        group->beginnings.Restore();
}

} // namespace cntk
