// The order of the sequences of a file, and the sequences of each minibatch of an epoch: sweeps over the data, the
// shuffle of CNTK v1.1 (chunks, then sequences within a window), the share of a worker.
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/CNTKTextFormatReader/CtfIndex.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cntk
{

// Sets `order` to the sequences in the order of one sweep. range: samples, SIZE_MAX for all. chunkOrder gets the chunks
// in their shuffled order.
void ShuffleSequences(const CtfIndex& index, size_t range, size_t sweep, std::vector<uint32_t>& order,
                      std::vector<uint32_t>& chunkOrder, uint64_t trainingSeed = 0);

class CtfOrder
{
public:
    struct Pick
    {
        uint32_t chunk = 0;
        uint32_t sequence = 0; // in the chunk
    };

    // range: 0 in the order of the file, SIZE_MAX all data.
    CtfOrder(const CtfIndex& index, size_t range) : m_index(index), m_range(range) {}

    void Start(const EpochRequest& request);

    // Sets this worker's sequences of the next minibatch, possibly none; false at the end of the epoch.
    bool Next(std::vector<Pick>& picks);

private:
    void EnterSweep(size_t sweep);
    void Take(std::vector<Pick>& picks);
    size_t SamplesAt(size_t position) const;
    uint32_t SequenceAt(size_t position) const { return m_range == 0 ? uint32_t(position) : m_order[position]; }
    uint32_t ChunkOf(uint32_t sequence) const;

    const CtfIndex& m_index;
    size_t m_range;
    EpochRequest m_request;
    size_t m_epochEnd = 0; // in samples, counted over all sweeps

    size_t m_sweep = SIZE_MAX;
    size_t m_position = 0; // sequences of the sweep taken so far
    size_t m_samples = 0;  // samples taken so far, counted over all sweeps
    std::vector<uint32_t> m_order;
    std::vector<uint32_t> m_chunkRank; // place of a chunk in the shuffled order
    std::vector<uint32_t> m_chunkOrder;
    std::vector<Pick> m_all; // of a minibatch, for all workers
};

} // namespace cntk
