// How a reader's minibatches reach the caller: made in a thread ahead of time or on the spot, timed, with their text
// for the log. Buffers and layouts go round, so that a steady state allocates nothing.
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

// The positions of the epoch where each has epochSize of them. unit: what is counted, for the message.
inline PlaceRange PositionsOfEpoch(const EpochRequest& request, size_t epochSize, const char* unit = "sample")
{
    if (epochSize > c_wholeDataSet / (request.epoch + 1))
        Fail(ErrorKind::Config, "epochSize=", epochSize, " is too large: epoch ", request.epoch + 1,
             " would end beyond ", unit, " ", c_wholeDataSet);
    return {request.epoch * epochSize, (request.epoch + 1) * epochSize};
}

// This worker's of the `count` that a minibatch has.
inline PlaceRange ShareOfWorker(const EpochRequest& request, size_t count)
{
    return {count * request.rank / request.workers, count * (request.rank + 1) / request.workers};
}

class Log;

// Which streams the epoch's inputs ask for, by stream; no names: all of them. Fails (Config) when none fits.
std::vector<bool> ChooseStreams(const std::string& readerName, const std::vector<StreamInfo>& streams,
                                const std::vector<std::string>& wanted);

// Fails (Config) for more columns than a minibatch can count. what: "images".
void RequireColumns(size_t columns, const char* what);

// The batch of one 1 in each of its columns; only the row indices are left to fill.
template <class ElemType>
void PrepareOneHot(StreamBatch<ElemType>& batch);

// Of their buffers, as they have grown.
template <class ElemType>
size_t BytesOf(const std::vector<StreamBatch<ElemType>>& streams)
{
    size_t bytes = 0;
    for (const StreamBatch<ElemType>& stream : streams)
        bytes += stream.values.capacity() * sizeof(ElemType) +
                 (stream.rowIndices.capacity() + stream.columnStarts.capacity()) * sizeof(int32_t);
    return bytes;
}

// A minibatch in the making. The layouts belong to the slot, one place a stream; streams of one axis refer to one of
// them.
template <class ElemType>
struct MinibatchSlot
{
    std::vector<StreamBatch<ElemType>> streams;
    std::vector<MBLayoutPtr> layouts;
    std::vector<std::string> keys; // HostMinibatch::sequenceKeys
    std::vector<LatticePtr> lattices;
    std::string log;

    // Gives the slot that many streams, each with a layout object.
    void Prepare(size_t streamCount);
    // A stream that nobody wants.
    void Clear(size_t stream);
};

template <class ElemType>
class MinibatchPipe
{
public:
    using Fill = std::function<bool(MinibatchSlot<ElemType>&)>; // false: that was all

    explicit MinibatchPipe(Log& log)
        : m_log(log), m_prefetcher([](const MinibatchSlot<ElemType>& slot) { return BytesOf(slot.streams); })
    {
    }

    // ahead: fill runs in a thread; what it uses belongs to the thread until Stop returns.
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
