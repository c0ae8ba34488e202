// Dimensions of tensors, and non-owning views of device memory: TensorView (strided, broadcasting) and MatrixView
// (column-major with a leading dimension). Views are passed by value and never stored beyond the life of the buffer.
#pragma once

#include "Math/DataType.h"
#include "Math/Device.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace cntk
{

// ---- dimensions -----------------------------------------------------------------------------------------------------
// The first dimension is the fastest. A matrix is [rows x columns]; a sample is [d1 x d2 x ...].

// A value; no allocation. Missing trailing dimensions count as 1. A dimension of 0 is "to be inferred".
class TensorShape
{
public:
    static constexpr size_t c_maxRank = 12;

    TensorShape() = default; // rank 0: a scalar
    TensorShape(std::initializer_list<size_t> dims);
    explicit TensorShape(std::span<const size_t> dims);

    size_t Rank() const { return m_rank; }
    size_t operator[](size_t axis) const { return axis < m_rank ? m_dims[axis] : 1; }
    void SetDim(size_t axis, size_t dim); // axis < c_maxRank; grows the rank with ones
    std::span<const size_t> Dims() const { return {m_dims.data(), m_rank}; }

    size_t Elements() const;               // product; 1 for rank 0
    bool HasUnknown() const;               // some dimension is 0
    TensorShape Padded(size_t rank) const; // with ones at the end
    TensorShape WithoutTrailingOnes() const;
    // For storage of parameters: dim 0 x product of the others.
    size_t MatrixRows() const { return (*this)[0]; }
    size_t MatrixColumns() const;

    bool operator==(const TensorShape& other) const; // exact, rank included
    std::string ToString() const;                    // "2 x 50"; "" for rank 0

private:
    std::array<size_t, c_maxRank> m_dims{};
    size_t m_rank = 0;
};

// ---- views ----------------------------------------------------------------------------------------------------------

// rows x columns, column-major, column j starts at data + j*stride elements.
struct MatrixView
{
    void* data = nullptr;
    size_t rows = 0;
    size_t columns = 0;
    size_t stride = 0; // in elements, >= rows
    DataType type = DataType::Float32;
    Device* device = nullptr;

    size_t Elements() const { return rows * columns; }
    bool IsContiguous() const { return stride == rows || columns <= 1; }
    MatrixView Columns(size_t first, size_t count) const
    {
        MatrixView view = *this;
        view.data = Beyond(first * stride);
        view.columns = count;
        return view;
    }
    MatrixView Rows(size_t first, size_t count) const
    {
        MatrixView view = *this;
        view.data = Beyond(first);
        view.rows = count;
        return view;
    }
    // True if this view begins in the memory of `whole`, including gaps between its columns.
    bool IsWithin(const MatrixView& whole) const
    {
        return data >= whole.data && data < whole.Beyond(whole.columns * whole.stride);
    }
    template <class T>
    T* As() const
    {
        return static_cast<T*>(data);
    }

private:
    // An empty matrix has no memory, and no parts in it either.
    void* Beyond(size_t elements) const
    {
        return data == nullptr ? nullptr : static_cast<std::byte*>(data) + elements * SizeOf(type);
    }
};

// Up to TensorShape::c_maxRank axes, each with a stride in elements. A stride of 0 repeats (broadcasts) the axis.
struct TensorView
{
    void* data = nullptr;
    DataType type = DataType::Float32;
    Device* device = nullptr;
    size_t rank = 0;
    // Undefined beyond the rank: a view is made for every call, and clearing them would cost more than many a call.
    std::array<size_t, TensorShape::c_maxRank> dims;
    std::array<ptrdiff_t, TensorShape::c_maxRank> strides;

    size_t Elements() const;
    TensorShape Shape() const;
    // The axes are laid out one after another without holes.
    bool IsContiguous() const;
    // Some of the entries of an axis; an axis that is repeated (of dimension 1, or beyond the rank) stays as it is.
    TensorView Entries(size_t axis, size_t first, size_t count) const;

    TensorView() {}
    // [rows x columns]
    TensorView(const MatrixView& matrix); // implicit on purpose: every matrix is a tensor
    // The matrix's rows split into the sample's dimensions (their product must equal rows), padded with ones to
    // sampleRank axes, then one axis of columns. A matrix of a parameter with sampleShape of all its dimensions passes
    // columnsAreSamples = false: the shape covers the whole matrix and the last axis is 1.
    static TensorView OfSamples(const MatrixView& matrix, const TensorShape& sampleShape, size_t sampleRank,
                                bool columnsAreSamples = true);
};

// A CSC sparse matrix on the device, one sample a column.
struct SparseView
{
    const void* values = nullptr;
    const int32_t* rowIndices = nullptr;   // ascending within a column
    const int32_t* columnStarts = nullptr; // columns + 1; offsets into values and rowIndices
    size_t rows = 0;
    size_t columns = 0;
    size_t nonZeros = 0; // an upper bound where the view is a range of columns
    DataType type = DataType::Float32;
    Device* device = nullptr;
    // The same in host memory, where the device's memory is another and the host has them; else null.
    const int32_t* hostRowIndices = nullptr;
    const int32_t* hostColumnStarts = nullptr;

    SparseView Columns(size_t first, size_t count) const
    {
        SparseView view = *this;
        view.columnStarts = columnStarts + first;
        view.hostColumnStarts = hostColumnStarts != nullptr ? hostColumnStarts + first : nullptr;
        view.columns = count;
        return view;
    }
};

} // namespace cntk
