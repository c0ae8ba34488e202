// Scores, order and text of lattices.
#include "Decoder/WordLattice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <queue>

namespace cntk
{

namespace
{

constexpr double c_noPath = -std::numeric_limits<double>::infinity();

double AddLogs(double a, double b)
{
    if (a < b)
        std::swap(a, b);
    return b == c_noPath ? a : a + std::log1p(std::exp(b - a));
}

// Sorts arcs by `from` after nodes have been renumbered.
void SortByBegin(WordLattice& lattice)
{
    std::stable_sort(lattice.arcs.begin(), lattice.arcs.end(),
                     [](const WordLatticeArc& a, const WordLatticeArc& b)
                     { return a.from != b.from ? a.from < b.from : a.to < b.to; });
}

// Gives the nodes new numbers and drops those without one.
void Renumber(WordLattice& lattice, const std::vector<uint32_t>& numbers, size_t count)
{
    std::vector<uint32_t> frames(count);
    for (size_t i = 0; i < numbers.size(); ++i)
        if (numbers[i] != c_noToken)
            frames[numbers[i]] = lattice.nodeFrames[i];
    lattice.nodeFrames = std::move(frames);
    for (WordLatticeArc& arc : lattice.arcs)
    {
        arc.from = numbers[arc.from];
        arc.to = numbers[arc.to];
    }
    SortByBegin(lattice);
}

std::string KeyOfArc(const WordLatticeArc& arc, uint32_t target)
{
    std::string key = std::to_string(target) + ' ' + std::to_string(arc.word);
    for (const LatticeState& state : arc.states)
        key += ' ' + std::to_string(state.state) + ':' + std::to_string(state.frames);
    char scores[64];
    std::snprintf(scores, sizeof scores, " %.4f %.4f;", arc.parts.graph, arc.parts.language);
    return key + scores;
}

// Merges nodes of the same time whose arcs are equal, from the end to the start.
void MergeNodes(WordLattice& lattice)
{
    const size_t nodes = lattice.nodeFrames.size();
    std::vector<std::vector<std::string>> keys(nodes);
    std::vector<uint32_t> kept(nodes);
    std::map<std::vector<std::string>, uint32_t> known;
    size_t arc = lattice.arcs.size();
    for (size_t node = nodes; node-- > 0;)
    {
        std::vector<std::string> key{std::to_string(lattice.nodeFrames[node])};
        if (node + 1 == nodes)
            key.emplace_back("end");
        for (; arc > 0 && lattice.arcs[arc - 1].from == node; --arc)
            key.push_back(KeyOfArc(lattice.arcs[arc - 1], kept[lattice.arcs[arc - 1].to]));
        std::sort(key.begin() + 1, key.end());
        kept[node] = known.try_emplace(std::move(key), uint32_t(node)).first->second;
    }
    std::erase_if(lattice.arcs,
                  [&](const WordLatticeArc& candidate) { return kept[candidate.from] != candidate.from; });
    for (WordLatticeArc& left : lattice.arcs)
        left.to = kept[left.to];
}

} // namespace

LatticeBests BestsOf(const WordLattice& lattice, double acweight)
{
    const size_t nodes = lattice.nodeFrames.size();
    LatticeBests bests{std::vector<double>(nodes, c_noPath), std::vector<double>(nodes, c_noPath)};
    bests.forward.front() = 0;
    bests.backward.back() = 0;
    for (const WordLatticeArc& arc : lattice.arcs)
        bests.forward[arc.to] = std::max(bests.forward[arc.to], bests.forward[arc.from] + arc.parts.Total(acweight));
    for (auto arc = lattice.arcs.rbegin(); arc != lattice.arcs.rend(); ++arc)
        bests.backward[arc->from] =
            std::max(bests.backward[arc->from], bests.backward[arc->to] + arc->parts.Total(acweight));
    return bests;
}

std::vector<double> PosteriorsOf(const WordLattice& lattice, double acweight)
{
    const size_t nodes = lattice.nodeFrames.size();
    std::vector<double> forward(nodes, c_noPath);
    std::vector<double> backward(nodes, c_noPath);
    forward.front() = 0;
    backward.back() = 0;
    for (const WordLatticeArc& arc : lattice.arcs)
        forward[arc.to] = AddLogs(forward[arc.to], forward[arc.from] + arc.parts.Total(acweight));
    for (auto arc = lattice.arcs.rbegin(); arc != lattice.arcs.rend(); ++arc)
        backward[arc->from] = AddLogs(backward[arc->from], backward[arc->to] + arc->parts.Total(acweight));
    std::vector<double> posteriors;
    for (const WordLatticeArc& arc : lattice.arcs)
        posteriors.push_back(
            std::exp(forward[arc.from] + arc.parts.Total(acweight) + backward[arc.to] - backward.front()));
    return posteriors;
}

std::vector<LatticeSentence> BestSentences(const WordLattice& lattice, double acweight, size_t count)
{
    const LatticeBests bests = BestsOf(lattice, acweight);
    std::vector<size_t> firstArc(lattice.nodeFrames.size() + 1, 0);
    for (const WordLatticeArc& arc : lattice.arcs)
        ++firstArc[arc.from + 1];
    for (size_t i = 1; i < firstArc.size(); ++i)
        firstArc[i] += firstArc[i - 1];
    // The best completion of each beginning is known, so beginnings come in the order of their sentences.
    struct Beginning
    {
        double total; // with the best completion
        double score;
        uint32_t node;
        uint32_t arc; // the last one
        size_t previous;
    };
    std::vector<Beginning> all{{bests.backward.front(), 0, 0, c_noToken, SIZE_MAX}};
    const auto isWorse = [&](size_t a, size_t b)
    { return all[a].total != all[b].total ? all[a].total < all[b].total : a > b; };
    std::priority_queue<size_t, std::vector<size_t>, decltype(isWorse)> queue(isWorse);
    queue.push(0);
    std::vector<LatticeSentence> sentences;
    while (!queue.empty() && sentences.size() < count)
    {
        const size_t index = queue.top();
        queue.pop();
        const Beginning beginning = all[index];
        if (beginning.node + 1 == lattice.nodeFrames.size())
        {
            LatticeSentence sentence{beginning.score, {}};
            for (size_t i = index; all[i].arc != c_noToken; i = all[i].previous)
                if (lattice.arcs[all[i].arc].HasWord())
                    sentence.words.push_back(lattice.arcs[all[i].arc].word);
            std::reverse(sentence.words.begin(), sentence.words.end());
            sentences.push_back(std::move(sentence));
            continue;
        }
        for (size_t i = firstArc[beginning.node]; i < firstArc[beginning.node + 1]; ++i)
        {
            const WordLatticeArc& arc = lattice.arcs[i];
            const double score = beginning.score + arc.parts.Total(acweight);
            all.push_back({score + bests.backward[arc.to], score, arc.to, uint32_t(i), index});
            queue.push(all.size() - 1);
        }
    }
    return sentences;
}

void TidyLattice(WordLattice& lattice, double acweight, double beam)
{
    const auto keepOnPaths = [&](double within)
    {
        const LatticeBests bests = BestsOf(lattice, acweight);
        const double least = bests.backward.front() - within;
        std::erase_if(lattice.arcs, [&](const WordLatticeArc& arc)
                      { return bests.forward[arc.from] + arc.parts.Total(acweight) + bests.backward[arc.to] < least; });
    };
    SortByBegin(lattice);
    keepOnPaths(beam);
    MergeNodes(lattice);
    keepOnPaths(beam);
    // Numbers in the order of time; nodes of one time keep their order.
    const size_t nodes = lattice.nodeFrames.size();
    std::vector<bool> isUsed(nodes, false);
    for (const WordLatticeArc& arc : lattice.arcs)
        isUsed[arc.from] = isUsed[arc.to] = true;
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < nodes; ++i)
        if (isUsed[i])
            order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return lattice.nodeFrames[a] < lattice.nodeFrames[b]; });
    std::vector<uint32_t> numbers(nodes, c_noToken);
    for (size_t i = 0; i < order.size(); ++i)
        numbers[order[i]] = uint32_t(i);
    Renumber(lattice, numbers, order.size());
}

