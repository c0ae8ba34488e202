// Derives lifetimes of values, gradients and temporaries from the plan's order and the node types' traits, then assigns
// slots by best fit.
#include "ComputationNetwork/Plan/MemoryPlan.h"

#include "Common/Error.h"

#include <algorithm>
#include <queue>
#include <unordered_set>

namespace cntk
{

namespace
{

// Number of minibatch columns for comparing sizes when slots are chosen. Any value gives correct results.
constexpr size_t c_nominalColumns = 256;

using Life = MemoryPlan::Life;

struct Consumer
{
    const ComputationNode* node;
    size_t step;
};

class LifePlanner
{
public:
    LifePlanner(const EvaluationPlan& plan, const MemoryPlan::Options& options) : m_plan(plan), m_options(options)
    {
        m_stepCount = plan.Steps().size();
        for (size_t i = 0; i < m_stepCount; i++)
        {
            const PlanStep& step = plan.Steps()[i];
            for (const ComputationNodePtr& node : step.nodes)
            {
                m_stepOf[node.get()] = i;
                for (const ComputationNodePtr& input : node->Inputs())
                    m_consumers[input.get()].push_back({node.get(), i});
            }
            for (size_t k = 0; k < step.nodes.size(); k++)
            {
                if (step.IsFusedAway(k))
                    m_neverComputed.insert(step.nodes[k].get());
                if (step.IsGradientFusedAway(k))
                    m_withoutGradient.insert(step.nodes[k].get());
            }
        }
        for (const ComputationNodePtr& root : plan.Roots())
            m_kept.insert(root.get());
        for (const ComputationNodePtr& node : options.keepValues)
            m_kept.insert(node.get());
    }

    // Returns the lives without slots.
    std::vector<Life> Run()
    {
        for (size_t i = 0; i < m_stepCount; i++)
            for (const ComputationNodePtr& node : m_plan.Steps()[i].nodes)
            {
                AddValue(*node, i);
                AddGradient(*node, i);
                AddTemporaries(*node, i);
            }
        return std::move(m_lives);
    }

private:
    size_t BackwardOf(size_t step) const { return 2 * m_stepCount - 1 - step; }

    void AddValue(const ComputationNode& node, size_t step)
    {
        if (node.OwnsValue() || m_neverComputed.contains(&node))
            return;
        size_t last = step;
        for (const Consumer& consumer : m_consumers[&node])
        {
            last = std::max(last, consumer.step);
            if (m_plan.NeedsGradient(consumer.node) && BackpropReads(*consumer.node, node))
                last = std::max(last, BackwardOf(consumer.step));
        }
        if (m_plan.NeedsGradient(&node) && node.Type().traits.backpropReadsOutput)
            last = std::max(last, BackwardOf(step));
        if (m_kept.contains(&node))
            last = MemoryPlan::c_forever;
        m_lives.push_back({.node = &node, .what = Life::What::Value, .first = step, .last = last});
    }

    static bool BackpropReads(const ComputationNode& consumer, const ComputationNode& node)
    {
        for (size_t i = 0; i < consumer.InputCount(); i++)
            if (consumer.Input(i).get() == &node && consumer.Type().traits.BackpropReads(i))
                return true;
        return false;
    }

    void AddGradient(const ComputationNode& node, size_t step)
    {
        if (!m_plan.NeedsGradient(&node) || m_withoutGradient.contains(&node))
            return;
        Life life{.node = &node, .what = Life::What::Gradient, .first = BackwardOf(step), .last = BackwardOf(step)};
        if (&node == m_plan.BackwardRoot().get())
            life.first = m_stepCount;
        for (const Consumer& consumer : m_consumers[&node])
            if (m_plan.NeedsGradient(consumer.node))
                life.first = std::min(life.first, BackwardOf(consumer.step));
        if (node.IsTrainableLeaf()) // the update reads it, and several minibatches accumulate into it
        {
            life.first = 0;
            life.last = MemoryPlan::c_forever;
        }
        life.aliasOf = AliasOf(node, step);
        m_lives.push_back(life);
    }

