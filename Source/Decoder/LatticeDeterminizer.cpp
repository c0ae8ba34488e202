// Determinization by subsets. A subset has the nodes that a word sequence can lead to, each with its loss beyond the
// best of them. Subsets are expanded in the order of their best loss, so that this loss is final when its turn comes.
// The pieces are then found backwards from the ends: of a node of a subset, each word that leads to the subset comes
// from exactly one node of the subset before.
#include "Decoder/LatticeDeterminizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <utility>

namespace cntk
{

namespace
{

constexpr double c_rounding = 1e-4;          // of the sums of losses, in comparisons with the beam
constexpr double c_equalLosses = 1.0 / 8192; // subsets with losses this close are equal

struct SubsetMember
{
    uint32_t node; // of the trace graph
    double loss;   // beyond the best member
};

// A word between two subsets: for each member of the target, the path that leads to it.
struct SubsetArc
{
    uint32_t from;
    uint32_t word;
    struct Way
    {
        uint32_t member; // of the subset before
        std::vector<uint32_t> path;
    };
    std::vector<Way> ways; // by member of the target
};

struct Subset
{
    std::vector<SubsetMember> members;
    double loss; // of the best path to its best member
    bool isExpanded = false;
    std::vector<SubsetArc> arcsInto;
};

class Determinizer
{
public:
    Determinizer(const TraceGraph& graph, double beam, size_t mostPieces)
        : m_graph(graph), m_beam(beam), m_mostPieces(mostPieces), m_reached(graph.Nodes().size())
    {
    }

    bool Run(DeterminedLattice& lattice)
    {
        AddSubset({{0, 0.0}}, 0);
        while (!m_queue.empty())
        {
            const uint32_t index = m_queue.top().second;
            m_queue.pop();
            if (m_subsets[index].isExpanded)
                continue;
            m_subsets[index].isExpanded = true;
            Expand(index);
            if (m_arcCount > m_mostPieces)
                return false;
        }
        CollectPieces(lattice);
        return true;
    }

private:
    // A node that is reached from a subset without the end of a word.
    struct Reached
    {
        uint32_t stamp = 0;
        double loss = 0;
        uint32_t previous = 0; // node; itself for a member
        uint32_t member = 0;
    };
    struct Target
    {
        double loss;
        uint32_t last; // node before the word's end
    };
    using Targets = std::map<uint32_t, Target>; // by node

    uint32_t AddSubset(std::vector<SubsetMember> members, double loss)
    {
        std::vector<std::pair<uint32_t, int64_t>> key;
        for (const SubsetMember& member : members)
            key.emplace_back(member.node, std::llround(member.loss / c_equalLosses));
        const auto [place, isNew] = m_numbers.try_emplace(std::move(key), uint32_t(m_subsets.size()));
        if (isNew)
            m_subsets.push_back({std::move(members), loss, false, {}});
        Subset& subset = m_subsets[place->second];
        if (isNew || (loss < subset.loss && !subset.isExpanded))
        {
            subset.loss = std::min(subset.loss, loss);
            m_queue.emplace(-loss, place->second);
        }
        return place->second;
    }

    void Reach(uint32_t node, double loss, uint32_t previous, uint32_t member)
    {
        Reached& reached = m_reached[node];
        if (reached.stamp == m_stamp && reached.loss <= loss)
            return;
        if (reached.stamp != m_stamp)
            m_open.push(node);
        reached = {m_stamp, loss, previous, member};
    }

    SubsetArc::Way WayTo(uint32_t last) const
    {
        SubsetArc::Way way{m_reached[last].member, {}};
        for (uint32_t node = last;; node = m_reached[node].previous)
        {
            way.path.push_back(node);
            if (m_reached[node].previous == node)
                break;
        }
        std::reverse(way.path.begin(), way.path.end());
        return way;
    }

    // Follows the ways from a subset to the next ends of words.
    void Expand(uint32_t index)
    {
        ++m_stamp;
        const double base = m_subsets[index].loss;
        for (uint32_t i = 0; i < m_subsets[index].members.size(); ++i)
        {
            const SubsetMember& member = m_subsets[index].members[i];
            Reach(member.node, member.loss, member.node, i);
        }
        std::map<uint32_t, Targets> byWord;
        std::map<uint32_t, Target> ends; // by word
        while (!m_open.empty())
        {
            const uint32_t node = m_open.top();
            m_open.pop();
            const Reached reached = m_reached[node];
            for (const TraceGraph::Arc* arc = m_graph.ArcsBegin(node); arc != m_graph.ArcsEnd(node); ++arc)
            {
                const double loss = reached.loss + arc->loss;
                if (base + loss + m_graph.Nodes()[arc->to].completion > m_beam + c_rounding)
                    continue;
                if (arc->word == TraceGraph::c_noWord)
                    Reach(arc->to, loss, node, reached.member);
                else if (const auto [place, isNew] = byWord[arc->word].try_emplace(arc->to, Target{loss, node});
                         !isNew && loss < place->second.loss)
                    place->second = {loss, node};
            }
            for (const TraceGraph::End* end = EndsBegin(node); end != EndsEnd(node); ++end)
            {
                const double loss = reached.loss + end->loss;
                if (base + loss > m_beam + c_rounding)
                    continue;
                const auto [place, isNew] = ends.try_emplace(end->word, Target{loss, node});
                if (!isNew && loss < place->second.loss)
                    place->second = {loss, node};
            }
        }
        for (const auto& [word, targets] : byWord)
            AddArc(index, word, targets);
        for (const auto& [word, target] : ends)
        {
            m_endArcs.push_back({index, word, {WayTo(target.last)}});
            ++m_arcCount;
        }
    }

