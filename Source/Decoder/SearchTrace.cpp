// Forgetting what can no longer become a result.
#include "Decoder/SearchTrace.h"

#include <algorithm>
#include <bit>

namespace cntk
{

namespace
{

constexpr size_t c_firstLimit = size_t(1) << 17;
constexpr size_t c_bits = 64; // of an element of m_reached

} // namespace

void SearchTrace::Begin(bool keepsLinks, float latticeBeam)
{
    m_keepsLinks = keepsLinks;
    m_latticeBeam = latticeBeam;
    m_tokens.clear();
    m_links.clear();
    m_firstOfFrame.clear();
    m_endOfFrame.clear();
    m_ends.clear();
    m_limit = c_firstLimit;
    Add(0, c_noToken);
}

void SearchTrace::ClearReached()
{
    m_reached.assign(m_tokens.size() / c_bits + 1, 0);
    if (m_losses.size() < m_tokens.size())
        m_losses.resize(m_tokens.size());
}

// Adds a path over the token, if the path is within the beam. Most tokens are never reached and cost no time.
inline void SearchTrace::Reach(uint32_t token, float loss)
{
    if (!(loss <= m_latticeBeam))
        return;
    uint64_t& bits = m_reached[token / c_bits];
    const uint64_t bit = uint64_t(1) << (token % c_bits);
    m_losses[token] = (bits & bit) != 0 ? std::min(m_losses[token], loss) : loss;
    bits |= bit;
}

// Follows the ways to reached tokens backwards, and drops the links that are on no path within the beam.
void SearchTrace::SpreadLosses()
{
    size_t link = m_links.size();
    size_t firstKept = link;
    for (size_t at = m_reached.size(); at-- > 0;)
    {
        uint64_t open = ~uint64_t(0); // earlier tokens can be reached from later ones of the same word of bits
        while ((m_reached[at] & open) != 0)
        {
            const auto highest = unsigned(std::bit_width(m_reached[at] & open) - 1);
            open = (uint64_t(1) << highest) - 1;
            const auto token = uint32_t(at * c_bits + highest);
            if (token == 0)
                break; // the start
            const float loss = m_losses[token];
            Reach(m_tokens[token].previous, loss);
            while (link > 0 && m_links[link - 1].to > token)
                --link;
            for (; link > 0 && m_links[link - 1].to == token; --link)
                if (const TraceLink& way = m_links[link - 1]; loss + way.loss <= m_latticeBeam)
                {
                    Reach(way.from, loss + way.loss);
                    m_links[--firstKept] = way;
                }
        }
    }
    m_links.erase(m_links.begin(), m_links.begin() + ptrdiff_t(firstKept));
}

void SearchTrace::CountReached()
{
    m_counts.clear();
    uint32_t count = 0;
    for (const uint64_t bits : m_reached)
    {
        m_counts.push_back(count);
        count += uint32_t(std::popcount(bits));
    }
}

// The number of reached tokens before this one.
uint32_t SearchTrace::NumberOf(uint32_t token) const
{
    const uint64_t before = (uint64_t(1) << (token % c_bits)) - 1;
    return m_counts[token / c_bits] + uint32_t(std::popcount(m_reached[token / c_bits] & before));
}

// Keeps the tokens and links on paths within the beam.
void SearchTrace::KeepReached()
{
    SpreadLosses();
    m_reached[0] |= 1; // the start
    CountReached();
    uint32_t count = 0;
    for (size_t at = 0; at < m_reached.size(); ++at)
        for (uint64_t bits = m_reached[at]; bits != 0; bits &= bits - 1)
        {
            const TraceToken token = m_tokens[at * c_bits + size_t(std::countr_zero(bits))];
            m_tokens[count++] = {token.where, token.previous == c_noToken ? c_noToken : NumberOf(token.previous)};
        }
    for (TraceLink& link : m_links)
        link = {NumberOf(link.from), NumberOf(link.to), link.loss};
    // The first token of a frame may be gone; the next one that is left takes its place.
    for (uint32_t& bound : m_firstOfFrame)
        bound = NumberOf(bound);
    for (uint32_t& bound : m_endOfFrame)
        bound = NumberOf(bound);
    m_tokens.resize(count);
}

void SearchTrace::Forget(std::vector<uint32_t>& living)
{
    ClearReached();
    for (const uint32_t token : living)
        Reach(token, 0);
    KeepReached();
    for (uint32_t& token : living)
        token = NumberOf(token);
    m_limit = std::max(c_firstLimit, 2 * m_tokens.size());
}

void SearchTrace::Finish(std::vector<TraceEnd> ends)
{
    std::stable_sort(ends.begin(), ends.end(), [](const TraceEnd& a, const TraceEnd& b) { return a.loss < b.loss; });
    ClearReached();
    for (const TraceEnd& end : ends)
        Reach(end.token, end.loss);
    KeepReached();
    for (const TraceEnd& end : ends)
        if (end.loss <= m_latticeBeam && (m_keepsLinks || m_ends.empty()))
            m_ends.push_back({NumberOf(end.token), end.loss});
}

size_t SearchTrace::Bytes() const
{
    return m_tokens.capacity() * sizeof(TraceToken) + m_links.capacity() * sizeof(TraceLink);
}

} // namespace cntk
