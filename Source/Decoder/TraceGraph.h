// The trace of a search as an acyclic graph whose arcs carry words where the words end, so that the boundaries of a
// lattice are the times at which words end.
#pragma once

#include "Decoder/DecodedPath.h"
#include "Decoder/SearchTrace.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cntk
{

class TraceGraph
{
public:
    static constexpr uint32_t c_noWord = UINT32_MAX;

    // A token, with what the end of its word depends on.
    struct Node
    {
        uint32_t token;
        uint32_t pendingWord;   // the word whose label has been crossed, and which has not ended; c_noWord: none
        uint32_t previousPlace; // behind a word arc and at the end of a word: the place before; else c_noToken
        float completion;       // loss of the best way to the end
    };
    struct Arc
    {
        uint32_t to;
        uint32_t word; // ends here; c_noWord: none
        float loss;
    };
    // A way to end.
    struct End
    {
        uint32_t node;
        uint32_t word; // that ends with the utterance; c_noWord: none
        float loss;
    };

    TraceGraph(const SearchTrace& trace, const DecodingGraph& graph, const PhoneTable& phones, double silenceCost);

    // Node 0 is the start. Arcs lead to higher numbers.
    const std::vector<Node>& Nodes() const { return m_nodes; }
    const Arc* ArcsBegin(uint32_t node) const { return m_arcs.data() + m_firstArc[node]; }
    const Arc* ArcsEnd(uint32_t node) const { return m_arcs.data() + m_firstArc[node + 1]; }
    const std::vector<End>& Ends() const { return m_ends; }
    // Frames before the token: for one of a word arc, the frames before the word arc.
    uint32_t FrameOf(uint32_t token) const { return m_frames[token]; }

private:
    struct Variant
    {
        uint32_t pendingWord;
        uint32_t previousPlace;
        uint32_t node;
        uint32_t next; // of the same token; c_noToken: the last
    };

    // The node that the link leads to, and the word that ends on the way.
    uint32_t NodeBehind(const Node& from, uint32_t token, uint32_t& endedWord);
    uint32_t VariantOf(uint32_t token, uint32_t pendingWord, uint32_t previousPlace);

    const SearchTrace& m_trace;
    const DecodingGraph& m_graph;
    const PhoneTable& m_phones;
    PathBuilder m_builder;
    std::vector<uint32_t> m_frames;       // by token
    std::vector<uint32_t> m_firstVariant; // by token
    std::vector<Variant> m_variants;
    std::vector<Node> m_nodes;
    std::vector<uint32_t> m_firstArc;
    std::vector<Arc> m_arcs;
    std::vector<End> m_ends;
};

} // namespace cntk
