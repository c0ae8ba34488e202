// From the acceptor to the arrays of the graph. Paths through silence models are told apart by what the cost of silence
// depends on: a node of the acceptor becomes one node of the graph for each such context.
#include "Decoder/GraphCompiler.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <compare>
#include <map>
#include <utility>

namespace cntk
{

namespace
{

// How a path comes to a node, as far as the cost of silence depends on it.
struct SilenceContext
{
    uint32_t state = UINT32_MAX; // the last state, if it is a state of silence
    bool hasLabel = false;       // a word label stands in the silence model
    bool crossedWord = false;    // since the last state
    bool crossedEnd = false;     // the last word ends the sentence

    auto operator<=>(const SilenceContext&) const = default;
};

class GraphBuilder
{
public:
    GraphBuilder(const Acceptor& acceptor, const GraphTables& tables, Log& log)
        : m_acceptor(acceptor), m_tables(tables), m_log(log),
          m_phones(tables.models, acceptor.states, tables.silenceModels)
    {
    }

    GraphContent Build()
    {
        TakeTransitions();
        TakeWords();
        SortArcs();
        FindUsefulNodes();
        RequireNoWordCycle();
        Expand();
        Store();
        return std::move(m_graph);
    }

private:
    struct BuiltNode
    {
        uint32_t origin; // node of the acceptor
        SilenceContext context;
        std::vector<GraphArc> arcs;
        std::vector<GraphWordArc> wordArcs;
    };

    void TakeTransitions()
    {
        std::vector<std::string> missing;
        for (const std::string& state : m_acceptor.states)
        {
            const auto found = m_tables.transitions.find(state);
            if (found == m_tables.transitions.end())
                missing.push_back(state);
            else
            {
                m_graph.selfScores.push_back(float(found->second.self));
                m_graph.forwardScores.push_back(float(found->second.forward));
            }
        }
        if (!missing.empty())
            Fail(ErrorKind::Data, "the transition file '", m_tables.transitionPath, "' lacks the state '",
                 missing.front(), "' of the acceptor",
                 missing.size() > 1 ? Concat(" and ", missing.size() - 1, " more") : std::string(),
                 "; add a line with the state and its two logarithms");
        m_graph.stateNames = m_acceptor.states;
        for (const ModelStates& model : m_tables.models)
            m_graph.models.push_back(model.name + " " + Join(model.states, " "));
        m_graph.silenceModels = m_tables.silenceModels;
    }

    void TakeWords()
    {
        m_graph.words = m_acceptor.words;
        m_graph.hasLookahead = m_tables.hasLookahead;
        for (const std::string& word : m_acceptor.words)
        {
            const auto found = m_tables.lookahead.find(word);
            m_graph.lookahead.push_back(found == m_tables.lookahead.end() ? 0.0F : float(found->second));
            if (m_tables.transitions.contains(word))
                m_log.Warn(Concat(m_acceptor.path, ": '", word, "' is a word, but also a state: brackets missing?"));
        }
    }

    // Groups arcs by their beginning.
    void SortArcs()
    {
        m_arcs = m_acceptor.arcs;
        std::stable_sort(m_arcs.begin(), m_arcs.end(),
                         [](const AcceptorArc& a, const AcceptorArc& b) { return a.from < b.from; });
        m_firstArc.assign(m_acceptor.nodeNames.size() + 1, 0);
        for (const AcceptorArc& arc : m_arcs)
            ++m_firstArc[arc.from + 1];
        for (size_t i = 1; i < m_firstArc.size(); ++i)
            m_firstArc[i] += m_firstArc[i - 1];
        if (m_tables.hasLookahead)
            return;
        const auto weighted = std::find_if(m_arcs.begin(), m_arcs.end(),
                                           [](const AcceptorArc& arc) { return arc.isWord && arc.cost != 0; });
        if (weighted != m_arcs.end())
            m_log.Warn(Concat(m_acceptor.path, ":", weighted->line,
                              ": the word arc has a cost, but there is no -lookahead-file; costs then count as "
                              "pronunciation costs"));
    }

