// The dimensions of a tensor, first dimension fastest. A matrix is [rows x columns]; a sample is [d1 x d2 x ...].
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

namespace cntk
{

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

} // namespace cntk
