// Matrix products: Times, TransposeTimes, DiagTimes, StrideTimes.
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "Math/Products.h"

#include <algorithm>
#include <utility>

namespace cntk
{

namespace
{

using Ops::Transpose;

Transpose Opposite(Transpose transpose)
{
    return transpose == Transpose::No ? Transpose::Yes : Transpose::No;
}

// Computes v = A B with A [O1..Or x J1..Jk], B [J1..Jk x rest] and v [O1..Or x rest]; or v = A' B with A [J x O].
// Operates on matrices [outputs x inner] and [inner x rest * columns].
class TimesNode final : public ComputationNode, public BackpropByProducts
{
public:
    explicit TimesNode(Transpose transposeLeft) : m_transposeLeft(transposeLeft) {}

    void InferShape(ShapeInference& inference) override;
    void ForwardProp(const FrameRange& range) override;
    void BackpropTo(size_t input, const FrameRange& range) override;
    bool ListBackprop(size_t input, std::vector<Product>& products) override;
    std::vector<TemporarySpec> Temporaries() const override;
    void SerializeFields(ModelArchive& archive) override;
    void SetParameters(const NodeParameters& parameters) override;

private:
    bool IsTransposed() const { return m_transposeLeft == Transpose::Yes; }
    void InferTransposedShape(ShapeInference& inference);
    void InferUnknownColumns();
    TensorShape InferOutputs(ShapeInference& inference);
    [[noreturn]] void FailInner(size_t left, size_t right) const;

    // Views the left operand, its value or gradient, as the matrix of the product.
    MatrixView Left(const MatrixView& view) const
    {
        return IsTransposed() ? Reshaped(view, m_inner, m_outputs) : Reshaped(view, m_outputs, m_inner);
    }
    MatrixView Right(const MatrixView& view) const { return Reshaped(view, m_inner, view.Elements() / m_inner); }
    // Views the output. Merged products of a loop have rows of a larger matrix.
    MatrixView Output(const MatrixView& view) const
    {
        return view.rows == m_outputs ? view : Reshaped(view, m_outputs, view.Elements() / m_outputs);
    }
    // Returns one sample of a value; the whole value of a node without a layout.
    static MatrixView SampleOf(const ComputationNode& node, const MatrixView& view, size_t column)
    {
        return node.HasMBLayout() ? view.Columns(column, 1) : view;
    }

    Product LeftGradient(const MatrixView& gradient, const MatrixView& right, const MatrixView& left,
                         double beta) const;
    Product SharedLeftGradient(const FrameRange& range);
    void AddSparseLeftGradient(const FrameRange& range);
    void AddGradientBySample(size_t input, const FrameRange& range);
    void ZeroGapsOfGradient(const FrameRange& range) const;

