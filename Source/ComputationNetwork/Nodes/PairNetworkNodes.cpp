// PairNetwork, the connection between two networks (book 2.7.1), and Attention, by which a decoder reads all steps of
// its encoder's output.
#include "Common/Error.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>
#include <unordered_map>

namespace cntk
{

namespace
{

// Passes on the value of its input, which belongs to another network once the two are paired
// (ComputationNetwork::Pair).
class PairNetworkNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        SetShape(Input(0)->SampleLayout(), Input(0)->GetMBLayout());
    }
    void ForwardProp(const FrameRange& range) override { Ops::Copy(Input(0)->Value(range), Value(range)); }
    void BackpropTo(size_t, const FrameRange& range) override
    {
        Ops::Elementwise(ElementwiseOp::Copy, Gradient(range), InputGradient(0, range), 1, 1);
    }
};

// Columns of a sequence: first, first + stride, ...
struct Stretch
{
    size_t first = 0;
    size_t stride = 0;
    size_t steps = 0;
};

// Returns a view of the columns of the stretch.
MatrixView ColumnsOf(const MatrixView& view, const Stretch& stretch)
{
    MatrixView part = view.Columns(stretch.first, stretch.steps);
    part.stride = view.stride * stretch.stride;
    return part;
}

// Computes, for each sequence of the query, the softmax of its inner products with all keys of the same sequence, and
// the average of that sequence's memories by these weights. Each column of the query has its own column of weights.
class AttentionNode final : public ComputationNode
{
public:
    enum InputIndex : size_t
    {
        Memory,
        Keys,
        Query
    };

    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        if (inference.IsFinalPass())
        {
            for (const size_t input : {Memory, Keys, Query})
                if (!Input(input)->HasMBLayout())
                    Fail(ErrorKind::Model, "input ", input, " of Attention, ", DescribeShape(*Input(input)),
                         ", does not change with the samples; expected one column for each step");
            if (Input(Memory)->GetMBLayout() != Input(Keys)->GetMBLayout())
                Fail(ErrorKind::Model, "the memory of Attention, ", DescribeShape(*Input(Memory)), ", and its keys, ",
                     DescribeShape(*Input(Keys)), ", have different minibatch layouts; expected a key for each memory");
            if (Input(Keys)->SampleElements() != Input(Query)->SampleElements())
                Fail(ErrorKind::Model, "the keys of Attention, ", DescribeShape(*Input(Keys)), ", and its query, ",
                     DescribeShape(*Input(Query)), ", must have the same number of rows");
        }
        SetShape(Input(Memory)->SampleLayout(), Input(Query)->GetMBLayout());
    }

    void BeginForwardProp() override
    {
        FindSequences();
        const size_t columns = Input(Query)->GetMBLayout()->Columns();
        for (Matrix* matrix : {&m_weights, &m_scores})
        {
            if (!matrix->IsAllocated())
                *matrix = Matrix(0, 0, GetDataType(), GetDevice());
            matrix->Resize(m_longest, columns);
        }
    }

    void ForwardProp(const FrameRange& range) override
    {
        if (Input(Query)->GetMBLayout()->HasGaps())
            Ops::Fill(Value(range), 0);
        ForEachSequence(range,
                        [&](const Stretch& memory, const Stretch& query)
                        {
                            const MatrixView scores = ScoresOf(m_scores, memory, query);
                            const MatrixView weights = ScoresOf(m_weights, memory, query);
                            Ops::Multiply(ColumnsOf(Input(Keys)->Value(), memory), Ops::Transpose::Yes,
                                          ColumnsOf(Input(Query)->Value(), query), Ops::Transpose::No, scores);
                            Ops::Softmax(scores, weights);
                            Ops::Multiply(ColumnsOf(Input(Memory)->Value(), memory), Ops::Transpose::No, weights,
                                          Ops::Transpose::No, ColumnsOf(Value(), query));
                        });
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const MatrixView target = InputGradient(input, FrameRange::All());
        ForEachSequence(range,
                        [&](const Stretch& memory, const Stretch& query)
                        {
                            const MatrixView gradient = ColumnsOf(Gradient(), query);
                            const MatrixView weights = ScoresOf(m_weights, memory, query);
                            if (input == Memory)
                            {
                                Ops::Multiply(gradient, Ops::Transpose::No, weights, Ops::Transpose::Yes,
                                              ColumnsOf(target, memory), 1, 1);
                                return;
                            }
                            const MatrixView scores = ScoreGradients(memory, query);
                            if (input == Keys)
                                Ops::Multiply(ColumnsOf(Input(Query)->Value(), query), Ops::Transpose::No, scores,
                                              Ops::Transpose::Yes, ColumnsOf(target, memory), 1, 1);
                            else
                                Ops::Multiply(ColumnsOf(Input(Keys)->Value(), memory), Ops::Transpose::No, scores,
                                              Ops::Transpose::No, ColumnsOf(target, query), 1, 1);
                        });
    }

