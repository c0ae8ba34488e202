// Forgetting what can no longer become a result.
#include "Decoder/SearchTrace.h"

#include <algorithm>
#include <limits>

namespace cntk
{

namespace
{

constexpr size_t c_firstLimit = size_t(1) << 17;
constexpr float c_unreached = std::numeric_limits<float>::infinity();

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

// losses: how far the best path over a token is from the best one. Known for the last tokens; spreads backwards.
void SearchTrace::FindLosses(std::vector<float>& losses) const
{
    size_t link = m_links.size();
    for (size_t i = m_tokens.size(); i-- > 1;)
    {
        const float loss = losses[i];
        float& best = losses[m_tokens[i].previous];
        best = std::min(best, loss);
        for (; link > 0 && m_links[link - 1].to == i; --link)
        {
            float& other = losses[m_links[link - 1].from];
            other = std::min(other, loss + m_links[link - 1].loss);
        }
    }
}

// Keeps the tokens and links on paths within the lattice beam. numbers: the new number of each token.
void SearchTrace::Keep(std::vector<float>& losses, std::vector<uint32_t>& numbers)
{
    FindLosses(losses);
    losses[0] = 0;
    numbers.assign(m_tokens.size(), c_noToken);
    uint32_t count = 0;
    for (size_t i = 0; i < m_tokens.size(); ++i)
    {
        if (losses[i] > m_latticeBeam)
            continue;
        const TraceToken token = m_tokens[i];
        numbers[i] = count;
        m_tokens[count++] = {token.where, i == 0 ? c_noToken : numbers[token.previous]};
    }
    size_t links = 0;
    for (const TraceLink& link : m_links)
        if (losses[link.to] + link.loss <= m_latticeBeam)
            m_links[links++] = {numbers[link.from], numbers[link.to], link.loss};
    m_links.resize(links);
    // The first token of a frame may be gone; the next one that is left takes its place.
    uint32_t kept = 0;
    size_t token = 0;
    const auto renumber = [&](uint32_t& bound)
    {
        for (; token < bound; ++token)
            kept += numbers[token] != c_noToken ? 1 : 0;
        bound = kept;
    };
    for (size_t frame = 0; frame < m_firstOfFrame.size(); ++frame)
    {
        renumber(m_firstOfFrame[frame]);
        if (frame < m_endOfFrame.size())
            renumber(m_endOfFrame[frame]);
    }
    m_tokens.resize(count);
}

void SearchTrace::Forget(std::vector<uint32_t>& living)
{
    m_losses.assign(m_tokens.size(), c_unreached);
    for (const uint32_t token : living)
        m_losses[token] = 0;
    std::vector<uint32_t> numbers;
    Keep(m_losses, numbers);
    for (uint32_t& token : living)
        token = numbers[token];
    m_limit = std::max(c_firstLimit, 2 * m_tokens.size());
}

void SearchTrace::Finish(std::vector<TraceEnd> ends)
{
    std::stable_sort(ends.begin(), ends.end(), [](const TraceEnd& a, const TraceEnd& b) { return a.loss < b.loss; });
    m_losses.assign(m_tokens.size(), c_unreached);
    for (const TraceEnd& end : ends)
        m_losses[end.token] = std::min(m_losses[end.token], end.loss);
    std::vector<uint32_t> numbers;
    Keep(m_losses, numbers);
    for (const TraceEnd& end : ends)
        if (end.loss <= m_latticeBeam && (m_keepsLinks || m_ends.empty()))
            m_ends.push_back({numbers[end.token], end.loss});
}

size_t SearchTrace::Bytes() const
{
    return m_tokens.capacity() * sizeof(TraceToken) + m_links.capacity() * sizeof(TraceLink);
}

} // namespace cntk
