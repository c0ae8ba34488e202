// From the trace of a search to the lattice of its words.
#pragma once

#include "Decoder/DecodedPath.h"
#include "Decoder/WordLattice.h"

namespace cntk
{

struct LatticeSource
{
    const SearchTrace& trace; // with links
    bool isPartial;
    const DecodingGraph& graph;
    const PhoneTable& phones;
    double silenceCost;
    double acweight;
    double beam;
    const UtteranceScores& scores;
    const std::vector<uint32_t>& rowOfState;
};

// The trace must have an end. Scores are computed anew, in double precision, from the states of each arc. If the
// lattice would have more than half a million arcs, the beam is reduced for it (WordLattice::beam).
WordLattice BuildLattice(const LatticeSource& source, WordScorer& scorer);

} // namespace cntk
