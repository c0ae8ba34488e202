// The sparse columns of binary files: an int32 count, that many values, that many int32 rows.
#pragma once

#include "Readers/ReaderLib/BinaryCursor.h"
#include "Readers/ReaderLib/SparseColumns.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cntk
{

// Fails (Data) unless the row indices from `first` on, which the cursor has just taken, are below `rows`.
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
