// Selects the records of each minibatch: epochs smaller and larger than the data, shuffling, partial and full
// minibatches, the share of a worker. Positions continue from epoch to epoch; position p is record p modulo the number
// of records.
#pragma once

#include "Common/Random.h"
#include "Common/ReaderInterface.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

// Shuffles like CNTK v1.1: each position in turn swaps with one drawn from its window if both elements stay inside
// their windows; five tries. Makes `order` a permutation of 0..count-1 in which no element moves further than range/2.
// Returns the number of refused draws. Random: GlibcRand; tests also use another library's.
template <class Random>
size_t ShuffleWithinWindow(std::vector<uint32_t>& order, size_t count, size_t range, Random random)
{
    constexpr int c_tries = 5;
    order.resize(count);
    std::iota(order.begin(), order.end(), 0u);
    const size_t half = range / 2;
    size_t refused = 0;
    for (size_t t = 0; t < count; ++t)
    {
        const size_t begin = std::max(t, half) - half;
        const size_t end = std::min(t + half, count);
        if (begin >= end)
            continue; // a window of one record
        for (int i = 0; i < c_tries; ++i)
        {
            const size_t r = random.Draw(begin, end);
            const size_t going = order[t];  // to r
            const size_t coming = order[r]; // to t
            if (r <= going + half && going < r + half && t <= coming + half && coming < t + half)
            {
                std::swap(order[t], order[r]);
                break;
            }
            ++refused;
        }
    }
    return refused;
}

// Counts the records. Records may be found one after another, as far as needed.
class IRecordCounter
{
public:
    virtual ~IRecordCounter() = default;
    // Finds records until `wanted` are known or the data end. Returns the number of known records.
    virtual size_t Extend(size_t wanted) = 0;
    virtual size_t Known() const = 0;
    // True if all records are known.
    virtual bool IsComplete() const = 0;
};

struct RecordWalkOptions
{
    static constexpr size_t c_autoRange = SIZE_MAX;

    size_t range = c_autoRange; // number of records that are shuffled with each other; auto: the epoch; 0: none
    // Minibatches continue across the end of the data, and the epoch is a multiple of their size. Ignored if the
    // request takes each record once.
    bool fullMinibatches = false;
};

class RecordWalk
{
public:
    RecordWalk(IRecordCounter& counter, const RecordWalkOptions& options) : m_counter(counter), m_options(options) {}

    // Counts all records if the epoch is the whole data set. minibatchSize must be positive.
    void Start(const EpochRequest& request);

    // Sets this worker's records of the next minibatch, possibly none; false at the end of the epoch. Appends text to
    // `log`.
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

    // The current shuffled block: positions [begin, end).
    size_t m_blockBegin = 0;
    size_t m_blockEnd = 0;
    std::vector<uint32_t> m_order;
    SeedStream m_seeds;
    size_t m_orderSeed = SIZE_MAX; // seed of m_order
    size_t m_orderRange = 0;
};

} // namespace cntk
