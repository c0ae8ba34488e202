// The dimensions of a tensor: a value without allocation.
#include "Math/TensorShape.h"

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

} // namespace cntk
