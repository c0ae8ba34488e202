// Owning matrices: Matrix (dense, column-major) and SparseMatrix (CSC).
#pragma once

#include "Math/TensorView.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

// Owning device memory; grows, never shrinks, so that a steady state allocates nothing. Move only.
class Buffer
{
public:
    Buffer() = default;
    explicit Buffer(Device& device) : m_device(&device) {}
    ~Buffer();
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // The content is undefined after growing. Debug builds fill new memory with NaN bytes.
    void Reserve(size_t bytes);
    void* Data() const { return m_data; }
    size_t Bytes() const { return m_bytes; } // capacity
    Device* GetDevice() const { return m_device; }

private:
    Device* m_device = nullptr;
    void* m_data = nullptr;
    size_t m_bytes = 0;
};

// Dense, column-major, contiguous. Move only; Clone() copies.
class Matrix
{
public:
    Matrix() = default;
    Matrix(size_t rows, size_t columns, DataType type, Device& device); // zeroed

    size_t Rows() const { return m_rows; }
    size_t Columns() const { return m_columns; }
    size_t Elements() const { return m_rows * m_columns; }
    DataType Type() const { return m_type; }
    Device& GetDevice() const { return *m_buffer.GetDevice(); }
    bool IsAllocated() const { return m_buffer.GetDevice() != nullptr; }

    // Keeps memory; the content is undefined afterwards.
    void Resize(size_t rows, size_t columns);
    // The same elements in other rows and columns.
    void Reshape(size_t rows, size_t columns);
    MatrixView View() const;
    operator MatrixView() const { return View(); } // implicit on purpose: operations take views
    Matrix Clone() const;
    void SetZero();
    void CopyFrom(const MatrixView& source); // same device; takes the source's size

    // Host transfers convert between element types. Column-major.
    void FromHost(std::span<const double> values);
    void FromHost(std::span<const float> values);
    std::vector<double> ToHost() const;
    void CopyToHost(void* values) const; // Elements()*SizeOf(Type()) bytes
    void CopyFromHost(const void* values);
    // The elements from first on, count of them.
    void CopyToHost(void* values, size_t first, size_t count) const;
    void CopyFromHost(const void* values, size_t first, size_t count);

private:
    Buffer m_buffer;
    size_t m_rows = 0;
    size_t m_columns = 0;
    DataType m_type = DataType::Float32;
};

class SparseMatrix
{
public:
    SparseMatrix() = default;
    SparseMatrix(DataType type, Device& device);

    size_t Rows() const { return m_rows; }
    size_t Columns() const { return m_columns; }
    size_t NonZeros() const { return m_nonZeros; }
    DataType Type() const { return m_type; }

    // values: nonZeros elements of Type(). Keeps memory.
    void FromHost(size_t rows, size_t columns, const void* values, std::span<const int32_t> rowIndices,
                  std::span<const int32_t> columnStarts);
    SparseView View() const;
    operator SparseView() const { return View(); } // implicit on purpose
    std::vector<double> ToHostDense() const;       // rows*columns, column-major

private:
    Buffer m_values;
    Buffer m_rowIndices;
    Buffer m_columnStarts;
    // Copies for the host, so that it need not wait for a GPU.
    std::vector<int32_t> m_hostRowIndices;
    std::vector<int32_t> m_hostColumnStarts;
    size_t m_rows = 0;
    size_t m_columns = 0;
    size_t m_nonZeros = 0;
    DataType m_type = DataType::Float32;
};

// The columns of a gradient that a sparse right operand touched ("block-column sparse"): everything else is zero, and
// update rules pass over it. Column numbers ascending, without repetition; host memory.
struct TouchedColumns
{
    bool all = false; // a dense contribution arrived: the whole matrix counts
    // The original keeps this gradient as a dense matrix: what is not touched takes part in updates, as zeros.
    bool standsForDense = false;
    // An operation that records came by, though it may have touched nothing new.
    bool isRecorded = false;
    std::vector<int32_t> columns;

    // Makes of columns in any order, each as often as it may be, what they are to be. count: those of the gradient.
    void Order(size_t count);
};

// Calls body(first, count) for each maximal range of columns that hold data. `mask` has a byte for each column, 0 for a
// gap; an empty mask means that all columns hold data.
template <class Body>
void ForEachDataStretch(std::span<const uint8_t> mask, size_t columns, Body&& body)
{
    if (mask.empty())
    {
        if (columns > 0)
            body(size_t(0), columns);
        return;
    }
    size_t first = 0;
    while (first < columns)
    {
        size_t end = first;
        while (end < columns && mask[end] != 0)
            end++;
        if (end > first)
            body(first, end - first);
        first = end + 1;
    }
}

} // namespace cntk
