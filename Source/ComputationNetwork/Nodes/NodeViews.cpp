// Views, checks and temporaries that several node families share.
#include "ComputationNetwork/Nodes/NodeViews.h"

#include "Common/Error.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "Math/ElementwiseFunctions.h"

#include <numeric>
#include <vector>

namespace cntk
{

MatrixView Reshaped(const MatrixView& view, size_t rows, size_t columns)
{
    CNTK_ASSERT(view.IsContiguous() && view.Elements() == rows * columns);
    MatrixView reshaped = view;
    reshaped.rows = rows;
    reshaped.columns = columns;
    reshaped.stride = rows;
    return reshaped;
}

MatrixView SamplesAsColumns(const ComputationNode& node, const MatrixView& view)
{
    return node.HasMBLayout() ? view : Reshaped(view, view.Elements(), 1);
}

TensorView StridedTensor(const MatrixView& view, std::initializer_list<std::pair<size_t, size_t>> axes)
{
    CNTK_ASSERT(view.IsContiguous());
    TensorView tensor;
    tensor.data = view.data;
    tensor.type = view.type;
    tensor.device = view.device;
    for (const auto& [size, stride] : axes)
    {
        tensor.dims[tensor.rank] = size;
        tensor.strides[tensor.rank] = ptrdiff_t(stride);
        tensor.rank++;
    }
    return tensor;
}

std::span<const uint8_t> MaskOfSum(const ComputationNode& node, size_t input, const FrameRange& range)
{
    const bool isSum = node.HasMBLayout() && !node.Input(input)->HasMBLayout();
    return isSum ? node.ColumnMask(range) : std::span<const uint8_t>();
}

std::vector<SequenceInfo> SequencesOf(const MBLayout& layout)
{
    std::vector<SequenceInfo> sequences;
    if (!layout.IsFrameMode())
    {
        for (const SequenceInfo& sequence : layout.Sequences())
            if (sequence.id != SequenceInfo::c_gap)
                sequences.push_back(sequence);
        return sequences;
    }
    for (size_t row = 0; row < layout.ParallelSequences(); row++)
        sequences.push_back({row, row, 0, 1});
    return sequences;
}

std::string DescribeShape(const ComputationNode& node)
{
    return Concat("'", node.Name(), "' [", node.SampleLayout().ToString(), "]");
}

void RequireDenseInput(const ComputationNode& node, size_t input, const ShapeInference& inference)
{
    if (inference.IsFinalPass() && node.Input(input)->IsSparse())
        FailSparseInput(node, input);
}

void RequireDenseInputs(const ComputationNode& node, const ShapeInference& inference)
{
    for (size_t input = 0; input < node.InputCount(); input++)
        RequireDenseInput(node, input, inference);
}

TemporarySpec TemporaryForSamplesOf(const ComputationNode& node, size_t input, size_t rows,
                                    TemporarySpec::Lifetime life)
{
    TemporarySpec spec;
    spec.rows = rows;
    spec.life = life;
    if (node.Input(input)->HasMBLayout())
        spec.layoutOfInput = int(input);
    else
        spec.fixedColumns = 1;
    return spec;
}

TemporarySpec TemporaryLikeInput(const ComputationNode& node, size_t input, TemporarySpec::Lifetime life)
{
    TemporarySpec spec = TemporaryForSamplesOf(node, input, node.Input(input)->ValueRows(), life);
    if (!node.Input(input)->HasMBLayout())
        spec.fixedColumns = node.Input(input)->ValueColumns();
    return spec;
}

TemporarySpec FixedColumn(size_t rows, TemporarySpec::Lifetime life)
{
    TemporarySpec spec;
    spec.rows = rows;
    spec.fixedColumns = 1;
    spec.life = life;
    return spec;
}

void CopyDivisors(const MatrixView& divisors, const MatrixView& output)
{
    Ops::Elementwise(ElementwiseOp::Not, divisors, output, c_divisorFloor);
    Ops::Elementwise(ElementwiseOp::Copy, divisors, output, 1, 1);
}

// Computes g / |x| (y / |y| - v x / |x|). Each column is first multiplied by its own inverse norm. The inverse of 0 is
// so large that the product of two would be infinite in single precision, and infinity times a column of 0 is NaN.
void AddCosineGradient(const CosineGradient& cosine, double beta)
{
    using Op = ElementwiseOp;
    Ops::Elementwise(Op::Product, cosine.g, cosine.inverseX, cosine.factor);
    Ops::Elementwise(Op::ProductOfThree, cosine.y, cosine.inverseY, cosine.factor, cosine.target, 1, beta);
    Ops::Elementwise(Op::Product, cosine.factor, cosine.v, cosine.factor);
    Ops::Elementwise(Op::ProductOfThree, cosine.x, cosine.inverseX, cosine.factor, cosine.target, -1, 1);
}

void FillRowNumbers(const MatrixView& column)
{
    VisitType(column.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  if (column.device->IsHostMemory())
                      return std::iota(column.As<T>(), column.As<T>() + column.rows, T(0));
                  std::vector<T> numbers(column.rows);
                  std::iota(numbers.begin(), numbers.end(), T(0));
                  column.device->CopyFromHost(column.data, numbers.data(), numbers.size() * sizeof(T));
              });
}

size_t ElementsBelow(const TensorShape& shape, size_t axis)
{
    size_t elements = 1;
    for (size_t below = 0; below < axis; below++)
        elements *= shape[below];
    return elements;
}

int32_t AxisParameter(const NodeParameters& parameters, const char* name, int32_t defaultAxis)
{
    const long long axis = parameters.Integer(name, defaultAxis);
    if (axis < 1 || size_t(axis) > TensorShape::c_maxRank)
        Fail(ErrorKind::Config, "parameter '", name, "' is ", axis, "; expected 1 to ", TensorShape::c_maxRank);
    return int32_t(axis);
}

void CheckLoadedAxis(const ModelArchive& archive, int32_t axis)
{
    if (archive.IsLoading() && (axis < 1 || size_t(axis) > TensorShape::c_maxRank))
        Fail(ErrorKind::Model, "the file names axis ", axis, "; expected 1 to ", TensorShape::c_maxRank);
}

} // namespace cntk
