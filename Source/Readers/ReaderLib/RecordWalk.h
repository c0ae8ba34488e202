// Which records make up each minibatch of an epoch: sweeps over the data, epochs larger and smaller than them, the
// shuffle, partial and full minibatches, the share of a worker. Positions count on from epoch to epoch; position p is
// record p modulo the number of records.
#pragma once

#include "Common/ReaderInterface.h"
#include "Common/SeedStream.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cntk
{

// How many records there are; they may be found one after the other as they are asked for.
class IRecordCounter
{
public:
    virtual ~IRecordCounter() = default;
    // Finds records until there are `wanted` or the data end; returns how many are known.
    virtual size_t Extend(size_t wanted) = 0;
    virtual size_t Known() const = 0;
    // All records are known.
    virtual bool IsComplete() const = 0;
};

struct RecordWalkOptions
{
    static constexpr size_t c_autoRange = SIZE_MAX;

    size_t range = c_autoRange; // records that are shuffled with each other; auto: the epoch; 0: none
    // Minibatches run on across the end of the data; the epoch is a multiple of their size. Not where each record is
    // to be taken once.
    bool fullMinibatches = false;
};

class RecordWalk
{
public:
    RecordWalk(IRecordCounter& counter, const RecordWalkOptions& options) : m_counter(counter), m_options(options) {}

    // Counts all records if the epoch is the whole data set. minibatchSize must be positive.
    void Start(const EpochRequest& request);

    // The records of the next minibatch, this worker's share of them (may be none); false at the end of the epoch. Text
    // for the log, if there is any, is added to `log`.
    bool Next(std::vector<size_t>& records, std::string& log);

    size_t EpochSize() const { return m_epochSize; }
    size_t EpochStart() const { return m_epochStart; } // position
    size_t StartRecord() const { return m_startRecord; }

private:
    bool TakesFull() const { return m_options.fullMinibatches && !m_request.eachOnce; }
    size_t RecordAt(size_t position) const;
    size_t LimitToSweep(size_t count);
    void EnterBlock(size_t position, std::string& log);

    IRecordCounter& m_counter;
    RecordWalkOptions m_options;
    EpochRequest m_request;
    size_t m_epochSize = 0;
    size_t m_epochStart = 0;
    size_t m_startRecord = 0;
    size_t m_position = 0; // of the next minibatch
    size_t m_range = 0;    // 0: in the order of the data

    // The shuffled block that the epoch has come to: positions [begin, end).
    size_t m_blockBegin = 0;
    size_t m_blockEnd = 0;
    std::vector<uint32_t> m_order;
    SeedStream m_seeds;
    size_t m_orderSeed = SIZE_MAX; // what the order was made of
    size_t m_orderRange = 0;
};

} // namespace cntk
