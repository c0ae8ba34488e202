// Epochs of single records: cache, prefetching and delivery.
#include "Readers/ReaderLib/FrameReader.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "Readers/ReaderLib/MinibatchPipe.h"
#include "Readers/ReaderLib/VectorCopy.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cntk
{
namespace
{

constexpr size_t c_chunkRecords = 1024;
constexpr size_t c_recordsPerMark = 100;
// A hand-over between threads costs more than copying fewer bytes. It costs most where the prefetch thread takes a core
// from the threads that compute.
constexpr size_t c_prefetchCopyBytes = 256 << 10;
constexpr size_t c_prefetchOnFreeCoreBytes = 64 << 10;
constexpr size_t c_prefetchFileBytes = 1 << 20;

template <class ElemType>
size_t CacheBytesPerRecord(const StreamInfo& stream)
{
    return stream.sparse ? sizeof(int32_t) : stream.rows * sizeof(ElemType);
}

} // namespace

template <class ElemType>
FrameReader<ElemType>::FrameReader(std::unique_ptr<IRecordSource<ElemType>> source, FrameReaderOptions options,
                                   Log& log)
    : m_source(std::move(source)), m_options(std::move(options)), m_log(log), m_walk(*m_source, m_options.walk),
      m_pipe(log)
{
}

template <class ElemType>
void FrameReader<ElemType>::CountRecords(const EpochRequest& request)
{
    if (m_source->IsComplete())
        return;
    if (IsWholeDataSet(request))
    {
        m_log.Print("%s: Starting at epoch %zu, counting lines to determine record count...\n",
                    m_options.readerName.c_str(), request.epoch);
        m_log.Print(" %zu records found.\n", m_source->Extend(SIZE_MAX));
    }
    else if (m_source->FileBytes() / 4 <= m_options.cacheBytes)
    {
        m_source->Extend(SIZE_MAX); // counts the records, so that the parsed data can be cached
    }
}

template <class ElemType>
void FrameReader<ElemType>::PrepareCache()
{
    const std::vector<StreamInfo>& streams = m_source->Streams();
    if (!m_cache.empty())
    {
        bool complete = true;
        for (size_t i = 0; i < streams.size(); ++i)
            complete = complete && (m_cachedStreams[i] || !m_wanted[i]);
        if (complete)
            return;
        m_cache.clear(); // the epoch wants a stream that was not cached: parses again
    }
    if (!m_source->IsComplete())
        return;
    const size_t total = m_source->Known();
    size_t bytes = 0;
    for (size_t i = 0; i < streams.size(); ++i)
        bytes += m_wanted[i] ? total * CacheBytesPerRecord<ElemType>(streams[i]) : 0;
    if (bytes > m_options.cacheBytes)
        return;
    m_cache.resize(streams.size());
    m_cachedStreams = m_wanted;
    for (size_t i = 0; i < streams.size(); ++i)
    {
        if (!m_wanted[i])
            continue;
        if (streams[i].sparse)
            m_cache[i].classIds = std::make_unique_for_overwrite<int32_t[]>(total);
        else
            m_cache[i].values = MakeInLargePages<ElemType>(total * streams[i].rows);
    }
    m_unparsedChunks = (total + c_chunkRecords - 1) / c_chunkRecords;
    m_parsedChunks.assign(m_unparsedChunks, false);
}

template <class ElemType>
bool FrameReader<ElemType>::PrefetchingPays(size_t minibatchSize) const
{
    if (m_options.prefetch != PrefetchMode::Auto)
        return m_options.prefetch == PrefetchMode::Always;
    if (m_cache.empty() || m_unparsedChunks > 0)
        return m_source->FileBytes() > c_prefetchFileBytes;
    const size_t records = std::min(minibatchSize, m_source->Known());
    size_t bytes = 0;
    for (size_t i = 0; i < m_wanted.size(); ++i)
        bytes += m_wanted[i] ? records * CacheBytesPerRecord<ElemType>(m_source->Streams()[i]) : 0;
    return bytes > (m_options.hasFreeCores ? c_prefetchOnFreeCoreBytes : c_prefetchCopyBytes);
}

template <class ElemType>
void FrameReader<ElemType>::PrintEpochStart(size_t epoch)
{
    const size_t record = m_walk.StartRecord();
    m_log.Print("starting epoch %zu at record count %zu, and file position %zu\n", epoch, m_walk.EpochStart(), record);
    if (record == m_nextRecord)
        m_log.Print("already there from last epoch\n");
    else
        m_log.Print("reading from record %zu to %zu to be positioned properly for epoch\n",
                    record < m_nextRecord ? size_t(0) : m_nextRecord, record);
}

template <class ElemType>
void FrameReader<ElemType>::PrintProgress(size_t records)
{
    for (const size_t end = m_recordsRead + records; m_recordsRead < end;)
    {
        m_recordsRead = std::min(end, m_recordsRead / c_recordsPerMark * c_recordsPerMark + c_recordsPerMark);
        if (m_recordsRead % 10000 == 0)
            m_log.Write("#");
        else if (m_recordsRead % 1000 == 0)
            m_log.Write("+");
        else if (m_recordsRead % c_recordsPerMark == 0)
            m_log.Write(".");
    }
}

template <class ElemType>
void FrameReader<ElemType>::StartEpoch(const EpochRequest& request)
{
    m_pipe.Stop();
    m_wanted = ChooseStreams(m_options.readerName, m_source->Streams(), request.wanted);
    m_source->CreateLabelMaps();
    CountRecords(request);
    EpochRequest ours = request;
    if (m_options.minibatchSize > 0)
        ours.minibatchSize = m_options.minibatchSize;
    m_walk.Start(ours);
    if (!IsWholeDataSet(request) && m_walk.EpochSize() != request.epochSize)
        m_log.Print("epochSize rounded up to %zu to fit an integral number of minibatches\n", m_walk.EpochSize());
    PrintEpochStart(request.epoch);
    m_nextRecord = m_source->IsComplete() ? (m_walk.EpochStart() + m_walk.EpochSize()) % m_source->Known()
                                          : m_walk.EpochStart() + m_walk.EpochSize();
    m_recordsRead = 0;
    PrepareCache();
    m_prefetching = PrefetchingPays(ours.minibatchSize);
    m_pipe.Start([this](Slot& slot) { return Fill(slot); }, m_prefetching);
}

template <class ElemType>
bool FrameReader<ElemType>::GetMinibatch(HostMinibatch<ElemType>& minibatch)
{
    if (!m_pipe.Next(minibatch))
    {
        if (m_options.traceLevel > 1 && m_recordsRead >= c_recordsPerMark)
            m_log.Write("\n");
        return false;
    }
    if (m_options.traceLevel > 1)
    {
        const auto wanted = size_t(std::find(m_wanted.begin(), m_wanted.end(), true) - m_wanted.begin());
        PrintProgress(minibatch.streams[wanted].columns);
    }
    return true;
}

template <class ElemType>
size_t FrameReader<ElemType>::TotalSamples()
{
    std::lock_guard lock(m_sourceMutex);
    return m_source->Extend(SIZE_MAX);
}

// Runs in the prefetch thread or in the caller's.
template <class ElemType>
bool FrameReader<ElemType>::Fill(Slot& slot)
{
    std::lock_guard lock(m_sourceMutex);
    if (!m_walk.Next(m_records, slot.log))
        return false;
    PrepareBatches(slot);
    if (m_cache.empty())
        FillFromSource(slot);
    else
        FillFromCache(slot);
    return true;
}

template <class ElemType>
void FrameReader<ElemType>::PrepareBatches(Slot& slot) const
{
    const std::vector<StreamInfo>& infos = m_source->Streams();
    slot.Prepare(infos.size());
    slot.keys.clear();
    slot.layouts[0]->InitAsFrameMode(m_records.size());
    for (size_t i = 0; i < infos.size(); ++i)
    {
        StreamBatch<ElemType>& batch = slot.streams[i];
        batch.rows = m_wanted[i] ? infos[i].rows : 0;
        batch.columns = m_wanted[i] ? m_records.size() : 0;
        batch.sparse = infos[i].sparse;
        batch.layout = m_wanted[i] ? slot.layouts[0] : nullptr;
        if (batch.sparse)
            PrepareOneHot(batch);
        else
            batch.values.resize(batch.columns * batch.rows);
    }
}

// Parses into m_targets.
template <class ElemType>
void FrameReader<ElemType>::Parse(size_t first, size_t count)
{
    m_source->Parse(first, count, m_targets);
    for (size_t i = 0; i < m_targets.size() && !m_hasWarned; ++i)
    {
        if (m_targets[i].values != nullptr)
            WarnOfNonFinite(i, m_targets[i].values, first, count);
    }
}

// Warns of the first NaN or infinite value, whose place would be unknown when it shows in the model.
template <class ElemType>
void FrameReader<ElemType>::WarnOfNonFinite(size_t stream, const ElemType* values, size_t first, size_t count)
{
    constexpr ElemType largest = std::numeric_limits<ElemType>::max();
    const auto isFinite = [](ElemType value) { return std::abs(value) <= largest; };
    const StreamInfo& info = m_source->Streams()[stream];
    bool areFinite = true;
    for (size_t i = 0; i < count * info.rows; ++i)
        areFinite &= isFinite(values[i]); // without a branch
    if (areFinite)
        return;
    const auto found = size_t(std::find_if_not(values, values + count * info.rows, isFinite) - values);
    m_hasWarned = true;
    m_log.Warn(Concat(m_source->PlaceOf(stream, first + found / info.rows), ": element ", found % info.rows, " of '",
                      info.name, "' is ", values[found],
                      "; a NaN or infinite input spoils everything that is computed from it; later values of this kind "
                      "are not reported"));
}

template <class ElemType>
void FrameReader<ElemType>::ParseChunk(size_t chunk)
{
    const std::vector<StreamInfo>& infos = m_source->Streams();
    const size_t first = chunk * c_chunkRecords;
    const size_t count = std::min(c_chunkRecords, m_source->Known() - first);
    m_targets.assign(infos.size(), {});
    for (size_t i = 0; i < infos.size(); ++i)
    {
        if (m_cachedStreams[i] && infos[i].sparse)
            m_targets[i].classIds = m_cache[i].classIds.get() + first;
        else if (m_cachedStreams[i])
            m_targets[i].values = m_cache[i].values.get() + first * infos[i].rows;
    }
    Parse(first, count);
    m_parsedChunks[chunk] = true;
    --m_unparsedChunks;
}

template <class ElemType>
void FrameReader<ElemType>::FillFromCache(Slot& slot)
{
    if (m_unparsedChunks > 0)
    {
        for (const size_t record : m_records)
        {
            if (!m_parsedChunks[record / c_chunkRecords])
                ParseChunk(record / c_chunkRecords);
        }
    }
    for (size_t i = 0; i < slot.streams.size(); ++i)
    {
        if (!m_wanted[i])
            continue;
        StreamBatch<ElemType>& batch = slot.streams[i];
        if (batch.sparse)
        {
            const int32_t* classIds = m_cache[i].classIds.get();
            for (size_t column = 0; column < m_records.size(); ++column)
                batch.rowIndices[column] = classIds[m_records[column]];
            continue;
        }
        const size_t rows = batch.rows;
        const ElemType* values = m_cache[i].values.get();
        ElemType* target = batch.values.data();
        for (size_t column = 0; column < m_records.size(); ++column, target += rows)
        {
            const size_t later = m_records[std::min(column + c_vectorsAhead, m_records.size() - 1)];
            CopyVector(values + m_records[column] * rows, rows, target, values + later * rows);
        }
    }
}

template <class ElemType>
void FrameReader<ElemType>::FillFromSource(Slot& slot)
{
    // Parses consecutive records at once.
    m_targets.assign(slot.streams.size(), {});
    for (size_t begin = 0; begin < m_records.size();)
    {
        size_t end = begin + 1;
        while (end < m_records.size() && m_records[end] == m_records[end - 1] + 1)
            ++end;
        for (size_t i = 0; i < slot.streams.size(); ++i)
        {
            StreamBatch<ElemType>& batch = slot.streams[i];
            if (m_wanted[i] && batch.sparse)
                m_targets[i].classIds = batch.rowIndices.data() + begin;
            else if (m_wanted[i])
                m_targets[i].values = batch.values.data() + begin * batch.rows;
        }
        Parse(m_records[begin], end - begin);
        begin = end;
    }
}

template class FrameReader<float>;
template class FrameReader<double>;

} // namespace cntk
