// Access to single elements of matrices, for the loops of the reference backend.
#pragma once

#include "Math/TensorView.h"

#include <cstddef>

namespace cntk
{

template <class T>
T& At(const MatrixView& view, size_t row, size_t column)
{
    return view.As<T>()[column * view.stride + row];
}

inline double Get(const MatrixView& view, size_t row, size_t column)
{
    return view.type == DataType::Float32 ? double(At<float>(view, row, column)) : At<double>(view, row, column);
}

inline void Set(const MatrixView& view, size_t row, size_t column, double value)
{
    if (view.type == DataType::Float32)
        At<float>(view, row, column) = float(value);
    else
        At<double>(view, row, column) = value;
}

} // namespace cntk
