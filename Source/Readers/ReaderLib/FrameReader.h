// A reader of single records (frames). A record source parses records into buffers. FrameReader selects the records of
// each epoch, caches parsed data that fit into memory, and prefetches minibatches where that pays.
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/MinibatchPipe.h"
#include "Readers/ReaderLib/RecordWalk.h"
#include "Readers/ReaderLib/VectorCopy.h"

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

class Log;

// Destination of the values of one stream: `rows` values a record, or one class id. Both null: the stream is not
// wanted.
template <class ElemType>
struct RecordTarget
{
    ElemType* values = nullptr;
    int32_t* classIds = nullptr;
};

// Records of a fixed shape that can be parsed in any order. Used by one thread at a time.
template <class ElemType>
class IRecordSource : public IRecordCounter
{
public:
    // Sparse streams have one class id a record, dense streams `rows` values.
    virtual const std::vector<StreamInfo>& Streams() const = 0;
    // Size of the source's files, an upper limit of the cost of indexing them.
    virtual size_t FileBytes() const = 0;
    // Parses the known records first .. first+count-1. Takes one target per stream.
    virtual void Parse(size_t first, size_t count, std::span<const RecordTarget<ElemType>> targets) = 0;
    // Place of a known record in the data, for messages.
    virtual std::string PlaceOf(size_t stream, size_t record)
    {
        return Streams()[stream].source + ", record " + std::to_string(record);
    }
    // Writes label maps that were collected from the data and are not written yet. Returns the file names.
    virtual std::vector<std::string> CreateLabelMaps() = 0;
};

enum class PrefetchMode
{
    Auto, // where copying a minibatch costs more than a hand-over between threads
    Always,
    Never
};

struct FrameReaderOptions
{
    static constexpr size_t c_defaultCacheBytes = size_t(256) << 20;

    std::string readerName; // for the log
    RecordWalkOptions walk;
    size_t minibatchSize = 0; // 0: the minibatch size of the epoch request
    size_t cacheBytes = c_defaultCacheBytes;
    PrefetchMode prefetch = PrefetchMode::Auto;
    bool hasFreeCores = false; // ReaderContext::hasFreeCores
    int traceLevel = 0;
};

template <class ElemType>
class FrameReader final : public IDataReader<ElemType>
{
public:
    FrameReader(std::unique_ptr<IRecordSource<ElemType>> source, FrameReaderOptions options, Log& log);

    const std::vector<StreamInfo>& Streams() const override { return m_source->Streams(); }
    void StartEpoch(const EpochRequest& request) override;
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override;
    size_t TotalSamples() override;
    std::vector<std::string> CreateLabelMaps() override { return m_source->CreateLabelMaps(); }

    // For tests: true if this epoch prefetches, and if parsed data are cached.
    bool IsPrefetching() const { return m_prefetching; }
    bool IsCaching() const { return !m_cache.empty(); }

private:
    // Parsed data of all records of one stream.
    struct CachedStream
    {
        std::unique_ptr<ElemType[], FreeMemory> values;
        std::unique_ptr<int32_t[]> classIds;
    };
    using Slot = MinibatchSlot<ElemType>;

    void CountRecords(const EpochRequest& request);
    void PrepareCache();
    bool PrefetchingPays(size_t minibatchSize) const;
    void PrintEpochStart(size_t epoch);
    void PrintProgress(size_t records);

    bool Fill(Slot& slot);
    void ParseChunk(size_t chunk);
    void Parse(size_t first, size_t count);
    void WarnOfNonFinite(size_t stream, const ElemType* values, size_t first, size_t count);
    void PrepareBatches(Slot& slot) const;
    void FillFromCache(Slot& slot);
    void FillFromSource(Slot& slot);

    std::unique_ptr<IRecordSource<ElemType>> m_source;
    FrameReaderOptions m_options;
    Log& m_log;
    RecordWalk m_walk;
    std::vector<bool> m_wanted; // by stream

    // The cache, by stream. A chunk of records is parsed when it is first needed.
    std::vector<CachedStream> m_cache;
    std::vector<bool> m_cachedStreams;
    std::vector<bool> m_parsedChunks;
    size_t m_unparsedChunks = 0;
    std::vector<RecordTarget<ElemType>> m_targets;
    bool m_hasWarned = false; // of a NaN or infinite value

    std::vector<size_t> m_records; // of the minibatch
    bool m_prefetching = false;
    size_t m_nextRecord = 0; // where the last epoch stopped
    size_t m_recordsRead = 0;
    std::mutex m_sourceMutex;       // the prefetch thread parses while the caller may ask for the total
    MinibatchPipe<ElemType> m_pipe; // last: its thread uses the other members
};

} // namespace cntk
