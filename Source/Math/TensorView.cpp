// Dimensions, and strided views of matrices as tensors.
#include "Math/TensorView.h"

#include "Common/Error.h"

#include <algorithm>

namespace cntk
{

TensorShape::TensorShape(std::initializer_list<size_t> dims)
    : TensorShape(std::span<const size_t>(dims.begin(), dims.size()))
{
}

TensorShape::TensorShape(std::span<const size_t> dims)
{
    if (dims.size() > c_maxRank)
        Fail(ErrorKind::Model, "a tensor has ", dims.size(), " dimensions; at most ", c_maxRank, " are possible");
    std::copy(dims.begin(), dims.end(), m_dims.begin());
    m_rank = dims.size();
}

void TensorShape::SetDim(size_t axis, size_t dim)
{
    if (axis >= c_maxRank)
        Fail(ErrorKind::Model, "a tensor has ", axis + 1, " dimensions; at most ", c_maxRank, " are possible");
    for (; m_rank <= axis; ++m_rank)
        m_dims[m_rank] = 1;
    m_dims[axis] = dim;
}

size_t TensorShape::Elements() const
{
    size_t elements = 1;
    for (size_t dim : Dims())
        elements *= dim;
    return elements;
}

bool TensorShape::HasUnknown() const
{
    return std::find(m_dims.begin(), m_dims.begin() + ptrdiff_t(m_rank), size_t(0)) !=
           m_dims.begin() + ptrdiff_t(m_rank);
}

TensorShape TensorShape::Padded(size_t rank) const
{
    TensorShape padded = *this;
    if (rank > m_rank)
        padded.SetDim(rank - 1, 1);
    return padded;
}

TensorShape TensorShape::WithoutTrailingOnes() const
{
    TensorShape trimmed = *this;
    while (trimmed.m_rank > 0 && trimmed.m_dims[trimmed.m_rank - 1] == 1)
        trimmed.m_dims[--trimmed.m_rank] = 0;
    return trimmed;
}

size_t TensorShape::MatrixColumns() const
{
    size_t columns = 1;
    for (size_t axis = 1; axis < m_rank; ++axis)
        columns *= m_dims[axis];
    return columns;
}

bool TensorShape::operator==(const TensorShape& other) const
{
    return std::ranges::equal(Dims(), other.Dims());
}

std::string TensorShape::ToString() const
{
    std::string text;
    for (size_t axis = 0; axis < m_rank; ++axis)
    {
        if (axis > 0)
            text += " x ";
        text += std::to_string(m_dims[axis]);
    }
    return text;
}

TensorView::TensorView(const MatrixView& matrix) : data(matrix.data), type(matrix.type), device(matrix.device), rank(2)
{
    dims[0] = matrix.rows;
    dims[1] = matrix.columns;
    strides[0] = 1;
    strides[1] = ptrdiff_t(matrix.stride);
}

size_t TensorView::Elements() const
{
    size_t elements = 1;
    for (size_t axis = 0; axis < rank; ++axis)
        elements *= dims[axis];
    return elements;
}

TensorShape TensorView::Shape() const
{
    return TensorShape(std::span<const size_t>(dims.data(), rank));
}

bool TensorView::IsContiguous() const
{
    size_t expected = 1;
    for (size_t axis = 0; axis < rank; ++axis)
    {
        if (dims[axis] != 1 && strides[axis] != ptrdiff_t(expected))
            return false;
        expected *= dims[axis];
    }
    return true;
}

TensorView TensorView::Entries(size_t axis, size_t first, size_t count) const
{
    TensorView view = *this;
    if (axis >= rank || dims[axis] == 1)
        return view;
    view.dims[axis] = count;
    if (data != nullptr)
        view.data = static_cast<std::byte*>(data) + ptrdiff_t(first) * strides[axis] * ptrdiff_t(SizeOf(type));
    return view;
}

TensorView TensorView::OfSamples(const MatrixView& matrix, const TensorShape& sampleShape, size_t sampleRank,
                                 bool columnsAreSamples)
{
    const size_t covered = columnsAreSamples ? matrix.rows : matrix.Elements();
    if (sampleShape.Rank() > sampleRank || sampleRank >= TensorShape::c_maxRank || sampleShape.Elements() != covered)
    {
        Fail(ErrorKind::Internal, "a ", matrix.rows, " x ", matrix.columns, " matrix cannot be seen as ",
             columnsAreSamples ? "samples" : "a tensor", " of shape [", sampleShape.ToString(), "] with ", sampleRank,
             " axes");
    }

    TensorView view;
    view.data = matrix.data;
    view.type = matrix.type;
    view.device = matrix.device;
    view.rank = sampleRank + 1;
    size_t stride = 1; // in elements of the matrix without holes
    for (size_t axis = 0; axis < sampleRank; ++axis)
    {
        view.dims[axis] = sampleShape[axis];
        view.strides[axis] = ptrdiff_t(stride);
        stride *= sampleShape[axis];
    }
    view.dims[sampleRank] = columnsAreSamples ? matrix.columns : 1;
    view.strides[sampleRank] = ptrdiff_t(matrix.stride);

    if (!columnsAreSamples && !matrix.IsContiguous() && covered > 0)
    {
        // With holes between the columns each axis must lie within a column or step over whole columns.
        stride = 1;
        for (size_t axis = 0; axis < sampleRank; ++axis)
        {
            const size_t next = stride * sampleShape[axis];
            if (stride < matrix.rows && next > matrix.rows)
            {
                Fail(ErrorKind::Internal, "a ", matrix.rows, " x ", matrix.columns,
                     " matrix with holes between its columns cannot be seen as a tensor of shape [",
                     sampleShape.ToString(), "]");
            }
            if (stride >= matrix.rows)
                view.strides[axis] = ptrdiff_t(stride / matrix.rows * matrix.stride);
            stride = next;
        }
    }
    return view;
}

} // namespace cntk
