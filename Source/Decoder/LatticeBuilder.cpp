// Scores the pieces of the determinized trace, and gives silences between words arcs of their own.
#include "Decoder/LatticeBuilder.h"

#include "Decoder/LatticeDeterminizer.h"
#include "Decoder/TraceGraph.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace cntk
{

namespace
{

constexpr size_t c_mostPieces = 500000;

class LatticeAssembler
{
public:
    LatticeAssembler(const LatticeSource& source, const TraceGraph& traceGraph, const DeterminedLattice& determined,
                     WordScorer& scorer)
        : m_source(source), m_traceGraph(traceGraph), m_determined(determined), m_scorer(scorer),
          m_builder(source.graph, source.silenceCost)
    {
    }

    WordLattice Assemble()
    {
        const size_t nodes = m_determined.nodes.size();
        m_end = uint32_t(nodes);
        for (const uint32_t node : m_determined.nodes)
            m_frames.push_back(FrameOfNode(node));
        m_frames.push_back(uint32_t(m_source.scores.frames));
        std::vector<const LatticePiece*> order;
        for (const LatticePiece& piece : m_determined.pieces)
            order.push_back(&piece);
        // A node's history is known before the pieces that begin there.
        std::stable_sort(order.begin(), order.end(),
                         [](const LatticePiece* a, const LatticePiece* b) { return a->from < b->from; });
        m_histories.assign(nodes + 1, c_noToken);
        m_histories[0] = m_scorer.Begin();
        for (const LatticePiece* const piece : order)
            AddPiece(*piece);
        SortNodes();
        return std::move(m_lattice);
    }

private:
    uint32_t FrameOfNode(uint32_t node) const { return m_traceGraph.FrameOf(m_traceGraph.Nodes()[node].token); }

    DecodedPath PathOf(const LatticePiece& piece)
    {
        const TraceGraph::Node& first = m_traceGraph.Nodes()[piece.path.front()];
        m_builder.Begin(first.previousPlace, FrameOfNode(piece.path.front()));
        for (const uint32_t node : piece.path)
        {
            const uint32_t token = m_traceGraph.Nodes()[node].token;
            if (token == 0)
                continue; // the start
            const TraceToken& at = m_source.trace.Tokens()[token];
            if (at.IsWord())
                m_builder.AddWordArc(at.WordArc());
            else
                m_builder.AddFrame(at.where, m_source.scores, m_source.rowOfState);
        }
        const bool isEnd = piece.to == LatticePiece::c_end;
        if (!isEnd)
            m_builder.LeaveVisit();
        return m_builder.Finish(isEnd && !m_source.isPartial);
    }

    void AddPiece(const LatticePiece& piece)
    {
        const uint32_t to = piece.to == LatticePiece::c_end ? m_end : piece.to;
        DecodedPath path = PathOf(piece);
        uint32_t history = m_histories[piece.from];
        for (PathLabel& label : path.labels)
        {
            const WordScorer::Step step = m_scorer.Extend(history, label.word);
            label.language = step.logProbability;
            history = step.history;
        }
        m_histories[to] = history;
        // Silence in front of the word: the visits before the word's own ones.
        const PathSegments segments = SegmentPath(path, m_source.phones);
        uint32_t silent = 0;
        if (piece.word != TraceGraph::c_noWord && !segments.words.empty())
            silent = segments.words.back().firstVisit;
        if (silent >= path.visits.size() && !path.visits.empty())
            silent = 0;
        uint32_t from = piece.from;
        if (silent > 0)
        {
            WordLatticeArc arc{from, 0, WordLatticeArc::c_silence, {}, {}};
            Fill(arc, path, 0, silent);
            from = SilenceEnd(arc, path.visits[silent - 1].end);
        }
        WordLatticeArc arc{from, to, piece.word, {}, {}};
        Fill(arc, path, silent, uint32_t(path.visits.size()));
        for (const PathLabel& label : path.labels)
            arc.parts += {0, label.graph, label.language};
        arc.parts.graph += path.finalGraph;
        m_lattice.arcs.push_back(std::move(arc));
    }

    static void Fill(WordLatticeArc& arc, const DecodedPath& path, uint32_t first, uint32_t end)
    {
        for (uint32_t i = first; i < end; ++i)
        {
            const PathVisit& visit = path.visits[i];
            arc.parts += {visit.acoustic, visit.graph, 0};
            arc.states.push_back({visit.state, visit.end - visit.begin});
        }
    }

    // Returns the node behind a silence. Equal silences from one node are one arc.
    uint32_t SilenceEnd(WordLatticeArc& arc, uint32_t frame)
    {
        std::vector<uint32_t> key{arc.from};
        for (const LatticeState& state : arc.states)
            key.insert(key.end(), {state.state, state.frames});
        const auto [place, isNew] = m_silenceEnds.try_emplace(std::move(key), uint32_t(m_frames.size()));
        if (isNew)
        {
            m_frames.push_back(frame);
            arc.to = place->second;
            m_lattice.arcs.push_back(arc);
        }
        return place->second;
    }

    // Sorts nodes by time: a node behind a silence in front of the ends of words at the same time, the end last.
    void SortNodes()
    {
        std::vector<uint32_t> order(m_frames.size());
        for (uint32_t i = 0; i < order.size(); ++i)
            order[i] = i;
        const auto keyOf = [&](uint32_t node) { return std::tuple(node == m_end, m_frames[node], node < m_end, node); };
        std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keyOf(a) < keyOf(b); });
        std::vector<uint32_t> numbers(order.size());
        for (uint32_t i = 0; i < order.size(); ++i)
        {
            numbers[order[i]] = i;
            m_lattice.nodeFrames.push_back(m_frames[order[i]]);
        }
        for (WordLatticeArc& arc : m_lattice.arcs)
        {
            arc.from = numbers[arc.from];
            arc.to = numbers[arc.to];
        }
    }

    const LatticeSource& m_source;
    const TraceGraph& m_traceGraph;
    const DeterminedLattice& m_determined;
    WordScorer& m_scorer;
    PathBuilder m_builder;
    WordLattice m_lattice;
    uint32_t m_end = 0;
    std::vector<uint32_t> m_frames;    // by node: those of the determinized lattice, the end, ends of silences
    std::vector<uint32_t> m_histories; // of the language model, by node
    std::map<std::vector<uint32_t>, uint32_t> m_silenceEnds;
};

} // namespace

WordLattice BuildLattice(const LatticeSource& source, WordScorer& scorer)
{
    const TraceGraph traceGraph(source.trace, source.graph, source.phones, source.silenceCost);
    DeterminedLattice determined;
    double beam = source.beam;
    while (!Determinize(traceGraph, beam, c_mostPieces, determined))
        beam *= 0.75;
    WordLattice lattice = LatticeAssembler(source, traceGraph, determined, scorer).Assemble();
    TidyLattice(lattice, source.acweight, beam + 1e-3);
    lattice.beam = beam;
    return lattice;
}

} // namespace cntk
