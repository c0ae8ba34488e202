// Nodes that select frames: Where, PackedIndex, GatherPacked and ScatterPacked.
#include "Common/Error.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cntk
{

namespace
{

// Copies a row of values to the host and back. Keeps its memory.
class HostRow
{
public:
    std::vector<double> values;

    void Take(const MatrixView& row)
    {
        values.resize(row.Elements());
        VisitType(row.type,
                  [&](auto tag)
                  {
                      using T = decltype(tag);
                      m_bytes.resize(row.Elements() * sizeof(T));
                      row.device->CopyToHost(m_bytes.data(), row.data, m_bytes.size());
                      const T* typed = reinterpret_cast<const T*>(m_bytes.data());
                      std::copy(typed, typed + row.Elements(), values.begin());
                  });
    }
    void Give(const MatrixView& row)
    {
        VisitType(row.type,
                  [&](auto tag)
                  {
                      using T = decltype(tag);
                      m_bytes.resize(row.Elements() * sizeof(T));
                      std::copy(values.begin(), values.end(), reinterpret_cast<T*>(m_bytes.data()));
                      row.device->CopyFromHost(row.data, m_bytes.data(), m_bytes.size());
                  });
    }

private:
    std::vector<std::byte> m_bytes;
};

void RequireNumberPerFrame(const ComputationNode& node, size_t input, const ShapeInference& inference)
{
    const ComputationNode& numbers = *node.Input(input);
    if (inference.IsFinalPass() && (!numbers.HasMBLayout() || numbers.SampleElements() != 1))
        Fail(ErrorKind::Model, node.TypeName(), " takes one number per frame as its input '",
             node.Type().inputNames[input], "', but got ", DescribeShape(numbers));
}

// ---- Where ----

// Returns the positions, within their sequence, of the frames whose value is not 0. The selected frames form sequences
// of their own.
class WhereNode final : public ComputationNode, public LayoutMaker
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        RequireNumberPerFrame(*this, 0, inference);
        SetShape(TensorShape{1}, m_packed);
    }

    // Reserves twice the columns of the data. A sequence goes to the first row with room, so that any two rows together
    // hold more frames than the longest sequence has.
    void ReserveLayout() override { m_packed->Init(2 * Input(0)->GetMBLayout()->Columns(), 1); }

    void MakeLayout() override
    {
        const MBLayout& source = *Input(0)->GetMBLayout();
        m_numbers.Take(Input(0)->Value());
        m_hits.clear();
        m_sequences.clear();
        for (const SequenceInfo& sequence : SequencesOf(source))
        {
            if (sequence.begin < 0 || sequence.end > ptrdiff_t(source.TimeSteps()))
                Fail(ErrorKind::Data, "Where '", Name(), "' needs whole sequences, but sequence ", sequence.id,
                     " goes beyond the minibatch; train and read without truncation");
            const size_t first = m_hits.size();
            for (ptrdiff_t time = sequence.begin; time < sequence.end; time++)
                if (m_numbers.values[size_t(time) * source.ParallelSequences() + sequence.row] != 0)
                    m_hits.push_back(double(time - sequence.begin));
            if (m_hits.size() == first)
                Fail(ErrorKind::Data, "Where '", Name(), "' picks no frame of sequence ", sequence.id,
                     ": its input is 0 in all ", sequence.end - sequence.begin,
                     " frames; expected at least one other number in each sequence");
            m_sequences.push_back({sequence.id, 0, 0, ptrdiff_t(m_hits.size() - first)});
        }
        if (source.IsFrameMode())
            m_packed->InitAsFrameMode(m_sequences.size());
        else
            Pack();
    }

    void ForwardProp(const FrameRange&) override
    {
        const MBLayout& layout = *m_packed;
        m_numbers.values.assign(layout.Columns(), std::numeric_limits<double>::quiet_NaN());
        size_t hit = 0;
        for (const SequenceInfo& sequence : SequencesOf(layout))
            for (ptrdiff_t time = sequence.begin; time < sequence.end; time++)
                m_numbers.values[size_t(time) * layout.ParallelSequences() + sequence.row] = m_hits[hit++];
        m_numbers.Give(Value());
    }

    void BackpropTo(size_t, const FrameRange&) override {} // positions do not depend smoothly on the values

    // Later versions name the axis of the selected frames. Here each Where has its own axis anyway.
    void SerializeFields(ModelArchive& archive) override
    {
        std::string axis;
        if (archive.Version() >= 11)
            archive.WideText(axis);
    }

private:
    void Pack()
    {
        ptrdiff_t longest = 0;
        for (const SequenceInfo& sequence : m_sequences)
            longest = std::max(longest, sequence.end);
        m_filled.clear();
        for (SequenceInfo& sequence : m_sequences)
        {
            const ptrdiff_t length = sequence.end;
            const auto room = std::find_if(m_filled.begin(), m_filled.end(),
                                           [&](ptrdiff_t filled) { return filled + length <= longest; });
            sequence.row = size_t(room - m_filled.begin());
            if (room == m_filled.end())
                m_filled.push_back(0);
            sequence.begin = m_filled[sequence.row];
            sequence.end = m_filled[sequence.row] += length;
        }
        m_packed->Init(m_filled.size(), size_t(longest));
        for (const SequenceInfo& sequence : m_sequences)
            m_packed->AddSequence(sequence.id, sequence.row, sequence.begin, sequence.end);
        for (size_t row = 0; row < m_filled.size(); row++)
            if (m_filled[row] < longest)
                m_packed->AddGap(row, m_filled[row], longest);
    }

    MBLayoutPtr m_packed = std::make_shared<MBLayout>();
    HostRow m_numbers;
    std::vector<double> m_hits;
    std::vector<SequenceInfo> m_sequences;
    std::vector<ptrdiff_t> m_filled; // per row
};

