// Splitting a loop among threads where the work is worth more than waking them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <omp.h>

namespace cntk
{

// Element operations (an addition counts 1, an exponential about 8) below which one thread does it all: starting a team
// costs as much as some 20k to 40k of them.
constexpr size_t c_operationsPerThread = 32 * 1024;

inline int UsefulThreads(size_t operations, int threads)
{
    if (operations < 2 * c_operationsPerThread || threads <= 1)
        return 1;
    return int(std::min(operations / c_operationsPerThread, size_t(threads)));
}

// Calls body(part, begin, end) for disjoint ranges that cover [0, count), each on a thread of its own; ranges begin at
// multiples of the granule. The split depends on count, granule and parts only. body must not throw.
template <class Body>
void ForEachPart(size_t count, size_t granule, int parts, Body&& body)
{
    const size_t granules = (count + granule - 1) / granule;
    const auto startOf = [&](size_t part) { return std::min(count, granules * part / size_t(parts) * granule); };
    if (parts <= 1)
    {
        body(0, size_t(0), count);
        return;
    }
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int part = 0; part < parts; ++part)
        body(part, startOf(size_t(part)), startOf(size_t(part) + 1));
}

} // namespace cntk
