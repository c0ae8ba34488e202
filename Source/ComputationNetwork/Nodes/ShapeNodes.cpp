// Parts, stacks and permutations of the dimensions of a sample: Slice, RowStack, RowRepeat, TransposeDimensions,
// Diagonal.
#include "Common/Error.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>

namespace cntk
{

namespace
{

using Op = ElementwiseOp;

size_t ElementsBelow(const TensorShape& shape, size_t axis)
{
    size_t elements = 1;
    for (size_t below = 0; below < axis; below++)
        elements *= shape[below];
    return elements;
}

// A number of an axis as users and files count them, from 1.
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

// The elements begin..end-1 of one axis; the others stay. Negative numbers count from the end, an end of 0 is the end.
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

    // Files before version 3 mean rows of the minibatch's matrix, whatever the sample's dimensions are.
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

    // [elements of the sliced axis and below it x everything above]
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
    size_t m_below = 1; // elements of the dimensions below the axis
    size_t m_first = 0; // elements before the slice, in a block
    size_t m_rows = 1;  // of a block of the input
};

// The inputs one after another along one axis. Other dimensions of 1, and parameters over all samples, are repeated.
class RowStackNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        m_isFlat = StacksVectorsOfOldFile();
        const size_t axis = m_isFlat ? 0 : size_t(m_axis) - 1;
        m_rank = axis + 1;
        if (!m_isFlat)
            for (const ComputationNodePtr& input : Inputs())
                m_rank = std::max(m_rank, input->SampleLayout().Rank());
        TensorShape shape = ShapeOf(0).Padded(m_rank);
        for (size_t i = 1; i < InputCount(); i++)
        {
            const TensorShape x = ShapeOf(i);
            for (size_t other = 0; other < m_rank; other++)
            {
                if (other == axis)
                    continue;
                if (inference.IsFinalPass() && x[other] != shape[other] && x[other] != 1 && shape[other] != 1)
                    Fail(ErrorKind::Model, "RowStack cannot stack ", DescribeShape(*Input(0)), " and ",
                         DescribeShape(*Input(i)), " along dimension ", axis + 1, ": dimension ", other + 1, " is ",
                         shape[other], " in one and ", x[other], " in the other; expected equal sizes, or 1 in one");
                shape.SetDim(other, std::max(x[other], shape[other]));
            }
        }
        m_firsts.assign(1, 0);
        bool isKnown = true;
        for (size_t i = 0; i < InputCount(); i++)
        {
            isKnown = isKnown && ShapeOf(i)[axis] != 0;
            m_firsts.push_back(m_firsts.back() + ShapeOf(i)[axis]);
        }
        shape.SetDim(axis, isKnown ? m_firsts.back() : 0);
        SetShape(shape, CommonLayoutOfInputs(inference));
        m_below = ElementsBelow(shape, axis);
        m_isPlain.assign(InputCount(), false);
        for (size_t i = 0; i < InputCount(); i++)
        {
            TensorShape same = shape;
            same.SetDim(axis, ShapeOf(i)[axis]);
            m_isPlain[i] = same == ShapeOf(i).Padded(m_rank) && Input(i)->GetMBLayout() == GetMBLayout();
        }
    }

    void ForwardProp(const FrameRange& range) override
    {
        const MatrixView output = Value(range);
        for (size_t i = 0; i < InputCount(); i++)
        {
            const MatrixView x = Input(i)->Value(range);
            if (m_isPlain[i])
                Ops::Copy(Whole(i, x), Part(i, output));
            else
                Ops::Elementwise(Op::Copy, InputTensor(i, x), PartTensor(i, output));
        }
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const double beta = GradientBeta(input);
        const MatrixView gradient = Gradient(range);
        const MatrixView inputGradient = InputGradient(input, range);
        if (m_isPlain[input])
        {
            if (beta == 0)
                return Ops::Copy(Part(input, gradient), Whole(input, inputGradient));
            return Ops::Elementwise(Op::Copy, Part(input, gradient), Whole(input, inputGradient), 1, beta);
        }
        if (!SumsOverSamples(*this, input) || ColumnMask(range).empty())
            return Ops::Elementwise(Op::Copy, PartTensor(input, gradient), InputTensor(input, inputGradient), 1, beta);
        if (beta == 0)
            Ops::Fill(inputGradient, 0);
        ForEachDataStretch(ColumnMask(range), gradient.columns,
                           [&](size_t first, size_t count)
                           {
                               Ops::Elementwise(Op::Copy, PartTensor(input, gradient.Columns(first, count)),
                                                InputTensor(input, inputGradient), 1, 1);
                           });
    }

    void SerializeFields(ModelArchive& archive) override
    {
        if (archive.Version() >= 3)
            archive.Field(m_axis);
        CheckLoadedAxis(archive, m_axis);
    }
    void SetParameters(const NodeParameters& parameters) override { m_axis = AxisParameter(parameters, "axis", 1); }