// ---- PackedIndex ----

// Returns the target's columns at positions counted within sequences; -1 in gaps.
class PackedIndexNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInput(*this, 1, inference);
        RequireNumberPerFrame(*this, 1, inference);
        if (inference.IsFinalPass() && !Input(0)->HasMBLayout())
            Fail(ErrorKind::Model, "PackedIndex needs minibatch data as its input 'target', but ",
                 DescribeShape(*Input(0)), " is the same at all times");
        SetShape(TensorShape{1}, Input(1)->GetMBLayout());
    }

    void ForwardProp(const FrameRange&) override
    {
        const MBLayout &target = *Input(0)->GetMBLayout(), &layout = *GetMBLayout();
        m_targets.clear();
        for (const SequenceInfo& sequence : SequencesOf(target))
            m_targets[sequence.id] = sequence;
        m_numbers.Take(Input(1)->Value());
        m_columns.assign(layout.Columns(), -1);
        for (const SequenceInfo& sequence : SequencesOf(layout))
        {
            const auto found = m_targets.find(sequence.id);
            if (found == m_targets.end())
                Fail(ErrorKind::Data, "PackedIndex '", Name(), "': the target '", Input(0)->Name(),
                     "' has no sequence ", sequence.id, ", of which '", Input(1)->Name(), "' names positions");
            const ptrdiff_t begin = std::max<ptrdiff_t>(sequence.begin, 0);
            const ptrdiff_t end = std::min(sequence.end, ptrdiff_t(layout.TimeSteps()));
            for (ptrdiff_t time = begin; time < end; time++)
            {
                const size_t column = size_t(time) * layout.ParallelSequences() + sequence.row;
                m_columns[column] = ColumnOf(found->second, target, m_numbers.values[column]);
            }
        }
        std::swap(m_numbers.values, m_columns);
        m_numbers.Give(Value());
    }

    void BackpropTo(size_t, const FrameRange&) override {}