    // Returns the consumer whose gradient the node's may share; null if sharing is impossible.
    const ComputationNode* AliasOf(const ComputationNode& node, size_t step)
    {
        const std::vector<Consumer>& consumers = m_consumers[&node];
        if (!m_options.aliasGradients || node.IsTrainableLeaf() || IsLoop(step) || &node == m_plan.BackwardRoot().get())
            return nullptr;
        const Consumer* only = nullptr;
        for (const Consumer& consumer : consumers)
        {
            if (!m_plan.NeedsGradient(consumer.node))
                continue;
            if (only != nullptr) // also if one node reads it twice
                return nullptr;
            only = &consumer;
        }
        if (only == nullptr || IsLoop(only->step))
            return nullptr;
        const ComputationNode& consumer = *only->node;
        const NodeTraits& traits = consumer.Type().traits;
        const bool inPlace = traits.backpropInPlace && traits.backpropOverwrites && consumer.InputCount() == 1;
        if (!inPlace && !traits.gradientPassesThrough)
            return nullptr;
        if (!(node.SampleLayout().WithoutTrailingOnes() == consumer.SampleLayout().WithoutTrailingOnes()) ||
            node.GetMBLayout() != consumer.GetMBLayout())
            return nullptr;
        return m_aliased.insert(&consumer).second ? &consumer : nullptr; // for one input only
    }

    bool IsLoop(size_t step) const { return m_plan.Steps()[step].kind == PlanStep::Kind::Loop; }

    // Returns true if the node is computed separately, neither within a loop nor with the words of an embedding.
    bool IsOnItsOwn(const ComputationNode& node) const
    {
        const PlanStep::Kind kind = m_plan.Steps()[m_stepOf.at(&node)].kind;
        return kind == PlanStep::Kind::Node || kind == PlanStep::Kind::FusedAffine;
    }

    // Returns the input whose gradient may replace the temporary: the node's contribution must be the first, so that it
    // overwrites the gradient. Null if that is impossible.
    const ComputationNode* GradientMadeOf(const ComputationNode& node, const TemporarySpec& spec, size_t step)
    {
        if (spec.gradientOfInput < 0 || !m_options.aliasGradients || !m_plan.NeedsGradient(&node))
            return nullptr;
        const ComputationNode& input = *node.Input(size_t(spec.gradientOfInput));
        if (!m_plan.NeedsGradient(&input) || input.IsTrainableLeaf() || !IsOnItsOwn(node) || !IsOnItsOwn(input))
            return nullptr;
        size_t uses = 0; // by the node itself
        for (const Consumer& consumer : m_consumers[&input])
        {
            uses += consumer.node == &node;
            if (m_plan.NeedsGradient(consumer.node) && consumer.step > step)
                return nullptr;
        }
        return uses == 1 && m_replaced.insert(&input).second ? &input : nullptr; // for one temporary only
    }

    // Returns the life of the input's value whose memory the temporary may take over: the node must be its last reader
    // and read it once. Null if that is impossible.
    Life* ValueReplacedBy(const ComputationNode& node, const TemporarySpec& spec, size_t step)
    {
        if (spec.valueOfInput < 0 || !m_options.aliasGradients)
            return nullptr;
        const ComputationNode& input = *node.Input(size_t(spec.valueOfInput));
        const std::vector<Consumer>& consumers = m_consumers[&input];
        const auto value =
            std::find_if(m_lives.begin(), m_lives.end(),
                         [&](const Life& life) { return life.node == &input && life.what == Life::What::Value; });
        if (value == m_lives.end() || value->last != step || value->inPlaceWith != nullptr || !IsOnItsOwn(node) ||
            !IsOnItsOwn(input) ||
            std::count_if(consumers.begin(), consumers.end(),
                          [&](const Consumer& consumer) { return consumer.node == &node; }) != 1)
            return nullptr;
        return &*value;
    }

