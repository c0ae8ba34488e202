// CosDistanceWithNegativeSamples: compares each sample with its partner and with the partners of other samples.
#include "Common/Error.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

namespace
{

using Op = ElementwiseOp;

// Row 0: the cosine of x_j and y_j. Row m > 0: the cosine of x_j and y_k, k = j + shift + m - 1, wrapping around at the
// end of the minibatch. Gaps are skipped and not counted.
class CosDistanceWithNegativeSamplesNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override;

    std::vector<TemporarySpec> Temporaries() const override
    {
        using Lifetime = TemporarySpec::Lifetime;
        TemporarySpec row;
        row.rows = 1;
        row.fixedColumns = HasMBLayout() ? 0 : Input(0)->ValueColumns();
        TemporarySpec forward = row;
        forward.life = Lifetime::Forward;
        return {row, row, row, forward};
    }

    void ForwardProp(const FrameRange& range) override
    {
        for (size_t input = 0; input < 2; input++)
        {
            const MatrixView inverse = Temporary(input, range);
            const MatrixView norm = Temporary(3, range);
            Ops::Elementwise(Op::Square, Input(input)->Value(), norm);
            Ops::Elementwise(Op::Sqrt, norm, norm);
            CopyDivisors(norm, inverse);
            Ops::Fill(norm, 1);
            Ops::Elementwise(Op::Quotient, norm, inverse, inverse);
        }
        ForEachPairing(
            [&](size_t m, size_t x, size_t y, size_t count)
            {
                const MatrixView v = Row(Value(), m, x, count);
                Ops::Elementwise(Op::Product, Input(0)->Value().Columns(x, count), Input(1)->Value().Columns(y, count),
                                 v);
                Ops::Elementwise(Op::ProductOfThree, v, Temporary(0, range).Columns(x, count),
                                 Temporary(1, range).Columns(y, count), v);
            });
    }

    // Applies the formula of CosDistance to each pair.
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        if (input > 1)
            return;
        const MatrixView inputGradient = InputGradient(input, range);
        ForEachPairing(
            [&](size_t m, size_t x, size_t y, size_t count)
            {
                const size_t own = input == 0 ? x : y, other = input == 0 ? y : x;
                AddCosineGradient(
                    {Row(Gradient(), m, x, count), Row(Value(), m, x, count), Input(input)->Value().Columns(own, count),
                     Temporary(input, range).Columns(own, count), Input(1 - input)->Value().Columns(other, count),
                     Temporary(1 - input, range).Columns(other, count), Temporary(2, range).Columns(x, count),
                     inputGradient.Columns(own, count)},
                    1);
            });
    }

private:
    // Returns the whole number in a 1x1 constant; 0 while it is unknown.
    size_t NumberIn(size_t input, const ShapeInference& inference) const;

    static MatrixView Row(const MatrixView& view, size_t row, size_t first, size_t count)
    {
        return view.Columns(first, count).Rows(row, 1);
    }

    // Iterates over the runs of columns with data.
    class DataColumns
    {
    public:
        DataColumns(std::span<const uint8_t> mask, size_t columns) : m_mask(mask), m_columns(columns) {}
        // Moves forward by `count` samples within the run.
        void Advance(size_t count) { m_at += count; }
        void Skip(size_t samples)
        {
            while (samples > 0)
            {
                const size_t step = std::min(Left(), samples);
                m_at += step;
                samples -= step;
            }
        }
        // Returns the number of data columns from here on. First skips a gap, and wraps around at the end.
        size_t Left()
        {
            while (m_at == m_columns || (!m_mask.empty() && m_mask[m_at] == 0))
                m_at = m_at >= m_columns - 1 ? 0 : m_at + 1;
            if (m_mask.empty())
                return m_columns - m_at;
            size_t end = m_at;
            while (end < m_columns && m_mask[end] != 0)
                end++;
            return end - m_at;
        }
        size_t At() const { return m_at; }

    private:
        std::span<const uint8_t> m_mask;
        size_t m_columns;
        size_t m_at = 0;
    };

    // Calls body(row of the value, first column of x, first column of y, columns).
    template <class Body>
    void ForEachPairing(Body&& body) const
    {
        const std::span<const uint8_t> mask = ColumnMask(FrameRange::All());
        const size_t columns = Value().columns;
        const size_t samples = mask.empty() ? columns : size_t(std::count(mask.begin(), mask.end(), uint8_t(1)));
        if (samples == 0)
            return;
        for (size_t m = 0; m <= m_negatives; m++)
        {
            DataColumns x(mask, columns), y(mask, columns);
            y.Skip(m == 0 ? 0 : (m_shift + m - 1) % samples);
            for (size_t left = samples; left > 0;)
            {
                const size_t count = std::min({left, x.Left(), y.Left()});
                body(m, x.At(), y.At(), count);
                x.Advance(count);
                y.Advance(count);
                left -= count;
            }
        }
    }

    size_t m_shift = 0;
    size_t m_negatives = 0;
};

