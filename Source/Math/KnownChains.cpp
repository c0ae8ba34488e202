// Compares chains with the tables, link by link.
#include "Math/KnownChains.h"

#include "Math/ElementwiseChain.h"

#include <array>

namespace cntk
{

namespace
{

using Place = ElementwiseLink::Place;

bool IsSame(const Place& a, const Place& b)
{
    return a.data == b.data && a.stride == b.stride && a.isOfStep == b.isOfStep && a.temporary == b.temporary;
}

// Which place stands for each operand of a known chain.
class Places
{
public:
    explicit Places(const KnownChain& known) : m_known(known) {}

    bool Reads(const Place& place, size_t operand)
    {
        if (!m_known.IsTemporary(operand))
            return Knows(place, operand);
        return m_places[operand] != nullptr && IsSame(*m_places[operand], place);
    }

    // A temporary's place may have been another one's, which nobody reads any more.
    bool Writes(const Place& place, size_t operand, bool adds)
    {
        if (!m_known.IsTemporary(operand))
            return Knows(place, operand);
        if (adds)
            return Reads(place, operand);
        if (place.temporary == ElementwiseLink::c_kept)
            return false;
        for (size_t i = m_known.firstTemporary; i < m_known.operandCount; ++i)
            if (m_places[i] != nullptr && m_places[i]->temporary == place.temporary)
                m_places[i] = nullptr;
        m_places[operand] = &place;
        return true;
    }

private:
    // The place of this operand alone.
    bool Knows(const Place& place, size_t operand)
    {
        if (place.temporary != ElementwiseLink::c_kept)
            return false;
        if (m_places[operand] != nullptr)
            return IsSame(*m_places[operand], place);
        for (size_t i = 0; i < m_known.firstTemporary; ++i)
            if (m_places[i] != nullptr && m_places[i]->data == place.data)
                return false;
        m_places[operand] = &place;
        return true;
    }

    const KnownChain& m_known;
    std::array<const Place*, KnownChain::c_mostOperands> m_places{};
};

bool IsIt(const ElementwiseChain& chain, const KnownChain& known)
{
    if (chain.links.size() != known.linkCount)
        return false;
    Places places(known);
    for (size_t i = 0; i < known.linkCount; ++i)
    {
        const ElementwiseLink& link = chain.links[i];
        const KnownChain::Link& expected = known.links[i];
        if (link.op != expected.op || link.alpha != 1 || link.beta != (expected.adds ? 1 : 0) ||
            !places.Reads(link.inputs[0], expected.first) ||
            (ArityOf(link.op) > 1 && !places.Reads(link.inputs[1], expected.second)) ||
            !places.Writes(link.output, expected.output, expected.adds))
            return false;
    }
    return true;
}

} // namespace

int KnownChains::Find(const ElementwiseChain& chain)
{
    for (size_t i = 0; i < c_count; ++i)
        if (IsIt(chain, c_all[i]))
            return int(i);
    return c_none;
}

} // namespace cntk