    Transpose m_transposeLeft;
    uint64_t m_outputRank = 1;
    int32_t m_inputRankInference = -1; // stored only, for files of version 12 and later
    size_t m_outputs = 1;
    size_t m_inner = 1;
    size_t m_rest = 1;
};

// ---- shapes ----

TensorShape WithoutOnes(const TensorShape& shape)
{
    TensorShape result;
    for (size_t axis = 0; axis < shape.Rank(); axis++)
        if (shape[axis] != 1)
            result.SetDim(result.Rank(), shape[axis]);
    return result;
}

void TimesNode::FailInner(size_t left, size_t right) const
{
    Fail(ErrorKind::Model, "the inner dimensions of ", TypeName(), "(", DescribeShape(*Input(0)), ", ",
         DescribeShape(*Input(1)), ") disagree: the left operand has ",
         Counted(left, IsTransposed() ? "row" : "column"), ", the right one ", Counted(right, "row"));
}

// Infers a plain matrix' unknown columns from all of a sample's elements: [M x 0] times [1 x 1 x N] becomes [M x 1 x 1
// x N]. Treats a matrix with as many columns as the sample has elements (a file of August 2015) in the same way.
void TimesNode::InferUnknownColumns()
{
    const TensorShape& a = Input(0)->SampleLayout();
    const TensorShape& b = Input(1)->SampleLayout();
    auto* parameter = As<LearnableParameterNode>(Input(0).get());
    if (parameter == nullptr || b.HasUnknown())
        return;
    const size_t rank = size_t(m_outputRank);
    TensorShape shape = a;
    if (a.Rank() == rank + 1 && a[rank] != b[0] && (a[rank] == 0 || a[rank] == b.Elements()))
    {
        const TensorShape inner = b.WithoutTrailingOnes();
        if (rank + inner.Rank() > TensorShape::c_maxRank)
            return;
        shape.SetDim(rank, b[0]);
        for (size_t axis = 1; axis < inner.Rank(); axis++)
            shape.SetDim(rank + axis, inner[axis]);
    }
    else
        for (size_t axis = rank; axis < a.Rank(); axis++)
            if (a[axis] == 0)
                shape.SetDim(axis, b[axis - rank]);
    if (!(shape == a))
        parameter->SetParameterShape(shape);
}

// Sets m_inner and returns the output's dimensions that come from the right operand.
TensorShape TimesNode::InferOutputs(ShapeInference& inference)
{
    InferUnknownColumns();
    const TensorShape& a = Input(0)->SampleLayout();
    const TensorShape& b = Input(1)->SampleLayout();
    const size_t rank = size_t(m_outputRank);
    if (a.Rank() < rank)
    {
        if (inference.IsFinalPass())
            Fail(ErrorKind::Model, "Times with outputRank=", rank, " needs a left operand of at least as many ",
                 "dimensions, but ", DescribeShape(*Input(0)), " has ", a.Rank());
        return {};
    }
    m_outputs = 1;
    for (size_t axis = 0; axis < rank; axis++)
        m_outputs *= a[axis];
    m_inner = 1;
    bool matches = true;
    for (size_t axis = rank; axis < a.Rank(); axis++)
    {
        m_inner *= a[axis];
        matches = matches && a[axis] == b[axis - rank];
    }
    TensorShape rest;
    if (matches)
        for (size_t axis = a.Rank() - rank; axis < b.Rank(); axis++)
            rest.SetDim(rest.Rank(), b[axis]);
    else if (inference.IsFinalPass())
    {
        if (a.Rank() == rank + 1 && m_inner != b.Elements())
            FailInner(m_inner, b[0]);
        // A tensor accepts a vector with the same number of elements, in their order, but not a tensor of another
        // shape.
        TensorShape inner;
        for (size_t axis = rank; axis < a.Rank(); axis++)
            inner.SetDim(axis - rank, a[axis]);
        const TensorShape left = WithoutOnes(inner), right = WithoutOnes(b);
        if (m_inner != b.Elements() || (left.Rank() > 1 && right.Rank() > 1 && !(left == right)))
            Fail(ErrorKind::Model, "the inner dimensions of ", TypeName(), "(", DescribeShape(*Input(0)), ", ",
                 DescribeShape(*Input(1)), ") disagree: those of the left operand are [", inner.ToString(),
                 "], the dimensions of the right one [", b.ToString(), "]");
    }
    return rest;
}

void TimesNode::InferTransposedShape(ShapeInference& inference)
{
    if (m_outputRank != 1 && inference.IsFinalPass())
        Fail(ErrorKind::Model, "TransposeTimes with outputRank=", m_outputRank, "; only 1 is possible");
    const TensorShape& b = Input(1)->SampleLayout();
    if (Input(0)->SampleLayout()[0] == 0 && !b.HasUnknown())
        InferInputShape(0, TensorShape{b[0], 0});
    const TensorShape& a = Input(0)->SampleLayout();
    if (a.Rank() > 2 && inference.IsFinalPass())
        Fail(ErrorKind::Model, "TransposeTimes takes a matrix on the left, but ", DescribeShape(*Input(0)), " has ",
             a.Rank(), " dimensions");
    m_inner = a[0];
    m_outputs = a[1];
    TensorShape shape{m_outputs};
    if (a[0] == b[0])
        for (size_t axis = 1; axis < b.Rank(); axis++)
            shape.SetDim(axis, b[axis]);
    else if (m_inner != b.Elements() && inference.IsFinalPass())
        FailInner(m_inner, b[0]);
    SetShape(shape, CommonLayoutOfInputs(inference));
}

void TimesNode::InferShape(ShapeInference& inference)
{
    RequireDenseInput(*this, 0, inference);
    if (IsTransposed())
        InferTransposedShape(inference);
    else
    {
        const TensorShape rest = InferOutputs(inference);
        const TensorShape& a = Input(0)->SampleLayout();
        TensorShape shape;
        for (size_t axis = 0; axis < size_t(m_outputRank); axis++)
            shape.SetDim(axis, a[axis]);
        if (shape.Rank() + rest.Rank() > TensorShape::c_maxRank)
            Fail(ErrorKind::Model, "the product has more than ", TensorShape::c_maxRank, " dimensions");
        for (size_t axis = 0; axis < rest.Rank(); axis++)
            shape.SetDim(shape.Rank(), rest[axis]);
        SetShape(shape, CommonLayoutOfInputs(inference));
    }
    m_rest = m_outputs == 0 ? 1 : SampleElements() / m_outputs;
    if (inference.IsFinalPass() && Input(1)->IsSparse() && (m_rest != 1 || Input(0)->HasMBLayout()))
        FailSparseInput(*this, 1,
                        Concat("only beside an A that is the same for all samples and takes all rows of B, not beside ",
                               DescribeShape(*Input(0))));
}

// ---- computation ----

void TimesNode::ForwardProp(const FrameRange& range)
{
    const MatrixView left = Input(0)->Value(range);
    if (Input(1)->IsSparse())
        return Ops::Multiply(Left(left), m_transposeLeft, Input(1)->SparseValue(range), Output(Value(range)));
    const MatrixView right = Input(1)->Value(range);
    const MatrixView output = Value(range);
    if (!Input(0)->HasMBLayout())
        return Ops::Multiply(Left(left), m_transposeLeft, Right(right), Transpose::No, Output(output));
    for (size_t column = 0; column < output.columns; column++)
        Ops::Multiply(Left(left.Columns(column, 1)), m_transposeLeft, Right(SampleOf(*Input(1), right, column)),
                      Transpose::No, Output(output.Columns(column, 1)));
}

// Computes dA = g B', and for A' B: dA = B g'.
Product TimesNode::LeftGradient(const MatrixView& gradient, const MatrixView& right, const MatrixView& left,
                                double beta) const
{
    return {.a = IsTransposed() ? right : gradient,
            .b = IsTransposed() ? gradient : right,
            .transposeB = Transpose::Yes,
            .c = left,
            .beta = beta};
}

void TimesNode::ZeroGapsOfGradient(const FrameRange& range) const
{
    Ops::MaskColumns(Gradient(range), ColumnMask(range));
}

// Computes the gradient of a left operand that is the same for all samples: a sum over the samples.
Product TimesNode::SharedLeftGradient(const FrameRange& range)
{
    ZeroGapsOfGradient(range);
    const MatrixView left = Left(InputGradient(0, range));
    const MatrixView gradient = Output(Gradient(range));
    const MatrixView right = Right(Input(1)->Value(range));
    // Zeros in the gradient exclude gaps, unless the gaps hold infinite values.
    Ops::ClearNotFinite(Input(1)->Value(range), ColumnMask(range));
    return LeftGradient(gradient, right, left, GradientBeta(0));
}

void TimesNode::AddSparseLeftGradient(const FrameRange& range)
{
    ZeroGapsOfGradient(range);
    const SparseView right = Input(1)->SparseValue(range);
    const MatrixView gradient = Output(Gradient(range));
    if (IsTransposed())
    {
        const MatrixView dense = Temporary(0, range);
        Ops::ToDense(right, dense);
        return Ops::Multiply(LeftGradient(gradient, dense, Left(InputGradient(0, range)), GradientBeta(0)));
    }
    const MatrixView left = Input(0)->Gradient(range);
    if (GradientBeta(0) == 0)
        Ops::Fill(left, 0);
    // Columns of the product's matrix are those of the parameter only if the parameter was not reshaped.
    TouchedColumns& touched = Input(0)->GradientColumns();
    touched.all = touched.all || left.columns != m_inner;
    Ops::MultiplyByTransposeOf(gradient, right, Left(left), touched);
}

// Adds the gradient when each sample has its own matrix.
void TimesNode::AddGradientBySample(size_t input, const FrameRange& range)
{
    const MatrixView gradient = Gradient(range);
    const MatrixView left = Input(0)->Value(range);
    const MatrixView right = Input(1)->Value(range);
    const MatrixView inputGradient = InputGradient(input, range);
    const bool isShared = !Input(input)->HasMBLayout();
    if (GradientBeta(input) == 0)
        Ops::Fill(inputGradient, 0);
    const auto addColumn = [&](size_t column)
    {
        const MatrixView g = Output(gradient.Columns(column, 1));
        const MatrixView target = SampleOf(*Input(input), inputGradient, column);
        if (input == 0)
            Ops::Multiply(LeftGradient(g, Right(SampleOf(*Input(1), right, column)), Left(target), 1));
        else
            Ops::Multiply(Left(left.Columns(column, 1)), Opposite(m_transposeLeft), g, Transpose::No, Right(target), 1,
                          1);
    };
    ForEachDataStretch(isShared ? ColumnMask(range) : std::span<const uint8_t>(), gradient.columns,
                       [&](size_t first, size_t count)
                       {
                           for (size_t column = first; column < first + count; column++)
                               addColumn(column);
                       });
}

void TimesNode::BackpropTo(size_t input, const FrameRange& range)
{
    if (Input(0)->HasMBLayout())
        return AddGradientBySample(input, range);
    if (input == 1)
        return Ops::Multiply(Left(Input(0)->Value(range)), Opposite(m_transposeLeft), Output(Gradient(range)),
                             Transpose::No, Right(InputGradient(1, range)), 1, GradientBeta(1));
    if (Input(1)->IsSparse())
        return AddSparseLeftGradient(range);
    Ops::Multiply(SharedLeftGradient(range));
}

bool TimesNode::ListBackprop(size_t input, std::vector<Product>& products)
{
    if (input != 0 || Input(0)->HasMBLayout() || Input(1)->IsSparse())
        return false;
    products.push_back(SharedLeftGradient(FrameRange::All()));
    return true;
}

std::vector<TemporarySpec> TimesNode::Temporaries() const
{
    if (!IsTransposed() || !Input(1)->IsSparse())
        return {};
    return {TemporaryForSamplesOf(*this, 1, m_inner, TemporarySpec::Lifetime::ForwardBackward)};
}

// ---- fields ----

void TimesNode::SerializeFields(ModelArchive& archive)
{
    if (archive.Version() >= 3)
        archive.Field(m_outputRank);
    if (archive.Version() >= 12)
        archive.Field(m_inputRankInference);
    if (archive.IsLoading() && m_outputRank > TensorShape::c_maxRank)
        Fail(ErrorKind::Model, "the output rank is ", m_outputRank, "; at most ", TensorShape::c_maxRank,
             " is possible");
}

void TimesNode::SetParameters(const NodeParameters& parameters)
{
    const long long rank = parameters.Integer("outputRank", 1);
    if (rank < 1 || size_t(rank) > TensorShape::c_maxRank)
        Fail(ErrorKind::Config, "parameter 'outputRank' is ", rank, "; expected 1 to ", TensorShape::c_maxRank);
    m_outputRank = uint64_t(rank);
}

// ---- DiagTimes ----

// Computes v_ij = d_i y_ij: a diagonal matrix, given as a column, times Y.
class DiagTimesNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        const ComputationNode& right = *Input(1);
        const size_t rows = right.HasMBLayout() ? right.SampleElements() : right.SampleLayout().MatrixRows();
        if (Input(0)->SampleLayout().HasUnknown() && !right.SampleLayout().HasUnknown())
            InferInputShape(0, TensorShape{rows, 1});
        SetShape(right.SampleLayout(), CommonLayoutOfInputs(inference));
        if (!inference.IsFinalPass())
            return;
        if (Input(0)->SampleElements() != rows)
            Fail(ErrorKind::Model, "DiagTimes(", DescribeShape(*Input(0)), ", ", DescribeShape(right),
                 "): expected a column of ", Counted(rows, "element"),
                 " on the left, as many as the right operand has rows");
        if (Input(0)->HasMBLayout() && !right.HasMBLayout())
            Fail(ErrorKind::Model, "DiagTimes(", DescribeShape(*Input(0)), ", ", DescribeShape(right),
                 "): a diagonal that changes with the samples needs a right operand that does, too");
    }

