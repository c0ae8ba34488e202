// Lattices in HTK's Standard Lattice Format: text, of which an archive holds many, one behind the other. What is read
// of a lattice are its arcs, their states and times (d=) and the scores of the language model (l=). Acoustic scores
// are not, since the network computes them anew.
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

// Puts nodes into the order of time, arcs behind one another and arcs into the order of their first nodes, as Lattice
// says; what lies on no path from the first node to the last is left out. Arcs may come in any order, but none ends
// earlier than it begins. first, last: where they are known; else they are the only nodes that no arc enters, and
// leaves. Returns what is wrong with the lattice, in words; empty: nothing.
std::string OrderLattice(Lattice& lattice, std::optional<uint32_t> first, std::optional<uint32_t> last);

// What a lattice must fit.
struct SlfUtterance
{
    const std::string& key;
    size_t frames;
    const StateList& states;
    size_t classes; // the class ids of states are less
};

// Reads the lattice that begins at that byte of the file. Fails (Data) with file, line and utterance.
Lattice ReadSlf(const PiecewiseFile& file, size_t offset, const SlfUtterance& utterance);

} // namespace cntk
