// Cuts minibatches by their parallel sequences: into parts that are computed one after another (numSubminibatches,
// maxSamplesInRAM), and into the shares of parallel workers.
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

// Returns the number of parts, at most one for each parallel sequence.
size_t PartCount(const PartSettings& settings, size_t columns, size_t parallelSequences);

// Parallel sequences of one part.
struct PartRows
{
    size_t first = 0;
    size_t count = 0;
};

PartRows RowsOfPart(size_t parallelSequences, size_t part, size_t parts);

// Returns the sequences in the order of their ids, without gaps. layout: null or in frame mode if each of the columns
// is a sequence.
std::vector<SequenceInfo> SequencesById(const MBLayout* layout, size_t columns);

// Counts the parallel sequences of the stream with the most columns.
template <class ElemType>
size_t ParallelSequencesOf(const HostMinibatch<ElemType>& minibatch);

// True if a sequence continues from the previous minibatch or in the next one.
template <class ElemType>
bool HasCutSequences(const HostMinibatch<ElemType>& minibatch);

// Number of dynamic axes of the inputs that a minibatch feeds.
enum class Axes
{
    One,
    Several
};

// Copies part `part` (from 0) of `parts` to target, whose memory is reused. Inputs of one axis get some of the parallel
// sequences. Inputs of several axes (a label per sequence) get the same sequences, packed as a reader packs them and
// with ids 0, 1, ..., so that their layouts correspond. A stream with a single sequence next to several ones (a table
// of words) is in one part, so that sums over it count once. Fails (Config) if streams have different numbers of
// sequences, or if cut sequences are in streams with different numbers of parallel sequences, because their recurrent
// states could not be assigned.
template <class ElemType>
void TakePart(const HostMinibatch<ElemType>& whole, size_t part, size_t parts, Axes axes,
              HostMinibatch<ElemType>& target);

} // namespace cntk