    void ForwardProp(const FrameRange& range) override
    {
        Ops::Elementwise(ElementwiseOp::Product, Diagonal(Input(0)->Value(range)), Input(1)->Value(range),
                         Value(range));
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const double beta = GradientBeta(input);
        const MatrixView gradient = Gradient(range);
        if (input == 1)
            return Ops::Elementwise(ElementwiseOp::Product, gradient, Diagonal(Input(0)->Value(range)),
                                    InputGradient(1, range), 1, beta);
        const MatrixView diagonal = Diagonal(InputGradient(0, range));
        const MatrixView right = Input(1)->Value(range);
        Ops::ElementwiseOverData(ElementwiseOp::Product, gradient, right, MaskOfSum(*this, 0, range), diagonal, 1,
                                 beta);
    }

private:
    MatrixView Diagonal(const MatrixView& view) const { return SamplesAsColumns(*Input(0), view); }
};

using namespace Samples;

} // namespace

void RegisterProductNodes(NodeRegistry& registry)
{
    const NodeTraits product = {.backpropReadsInputs = true, .backpropReadsOutput = false, .backpropOverwrites = true};
    const NodeParameterInfo outputRank =
        Option("outputRank", ParameterKind::Integer, "1",
               "number of leading dimensions of the left operand that become dimensions of the product");
    registry.Add({.name = "Times",
                  .aliases = {},
                  .doc =
                      "v = A B, the matrix product. A parameter on the left is the same for all samples; its columns "
                      "may be 0 and are then B's rows. B may be sparse.",
                  .inputs = {2, 2},
                  .inputNames = {"A", "B"},
                  .traits = product,
                  .parameters = {outputRank},
                  .samples = {Case({Parameter({4, 3}), Data({3})}), Case({Parameter({4, 3}), Parameter({3, 2})}),
                              Case({Parameter({4, 6}), Data({2, 3})}), Case({Parameter({4, 3}), Data({3, 2})}),
                              Case({Parameter({2, 2, 3}), Data({3, 2})}, {{"outputRank", "2"}}),
                              Case({Parameter({4, 2, 3}), Data({2, 3})}), Case({Data({4, 3}), Data({3})}),
                              Case({Data({4, 3}), Parameter({3, 2})}), Case({Parameter({4, 5}), SparseData({5})}),
                              Case({Parameter({2, 2, 5}), SparseData({5})}, {{"outputRank", "2"}}),
                              Case({Parameter({4, 0}), SparseData({5})}), Case({Parameter({4, 0}), Data({3})})},
                  .bookSection = "4.1.4.15",
                  .create = [] { return std::make_shared<TimesNode>(Transpose::No); }});
    registry.Add({.name = "TransposeTimes",
                  .aliases = {},
                  .doc = "v = A' B, the matrix product with the left operand transposed.",
                  .inputs = {2, 2},
                  .inputNames = {"A", "B"},
                  .traits = product,
                  .parameters = {outputRank},
                  .samples = {Case({Parameter({3, 4}), Data({3})}), Case({Parameter({3, 4}), Parameter({3, 2})}),
                              Case({Data({3}), Data({3})}), Case({Data({3, 2}), Data({3})}),
                              Case({Data({3}), Parameter({3, 2})}), Case({Parameter({5, 4}), SparseData({5})})},
                  .bookSection = "4.1.4.16",
                  .create = [] { return std::make_shared<TimesNode>(Transpose::Yes); }});
    registry.Add<DiagTimesNode>(
        {.name = "DiagTimes",
         .aliases = {},
         .doc = "v_ij = d_i y_ij: the diagonal matrix of the column d times Y.",
         .inputs = {2, 2},
         .inputNames = {"d", "Y"},
         .traits = product,
         .parameters = {},
         .samples = {Case({Parameter({3, 1}), Data({3})}), Case({Parameter({3}), Parameter({3, 4})}),
                     Case({Data({3}), Data({3})}), Case({Parameter({6, 1}), Data({2, 3})})},
         .bookSection = "4.1.4.17",
         .create = {}});
}

