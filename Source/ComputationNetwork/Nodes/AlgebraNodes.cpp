// Products of columns, sums along dimensions and lookups: KhatriRaoProduct, CosDistance, SumColumnElements,
// ReduceElements, CosDistanceWithNegativeSamples, LookupTable.
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "Math/Operations.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

namespace
{

using Op = ElementwiseOp;

// Returns columns of a value or gradient of the node; without a layout all of them.
MatrixView ColumnsOf(const ComputationNode& node, const MatrixView& view, size_t first, size_t count)
{
    return node.HasMBLayout() ? view.Columns(first, count) : view;
}

// Base class for two operands combined column by column. One operand may have a single column for all of the other's: a
// parameter next to data.
class ColumnPairNode : public ComputationNode
{
protected:
    // Fails if the columns of the operands do not match.
    MBLayoutPtr CheckColumns(ShapeInference& inference)
    {
        RequireDenseInputs(*this, inference);
        MBLayoutPtr layout = CommonLayoutOfInputs(inference);
        m_columns = 1;
        for (const ComputationNodePtr& input : Inputs())
            if (!input->HasMBLayout())
                m_columns = std::max(m_columns, input->SampleLayout().MatrixColumns());
        if (inference.IsFinalPass())
            for (const ComputationNodePtr& input : Inputs())
            {
                if (input->HasMBLayout())
                    continue;
                const size_t columns = input->SampleLayout().MatrixColumns();
                if (columns != 1 && (layout || columns != m_columns))
                    Fail(ErrorKind::Model, TypeName(), "(", DescribeShape(*Input(0)), ", ", DescribeShape(*Input(1)),
                         ") combines columns, but the operands do not have as many; expected equal numbers, or one in "
                         "a parameter");
            }
        return layout;
    }

    TensorShape ShapeOfRows(size_t rows, const MBLayoutPtr& layout) const
    {
        return layout ? TensorShape{rows} : TensorShape{rows, m_columns};
    }

    // Calls add(first, count, beta) for the columns of the range. If the input's gradient is a sum over samples, each
    // run of columns between gaps is added separately; otherwise all columns are added at once.
    template <class Add>
    void ForEachStretch(size_t input, const FrameRange& range, const MatrixView& inputGradient, Add&& add)
    {
        const std::span<const uint8_t> mask = MaskOfSum(*this, input, range);
        if (mask.empty())
            return add(0, Gradient(range).columns, GradientBeta(input));
        if (GradientBeta(input) == 0)
            Ops::Fill(inputGradient, 0);
        ForEachDataStretch(mask, mask.size(), [&](size_t first, size_t count) { add(first, count, 1.0); });
    }

    size_t m_columns = 1; // without a layout
};

// Computes v[i + k * rows(X)] = x_i y_k in each column: the first operand varies fastest.
class KhatriRaoProductNode final : public ColumnPairNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        const MBLayoutPtr layout = CheckColumns(inference);
        m_first = Input(0)->ValueRows();
        m_second = Input(1)->ValueRows();
        SetShape(ShapeOfRows(m_first * m_second, layout), layout);
    }

    void ForwardProp(const FrameRange& range) override
    {
        Ops::Elementwise(Op::Product, First(Input(0)->Value(range)), Second(Input(1)->Value(range)),
                         Product(Value(range)));
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const ComputationNode& other = *Input(1 - input);
        const MatrixView gradient = Gradient(range);
        const MatrixView otherValue = other.Value(range);
        const MatrixView inputGradient = InputGradient(input, range);
        ForEachStretch(input, range, inputGradient,
                       [&](size_t first, size_t count, double beta)
                       {
                           const TensorView g = Product(ColumnsOf(*this, gradient, first, count));
                           const MatrixView factor = ColumnsOf(other, otherValue, first, count);
                           const MatrixView target = ColumnsOf(*Input(input), inputGradient, first, count);
                           if (input == 0)
                               Ops::Elementwise(Op::Product, g, Second(factor), First(target), 1, beta);
                           else
                               Ops::Elementwise(Op::Product, g, First(factor), Second(target), 1, beta);
                       });
    }

