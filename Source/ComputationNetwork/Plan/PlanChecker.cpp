// Verifies a plan and its memory without the planner's code: walks every read and write in plan time and checks that
// the buffer is alive and owns its memory.
#include "Common/Error.h"
#include "ComputationNetwork/Plan/MemoryPlan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace cntk
{

namespace
{

using Life = MemoryPlan::Life;
using What = MemoryPlan::Life::What;

std::string Describe(const Life& life)
{
    const char* what = life.what == What::Value ? "value" : life.what == What::Gradient ? "gradient" : "temporary";
    return Concat("the ", what, " of node '", life.node->Name(), "' (", life.node->TypeName(), ")");
}

class Checker
{
public:
    Checker(const EvaluationPlan& plan, const MemoryPlan& memory) : m_plan(plan), m_memory(memory)
    {
        for (const Life& life : memory.Lives())
            m_lives.emplace(std::tuple(life.node, life.what, life.index), &life);
        m_end = 2 * plan.Steps().size();
    }

    void Run()
    {
        CheckOrder();
        for (size_t i = 0; i < m_plan.Steps().size(); i++)
            for (const ComputationNodePtr& node : m_plan.Steps()[i].nodes)
            {
                CheckForward(*node, i);
                if (m_plan.NeedsGradient(node.get()))
                    CheckBackward(*node, m_end - 1 - i);
            }
        for (const ComputationNodePtr& root : m_plan.Roots())
            if (!root->OwnsValue())
                RequireAlive(*root, What::Value, 0, m_end, "which is a root and read after the minibatch,");
        CheckOverlaps();
        CheckAliases();
    }

private:
    template <class... Parts>
    [[noreturn]] static void Reject(const Parts&... parts)
    {
        Fail(ErrorKind::Internal, "wrong evaluation plan: ", parts...);
    }

    static std::vector<ComputationNodePtr> InputsReadBy(const ComputationNode& node)
    {
        return node.ReadsInputs() ? node.Inputs() : std::vector<ComputationNodePtr>();
    }

    void CheckOrder()
    {
        std::unordered_set<const ComputationNode*> computed;
        for (const PlanStep& step : m_plan.Steps())
        {
            std::unordered_set<const ComputationNode*> members;
            for (const ComputationNodePtr& node : step.nodes)
                members.insert(node.get());
            for (const ComputationNodePtr& node : step.nodes)
            {
                for (const ComputationNodePtr& input : InputsReadBy(*node))
                {
                    const bool isFromEarlierTime = step.kind == PlanStep::Kind::Loop && node->Type().traits.isDelay &&
                                                   members.contains(input.get());
                    if (!computed.contains(input.get()) && !isFromEarlierTime)
                        Reject("node '", node->Name(), "' comes before its input '", input->Name(), "'");
                }
                if (!computed.insert(node.get()).second)
                    Reject("node '", node->Name(), "' is computed twice");
            }
            if (step.kind == PlanStep::Kind::FusedAffine)
                for (size_t k = 0; k + 1 < step.nodes.size(); k++)
                    m_inside.emplace(step.nodes[k].get(), step.nodes[k + 1].get());
            if (step.kind == PlanStep::Kind::Lookup)
                TakeLookup(step);
        }
    }

    // Records a lookup step. Only products that begin chains may read the embedding.
    void TakeLookup(const PlanStep& step)
    {
        const ComputationNode& lookup = *step.nodes.front();
        m_lookups.emplace(&lookup, std::unordered_set<const ComputationNode*>());
        for (size_t k = 1; k < step.nodes.size(); k++)
        {
            const ComputationNode& node = *step.nodes[k];
            if (node.InputCount() == 2 && node.Input(1).get() == &lookup)
                m_lookups[&lookup].insert(&node);
            else
                m_inside.emplace(step.nodes[k - 1].get(), &node);
        }
    }

    bool IsLookupOf(const ComputationNode& lookup, const ComputationNode& product) const
    {
        const auto found = m_lookups.find(&lookup);
        return found != m_lookups.end() && found->second.contains(&product);
    }

    // Returns true for fused nodes that compute no value: all except the last. Only the next node of the chain may read
    // them.
    bool IsInside(const ComputationNode& node) const { return m_inside.contains(&node) || m_lookups.contains(&node); }

    void CheckForward(const ComputationNode& node, size_t time)
    {
        for (const ComputationNodePtr& input : InputsReadBy(node))
        {
            if (IsInside(*input))
            {
                const auto inside = m_inside.find(input.get());
                if (!IsLookupOf(*input, node) && (inside == m_inside.end() || inside->second != &node))
                    Reject("node '", node.Name(), "' reads the value of '", input->Name(), "', which is fused away");
            }
            else if (!input->OwnsValue())
                RequireAlive(*input, What::Value, 0, time, Concat("which node '", node.Name(), "' reads,"));
        }
        if (!node.OwnsValue() && !IsInside(node))
            RequireWritten(node, What::Value, 0, time);
        const size_t temporaries = node.Temporaries().size();
        for (size_t i = 0; i < temporaries; i++)
            RequireAlive(node, What::Temporary, i, time, "which its forward pass uses,");
    }

    void CheckBackward(const ComputationNode& node, size_t time)
    {
        const NodeTraits& traits = node.Type().traits;
        if (!m_lookups.contains(&node))
            RequireAlive(node, What::Gradient, 0, time, "which its own backward pass reads,");
        if (&node == m_plan.BackwardRoot().get())
            RequireAlive(node, What::Gradient, 0, m_end / 2, "which is set when the backward pass begins,");
        if (node.IsTrainableLeaf())
            RequireAlive(node, What::Gradient, 0, m_end, "which the parameter update reads,");
        if (node.InputCount() == 0)
            return;
        if (traits.backpropReadsOutput)
        {
            if (IsInside(node))
                Reject("the backward pass of '", node.Name(), "' reads its value, which is fused away");
            if (!node.OwnsValue())
                RequireAlive(node, What::Value, 0, time, "which its own backward pass reads,");
        }
        for (size_t i = 0; i < node.InputCount(); i++)
        {
            const ComputationNodePtr& input = node.Input(i);
            if (IsLookupOf(*input, node))
                continue;
            if (traits.BackpropReads(i))
            {
                if (IsInside(*input))
                    Reject("the backward pass of '", node.Name(), "' reads the value of '", input->Name(),
                           "', which is fused away");
                if (!input->OwnsValue())
                    RequireAlive(*input, What::Value, 0, time,
                                 Concat("which the backward pass of node '", node.Name(), "' reads,"));
            }
            if (m_plan.NeedsGradient(input.get()))
                RequireAlive(*input, What::Gradient, 0, time,
                             Concat("which the backward pass of node '", node.Name(), "' adds to,"));
        }
        const std::vector<TemporarySpec> specs = node.Temporaries();
        for (size_t i = 0; i < specs.size(); i++)
            if (specs[i].life == TemporarySpec::Lifetime::ForwardBackward)
                RequireAlive(node, What::Temporary, i, time, "which its backward pass reads,");
    }

    const Life& Find(const ComputationNode& node, What what, size_t index) const
    {
        const auto found = m_lives.find(std::tuple(&node, what, index));
        if (found == m_lives.end() || found->second->slot == MemoryPlan::c_none)
            Reject(Describe({.node = &node, .what = what}), " has no memory");
        return *found->second;
    }

    void RequireAlive(const ComputationNode& node, What what, size_t index, size_t time, const std::string& why) const
    {
        const Life& life = Find(node, what, index);
        if (time < life.first || time > life.last)
            Reject(Describe(life), ", ", why, " is not alive at time ", time, "; it lives from ", life.first, " to ",
                   life.last);
    }

    void RequireWritten(const ComputationNode& node, What what, size_t index, size_t time) const
    {
        const Life& life = Find(node, what, index);
        if (life.first != time)
            Reject(Describe(life), " is computed at time ", time, ", but its life begins at ", life.first);
    }

    void CheckOverlaps() const
    {
        std::map<size_t, std::vector<const Life*>> bySlot;
        for (const Life& life : m_memory.Lives())
            bySlot[life.slot].push_back(&life);
        for (auto& [slot, lives] : bySlot)
        {
            std::sort(lives.begin(), lives.end(),
                      [](const Life* a, const Life* b)
                      { return std::pair(a->first, a->last) < std::pair(b->first, b->last); });
            for (size_t i = 0; i < lives.size(); i++)
                for (size_t k = i + 1; k < lives.size() && lives[k]->first <= lives[i]->last; k++)
                    if (!AreAliases(*lives[i], *lives[k]))
                        Reject(Describe(*lives[i]), " and ", Describe(*lives[k]), " are both alive at time ",
                               lives[k]->first, " in slot ", slot);
        }
    }

    const Life& EndOfAliases(const Life& life) const
    {
        const Life* end = &life;
        if (life.what == What::Value && life.inPlaceWith != nullptr)
            end = &ReplacementOf(life);
        for (size_t guard = 0; end->aliasOf != nullptr; guard++)
        {
            if (guard > m_lives.size())
                Reject(Describe(life), " is an alias of itself");
            end = &Find(*end->aliasOf, What::Gradient, 0);
        }
        return *end;
    }

    bool AreAliases(const Life& a, const Life& b) const { return &EndOfAliases(a) == &EndOfAliases(b); }

    // Returns the temporary that takes over the memory of a value. It must be allowed to, and be the only one of its
    // consumer.
    const Life& ReplacementOf(const Life& value) const
    {
        const ComputationNode& consumer = *value.inPlaceWith;
        const std::vector<TemporarySpec> specs = consumer.Temporaries();
        const Life* found = nullptr;
        for (size_t i = 0; i < specs.size(); i++)
        {
            const Life& life = Find(consumer, What::Temporary, i);
            if (life.inPlaceWith != value.node || specs[i].valueOfInput < 0 ||
                consumer.Input(size_t(specs[i].valueOfInput)).get() != value.node)
                continue;
            if (found != nullptr)
                Reject(Describe(value), " is replaced twice");
            found = &life;
        }
        if (found == nullptr || found->slot != value.slot || found->first != value.last)
            Reject(Describe(value), " cannot be replaced by a temporary of '", consumer.Name(), "'");
        return *found;
    }

    // Lists the nodes that add to this node's gradient, each as often as it adds.
    std::vector<const ComputationNode*> GradientUsesOf(const ComputationNode& added) const
    {
        std::vector<const ComputationNode*> uses;
        for (const PlanStep& step : m_plan.Steps())
            for (const ComputationNodePtr& node : step.nodes)
                if (m_plan.NeedsGradient(node.get()))
                    for (const ComputationNodePtr& input : node->Inputs())
                        if (input.get() == &added)
                            uses.push_back(node.get());
        return uses;
    }

    // Checks that the consumer of an aliased gradient is the only one to add to it, and does not disturb other readers
    // of its own gradient.
    void CheckAliases() const
    {
        std::unordered_map<const ComputationNode*, const ComputationNode*> aliasOfConsumer;
        for (const Life& life : m_memory.Lives())
        {
            if (life.aliasOf == nullptr)
                continue;
            if (life.what == What::Temporary)
            {
                CheckReplaced(life);
                continue;
            }
            const ComputationNode& consumer = *life.aliasOf;
            const std::vector<const ComputationNode*> uses = GradientUsesOf(*life.node);
            const NodeTraits& traits = consumer.Type().traits;
            const bool allowed = traits.gradientPassesThrough ||
                                 (traits.backpropInPlace && traits.backpropOverwrites && consumer.InputCount() == 1);
            if (uses.size() != 1 || uses.front() != &consumer || !allowed || life.node->IsTrainableLeaf() ||
                life.slot != Find(consumer, What::Gradient, 0).slot)
                Reject(Describe(life), " cannot be the memory of the gradient of '", consumer.Name(), "'");
            if (!aliasOfConsumer.emplace(&consumer, life.node).second)
                Reject("the gradients of '", aliasOfConsumer[&consumer]->Name(), "' and '", life.node->Name(),
                       "' are both the memory of the gradient of '", consumer.Name(), "'");
        }
    }

    // Checks a temporary that becomes an input's gradient: the node must overwrite the gradient, and no earlier call
    // may have added to it.
    void CheckReplaced(const Life& life) const
    {
        const TemporarySpec spec = life.node->Temporaries()[life.index];
        const ComputationNode& input = *life.aliasOf;
        bool isPossible = spec.gradientOfInput >= 0 && life.node->Type().traits.backpropOverwrites &&
                          life.node->Input(size_t(spec.gradientOfInput)).get() == &input && !input.IsTrainableLeaf() &&
                          life.slot == Find(input, What::Gradient, 0).slot;
        bool isBehind = false; // the loop has reached or passed the node in plan order
        size_t uses = 0;
        for (const PlanStep& step : m_plan.Steps())
            for (const ComputationNodePtr& node : step.nodes)
            {
                isBehind = isBehind || node.get() == life.node;
                for (const ComputationNodePtr& read : node->Inputs())
                {
                    if (read.get() != &input || !m_plan.NeedsGradient(node.get()))
                        continue;
                    uses += node.get() == life.node;
                    isPossible = isPossible && (!isBehind || node.get() == life.node);
                }
            }
        if (!isPossible || uses != 1)
            Reject(Describe(life), " cannot be the memory of the gradient of '", input.Name(), "'");
    }

    const EvaluationPlan& m_plan;
    const MemoryPlan& m_memory;
    size_t m_end = 0;
    std::map<std::tuple<const ComputationNode*, What, size_t>, const Life*> m_lives;
    std::unordered_map<const ComputationNode*, const ComputationNode*> m_inside; // fused node -> the next of its chain
    // embedding -> the products that keep it in their memory
    std::unordered_map<const ComputationNode*, std::unordered_set<const ComputationNode*>> m_lookups;
};

} // namespace

void CheckPlan(const EvaluationPlan& plan, const MemoryPlan& memory)
{
    Checker(plan, memory).Run();
}

} // namespace cntk