namespace
{

using Op = ElementwiseOp;

// Column c of B belongs to stream k = c mod s. Computes v_ic = sum_j A[i, j s + k] b_jc if the streams are in the
// columns of A, and v_ic = sum_j A[i s + k, j] b_jc if they are in its rows. A may be another matrix for each sample.
class StrideTimesNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override;

    void ForwardProp(const FrameRange& range) override
    {
        const MatrixView a = Input(0)->Value(range);
        const MatrixView b = Input(1)->Value(range);
        const MatrixView v = Value(range);
        ForEachBlock(range, 0, v.columns,
                     [&](const Block& block)
                     { Ops::Elementwise(Op::Product, Left(a, block), Right(b, block), Output(v, block)); });
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        if (input > 1)
            return;
        const MatrixView g = Gradient(range);
        const MatrixView inputGradient = InputGradient(input, range);
        const MatrixView other = Input(1 - input)->Value(range);
        const auto add = [&](const Block& block)
        {
            if (input == 1)
                Ops::Elementwise(Op::Product, Left(other, block), Output(g, block), Right(inputGradient, block), 1, 1);
            else
                Ops::Elementwise(Op::Product, Output(g, block), Right(other, block), Left(inputGradient, block), 1, 1);
        };
        // A sum over samples must leave out gaps, whose content is undefined.
        const std::span<const uint8_t> mask =
            Input(input)->HasMBLayout() ? std::span<const uint8_t>() : ColumnMask(range);
        ForEachDataStretch(mask, g.columns,
                           [&](size_t first, size_t count) { ForEachBlock(range, first, count, add); });
    }

private:
    // Consecutive columns that hold the same streams, repeated several times. If only A changes with the samples, a
    // block holds all streams of several samples.
    struct Block
    {
        size_t firstColumn;
        size_t firstStream;
        size_t streams;
        size_t repeats;
    };

