// Splitting a loop among threads where the work is worth more than waking them.
#pragma once

#include "Math/Cpu/ThreadPool.h"

#include <algorithm>
#include <cstddef>

namespace cntk
{

// Element operations (an addition counts 1, an exponential about 8) that are worth a thread: some 3 microseconds of
// work in the cache, more than it takes to hand them to a thread that is awake. Below twice as many one thread does it
// all.
constexpr size_t c_operationsPerThread = 32 * 1024;
// The same where parts are added up afterwards, so that their number shows in the last bits: few sizes.
constexpr size_t c_operationsPerSum = 128 * 1024;
// Partial results of so many parts fit into arrays of fixed size.
constexpr int c_mostParts = 64;

inline int UsefulThreads(size_t operations, const ThreadPool& pool, size_t worthAThread = c_operationsPerThread)
{
    const int threads = std::min(pool.Threads(), c_mostParts);
    if (operations < 2 * worthAThread || threads <= 1)
        return 1;
    return int(std::min(operations / worthAThread, size_t(threads)));
}

// Calls body(part, begin, end) for disjoint ranges that cover [0, count) on the pool's threads; ranges begin at
// multiples of the granule. The split depends on count, granule and parts only. body must not throw.
template <class Body>
void ForEachPart(ThreadPool& pool, size_t count, size_t granule, int parts, Body&& body)
{
    const size_t granules = (count + granule - 1) / granule;
    const auto startOf = [&](size_t part) { return std::min(count, granules * part / size_t(parts) * granule); };
    if (parts <= 1)
    {
        body(0, size_t(0), count);
        return;
    }
    pool.Run(size_t(parts), [&](size_t part, size_t) { body(int(part), startOf(part), startOf(part + 1)); });
}

} // namespace cntk