    // Marks the nodes from which a final state can be reached.
    void FindUsefulNodes()
    {
        const size_t nodes = m_acceptor.nodeNames.size();
        std::vector<std::vector<uint32_t>> before(nodes);
        for (const AcceptorArc& arc : m_arcs)
            before[arc.to].push_back(arc.from);
        m_isUseful.assign(nodes, false);
        std::vector<uint32_t> stack;
        const auto mark = [&](uint32_t node)
        {
            if (!m_isUseful[node])
                stack.push_back(node);
            m_isUseful[node] = true;
        };
        for (const auto& [node, cost] : m_acceptor.finalCosts)
            mark(node);
        while (!stack.empty())
        {
            const uint32_t node = stack.back();
            stack.pop_back();
            for (const uint32_t from : before[node])
                mark(from);
        }
        if (!m_isUseful[0])
            Fail(ErrorKind::Data, "no final state can be reached from the start, ", m_acceptor.NodeText(0),
                 "; nothing is reachable, so there is no sentence");
        if (m_acceptor.states.empty())
            Fail(ErrorKind::Data, m_acceptor.path,
                 ": no arc has an HMM state, so no frame can be decoded; expected labels in square brackets, [aa_s2]");
    }

    void RequireNoWordCycle() const
    {
        enum class Mark : uint8_t
        {
            New,
            Open,
            Done
        };
        std::vector<Mark> marks(m_acceptor.nodeNames.size(), Mark::New);
        std::vector<std::pair<uint32_t, uint32_t>> stack; // node and next arc
        for (uint32_t root = 0; root < marks.size(); ++root)
        {
            if (marks[root] != Mark::New)
                continue;
            stack.emplace_back(root, m_firstArc[root]);
            marks[root] = Mark::Open;
            while (!stack.empty())
            {
                auto& [node, next] = stack.back();
                if (next == m_firstArc[node + 1])
                {
                    marks[node] = Mark::Done;
                    stack.pop_back();
                    continue;
                }
                const AcceptorArc& arc = m_arcs[next++];
                if (!arc.isWord || marks[arc.to] == Mark::Done)
                    continue;
                if (marks[arc.to] == Mark::Open)
                    Fail(ErrorKind::Data, m_acceptor.path, ":", arc.line, ": a cycle of word arcs through ",
                         m_acceptor.NodeText(arc.to), "; a cycle needs at least one state");
                marks[arc.to] = Mark::Open;
                stack.emplace_back(arc.to, m_firstArc[arc.to]);
            }
        }
    }

    SilenceContext AfterWord(SilenceContext context, uint32_t word) const
    {
        if (!m_phones.HasSilence())
            return context;
        context.crossedWord = true;
        context.crossedEnd = m_acceptor.words[word] == m_tables.sentenceEnd;
        return context;
    }

    SilenceContext AfterState(const SilenceContext& before, uint32_t state) const
    {
        SilenceContext context;
        if (!m_phones.IsSilence(state))
            return context;
        const bool continues = before.state != UINT32_MAX && m_phones.Continues(before.state, state);
        const bool hasLabel = before.crossedWord || (continues && before.hasLabel);
        if (hasLabel && m_phones.EndsModels(state))
            return context; // nothing depends on it any more
        context.state = state;
        context.hasLabel = hasLabel;
        return context;
    }

    // True if the path leaves an optional silence for a state of another model, but not over the end of the sentence.
    bool IsCharged(const SilenceContext& before, uint32_t state) const
    {
        return before.state != UINT32_MAX && !before.hasLabel && !before.crossedEnd &&
               !m_phones.ShareSilence(before.state, state);
    }

    uint32_t NodeOf(uint32_t origin, const SilenceContext& context)
    {
        const auto [place, isNew] = m_nodeNumbers.try_emplace({origin, context}, uint32_t(m_nodes.size()));
        if (isNew)
        {
            m_nodes.push_back({origin, context, {}, {}});
            m_open.push_back(place->second);
        }
        return place->second;
    }

    uint32_t PlaceOf(uint32_t node, uint32_t state)
    {
        const auto [place, isNew] = m_placeNumbers.try_emplace({node, state}, uint32_t(m_graph.places.size()));
        if (isNew)
            m_graph.places.push_back({node, state});
        return place->second;
    }

