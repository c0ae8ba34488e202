// The hypotheses of a recogniser for one utterance, for sequence training: a graph whose paths from the first node to
// the last node are hypotheses. Its arcs assign a state to each frame.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace cntk
{

// Consecutive frames of an arc in one state, which is a class of the labels. `end` is exclusive and counts from the
// beginning of the utterance. A segment begins at the end of the previous segment, the first one at the arc's node.
struct LatticeSegment
{
    uint32_t end = 0;
    uint32_t state = 0;
};

struct LatticeArc
{
    uint32_t from = 0; // nodes; from < to
    uint32_t to = 0;
    uint32_t firstSegment = 0; // index into Lattice::segments; the arc has the segments up to those of the next arc
    bool isWord = false;       // costs the word penalty
    double languageScore = 0;  // natural logarithm of the language model's probability
};

struct Lattice
{
    uint32_t frames = 0; // of the utterance
    // Number of frames before each node, ascending along arcs: 0 for the first node, `frames` for the last node.
    std::vector<uint32_t> nodeFrames;
    // At least one arc, in ascending order of `from`. Each arc lies on a path from the first node to the last node.
    std::vector<LatticeArc> arcs;
    std::vector<LatticeSegment> segments;

    uint32_t EndOfSegments(size_t arc) const
    {
        return arc + 1 < arcs.size() ? arcs[arc + 1].firstSegment : uint32_t(segments.size());
    }
};

using LatticePtr = std::shared_ptr<const Lattice>;

} // namespace cntk
