// Reading sparse columns of binary files.
#include "Readers/ReaderLib/SparseColumns.h"

#include "Common/Text.h"

namespace cntk
{

void CheckRowIndices(const BinaryCursor& cursor, const std::string& stream, size_t rows,
                     const std::vector<int32_t>& indices, size_t first)
{
    for (size_t i = first; i < indices.size(); ++i)
    {
        if (indices[i] < 0 || size_t(indices[i]) >= rows)
            cursor.FailAtByte(cursor.Position() - (indices.size() - i) * sizeof(int32_t),
                              Concat("expected the row of a value of '", stream, "', a number of 0 to ", rows - 1,
                                     ", found ", indices[i]));
    }
}

template <class ElemType>
SparseColumnReader<ElemType>::SparseColumnReader(const std::string& stream, size_t rows, size_t valueBytes)
    : m_stream(stream), m_rows(rows), m_valueBytes(valueBytes),
      m_countName(Concat("the number of values of '", stream, "'")), m_valueName(Concat("values of '", stream, "'")),
      m_rowName(Concat("rows of the values of '", stream, "'"))
{
}

template <class ElemType>
void SparseColumnReader<ElemType>::Append(BinaryCursor& cursor, std::vector<int32_t>& rowIndices,
                                          std::vector<ElemType>& values)
{
    const size_t first = values.size();
    const size_t count = cursor.TakeCount<int32_t>(m_countName.c_str(), 0, m_rows);
    cursor.AppendValues(values, count, m_valueBytes, m_valueName.c_str());
    cursor.Append<int32_t>(rowIndices, count, m_rowName.c_str());
    CheckRowIndices(cursor, m_stream, m_rows, rowIndices, first);
    m_sorter.SortLast(rowIndices, values, first);
}

template <class ElemType>
void SparseColumnReader<ElemType>::Skip(BinaryCursor& cursor) const
{
    const size_t count = cursor.TakeCount<int32_t>(m_countName.c_str(), 0, m_rows);
    cursor.Skip(count, m_valueBytes, m_valueName.c_str());
    cursor.Skip(count, sizeof(int32_t), m_rowName.c_str());
}

template class SparseColumnReader<float>;
template class SparseColumnReader<double>;

} // namespace cntk
