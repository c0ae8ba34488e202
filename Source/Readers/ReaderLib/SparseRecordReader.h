// A reader of single records that hold any number of values in each sparse stream: everything but the format. A source
// appends records to a minibatch's columns; this class walks them epoch by epoch, and reads ahead in a thread where the
// file is not small.
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

// Records that can be read in any order; there must be one at least. Used by one thread at a time.
template <class ElemType>
class ISparseRecordSource : public IRecordCounter
{
public:
    virtual const std::vector<StreamInfo>& Streams() const = 0;
    virtual size_t FileBytes() const = 0;
    // Appends the values of one known record to the batches of the streams that are wanted: rows * 1 values to a dense
    // one, values with ascending rows to a sparse one.
    virtual void Append(size_t record, const std::vector<bool>& wanted,
                        std::vector<StreamBatch<ElemType>>& batches) = 0;
};

struct SparseRecordOptions
{
    std::string readerName;
    RecordWalkOptions walk;
    size_t minibatchSize = 0;  // 0: what the epoch asks for
    size_t groupSize = 1;      // minibatches have a multiple of that many records
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
    std::mutex m_sourceMutex; // the thread reads while the caller asks for the total
    MinibatchPipe<ElemType> m_pipe;
};

} // namespace cntk