private:
    TensorView First(const MatrixView& x) const
    {
        return StridedTensor(x, {{m_first, 1}, {1, 1}, {x.columns, m_first}});
    }
    TensorView Second(const MatrixView& y) const
    {
        return StridedTensor(y, {{1, 1}, {m_second, 1}, {y.columns, m_second}});
    }
    TensorView Product(const MatrixView& v) const
    {
        return StridedTensor(v, {{m_first, 1}, {m_second, m_first}, {v.columns, m_first * m_second}});
    }

    size_t m_first = 1;
    size_t m_second = 1;
};

// Computes 1 / |x| of each column, bounded like all divisions.
void InverseNorms(const MatrixView& x, const MatrixView& work, const MatrixView& inverse)
{
    Ops::Elementwise(Op::Square, x, inverse);
    Ops::Elementwise(Op::Sqrt, inverse, work);
    CopyDivisors(work, inverse);
    Ops::Fill(work, 1);
    Ops::Elementwise(Op::Quotient, work, inverse, inverse);
}

// Computes v = x'y / (|x| |y|) in each column; 0 if one of them is 0.
class CosDistanceNode final : public ColumnPairNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        const MBLayoutPtr layout = CheckColumns(inference);
        if (inference.IsFinalPass() && Input(0)->ValueRows() != Input(1)->ValueRows())
            Fail(ErrorKind::Model, "CosDistance compares ", DescribeShape(*Input(0)), " with ",
                 DescribeShape(*Input(1)), ": expected as many rows in both, but there are ", Input(0)->ValueRows(),
                 " and ", Input(1)->ValueRows());
        SetShape(ShapeOfRows(1, layout), layout);
    }

    std::vector<TemporarySpec> Temporaries() const override
    {
        using Lifetime = TemporarySpec::Lifetime;
        TemporarySpec row;
        row.rows = 1;
        row.fixedColumns = HasMBLayout() ? 0 : m_columns;
        std::vector<TemporarySpec> specs;
        for (const Lifetime life : {Lifetime::ForwardBackward, Lifetime::Forward})
            for (size_t input = 0; input < 2; input++)
            {
                specs.push_back(TemporaryForSamplesOf(*this, input, 1, life));
                if (!Input(input)->HasMBLayout())
                    specs.back().fixedColumns = Input(input)->ValueColumns();
            }
        specs.push_back(row);
        return specs;
    }

    void ForwardProp(const FrameRange& range) override
    {
        const MatrixView value = Value(range);
        for (size_t input = 0; input < 2; input++)
            InverseNorms(Input(input)->Value(range), Temporary(2 + input, range), InverseNorm(input, range));
        Ops::Elementwise(Op::Product, Input(0)->Value(range), Input(1)->Value(range), value);
        Ops::Elementwise(Op::ProductOfThree, value, InverseNorm(0, range), InverseNorm(1, range), value);
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const ComputationNode& self = *Input(input);
        const ComputationNode& other = *Input(1 - input);
        const MatrixView x = self.Value(range);
        const MatrixView y = other.Value(range);
        const MatrixView gradient = Gradient(range);
        const MatrixView value = Value(range);
        const MatrixView work = Temporary(4, range);
        const MatrixView inverse = InverseNorm(input, range);
        const MatrixView otherInverse = InverseNorm(1 - input, range);
        const MatrixView inputGradient = InputGradient(input, range);
        ForEachStretch(input, range, inputGradient,
                       [&](size_t first, size_t count, double beta)
                       {
                           AddCosineGradient(
                               {ColumnsOf(*this, gradient, first, count), ColumnsOf(*this, value, first, count),
                                ColumnsOf(self, x, first, count), ColumnsOf(self, inverse, first, count),
                                ColumnsOf(other, y, first, count), ColumnsOf(other, otherInverse, first, count),
                                ColumnsOf(*this, work, first, count), ColumnsOf(self, inputGradient, first, count)},
                               beta);
                       });
    }

