// LSTM: a layer of memory cells as one node. It steps through time itself and carries its state from one minibatch to
// the next.
#include "Common/Error.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cntk
{

namespace
{

using Op = ElementwiseOp;
using Ops::Transpose;

// The inputs after the data. The gates' rows in the temporaries have the same order.
enum Gate : size_t
{
    c_input,
    c_forget,
    c_output,
    c_cell, // the cell's input; not a gate
    c_gates
};

enum LstmTemporary : size_t
{
    c_activations, // of the gates
    c_cells,
    c_cellActivations, // tanh of the cells
    c_before,          // output and cell of the previous step
    c_deltas,          // gradients of the gates' sums
    c_flowing,         // gradients of output and cell
    c_temporaries
};

// The default is a single-precision constant.
constexpr double c_defaultState = double(0.1f);

// Computes i, f, o = sigmoid(Wx x + Wh h' + b + w c'), with w c for o;  c = f c' + i tanh(Wx x + Wh h' + b);  h = o
// tanh(c).
class LstmNode final : public ComputationNode, public RecurrentState, public StepState
{
public:
    void InferShape(ShapeInference& inference) override;
    std::vector<TemporarySpec> Temporaries() const override;
    void BeginForwardProp() override;
    void ForwardProp(const FrameRange& range) override;
    void EndForwardProp() override;
    void AppendStepKey(std::vector<uint64_t>& key) const override;
    void BackpropTo(size_t input, const FrameRange& range) override;
    void SerializeFields(ModelArchive& archive) override;
    void SaveState(std::string& bytes) const override;
    void RestoreState(const char*& position, const char* end) override;
    void SelectState(std::span<const size_t> sources) override;

private:
    // Output and cell at the end of a minibatch, for the sequences that continue in the next one.
    struct History
    {
        Matrix values; // 2 * cells x parallel sequences
        bool isValid = false;
    };
    // Origin of the state before a column.
    enum class Source : uint8_t
    {
        StepBefore,
        MinibatchBefore,
        Start
    };

    size_t Cells() const { return SampleElements(); }
    size_t InputSize() const { return Input(0)->SampleElements(); }
    static bool HasPeephole(size_t gate) { return gate != c_cell; }

    // Blocks of a gate's weights, [bias, of x, of h', of the cell], in any matrix of their size.
    MatrixView Bias(const MatrixView& weights) const { return weights.Columns(0, 1); }
    MatrixView OfInput(const MatrixView& weights) const { return weights.Columns(1, InputSize()); }
    MatrixView OfOutput(const MatrixView& weights) const { return weights.Columns(1 + InputSize(), Cells()); }
    MatrixView Peephole(const MatrixView& weights) const { return weights.Columns(1 + InputSize() + Cells(), 1); }
    MatrixView Weights(size_t gate) const { return Input(1 + gate)->Value(); }

    MatrixView Part(LstmTemporary index, size_t part) const
    {
        return Temporary(index, FrameRange::All()).Rows(part * Cells(), Cells());
    }
    // Returns `count` columns of one step, beginning at a parallel sequence.
    MatrixView At(const MatrixView& all, size_t time, size_t row, size_t count) const
    {
        return all.Columns(time * GetMBLayout()->ParallelSequences() + row, count);
    }
    MatrixView At(const MatrixView& all, size_t time) const
    {
        return At(all, time, 0, GetMBLayout()->ParallelSequences());
    }

    // Calls body(source, row, count) for adjacent sequences whose previous state has the same origin.
    template <class Body>
    void ForEachRun(size_t time, Body&& body) const
    {
        const size_t rows = GetMBLayout()->ParallelSequences();
        const Source* sources = m_sources.data() + time * rows;
        for (size_t row = 0; row < rows;)
        {
            size_t end = row + 1;
            while (end < rows && sources[end] == sources[row])
                end++;
            body(sources[row], row, end - row);
            row = end;
        }
    }

    void KeepRows(History& after) const;
    void TakeStateBefore(size_t time);
    void ForwardStep(size_t time);
    void ComputeDeltas();
    void BackwardStep(size_t time);

    double m_defaultState = c_defaultState;
    std::vector<Source> m_sources; // for each column
    std::array<History, 2> m_history;
    size_t m_current = 0;
    uint64_t m_minibatch = 0;
};

// ---- shape ----

void LstmNode::InferShape(ShapeInference& inference)
{
    RequireDenseInputs(*this, inference);
    const ComputationNode& x = *Input(0);
    size_t cells = 0;
    for (size_t gate = 0; gate < c_gates && cells == 0; gate++)
        cells = Input(1 + gate)->SampleLayout()[0];
    const size_t common = 1 + x.SampleElements() + cells;
    if (cells > 0 && !x.SampleLayout().HasUnknown())
        for (size_t gate = 0; gate < c_gates; gate++)
            InferInputShape(1 + gate, TensorShape{cells, common + HasPeephole(gate)});
    SetShape(TensorShape{cells}, x.GetMBLayout());
    if (!inference.IsFinalPass())
        return;
    if (!HasMBLayout())
        Fail(ErrorKind::Model, "LSTM needs minibatch data, but ", cntk::DescribeShape(x), " is the same at all times");
    for (size_t gate = 0; gate < c_gates; gate++)
    {
        const ComputationNode& weights = *Input(1 + gate);
        if (weights.HasMBLayout() || weights.ValueRows() != cells ||
            weights.ValueColumns() != common + HasPeephole(gate))
            Fail(ErrorKind::Model, "the ", Type().inputNames[1 + gate], " weights of LSTM are ",
                 cntk::DescribeShape(weights), "; expected a parameter [", cells, " x ", common + HasPeephole(gate),
                 "]: a column of biases, ", x.SampleElements(), " for the data, ", cells, " for the output before",
                 HasPeephole(gate) ? " and one for the cell" : "");
    }
}

std::vector<TemporarySpec> LstmNode::Temporaries() const
{
    std::vector<TemporarySpec> specs(c_temporaries);
    const size_t parts[c_temporaries] = {c_gates, 1, 1, 2, c_gates, 2};
    for (size_t i = 0; i < c_temporaries; i++)
        specs[i].rows = parts[i] * Cells();
    return specs;
}

// ---- forward ----

void LstmNode::BeginForwardProp()
{
    const MBLayout& layout = *GetMBLayout();
    if (m_minibatch != layout.Minibatch())
    {
        m_minibatch = layout.Minibatch();
        if (BeginsMinibatch())
            m_current = 1 - m_current;
    }
    if (StartsAfresh(layout))
        m_history[m_current].isValid = false;
    const History& history = m_history[m_current];
    const size_t rows = layout.ParallelSequences();
    const bool continues = history.isValid && history.values.Columns() == AllSequences(layout);
    m_sources.resize(layout.Columns());
    for (size_t time = 0; time < layout.TimeSteps(); time++)
        for (size_t row = 0; row < rows; row++)
        {
            const bool isStart = layout.IsBeyondStart(row, time, 1); // also true for a gap
            m_sources[time * rows + row] = isStart     ? Source::Start
                                           : time > 0  ? Source::StepBefore
                                           : continues ? Source::MinibatchBefore
                                                       : Source::Start;
        }
}

void LstmNode::AppendStepKey(std::vector<uint64_t>& key) const
{
    AppendWindow(key);
    key.push_back(m_current);
    for (const History& history : m_history)
        key.insert(key.end(), {history.isValid, history.values.IsAllocated() ? history.values.Columns() : 0});
}

void LstmNode::TakeStateBefore(size_t time)
{
    const MatrixView output = Part(c_before, 0), cell = Part(c_before, 1);
    ForEachRun(time,
               [&](Source source, size_t row, size_t count)
               {
                   const MatrixView toOutput = At(output, time, row, count), toCell = At(cell, time, row, count);
                   if (source == Source::Start)
                   {
                       Ops::Fill(toOutput, 0);
                       Ops::Fill(toCell, m_defaultState);
                   }
                   else if (source == Source::MinibatchBefore)
                   {
                       const MatrixView from = m_history[m_current].values.View().Columns(FirstSequence() + row, count);
                       Ops::Copy(from.Rows(0, Cells()), toOutput);
                       Ops::Copy(from.Rows(Cells(), Cells()), toCell);
                   }
                   else
                   {
                       Ops::Copy(At(Value(), time - 1, row, count), toOutput);
                       Ops::Copy(At(Part(c_cells, 0), time - 1, row, count), toCell);
                   }
               });
}

void LstmNode::ForwardProp(const FrameRange& range)
{
    const MatrixView activations = Temporary(c_activations, range);
    for (size_t gate = 0; gate < c_gates; gate++)
        Ops::Multiply(OfInput(Weights(gate)), Transpose::No, Input(0)->Value(), Transpose::No,
                      Part(c_activations, gate));
    // Gaps may hold any bits in the data; from here on they hold valid numbers.
    Ops::MaskColumns(activations, ColumnMask(range));
    for (size_t gate = 0; gate < c_gates; gate++)
        Ops::Elementwise(Op::Copy, Bias(Weights(gate)), Part(c_activations, gate), 1, 1);
    for (size_t time = 0; time < GetMBLayout()->TimeSteps(); time++)
        ForwardStep(time);
}

void LstmNode::ForwardStep(size_t time)
{
    TakeStateBefore(time);
    const MatrixView outputBefore = At(Part(c_before, 0), time), cellBefore = At(Part(c_before, 1), time);
    const MatrixView cell = At(Part(c_cells, 0), time), activation = At(Part(c_cellActivations, 0), time);
    std::array<MatrixView, c_gates> gates;
    for (size_t gate = 0; gate < c_gates; gate++)
    {
        gates[gate] = At(Part(c_activations, gate), time);
        Ops::Multiply(OfOutput(Weights(gate)), Transpose::No, outputBefore, Transpose::No, gates[gate], 1, 1);
    }
    for (const size_t gate : {c_input, c_forget})
    {
        Ops::Elementwise(Op::Product, cellBefore, Peephole(Weights(gate)), gates[gate], 1, 1);
        Ops::Elementwise(Op::Sigmoid, gates[gate], gates[gate]);
    }
    Ops::Elementwise(Op::Tanh, gates[c_cell], gates[c_cell]);
    Ops::Elementwise(Op::Product, gates[c_forget], cellBefore, cell);
    Ops::Elementwise(Op::Product, gates[c_input], gates[c_cell], cell, 1, 1);
    Ops::Elementwise(Op::Product, cell, Peephole(Weights(c_output)), gates[c_output], 1, 1);
    Ops::Elementwise(Op::Sigmoid, gates[c_output], gates[c_output]);
    Ops::Elementwise(Op::Tanh, cell, activation);
    Ops::Elementwise(Op::Product, gates[c_output], activation, At(Value(), time));
}

// ---- backward ----

// Computes the deltas within the minibatch. No gradient flows to the previous one, across sequence starts or from gaps.
void LstmNode::ComputeDeltas()
{
    Ops::Copy(Gradient(), Part(c_flowing, 0));
    Ops::MaskColumns(Part(c_flowing, 0), ColumnMask(FrameRange::All()));
    Ops::Fill(Part(c_flowing, 1), 0);
    for (size_t time = GetMBLayout()->TimeSteps(); time-- > 0;)
        BackwardStep(time);
}

void LstmNode::BackwardStep(size_t time)
{
    const MatrixView output = At(Part(c_flowing, 0), time), cell = At(Part(c_flowing, 1), time);
    const MatrixView activation = At(Part(c_cellActivations, 0), time), cellBefore = At(Part(c_before, 1), time);
    std::array<MatrixView, c_gates> gates, deltas;
    for (size_t gate = 0; gate < c_gates; gate++)
    {
        gates[gate] = At(Part(c_activations, gate), time);
        deltas[gate] = At(Part(c_deltas, gate), time);
    }
    const MatrixView scratch = deltas[c_cell];
    Ops::Elementwise(Op::Product, output, gates[c_output], scratch);
    Ops::Elementwise(Op::TanhGradient, scratch, activation, cell, 1, 1);
    Ops::Elementwise(Op::Product, output, activation, deltas[c_output]);
    Ops::Elementwise(Op::SigmoidGradient, deltas[c_output], gates[c_output], deltas[c_output]);
    Ops::Elementwise(Op::Product, deltas[c_output], Peephole(Weights(c_output)), cell, 1, 1);

    Ops::Elementwise(Op::Product, cell, gates[c_cell], deltas[c_input]);
    Ops::Elementwise(Op::SigmoidGradient, deltas[c_input], gates[c_input], deltas[c_input]);
    Ops::Elementwise(Op::Product, cell, cellBefore, deltas[c_forget]);
    Ops::Elementwise(Op::SigmoidGradient, deltas[c_forget], gates[c_forget], deltas[c_forget]);
    Ops::Elementwise(Op::Product, cell, gates[c_input], deltas[c_cell]);
    Ops::Elementwise(Op::TanhGradient, deltas[c_cell], gates[c_cell], deltas[c_cell]);

    ForEachRun(
        time,
        [&](Source source, size_t row, size_t count)
        {
            if (source != Source::StepBefore)
                return;
            const MatrixView toOutput = At(Part(c_flowing, 0), time - 1, row, count);
            const MatrixView toCell = At(Part(c_flowing, 1), time - 1, row, count);
            for (size_t gate = 0; gate < c_gates; gate++)
                Ops::Multiply(OfOutput(Weights(gate)), Transpose::Yes, deltas[gate].Columns(row, count), Transpose::No,
                              toOutput, 1, 1);
            Ops::Elementwise(Op::Product, cell.Columns(row, count), gates[c_forget].Columns(row, count), toCell, 1, 1);
            for (const size_t gate : {c_input, c_forget})
                Ops::Elementwise(Op::Product, deltas[gate].Columns(row, count), Peephole(Weights(gate)), toCell, 1, 1);
        });
}

void LstmNode::BackpropTo(size_t input, const FrameRange& range)
{
    // All inputs use the same deltas. The call for the first one computes them.
    const auto first = std::find_if(Inputs().begin(), Inputs().end(),
                                    [](const ComputationNodePtr& node) { return node->NeedsGradient(); });
    if (Input(input) == *first && size_t(first - Inputs().begin()) == input)
        ComputeDeltas();
    if (input == 0)
    {
        const MatrixView gradient = InputGradient(0, range);
        for (size_t gate = 0; gate < c_gates; gate++)
            Ops::Multiply(OfInput(Weights(gate)), Transpose::Yes, Part(c_deltas, gate), Transpose::No, gradient, 1, 1);
        return;
    }
    const size_t gate = input - 1;
    const MatrixView gradient = InputGradient(input, range), deltas = Part(c_deltas, gate), x = Input(0)->Value();
    Ops::Elementwise(Op::Copy, deltas, Bias(gradient), 1, 1);
    Ops::Multiply(deltas, Transpose::No, Part(c_before, 0), Transpose::Yes, OfOutput(gradient), 1, 1);
    if (HasPeephole(gate))
        Ops::Elementwise(Op::Product, deltas, gate == c_output ? Part(c_cells, 0) : Part(c_before, 1),
                         Peephole(gradient), 1, 1);
    // Deltas of gaps are zero, which excludes them unless they hold infinite values.
    Ops::ClearNotFinite(x, ColumnMask(range));
    Ops::Multiply(deltas, Transpose::No, x, Transpose::Yes, OfInput(gradient), 1, 1);
}

// ---- from minibatch to minibatch ----

void LstmNode::EndForwardProp()
{
    const MBLayout& layout = *GetMBLayout();
    const size_t rows = layout.ParallelSequences(), steps = layout.TimeSteps();
    History& after = m_history[1 - m_current];
    const size_t all = AllSequences(layout);
    // Sequences of another part may continue even if those of this part do not.
    after.isValid = IsPart() || std::any_of(layout.Sequences().begin(), layout.Sequences().end(),
                                            [&](const SequenceInfo& sequence)
                                            { return sequence.end > ptrdiff_t(layout.TimeSteps()); });
    if (!after.isValid)
        return;
    if (!after.values.IsAllocated())
        after.values = Matrix(2 * Cells(), all, GetDataType(), GetDevice());
    if (BeginsMinibatch())
        after.values.Resize(2 * Cells(), all);
    if (layout.HasGaps() && !m_isTraining && !IsPart())
        return KeepRows(after);
    const MatrixView kept = after.values.View().Columns(FirstSequence(), rows);
    Ops::Copy(At(Value(), steps - 1), kept.Rows(0, Cells()));
    Ops::Copy(At(Part(c_cells, 0), steps - 1), kept.Rows(Cells(), Cells()));
}

// Rows may end before the last step, and each of them may continue.
void LstmNode::KeepRows(History& after) const
{
    const MBLayout& layout = *GetMBLayout();
    const History& before = m_history[m_current];
    const size_t rows = layout.ParallelSequences();
    for (size_t row = 0; row < rows; row++)
    {
        const size_t steps = StepsOfRow(layout, row);
        const MatrixView kept = after.values.View().Columns(row, 1);
        if (steps > 0)
        {
            Ops::Copy(At(Value(), steps - 1, row, 1), kept.Rows(0, Cells()));
            Ops::Copy(At(Part(c_cells, 0), steps - 1, row, 1), kept.Rows(Cells(), Cells()));
        }
        else if (before.isValid && before.values.Columns() == rows)
            Ops::Copy(before.values.View().Columns(row, 1), kept);
        else
            Ops::Fill(kept, 0);
    }
}

void LstmNode::SaveState(std::string& bytes) const
{
    const History& next = m_history[1 - m_current];
    const uint64_t columns = next.isValid ? next.values.Columns() : 0;
    bytes.append(reinterpret_cast<const char*>(&columns), sizeof columns);
    if (columns == 0)
        return;
    const std::vector<double> values = next.values.ToHost();
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
}

void LstmNode::RestoreState(const char*& position, const char* end)
{
    uint64_t columns = 0;
    if (size_t(end - position) < sizeof columns)
        return;
    std::memcpy(&columns, position, sizeof columns);
    position += sizeof columns;
    if (size_t(end - position) / sizeof(double) / (2 * Cells()) < columns)
        Fail(ErrorKind::Model, "the checkpoint's state of LSTM '", Name(), "' does not fit: ", columns,
             " parallel sequences of ", 2 * Cells(), " numbers are not there");
    History& next = m_history[1 - m_current];
    next.isValid = columns > 0;
    SetRestored();
    if (columns == 0)
        return;
    std::vector<double> values(2 * Cells() * columns);
    std::memcpy(values.data(), position, values.size() * sizeof(double));
    position += values.size() * sizeof(double);
    next.values = Matrix(2 * Cells(), columns, GetDataType(), GetDevice());
    next.values.FromHost(values);
}

void LstmNode::SelectState(std::span<const size_t> sources)
{
    History& next = m_history[1 - m_current];
    if (next.isValid)
        SelectColumns(next.values, sources);
}

// ---- fields ----

void LstmNode::SerializeFields(ModelArchive& archive)
{
    // Files of the oldest version lack the sizes, which follow from the inputs.
    if (archive.Version() >= 2)
    {
        uint64_t inputSize = archive.IsLoading() ? 0 : InputSize();
        uint64_t outputSize = archive.IsLoading() ? 0 : Cells();
        archive.Field(inputSize);
        archive.Field(outputSize);
    }
    archive.ElementField(m_defaultState);
}

using namespace Samples;

} // namespace

void RegisterLstmNodes(NodeRegistry& registry)
{
    registry.Add<LstmNode>(
        {.name = "LSTM",
         .aliases = {},
         .doc = "A layer of memory cells. c' and h' are the values of the previous step (0.1 and 0 at the start of a "
                "sequence). i = "
                "sigmoid(Wx x + Wh h' + b + w c'), f likewise. c = f c' + i tanh(Wx x + Wh h' + b), o = sigmoid(Wx x + "
                "Wh h' + b + w c), h = o tanh(c). The weights of a gate are one matrix [b Wx Wh w], those of the cell "
                "[b Wx Wh].",
         .inputs = {5, 5},
         .inputNames = {"x", "inputGate", "forgetGate", "outputGate", "cell"},
         .traits = {.backpropReadsInputs = true, .backpropReadsOutput = false, .needsWholeMinibatch = true},
         .parameters = {},
         .samples = {Case({Data({3}), Parameter({2, 7}), Parameter({2, 7}), Parameter({2, 7}), Parameter({2, 6})}),
                     Case({Data({2, 2}), Parameter({1, 7}), Parameter({1, 7}), Parameter({1, 7}), Parameter({1, 6})})},
         .bookSection = "",
         .create = {}});
}

} // namespace cntk
