// Sparse columns with ascending rows; and their form in binary files: an int32 count, the values, the int32 rows.
#pragma once

#include "Readers/ReaderLib/BinaryCursor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

template <class ElemType>
class SparseColumnSorter
{
public:
    // Sorts the last column, which begins at `first`, by row. Adds values of the same row.
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
        // The place breaks ties, so that sums do not depend on the library's sort; std::stable_sort would allocate.
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

// Fails (Data) unless all row indices from `first` on, which the cursor has just read, are below `rows`.
void CheckRowIndices(const BinaryCursor& cursor, const std::string& stream, size_t rows,
                     const std::vector<int32_t>& indices, size_t first);

template <class ElemType>
class SparseColumnReader
{
public:
    // rows: of the stream; valueBytes: 4 or 8, the size of the file's values.
    SparseColumnReader(const std::string& stream, size_t rows, size_t valueBytes);

    // Appends the column at the cursor, rows ascending.
    void Append(BinaryCursor& cursor, std::vector<int32_t>& rowIndices, std::vector<ElemType>& values);
    void Skip(BinaryCursor& cursor) const;

private:
    std::string m_stream;
    size_t m_rows;
    size_t m_valueBytes;
    std::string m_countName; // for messages
    std::string m_valueName;
    std::string m_rowName;
    SparseColumnSorter<ElemType> m_sorter;
};

} // namespace cntk