private:
    struct Pair
    {
        Stretch memory;
        Stretch query; // only the steps 0 .. T-1 in the minibatch
        size_t begin = 0;
    };

    template <class Visit>
    static void VisitSequences(const MBLayout& layout, Visit&& visit)
    {
        const size_t rows = layout.ParallelSequences();
        if (layout.IsFrameMode())
            for (size_t i = 0; i < rows; i++)
                visit(SequenceInfo{i, i, 0, 1}, Stretch{i, rows, 1});
        else
            for (const SequenceInfo& sequence : layout.Sequences())
                if (sequence.id != SequenceInfo::c_gap)
                {
                    const size_t begin = size_t(std::max<ptrdiff_t>(sequence.begin, 0));
                    const size_t end = std::min(size_t(sequence.end), layout.TimeSteps());
                    visit(sequence, Stretch{begin * rows + sequence.row, rows, end - begin});
                }
    }

    // Finds the memory that belongs to each sequence of the query.
    void FindSequences()
    {
        const MBLayout& memories = *Input(Memory)->GetMBLayout();
        const MBLayout& queries = *Input(Query)->GetMBLayout();
        if (m_memoryVersion == memories.Version() && m_queryVersion == queries.Version())
            return;
        m_byId.clear();
        m_longest = 0;
        VisitSequences(memories,
                       [&](const SequenceInfo& sequence, const Stretch& stretch)
                       {
                           m_byId[sequence.id] = stretch;
                           m_longest = std::max(m_longest, stretch.steps);
                       });
        m_pairs.clear();
        VisitSequences(queries,
                       [&](const SequenceInfo& sequence, const Stretch& stretch)
                       {
                           const auto found = m_byId.find(sequence.id);
                           if (found == m_byId.end())
                               Fail(ErrorKind::Data, "the minibatch has a sequence ", sequence.id, " of '",
                                    Input(Query)->Name(), "', but none of '", Input(Memory)->Name(),
                                    "' to attend to; expected the same sequences of both");
                           m_pairs.push_back({found->second, stretch, size_t(std::max<ptrdiff_t>(sequence.begin, 0))});
                       });
        m_memoryVersion = memories.Version();
        m_queryVersion = queries.Version();
    }

    // Calls body(memory, query) for each sequence that has columns in the range.
    template <class Body>
    void ForEachSequence(const FrameRange& range, Body&& body) const
    {
        for (const Pair& pair : m_pairs)
        {
            if (range.IsAll())
                body(pair.memory, pair.query);
            else if (range.Time() >= pair.begin && range.Time() < pair.begin + pair.query.steps)
                body(pair.memory,
                     Stretch{pair.query.first + (range.Time() - pair.begin) * pair.query.stride, pair.query.stride, 1});
        }
    }

    // Returns a row for each memory, a column for each query.
    static MatrixView ScoresOf(const Matrix& matrix, const Stretch& memory, const Stretch& query)
    {
        return ColumnsOf(matrix.View(), query).Rows(0, memory.steps);
    }

    MatrixView ScoreGradients(const Stretch& memory, const Stretch& query) const
    {
        const MatrixView weights = ScoresOf(m_weights, memory, query);
        const MatrixView ofWeights = ScoresOf(m_scores, memory, query);
        Ops::Multiply(ColumnsOf(Input(Memory)->Value(), memory), Ops::Transpose::Yes, ColumnsOf(Gradient(), query),
                      Ops::Transpose::No, ofWeights);
        // Computes w .* (d - sum(w .* d)) in place; the sum needs a row of its own.
        MatrixView sums = Temporary(0, FrameRange::All());
        sums = ColumnsOf(sums, query);
        Ops::Elementwise(ElementwiseOp::Product, weights, ofWeights, sums);
        Ops::Elementwise(ElementwiseOp::Difference, ofWeights, sums, ofWeights);
        Ops::Elementwise(ElementwiseOp::Product, weights, ofWeights, ofWeights);
        return ofWeights;
    }

    std::vector<TemporarySpec> Temporaries() const override
    {
        return {TemporaryForSamplesOf(*this, Query, 1, TemporarySpec::Lifetime::ForwardBackward)};
    }

    // One row for each memory of the longest sequence. Their number is known only with the minibatch, and the matrices
    // grow with the largest one.
    Matrix m_weights;
    Matrix m_scores;
    size_t m_longest = 0;
    std::vector<Pair> m_pairs;
    std::unordered_map<size_t, Stretch> m_byId;
    uint64_t m_memoryVersion = UINT64_MAX;
    uint64_t m_queryVersion = UINT64_MAX;
};

using namespace Samples;

} // namespace

void RegisterPairNetworkNodes(NodeRegistry& registry)
{
    registry.Add<PairNetworkNode>(
        {.name = "PairNetwork",
         .aliases = {},
         .doc = "v = x, where x becomes a node of another network, an encoder, when the two are trained together "
                "(action trainEncoderDecoder).",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = {.backpropReadsInputs = false, .backpropReadsOutput = false, .gradientPassesThrough = true},
         .parameters = {},
         .samples = {Case({Data({3})}), Case({Parameter({3, 2})})},
         .bookSection = "2.7.1",
         .create = {}});
    registry.Add<AttentionNode>(
        {.name = "Attention",
         .aliases = {},
         .doc = "v(t) = sum_j w_j memory(j) with the weights w = softmax_j(key(j)' query(t)) over all steps j of the "
                "same sequence. Memory and keys may have another length than the query.",
         .inputs = {3, 3},
         .inputNames = {"memory", "keys", "query"},
         .traits = {.backpropReadsInputs = true,
                    .backpropReadsOutput = false,
                    .inputsReadWhole = 1u << AttentionNode::Memory | 1u << AttentionNode::Keys},
         .parameters = {},
         .samples = {Case({Data({3}), Data({2}), Data({2})}), Case({Data({1}), Data({4}), Data({4})})},
         .bookSection = "",
         .create = {}});
}

} // namespace cntk