    void AddArc(uint32_t from, uint32_t word, const Targets& targets)
    {
        double best = std::numeric_limits<double>::infinity();
        for (const auto& [node, target] : targets)
            best = std::min(best, target.loss);
        std::vector<SubsetMember> members;
        SubsetArc arc{from, word, {}};
        for (const auto& [node, target] : targets)
        {
            members.push_back({node, target.loss - best});
            arc.ways.push_back(WayTo(target.last));
        }
        const uint32_t to = AddSubset(std::move(members), m_subsets[from].loss + best);
        m_subsets[to].arcsInto.push_back(std::move(arc));
        ++m_arcCount;
    }

    // Ends are sorted by node.
    const TraceGraph::End* EndsBegin(uint32_t node)
    {
        PrepareEnds();
        return std::lower_bound(m_sortedEnds.data(), m_sortedEnds.data() + m_sortedEnds.size(), node,
                                [](const TraceGraph::End& end, uint32_t value) { return end.node < value; });
    }
    const TraceGraph::End* EndsEnd(uint32_t node)
    {
        return std::upper_bound(m_sortedEnds.data(), m_sortedEnds.data() + m_sortedEnds.size(), node,
                                [](uint32_t value, const TraceGraph::End& end) { return value < end.node; });
    }
    void PrepareEnds()
    {
        if (!m_sortedEnds.empty() || m_graph.Ends().empty())
            return;
        m_sortedEnds = m_graph.Ends();
        std::stable_sort(m_sortedEnds.begin(), m_sortedEnds.end(),
                         [](const TraceGraph::End& a, const TraceGraph::End& b) { return a.node < b.node; });
    }

    void CollectPieces(DeterminedLattice& lattice)
    {
        using Key = std::pair<uint32_t, uint32_t>; // node of the trace graph and subset: sorts by time
        std::map<Key, uint32_t> numbers;
        std::vector<std::pair<uint32_t, uint32_t>> open; // subset and member
        const auto keyOf = [&](uint32_t subset, uint32_t member) {
            return Key{m_subsets[subset].members[member].node, subset};
        };
        const auto require = [&](uint32_t subset, uint32_t member)
        {
            if (numbers.try_emplace(keyOf(subset, member), 0).second)
                open.emplace_back(subset, member);
        };
        struct Found
        {
            Key from;
            Key to;
            bool isEnd;
            uint32_t word;
            const std::vector<uint32_t>* path;
        };
        std::vector<Found> found;
        for (const SubsetArc& arc : m_endArcs)
        {
            found.push_back({keyOf(arc.from, arc.ways[0].member), {}, true, arc.word, &arc.ways[0].path});
            require(arc.from, arc.ways[0].member);
        }
        while (!open.empty())
        {
            const auto [subset, member] = open.back();
            open.pop_back();
            for (const SubsetArc& arc : m_subsets[subset].arcsInto)
            {
                const SubsetArc::Way& way = arc.ways[member];
                found.push_back({keyOf(arc.from, way.member), keyOf(subset, member), false, arc.word, &way.path});
                require(arc.from, way.member);
            }
        }
        for (auto& [key, number] : numbers)
        {
            number = uint32_t(lattice.nodes.size());
            lattice.nodes.push_back(key.first);
        }
        for (const Found& piece : found)
            lattice.pieces.push_back({numbers.at(piece.from), piece.isEnd ? LatticePiece::c_end : numbers.at(piece.to),
                                      piece.word, *piece.path});
    }

    const TraceGraph& m_graph;
    const double m_beam;
    const size_t m_mostPieces;
    std::vector<Reached> m_reached; // by node
    uint32_t m_stamp = 0;
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> m_open;
    std::vector<Subset> m_subsets;
    std::map<std::vector<std::pair<uint32_t, int64_t>>, uint32_t> m_numbers;
    std::priority_queue<std::pair<double, uint32_t>> m_queue; // best loss first
    std::vector<SubsetArc> m_endArcs;
    std::vector<TraceGraph::End> m_sortedEnds;
    size_t m_arcCount = 0;
};

} // namespace

bool Determinize(const TraceGraph& graph, double beam, size_t mostPieces, DeterminedLattice& lattice)
{
    lattice = {};
    return Determinizer(graph, beam, mostPieces).Run(lattice);
}

} // namespace cntk
