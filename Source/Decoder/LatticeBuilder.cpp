// Scores the pieces of the determinized trace, and gives silences between words arcs of their own.
#include "Decoder/LatticeBuilder.h"

#include "Decoder/LatticeDeterminizer.h"
#include "Decoder/TraceGraph.h"

#include <algorithm>
#include <bit>
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
        for (uint32_t i = 0; i <= nodes; ++i)
            m_ranks.push_back(i + 1);
        m_variants.resize(nodes + 1);
        m_variants[0].push_back({m_scorer.Begin(), 0});
        for (const LatticePiece* const piece : order)
            AddPiece(*piece);
        SortNodes();
        return std::move(m_lattice);
    }

private:
    struct Variant
    {
        uint32_t history; // of the language model
        uint32_t node;
    };

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
        DecodedPath path = PathOf(piece);
        for (const Variant& variant : std::vector<Variant>(m_variants[piece.from]))
        {
            uint32_t history = variant.history;
            for (PathLabel& label : path.labels)
            {
                const WordScorer::Step step = m_scorer.Extend(history, label.word);
                label.language = step.logProbability;
                history = step.history;
            }
            AddArcs(piece, path, variant.node, piece.to == LatticePiece::c_end ? m_end : NodeOf(piece.to, history));
        }
    }

    // The lattice node of a node of the determinized lattice. Words with different histories can end where the label of
    // the next word is crossed: the language model's score of the next word needs one node for each history.
    uint32_t NodeOf(uint32_t node, uint32_t history)
    {
        std::vector<Variant>& variants = m_variants[node];
        for (const Variant& variant : variants)
            if (variant.history == history)
                return variant.node;
        variants.push_back({history, variants.empty() ? node : uint32_t(m_frames.size())});
        if (variants.size() > 1)
        {
            m_frames.push_back(m_frames[node]);
            m_ranks.push_back(m_ranks[node]);
        }
        return variants.back().node;
    }

    void AddArcs(const LatticePiece& piece, const DecodedPath& path, uint32_t from, uint32_t to)
    {
        // Silence in front of the word: the visits before the word's own ones.
        const PathSegments segments = SegmentPath(path, m_source.phones);
        uint32_t silent = 0;
        if (piece.word != TraceGraph::c_noWord && !segments.words.empty())
            silent = segments.words.back().firstVisit;
        if (silent >= path.visits.size() && !path.visits.empty())
            silent = 0;
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

    // Returns the node behind a silence. Equal silences from one node are one arc. Silences with the same states can
    // lie at different places of the graph, with different costs.
    uint32_t SilenceEnd(WordLatticeArc& arc, uint32_t frame)
    {
        std::vector<uint32_t> key{arc.from, std::bit_cast<uint32_t>(float(arc.parts.graph))};
        for (const LatticeState& state : arc.states)
            key.insert(key.end(), {state.state, state.frames});
        const auto [place, isNew] = m_silenceEnds.try_emplace(std::move(key), uint32_t(m_frames.size()));
        if (isNew)
        {
            m_frames.push_back(frame);
            m_ranks.push_back(0);
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
        const auto keyOf = [&](uint32_t node)
        { return std::tuple(node == m_end, m_frames[node], m_ranks[node], node); };
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
    std::vector<uint32_t> m_frames; // by node: those of the determinized lattice, the end, ends of silences
    std::vector<uint32_t> m_ranks;  // by node: order of the nodes of a frame
    std::vector<std::vector<Variant>> m_variants; // by node of the determinized lattice
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
