// Nodes that select, permute or reinterpret the dimensions of a sample: Slice, TransposeDimensions, Diagonal, Reshape,
// LegacyReshape; and ReconcileDynamicAxis, which changes the layout.
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

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
                        Option("axis", ParameterKind::Integer, "1", "the sliced dimension, counted from 1")},
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

namespace
{

using Op = ElementwiseOp;

// Replaces dimensions begin..end-1 of each sample (counted from 1; 0: from the first, or to the last) by others. One of
// the new dimensions may be 0 and follows from the rest.
class ReshapeNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        const TensorShape& x = Input(0)->SampleLayout();
        const size_t begin = m_begin > 0 ? size_t(m_begin) - 1 : 0;
        const size_t end = m_end > 0 ? size_t(m_end) - 1 : x.Rank();
        if (begin > end || end > x.Rank())
        {
            if (inference.IsFinalPass())
                Fail(ErrorKind::Model, "Reshape replaces the dimensions ", begin + 1, " to ", end, ", but ",
                     DescribeShape(*Input(0)), " has ", x.Rank());
            return;
        }
        size_t replaced = 1, given = 1, unknowns = 0;
        for (size_t axis = begin; axis < end; axis++)
            replaced *= x[axis];
        for (const size_t dim : m_shape.Dims())
        {
            given *= dim == 0 ? 1 : dim;
            unknowns += dim == 0;
        }
        const bool fits = unknowns == 0 ? given == replaced : unknowns == 1 && given > 0 && replaced % given == 0;
        const size_t rank = begin + m_shape.Rank() + x.Rank() - end;
        if (!fits || rank > TensorShape::c_maxRank)
        {
            if (inference.IsFinalPass())
                Fail(ErrorKind::Model, "Reshape cannot make [", m_shape.ToString(), "] of dimensions ", begin + 1,
                     " to ", end, " of ", DescribeShape(*Input(0)), ": they have ", Counted(replaced, "element"));
            return;
        }
        TensorShape shape;
        const auto append = [&](size_t dim) { shape.SetDim(shape.Rank(), dim); };
        for (size_t axis = 0; axis < begin; axis++)
            append(x[axis]);
        for (const size_t dim : m_shape.Dims())
            append(dim == 0 ? replaced / given : dim);
        for (size_t axis = end; axis < x.Rank(); axis++)
            append(x[axis]);
        SetShape(shape, Input(0)->GetMBLayout());
    }

    void ForwardProp(const FrameRange& range) override { Ops::Copy(Input(0)->Value(range), LikeInput(Value(range))); }
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        Ops::Elementwise(Op::Copy, LikeInput(Gradient(range)), InputGradient(input, range), 1, GradientBeta(input));
    }
    void SerializeFields(ModelArchive& archive) override;
    void SetParameters(const NodeParameters& parameters) override;

private:
    MatrixView LikeInput(const MatrixView& own) const
    {
        return HasMBLayout() ? own : Reshaped(own, Input(0)->ValueRows(), Input(0)->ValueColumns());
    }

    int32_t m_begin = 0;
    int32_t m_end = 0;
    TensorShape m_shape;
};

void ReshapeNode::SerializeFields(ModelArchive& archive)
{
    archive.Field(m_begin);
    archive.Field(m_end);
    archive.Shape(m_shape);
    if (archive.IsLoading() && (m_begin < 0 || m_end < 0))
        Fail(ErrorKind::Model, "the file replaces dimensions ", m_begin, " to ", m_end, "; expected numbers from 0");
}

// Parses a shape such as "3:4:5"; a 0 is allowed.
TensorShape ShapeParameter(const NodeParameters& parameters, const char* name)
{
    const std::string text = parameters.Text(name);
    TensorShape shape;
    for (const std::string_view part : Split(text, ':'))
    {
        const std::optional<long long> dim = ParseInteger(Trim(part));
        if (!dim || *dim < 0 || shape.Rank() == TensorShape::c_maxRank)
            Fail(ErrorKind::Config, "parameter '", name, "' is '", text, "'; expected up to ", TensorShape::c_maxRank,
                 " dimensions separated by colons, one of them 0 where it follows from the others");
        shape.SetDim(shape.Rank(), size_t(*dim));
    }
    return shape;
}