private:
    // Inputs of August 2015 are [1 x 1 x rows], computed values [rows]: stacked along the first axis they do not fit,
    // but all of them are vectors.
    bool StacksVectorsOfOldFile() const
    {
        if (m_axis != 1)
            return false;
        bool hasLeadingOnes = false;
        for (const ComputationNodePtr& input : Inputs())
        {
            const TensorShape x = input->SampleLayout().WithoutTrailingOnes();
            if (!input->HasMBLayout() || x.HasUnknown() || ElementsBelow(x, std::max<size_t>(x.Rank(), 1) - 1) != 1)
                return false;
            hasLeadingOnes = hasLeadingOnes || x.Rank() > 1;
        }
        return hasLeadingOnes;
    }

    TensorShape ShapeOf(size_t input) const
    {
        const TensorShape& x = Input(input)->SampleLayout();
        return m_isFlat ? TensorShape{x.Elements()} : x;
    }

    size_t RowsOf(size_t input) const { return (m_firsts[input + 1] - m_firsts[input]) * m_below; }
    // An input that fits: [its elements of the axis and below x everything above], and its place in the output.
    MatrixView Whole(size_t input, const MatrixView& x) const
    {
        return Reshaped(x, RowsOf(input), x.Elements() / RowsOf(input));
    }
    MatrixView Part(size_t input, const MatrixView& output) const
    {
        const size_t rows = m_firsts.back() * m_below;
        return Reshaped(output, rows, output.Elements() / rows).Rows(m_firsts[input] * m_below, RowsOf(input));
    }
    // The same for inputs of which something is repeated.
    TensorView InputTensor(size_t input, const MatrixView& x) const
    {
        return TensorView::OfSamples(x, ShapeOf(input), m_rank, Input(input)->HasMBLayout());
    }
    TensorView PartTensor(size_t input, const MatrixView& output) const
    {
        const size_t axis = m_isFlat ? 0 : size_t(m_axis) - 1;
        TensorView view = TensorView::OfSamples(output, SampleLayout(), m_rank, HasMBLayout());
        view.data = static_cast<std::byte*>(view.data) + m_firsts[input] * m_below * SizeOf(view.type);
        view.dims[axis] = m_firsts[input + 1] - m_firsts[input];
        return view;
    }

    int32_t m_axis = 1;
    bool m_isFlat = false;
    size_t m_rank = 1;
    size_t m_below = 1;
    std::vector<size_t> m_firsts; // along the axis, for each input; then the sum
    std::vector<bool> m_isPlain;  // nothing of the input is repeated
};

// The sample n times, along its last dimension.
class RowRepeatNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        TensorShape shape = Input(0)->SampleLayout();
        const size_t last = std::max<size_t>(shape.Rank(), 1) - 1;
        shape.SetDim(last, shape[last] * size_t(m_count));
        SetShape(shape, Input(0)->GetMBLayout());
    }

    void ForwardProp(const FrameRange& range) override
    {
        Ops::Elementwise(Op::Copy, Repeated(Input(0)->Value(range), 1), Repeated(Value(range), size_t(m_count)));
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        Ops::Elementwise(Op::Copy, Repeated(Gradient(range), size_t(m_count)), Repeated(InputGradient(input, range), 1),
                         1, GradientBeta(input));
    }

    void SerializeFields(ModelArchive& archive) override
    {
        archive.Field(m_count);
        if (archive.IsLoading() && m_count == 0)
            Fail(ErrorKind::Model, "the number of repetitions is 0; expected 1 or more");
    }
    void SetParameters(const NodeParameters& parameters) override
    {
        const long long count = parameters.Integer("numRepeats", 1);
        if (count < 1)
            Fail(ErrorKind::Config, "parameter 'numRepeats' is ", count, "; expected 1 or more");
        m_count = uint64_t(count);
    }

