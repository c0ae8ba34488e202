// The search graph H, C and L (book 6.1) in a form that is mapped into memory. A place is a state label with the node
// behind it: the only part of a path that its continuation depends on. Word arcs stand apart from the arcs that enter
// places.
#pragma once

#include "Common/File.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

// A token in a place stays in its state, or goes on to the arcs of the node.
struct GraphPlace
{
    uint32_t node;
    uint32_t state;
};

// The arcs and word arcs of node i are those from its own indices up to those of node i+1.
struct GraphNode
{
    uint32_t firstArc;
    uint32_t firstWordArc;
};

constexpr uint32_t c_silenceCostBit = 0x80000000;
constexpr uint32_t c_wordsFollowBit = 0x80000000;

// Enters a place. Arcs of a node are sorted by rising cost.
struct GraphArc
{
    uint32_t target; // place; c_silenceCostBit is set if the path leaves an optional silence here
    float cost;      // pronunciation and look-ahead
    // The state of the place, which the search needs before the place. c_wordsFollowBit is set if word arcs leave the
    // node of the place.
    uint32_t state;

    uint32_t State() const { return state & ~c_wordsFollowBit; }
    uint32_t Place() const { return target & ~c_silenceCostBit; }
    bool LeavesSilence() const { return (target & c_silenceCostBit) != 0; }
};

struct GraphWordArc
{
    uint32_t word;
    uint32_t node;
    float cost;
};

struct GraphFinal
{
    uint32_t node;
    float cost;
};

// The graph as the compiler makes it. Node 0 is the start.
struct GraphContent
{
    std::vector<GraphPlace> places;
    std::vector<GraphNode> nodes; // one more than there are nodes
    std::vector<GraphArc> arcs;
    std::vector<GraphWordArc> wordArcs;
    std::vector<GraphFinal> finals;
    std::vector<float> selfScores;    // by state: ln of the self loop
    std::vector<float> forwardScores; // by state: ln of the way forward
    std::vector<float> lookahead;     // by word
    std::vector<std::string> stateNames;
    std::vector<std::string> words;
    std::vector<std::string> models; // names and states between blanks; empty: phones are unknown
    std::vector<std::string> silenceModels;
    bool hasLookahead = false;
};

// Writes the binary image as a whole. Returns its bytes.
size_t WriteGraph(const std::string& path, const GraphContent& content);

// A mapped binary image. Threads share it.
class DecodingGraph
{
public:
    // Checks the version, all sizes and all indices. Fails (Data) with the file and advice.
    explicit DecodingGraph(const std::string& path);

    std::span<const GraphPlace> Places() const { return m_places; }
    size_t NodeCount() const { return m_nodes.size() - 1; }
    std::span<const GraphArc> ArcsOf(uint32_t node) const
    {
        return m_arcs.subspan(m_nodes[node].firstArc, m_nodes[node + 1].firstArc - m_nodes[node].firstArc);
    }
    std::span<const GraphWordArc> WordArcsOf(uint32_t node) const
    {
        return m_wordArcs.subspan(m_nodes[node].firstWordArc,
                                  m_nodes[node + 1].firstWordArc - m_nodes[node].firstWordArc);
    }
    void PrefetchPlace(uint32_t place) const { __builtin_prefetch(m_places.data() + place); }
    void PrefetchNode(uint32_t node) const { __builtin_prefetch(m_nodes.data() + node); }
    void PrefetchArcs(uint32_t node) const { __builtin_prefetch(m_arcs.data() + m_nodes[node].firstArc); }
    void PrefetchWordArcs(uint32_t node) const { __builtin_prefetch(m_wordArcs.data() + m_nodes[node].firstWordArc); }
    // The smallest cost of an arc, at most 0.
    float LeastArcCost() const { return m_leastArcCost; }
    std::span<const GraphWordArc> WordArcs() const { return m_wordArcs; }
    size_t ArcCount() const { return m_arcs.size(); }
    // Infinity for a node that is not final.
    float FinalCost(uint32_t node) const;
    // The most word arcs that follow each other.
    uint32_t LongestWordChain() const { return m_longestChain; }
    // Number of word arcs that can follow each other up to this node, by its longest way.
    uint32_t WordLevel(uint32_t node) const { return m_longestChain <= 1 ? 1 : m_levels[node]; }
    // The fewest frames of a complete path.
    size_t FewestFrames() const;

    std::span<const float> SelfScores() const { return m_selfScores; }
    std::span<const float> ForwardScores() const { return m_forwardScores; }
    float Lookahead(uint32_t word) const { return m_lookahead[word]; }
    bool HasLookahead() const { return m_hasLookahead; }

    const std::vector<std::string>& StateNames() const { return m_stateNames; }
    const std::vector<std::string>& Words() const { return m_words; }
    const std::vector<std::string>& Models() const { return m_models; }
    const std::vector<std::string>& SilenceModels() const { return m_silenceModels; }
    const std::string& Path() const { return m_file.Path(); }
    size_t Bytes() const { return m_file.Size(); }

private:
    class Reader;
    void CheckIndices() const;
    void FindWordLevels();

    MappedFile m_file;
    std::span<const GraphPlace> m_places;
    std::span<const GraphNode> m_nodes;
    std::span<const GraphArc> m_arcs;
    std::span<const GraphWordArc> m_wordArcs;
    std::span<const GraphFinal> m_finals; // by rising node
    std::span<const float> m_selfScores;
    std::span<const float> m_forwardScores;
    std::span<const float> m_lookahead;
    std::vector<std::string> m_stateNames;
    std::vector<std::string> m_words;
    std::vector<std::string> m_models;
    std::vector<std::string> m_silenceModels;
    std::vector<uint32_t> m_levels; // by node, if word arcs follow each other
    uint32_t m_longestChain = 0;
    float m_leastArcCost = 0;
    bool m_hasLookahead = false;
};

} // namespace cntk