private:
    MatrixView InverseNorm(size_t input, const FrameRange& range) const { return Temporary(input, range); }
};

// Computes the sum of each column, as a row.
class SumColumnElementsNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        const ComputationNode& x = *Input(0);
        SetShape(x.HasMBLayout() ? TensorShape{1} : TensorShape{1, x.SampleLayout().MatrixColumns()}, x.GetMBLayout());
    }
    void ForwardProp(const FrameRange& range) override
    {
        Ops::Elementwise(Op::Copy, Input(0)->Value(range), Value(range));
    }
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        Ops::Elementwise(Op::Copy, Gradient(range), InputGradient(input, range), 1, GradientBeta(input));
    }
};

// Sums along one dimension of each sample, which becomes 1; axis 0: over all of them.
class ReduceElementsNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        const TensorShape& x = Input(0)->SampleLayout();
        if (inference.IsFinalPass() && size_t(m_axis) > x.Rank())
            Fail(ErrorKind::Model, "ReduceElements sums along dimension ", m_axis, ", but ", DescribeShape(*Input(0)),
                 " has ", x.Rank());
        TensorShape shape = x;
        for (size_t axis = 0; axis < x.Rank(); axis++)
            if (m_axis == 0 || axis + 1 == size_t(m_axis))
                shape.SetDim(axis, 1);
        m_rank = x.Rank();
        SetShape(shape, Input(0)->GetMBLayout());
    }
    void ForwardProp(const FrameRange& range) override
    {
        Ops::Elementwise(Op::Copy, Input(0)->ValueTensor(m_rank, range), ValueTensor(m_rank, range));
    }
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        Ops::Elementwise(Op::Copy, GradientTensor(m_rank, range),
                         TensorView::OfSamples(InputGradient(input, range), Input(input)->SampleLayout(), m_rank,
                                               Input(input)->HasMBLayout()),
                         1, GradientBeta(input));
    }

    void SerializeFields(ModelArchive& archive) override
    {
        archive.Field(m_axis);
        archive.WideText(m_operation);
        if (archive.IsLoading())
            Check(ErrorKind::Model);
    }
    void SetParameters(const NodeParameters& parameters) override
    {
        m_axis = int32_t(std::clamp<long long>(parameters.Integer("axis", 0), -1, 1 << 20));
        m_operation = parameters.Text("reductionOp", "Plus");
        Check(ErrorKind::Config);
    }

private:
    void Check(ErrorKind kind) const
    {
        if (m_axis < 0 || size_t(m_axis) > TensorShape::c_maxRank)
            Fail(kind, "parameter 'axis' is ", m_axis, "; expected 1 to ", TensorShape::c_maxRank,
                 ", or 0 for all dimensions");
        if (!EqualsIgnoreCase(m_operation, "Plus"))
            Fail(kind, "parameter 'reductionOp' is '", m_operation, "'; expected Plus");
    }

    int32_t m_axis = 0;
    std::string m_operation = "Plus";
    size_t m_rank = 1;
};

using namespace Samples;