void ReshapeNode::SetParameters(const NodeParameters& parameters)
{
    const auto axis = [&](const char* name)
    {
        const long long value = parameters.Integer(name, 0);
        if (value < 0 || size_t(value) > TensorShape::c_maxRank + 1)
            Fail(ErrorKind::Config, "parameter '", name, "' is ", value, "; expected 0 to ",
                 TensorShape::c_maxRank + 1);
        return int32_t(value);
    };
    m_begin = axis("beginAxis");
    m_end = axis("endAxis");
    if (parameters.Has("dims"))
        m_shape = ShapeParameter(parameters, "dims");
}

// Changes the number of rows. With sequences, several frames become one, or one becomes several. In frame mode, and for
// parameters, the same memory is divided into columns of another length.
class LegacyReshapeNode final : public ComputationNode, public ImageSource
{
public:
    void InferShape(ShapeInference& inference) override;
    void ForwardProp(const FrameRange& range) override
    {
        if (IsCopy())
            return Ops::Copy(Input(0)->Value(range), LikeInput(Value(range)));
        Ops::Elementwise(Op::Copy, InputTensor(Input(0)->Value()), ValueTensorOf(Value()));
    }
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const double beta = GradientBeta(input);
        if (IsCopy())
            return Ops::Elementwise(Op::Copy, LikeInput(Gradient(range)), InputGradient(input, range), 1, beta);
        Ops::Elementwise(Op::Copy, ValueTensorOf(Gradient()), InputTensor(InputGradient(input, range)), 1, beta);
    }
    void SerializeFields(ModelArchive& archive) override;
    void SetParameters(const NodeParameters& parameters) override;
    bool ShowToWindow() override
    {
        m_isImage = m_isImage || IsOneRow();
        return m_isImage && SampleLayout().Rank() == 1;
    }

private:
    // Returns true if no frame moves: the same memory with other columns.
    bool IsCopy() const { return GetMBLayout() == Input(0)->GetMBLayout() || GetMBLayout()->IsFrameMode(); }
    MatrixView LikeInput(const MatrixView& own) const
    {
        const size_t rows = Input(0)->ValueRows();
        return Reshaped(own, rows, own.Elements() / rows);
    }

    // Both sides have the form [rows of the smaller frames, frames of a group, sequences, groups], with the strides of
    // their memory.
    size_t SmallRows() const { return std::min(Input(0)->ValueRows(), size_t(m_rows)); }
    size_t FramesOfGroup() const { return std::max(Input(0)->ValueRows(), size_t(m_rows)) / SmallRows(); }
    TensorView Groups(const MatrixView& view, bool isLarge) const
    {
        const size_t rows = SmallRows(), frames = FramesOfGroup();
        const size_t sequences = GetMBLayout()->ParallelSequences();
        const size_t groups = sequences == 0 ? 0 : view.Elements() / (rows * frames * sequences);
        if (isLarge)
            return StridedTensor(
                view, {{rows, 1}, {frames, rows}, {sequences, rows * frames}, {groups, rows * frames * sequences}});
        return StridedTensor(
            view, {{rows, 1}, {frames, rows * sequences}, {sequences, rows}, {groups, rows * frames * sequences}});
    }
    TensorView InputTensor(const MatrixView& view) const { return Groups(view, Input(0)->ValueRows() > m_rows); }
    TensorView ValueTensorOf(const MatrixView& view) const { return Groups(view, Input(0)->ValueRows() < m_rows); }

    // Returns true for a one-row grey image. Files store the same dimensions for no image.
    bool IsOneRow() const { return m_image == TensorShape{1, size_t(m_rows), 1}; }
    bool HasImage() const { return m_image.Elements() == m_rows && (m_isImage || !IsOneRow()); }

    uint64_t m_rows = 1;
    bool m_isImage = false; // the image has one row
    TensorShape m_image;    // [channels x width x height], or empty if unknown
};

void LegacyReshapeNode::InferShape(ShapeInference& inference)
{
    RequireDenseInputs(*this, inference);
    const ComputationNode& x = *Input(0);
    const size_t rows = x.ValueRows();
    TensorShape shape = HasImage() ? m_image : TensorShape{size_t(m_rows)};
    if (!x.HasMBLayout())
    {
        const size_t elements = x.SampleElements();
        if (inference.IsFinalPass() && elements % m_rows != 0)
            Fail(ErrorKind::Model, "Reshape to ", Counted(m_rows, "row"), ": ", DescribeShape(x), " has ",
                 Counted(elements, "element"), ", which is no multiple of that");
        if (elements != m_rows)
            shape = TensorShape{size_t(m_rows), elements / m_rows};
        return SetShape(shape, nullptr);
    }
    SetShape(shape,
             rows == m_rows || rows == 0 ? x.GetMBLayout() : inference.DerivedLayout(x.GetMBLayout(), rows, m_rows));
}

