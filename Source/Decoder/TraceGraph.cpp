// Expansion of the trace by the words that are about to end.
#include "Decoder/TraceGraph.h"

#include <algorithm>
#include <limits>

namespace cntk
{

TraceGraph::TraceGraph(const SearchTrace& trace, const DecodingGraph& graph, const PhoneTable& phones,
                       double silenceCost)
    : m_trace(trace), m_graph(graph), m_phones(phones), m_builder(graph, silenceCost),
      m_frames(trace.Tokens().size(), 0), m_firstVariant(trace.Tokens().size(), c_noToken)
{
    for (size_t t = 0; t < trace.Frames(); ++t)
        for (uint32_t i = t == 0 ? 0 : trace.EndOfFrame(t - 1); i < trace.EndOfFrame(t); ++i)
            m_frames[i] = uint32_t(t);
    if (trace.Frames() > 0)
        for (size_t i = trace.EndOfFrame(trace.Frames() - 1); i < m_frames.size(); ++i)
            m_frames[i] = uint32_t(trace.Frames());

    // Best ways and links by their beginnings.
    const std::vector<TraceToken>& tokens = trace.Tokens();
    std::vector<uint32_t> firstLink(tokens.size() + 1, 0);
    const auto forEachWay = [&](const auto& visit)
    {
        for (uint32_t i = 1; i < tokens.size(); ++i)
            visit(TraceLink{tokens[i].previous, i, 0});
        for (const TraceLink& link : trace.Links())
            visit(link);
    };
    forEachWay([&](const TraceLink& link) { ++firstLink[link.from + 1]; });
    for (size_t i = 1; i < firstLink.size(); ++i)
        firstLink[i] += firstLink[i - 1];
    std::vector<TraceLink> sorted(firstLink.back());
    std::vector<uint32_t> place(firstLink.begin(), firstLink.end() - 1);
    forEachWay([&](const TraceLink& link) { sorted[place[link.from]++] = link; });

    // Expands the nodes by token: all nodes of a token are known when its turn comes. That is their final order.
    std::vector<uint32_t> order;
    VariantOf(0, c_noWord, c_noToken);
    for (uint32_t token = 0; token < tokens.size(); ++token)
        for (uint32_t v = m_firstVariant[token]; v != c_noToken; v = m_variants[v].next)
        {
            order.push_back(m_variants[v].node);
            m_firstArc.push_back(uint32_t(m_arcs.size()));
            const Node node = m_nodes[m_variants[v].node];
            for (uint32_t i = firstLink[token]; i < firstLink[token + 1]; ++i)
            {
                uint32_t word = c_noWord;
                const uint32_t to = NodeBehind(node, sorted[i].to, word);
                m_arcs.push_back({to, word, sorted[i].loss});
            }
        }
    m_firstArc.push_back(uint32_t(m_arcs.size()));

    std::vector<uint32_t> numbers(order.size());
    std::vector<Node> nodes;
    for (const uint32_t old : order)
    {
        numbers[old] = uint32_t(nodes.size());
        nodes.push_back(m_nodes[old]);
    }
    m_nodes = std::move(nodes);
    for (Arc& arc : m_arcs)
        arc.to = numbers[arc.to];

    for (Node& node : m_nodes)
        node.completion = std::numeric_limits<float>::infinity();
    for (const TraceEnd& end : trace.Ends())
        for (uint32_t v = m_firstVariant[end.token]; v != c_noToken; v = m_variants[v].next)
        {
            const uint32_t node = numbers[m_variants[v].node];
            m_ends.push_back({node, m_nodes[node].pendingWord, end.loss});
            m_nodes[node].completion = std::min(m_nodes[node].completion, end.loss);
        }
    for (uint32_t i = uint32_t(m_nodes.size()); i-- > 0;)
        for (const Arc* arc = ArcsBegin(i); arc != ArcsEnd(i); ++arc)
            m_nodes[i].completion = std::min(m_nodes[i].completion, arc->loss + m_nodes[arc->to].completion);
}

uint32_t TraceGraph::VariantOf(uint32_t token, uint32_t pendingWord, uint32_t previousPlace)
{
    uint32_t* next = &m_firstVariant[token];
    for (; *next != c_noToken; next = &m_variants[*next].next)
        if (m_variants[*next].pendingWord == pendingWord && m_variants[*next].previousPlace == previousPlace)
            return m_variants[*next].node;
    *next = uint32_t(m_variants.size());
    const auto node = uint32_t(m_nodes.size());
    m_variants.push_back({pendingWord, previousPlace, node, c_noToken});
    m_nodes.push_back({token, pendingWord, previousPlace, 0});
    return node;
}

uint32_t TraceGraph::NodeBehind(const Node& from, uint32_t token, uint32_t& endedWord)
{
    const TraceToken& source = m_trace.Tokens()[from.token];
    const TraceToken& target = m_trace.Tokens()[token];
    const bool isStart = from.token == 0;
    const uint32_t place = isStart ? c_noToken : source.IsWord() ? from.previousPlace : source.where;
    if (target.IsWord())
    {
        endedWord = from.pendingWord;
        return VariantOf(token, m_graph.WordArcs()[target.WordArc()].word, place);
    }
    if (from.pendingWord == c_noWord || source.IsWord())
        return VariantOf(token, from.pendingWord, c_noToken);
    const bool stays = source.where == target.where && m_builder.Stays(source.where);
    const std::span<const GraphPlace> places = m_graph.Places();
    if (stays || m_phones.Continues(places[source.where].state, places[target.where].state))
        return VariantOf(token, from.pendingWord, c_noToken);
    endedWord = from.pendingWord;
    return VariantOf(token, c_noWord, source.where);
}

} // namespace cntk
