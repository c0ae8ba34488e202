// Views, checks and temporaries that several node families share.
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "Math/Matrix.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

// The same memory, which must be contiguous, under other sizes.
MatrixView Reshaped(const MatrixView& view, size_t rows, size_t columns);

// One sample a column, all of its elements below one another. A value without a layout is one sample.
MatrixView SamplesAsColumns(const ComputationNode& node, const MatrixView& view);

// The memory of a view, which must be contiguous, as a tensor of the given axes: size and stride, in elements.
TensorView StridedTensor(const MatrixView& view, std::initializer_list<std::pair<size_t, size_t>> axes);

// Where an input is the same for all samples of the node, so that its gradient is a sum over them: the mask of those to
// sum over, since gaps hold anything, even no numbers. Empty where none is left out, or nothing is summed.
std::span<const uint8_t> MaskOfSum(const ComputationNode& node, size_t input, const FrameRange& range);

// Of a node of two inputs, such as the sum of a product and a bias: not this one.
inline const ComputationNode& OtherInput(const ComputationNode& node, const ComputationNode& input)
{
    return *node.Input(node.Input(0).get() == &input ? 1 : 0);
}

// The sequences of a layout, without gaps; in frame mode each sample is one.
std::vector<SequenceInfo> SequencesOf(const MBLayout& layout);

// "'W' [50 x 784]"
std::string DescribeShape(const ComputationNode& node);

// In the final pass an error when an input is sparse: most types take dense inputs only.
void RequireDenseInput(const ComputationNode& node, size_t input, const ShapeInference& inference);
void RequireDenseInputs(const ComputationNode& node, const ShapeInference& inference);

// As many columns as an input's value has samples (one without a layout), each of so many rows.
TemporarySpec TemporaryForSamplesOf(const ComputationNode& node, size_t input, size_t rows,
                                    TemporarySpec::Lifetime life);

// Of the size of an input's value.
TemporarySpec TemporaryLikeInput(const ComputationNode& node, size_t input, TemporarySpec::Lifetime life);

// A single column of a given number of rows.
TemporarySpec FixedColumn(size_t rows, TemporarySpec::Lifetime life);

// The divisors, the smallest one in place of 0, for what the original divides as matrices: there 0 counts as positive,
// in Quotient as negative.
void CopyDivisors(const MatrixView& divisors, const MatrixView& output);

// Of the cosine v of the columns of x and y, which have the inverse norms given: target = beta target + the gradient of
// x for the gradient g of v. factor is a row to work in.
struct CosineGradient
{
    MatrixView g, v, x, inverseX, y, inverseY, factor, target;
};
void AddCosineGradient(const CosineGradient& cosine, double beta);

// 0, 1, 2, ... into a column, in its element type.
void FillRowNumbers(const MatrixView& column);

} // namespace cntk
