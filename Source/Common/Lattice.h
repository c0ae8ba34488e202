// What a recogniser held possible for an utterance, for sequence training: a graph whose paths from the first node to
// the last are hypotheses, and whose arcs say of which state each of their frames is.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace cntk
{

// The frames of an arc up to `end` (exclusive, counted from the beginning of the utterance) are of that state, a class
// of the labels. The segment begins where the one before it ends, the first one of an arc where its node stands.
struct LatticeSegment
{
    uint32_t end = 0;
    uint32_t state = 0;
};

struct LatticeArc
{
    uint32_t from = 0; // nodes; from < to
    uint32_t to = 0;
    uint32_t firstSegment = 0; // in Lattice::segments, up to that of the next arc; none where the arc takes no time
    bool isWord = false;       // costs the word penalty
    double languageScore = 0;  // natural logarithm of the language model's probability
};

struct Lattice
{
    uint32_t frames = 0;              // of the utterance
    std::vector<uint32_t> nodeFrames; // by node, ascending along arcs: the frames before it. The first node has 0, the
                                      // last one all
    std::vector<LatticeArc> arcs;     // in ascending order of `from`; each lies on a path from the first node to the
                                      // last. At least one
    std::vector<LatticeSegment> segments;

    uint32_t EndOfSegments(size_t arc) const
    {
        return arc + 1 < arcs.size() ? arcs[arc + 1].firstSegment : uint32_t(segments.size());
    }
};

using LatticePtr = std::shared_ptr<const Lattice>;

} // namespace cntk
