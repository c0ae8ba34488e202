// Turns nodes' passes into fused operations: pointers and column distances, and which results need no memory.
#include "ComputationNetwork/Loops/LoopChain.h"

#include <algorithm>
#include <unordered_map>

namespace cntk
{

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
