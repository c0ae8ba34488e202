// A path through the graph for an utterance: visits of states and word labels, with the parts of its score.
#pragma once

#include "Decoder/DecodingGraph.h"
#include "Decoder/ScoreSource.h"
#include "Decoder/SearchTrace.h"
#include "Decoder/StateTables.h"
#include "Decoder/WordScorer.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cntk
{

// The parts of a score: acweight * acoustic + graph + language.
struct ScoreParts
{
    double acoustic = 0; // unweighted
    double graph = 0;    // transitions, pronunciations, look-ahead that is taken off, and silences
    double language = 0; // ln P of the language model

    ScoreParts& operator+=(const ScoreParts& other)
    {
        acoustic += other.acoustic;
        graph += other.graph;
        language += other.language;
        return *this;
    }
    double Total(double acweight) const { return acweight * acoustic + graph + language; }
};

// Frames begin..end-1 in one state, without leaving it.
struct PathVisit
{
    uint32_t place = 0;
    uint32_t state = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
    double acoustic = 0;
    double graph = 0; // the arc that enters the state, self loops and the way forward
};

// A word label in front of a visit, or at the end.
struct PathLabel
{
    uint32_t word = 0;
    uint32_t visit = 0; // the visit that follows
    double graph = 0;   // cost of the word arc; look-ahead taken off
    double language = 0;
};

struct DecodedPath
{
    std::vector<PathVisit> visits;
    std::vector<PathLabel> labels;
    double finalGraph = 0; // cost of the final state

    ScoreParts Parts() const;
};

// Consecutive visits that are a phone or a word.
struct PathSpan
{
    uint32_t firstVisit = 0;
    uint32_t endVisit = 0;
};
struct PathPhone : PathSpan
{
    bool isSilence = false;
};
struct PathWord : PathSpan
{
    uint32_t word = 0;
};

struct PathSegments
{
    std::vector<PathPhone> phones;
    std::vector<PathWord> words; // with the words that start and end the sentence
};

// Walks along the tokens of a path and scores it in double precision.
class PathBuilder
{
public:
    PathBuilder(const DecodingGraph& graph, double silenceCost) : m_graph(graph), m_silenceCost(silenceCost) {}

    // True if a token that is in the place at two consecutive frames has stayed. Otherwise it has left and come back.
    bool Stays(uint32_t place) const;

    // Begins behind the place, or at the start of the graph (c_noToken).
    void Begin(uint32_t place, uint32_t frame);
    // Adds a label that follows the last visit.
    void AddWordArc(uint32_t wordArc);
    // Adds the next frame.
    void AddFrame(uint32_t place, const UtteranceScores& scores, const std::vector<uint32_t>& rowOfState);
    // Ends the last visit, at the end of a part of a path.
    void LeaveVisit();
    // isFinal: the path ends in a final state.
    DecodedPath Finish(bool isFinal);

private:
    double ScoreOfArc(uint32_t node, uint32_t place) const;

    const DecodingGraph& m_graph;
    double m_silenceCost;
    DecodedPath m_path;
    uint32_t m_node = 0;  // behind the last visit and the labels
    uint32_t m_place = 0; // the last one, if a visit is open
    bool m_isInVisit = false;
    uint32_t m_frame = 0;
};

// The best path of the trace. Fills in the language model's scores.
DecodedPath BestPathOf(const SearchTrace& trace, bool isPartial, const DecodingGraph& graph, double silenceCost,
                       const UtteranceScores& scores, const std::vector<uint32_t>& rowOfState, WordScorer& scorer);

// Finds phones and words. A label stands before the last phone of its word, or in it. Silences between words belong to
// no word. Without a model state map each visit is a phone.
PathSegments SegmentPath(const DecodedPath& path, const PhoneTable& phones);

} // namespace cntk
