// LookupTable: selects the columns of a table by one-hot words.
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "Math/Operations.h"

namespace cntk
{

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
         .doc =
             "The columns of the table E that the words of a sample name: v = E x for each one-hot x of as many rows "
             "as E has columns, several words below one another. x may be sparse.",
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