void LegacyReshapeNode::SerializeFields(ModelArchive& archive)
{
    archive.Field(m_rows);
    if (archive.IsLoading() && (m_rows == 0 || m_rows > INT32_MAX))
        Fail(ErrorKind::Model, "the number of rows is ", m_rows, "; expected 1 or more");
    if (archive.IsOldDialect())
    {
        uint64_t width = 0, height = 0, channels = 0;
        archive.Field(width);
        archive.Field(height);
        archive.Field(channels);
        m_image = TensorShape{size_t(channels), size_t(width), size_t(height)};
    }
    else
    {
        if (!archive.IsLoading() && m_image.Rank() == 0)
            m_image = TensorShape{1, size_t(m_rows), 1};
        archive.Shape(m_image, true);
    }
    // August 2015 stored zeros for no image. Written back as a shape, they would read as its older form.
    if (archive.IsLoading() && m_image.HasUnknown())
        m_image = TensorShape();
}

void LegacyReshapeNode::SetParameters(const NodeParameters& parameters)
{
    const auto number = [&](const char* name, long long least)
    {
        const long long value = parameters.Integer(name, least);
        if (value < least || value > INT32_MAX)
            Fail(ErrorKind::Config, "parameter '", name, "' is ", value, "; expected a whole number from ", least);
        return size_t(value);
    };
    m_rows = number("numRows", 1);
    size_t dims[3] = {number("imageChannels", 0), number("imageWidth", 0), number("imageHeight", 0)};
    const size_t known = size_t(std::count_if(dims, dims + 3, [](size_t dim) { return dim > 0; }));
    if (known == 0)
        return;
    size_t product = 1;
    for (const size_t dim : dims)
        product *= std::max<size_t>(dim, 1);
    if (known == 2 && m_rows % product == 0)
        *std::find(dims, dims + 3, size_t(0)) = m_rows / product;
    else if (known != 3 || product != m_rows)
        Fail(ErrorKind::Config, "an image of imageWidth=", dims[1], ", imageHeight=", dims[2],
             " and imageChannels=", dims[0], " does not have ", Counted(m_rows, "element"),
             "; give two or three numbers whose product is numRows, or "
             "goes into it");
    const std::string layout = parameters.Text("imageLayout", "HWC");
    if (EqualsIgnoreCase(layout, "HWC") || EqualsIgnoreCase(layout, "legacy"))
        m_image = TensorShape{dims[0], dims[1], dims[2]};
    else if (EqualsIgnoreCase(layout, "CHW") || EqualsIgnoreCase(layout, "cudnn"))
        m_image = TensorShape{dims[1], dims[2], dims[0]};
    else
        Fail(ErrorKind::Config, "parameter 'imageLayout' is '", layout, "'; expected HWC (legacy) or CHW (cudnn)");
}

size_t LengthOf(const MBLayout& layout, size_t id)
{
    if (layout.IsFrameMode())
        return id < layout.Columns() ? 1 : 0;
    for (const SequenceInfo& sequence : layout.Sequences())
        if (sequence.id == id)
            return size_t(sequence.end - sequence.begin);
    return 0;
}

// Describes the first sequence whose length differs between the nodes.
std::string DifferentSequence(const ComputationNode& a, const ComputationNode& b)
{
    const MBLayout &ours = *a.GetMBLayout(), &theirs = *b.GetMBLayout();
    for (size_t id = 0; id < std::max(ours.Columns(), theirs.Columns()); id++)
        if (const size_t length = LengthOf(ours, id), other = LengthOf(theirs, id); length != other)
            return Concat(": sequence ", id, " has ", Counted(length, "sample"), " of '", a.Name(), "' and ", other,
                          " of '", b.Name(), "'");
    return "";
}

