// The columns of a sparse matrix without repetition: words of a minibatch come again and again, and what is computed of
// a column need be computed once. Columns are alike where their rows and values are, bit for bit, so that nothing is
// assumed of how many words a sample has or how they are weighted.
#pragma once

#include "ComputationNetwork/Evaluation/SparseOnes.h"
#include "Math/Matrix.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cntk
{

// For devices of host memory. Memory grows with the largest minibatch and is kept.
class DistinctColumns
{
public:
    // mask: one byte for each column of s, 0 in gaps; empty: there are none. Of the columns only so many rows from the
    // first one count. What is found does not refer to s.
    void Find(const SparseView& s, std::span<const uint8_t> mask, size_t firstRow, size_t rows);
    // All rows.
    void Find(const SparseView& s, std::span<const uint8_t> mask) { Find(s, mask, 0, s.rows); }

    // How many differ. Those that occur outside of gaps come first.
    size_t Count() const { return m_first.size(); }
    size_t CountOfData() const { return m_countOfData; }
    // No column is there twice, or in a gap: Columns() are those of s in their order.
    bool AreAll() const { return m_countOfData == m_source.columns; }
    // The columns that differ, [rows x Count()].
    SparseView Columns() const;
    // [Count() x columns of s]: the number of each column of s in Columns(), one-hot.
    SparseView Numbers() const;
    // The numbers alone.
    std::span<const int32_t> NumberOfEach() const { return m_numbers.rows; }
    // [columns of s x CountOfData()]: ones where the columns of s outside of gaps are the one that differs.
    SparseView Places() const;

private:
    // Where the rows that count are among the elements of a column of the source.
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
    std::vector<Stretch> m_stretches; // of each column
    size_t m_countOfData = 0;
    std::vector<size_t> m_first;  // of each that differs a column of the source
    std::vector<int32_t> m_slots; // hash table of numbers; -1: free
    SparseOnes m_numbers, m_places;
    std::vector<int32_t> m_rows, m_starts; // of the columns that differ
    std::vector<std::byte> m_values;
};

} // namespace cntk
