// The distinct columns of a sparse matrix: words repeat in a minibatch, and results that depend on one column need be
// computed only once per distinct column. Two columns are equal if their rows and values are, bit for bit. Nothing is
// assumed about the number of words in a sample or their weights.
#pragma once

#include "Math/Matrix.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace cntk
{

// A sparse matrix whose values are all 1: it selects or sums columns of another matrix.
// Requires a device that computes in host memory. Memory grows with the largest matrix and is kept.
struct SparseOnes
{
    std::vector<int32_t> rows;   // row of each 1, column by column
    std::vector<int32_t> starts; // index of each column's first row in rows, and the end

    // Call after rows is filled.
    void SetValues(DataType type)
    {
        VisitType(type,
                  [&](auto tag)
                  {
                      using T = decltype(tag);
                      const T one = 1;
                      const size_t held = m_values.size() / sizeof(T);
                      if (held >= rows.size())
                          return;
                      m_values.resize(rows.size() * sizeof(T));
                      for (size_t i = held; i < rows.size(); i++)
                          std::memcpy(m_values.data() + i * sizeof(T), &one, sizeof(T));
                  });
    }

    // like: a view of the same device and type.
    SparseView View(const SparseView& like, size_t rowCount) const
    {
        SparseView view = like;
        view.values = m_values.data();
        view.rowIndices = rows.data();
        view.columnStarts = starts.data();
        view.rows = rowCount;
        view.columns = starts.size() - 1;
        view.nonZeros = rows.size();
        return view;
    }

private:
    std::vector<std::byte> m_values; // at least as many ones as rows
};

// Requires a device that computes in host memory. Memory grows with the largest minibatch and is kept.
class DistinctColumns
{
public:
    // Finds the distinct columns of `s`, comparing only `rows` rows from `firstRow` on. mask: one byte for each column
    // of s, 0 in gaps; empty: no gaps. The result does not refer to s.
    void Find(const SparseView& s, std::span<const uint8_t> mask, size_t firstRow, size_t rows);
    // Compares all rows.
    void Find(const SparseView& s, std::span<const uint8_t> mask) { Find(s, mask, 0, s.rows); }

    // Number of distinct columns. Columns that occur outside of gaps come first.
    size_t Count() const { return m_first.size(); }
    size_t CountOfData() const { return m_countOfData; }
    // Returns true if no column repeats and none is a gap: Columns() are then the columns of s in their order.
    bool AreAll() const { return m_countOfData == m_source.columns; }
    // The distinct columns, [rows x Count()].
    SparseView Columns() const;
    // [Count() x columns of s]: the index of each column of s in Columns(), one-hot.
    SparseView Numbers() const;
    // The indices without the matrix.
    std::span<const int32_t> NumberOfEach() const { return m_numbers.rows; }
    // [columns of s x CountOfData()]: a 1 for each column of s, outside of gaps, that equals the distinct column.
    SparseView Places() const;

private:
    // The compared rows as a range within the elements of a column of the source.
    struct Stretch
    {
        size_t begin = 0;
        size_t end = 0;
    };
    void FindStretches(size_t firstRow, size_t rows);
    int32_t NumberOf(size_t column);
    bool IsAlike(size_t column, size_t other) const;
    size_t HashOf(size_t column) const;
    void FindPlaces(std::span<const uint8_t> mask);
    void CopyColumns();

    SparseView m_source;
    size_t m_firstRow = 0, m_rowCount = 0;
    std::vector<Stretch> m_stretches; // one per column
    size_t m_countOfData = 0;
    std::vector<size_t> m_first;  // a source column for each distinct column
    std::vector<int32_t> m_slots; // hash table of indices; -1: free
    SparseOnes m_numbers, m_places;
    std::vector<int32_t> m_rows, m_starts; // of the distinct columns
    std::vector<std::byte> m_values;
};

} // namespace cntk
