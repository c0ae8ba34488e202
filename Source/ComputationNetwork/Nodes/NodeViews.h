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

// Returns the same memory, which must be contiguous, with other sizes.
MatrixView Reshaped(const MatrixView& view, size_t rows, size_t columns);

// Returns one column per sample with all of its elements. A value without a layout is one sample.
MatrixView SamplesAsColumns(const ComputationNode& node, const MatrixView& view);

// Returns the memory of a view, which must be contiguous, as a tensor of the given axes: size and stride, in elements.
TensorView StridedTensor(const MatrixView& view, std::initializer_list<std::pair<size_t, size_t>> axes);

// Returns the mask of columns to sum for the gradient of an input that is the same for all samples of the node. Gaps
// must be left out: they may hold any bits, even NaN. Empty if no column is left out, or nothing is summed.
std::span<const uint8_t> MaskOfSum(const ComputationNode& node, size_t input, const FrameRange& range);

// Returns the other input of a node with two inputs, such as the sum of a product and a bias.
inline const ComputationNode& OtherInput(const ComputationNode& node, const ComputationNode& input)
{
    return *node.Input(node.Input(0).get() == &input ? 1 : 0);
}

// Returns the sequences of a layout, without gaps. In frame mode each sample is a sequence.
std::vector<SequenceInfo> SequencesOf(const MBLayout& layout);

// "'W' [50 x 784]"
std::string DescribeShape(const ComputationNode& node);

// Fails in the final pass if an input is sparse: most types take dense inputs only.
void RequireDenseInput(const ComputationNode& node, size_t input, const ShapeInference& inference);
void RequireDenseInputs(const ComputationNode& node, const ShapeInference& inference);

// Describes a temporary with one column for each sample of an input's value (one column without a layout).
TemporarySpec TemporaryForSamplesOf(const ComputationNode& node, size_t input, size_t rows,
                                    TemporarySpec::Lifetime life);

// Describes a temporary of the size of an input's value.
TemporarySpec TemporaryLikeInput(const ComputationNode& node, size_t input, TemporarySpec::Lifetime life);

// Describes a single column with a given number of rows.
TemporarySpec FixedColumn(size_t rows, TemporarySpec::Lifetime life);

// Copies divisors, with the smallest divisor in place of 0. For formulas that CNTK v1.1 divides as matrices: there
// 0 counts as positive, in Quotient as negative.
void CopyDivisors(const MatrixView& divisors, const MatrixView& output);

// Operands of a cosine's gradient: v is the cosine of the columns of x and y, whose inverse norms are given. Computes
// target = beta target + the gradient of x for the gradient g of v. factor is a work row.
struct CosineGradient
{
    MatrixView g, v, x, inverseX, y, inverseY, factor, target;
};
void AddCosineGradient(const CosineGradient& cosine, double beta);

// Writes 0, 1, 2, ... into a column, in its element type.
void FillRowNumbers(const MatrixView& column);

// ---- axes of a sample; users and files count them from 1 ----

// Returns the number of elements of the axes before `axis` (counted from 0): the distance of its neighbours in memory.
size_t ElementsBelow(const TensorShape& shape, size_t axis);
// Reads an axis parameter, counted from 1. Fails (Config) for an axis that no shape can have.
int32_t AxisParameter(const NodeParameters& parameters, const char* name, int32_t defaultAxis);
// Fails (Model) if the axis comes from a file and no shape can have it.
void CheckLoadedAxis(const ModelArchive& archive, int32_t axis);

} // namespace cntk
