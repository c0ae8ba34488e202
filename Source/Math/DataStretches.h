// Columns that hold data, and gaps between them, as a mask says: a byte a column, 0 for a gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cntk
{

// body(first, count) for each maximal stretch of columns that hold data. An empty mask means that all do.
template <class Body>
void ForEachDataStretch(std::span<const uint8_t> mask, size_t columns, Body&& body)
{
    if (mask.empty())
    {
        if (columns > 0)
            body(size_t(0), columns);
        return;
    }
    size_t first = 0;
    while (first < columns)
    {
        size_t end = first;
        while (end < columns && mask[end] != 0)
            end++;
        if (end > first)
            body(first, end - first);
        first = end + 1;
    }
}

} // namespace cntk