private:
    // [elements of the input's sample x count x samples]
    TensorView Repeated(const MatrixView& view, size_t count) const
    {
        const size_t elements = Input(0)->SampleElements();
        return StridedTensor(
            view, {{elements, 1}, {count, elements}, {view.Elements() / (elements * count), elements * count}});
    }

    uint64_t m_count = 1;
};

// Two dimensions of each sample, or of a parameter, change places.
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

// The diagonal of a square matrix as a row.
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

const NodeTraits& ReadsGradientsOnly()
{
    static const NodeTraits traits = {
        .backpropReadsInputs = false, .backpropReadsOutput = false, .backpropOverwrites = true};
    return traits;
}

void RegisterParts(NodeRegistry& registry)
{
    registry.Add<SliceNode>(
        {.name = "Slice",
         .aliases = {"RowSlice"},
         .doc = "The rows startRow to startRow+numRows-1 (counted from 0) of each sample, or that part of another "
                "dimension.",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = ReadsGradientsOnly(),
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
    registry.Add<RowStackNode>(
        {.name = "RowStack",
         .aliases = {"Parallel"},
         .doc = "The rows of all inputs below one another; along another dimension with axis. Other dimensions are "
                "equal, or 1 and repeated, as a parameter is over all samples.",
         .inputs = {1, Arity::c_any},
         .inputNames = {"x"},
         .traits = ReadsGradientsOnly(),
         .parameters = {Option("axis", ParameterKind::Integer, "1", "the dimension that grows, counted from 1")},
         .samples = {Case({Data({2}), Data({3})}), Case({Data({2}), Data({1}), Data({4})}),
                     Case({Parameter({2, 3}), Parameter({1, 3})}), Case({Data({2}), Parameter({3})}),
                     Case({Data({2, 3}), Data({4, 1})}), Case({Data({2, 3}), Data({2, 2})}, {{"axis", "2"}}),
                     Case({Parameter({2, 1}), Data({2, 2})}, {{"axis", "2"}}), Case({Data({3})})},
         .bookSection = "4.1.4.13",
         .create = {}});
    registry.Add<RowRepeatNode>(
        {.name = "RowRepeat",
         .aliases = {},
         .doc = "v = numRepeats copies of x below one another: v_(i + k*rows(x)) = x_i for k = 0 to numRepeats-1. Of a "
                "tensor, and of a matrix parameter, the last dimension is repeated: its columns.",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = ReadsGradientsOnly(),
         .parameters = {Positional("numRepeats", ParameterKind::Integer, "number of copies; 1 or more")},
         .samples = {Case({Data({3})}, {{"numRepeats", "2"}}), Case({Parameter({3, 2})}, {{"numRepeats", "3"}}),
                     Case({Data({2, 2})}, {{"numRepeats", "1"}}), Case({Data({2, 3})}, {{"numRepeats", "4"}})},
         .bookSection = "",
         .create = {}});
}

} // namespace

void RegisterShapeNodes(NodeRegistry& registry)
{
    RegisterParts(registry);
    registry.Add<TransposeDimensionsNode>(
        {.name = "TransposeDimensions",
         .aliases = {"Transpose"},
         .doc = "Two dimensions of each sample, or of a parameter, change places: x' for a matrix.",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = ReadsGradientsOnly(),
         .parameters = {Option("axis1", ParameterKind::Integer, "1", "one dimension, counted from 1"),
                        Option("axis2", ParameterKind::Integer, "2", "the other one")},
         .samples = {Case({Parameter({3, 2})}), Case({Data({3, 2})}), Case({Data({4})}),
                     Case({Data({2, 3, 4})}, {{"axis1", "3"}, {"axis2", "1"}}),
                     Case({Parameter({2, 3, 2})}, {{"axis1", "2"}, {"axis2", "3"}})},
         .bookSection = "",
         .create = {}});
    NodeTraits adds = ReadsGradientsOnly();
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
