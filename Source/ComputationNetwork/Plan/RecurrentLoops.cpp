// Finds the loops of a network and the faults of loops that cannot run.
#include "ComputationNetwork/Plan/RecurrentLoops.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

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

std::string ListNames(const std::vector<ComputationNodePtr>& nodes)
{
    std::vector<const ComputationNode*> pointers;
    for (const ComputationNodePtr& node : nodes)
        pointers.push_back(node.get());
    return ListNames(pointers);
}

std::string Quoted(const ComputationNode& node)
{
    return "'" + node.Name() + "' (" + node.TypeName() + ")";
}

// Finds the order of evaluation and the loops in one depth-first walk.
class LoopFinder
{
public:
    explicit LoopFinder(const std::vector<ComputationNodePtr>& roots)
    {
        for (const ComputationNodePtr& root : roots)
            if (!m_marks.contains(root.get()))
                Walk(root);
    }

    // Returns the strongly connected components, inputs before consumers, and the nodes of each in depth-first order.
    std::vector<std::vector<ComputationNodePtr>> TakeComponents() { return std::move(m_components); }

private:
    struct Mark
    {
        size_t index;    // in order of discovery
        size_t lowest;   // lowest index known to be reachable within the component
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
                if (!input) // the network is being edited
                    continue;
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

// Finds the order of one time step: a walk that does not pass through delay nodes.
class StepWalk
{
public:
    explicit StepWalk(const std::vector<ComputationNodePtr>& loop)
    {
        for (const ComputationNodePtr& node : loop)
            m_members.insert(node.get());
    }

    // Appends the node and those that it depends on within the step, unless they are already listed.
    void Visit(const ComputationNodePtr& start)
    {
        Open(start);
        while (!m_stack.empty())
        {
            auto& [node, nextInput] = m_stack.back();
            if (!node->Type().traits.isDelay && nextInput < node->InputCount())
            {
                const ComputationNodePtr& input = node->Input(nextInput++);
                if (m_members.contains(input.get()) && !Open(input) && !m_isFinished.at(input.get()))
                    FailWithoutDelay(input);
                continue;
            }
            m_isFinished[node.get()] = true;
            m_order.push_back(std::move(node));
            m_stack.pop_back();
        }
    }
    std::vector<ComputationNodePtr> TakeOrder() { return std::move(m_order); }

private:
    // Returns false if the node was visited before.
    bool Open(const ComputationNodePtr& node)
    {
        const bool isNew = m_isFinished.emplace(node.get(), false).second;
        if (isNew)
            m_stack.emplace_back(node, 0);
        return isNew;
    }
    // Fails: the open nodes from this one on are a cycle without a delay.
    [[noreturn]] void FailWithoutDelay(const ComputationNodePtr& first) const
    {
        auto open =
            std::find_if(m_stack.begin(), m_stack.end(), [&](const auto& visited) { return visited.first == first; });
        std::vector<const ComputationNode*> cycle;
        for (; open != m_stack.end(); ++open)
            cycle.push_back(open->first.get());
        Fail(ErrorKind::Model, "the nodes ", ListNames(cycle),
             " form a loop without a delay; a recurrent loop needs a PastValue or FutureValue node");
    }

