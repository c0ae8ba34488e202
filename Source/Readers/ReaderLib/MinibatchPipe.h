// Delivers a reader's minibatches: prefetched in a thread or filled on request, timed, with their text for the log.
// Buffers and layouts are reused, so that a steady state allocates nothing. Also the parts of the data that belong to
// an epoch and to a worker.
#pragma once

#include "Common/Error.h"
#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/Prefetcher.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace cntk
{

// Places [begin, end).
struct PlaceRange
{
    size_t begin = 0;
    size_t end = 0;
};

inline bool IsWholeDataSet(const EpochRequest& request)
{
    return request.epochSize == 0 || request.epochSize >= c_wholeDataSet;
}

// Returns the positions of the epoch if every epoch has epochSize of them. unit: the counted item, for the message.
inline PlaceRange PositionsOfEpoch(const EpochRequest& request, size_t epochSize, const char* unit = "sample")
{
    if (epochSize > c_wholeDataSet / (request.epoch + 1))
        Fail(ErrorKind::Config, "epochSize=", epochSize, " is too large: epoch ", request.epoch + 1,
             " would end beyond ", unit, " ", c_wholeDataSet);
    return {request.epoch * epochSize, (request.epoch + 1) * epochSize};
}

// Returns this worker's share of the `count` columns or sequences of a minibatch.
inline PlaceRange ShareOfWorker(const EpochRequest& request, size_t count)
{
    return {count * request.rank / request.workers, count * (request.rank + 1) / request.workers};
}

class Log;

// Returns, by stream, whether the epoch's inputs want it; no names: all streams. Fails (Config) if no name fits.
std::vector<bool> ChooseStreams(const std::string& readerName, const std::vector<StreamInfo>& streams,
                                const std::vector<std::string>& wanted);

// Fails (Config) if a minibatch cannot count so many columns. what: "images".
void RequireColumns(size_t columns, const char* what);

// Sets each column to a single 1; the caller fills the row indices.
template <class ElemType>
void PrepareOneHot(StreamBatch<ElemType>& batch);

// Returns the capacity of the buffers.
template <class ElemType>
size_t BytesOf(const std::vector<StreamBatch<ElemType>>& streams)
{
    size_t bytes = 0;
    for (const StreamBatch<ElemType>& stream : streams)
        bytes += stream.values.capacity() * sizeof(ElemType) +
                 (stream.rowIndices.capacity() + stream.columnStarts.capacity()) * sizeof(int32_t);
    return bytes;
}

// A minibatch that is being filled. The slot owns one layout per stream; streams of one time axis share one of them.
template <class ElemType>
struct MinibatchSlot
{
    std::vector<StreamBatch<ElemType>> streams;
    std::vector<MBLayoutPtr> layouts;
    std::vector<std::string> keys; // HostMinibatch::sequenceKeys
    std::vector<LatticePtr> lattices;
    std::string log;

    // Gives the slot streamCount streams, each with a layout.
    void Prepare(size_t streamCount);
    // Empties the batch of a stream that nobody wants.
    void Clear(size_t stream);
};

template <class ElemType>
class MinibatchPipe
{
public:
    using Fill = std::function<bool(MinibatchSlot<ElemType>&)>; // false: end of the epoch

    explicit MinibatchPipe(Log& log)
        : m_log(log), m_prefetcher([](const MinibatchSlot<ElemType>& slot) { return BytesOf(slot.streams); })
    {
    }

    // ahead: fill runs in a thread, and everything that it uses belongs to the thread until Stop returns.
    void Start(Fill fill, bool ahead);
    void Stop();
    bool Next(HostMinibatch<ElemType>& minibatch);

private:
    Log& m_log;
    Fill m_fill;
    bool m_ahead = false;
    MinibatchSlot<ElemType> m_slot; // holds the layouts of the minibatch that the caller has
    Prefetcher<MinibatchSlot<ElemType>> m_prefetcher;
};

} // namespace cntk