private:
    double ColumnOf(const SequenceInfo& sequence, const MBLayout& target, double position) const
    {
        const double time = double(sequence.begin) + position;
        if (!(position >= 0) || position != std::floor(position) || time >= double(sequence.end) || time < 0 ||
            time >= double(target.TimeSteps()))
            Fail(ErrorKind::Data, "PackedIndex '", Name(), "': sequence ", sequence.id, " of '", Input(0)->Name(),
                 "' has no frame ", position, " in this minibatch; expected 0 to ", sequence.end - sequence.begin - 1);
        return time * double(target.ParallelSequences()) + double(sequence.row);
    }

    std::unordered_map<size_t, SequenceInfo> m_targets;
    HostRow m_numbers;
    std::vector<double> m_columns;
};

// ---- GatherPacked, ScatterPacked ----

// Pairs of columns. Negative indices and gaps have no partner.
class ColumnPairs
{
public:
    // Reads the node's input `index`; the other side has `columns` columns.
    void Read(const ComputationNode& node, size_t index, size_t columns)
    {
        const ComputationNode& numbers = *node.Input(index);
        m_row.Take(numbers.Value());
        m_columns.assign(m_row.values.size(), c_none);
        const std::span<const uint8_t> mask = numbers.ColumnMask(FrameRange::All());
        for (size_t i = 0; i < m_columns.size(); i++)
        {
            const double number = m_row.values[i];
            if ((!mask.empty() && mask[i] == 0) || number < 0)
                continue;
            if (!(number < double(columns)) || number != std::floor(number))
                Fail(ErrorKind::Data, node.TypeName(), " '", node.Name(), "': '", numbers.Name(), "' names column ",
                     number, "; expected whole numbers below ", columns, ", or negative ones for none");
            m_columns[i] = size_t(number);
        }
    }

    // Calls body(numbered column, column named, count) for columns that are consecutive on both sides.
    template <class Body>
    void ForEachRun(Body&& body) const
    {
        for (size_t i = 0; i < m_columns.size();)
        {
            size_t count = 1;
            while (i + count < m_columns.size() && m_columns[i] != c_none &&
                   m_columns[i + count] == m_columns[i] + count)
                count++;
            if (m_columns[i] != c_none)
                body(i, m_columns[i], count);
            i += count;
        }
    }

private:
    static constexpr size_t c_none = SIZE_MAX;
    HostRow m_row;
    std::vector<size_t> m_columns;
};

// Copies the source's column index_j to column j.
class GatherPackedNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        RequireNumberPerFrame(*this, 0, inference);
        const ComputationNode& source = *Input(1);
        SetShape(source.HasMBLayout() ? source.SampleLayout() : TensorShape{source.SampleLayout().MatrixRows()},
                 Input(0)->GetMBLayout());
    }

    void ForwardProp(const FrameRange&) override
    {
        m_pairs.Read(*this, 0, Input(1)->ValueColumns());
        Ops::Fill(Value(), 0);
        m_pairs.ForEachRun([&](size_t ours, size_t source, size_t count)
                           { Ops::Copy(Input(1)->Value().Columns(source, count), Value().Columns(ours, count)); });
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        if (input == 0)
            return;
        const MatrixView sourceGradient = InputGradient(1, range);
        m_pairs.ForEachRun(
            [&](size_t ours, size_t source, size_t count)
            {
                Ops::Elementwise(ElementwiseOp::Copy, Gradient().Columns(ours, count),
                                 sourceGradient.Columns(source, count), 1, 1);
            });
    }

private:
    ColumnPairs m_pairs;
};

// Adds the source's column j to column index_j; all others are 0.
class ScatterPackedNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInput(*this, 1, inference);
        RequireDenseInput(*this, 2, inference);
        RequireNumberPerFrame(*this, 1, inference);
        SetShape(Input(2)->SampleLayout(), Input(0)->GetMBLayout());
        if (!inference.IsFinalPass())
            return;
        if (!HasMBLayout())
            Fail(ErrorKind::Model, "ScatterPacked needs minibatch data as its input 'cond', but ",
                 DescribeShape(*Input(0)), " is the same at all times");
        if (Input(1)->GetMBLayout() != Input(2)->GetMBLayout())
            Fail(ErrorKind::Model, "ScatterPacked needs a number for each frame of its source, but '", Input(1)->Name(),
                 "' and '", Input(2)->Name(), "' have different minibatch layouts");
    }

    void ForwardProp(const FrameRange&) override
    {
        m_pairs.Read(*this, 1, ValueColumns());
        Ops::Fill(Value(), 0);
        m_pairs.ForEachRun(
            [&](size_t source, size_t ours, size_t count)
            {
                Ops::Elementwise(ElementwiseOp::Copy, Input(2)->Value().Columns(source, count),
                                 Value().Columns(ours, count), 1, 1);
            });
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        if (input != 2)
            return;
        const MatrixView sourceGradient = InputGradient(2, range);
        m_pairs.ForEachRun(
            [&](size_t source, size_t ours, size_t count)
            {
                Ops::Elementwise(ElementwiseOp::Copy, Gradient().Columns(ours, count),
                                 sourceGradient.Columns(source, count), 1, 1);
            });
    }