    // Returns true if A is data and B is a parameter with a column for each stream.
    bool HasAllStreams() const { return Input(0)->HasMBLayout() && !Input(1)->HasMBLayout(); }

    template <class Body>
    void ForEachBlock(const FrameRange& range, size_t first, size_t count, Body&& body) const
    {
        if (HasAllStreams())
            return body(Block{first, 0, m_streams, count});
        const size_t before = range.FirstColumn(GetMBLayout().get()); // columns of earlier steps
        const size_t end = first + count;
        while (first < end)
        {
            const size_t stream = (before + first) % m_streams;
            const size_t left = end - first;
            Block block{first, stream, std::min(m_streams - stream, left), 1};
            if (stream == 0 && left > m_streams)
                block.repeats = left / m_streams;
            body(block);
            first += block.streams * block.repeats;
        }
    }

    // All three tensors are [rows of the result, streams of the block, inner dimension, repeats].
    TensorView Left(const MatrixView& a, const Block& block) const
    {
        const size_t rows = m_inColumns ? m_outputs : m_outputs * m_streams;
        const size_t streamStride = m_inColumns ? rows : 1;
        const size_t sample = Input(0)->HasMBLayout() ? a.rows : 0;
        const MatrixView samples = sample == 0       ? a
                                   : HasAllStreams() ? a.Columns(block.firstColumn, block.repeats)
                                                     : a.Columns(block.firstColumn, block.streams * block.repeats);
        TensorView view = StridedTensor(
            samples, {{m_outputs, m_inColumns ? 1 : m_streams},
                      {block.streams, streamStride + (HasAllStreams() ? 0 : sample)},
                      {m_inner, m_inColumns ? rows * m_streams : rows},
                      {sample == 0 ? 1 : block.repeats, HasAllStreams() ? sample : block.streams * sample}});
        view.data = static_cast<std::byte*>(view.data) + block.firstStream * streamStride * SizeOf(view.type);
        return view;
    }
    TensorView Right(const MatrixView& b, const Block& block) const
    {
        if (HasAllStreams())
            return StridedTensor(b, {{1, 0}, {block.streams, b.rows}, {m_inner, 1}, {1, 0}});
        return StridedTensor(b.Columns(block.firstColumn, block.streams * block.repeats),
                             {{1, 0}, {block.streams, b.rows}, {m_inner, 1}, {block.repeats, block.streams * b.rows}});
    }
    TensorView Output(const MatrixView& v, const Block& block) const
    {
        if (HasAllStreams())
            return StridedTensor(v.Columns(block.firstColumn, block.repeats),
                                 {{m_outputs, 1}, {block.streams, m_outputs}, {1, 0}, {block.repeats, v.rows}});
        return StridedTensor(
            v.Columns(block.firstColumn, block.streams * block.repeats),
            {{m_outputs, 1}, {block.streams, v.rows}, {1, 0}, {block.repeats, block.streams * v.rows}});
    }

