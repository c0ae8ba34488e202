// A hash table of columns that is filled anew with each minibatch.
#include "ComputationNetwork/DistinctColumns.h"

#include "Common/Error.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace cntk
{

void DistinctColumns::Find(const SparseView& s, std::span<const uint8_t> mask)
{
    CNTK_ASSERT(s.device != nullptr && s.device->IsHostMemory());
    m_source = s;
    m_first.clear();
    m_first.reserve(s.columns);
    // At most half full, so that what is looked for is found in a few steps.
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
    SetOnes();
    CopyColumns();
}

// Sorted by number, those of one number in the order of the minibatch.
void DistinctColumns::FindPlaces(std::span<const uint8_t> mask)
{
    const auto isData = [&](size_t column) { return mask.empty() || mask[column] != 0; };
    std::vector<int32_t>& starts = m_places.starts;
    starts.reserve(m_source.columns + 2);
    starts.assign(m_countOfData + 2, 0); // first two places ahead, then one: where the next column of a number goes
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
    const int32_t* const starts = m_source.columnStarts;
    const size_t at = size_t(starts[column]), otherAt = size_t(starts[other]);
    const size_t count = size_t(starts[column + 1]) - at;
    if (count != size_t(starts[other + 1]) - otherAt)
        return false;
    const size_t bytes = SizeOf(m_source.type);
    const auto* values = static_cast<const std::byte*>(m_source.values);
    return std::equal(m_source.rowIndices + at, m_source.rowIndices + at + count, m_source.rowIndices + otherAt) &&
           std::equal(values + at * bytes, values + (at + count) * bytes, values + otherAt * bytes);
}

// Of the rows alone: values hardly ever tell two words apart.
size_t DistinctColumns::HashOf(size_t column) const
{
    uint64_t hash = 0;
    for (int32_t at = m_source.columnStarts[column]; at < m_source.columnStarts[column + 1]; at++)
        hash = (hash ^ uint64_t(m_source.rowIndices[at] + 1)) * 0x9E3779B97F4A7C15u;
    return size_t(hash >> 32);
}

void DistinctColumns::CopyColumns()
{
    const size_t bytes = SizeOf(m_source.type);
    const size_t nonZeros =
        m_source.columns == 0 ? 0 : size_t(m_source.columnStarts[m_source.columns] - m_source.columnStarts[0]);
    m_rows.reserve(nonZeros);
    m_values.reserve(nonZeros * bytes);
    m_starts.reserve(m_source.columns + 1);
    m_rows.clear();
    m_values.clear();
    m_starts.assign(1, 0);
    const auto* values = static_cast<const std::byte*>(m_source.values);
    for (const size_t column : m_first)
    {
        const size_t begin = size_t(m_source.columnStarts[column]), end = size_t(m_source.columnStarts[column + 1]);
        m_rows.insert(m_rows.end(), m_source.rowIndices + begin, m_source.rowIndices + end);
        m_values.insert(m_values.end(), values + begin * bytes, values + end * bytes);
        m_starts.push_back(int32_t(m_rows.size()));
    }
}

void DistinctColumns::SetOnes()
{
    VisitType(m_source.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const T one = 1;
                  const size_t held = m_ones.size() / sizeof(T);
                  if (held >= m_source.columns)
                      return;
                  m_ones.resize(m_source.columns * sizeof(T));
                  for (size_t i = held; i < m_source.columns; i++)
                      std::memcpy(m_ones.data() + i * sizeof(T), &one, sizeof(T));
              });
}

SparseView DistinctColumns::Columns() const
{
    SparseView view = m_source;
    view.values = m_values.data();
    view.rowIndices = m_rows.data();
    view.columnStarts = m_starts.data();
    view.columns = Count();
    view.nonZeros = m_rows.size();
    return view;
}

SparseView DistinctColumns::View(const Ones& ones, size_t rows, size_t columns) const
{
    SparseView view = m_source;
    view.values = m_ones.data();
    view.rowIndices = ones.rows.data();
    view.columnStarts = ones.starts.data();
    view.rows = rows;
    view.columns = columns;
    view.nonZeros = ones.rows.size();
    return view;
}

SparseView DistinctColumns::Numbers() const
{
    return View(m_numbers, Count(), m_source.columns);
}

SparseView DistinctColumns::Places() const
{
    return View(m_places, m_source.columns, m_countOfData);
}

} // namespace cntk
