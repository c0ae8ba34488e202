// numSubminibatches and maxSamplesInRAM: a minibatch cut by its parallel sequences into parts that are computed one
// after another.
#pragma once

#include "Common/ReaderInterface.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace cntk
{

struct PartSettings
{
    size_t parts = 1;
    size_t maxColumns = std::numeric_limits<size_t>::max(); // of a part

    bool Cuts() const { return parts > 1 || maxColumns != std::numeric_limits<size_t>::max(); }
};

// How many parts a minibatch of so many columns in so many parallel sequences gets: no more than sequences.
size_t PartCount(const PartSettings& settings, size_t columns, size_t parallelSequences);

// The parallel sequences of part number `part` (from 0) of `parts`.
struct PartRows
{
    size_t first = 0;
    size_t count = 0;
};

PartRows RowsOfPart(size_t parallelSequences, size_t part, size_t parts);

// Those that are cut: of the stream with the most columns.
template <class ElemType>
size_t ParallelSequencesOf(const HostMinibatch<ElemType>& minibatch);

// Whether a sequence goes on from the minibatch before, or in the next one.
template <class ElemType>
bool GoesOn(const HostMinibatch<ElemType>& minibatch);

// Of the inputs that the minibatch is for.
enum class Axes
{
    One,
    Several
};

// Part number `part` (from 0) of `parts`, into target, whose memory is used again. Inputs of one axis get rows of the
// parallel sequences. On several axes (a label for each sequence) all get the same sequences, packed as a reader packs
// them and with the ids 0, 1, ...: what the network picks of one axis has then the layout of the other. A stream with
// one sequence beside the others, as a table of words has it, is in one part: what is summed over it counts once. Fails
// (Config) where streams have other numbers of sequences, and where a sequence goes on from one minibatch to the next
// in a stream with another number of parallel sequences: whose state it is could not be told.
template <class ElemType>
void TakePart(const HostMinibatch<ElemType>& whole, size_t part, size_t parts, Axes axes,
              HostMinibatch<ElemType>& target);

} // namespace cntk