    size_t m_streams = 1;
    size_t m_inner = 1;
    size_t m_outputs = 1;
    bool m_inColumns = true;
};

void StrideTimesNode::InferShape(ShapeInference& inference)
{
    RequireDenseInputs(*this, inference);
    const ComputationNode& a = *Input(0);
    const ComputationNode& b = *Input(1);
    const auto* constant = As<LearnableParameterNode>(Input(2).get());
    if (constant == nullptr || constant->Values().Elements() != 1)
    {
        if (inference.IsFinalPass())
            Fail(ErrorKind::Model, "StrideTimes takes the stride from a 1x1 constant, but '", Input(2)->Name(), "' (",
                 Input(2)->TypeName(), ") is none");
        return;
    }
    const double stride = constant->Values().ToHost()[0];
    m_inColumns = stride != 0;
    m_inner = b.ValueRows();
    const size_t rows = a.SampleLayout().MatrixRows(), columns = a.SampleLayout().MatrixColumns();
    if (m_inColumns)
        m_streams = m_inner == 0 ? 0 : columns / m_inner;
    else // one stream per column of B
        m_streams = b.HasMBLayout() ? 0 : b.ValueColumns();
    m_outputs = m_inColumns || m_streams == 0 ? rows : rows / m_streams;
    if (inference.IsFinalPass())
    {
        if (!m_inColumns && b.HasMBLayout())
            Fail(ErrorKind::Model,
                 "StrideTimes with streams in the rows takes a parameter on the right, with a column "
                 "for each stream, but ",
                 DescribeShape(b), " changes with the samples");
        const bool fits =
            m_inColumns ? m_streams > 0 && columns == m_inner * m_streams : columns == m_inner && rows % m_streams == 0;
        if (!fits)
            Fail(ErrorKind::Model, "StrideTimes(", DescribeShape(a), ", ", DescribeShape(b), "): the ",
                 m_inColumns ? "columns of the left operand must be a multiple of the rows of the right one"
                             : "left operand must have as many columns as the right one has rows, and a multiple of "
                               "its columns as rows");
        if (a.HasMBLayout() && !b.HasMBLayout() && b.ValueColumns() != m_streams)
            Fail(ErrorKind::Model, "StrideTimes(", DescribeShape(a), ", ", DescribeShape(b),
                 "): where only the left operand changes with the samples, the right one needs a column for each of "
                 "the ",
                 m_streams, " streams");
        if (stride < 0 || (stride > 1 && stride != double(m_streams)))
            Fail(ErrorKind::Model, "the stride of StrideTimes, '", Input(2)->Name(), "', is ", stride,
                 "; expected 0 (streams in the rows), 1 (in the columns) or the number of streams, ", m_streams);
    }
    SetShape(b.HasMBLayout() ? TensorShape{m_outputs} : TensorShape{m_outputs, b.ValueColumns()},
             CommonLayoutOfInputs(inference));
}

