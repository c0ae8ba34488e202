// Gradients in few bits, column by column, for their way between workers: what a round loses is kept and added to the
// gradient of the next one (1-bit SGD, Seide et al. 2014).
//
// Each column is a range [lower, upper], two elements, and its codes: q of b bits stands for the middle of the q-th of
// 2^b equal parts of the range,
//     lower + (q + 0.5) * (upper - lower) / 2^b,
// or for lower if the range is narrower than 1e-36. Codes lie in words of the element's size: with w words a column,
// word k has those of rows k, k + w, k + 2w, ..., the first one in the lowest bits.
#pragma once

#include <cstddef>
#include <span>

namespace cntk
{

struct QuantizerSettings
{
    size_t bits = 1; // a power of two below the width of an element
    // Of one bit: it tells negative values from the others, and each kind becomes its mean. Else it tells values below
    // the column's mean from the others, and these become the mean -+ the mean absolute deviation from it.
    bool useZeroThreshold = true;
};

// Without state: several threads may use one. Columns stand for themselves, one behind the other, so that what was made
// of a matrix can be taken apart and dequantised by ranges of columns.
template <class ElemType>
class GradientQuantizer
{
public:
    explicit GradientQuantizer(QuantizerSettings settings);

    // Of quantised columns; 0 of columns without rows.
    size_t BytesOf(size_t rows, size_t columns) const;

    // values: a gradient, column-major. Quantises values + residual, and leaves in residual what that lost. target:
    // BytesOf(rows, columns) bytes, anywhere. A column with numbers that are not finite comes back as such.
    void Quantize(std::span<const ElemType> values, std::span<ElemType> residual, size_t rows,
                  std::span<std::byte> target) const;

    // What Quantize made: written over target (column-major), or added to it.
    void Dequantize(std::span<const std::byte> source, size_t rows, std::span<ElemType> target, bool add) const;

private:
    QuantizerSettings m_settings;
};

} // namespace cntk
