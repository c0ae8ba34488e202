// Lattices in HTK's Standard Lattice Format: text, of which an archive holds many, one behind the other. What is read
// of a lattice are its arcs, their states and times (d=) and the scores of the language model (l=). Acoustic scores
// are not, since the network computes them anew.
#pragma once

#include "Common/File.h"
#include "Common/Lattice.h"
#include "Readers/HTKMLFReader/MlfFile.h"

#include <cstddef>
#include <string>

namespace cntk
{

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
