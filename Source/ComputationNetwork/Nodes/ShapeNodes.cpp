// Nodes that select or permute the dimensions of a sample: Slice, TransposeDimensions, Diagonal.
#include "Common/Error.h"
#include "ComputationNetwork/Files/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeAxis.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>

namespace cntk
{

namespace
{

using Op = ElementwiseOp;

// Returns the elements begin..end-1 of one axis; the other axes are unchanged. Negative numbers count from the end, and
// an end of 0 is the end.
class SliceNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        const TensorShape& x = Input(0)->SampleLayout();
        if (m_axis == c_rowsOfOldFile && !x.HasUnknown())
            FindAxisOfRows();
        const size_t axis = size_t(std::max(m_axis, 1)) - 1;
        const int64_t size = int64_t(x[axis]);
        const int64_t end = m_begin + m_length;
        const int64_t first = m_begin < 0 ? m_begin + size : m_begin;
        const int64_t last = end <= 0 ? end + size : end;
        if (inference.IsFinalPass() && (first < 0 || last > size || first >= last))
            Fail(ErrorKind::Model, "Slice takes the elements ", m_begin, " to ", end - 1,
                 " (counted from 0) of dimension ", axis + 1, ", but ", DescribeShape(*Input(0)), " has ", size,
                 " there");
        TensorShape shape = x;
        shape.SetDim(axis, size_t(std::max<int64_t>(last - first, 0)));
        SetShape(shape, Input(0)->GetMBLayout());
        m_below = ElementsBelow(x, axis);
        m_first = size_t(std::max<int64_t>(first, 0)) * m_below;
        m_rows = size_t(size) * m_below;
    }

    void ForwardProp(const FrameRange& range) override { Ops::Copy(Part(Input(0)->Value(range)), Whole(Value(range))); }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const MatrixView gradient = Whole(Gradient(range));
        const MatrixView inputGradient = InputGradient(input, range);
        if (GradientBeta(input) != 0)
            return Ops::Elementwise(Op::Copy, gradient, Part(inputGradient), 1, 1);
        const MatrixView blocks = Blocks(inputGradient);
        const size_t end = m_first + gradient.rows;
        if (m_first > 0)
            Ops::Fill(blocks.Rows(0, m_first), 0);
        if (end < m_rows)
            Ops::Fill(blocks.Rows(end, m_rows - end), 0);
        Ops::Copy(gradient, Part(inputGradient));
    }

    void SerializeFields(ModelArchive& archive) override
    {
        if (archive.Version() < 3)
        {
            uint64_t begin = 0, length = 0;
            archive.Field(begin);
            archive.Field(length);
            m_begin = int64_t(begin);
            m_length = int64_t(length);
            m_axis = c_rowsOfOldFile;
            return;
        }
        archive.Field(m_begin);
        archive.Field(m_length);
        int32_t axis = std::max(m_axis, 1);
        archive.Field(axis);
        CheckLoadedAxis(archive, axis);
        m_axis = axis;
    }

    void SetParameters(const NodeParameters& parameters) override
    {
        m_begin = parameters.Integer("startRow", 0);
        m_length = parameters.Integer("numRows", 1);
        m_axis = AxisParameter(parameters, "axis", 1);
        if (m_begin < 0)
            Fail(ErrorKind::Config, "parameter 'startRow' is ", m_begin, "; expected 0 or more");
        if (m_length < 1)
            Fail(ErrorKind::Config, "parameter 'numRows' is ", m_length, "; expected 1 or more");
    }

private:
    static constexpr int32_t c_rowsOfOldFile = 0;

    // Finds the axis for files before version 3, which count rows of the minibatch's matrix regardless of the sample's
    // dimensions.
    void FindAxisOfRows()
    {
        const TensorShape x = Input(0)->SampleLayout().WithoutTrailingOnes();
        m_axis = 1;
        if (!Input(0)->HasMBLayout() || x.Rank() < 2)
            return;
        const int64_t below = int64_t(ElementsBelow(x, x.Rank() - 1));
        if (m_begin % below != 0 || m_length % below != 0)
            Fail(ErrorKind::Model, "RowSlice of an old model file takes the rows ", m_begin, " to ",
                 m_begin + m_length - 1, " of ", DescribeShape(*Input(0)), ", which are no slice along a dimension");
        m_begin /= below;
        m_length /= below;
        m_axis = int32_t(x.Rank());
    }

    // Views the input as [elements of the sliced axis and below it x everything above].
    MatrixView Blocks(const MatrixView& input) const { return Reshaped(input, m_rows, input.Elements() / m_rows); }
    MatrixView Part(const MatrixView& input) const
    {
        return Blocks(input).Rows(m_first, SampleLayout()[size_t(m_axis) - 1] * m_below);
    }
    MatrixView Whole(const MatrixView& value) const
    {
        const size_t rows = SampleLayout()[size_t(m_axis) - 1] * m_below;
        return Reshaped(value, rows, value.Elements() / rows);
    }

    int64_t m_begin = 0;
    int64_t m_length = 1;
    int32_t m_axis = 1;
    size_t m_below = 1; // number of elements of the dimensions below the axis
    size_t m_first = 0; // elements before the slice, in a block
    size_t m_rows = 1;  // rows of a block of the input
};

