// Lattices in HTK's Standard Lattice Format: text; an archive holds many lattices, one after another. Reads the arcs,
// their states and times (d=), and the scores of the language model (l=). Ignores acoustic scores, which the network
// computes.
#pragma once

#include "Common/File.h"
#include "Common/Lattice.h"
#include "Readers/HTKMLFReader/MlfFile.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cntk
{

// Orders the nodes by time and the arcs by their first nodes, as Lattice specifies. Drops nodes and arcs that are on no
// path from the first node to the last. The arcs of the input may have any order, but none may end before it begins.
// first, last: the end nodes if known; otherwise the only node that no arc enters, and the only one that no arc leaves.
// Returns an error message, or "".
std::string OrderLattice(Lattice& lattice, std::optional<uint32_t> first, std::optional<uint32_t> last);

// The utterance that a lattice must match.
struct SlfUtterance
{
    const std::string& key;
    size_t frames;
    const StateList& states;
    size_t classes; // all class ids of states are below
};

// Reads the lattice that begins at that byte of the file. Fails (Data) with file, line and utterance.
Lattice ReadSlf(const PiecewiseFile& file, size_t offset, const SlfUtterance& utterance);

} // namespace cntk
