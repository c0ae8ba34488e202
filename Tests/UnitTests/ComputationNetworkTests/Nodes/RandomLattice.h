// Lattices at random, small enough to name all of their paths.
#pragma once

#include "Common/Lattice.h"

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

namespace cntk::Testing
{

// A lattice of that many frames and states: some nodes in between, several arcs from each to later ones, segments of
// one or more frames, arcs that take no time.
inline Lattice RandomLattice(uint32_t frames, uint32_t states, std::mt19937& random)
{
    const auto below = [&](uint32_t count) { return uint32_t(random() % count); };
    Lattice lattice;
    lattice.frames = frames;
    lattice.nodeFrames.push_back(0);
    for (uint32_t frame = 0; frame < frames;)
    {
        frame = std::min(frames, frame + below(3));
        lattice.nodeFrames.push_back(frame);
    }
    const auto nodes = uint32_t(lattice.nodeFrames.size());
    for (uint32_t from = 0; from + 1 < nodes; ++from)
        for (uint32_t to = from + 1; to < nodes && to <= from + 3; ++to)
            for (uint32_t copies = to == from + 1 ? 1 + below(2) : below(2); copies > 0; --copies)
            {
                LatticeArc arc;
                arc.from = from;
                arc.to = to;
                arc.firstSegment = uint32_t(lattice.segments.size());
                arc.isWord = below(2) == 0;
                arc.languageScore = -double(below(1000)) / 300;
                lattice.arcs.push_back(arc);
                for (uint32_t frame = lattice.nodeFrames[from]; frame < lattice.nodeFrames[to];)
                {
                    frame = std::min(lattice.nodeFrames[to], frame + 1 + below(2));
                    lattice.segments.push_back({frame, below(states)});
                }
            }
    return lattice;
}

// A way through the lattice.
struct LatticePath
{
    std::vector<uint32_t> states; // by frame
    double languageScore = 0;
    double words = 0;
};

inline std::vector<LatticePath> PathsOf(const Lattice& lattice)
{
    std::vector<LatticePath> paths;
    std::function<void(uint32_t, LatticePath)> walk = [&](uint32_t node, const LatticePath& soFar)
    {
        if (node + 1 == lattice.nodeFrames.size())
            paths.push_back(soFar);
        for (size_t i = 0; i < lattice.arcs.size(); ++i)
        {
            const LatticeArc& arc = lattice.arcs[i];
            if (arc.from != node)
                continue;
            LatticePath path = soFar;
            path.languageScore += arc.languageScore;
            path.words += arc.isWord ? 1 : 0;
            for (uint32_t s = arc.firstSegment; s < lattice.EndOfSegments(i); ++s)
                path.states.resize(lattice.segments[s].end, lattice.segments[s].state);
            walk(arc.to, path);
        }
    };
    walk(0, {});
    return paths;
}

} // namespace cntk::Testing
