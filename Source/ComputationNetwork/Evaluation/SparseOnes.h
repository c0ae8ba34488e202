// A sparse matrix whose values are all 1: it selects or sums columns of another matrix.
#pragma once

#include "Math/Matrix.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace cntk
{

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

} // namespace cntk
