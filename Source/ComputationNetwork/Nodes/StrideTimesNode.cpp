// StrideTimes: the product of interleaved streams.
#include "Common/Error.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>

namespace cntk
{

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
    const auto* constant = dynamic_cast<const LearnableParameterNode*>(Input(2).get());
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