void RegisterSums(NodeRegistry& registry)
{
    const NodeTraits sums = {.backpropReadsInputs = false, .backpropReadsOutput = false, .backpropOverwrites = true};
    registry.Add<SumColumnElementsNode>({.name = "SumColumnElements",
                                         .aliases = {},
                                         .doc = "v_j = sum_i x_ij: the sum of each column, as a row.",
                                         .inputs = {1, 1},
                                         .inputNames = {"X"},
                                         .traits = sums,
                                         .parameters = {},
                                         .samples = {Case({Data({4})}), Case({Parameter({3, 2})}), Case({Data({2, 3})}),
                                                     Case({Data({1})}), Case({Parameter({2, 3, 2})})},
                                         .bookSection = "4.1.4.9",
                                         .create = {}});
    registry.Add<ReduceElementsNode>(
        {.name = "ReduceElements",
         .aliases = {},
         .doc = "The sum along one dimension of each sample, which becomes 1; with axis=0 over all of them.",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = sums,
         .parameters = {Option("axis", ParameterKind::Integer, "0", "the dimension, counted from 1; 0 = all"),
                        Option("reductionOp", ParameterKind::Text, "Plus",
                               "operation that combines the elements: Plus")},
         .samples = {Case({Data({4})}), Case({Data({2, 3})}, {{"axis", "1"}}), Case({Data({2, 3})}, {{"axis", "2"}}),
                     Case({Parameter({2, 3, 2})}, {{"axis", "2"}}), Case({Parameter({3, 2})})},
         .bookSection = "",
         .create = {}});
}

} // namespace

void RegisterAlgebraNodes(NodeRegistry& registry)
{
    registry.Add<KhatriRaoProductNode>(
        {.name = "KhatriRaoProduct",
         .aliases = {"ColumnwiseCrossProduct"},
         .doc = "v[i + k rows(X)] = x_i y_k in each column: all products of the elements of two columns, the first "
                "operand running fastest.",
         .inputs = {2, 2},
         .inputNames = {"X", "Y"},
         .traits = {.backpropReadsInputs = true, .backpropReadsOutput = false, .backpropOverwrites = true},
         .parameters = {},
         .samples = {Case({Data({2}), Data({3})}), Case({Parameter({2, 3}), Parameter({4, 3})}),
                     Case({Parameter({2, 1}), Data({3})}), Case({Data({2}), Parameter({3})}),
                     Case({Data({1}), Data({2, 2})}), Case({Parameter({2, 1}), Parameter({2, 3})})},
         .bookSection = "4.1.4.20",
         .create = {}});
    registry.Add<CosDistanceNode>(
        {.name = "CosDistance",
         .aliases = {"CosDist"},
         .doc = "v = x'y / (|x| |y|) in each column; 0 where one of them is 0.",
         .inputs = {2, 2},
         .inputNames = {"x", "y"},
         .traits = {.backpropReadsInputs = true, .backpropReadsOutput = true, .backpropOverwrites = true},
         .parameters = {},
         .samples = {Case({Data({3}), Data({3})}), Case({Parameter({3, 2}), Parameter({3, 2})}),
                     Case({Data({4}), Parameter({4})}), Case({Parameter({2, 1}), Data({2})}),
                     Case({Data({2, 2}), Data({4})}), Case({Parameter({3, 1}), Parameter({3, 2})})},
         .bookSection = "4.1.4.26",
         .create = {}});
    RegisterSums(registry);
}

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
    const auto* constant = As<LearnableParameterNode>(Input(input).get());
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

