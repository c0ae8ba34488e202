// State of recurrent nodes over joined or split frames, carried from minibatch to minibatch and from a checkpoint.
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <cmath>
#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

constexpr size_t c_sequenceRows = 2, c_inputRows = 2, c_steps = 12;

// A loop and an LSTM layer over frames of `rows` elements; the result is split into the input's frames again.
struct ReshapedLoop : TestNetwork
{
    explicit ReshapedLoop(size_t rows)
    {
        const auto reshape = [&](const char* name, const ComputationNodePtr& node, size_t numRows)
        {
            NodeParameters parameters;
            parameters.Set("numRows", std::to_string(numRows));
            return network.Add("LegacyReshape", name, {node}, parameters);
        };
        const auto square = [&](const char* name, size_t columns) { return Parameter(name, {rows, columns}); };
        x = Input("x", {c_inputRows});
        const auto frames = reshape("frames", x, rows);
        NodeParameters parameters;
        parameters.Set("rows", std::to_string(rows));
        parameters.Set("timeStep", "2");
        before = network.AddUnconnected("PastValue", "before", parameters);
        const auto h =
            Add("Tanh", "h", {Add("Plus", "sum", {frames, Add("Times", "Rh", {square("R", rows), before})})});
        network.SetInputs(before, {h});
        const size_t all = 2 * rows + 2;
        cells = Add("LSTM", "cells", {h, square("i", all), square("f", all), square("o", all), square("c", all - 1)});
        out = Add("Plus", "out", {reshape("again", cells, c_inputRows), x});
        network.Validate();
    }

    // Steps [begin, end) of two parallel sequences, and of two sequences one after the other.
    void SetPart(size_t begin, size_t end)
    {
        MBLayout& layout = *network.Layout();
        const ptrdiff_t shift = -ptrdiff_t(begin);
        layout.Init(c_sequenceRows, end - begin);
        layout.AddSequence(0, 0, shift, ptrdiff_t(c_steps) + shift);
        if (begin < 6)
            layout.AddSequence(1, 1, shift, 6 + shift);
        if (end > 6)
            layout.AddSequence(2, 1, 6 + shift, ptrdiff_t(c_steps) + shift);
        layout.BeginMinibatch();
        std::vector<double> values;
        for (size_t i = begin * c_sequenceRows * c_inputRows; i < end * c_sequenceRows * c_inputRows; ++i)
            values.push_back(std::sin(0.7 * double(i) + 1));
        dynamic_cast<InputValueNode&>(*x).SetDense(values.data(), c_inputRows, values.size() / c_inputRows);
    }

    std::vector<double> Values(Evaluator& evaluator, size_t begin, size_t end, size_t size)
    {
        std::vector<double> all;
        for (; begin < end; begin += size)
        {
            SetPart(begin, begin + size);
            evaluator.Forward();
            evaluator.Forward(); // computing a minibatch again changes nothing
            const std::vector<double> part = ValueOf(out);
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    }

    std::vector<RecurrentState*> States() const
    {
        return {&dynamic_cast<RecurrentState&>(*before), &dynamic_cast<RecurrentState&>(*cells)};
    }

    ComputationNodePtr x, before, cells, out;
};

// Half frames, and frames joined from two or three of the input's frames.
constexpr size_t c_frameRows[] = {1, 4, 6};

} // namespace

TEST(DerivedLayouts, StateGoesOnFromMinibatchToMinibatch)
{
    for (const size_t rows : c_frameRows)
    {
        ReshapedLoop net(rows);
        Evaluator evaluator(net.network, {net.out}, Checked(false));
        net.network.Layout()->BeginPass();
        const std::vector<double> whole = net.Values(evaluator, 0, c_steps, c_steps);
        ASSERT_EQ(whole.size(), c_steps * c_sequenceRows * c_inputRows);
        for (int pass = 0; pass < 2; ++pass) // each pass begins anew
        {
            net.network.Layout()->BeginPass();
            EXPECT_EQ(net.Values(evaluator, 0, c_steps, 6), whole) << rows;
        }
    }
}

// Also if the previous pass ended within its sequences.
TEST(DerivedLayouts, APassBeginsWithoutState)
{
    for (const size_t rows : c_frameRows)
    {
        ReshapedLoop net(rows), other(rows);
        Evaluator evaluator(net.network, {net.out}, Checked(false)), fresh(other.network, {other.out}, Checked(false));
        net.network.Layout()->BeginPass();
        net.Values(evaluator, 0, 6, 6);
        for (ReshapedLoop* each : {&net, &other})
            each->network.Layout()->BeginPass();
        EXPECT_EQ(net.Values(evaluator, 6, c_steps, 6), other.Values(fresh, 6, c_steps, 6)) << rows;
    }
}

// A sequence that began three steps before the minibatch began two pairs of steps before it.
TEST(DerivedLayouts, BeginningsAreRoundedAwayFromTheMinibatch)
{
    ReshapedLoop net(4);
    MBLayout& layout = *net.network.Layout();
    layout.Init(1, 4);
    layout.AddSequence(5, 0, -3, 7);
    net.network.UpdateLayout(*net.before->GetMBLayout());
    EXPECT_EQ(net.before->GetMBLayout()->Sequences(), (std::vector<SequenceInfo>{{5, 0, -2, 4}}));
}

TEST(DerivedLayouts, StateIsSavedAndRestored)
{
    for (const size_t rows : c_frameRows)
    {
        ReshapedLoop net(rows);
        Evaluator evaluator(net.network, {net.out}, Checked(false));
        net.network.Layout()->BeginPass();
        net.Values(evaluator, 0, 6, 6);
        std::string bytes;
        for (const RecurrentState* state : net.States())
            state->SaveState(bytes);
        const std::vector<double> expected = net.Values(evaluator, 6, c_steps, 6);

        ReshapedLoop other(rows);
        Evaluator otherEvaluator(other.network, {other.out}, Checked(false));
        other.network.Layout()->BeginPass();
        const char* position = bytes.data();
        for (RecurrentState* state : other.States())
            state->RestoreState(position, bytes.data() + bytes.size());
        EXPECT_EQ(position, bytes.data() + bytes.size());
        EXPECT_EQ(other.Values(otherEvaluator, 6, c_steps, 6), expected) << rows;
        // A new pass drops the restored state.
        other.network.Layout()->BeginPass();
        net.network.Layout()->BeginPass();
        EXPECT_EQ(other.Values(otherEvaluator, 6, c_steps, 6), net.Values(evaluator, 6, c_steps, 6)) << rows;
    }
}

} // namespace cntk::Testing