size_t CosDistanceWithNegativeSamplesNode::NumberIn(size_t input, const ShapeInference& inference) const
{
    const auto* constant = dynamic_cast<const LearnableParameterNode*>(Input(input).get());
    if (constant != nullptr && constant->Values().Elements() == 1)
    {
        const double number = constant->Values().ToHost()[0];
        if (number >= 0 && number <= 1e6 && std::trunc(number) == number)
            return size_t(number);
        if (inference.IsFinalPass())
            Fail(ErrorKind::Model, "'", Input(input)->Name(), "' is ", number, "; ", TypeName(),
                 input == 2 ? " takes a shift" : " takes a number of negative samples",
                 " there, a whole number of 0 or more");
    }
    if (inference.IsFinalPass())
        Fail(ErrorKind::Model, TypeName(), input == 2 ? " takes the shift" : " takes the number of negative samples",
             " from a 1x1 constant, but '", Input(input)->Name(), "' (", Input(input)->TypeName(), ") is none");
    return 0;
}

void CosDistanceWithNegativeSamplesNode::InferShape(ShapeInference& inference)
{
    RequireDenseInputs(*this, inference);
    const ComputationNode& x = *Input(0);
    const ComputationNode& y = *Input(1);
    const MBLayoutPtr layout = CommonLayoutOfInputs(inference);
    m_shift = NumberIn(2, inference);
    m_negatives = NumberIn(3, inference);
    if (inference.IsFinalPass() && (x.ValueRows() != y.ValueRows() || x.HasMBLayout() != y.HasMBLayout() ||
                                    (!layout && x.ValueColumns() != y.ValueColumns())))
        Fail(ErrorKind::Model, TypeName(), " compares the columns of ", DescribeShape(x), " with those of ",
             DescribeShape(y), "; expected operands of one size");
    SetShape(layout ? TensorShape{m_negatives + 1} : TensorShape{m_negatives + 1, x.SampleLayout().MatrixColumns()},
             layout);
}

using namespace Samples;

} // namespace

void RegisterNegativeSamplesNodes(NodeRegistry& registry)
{
    registry.Add<CosDistanceWithNegativeSamplesNode>(
        {.name = "CosDistanceWithNegativeSamples",
         .aliases = {"CosWithNegSamples"},
         .doc =
             "Row 0: the cosine of x_j and y_j. Rows m = 1 to n: the cosine of x_j and y_k with k = j + shift + m - 1, "
             "around the end of the minibatch; gaps do not count.",
         .inputs = {4, 4},
         .inputNames = {"x", "y", "shift", "n"},
         .traits = {.backpropReadsInputs = true, .backpropReadsOutput = true, .needsWholeMinibatch = true},
         .parameters = {},
         .samples = {Case({Data({3}), Data({3}), Number(1), Number(2)}),
                     Case({Data({2}), Data({2}), Number(5), Number(1)}),
                     Case({Parameter({3, 4}), Parameter({3, 4}), Number(2), Number(3)}),
                     Case({Data({2}), Data({2}), Number(0), Number(0)})},
         .bookSection = "4.1.4.27",
         .create = {}});
}

} // namespace cntk