namespace
{

using Ops::Transpose;

// Computes v = E x for each of the one-hot words stacked in a column of x. The selected columns of E are stacked in the
// result.
class LookupTableNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInput(*this, 0, inference);
        const ComputationNode& x = *Input(1);
        // A table of unknown size serves samples of a single word.
        if (Input(0)->SampleLayout().HasUnknown() && !x.SampleLayout().HasUnknown())
            InferInputShape(0, TensorShape{Input(0)->SampleLayout()[0], x.ValueRows()});
        const TensorShape& table = Input(0)->SampleLayout();
        m_dimension = table.MatrixRows();
        m_vocabulary = table.MatrixColumns();
        const size_t rows = x.ValueRows();
        m_words = m_vocabulary == 0 ? 0 : rows / m_vocabulary;
        const size_t outputs = m_words * m_dimension;
        SetShape(x.HasMBLayout() ? TensorShape{outputs} : TensorShape{outputs, x.ValueColumns()}, x.GetMBLayout());
        if (!inference.IsFinalPass())
            return;
        if (Input(0)->HasMBLayout())
            Fail(ErrorKind::Model, "the table of LookupTable, ", DescribeShape(*Input(0)),
                 ", changes with the samples; expected a parameter, with a column for each word");
        if (m_words == 0 || rows % m_vocabulary != 0)
            Fail(ErrorKind::Model, "LookupTable(", DescribeShape(*Input(0)), ", ", DescribeShape(x),
                 "): the words have ", Counted(rows, "row"), "; expected ", m_vocabulary,
                 ", as many as the table has columns, or a multiple of that");
    }

    void ForwardProp(const FrameRange& range) override
    {
        const MatrixView table = Table(Input(0)->Value(range));
        if (Input(1)->IsSparse())
            return Ops::LookUpColumns(table, Input(1)->SparseValue(range), Value(range));
        Ops::Multiply(table, Transpose::No, Words(Input(1)->Value(range)), Transpose::No, Columns(Value(range)));
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        if (input == 1)
            return Ops::Multiply(Table(Input(0)->Value(range)), Transpose::Yes, Columns(Gradient(range)), Transpose::No,
                                 Words(InputGradient(1, range)), 1, GradientBeta(1));
        Ops::MaskColumns(Gradient(range), ColumnMask(range));
        if (Input(1)->IsSparse())
            return AddSparseTableGradient(range);
        const double beta = GradientBeta(0);
        const MatrixView target = Table(InputGradient(0, range));
        const MatrixView gradient = Columns(Gradient(range));
        const MatrixView words = Words(Input(1)->Value(range));
        // Zeros in the gradient exclude gaps, unless the gaps hold infinite values.
        Ops::ClearNotFinite(Input(1)->Value(range), ColumnMask(range));
        Ops::Multiply(gradient, Transpose::No, words, Transpose::Yes, target, 1, beta);
    }

private:
    // Adds to the columns of occurring words only.
    void AddSparseTableGradient(const FrameRange& range)
    {
        const MatrixView target = Table(Input(0)->Gradient(range));
        if (GradientBeta(0) == 0)
            Ops::Fill(target, 0);
        Ops::LookUpColumnsGradient(Gradient(range), Input(1)->SparseValue(range), target, Input(0)->GradientColumns());
    }

    MatrixView Table(const MatrixView& table) const { return Reshaped(table, m_dimension, m_vocabulary); }
    // Views the input with one column for each word of each sample.
    MatrixView Words(const MatrixView& x) const { return Reshaped(x, m_vocabulary, x.columns * m_words); }
    MatrixView Columns(const MatrixView& value) const { return Reshaped(value, m_dimension, value.columns * m_words); }

    size_t m_dimension = 0;
    size_t m_vocabulary = 0;
    size_t m_words = 1; // in a sample
};

using namespace Samples;

} // namespace

void RegisterLookupNodes(NodeRegistry& registry)
{
    registry.Add<LookupTableNode>(
        {.name = "LookupTable",
         .aliases = {},
         .doc = "Looks up the words of a sample in the columns of the table E: v = E x for each one-hot x with as many "
                "rows as E has columns. A sample may stack several words. x may be sparse.",
         .inputs = {2, 2},
         .inputNames = {"E", "x"},
         .traits = {.backpropReadsInputs = true, .backpropReadsOutput = false, .backpropOverwrites = true},
         .parameters = {},
         .samples = {Case({Parameter({3, 5}), SparseData({5})}), Case({Parameter({2, 3}), SparseData({9})}),
                     Case({Parameter({3, 2}), Data({4})}), Case({Parameter({2, 4}), Data({4})}),
                     Case({Parameter({3, 0}), SparseData({4})}), Case({Parameter({2, 3}), Parameter({6, 2})}),
                     Case({Parameter({2, 6}), Data({2, 3})})},
         .bookSection = "",
         .create = {}});
}

} // namespace cntk