    std::unordered_set<const ComputationNode*> m_members;
    std::unordered_map<const ComputationNode*, bool> m_isFinished; // per opened node: all its inputs are visited
    std::vector<std::pair<ComputationNodePtr, size_t>> m_stack;    // with the next input of each
    std::vector<ComputationNodePtr> m_order;
};

// Returns the nodes of one time step that only delay nodes inside the loop consume.
std::vector<ComputationNodePtr> LastOfStep(const std::vector<ComputationNodePtr>& loop)
{
    std::unordered_set<const ComputationNode*> consumed;
    for (const ComputationNodePtr& node : loop)
        if (!node->Type().traits.isDelay)
            for (const ComputationNodePtr& input : node->Inputs())
                consumed.insert(input.get());
    std::vector<ComputationNodePtr> last = loop;
    std::erase_if(last, [&](const ComputationNodePtr& node) { return consumed.contains(node.get()); });
    return last;
}

} // namespace

std::vector<std::vector<ComputationNodePtr>> ComponentsBelow(const std::vector<ComputationNodePtr>& roots)
{
    return LoopFinder(roots).TakeComponents();
}

bool IsLoop(const std::vector<ComputationNodePtr>& component)
{
    const auto& inputs = component.front()->Inputs();
    return component.size() > 1 || std::find(inputs.begin(), inputs.end(), component.front()) != inputs.end();
}

std::vector<ComputationNodePtr> OrderOfOneStep(const std::vector<ComputationNodePtr>& loop)
{
    StepWalk walk(loop);
    for (const ComputationNodePtr& node : LastOfStep(loop))
        walk.Visit(node);
    for (const ComputationNodePtr& node : loop) // a cycle without a delay has no last node
        walk.Visit(node);
    return walk.TakeOrder();
}

std::optional<LoopFault> FaultOfStructure(const std::vector<ComputationNodePtr>& loop)
{
    const ComputationNode* delay = nullptr;
    for (const ComputationNodePtr& node : loop)
    {
        const NodeTraits& traits = node->Type().traits;
        if (traits.isDelay && delay == nullptr)
            delay = node.get();
        else if (traits.isDelay && delay->Type().traits.delayDirection != traits.delayDirection)
            return LoopFault{Concat("the delay nodes ", Quoted(*delay), " and ", Quoted(*node),
                                    " of one recurrent loop point in opposite directions; the nodes of the loop are ",
                                    ListNames(loop)),
                             node.get()};
        if (traits.needsWholeMinibatch)
            return LoopFault{Concat("node ", Quoted(*node),
                                    " needs the whole minibatch at once and cannot be part of a recurrent loop; the "
                                    "nodes of the loop are ",
                                    ListNames(loop)),
                             node.get()};
        for (size_t i = 0; i < node->InputCount(); i++)
            if ((traits.inputsReadWhole >> i & 1) != 0 &&
                std::find(loop.begin(), loop.end(), node->Input(i)) != loop.end())
                return LoopFault{Concat("node ", Quoted(*node), " reads all time steps of its input ",
                                        Quoted(*node->Input(i)),
                                        ", which cannot be part of the same recurrent loop; the nodes of the loop are ",
                                        ListNames(loop)),
                                 node.get()};
    }
    return std::nullopt;
}

std::optional<LoopFault> FaultOfShapes(const std::vector<ComputationNodePtr>& loop)
{
    for (const ComputationNodePtr& node : loop)
    {
        if (!node->Type().traits.isDelay)
            continue;
        const ComputationNode& input = *node->Input(0);
        if (node->SampleLayout() != input.SampleLayout())
            return LoopFault{Concat("the dimensions of a recurrent loop contradict each other: with [",
                                    node->SampleLayout().ToString(), "] of ", Quoted(*node), " its input ",
                                    Quoted(input), " gets [", input.SampleLayout().ToString(),
                                    "]; expected the same; the nodes of the loop are ", ListNames(loop)),
                             node.get()};
    }
    return std::nullopt;
}

std::optional<LoopFault> FaultOf(const std::vector<ComputationNodePtr>& loop)
{
    if (std::optional<LoopFault> fault = FaultOfStructure(loop))
        return fault;
    for (const ComputationNodePtr& node : loop)
        if (!node->HasMBLayout() || node->GetMBLayout() != loop.front()->GetMBLayout())
            return LoopFault{Concat("node ", Quoted(*node), " is part of a recurrent loop, but ",
                                    node->HasMBLayout() ? "has another minibatch layout than the loop's other nodes"
                                                        : "depends on no minibatch data",
                                    "; the nodes of the loop are ", ListNames(loop)),
                             node.get()};
    return std::nullopt;
}

} // namespace cntk