    // Numbers nodes and places depth first, so that a chain of states lies together in memory.
    void Expand()
    {
        m_open.clear();
        NodeOf(0, {});
        while (!m_open.empty())
        {
            const uint32_t node = m_open.back();
            m_open.pop_back();
            const uint32_t origin = m_nodes[node].origin;
            const SilenceContext context = m_nodes[node].context;
            for (uint32_t i = m_firstArc[origin]; i < m_firstArc[origin + 1]; ++i)
            {
                const AcceptorArc& arc = m_arcs[i];
                if (!m_isUseful[arc.to])
                    continue;
                if (arc.isWord)
                {
                    const uint32_t to = NodeOf(arc.to, AfterWord(context, arc.label));
                    m_nodes[node].wordArcs.push_back({arc.label, to, arc.cost});
                    continue;
                }
                const uint32_t to = NodeOf(arc.to, AfterState(context, arc.label));
                const uint32_t place = PlaceOf(to, arc.label);
                m_nodes[node].arcs.push_back(
                    {IsCharged(context, arc.label) ? place | c_silenceCostBit : place, arc.cost, arc.label});
            }
        }
    }

    void Store()
    {
        for (BuiltNode& node : m_nodes)
        {
            m_graph.nodes.push_back({uint32_t(m_graph.arcs.size()), uint32_t(m_graph.wordArcs.size())});
            std::stable_sort(node.arcs.begin(), node.arcs.end(),
                             [](const GraphArc& a, const GraphArc& b) { return a.cost < b.cost; });
            for (GraphArc& arc : node.arcs)
                if (!m_nodes[m_graph.places[arc.Place()].node].wordArcs.empty())
                    arc.state |= c_wordsFollowBit;
            m_graph.arcs.insert(m_graph.arcs.end(), node.arcs.begin(), node.arcs.end());
            m_graph.wordArcs.insert(m_graph.wordArcs.end(), node.wordArcs.begin(), node.wordArcs.end());
        }
        m_graph.nodes.push_back({uint32_t(m_graph.arcs.size()), uint32_t(m_graph.wordArcs.size())});
        for (uint32_t i = 0; i < m_nodes.size(); ++i)
            if (const auto final = m_acceptor.finalCosts.find(m_nodes[i].origin); final != m_acceptor.finalCosts.end())
                m_graph.finals.push_back({i, final->second});
    }

    const Acceptor& m_acceptor;
    const GraphTables& m_tables;
    Log& m_log;
    PhoneTable m_phones;
    std::vector<AcceptorArc> m_arcs;
    std::vector<uint32_t> m_firstArc; // by node of the acceptor
    std::vector<bool> m_isUseful;
    std::vector<BuiltNode> m_nodes;
    std::map<std::pair<uint32_t, SilenceContext>, uint32_t> m_nodeNumbers;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> m_placeNumbers;
    std::vector<uint32_t> m_open;
    GraphContent m_graph;
};

} // namespace

GraphTables ReadGraphTables(const DecodeOptions& options)
{
    GraphTables tables;
    tables.transitionPath = options.transitionFile;
    tables.transitions = ReadTransitions(options.transitionFile);
    tables.hasLookahead = !options.lookaheadFile.empty();
    if (tables.hasLookahead)
        tables.lookahead = ReadLookahead(options.lookaheadFile);
    if (!options.modelMap.empty())
        tables.models = ReadModelMap(options.modelMap);
    tables.silenceModels = options.silenceModels;
    tables.sentenceEnd = options.sentenceEnd;
    return tables;
}

GraphContent BuildGraph(const Acceptor& acceptor, const GraphTables& tables, Log& log)
{
    return GraphBuilder(acceptor, tables, log).Build();
}

void CompileGraph(const DecodeOptions& options, Log& log)
{
    const GraphTables tables = ReadGraphTables(options);
    const Acceptor acceptor = ReadAcceptor(options.infsm);
    const GraphContent graph = BuildGraph(acceptor, tables, log);
    const size_t bytes = WriteGraph(options.graph, graph);
    const PhoneTable phones(tables.models, acceptor.states, tables.silenceModels);
    log.Print("Graph %s: States = %zu; Arcs = %zu; HMM states = %zu; Words = %zu; LookAhead = %s; Silences = %s; "
              "Bytes = %zu\n",
              options.graph.c_str(), graph.nodes.size() - 1, graph.arcs.size() + graph.wordArcs.size(),
              graph.stateNames.size(), graph.words.size(), graph.hasLookahead ? "known" : "unknown",
              phones.HasSilence() ? "known" : "unknown", bytes);
}

} // namespace cntk
