// Columns of sparse streams: their rows must ascend, each at most once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cntk
{

template <class ElemType>
class SparseColumnSorter
{
public:
    // The last column, which begins at `first`, gets ascending rows; values of one row are added.
    void SortLast(std::vector<int32_t>& rowIndices, std::vector<ElemType>& values, size_t first)
    {
        const auto begin = rowIndices.begin() + ptrdiff_t(first);
        const bool isAscending = std::adjacent_find(begin, rowIndices.end(),
                                                    [](int32_t a, int32_t b) { return a >= b; }) == rowIndices.end();
        if (isAscending)
            return;
        m_pairs.clear();
        for (size_t i = first; i < values.size(); ++i)
            m_pairs.push_back({rowIndices[i], m_pairs.size(), values[i]});
        // By place as well: sums do not depend on the library's way to sort, and std::stable_sort would allocate.
        std::sort(m_pairs.begin(), m_pairs.end(),
                  [](const Entry& a, const Entry& b) { return a.row != b.row ? a.row < b.row : a.place < b.place; });
        size_t end = first;
        for (const Entry& entry : m_pairs)
        {
            if (end > first && rowIndices[end - 1] == entry.row)
            {
                values[end - 1] += entry.value;
                continue;
            }
            rowIndices[end] = entry.row;
            values[end++] = entry.value;
        }
        rowIndices.resize(end);
        values.resize(end);
    }

private:
    struct Entry
    {
        int32_t row;
        size_t place;
        ElemType value;
    };
    std::vector<Entry> m_pairs;
};

} // namespace cntk
