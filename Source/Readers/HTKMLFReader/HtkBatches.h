// Fills minibatches from chunks: frames in shuffled order, parallel utterances, or whole files for writing.
#pragma once

#include "Readers/HTKMLFReader/HtkChunks.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

#include <memory>
#include <vector>

namespace cntk
{

// The frames of an epoch; positions continue from epoch to epoch.
struct HtkEpoch
{
    PlaceRange frames;
    size_t firstFrame = 0; // of the first utterance that begins in the epoch
};

// The first layout of a slot serves all streams.
template <class ElemType>
class HtkBatches
{
public:
    virtual ~HtkBatches() = default;
    // The store knows the wanted streams already; epochSize is in frames.
    virtual HtkEpoch Start(const EpochRequest& request) = 0;
    // False at the end of the epoch.
    virtual bool Fill(MinibatchSlot<ElemType>& slot) = 0;
};

// Copies frames of chunks into the columns of a slot's streams.
template <class ElemType>
class HtkColumns
{
public:
    HtkColumns(const HtkCorpus& corpus, const std::vector<bool>& wanted) : m_corpus(corpus), m_wanted(wanted) {}

    // Sizes the batches. Columns that are not filled are gaps.
    void Prepare(MinibatchSlot<ElemType>& slot, size_t columns, bool hasGaps);
    void Copy(MinibatchSlot<ElemType>& slot, const HtkChunkData& chunk, size_t frame, size_t column) const;
    // Scattered frames, one a column. Copying them together is faster, because the next frames are prefetched into the
    // cache.
    struct Frame
    {
        const HtkChunkData* chunk;
        size_t frame;
    };
    void Copy(MinibatchSlot<ElemType>& slot, const std::vector<Frame>& frames);
    // Completes the batches when all columns are filled.
    void Finish(MinibatchSlot<ElemType>& slot) const;

private:
    const HtkCorpus& m_corpus;
    const std::vector<bool>& m_wanted;
    std::vector<const float*> m_sources; // of one stream
};

template <class ElemType>
std::unique_ptr<HtkBatches<ElemType>> MakeHtkFrameBatches(const HtkConfig& config, HtkChunkStore& store);
template <class ElemType>
std::unique_ptr<HtkBatches<ElemType>> MakeHtkUtteranceBatches(const HtkConfig& config, HtkChunkStore& store);
template <class ElemType>
std::unique_ptr<HtkBatches<ElemType>> MakeHtkFileBatches(const HtkConfig& config, HtkChunkStore& store);

} // namespace cntk