// Exchanges two dimensions of each sample, or of a parameter.
class TransposeDimensionsNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        const TensorShape& x = Input(0)->SampleLayout();
        const size_t a = size_t(m_axis1) - 1, b = size_t(m_axis2) - 1;
        m_rank = std::max({x.Rank(), a + 1, b + 1});
        TensorShape shape = x.Padded(m_rank);
        shape.SetDim(a, x[b]);
        shape.SetDim(b, x[a]);
        SetShape(shape, Input(0)->GetMBLayout());
    }

    void ForwardProp(const FrameRange& range) override
    {
        Ops::Elementwise(Op::Copy, Swapped(Input(0)->ValueTensor(m_rank, range)), ValueTensor(m_rank, range));
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const TensorView inputGradient = TensorView::OfSamples(
            InputGradient(input, range), Input(input)->SampleLayout(), m_rank, Input(input)->HasMBLayout());
        Ops::Elementwise(Op::Copy, GradientTensor(m_rank, range), Swapped(inputGradient), 1, GradientBeta(input));
    }

    void SerializeFields(ModelArchive& archive) override
    {
        if (archive.Version() >= 3)
        {
            archive.Field(m_axis1);
            archive.Field(m_axis2);
        }
        CheckLoadedAxis(archive, m_axis1);
        CheckLoadedAxis(archive, m_axis2);
    }
    void SetParameters(const NodeParameters& parameters) override
    {
        m_axis1 = AxisParameter(parameters, "axis1", 1);
        m_axis2 = AxisParameter(parameters, "axis2", 2);
    }

private:
    TensorView Swapped(TensorView view) const
    {
        std::swap(view.dims[size_t(m_axis1) - 1], view.dims[size_t(m_axis2) - 1]);
        std::swap(view.strides[size_t(m_axis1) - 1], view.strides[size_t(m_axis2) - 1]);
        return view;
    }

    int32_t m_axis1 = 1;
    int32_t m_axis2 = 2;
    size_t m_rank = 2;
};

// Returns the diagonal of a square matrix as a row.
class DiagonalNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        const TensorShape& x = Input(0)->SampleLayout();
        if (inference.IsFinalPass() && (Input(0)->HasMBLayout() || x.MatrixRows() != x.MatrixColumns()))
            Fail(ErrorKind::Model, "Diagonal takes a square matrix that is the same for all samples, but its input is ",
                 DescribeShape(*Input(0)), Input(0)->HasMBLayout() ? " for each sample" : "");
        SetShape(TensorShape{1, x.MatrixRows()}, Input(0)->GetMBLayout());
    }

    void ForwardProp(const FrameRange& range) override { Ops::Copy(Diagonal(Input(0)->Value(range)), Value(range)); }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        Ops::Elementwise(Op::Copy, Gradient(range), Diagonal(InputGradient(input, range)), 1, 1);
    }

private:
    static MatrixView Diagonal(MatrixView matrix)
    {
        matrix.rows = 1;
        matrix.stride++;
        return matrix;
    }
};

using namespace Samples;

} // namespace

void RegisterShapeNodes(NodeRegistry& registry)
{
    registry.Add<SliceNode>(
        {.name = "Slice",
         .aliases = {"RowSlice"},
         .doc = "The rows startRow to startRow+numRows-1 (counted from 0) of each sample, or that part of another "
                "dimension.",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = c_readsGradientsOnly,
         .parameters = {Positional("startRow", ParameterKind::Integer, "the first row, counted from 0"),
                        Positional("numRows", ParameterKind::Integer, "how many rows"),
                        Option("axis", ParameterKind::Integer, "1", "the dimension that is sliced, counted from 1")},
         .samples = {Case({Data({5})}, {{"startRow", "1"}, {"numRows", "3"}}),
                     Case({Parameter({5, 3})}, {{"startRow", "0"}, {"numRows", "2"}}),
                     Case({Data({4})}, {{"startRow", "0"}, {"numRows", "4"}}),
                     Case({Data({2, 4, 3})}, {{"startRow", "1"}, {"numRows", "2"}, {"axis", "2"}}),
                     Case({Parameter({2, 4, 3})}, {{"startRow", "2"}, {"numRows", "1"}, {"axis", "3"}})},
         .bookSection = "4.1.4.12",
         .create = {}});
    registry.Add<TransposeDimensionsNode>(
        {.name = "TransposeDimensions",
         .aliases = {"Transpose"},
         .doc = "Two dimensions of each sample, or of a parameter, change places: x' for a matrix.",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = c_readsGradientsOnly,
         .parameters = {Option("axis1", ParameterKind::Integer, "1", "one dimension, counted from 1"),
                        Option("axis2", ParameterKind::Integer, "2", "the other one")},
         .samples = {Case({Parameter({3, 2})}), Case({Data({3, 2})}), Case({Data({4})}),
                     Case({Data({2, 3, 4})}, {{"axis1", "3"}, {"axis2", "1"}}),
                     Case({Parameter({2, 3, 2})}, {{"axis1", "2"}, {"axis2", "3"}})},
         .bookSection = "",
         .create = {}});
    NodeTraits adds = c_readsGradientsOnly;
    adds.backpropOverwrites = false;
    registry.Add<DiagonalNode>({.name = "Diagonal",
                                .aliases = {},
                                .doc = "The diagonal of a square matrix, as a row.",
                                .inputs = {1, 1},
                                .inputNames = {"X"},
                                .traits = adds,
                                .parameters = {},
                                .samples = {Case({Parameter({3, 3})}), Case({Parameter({1, 1})})},
                                .bookSection = "",
                                .create = {}});
}

} // namespace cntk
