// One frame of the search: cross word arcs, enter places, prune, and record what is kept.
#include "Decoder/TokenSearch.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

namespace cntk
{

namespace
{

constexpr float c_lowest = -std::numeric_limits<float>::infinity();
constexpr size_t c_cachedSteps = size_t(1) << 14;
constexpr size_t c_firstSlots = 1024;
constexpr size_t c_bins = 128;

size_t HashOf(uint64_t key)
{
    key *= 0x9E3779B97F4A7C15ull;
    return size_t(key >> 32);
}

} // namespace

TokenSearch::TokenSearch(const DecodingGraph& graph, const std::vector<uint32_t>& rowOfState,
                         const SearchSettings& settings)
    : m_graph(graph), m_rowOfState(rowOfState), m_settings(settings), m_cache(c_cachedSteps),
      m_acoustic(graph.StateNames().size())
{
}

void TokenSearch::Begin(WordScorer& scorer)
{
    if (m_scorer != &scorer || !scorer.KeepsHistories())
    {
        std::fill(m_cache.begin(), m_cache.end(), CachedStep());
        m_largestGain = 0;
        for (uint32_t word = 0; word < m_graph.Words().size(); ++word)
            m_largestGain = std::max(m_largestGain, scorer.LargestLogProbability(word) - m_graph.Lookahead(word));
    }
    m_scorer = &scorer;
    m_trace.Begin(m_settings.keepsLinks, m_settings.latticeBeam);
    m_counts = {};
    m_isPartial = false;
    m_tokens.clear();
    m_wordTokens.clear();
    m_startHistory = scorer.Begin();
    m_lastWidth = 0;
}

void TokenSearch::Advance(const float* scores)
{
    WeighScores(scores);
    m_trace.BeginFrame();
    SelectAndCommit();
    m_trace.EndFrame();
    ++m_counts.frames;
    m_counts.tokens += m_tokens.size();
    if (m_trace.IsFull())
    {
        std::vector<uint32_t> living;
        for (const Token& token : m_tokens)
            living.push_back(token.trace);
        m_trace.Forget(living);
        for (size_t i = 0; i < living.size(); ++i)
            m_tokens[i].trace = living[i];
    }
}

void TokenSearch::WeighScores(const float* scores)
{
    m_bestAcoustic = c_lowest;
    for (size_t state = 0; state < m_acoustic.size(); ++state)
    {
        m_acoustic[state] = m_settings.acweight * scores[m_rowOfState[state]];
        m_bestAcoustic = std::max(m_bestAcoustic, m_acoustic[state]);
    }
}

void TokenSearch::ClearSlots(size_t expected)
{
    size_t size = c_firstSlots;
    while (size < 4 * expected)
        size *= 2;
    m_slots.assign(size, 0);
}

// Returns the slot of the item with this key: its number plus 1, or 0 for a new key.
template <class Item>
inline uint32_t& TokenSearch::FindSlot(uint64_t key, const std::vector<Item>& items)
{
    const size_t mask = m_slots.size() - 1;
    size_t at = HashOf(key) & mask;
    while (m_slots[at] != 0 && items[m_slots[at] - 1].Key() != key)
        at = (at + 1) & mask;
    return m_slots[at];
}

template <class Item>
inline void TokenSearch::AddItem(uint32_t& slot, std::vector<Item>& items, const Item& item)
{
    items.push_back(item);
    slot = uint32_t(items.size());
    if (2 * items.size() <= m_slots.size())
        return;
    m_slots.assign(2 * m_slots.size(), 0);
    for (size_t i = 0; i < items.size(); ++i)
        FindSlot(items[i].Key(), items) = uint32_t(i + 1);
}

const WordScorer::Step& TokenSearch::StepOf(uint32_t history, uint32_t word)
{
    CachedStep& cached = m_cache[HashOf(TokenKey(word, history)) & (c_cachedSteps - 1)];
    if (cached.history != history || cached.word != word)
        cached = {history, word, m_scorer->Extend(history, word)};
    return cached.step;
}

// Fills m_crossings with the paths that have crossed word arcs since the last frame. Before the first frame the start
// itself is such a path.
void TokenSearch::CrossWords()
{
    m_crossings.clear();
    m_crossingLinks.clear();
    m_bestCrossing = c_lowest;
    ClearSlots(0);
    const std::span<const float> forward = m_graph.ForwardScores();
    if (m_counts.frames == 0)
        AddCrossings(0, 0, 0, m_startHistory, 0);
    for (size_t i = 0; i < m_wordTokens.size(); ++i)
    {
        m_graph.PrefetchWordArcs(m_tokens[m_wordTokens[std::min(i + 2, m_wordTokens.size() - 1)]].node);
        const Token& token = m_tokens[m_wordTokens[i]];
        AddCrossings(token.node, token.score + forward[token.State()], token.slack, token.history, token.trace);
    }
    // A crossing is complete when all crossings of lower levels have been extended.
    for (uint32_t level = 1; level < m_graph.LongestWordChain(); ++level)
        for (size_t i = 0; i < m_crossings.size(); ++i)
        {
            const Crossing crossing = m_crossings[i];
            if (m_graph.WordLevel(crossing.node) == level)
                AddCrossings(crossing.node, crossing.score, crossing.slack, crossing.history,
                             uint32_t(i) | c_wordTokenBit);
        }
    if (m_counts.frames == 0) // the start itself, after the crossings that have slots
        m_crossings.push_back({0, 0, 0, 0, m_startHistory, c_noToken, 0, c_noToken});
}

void TokenSearch::AddCrossings(uint32_t node, float score, float slack, uint32_t history, uint32_t previous)
{
    const std::span<const GraphWordArc> wordArcs = m_graph.WordArcsOf(node);
    const auto first = uint32_t(wordArcs.data() - m_graph.WordArcs().data());
    for (uint32_t i = 0; i < wordArcs.size(); ++i)
    {
        const GraphWordArc& arc = wordArcs[i];
        // Slack makes up for the language model, so score + slack is known before the model is asked.
        if (score - arc.cost + slack + m_wordMargin < m_threshold)
        {
            m_hasRejected = true;
            continue;
        }
        const WordScorer::Step step = StepOf(history, arc.word);
        const float change = step.logProbability - m_graph.Lookahead(arc.word);
        const float total = score - arc.cost + change;
        if (!(total > c_lowest))
            continue;
        const float newSlack = m_settings.slackDecay > 0 ? slack + std::max(0.0F, -change) : 0.0F;
        uint32_t& slot = FindSlot(TokenKey(first + i, step.history), m_crossings);
        if (slot == 0)
            AddItem(slot, m_crossings,
                    {total, newSlack, first + i, arc.node, step.history, previous, c_noToken, c_noToken});
        else
            Improve(m_crossings[slot - 1], total, newSlack, previous, m_crossingLinks);
        m_bestCrossing = std::max(m_bestCrossing, total);
    }
}

// The token of the trace for a `previous`, which may be another crossing.
inline uint32_t TokenSearch::TraceOf(uint32_t previous) const
{
    return (previous & c_wordTokenBit) != 0 ? m_crossings[previous & ~c_wordTokenBit].trace : previous;
}

// Takes another way to an item: the better one is the item's, the worse one becomes a link.
template <class Item>
inline void TokenSearch::Improve(Item& item, float score, float slack, uint32_t previous,
                                 std::vector<CandidateLink>& links) const
{
    CandidateLink link{previous, item.link, score};
    if (score > item.score)
    {
        link.from = item.previous;
        link.score = item.score;
        item.score = score;
        item.slack = slack;
        item.previous = previous;
    }
    if (!m_settings.keepsLinks || link.score < item.score - m_settings.latticeBeam)
        return; // on no path within the lattice beam
    item.link = uint32_t(links.size());
    links.push_back(link);
}

inline void TokenSearch::CommitLinks(uint32_t first, const std::vector<CandidateLink>& links, float score,
                                     uint32_t token)
{
    for (uint32_t i = first; i != c_noToken; i = links[i].next)
        if (const float loss = score - links[i].score; loss <= m_settings.latticeBeam)
            m_trace.AddLink(TraceOf(links[i].from), token, loss);
}

// Adds the crossings within the beam to the trace. Of chains all are added.
void TokenSearch::CommitCrossings(float wordBeam)
{
    const uint32_t levels = std::max(m_graph.LongestWordChain(), 1U);
    const float threshold = levels > 1 ? c_lowest : m_bestCrossing - wordBeam;
    // Crossings of a chain follow the ones that they extend, because levels are committed in order.
    for (uint32_t level = 1; level <= levels; ++level)
        for (Crossing& crossing : m_crossings)
            if (crossing.trace == c_noToken && crossing.score >= threshold &&
                (levels == 1 || m_graph.WordLevel(crossing.node) == level))
            {
                crossing.trace = m_trace.Add(crossing.wordArc | c_wordTokenBit, TraceOf(crossing.previous));
                CommitLinks(crossing.link, m_crossingLinks, crossing.score, crossing.trace);
            }
}

// The best score that the arcs of a node lead to.
float TokenSearch::BoundFrom(uint32_t node, float score) const
{
    float bound = c_lowest;
    for (const GraphArc& arc : m_graph.ArcsOf(node))
        bound = std::max(bound, score - arc.cost - (arc.LeavesSilence() ? m_settings.silenceCost : 0.0F) +
                                    m_acoustic[arc.State()]);
    return bound;
}

// Sets the threshold of a frame from the successors of the best token, which bound the best score from below.
void TokenSearch::SetThreshold(float width)
{
    float bound = c_lowest;
    if (!m_tokens.empty())
    {
        const Token& best = m_tokens[m_bestToken];
        const uint32_t state = best.State();
        bound = std::max(best.score + m_graph.SelfScores()[state] + m_acoustic[state],
                         BoundFrom(best.node, best.score + m_graph.ForwardScores()[state]));
    }
    m_hasRejected = false;
    m_width = width;
    m_threshold = bound - width;
    m_wordMargin = m_graph.LongestWordChain() > 1 ? -c_lowest : m_bestAcoustic + m_largestGain - m_graph.LeastArcCost();
}

// Fills m_candidates with the tokens of the frame whose score and slack are within the width of the best.
void TokenSearch::EnterPlaces()
{
    m_links.clear();
    m_best = c_lowest;
    ClearSlots(std::max(m_tokens.size(), m_candidates.size()));
    m_candidates.clear();
    const std::span<const float> forward = m_graph.ForwardScores();
    const std::span<const float> self = m_graph.SelfScores();
    for (size_t i = 0; i < m_tokens.size(); ++i)
    {
        m_graph.PrefetchArcs(m_tokens[std::min(i + 4, m_tokens.size() - 1)].node);
        const Token& token = m_tokens[i];
        const uint32_t state = token.State();
        Relax(token.place, token.state, token.history, token.score + self[state] + m_acoustic[state], token.slack,
              token.trace);
        EnterFrom(token.node, token.score + forward[state], token.slack, token.history, token.trace);
    }
    for (size_t i = 0; i < m_crossings.size(); ++i)
        if (const Crossing& crossing = m_crossings[i];
            crossing.score >= m_bestCrossing - m_settings.wordBeam || crossing.trace == 0) // the start
            EnterFrom(crossing.node, crossing.score, crossing.slack, crossing.history, uint32_t(i) | c_wordTokenBit);
}

inline void TokenSearch::EnterFrom(uint32_t node, float score, float slack, uint32_t history, uint32_t previous)
{
    for (const GraphArc& arc : m_graph.ArcsOf(node))
    {
        // Arcs are sorted by cost: no later one can reach the threshold either.
        if (score - arc.cost + m_bestAcoustic + slack < m_threshold)
        {
            m_hasRejected = true;
            return;
        }
        const float cost = arc.LeavesSilence() ? arc.cost + m_settings.silenceCost : arc.cost;
        Relax(arc.Place(), arc.state, history, score - cost + m_acoustic[arc.State()], slack, previous);
    }
}

inline void TokenSearch::Relax(uint32_t place, uint32_t state, uint32_t history, float score, float slack,
                               uint32_t previous)
{
    if (score + slack < m_threshold)
        m_hasRejected = true;
    else
        Store(TokenKey(place, history), state, score, slack, previous);
}

void TokenSearch::Store(uint64_t key, uint32_t state, float score, float slack, uint32_t previous)
{
    uint32_t& slot = FindSlot(key, m_candidates);
    if (slot == 0)
    {
        m_graph.PrefetchPlace(uint32_t(key >> 32)); // for Commit; the graph is larger than the cache
        AddItem(slot, m_candidates, {key, score, slack, state, previous, c_noToken});
    }
    else
        Improve(m_candidates[slot - 1], score, slack, previous, m_links);
    if (score > m_best)
    {
        m_best = score;
        m_threshold = std::max(m_threshold, score - m_width);
    }
}

void TokenSearch::SelectAndCommit()
{
    // A little more than the frame before needed is likely enough for minTokens. If not, the frame is done again.
    constexpr float c_margin = 1.3F;
    float width = std::max(m_settings.beam, c_margin * m_lastWidth);
    for (;;)
    {
        SetThreshold(width);
        CrossWords();
        EnterPlaces();
        bool isEnough = true;
        const float cutOff = CutOff(isEnough);
        if (isEnough)
        {
            Commit(cutOff);
            return;
        }
        width = width < 16 * m_settings.beam ? 2 * width : std::numeric_limits<float>::infinity();
    }
}

// The least score + slack that the beam and minTokens keep. isEnough: false if tokens are missing that were rejected.
float TokenSearch::CutOff(bool& isEnough)
{
    m_lastWidth = 0;
    float cutOff = m_best - m_settings.beam;
    if (m_settings.minTokens == 0 || m_candidates.empty())
    {
        isEnough = !(m_candidates.empty() && m_hasRejected && m_width < std::numeric_limits<float>::infinity());
        return cutOff;
    }
    // Counts by the distance from the best. A bin more than minTokens needs is kept whole.
    const bool isBounded = m_width < std::numeric_limits<float>::infinity();
    const float lowest = isBounded ? m_best - m_width : LowestValue();
    const float binsPerUnit = float(c_bins) / std::max(m_best - lowest, 1e-6F);
    std::array<uint32_t, c_bins> counts{};
    size_t inBeam = 0;
    for (const Candidate& candidate : m_candidates)
    {
        const float distance = m_best - candidate.score - candidate.slack;
        inBeam += distance <= m_settings.beam ? 1 : 0;
        if (const float bin = distance * binsPerUnit; bin < float(c_bins))
            ++counts[bin > 0 ? size_t(bin) : 0];
    }
    if (inBeam >= m_settings.minTokens)
        return cutOff;
    size_t sum = 0;
    size_t bin = 0;
    while (bin < c_bins && sum < m_settings.minTokens)
        sum += counts[bin++];
    if (sum < m_settings.minTokens && m_hasRejected)
    {
        isEnough = false;
        return cutOff;
    }
    ++m_counts.framesWidened;
    if (sum < m_settings.minTokens || (!isBounded && bin == c_bins))
        return c_lowest;
    cutOff = std::min(cutOff, m_best - float(bin) / binsPerUnit * 1.00001F);
    m_lastWidth = m_best - cutOff;
    return cutOff;
}

float TokenSearch::LowestValue() const
{
    float lowest = m_best;
    for (const Candidate& candidate : m_candidates)
        lowest = std::min(lowest, candidate.score + candidate.slack);
    return lowest;
}

// Keeps the best maxTokens of the candidates above the cut-off. Of equal ones, the first in the graph.
void TokenSearch::DropBeyondMost(float cutOff)
{
    std::vector<uint32_t> order;
    for (size_t i = 0; i < m_candidates.size(); ++i)
        if (m_candidates[i].score + m_candidates[i].slack >= cutOff)
            order.push_back(uint32_t(i));
    const auto isBefore = [&](uint32_t a, uint32_t b)
    {
        const Candidate& first = m_candidates[a];
        const Candidate& second = m_candidates[b];
        const float firstValue = first.score + first.slack;
        const float secondValue = second.score + second.slack;
        if (firstValue != secondValue)
            return firstValue > secondValue;
        return first.Place() != second.Place() ? first.Place() < second.Place() : a < b;
    };
    std::nth_element(order.begin(), order.begin() + ptrdiff_t(m_settings.maxTokens), order.end(), isBefore);
    for (size_t i = m_settings.maxTokens; i < order.size(); ++i)
        m_candidates[order[i]].score = c_lowest;
    ++m_counts.framesAtMost;
}

void TokenSearch::Commit(float cutOff)
{
    size_t kept = 0;
    if (m_candidates.size() > m_settings.maxTokens)
        for (const Candidate& candidate : m_candidates)
            kept += candidate.score + candidate.slack >= cutOff ? 1 : 0;
    if (kept > m_settings.maxTokens)
        DropBeyondMost(cutOff);
    CommitCrossings(m_settings.wordBeam);
    m_tokens.clear();
    m_wordTokens.clear();
    for (const Candidate& candidate : m_candidates)
    {
        if (candidate.score + candidate.slack < cutOff || candidate.score == c_lowest)
            continue;
        const uint32_t trace = m_trace.Add(candidate.Place(), TraceOf(candidate.previous));
        if (candidate.link != c_noToken)
            CommitLinks(candidate.link, m_links, candidate.score, trace);
        if (candidate.score == m_best)
            m_bestToken = m_tokens.size();
        if ((candidate.state & c_wordsFollowBit) != 0)
            m_wordTokens.push_back(uint32_t(m_tokens.size()));
        const uint32_t node = m_graph.Places()[candidate.Place()].node;
        m_graph.PrefetchNode(node);
        m_tokens.push_back({candidate.score - m_best, candidate.slack * m_settings.slackDecay, candidate.Place(), node,
                            candidate.state, candidate.History(), trace});
    }
}

void TokenSearch::Finish()
{
    m_threshold = c_lowest;
    CrossWords();
    CommitCrossings(-c_lowest);
    std::vector<TraceEnd> ends; // losses are scores until the best one is known
    for (const Token& token : m_tokens)
    {
        const float cost = m_graph.FinalCost(token.node);
        if (cost < std::numeric_limits<float>::infinity())
            ends.push_back({token.trace, token.score + m_graph.ForwardScores()[token.State()] - cost});
    }
    for (const Crossing& crossing : m_crossings)
    {
        const float cost = m_graph.FinalCost(crossing.node);
        if (cost < std::numeric_limits<float>::infinity() && m_counts.frames > 0)
            ends.push_back({crossing.trace, crossing.score - cost});
    }
    m_isPartial = ends.empty();
    if (m_isPartial)
        for (const Token& token : m_tokens)
            ends.push_back({token.trace, token.score});
    float best = c_lowest;
    for (const TraceEnd& end : ends)
        best = std::max(best, end.loss);
    for (TraceEnd& end : ends)
        end.loss = best - end.loss;
    m_trace.Finish(std::move(ends));
}

} // namespace cntk