using namespace Samples;

} // namespace

void RegisterStrideTimesNodes(NodeRegistry& registry)
{
    registry.Add<StrideTimesNode>(
        {.name = "StrideTimes",
         .aliases = {},
         .doc = "The product of each of s interleaved streams: column c of B belongs to stream k = c mod s, and "
                "v_ic = sum_j A[i, j s + k] b_jc. With stride=0 the streams lie in the rows of A: v_ic = sum_j "
                "A[i s + k, j] b_jc. A may be another matrix for each sample.",
         .inputs = {3, 3},
         .inputNames = {"A", "B", "stride"},
         .traits = {.backpropReadsInputs = true, .backpropReadsOutput = false},
         .parameters = {},
         .samples =
             {Case({Parameter({2, 6}), Parameter({3, 2}), Number(1)}), Case({Parameter({2, 6}), Data({2}), Number(1)}),
              Case({Parameter({2, 6}), Data({3}), Number(2)}), Case({Parameter({4, 3}), Parameter({3, 2}), Number(0)}),
              Case({Parameter({2, 3}), Data({3}), Number(1)}), Case({Parameter({1, 4}), Parameter({2, 5}), Number(2)}),
              Case({Data({2, 6}), Data({3}), Number(2)}), Case({Data({3, 4}), Data({4}), Number(1)}),
              Case({Data({2, 6}), Parameter({3, 2}), Number(1)}), Case({Data({4, 3}), Parameter({3, 2}), Number(0)})},
         .bookSection = "",
         .create = {}});
}

} // namespace cntk
