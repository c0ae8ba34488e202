// The origins of the tokens of a search, as far as results may need them. Tokens are numbered in the order of time. The
// trace forgets tokens that no living token, and no path within the lattice beam of one, has passed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cntk
{

constexpr uint32_t c_wordTokenBit = 0x80000000;
constexpr uint32_t c_noToken = UINT32_MAX;

// A token in a place at a frame, or behind a word arc between two frames.
struct TraceToken
{
    uint32_t where;    // place, or c_wordTokenBit with the number of the word arc; token 0 is the start
    uint32_t previous; // the token of the best path to this one, at no loss

    bool IsWord() const { return (where & c_wordTokenBit) != 0; }
    uint32_t WordArc() const { return where & ~c_wordTokenBit; }
};

// Another way between two tokens than the best one, for lattices.
struct TraceLink
{
    uint32_t from;
    uint32_t to;
    float loss; // by how much the best path to `to` is better than the best one over this link; at least 0
};

struct TraceEnd
{
    uint32_t token;
    float loss; // by how much the best complete path is better than the best one that ends here
};

class SearchTrace
{
public:
    // keepsLinks: for lattices within the beam; else only best paths are kept.
    void Begin(bool keepsLinks, float latticeBeam);
    void BeginFrame() { m_firstOfFrame.push_back(uint32_t(m_tokens.size())); }
    void EndFrame() { m_endOfFrame.push_back(uint32_t(m_tokens.size())); }
    uint32_t Add(uint32_t where, uint32_t previous)
    {
        m_tokens.push_back({where, previous});
        return uint32_t(m_tokens.size() - 1);
    }
    // Links come in the order of their ends.
    void AddLink(uint32_t from, uint32_t to, float loss) { m_links.push_back({from, to, loss}); }
    // True if the trace has grown so much that Forget is worth its time.
    bool IsFull() const { return m_tokens.size() >= m_limit; }
    // Forgets tokens and links that lead to none of the living tokens. Replaces their numbers.
    void Forget(std::vector<uint32_t>& living);
    // Ends the search. Keeps the paths to the ends.
    void Finish(std::vector<TraceEnd> ends);

    // Tokens of frame t are those from FirstOfFrame(t) up to EndOfFrame(t). The tokens of word arcs that are crossed
    // before the frame stand in front of them.
    size_t Frames() const { return m_endOfFrame.size(); }
    uint32_t FirstOfFrame(size_t frame) const { return m_firstOfFrame[frame]; }
    uint32_t EndOfFrame(size_t frame) const { return m_endOfFrame[frame]; }
    const std::vector<TraceToken>& Tokens() const { return m_tokens; }
    // Sorted by `to`; for lattices only.
    const std::vector<TraceLink>& Links() const { return m_links; }
    // The best end first. Empty if no token was left.
    const std::vector<TraceEnd>& Ends() const { return m_ends; }
    size_t Bytes() const;

private:
    void ClearReached();
    void Reach(uint32_t token, float loss);
    void SpreadLosses();
    void CountReached();
    uint32_t NumberOf(uint32_t token) const;
    void KeepReached();

    std::vector<TraceToken> m_tokens;
    std::vector<TraceLink> m_links;
    std::vector<uint32_t> m_firstOfFrame;
    std::vector<uint32_t> m_endOfFrame;
    std::vector<TraceEnd> m_ends;
    std::vector<uint64_t> m_reached; // bits by token: it is on a path within the beam
    std::vector<float> m_losses;     // of reached tokens: how far the best path over the token is from the best one
    std::vector<uint32_t> m_counts;  // of reached tokens before each word of m_reached
    bool m_keepsLinks = false;
    float m_latticeBeam = 0;
    size_t m_limit = 0;
};

} // namespace cntk
