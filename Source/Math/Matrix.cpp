// Owning matrices: device memory that grows and never shrinks.
#include "Math/Matrix.h"

#include "Common/Error.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace cntk
{

// ---- Buffer ---------------------------------------------------------------------------------------------------------

Buffer::~Buffer()
{
    if (m_data)
        m_device->Free(m_data);
}

Buffer::Buffer(Buffer&& other) noexcept
    : m_device(other.m_device), m_data(std::exchange(other.m_data, nullptr)), m_bytes(std::exchange(other.m_bytes, 0))
{
}

Buffer& Buffer::operator=(Buffer&& other) noexcept
{
    if (this != &other)
    {
        if (m_data)
            m_device->Free(m_data);
        m_device = other.m_device;
        m_data = std::exchange(other.m_data, nullptr);
        m_bytes = std::exchange(other.m_bytes, 0);
    }
    return *this;
}

void Buffer::Reserve(size_t bytes)
{
    if (bytes <= m_bytes)
        return;
    if (!m_device)
        Fail(ErrorKind::Internal, "a buffer without a device cannot hold ", bytes, " bytes");
    if (m_data)
        m_device->Free(m_data);
    m_data = nullptr;
    m_bytes = 0;
    m_data = m_device->Allocate(bytes);
    m_bytes = bytes;
#ifndef NDEBUG
    if (m_device->IsHostMemory())
        std::memset(m_data, 0xff, bytes);
#endif
}

// ---- Matrix ---------------------------------------------------------------------------------------------------------

namespace
{

size_t CheckedElements(size_t rows, size_t columns)
{
    size_t elements = 0;
    size_t bytes = 0;
    if (__builtin_mul_overflow(rows, columns, &elements) || __builtin_mul_overflow(elements, sizeof(double), &bytes))
        Fail(ErrorKind::Device, "a matrix of ", rows, " x ", columns, " elements exceeds the address space");
    return elements;
}

void CheckHostSize(size_t found, size_t rows, size_t columns)
{
    if (found != rows * columns)
        Fail(ErrorKind::Internal, found, " values were given for a ", rows, " x ", columns, " matrix");
}

template <class From>
void CopyConverted(Matrix& matrix, std::span<const From> values)
{
    CheckHostSize(values.size(), matrix.Rows(), matrix.Columns());
    if (matrix.Type() == DataTypeOf<From>())
    {
        matrix.CopyFromHost(values.data());
        return;
    }
    VisitType(matrix.Type(),
              [&](auto tag)
              {
                  using To = decltype(tag);
                  std::vector<To> converted(values.size());
                  std::transform(values.begin(), values.end(), converted.begin(), [](From value) { return To(value); });
                  matrix.CopyFromHost(converted.data());
              });
}

} // namespace

Matrix::Matrix(size_t rows, size_t columns, DataType type, Device& device) : m_buffer(device), m_type(type)
{
    Resize(rows, columns);
    SetZero();
}

void Matrix::Resize(size_t rows, size_t columns)
{
    m_buffer.Reserve(CheckedElements(rows, columns) * SizeOf(m_type));
    m_rows = rows;
    m_columns = columns;
}

void Matrix::Reshape(size_t rows, size_t columns)
{
    CNTK_ASSERT(CheckedElements(rows, columns) == Elements());
    m_rows = rows;
    m_columns = columns;
}

MatrixView Matrix::View() const
{
    return {m_buffer.Data(), m_rows, m_columns, m_rows, m_type, m_buffer.GetDevice()};
}

Matrix Matrix::Clone() const
{
    Matrix clone;
    if (!IsAllocated())
        return clone;
    clone.m_buffer = Buffer(GetDevice());
    clone.m_type = m_type;
    clone.Resize(m_rows, m_columns);
    GetDevice().Copy(clone.m_buffer.Data(), m_buffer.Data(), Elements() * SizeOf(m_type));
    return clone;
}

void Matrix::SetZero()
{
    if (Elements() > 0)
        GetDevice().Zero(m_buffer.Data(), Elements() * SizeOf(m_type));
}

void Matrix::FromHost(std::span<const double> values)
{
    CopyConverted(*this, values);
}

void Matrix::FromHost(std::span<const float> values)
{
    CopyConverted(*this, values);
}

std::vector<double> Matrix::ToHost() const
{
    std::vector<double> result(Elements());
    if (m_type == DataType::Float64)
    {
        CopyToHost(result.data());
        return result;
    }
    std::vector<float> values(Elements());
    CopyToHost(values.data());
    std::copy(values.begin(), values.end(), result.begin());
    return result;
}

void Matrix::CopyToHost(void* values) const
{
    CopyToHost(values, 0, Elements());
}

void Matrix::CopyFromHost(const void* values)
{
    CopyFromHost(values, 0, Elements());
}

void Matrix::CopyToHost(void* values, size_t first, size_t count) const
{
    CNTK_ASSERT(first <= Elements() && count <= Elements() - first);
    if (count > 0)
        GetDevice().CopyToHost(values, static_cast<const char*>(m_buffer.Data()) + first * SizeOf(m_type),
                               count * SizeOf(m_type));
}

void Matrix::CopyFromHost(const void* values, size_t first, size_t count)
{
    CNTK_ASSERT(first <= Elements() && count <= Elements() - first);
    if (count > 0)
        GetDevice().CopyFromHost(static_cast<char*>(m_buffer.Data()) + first * SizeOf(m_type), values,
                                 count * SizeOf(m_type));
}

// ---- SparseMatrix ---------------------------------------------------------------------------------------------------

SparseMatrix::SparseMatrix(DataType type, Device& device)
    : m_values(device), m_rowIndices(device), m_columnStarts(device), m_type(type)
{
}

void SparseMatrix::FromHost(size_t rows, size_t columns, const void* values, std::span<const int32_t> rowIndices,
                            std::span<const int32_t> columnStarts)
{
    if (columnStarts.size() != columns + 1 || columnStarts.front() != 0 ||
        size_t(columnStarts.back()) != rowIndices.size())
    {
        Fail(ErrorKind::Internal, "a sparse matrix of ", columns, " columns with ", rowIndices.size(),
             " values was given ", columnStarts.size(), " column starts");
    }
    for (size_t column = 0; column < columns; ++column)
    {
        for (int32_t index = columnStarts[column]; index < columnStarts[column + 1]; ++index)
        {
            const int32_t row = rowIndices[size_t(index)];
            const bool ascending = index == columnStarts[column] || rowIndices[size_t(index) - 1] < row;
            if (row < 0 || size_t(row) >= rows || !ascending)
            {
                Fail(ErrorKind::Internal, "column ", column, " of a sparse matrix has row index ", row,
                     ascending ? " outside of " : " out of order among ", rows, " rows");
            }
        }
    }
    m_rows = rows;
    m_columns = columns;
    m_nonZeros = rowIndices.size();
    m_columnStarts.Reserve(columnStarts.size_bytes());
    Device& device = *m_columnStarts.GetDevice();
    device.CopyFromHost(m_columnStarts.Data(), columnStarts.data(), columnStarts.size_bytes());
    if (!device.IsHostMemory())
    {
        m_hostColumnStarts.assign(columnStarts.begin(), columnStarts.end());
        m_hostRowIndices.assign(rowIndices.begin(), rowIndices.end());
    }
    if (m_nonZeros == 0)
        return;
    m_values.Reserve(m_nonZeros * SizeOf(m_type));
    m_rowIndices.Reserve(rowIndices.size_bytes());
    device.CopyFromHost(m_values.Data(), values, m_nonZeros * SizeOf(m_type));
    device.CopyFromHost(m_rowIndices.Data(), rowIndices.data(), rowIndices.size_bytes());
}

SparseView SparseMatrix::View() const
{
    SparseView view;
    view.values = m_values.Data();
    view.rowIndices = static_cast<const int32_t*>(m_rowIndices.Data());
    view.columnStarts = static_cast<const int32_t*>(m_columnStarts.Data());
    view.rows = m_rows;
    view.columns = m_columns;
    view.nonZeros = m_nonZeros;
    view.type = m_type;
    view.device = m_columnStarts.GetDevice();
    if (!m_hostColumnStarts.empty())
    {
        view.hostRowIndices = m_hostRowIndices.data();
        view.hostColumnStarts = m_hostColumnStarts.data();
    }
    return view;
}

// ---- TouchedColumns -------------------------------------------------------------------------------------------------

// A minibatch has so many words, in so random an order, that marking them in a set of bits takes a quarter of the time
// of sorting them.
void TouchedColumns::Order(size_t count)
{
    constexpr size_t c_bits = 64, c_mostWordsOfOne = 8;
    const size_t words = (count + c_bits - 1) / c_bits;
    if (words > c_mostWordsOfOne * columns.size())
    {
        std::sort(columns.begin(), columns.end());
        columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
        return;
    }
    static thread_local std::vector<uint64_t> marks; // all 0 between calls
    if (marks.size() < words)
        marks.resize(words);
    for (const int32_t column : columns)
        marks[size_t(column) / c_bits] |= uint64_t(1) << size_t(column) % c_bits;
    size_t found = 0;
    for (size_t word = 0; word < words; ++word)
        for (uint64_t left = std::exchange(marks[word], 0); left != 0; left &= left - 1)
            columns[found++] = int32_t(word * c_bits + size_t(std::countr_zero(left)));
    columns.resize(found);
}

} // namespace cntk
