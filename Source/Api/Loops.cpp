// Loops that placeholders close: reference counting alone never frees them.
#include "Api/Node.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace cntk::Api
{

namespace
{

// The nodes and placeholders of all cycles through a placeholder.
std::vector<Node*> NodesOfLoop(const NodePtr& placeholder)
{
    const std::vector<NodePtr> below = Below({placeholder});
    std::unordered_map<const Node*, std::vector<Node*>> consumers; // of nodes and of placeholders
    for (const NodePtr& node : below)
        for (const NodePtr& input : node->inputs)
            for (const Node* each = input.get(); each != nullptr; each = each->replacement.get())
                consumers[each].push_back(node.get());
    // All nodes that read the placeholder, directly or not, and that it stands for, directly or not.
    std::vector<Node*> loop;
    std::unordered_map<const Node*, bool> isSeen;
    std::vector<const Node*> open = {placeholder.get()};
    while (!open.empty())
    {
        const Node* const node = open.back();
        open.pop_back();
        for (Node* consumer : consumers[node])
            if (!std::exchange(isSeen[consumer], true))
            {
                loop.push_back(consumer);
                open.push_back(consumer);
            }
    }
    // The placeholders between them.
    const std::vector<Node*> nodes = loop;
    for (const Node* node : nodes)
        for (const NodePtr& input : node->inputs)
            for (Node* each = input.get(); each->replacement != nullptr; each = each->replacement.get())
                if (isSeen[Resolved(input).get()] && !std::exchange(isSeen[each], true))
                    loop.push_back(each);
    return loop;
}

// True if only nodes of the loop own its nodes.
bool IsUnused(const std::vector<Node*>& loop, const NodePtr& held)
{
    std::unordered_map<const Node*, long> owners;
    for (const Node* node : loop)
    {
        for (const NodePtr& input : node->inputs)
            owners[input.get()]++;
        if (node->replacement)
            owners[node->replacement.get()]++;
    }
    return std::all_of(loop.begin(), loop.end(),
                       [&](Node* node)
                       {
                           const long others = node == held.get() ? 1 : 0; // the caller's reference
                           return node->weak_from_this().use_count() == owners[node] + others;
                       });
}

} // namespace

void Context::AddLoop(const std::shared_ptr<Node>& placeholder)
{
    if (m_loops.size() >= m_loopsAtNextFreeing)
        FreeLoops();
    m_loops.push_back(placeholder);
}

void Context::FreeLoops()
{
    for (const std::weak_ptr<Node>& entry : m_loops)
    {
        const NodePtr placeholder = entry.lock();
        if (placeholder == nullptr || placeholder->replacement == nullptr)
            continue;
        const std::vector<Node*> loop = NodesOfLoop(placeholder);
        if (!loop.empty() && IsUnused(loop, placeholder))
            placeholder->replacement = nullptr;
    }
    std::erase_if(m_loops, [](const std::weak_ptr<Node>& entry) { return entry.expired(); });
    m_loopsAtNextFreeing = 2 * m_loops.size() + 16;
}

} // namespace cntk::Api
