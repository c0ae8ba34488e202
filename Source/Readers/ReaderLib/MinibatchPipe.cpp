// Delivery of minibatches, and the choice of streams.
#include "Readers/ReaderLib/MinibatchPipe.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/Text.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace cntk
{

std::vector<bool> ChooseStreams(const std::string& readerName, const std::vector<StreamInfo>& streams,
                                const std::vector<std::string>& wanted)
{
    std::vector<bool> chosen(streams.size(), wanted.empty());
    std::vector<std::string> names;
    for (size_t i = 0; i < streams.size(); ++i)
    {
        names.push_back(streams[i].name);
        for (const std::string& name : wanted)
            chosen[i] = chosen[i] || EqualsIgnoreCase(name, streams[i].name);
    }
    if (std::find(chosen.begin(), chosen.end(), true) == chosen.end())
        Fail(ErrorKind::Config, readerName, ": the network's inputs are ", Join(wanted, ", "),
             ", but the reader's blocks are ", Join(names, ", "), "; a block needs the name of the input it fills");
    return chosen;
}

void RequireColumns(size_t columns, const char* what)
{
    if (columns > INT32_MAX)
        Fail(ErrorKind::Config, "minibatchSize: a minibatch of ", columns, " ", what, " is too large; at most ",
             INT32_MAX, " ", what, " can be in one");
}

template <class ElemType>
void PrepareOneHot(StreamBatch<ElemType>& batch)
{
    batch.values.assign(batch.columns, ElemType(1));
    batch.rowIndices.resize(batch.columns);
    batch.columnStarts.resize(batch.columns + 1);
    std::iota(batch.columnStarts.begin(), batch.columnStarts.end(), 0);
}

template <class ElemType>
void MinibatchSlot<ElemType>::Prepare(size_t streamCount)
{
    streams.resize(streamCount);
    layouts.resize(streamCount);
    for (MBLayoutPtr& layout : layouts)
    {
        if (!layout)
            layout = std::make_shared<MBLayout>();
    }
}

template <class ElemType>
void MinibatchSlot<ElemType>::Clear(size_t stream)
{
    StreamBatch<ElemType>& batch = streams[stream];
    batch.rows = 0;
    batch.columns = 0;
    batch.values.clear();
    batch.rowIndices.clear();
    batch.columnStarts.clear();
    batch.layout = nullptr;
}

template <class ElemType>
void MinibatchPipe<ElemType>::Start(Fill fill, bool ahead)
{
    Stop();
    m_ahead = ahead;
    if (ahead)
        m_prefetcher.Start(std::move(fill));
    else
        m_fill = std::move(fill);
}

template <class ElemType>
void MinibatchPipe<ElemType>::Stop()
{
    m_prefetcher.Stop();
}

template <class ElemType>
bool MinibatchPipe<ElemType>::Next(HostMinibatch<ElemType>& minibatch)
{
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    // Fills the caller's buffers in place, or exchanges them for the buffers to be filled next: two sets of buffers
    // stay in the cache longer than three.
    std::swap(minibatch.streams, m_slot.streams);
    const bool made = m_ahead ? m_prefetcher.Next(m_slot) : m_fill(m_slot);
    std::swap(minibatch.streams, m_slot.streams);
    std::swap(minibatch.sequenceKeys, m_slot.keys);
    std::swap(minibatch.lattices, m_slot.lattices);
    if (!m_slot.log.empty())
    {
        m_log.Write(m_slot.log);
        m_slot.log.clear();
    }
    minibatch.secondsWaited = std::chrono::duration<double>(Clock::now() - start).count();
    return made;
}

template void PrepareOneHot<float>(StreamBatch<float>&);
template void PrepareOneHot<double>(StreamBatch<double>&);
template struct MinibatchSlot<float>;
template struct MinibatchSlot<double>;
template class MinibatchPipe<float>;
template class MinibatchPipe<double>;

} // namespace cntk
