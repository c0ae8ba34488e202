// A reader of single records whose sparse streams have any number of values. A record source appends records to the
// columns of a minibatch. SparseRecordReader selects the records of each epoch, and prefetches minibatches unless the
// file is small.
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/MinibatchPipe.h"
#include "Readers/ReaderLib/RecordWalk.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cntk
{

class Log;

// At least one record; records can be read in any order. Used by one thread at a time.
template <class ElemType>
class ISparseRecordSource : public IRecordCounter
{
public:
    virtual const std::vector<StreamInfo>& Streams() const = 0;
    virtual size_t FileBytes() const = 0;
    // Appends the values of a known record to the batches of the wanted streams: `rows` values to a dense batch, values
    // with ascending rows to a sparse one.
    virtual void Append(size_t record, const std::vector<bool>& wanted,
                        std::vector<StreamBatch<ElemType>>& batches) = 0;
};

struct SparseRecordOptions
{
    std::string readerName;
    RecordWalkOptions walk;
    size_t minibatchSize = 0;  // 0: the minibatch size of the epoch request
    size_t groupSize = 1;      // minibatches have a multiple of this number of records
    bool repeatsFirst = false; // each minibatch has the first records of the data
};

template <class ElemType>
class SparseRecordReader final : public IDataReader<ElemType>
{
public:
    SparseRecordReader(std::unique_ptr<ISparseRecordSource<ElemType>> source, SparseRecordOptions options, Log& log);

    const std::vector<StreamInfo>& Streams() const override { return m_source->Streams(); }
    void StartEpoch(const EpochRequest& request) override;
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override;
    size_t TotalSamples() override;
    std::vector<std::string> CreateLabelMaps() override { return {}; }

private:
    using Slot = MinibatchSlot<ElemType>;

    bool Fill(Slot& slot);
    void BeginBatches(Slot& slot) const;
    void EndColumn(Slot& slot) const;

    std::unique_ptr<ISparseRecordSource<ElemType>> m_source;
    SparseRecordOptions m_options;
    RecordWalk m_walk;
    std::vector<bool> m_wanted; // by stream
    std::vector<size_t> m_records;
    std::mutex m_sourceMutex; // the prefetch thread reads while the caller may ask for the total
    MinibatchPipe<ElemType> m_pipe;
};

} // namespace cntk
