// The order in which the records of a block are delivered: the original's shuffle within a window, by the C library's
// rand(). Each position in turn swaps with one drawn from its window, if both elements stay inside theirs; five tries.
#pragma once

#include "Common/Random.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace cntk
{

// Makes `order` a permutation of 0..count-1 in which no element moves further than range/2. Returns the draws that were
// refused because an element would have left its window. Random: GlibcRand; tests also take another library's.
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

} // namespace cntk