// Gives x the layout of another node, which must be equal: nodes with equal but separate layouts cannot be combined.
class ReconcileDynamicAxisNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInput(*this, 0, inference);
        if (inference.IsFinalPass() && Input(0)->HasMBLayout() != Input(1)->HasMBLayout())
            Fail(ErrorKind::Model, TypeName(), "(", DescribeShape(*Input(0)), ", ", DescribeShape(*Input(1)),
                 "): only one of them changes with the samples");
        SetShape(Input(0)->SampleLayout(), Input(1)->GetMBLayout());
    }
    void BeginForwardProp() override
    {
        const MBLayoutPtr& a = Input(0)->GetMBLayout();
        const MBLayoutPtr& b = Input(1)->GetMBLayout();
        if (a && b && a != b && !(*a == *b))
            Fail(ErrorKind::Data, TypeName(), " '", Name(), "': the minibatch layouts of '", Input(0)->Name(),
                 "' and '", Input(1)->Name(), "' differ", DifferentSequence(*Input(0), *Input(1)),
                 "; expected the same sequences of the same lengths");
    }
    void ForwardProp(const FrameRange& range) override { Ops::Copy(Input(0)->Value(range), Value(range)); }
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        if (input == 0)
            Ops::Elementwise(Op::Copy, Gradient(range), InputGradient(input, range), 1, GradientBeta(input));
    }
};

using namespace Samples;

} // namespace

void RegisterReshapeNodes(NodeRegistry& registry)
{
    const NodeTraits traits = {.backpropReadsInputs = false, .backpropReadsOutput = false, .backpropOverwrites = true};
    registry.Add<ReshapeNode>(
        {.name = "Reshape",
         .aliases = {},
         .doc =
             "v = the elements of x in memory order (the first dimension runs fastest). dims replaces the dimensions "
             "beginAxis to endAxis-1 of each sample.",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = traits,
         .parameters = {Option("dims", ParameterKind::Shape, "",
                               "the new dimensions, {3, 4, 5}; one may be 0 and follows from the others"),
                        Option("beginAxis", ParameterKind::Integer, "0",
                               "the first dimension replaced, counted from 1; 0: the first"),
                        Option("endAxis", ParameterKind::Integer, "0",
                               "the dimension after the last one replaced; 0: replaces all up to the last")},
         .samples = {Case({Data({6})}, {{"dims", "2:3"}}), Case({Data({2, 6})}, {{"dims", "4:0"}}),
                     Case({Data({2, 6, 2})}, {{"dims", "3:2"}, {"beginAxis", "2"}, {"endAxis", "3"}}),
                     Case({Parameter({4, 3})}, {{"dims", "2:6"}})},
         .bookSection = "",
         .create = {}});
    registry.Add<LegacyReshapeNode>(
        {.name = "LegacyReshape",
         .aliases = {},
         .doc = "v = the elements of x in memory order (column after column), in columns of numRows elements. A "
                "parameter of R x C becomes one of numRows x R*C/numRows. For data with R rows, numRows = R keeps the "
                "samples, which may get the dimensions of an image. numRows = K*R stacks K successive samples of a "
                "sequence into one. numRows = R/K splits each sample into K samples.",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = traits,
         .parameters =
             {Positional("numRows", ParameterKind::Integer, "rows of the result"),
              Option(
                  "imageWidth", ParameterKind::Integer, "0",
                  "width of the image in each column; one of width, height and channels, or all three, may be omitted"),
              Option("imageHeight", ParameterKind::Integer, "0", "height of the image"),
              Option("imageChannels", ParameterKind::Integer, "0", "number of channels of the image"),
              Option("imageLayout", ParameterKind::Text, "HWC", "HWC (channels first in memory) or CHW")},
         .samples = {Case({Data({4})}, {{"numRows", "4"}}), Case({Data({6})}, {{"numRows", "2"}}),
                     Case({Parameter({4, 3})}, {{"numRows", "6"}}),
                     Case({Data({8})}, {{"numRows", "8"}, {"imageWidth", "2"}, {"imageHeight", "2"}}),
                     Case({Data({2, 2})}, {{"numRows", "1"}})},
         .bookSection = "4.1.4.11",
         .create = {}});
    NodeTraits adds = traits;
    adds.backpropOverwrites = false;
    registry.Add<ReconcileDynamicAxisNode>(
        {.name = "ReconcileDynamicAxis",
         .aliases = {"ReconcileMBLayout"},
         .doc = "v = x with the minibatch layout of a second input, which must be equal to that of x.",
         .inputs = {2, 2},
         .inputNames = {"x", "layout"},
         .traits = adds,
         .parameters = {},
         .samples = {Case({Data({3}), NotChecked(Data({2}))}), Case({Data({3}), SparseData({2})}),
                     Case({Parameter({3, 2}), NotChecked(Parameter({2, 1}))})},
         .bookSection = "",
         .create = {}});
}

} // namespace cntk