std::string SlfText(const WordLattice& lattice, const DecodingGraph& graph, const std::string& utterance,
                    double acweight, double frameSeconds)
{
    const auto number = [](double value)
    {
        char buffer[40];
        std::snprintf(buffer, sizeof buffer, "%.9g", value);
        return std::string(buffer);
    };
    std::string text = "VERSION=1.0\nUTTERANCE=" + utterance + "\nacscale=" + number(acweight) +
                       " lmscale=1 prscale=1 wdpenalty=0\nN=" + std::to_string(lattice.nodeFrames.size()) +
                       " L=" + std::to_string(lattice.arcs.size()) + "\n";
    for (size_t i = 0; i < lattice.nodeFrames.size(); ++i)
        text += "I=" + std::to_string(i) + " t=" + number(lattice.nodeFrames[i] * frameSeconds) + "\n";
    for (size_t i = 0; i < lattice.arcs.size(); ++i)
    {
        const WordLatticeArc& arc = lattice.arcs[i];
        text += "J=" + std::to_string(i) + " S=" + std::to_string(arc.from) + " E=" + std::to_string(arc.to) +
                " W=" + (arc.HasWord() ? graph.Words()[arc.word] : std::string("!NULL")) +
                " a=" + number(arc.parts.acoustic) + " l=" + number(arc.parts.language) +
                " r=" + number(arc.parts.graph) + " d=";
        if (!arc.states.empty())
            text += ':';
        for (const LatticeState& state : arc.states)
            text += graph.StateNames()[state.state] + ',' + number(state.frames * frameSeconds) + ':';
        text += '\n';
    }
    return text;
}

} // namespace cntk
