// Finds the nodes on paths and puts them into topological order.
#include "Common/Text.h"
#include "Readers/HTKMLFReader/SlfFile.h"

#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace cntk
{
namespace
{

constexpr size_t c_mostNodesNamed = 3;

// The arcs that leave each node, or those that enter it.
class ArcsByNode
{
public:
    ArcsByNode(const Lattice& lattice, uint32_t LatticeArc::*node)
        : m_first(lattice.nodeFrames.size() + 1), m_arcs(lattice.arcs.size())
    {
        for (const LatticeArc& arc : lattice.arcs)
            ++m_first[arc.*node + 1];
        for (size_t i = 1; i < m_first.size(); ++i)
            m_first[i] += m_first[i - 1];
        std::vector<uint32_t> next(m_first.begin(), m_first.end() - 1);
        for (uint32_t i = 0; i < lattice.arcs.size(); ++i)
            m_arcs[next[lattice.arcs[i].*node]++] = i;
    }

    const uint32_t* begin(uint32_t node) const { return m_arcs.data() + m_first[node]; }
    const uint32_t* end(uint32_t node) const { return m_arcs.data() + m_first[node + 1]; }
    size_t Count(uint32_t node) const { return m_first[node + 1] - m_first[node]; }

private:
    std::vector<uint32_t> m_first; // by node
    std::vector<uint32_t> m_arcs;
};

class LatticeOrder
{
public:
    explicit LatticeOrder(Lattice& lattice)
        : m_lattice(lattice), m_leaving(lattice, &LatticeArc::from), m_entering(lattice, &LatticeArc::to)
    {
    }

    std::string Order(std::optional<uint32_t> first, std::optional<uint32_t> last)
    {
        std::string problem;
        if (!first)
            first = OnlyEnd(m_entering, m_leaving, "enters", "first node (start=)", problem);
        if (!last && problem.empty())
            last = OnlyEnd(m_leaving, m_entering, "leaves", "last node (end=)", problem);
        if (!problem.empty())
            return problem;
        if (m_lattice.nodeFrames[*first] != 0)
            return Concat("the first node, ", *first, ", stands at frame ", m_lattice.nodeFrames[*first],
                          ", expected 0, the beginning of the utterance");
        m_isOnPath = Reached(*first, m_leaving, &LatticeArc::to);
        const std::vector<bool> reachesLast = Reached(*last, m_entering, &LatticeArc::from);
        for (size_t node = 0; node < m_isOnPath.size(); ++node)
            m_isOnPath[node] = m_isOnPath[node] && reachesLast[node];
        if (*first == *last || !m_isOnPath[*first])
            return Concat("no path leads from the first node, ", *first, ", to the last one, ", *last);
        problem = Number();
        if (problem.empty())
            Rebuild();
        return problem;
    }

private:
    // Returns the only node that has none of the arcs `none`, but some of the arcs `some`.
    std::optional<uint32_t> OnlyEnd(const ArcsByNode& none, const ArcsByNode& some, const char* verb, const char* what,
                                    std::string& problem) const
    {
        std::vector<uint32_t> found;
        for (uint32_t node = 0; node < m_lattice.nodeFrames.size(); ++node)
            if (none.Count(node) == 0 && some.Count(node) > 0)
                found.push_back(node);
        if (found.size() == 1)
            return found[0];
        if (found.empty())
        {
            problem = Concat("an arc ", verb, " every node; expected one node without such an arc, the ", what);
            return {};
        }
        std::string names;
        for (size_t i = 0; i < found.size() && i < c_mostNodesNamed; ++i)
            names += Concat(i > 0 ? ", " : "", found[i]);
        problem = Concat("no arc ", verb, " the nodes ", names, found.size() > c_mostNodesNamed ? ", ..." : "",
                         "; expected one such node, the ", what);
        return {};
    }

    std::vector<bool> Reached(uint32_t start, const ArcsByNode& arcs, uint32_t LatticeArc::*other) const
    {
        std::vector<bool> isReached(m_lattice.nodeFrames.size());
        std::vector<uint32_t> open = {start};
        isReached[start] = true;
        while (!open.empty())
        {
            const uint32_t node = open.back();
            open.pop_back();
            for (const uint32_t* arc = arcs.begin(node); arc != arcs.end(node); ++arc)
            {
                const uint32_t next = m_lattice.arcs[*arc].*other;
                if (isReached[next])
                    continue;
                isReached[next] = true;
                open.push_back(next);
            }
        }
        return isReached;
    }

    // Numbers the nodes: among the nodes whose entering arcs have all been followed, always takes the earliest.
    std::string Number()
    {
        const size_t nodes = m_lattice.nodeFrames.size();
        std::vector<uint32_t> toCome(nodes); // arcs that enter the node
        for (const LatticeArc& arc : m_lattice.arcs)
            if (m_isOnPath[arc.from] && m_isOnPath[arc.to])
                ++toCome[arc.to];
        std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> ready; // frame, node
        const auto add = [&](uint32_t node) { ready.push(uint64_t(m_lattice.nodeFrames[node]) << 32 | node); };
        size_t wanted = 0;
        for (uint32_t node = 0; node < nodes; ++node)
        {
            if (!m_isOnPath[node])
                continue;
            ++wanted;
            if (toCome[node] == 0)
                add(node);
        }
        while (!ready.empty())
        {
            const auto node = uint32_t(ready.top());
            ready.pop();
            m_order.push_back(node);
            for (const uint32_t* arc = m_leaving.begin(node); arc != m_leaving.end(node); ++arc)
                if (const uint32_t next = m_lattice.arcs[*arc].to; m_isOnPath[next] && --toCome[next] == 0)
                    add(next);
        }
        return m_order.size() == wanted ? "" : Concat("its arcs form a cycle through node ", InCircle(toCome));
    }

    // Returns a node of a cycle: goes back along nodes that were never ready, until one repeats.
    uint32_t InCircle(const std::vector<uint32_t>& toCome) const
    {
        uint32_t node = 0;
        while (toCome[node] == 0)
            ++node;
        std::vector<bool> isSeen(toCome.size());
        while (!isSeen[node])
        {
            isSeen[node] = true;
            const uint32_t* arc = m_entering.begin(node);
            while (!m_isOnPath[m_lattice.arcs[*arc].from] || toCome[m_lattice.arcs[*arc].from] == 0)
                ++arc;
            node = m_lattice.arcs[*arc].from;
        }
        return node;
    }

    void Rebuild()
    {
        Lattice ordered;
        std::vector<uint32_t> numbers(m_lattice.nodeFrames.size());
        for (const uint32_t node : m_order)
        {
            numbers[node] = uint32_t(ordered.nodeFrames.size());
            ordered.nodeFrames.push_back(m_lattice.nodeFrames[node]);
        }
        ordered.frames = ordered.nodeFrames.back();
        ordered.arcs.reserve(m_lattice.arcs.size());
        ordered.segments.reserve(m_lattice.segments.size());
        for (const uint32_t node : m_order)
            for (const uint32_t* i = m_leaving.begin(node); i != m_leaving.end(node); ++i)
            {
                LatticeArc arc = m_lattice.arcs[*i];
                if (!m_isOnPath[arc.to])
                    continue;
                const auto segments = m_lattice.segments.begin();
                const auto first = segments + arc.firstSegment;
                const auto last = segments + m_lattice.EndOfSegments(*i);
                arc.from = numbers[arc.from];
                arc.to = numbers[arc.to];
                arc.firstSegment = uint32_t(ordered.segments.size());
                ordered.segments.insert(ordered.segments.end(), first, last);
                ordered.arcs.push_back(arc);
            }
        m_lattice = std::move(ordered);
    }

    Lattice& m_lattice;
    ArcsByNode m_leaving;
    ArcsByNode m_entering;
    std::vector<bool> m_isOnPath;  // by node
    std::vector<uint32_t> m_order; // of the nodes on paths
};

} // namespace

std::string OrderLattice(Lattice& lattice, std::optional<uint32_t> first, std::optional<uint32_t> last)
{
    return LatticeOrder(lattice).Order(first, last);
}

} // namespace cntk