    void AddTemporaries(const ComputationNode& node, size_t step)
    {
        const std::vector<TemporarySpec> specs = node.Temporaries();
        for (size_t i = 0; i < specs.size(); i++)
        {
            const bool untilBackward =
                specs[i].life == TemporarySpec::Lifetime::ForwardBackward && m_plan.NeedsGradient(&node);
            Life life{.node = &node,
                      .what = Life::What::Temporary,
                      .index = i,
                      .first = step,
                      .last = untilBackward ? BackwardOf(step) : step,
                      .aliasOf = untilBackward ? GradientMadeOf(node, specs[i], step) : nullptr};
            if (Life* const value = ValueReplacedBy(node, specs[i], step))
            {
                value->inPlaceWith = &node;
                life.inPlaceWith = value->node;
            }
            m_lives.push_back(life);
        }
    }

    const EvaluationPlan& m_plan;
    const MemoryPlan::Options& m_options;
    size_t m_stepCount = 0;
    std::unordered_map<const ComputationNode*, size_t> m_stepOf;
    std::unordered_map<const ComputationNode*, std::vector<Consumer>> m_consumers;
    std::unordered_set<const ComputationNode*> m_neverComputed;
    std::unordered_set<const ComputationNode*> m_withoutGradient;
    std::unordered_set<const ComputationNode*> m_kept;
    std::unordered_set<const ComputationNode*> m_aliased;
    std::unordered_set<const ComputationNode*> m_replaced; // inputs whose gradient shares a temporary's memory
    std::vector<Life> m_lives;
};

size_t NominalSize(const Life& life)
{
    const ComputationNode& node = *life.node;
    const auto columnsOf = [](const ComputationNode& of)
    { return of.HasMBLayout() ? c_nominalColumns : of.ValueColumns(); };
    if (life.what != Life::What::Temporary)
        return node.ValueRows() * columnsOf(node);
    const TemporarySpec spec = node.Temporaries()[life.index];
    if (spec.fixedColumns > 0)
        return spec.rows * spec.fixedColumns;
    return spec.rows * columnsOf(spec.layoutOfInput < 0 ? node : *node.Input(size_t(spec.layoutOfInput)));
}

// Buffers that share one piece of memory: a gradient, its aliases, the temporary that it replaces and the value that
// this temporary replaces.
struct Group
{
    std::vector<size_t> lives;
    size_t first = MemoryPlan::c_forever;
    size_t last = 0;
    size_t size = 0;
};

// Returns for each life the last one in its chain of shared buffers.
std::vector<size_t> FindEnds(const std::vector<Life>& lives)
{
    std::unordered_map<const ComputationNode*, size_t> gradients;
    std::unordered_map<const ComputationNode*, size_t> replacing; // by the replaced value's node
    for (size_t i = 0; i < lives.size(); i++)
        if (lives[i].what == Life::What::Gradient)
            gradients[lives[i].node] = i;
        else if (lives[i].what == Life::What::Temporary && lives[i].inPlaceWith != nullptr)
            replacing[lives[i].inPlaceWith] = i;
    std::vector<size_t> ends;
    for (size_t i = 0; i < lives.size(); i++)
    {
        size_t end = i;
        if (lives[i].what == Life::What::Value && lives[i].inPlaceWith != nullptr)
            end = replacing.at(lives[i].node);
        while (lives[end].aliasOf != nullptr)
            end = gradients.at(lives[end].aliasOf);
        ends.push_back(end);
    }
    return ends;
}

std::vector<Group> MakeGroups(const std::vector<Life>& lives)
{
    const std::vector<size_t> ends = FindEnds(lives);
    std::vector<Group> groups;
    std::unordered_map<size_t, size_t> groupOf; // by the last life of the chain
    for (size_t i = 0; i < lives.size(); i++)
    {
        const size_t group = groupOf.emplace(ends[i], groups.size()).first->second;
        if (group == groups.size())
            groups.emplace_back();
        Group& into = groups[group];
        into.lives.push_back(i);
        into.first = std::min(into.first, lives[i].first);
        into.last = std::max(into.last, lives[i].last);
        into.size = std::max(into.size, NominalSize(lives[i]));
    }
    return groups;
}

// Assigns slots in order of time: each buffer takes the smallest free slot that is large enough, else the largest, else
// a new one.
void ChooseSlots(std::vector<Life>& lives, bool share)
{
    std::vector<Group> groups = MakeGroups(lives);
    std::stable_sort(groups.begin(), groups.end(),
                     [](const Group& a, const Group& b)
                     { return a.first != b.first ? a.first < b.first : a.size > b.size; });

    std::vector<size_t> slotSizes;
    std::vector<size_t> freeSlots;
    using Use = std::pair<size_t, size_t>; // last, slot
    std::priority_queue<Use, std::vector<Use>, std::greater<>> inUse;
    for (const Group& group : groups)
    {
        while (!inUse.empty() && inUse.top().first < group.first)
        {
            freeSlots.push_back(inUse.top().second);
            inUse.pop();
        }
        auto best = freeSlots.end();
        if (share)
            for (auto slot = freeSlots.begin(); slot != freeSlots.end(); ++slot)
            {
                if (best == freeSlots.end())
                {
                    best = slot;
                    continue;
                }
                const size_t bestSize = slotSizes[*best], size = slotSizes[*slot];
                if (bestSize < group.size ? size > bestSize : size >= group.size && size < bestSize)
                    best = slot;
            }
        size_t chosen = slotSizes.size();
        if (best != freeSlots.end())
        {
            chosen = *best;
            freeSlots.erase(best);
            slotSizes[chosen] = std::max(slotSizes[chosen], group.size);
        }
        else
            slotSizes.push_back(group.size);
        inUse.emplace(group.last, chosen);
        for (const size_t life : group.lives)
            lives[life].slot = chosen;
    }
}

} // namespace

MemoryPlan MemoryPlan::Build(const EvaluationPlan& plan, const Options& options)
{
    std::vector<Life> lives = LifePlanner(plan, options).Run();
    ChooseSlots(lives, options.share);
    return FromLives(std::move(lives));
}

MemoryPlan MemoryPlan::FromLives(std::vector<Life> lives)
{
    MemoryPlan memory;
    memory.m_lives = std::move(lives);
    for (size_t i = 0; i < memory.m_lives.size(); i++)
    {
        const Life& life = memory.m_lives[i];
        memory.m_slotCount = std::max(memory.m_slotCount, life.slot + 1);
        if (life.what == Life::What::Value)
            memory.m_valueLives[life.node] = i;
        else if (life.what == Life::What::Gradient)
            memory.m_gradientLives[life.node] = i;
        else
        {
            std::vector<size_t>& slots = memory.m_temporarySlots[life.node];
            slots.resize(std::max(slots.size(), life.index + 1), c_none);
            slots[life.index] = life.slot;
        }
    }
    return memory;
}

size_t MemoryPlan::SlotOfValue(const ComputationNode* node) const
{
    const auto found = m_valueLives.find(node);
    return found == m_valueLives.end() ? c_none : m_lives[found->second].slot;
}

size_t MemoryPlan::SlotOfGradient(const ComputationNode* node) const
{
    const auto found = m_gradientLives.find(node);
    return found == m_gradientLives.end() ? c_none : m_lives[found->second].slot;
}

const std::vector<size_t>& MemoryPlan::SlotsOfTemporaries(const ComputationNode* node) const
{
    static const std::vector<size_t> none;
    const auto found = m_temporarySlots.find(node);
    return found == m_temporarySlots.end() ? none : found->second;
}

bool MemoryPlan::IsGradientAlias(const ComputationNode* node) const
{
    const auto found = m_gradientLives.find(node);
    return found != m_gradientLives.end() && m_lives[found->second].aliasOf != nullptr;
}

} // namespace cntk