private:
    ColumnPairs m_pairs;
};

using namespace Samples;

GradientSample::Input Numbers(std::vector<double> values)
{
    GradientSample::Input input = Data({1});
    input.values = std::move(values);
    input.checkGradient = false;
    return input;
}

GradientSample::Input Layout(GradientSample::Input input)
{
    input.checkGradient = false;
    return input;
}

} // namespace

void RegisterPackingNodes(NodeRegistry& registry)
{
    const NodeTraits traits = {.backpropReadsInputs = false, .backpropReadsOutput = false, .needsWholeMinibatch = true};
    NodeTraits makesLayout = traits;
    makesLayout.makesLayout = true;
    // Indices for layouts of up to 12 columns.
    const std::vector<double> columns = {2, 0, -1, 3, 1, 3, 0, 0, 2, 1, 3, 2};
    registry.Add<WhereNode>(
        {.name = "Where",
         .aliases = {},
         .doc = "The positions, counted from 0 within each sequence, of the frames whose condition (one value per "
                "frame) is not 0. They form new, shorter sequences. Each sequence must have at least one. No gradient.",
         .inputs = {1, 1},
         .inputNames = {"cond"},
         .traits = makesLayout,
         .parameters = {},
         .samples = {Case({Numbers({1, 2, 1, 0.5, 0, 0, -1, 0, 3, 1, 1, 0})})},
         .bookSection = "",
         .create = {}});
    registry.Add<PackedIndexNode>({.name = "PackedIndex",
                                   .aliases = {},
                                   .doc = "Column numbers in the target's minibatch of the positions in index, counted "
                                          "from 0 within each sequence (Where); -1 in gaps. No gradient.",
                                   .inputs = {2, 2},
                                   .inputNames = {"target", "index"},
                                   .traits = traits,
                                   .parameters = {},
                                   .samples = {Case({Layout(Data({2})), Numbers({0, 0, 0, 0, 1, 2, 3, 0, 1, 2, 0, 0})}),
                                               Case({SparseData({3}), Numbers({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})})},
                                   .bookSection = "",
                                   .create = {}});
    registry.Add<GatherPackedNode>(
        {.name = "GatherPacked",
         .aliases = {},
         .doc = "Column j is the source's column index_j (PackedIndex); negative indices give 0.",
         .inputs = {2, 2},
         .inputNames = {"index", "source"},
         .traits = traits,
         .parameters = {},
         .samples = {Case({Numbers(columns), Data({2})}), Case({Numbers(columns), Data({2, 2})}),
                     Case({Numbers(columns), Parameter({3, 5})})},
         .bookSection = "",
         .create = {}});
    registry.Add<ScatterPackedNode>({.name = "ScatterPacked",
                                     .aliases = {},
                                     .doc = "A minibatch with the layout of cond, 0 except for the columns of the "
                                            "source: column j is added to column index_j (PackedIndex).",
                                     .inputs = {3, 3},
                                     .inputNames = {"cond", "index", "source"},
                                     .traits = traits,
                                     .parameters = {},
                                     .samples = {Case({Layout(Data({1})), Numbers(columns), Data({2})}),
                                                 Case({SparseData({3}), Numbers(columns), Data({2})})},
                                     .bookSection = "",
                                     .create = {}});
}

} // namespace cntk
