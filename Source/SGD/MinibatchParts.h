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

// The most of any stream.
template <class ElemType>
size_t ParallelSequencesOf(const HostMinibatch<ElemType>& minibatch);

// Part number `part` (from 0) of `parts`, into target, whose memory is used again. Fails (Config) where a sequence goes
// on from one minibatch to the next in a stream with fewer parallel sequences than others: whose state it is could not
// be told.
template <class ElemType>
void TakePart(const HostMinibatch<ElemType>& whole, size_t part, size_t parts, HostMinibatch<ElemType>& target);

} // namespace cntk
