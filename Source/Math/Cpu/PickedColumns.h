// Sums of columns that a column of a sparse matrix names: as many as one pass takes at a time.
#pragma once

#include "Math/Cpu/VectorKernels.h"
#include "Math/TensorView.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cntk
{

template <class T>
struct PickedColumns
{
    const T* data = nullptr;
    size_t stride = 0;
    size_t firstRow = 0; // of the sparse matrix: the one that names the first column
};

// y += factor * the sum of the columns that the elements [begin, end) of s name, times their values; replaces: y =.
// Each is rounded with its factor, and added in the order of the elements.
template <class T>
void AddPicked(const VectorKernels<T>& kernels, const PickedColumns<T>& from, const SparseView& s, int32_t begin,
               int32_t end, T factor, size_t rows, T* y, bool replaces)
{
    constexpr size_t most = VectorKernels<T>::c_mostPicked;
    const T* const values = static_cast<const T*>(s.values);
    if (begin == end && replaces)
        std::fill_n(y, rows, T(0));
    while (begin < end)
    {
        const T* columns[most];
        T factors[most];
        size_t count = 0;
        for (; begin < end && count < most; ++begin, ++count)
        {
            columns[count] = from.data + (size_t(s.rowIndices[begin]) - from.firstRow) * from.stride;
            factors[count] = factor * values[begin];
        }
        kernels.addColumns(columns, factors, count, rows, y, replaces);
        replaces = false;
    }
}

} // namespace cntk
