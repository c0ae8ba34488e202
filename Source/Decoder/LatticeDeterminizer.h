// Makes each word sequence of a trace graph unique, with its best path. The result is a graph of pieces: paths between
// two ends of words. Two paths of pieces never have the same words.
#pragma once

#include "Decoder/TraceGraph.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cntk
{

// A path from behind the end of one word to the end of the next one.
struct LatticePiece
{
    uint32_t from;              // index into DeterminedLattice::nodes
    uint32_t to;                // c_end: the end of the utterance
    uint32_t word;              // that ends; TraceGraph::c_noWord: none, at the end of a partial path
    std::vector<uint32_t> path; // nodes of the trace graph, from that of `from` to the last one before `to`

    static constexpr uint32_t c_end = UINT32_MAX;
};

struct DeterminedLattice
{
    std::vector<uint32_t> nodes; // nodes of the trace graph, rising; the first is the start
    std::vector<LatticePiece> pieces;
};

// Keeps the word sequences whose loss is at most `beam`. Returns false if there would be more than mostPieces.
bool Determinize(const TraceGraph& graph, double beam, size_t mostPieces, DeterminedLattice& lattice);

} // namespace cntk
