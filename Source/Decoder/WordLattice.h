// A lattice of words: each word sequence within the beam once, with its best states. Nodes are word boundaries.
#pragma once

#include "Decoder/DecodedPath.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cntk
{

struct LatticeState
{
    uint32_t state;
    uint32_t frames;
};

struct WordLatticeArc
{
    static constexpr uint32_t c_silence = UINT32_MAX; // instead of a word

    uint32_t from = 0;
    uint32_t to = 0;
    uint32_t word = c_silence; // of the graph
    ScoreParts parts;
    std::vector<LatticeState> states; // fill the arc's time

    bool HasWord() const { return word != c_silence; }
};

// Node 0 is the start, the last node the end. Arcs are sorted by `from`, and from < to.
struct WordLattice
{
    std::vector<uint32_t> nodeFrames; // frames before each node, rising
    std::vector<WordLatticeArc> arcs;
    double beam = 0; // that was used; less than asked for if the lattice would have been too large
};

// Best scores from the start to each node, and from each node to the end.
struct LatticeBests
{
    std::vector<double> forward;
    std::vector<double> backward;
};
LatticeBests BestsOf(const WordLattice& lattice, double acweight);

// Posterior probability of each arc.
std::vector<double> PosteriorsOf(const WordLattice& lattice, double acweight);

struct LatticeSentence
{
    double score = 0;
    std::vector<uint32_t> words; // with the words that start and end the sentence
};
// The best paths, best first.
std::vector<LatticeSentence> BestSentences(const WordLattice& lattice, double acweight, size_t count);

// Keeps the arcs on paths within the beam, merges nodes with equal continuations, and orders nodes by time.
void TidyLattice(WordLattice& lattice, double acweight, double beam);

// HTK Standard Lattice Format with acoustic, language and other scores and states. frameSeconds: of a frame.
std::string SlfText(const WordLattice& lattice, const DecodingGraph& graph, const std::string& utterance,
                    double acweight, double frameSeconds);

} // namespace cntk
