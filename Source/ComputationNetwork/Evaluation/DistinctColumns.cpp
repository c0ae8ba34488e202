// Finds distinct columns by a hash table that is refilled for each minibatch.
#include "ComputationNetwork/Evaluation/DistinctColumns.h"

#include "Common/Error.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <type_traits>

namespace cntk
{

void DistinctColumns::Find(const SparseView& s, std::span<const uint8_t> mask, size_t firstRow, size_t rows)
{
    CNTK_ASSERT(s.device != nullptr && s.device->IsHostMemory());
    m_source = s;
    FindStretches(firstRow, rows);
    m_first.clear();
    m_first.reserve(s.columns);
    // At most half full, so that probing takes few steps.
    m_slots.assign(std::bit_ceil(2 * s.columns + 1), -1);

    m_numbers.rows.resize(s.columns);
    m_numbers.starts.resize(s.columns + 1);
    for (size_t column = 0; column <= s.columns; column++)
        m_numbers.starts[column] = int32_t(column);
    for (const bool isGap : {false, true})
    {
        for (size_t column = 0; column < s.columns; column++)
            if ((!mask.empty() && mask[column] == 0) == isGap)
                m_numbers.rows[column] = NumberOf(column);
        if (!isGap)
            m_countOfData = m_first.size();
    }
    FindPlaces(mask);
    m_numbers.SetValues(s.type);
    m_places.SetValues(s.type);
    CopyColumns();
}

// Finds the compared rows of each column. Rows of a column ascend. A sample of many words is searched once per word.
void DistinctColumns::FindStretches(size_t firstRow, size_t rows)
{
    m_firstRow = firstRow;
    m_rowCount = rows;
    m_stretches.resize(m_source.columns);
    const int32_t* const indices = m_source.rowIndices;
    const auto isBefore = [](int32_t index, size_t row) { return size_t(index) < row; };
    for (size_t column = 0; column < m_source.columns; column++)
    {
        const int32_t* const end = indices + m_source.columnStarts[column + 1];
        const int32_t* const first = std::lower_bound(indices + m_source.columnStarts[column], end, firstRow, isBefore);
        const int32_t* const last = std::lower_bound(first, end, firstRow + rows, isBefore);
        m_stretches[column] = {size_t(first - indices), size_t(last - indices)};
    }
}

// Lists columns sorted by their distinct column's index, then by their place in the minibatch.
void DistinctColumns::FindPlaces(std::span<const uint8_t> mask)
{
    const auto isData = [&](size_t column) { return mask.empty() || mask[column] != 0; };
    std::vector<int32_t>& starts = m_places.starts;
    starts.reserve(m_source.columns + 2);
    starts.assign(m_countOfData + 2, 0); // first shifted by two places, then by one: the next free place of each index
    size_t count = 0;
    for (size_t column = 0; column < m_source.columns; column++)
        if (isData(column))
        {
            starts[size_t(m_numbers.rows[column]) + 2]++;
            count++;
        }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    m_places.rows.reserve(m_source.columns);
    m_places.rows.resize(count);
    for (size_t column = 0; column < m_source.columns; column++)
        if (isData(column))
            m_places.rows[size_t(starts[size_t(m_numbers.rows[column]) + 1]++)] = int32_t(column);
    starts.pop_back();
}

int32_t DistinctColumns::NumberOf(size_t column)
{
    const size_t last = m_slots.size() - 1;
    for (size_t slot = HashOf(column) & last;; slot = (slot + 1) & last)
    {
        int32_t& number = m_slots[slot];
        if (number < 0)
        {
            number = int32_t(m_first.size());
            m_first.push_back(column);
            return number;
        }
        if (IsAlike(column, m_first[size_t(number)]))
            return number;
    }
}

bool DistinctColumns::IsAlike(size_t column, size_t other) const
{
    const size_t at = m_stretches[column].begin, otherAt = m_stretches[other].begin;
    const size_t count = m_stretches[column].end - at;
    if (count != m_stretches[other].end - otherAt)
        return false;
    const size_t bytes = SizeOf(m_source.type);
    const auto* values = static_cast<const std::byte*>(m_source.values);
    return std::equal(m_source.rowIndices + at, m_source.rowIndices + at + count, m_source.rowIndices + otherAt) &&
           std::equal(values + at * bytes, values + (at + count) * bytes, values + otherAt * bytes);
}

// Hashes rows and values. Dense data stored as sparse columns differ only in the values.
size_t DistinctColumns::HashOf(size_t column) const
{
    // The product carries each bit upwards; the xor carries the upper half into the lower.
    const auto mixed = [](uint64_t bits)
    {
        bits *= 0x9E3779B97F4A7C15u;
        return bits ^ (bits >> 32);
    };
    uint64_t hash = 0;
    VisitType(m_source.type,
              [&](auto tag)
              {
                  using Bits = std::conditional_t<sizeof(tag) == sizeof(uint32_t), uint32_t, uint64_t>;
                  const auto* values = static_cast<const decltype(tag)*>(m_source.values);
                  for (size_t at = m_stretches[column].begin; at < m_stretches[column].end; at++)
                  {
                      hash = mixed(hash ^ uint64_t(m_source.rowIndices[at] + 1));
                      hash = mixed(hash ^ std::bit_cast<Bits>(values[at]));
                  }
              });
    return size_t(mixed(hash));
}

void DistinctColumns::CopyColumns()
{
    const size_t bytes = SizeOf(m_source.type);
    size_t nonZeros = 0;
    for (const Stretch& stretch : m_stretches)
        nonZeros += stretch.end - stretch.begin;
    m_rows.reserve(nonZeros);
    m_values.reserve(nonZeros * bytes);
    m_starts.reserve(m_source.columns + 1);
    m_rows.clear();
    m_values.clear();
    m_starts.assign(1, 0);
    const auto* values = static_cast<const std::byte*>(m_source.values);
    for (const size_t column : m_first)
    {
        const auto [begin, end] = m_stretches[column];
        for (size_t at = begin; at < end; at++)
            m_rows.push_back(int32_t(size_t(m_source.rowIndices[at]) - m_firstRow));
        m_values.insert(m_values.end(), values + begin * bytes, values + end * bytes);
        m_starts.push_back(int32_t(m_rows.size()));
    }
}

SparseView DistinctColumns::Columns() const
{
    SparseView view = m_source;
    view.values = m_values.data();
    view.rowIndices = m_rows.data();
    view.columnStarts = m_starts.data();
    view.rows = m_rowCount;
    view.columns = Count();
    view.nonZeros = m_rows.size();
    return view;
}

SparseView DistinctColumns::Numbers() const
{
    return m_numbers.View(m_source, Count());
}

SparseView DistinctColumns::Places() const
{
    return m_places.View(m_source, m_source.columns);
}

} // namespace cntk
