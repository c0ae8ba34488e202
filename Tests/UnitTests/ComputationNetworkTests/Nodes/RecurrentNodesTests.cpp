// PastValue and FutureValue: sequences beside and behind each other, gaps, time steps, truncated sequences, loops in
// both directions.
#include "ComputationNetwork/Evaluation/GradientCheck.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "ComputationNetworkTests/Files/FieldBytes.h"
#include "ComputationNetworkTests/TestNetwork.h"
#include "CudaEmulation/EmulatedGpu.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <optional>

namespace cntk::Testing
{

namespace
{

NodeParameters Delayed(size_t timeStep, double initialValue = 0.1)
{
    NodeParameters parameters;
    parameters.Set("timeStep", std::to_string(timeStep));
    parameters.Set("defaultHiddenActivity", std::to_string(initialValue));
    return parameters;
}

// Row 0: a sequence of 2, then one of 3; row 1: one of 4, then a gap.
void SetTwoRows(MBLayout& layout)
{
    layout.Init(2, 5);
    layout.AddSequence(0, 0, 0, 2);
    layout.AddSequence(1, 0, 2, 5);
    layout.AddSequence(2, 1, 0, 4);
    layout.AddGap(1, 4, 5);
}

std::vector<double> DelayedValues(const std::string& type, size_t timeStep)
{
    TestNetwork net;
    const auto x = net.Input("x", {1});
    const auto delay = net.network.Add(type, "delay", {x}, Delayed(timeStep, -1));
    net.network.Validate();
    SetTwoRows(*net.network.Layout());
    SetInput(x, {10, 20, 11, 21, 12, 22, 13, 23, 14, std::numeric_limits<double>::quiet_NaN()});
    Evaluator evaluator(net.network, {delay}, Checked(false));
    evaluator.Forward();
    return ValueOf(delay);
}

} // namespace

TEST(DelayNode, LooksBackInsideTheSequence)
{
    EXPECT_EQ(DelayedValues("PastValue", 1), (std::vector<double>{-1, -1, 10, 20, -1, 21, 12, 22, 13, -1}));
    EXPECT_EQ(DelayedValues("Delay", 2), (std::vector<double>{-1, -1, -1, -1, -1, 20, -1, 21, 12, -1}));
    EXPECT_EQ(DelayedValues("PastValue", 7), std::vector<double>(10, -1));
}

TEST(DelayNode, LooksAheadInsideTheSequence)
{
    EXPECT_EQ(DelayedValues("FutureValue", 1), (std::vector<double>{11, 21, -1, 22, 13, 23, 14, -1, -1, -1}));
    EXPECT_EQ(DelayedValues("FutureValue", 2), (std::vector<double>{-1, 22, -1, 23, 14, -1, -1, -1, -1, -1}));
}

// Adjacent sequences with the same kind of step are copied by one operation. If one of 16 sequences begins, there are
// three copies, and two operations pass gradients on.
TEST(DelayNode, NeighboursOfOneKindAreOneCopy)
{
    constexpr size_t rows = 16, steps = 4;
    const auto launchesOf = [](bool begins)
    {
        auto owned = std::make_unique<EmulatedRuntime>(EmulatedMemory::Open);
        const CudaEmulation::WorkCounts& counts = owned->Counts();
        TestNetwork net(DataType::Float64, MakeEmulatedGpu(std::move(owned)));
        const auto x = net.Input("x", {3});
        const auto delay = net.Add("PastValue", "delay", {net.Add("DiagTimes", "y", {net.Parameter("p", {3, 1}), x})});
        const auto criterion = net.Add("TestCriterion", "criterion", {delay});
        net.network.Validate();
        MBLayout& layout = *net.network.Layout();
        layout.Init(rows, steps);
        for (size_t row = 0; row < rows; row++)
            layout.AddSequence(row, row, 0, begins && row == 5 ? 2 : steps);
        if (begins)
            layout.AddSequence(rows, 5, 2, steps);
        net.FillInputs();
        Evaluator evaluator(net.network, {criterion}, Checked(true));
        const size_t before = counts.kernels + counts.copies;
        evaluator.Forward();
        evaluator.Backward(criterion);
        return counts.kernels + counts.copies - before;
    };
    // Where nothing begins, all steps but the first are one copy, and each passes its gradient on.
    EXPECT_EQ(launchesOf(true) - launchesOf(false), size_t(4 + 1));
}

TEST(DelayNode, FramesAreSequencesOfTheirOwn)
{
    TestNetwork net;
    const auto x = net.Input("x", {1});
    const auto delay = net.network.Add("PastValue", "delay", {x});
    net.network.Validate();
    net.SetFrames(3);
    SetInput(x, {1, 2, 3});
    Evaluator evaluator(net.network, {delay}, Checked(false));
    evaluator.Forward();
    EXPECT_EQ(ValueOf(delay), std::vector<double>(3, double(0.1f))); // a number in single precision, as in the original
}

TEST(DelayNode, ParametersAreChecked)
{
    TestNetwork net;
    const auto x = net.Input("x", {1});
    NodeParameters parameters;
    parameters.Set("timeStep", "0");
    EXPECT_EQ(MessageOf([&] { net.network.Add("PastValue", "delay", {x}, parameters); }),
              "parameter 'timeStep' is 0; expected a whole number from 1 to 2147483647");
    parameters.Set("timeStep", "2147483648");
    EXPECT_EQ(MessageOf([&] { net.network.Add("PastValue", "delay", {x}, parameters); }),
              "parameter 'timeStep' is 2147483648; expected a whole number from 1 to 2147483647");
    NodeParameters rows;
    rows.Set("rows", "-2");
    EXPECT_EQ(MessageOf([&] { net.network.Add("PastValue", "other", {x}, rows); }),
              "parameter 'rows' is -2; expected 0 (to be inferred) or more");
}

// CNTK v1.1 keeps initial values in single precision, also in networks of double precision.
TEST(DelayNode, StartValuesAreInSinglePrecision)
{
    TestNetwork net;
    const auto x = net.Input("x", {1});
    const auto given = net.network.Add("PastValue", "given", {x}, Delayed(1, 0.3));
    const auto usual = net.network.Add("PastValue", "usual", {x});
    EXPECT_EQ(dynamic_cast<DelayNode&>(*given).InitialValue(), double(0.3f));
    EXPECT_EQ(dynamic_cast<DelayNode&>(*usual).InitialValue(), double(0.1f));
}

// Version 1 has no start value, which is 0.1 in the network's own precision then; versions before 4 have rows and
// columns in place of a shape.
TEST(DelayNode, ReadsFieldsOfAllVersions)
{
    const auto expectDelay =
        [](const FieldBytes& bytes, uint64_t version, size_t timeStep, size_t elements, double start)
    {
        SCOPED_TRACE(version);
        TestNetwork net;
        DelayNode& delay = dynamic_cast<DelayNode&>(*net.network.AddUnconnected("PastValue", "delay", {}));
        bytes.Load(delay, version);
        EXPECT_EQ(delay.TimeStep(), timeStep);
        EXPECT_EQ(delay.DeclaredElements(), elements);
        EXPECT_EQ(delay.InitialValue(), start);
    };
    expectDelay(FieldBytes().Add(int32_t(3)).Add(uint64_t(5)).Add(uint64_t(1)), 1, 3, 5, 0.1);
    for (const uint64_t version : {2, 3})
        expectDelay(FieldBytes().Add(int32_t(2)).Add(uint64_t(4)).Add(uint64_t(1)).Add(-0.5), version, 2, 4, -0.5);
    for (const uint64_t version : {4, 8, 14})
        expectDelay(FieldBytes().Add(int32_t(7)).Shape({2, 3}).Add(0.25), version, 7, 6, 0.25);
    TestNetwork net;
    const auto delay = net.network.AddUnconnected("FutureValue", "delay", {});
    EXPECT_EQ(MessageOf([&] { FieldBytes().Add(int32_t(0)).Shape({2}).Add(0.25).Load(*delay, 8); }),
              "the time step is 0; expected 1 or more");
}

TEST(DelayNode, NeedsMinibatchData)
{
    TestNetwork net;
    net.network.Add("PastValue", "delay", {net.Parameter("W", {2, 3})});
    EXPECT_EQ(MessageOf([&] { net.network.Validate(); }),
              "PastValue needs minibatch data, but 'W' [2 x 3] is the same at all times");
}

// The output shape of RowRepeat for [2 x 1] depends on whether its input has a layout. The first pass over a loop must
// know it.
TEST(DelayNode, LayoutsAreKnownBeforeShapesAreInferredAroundALoop)
{
    TestNetwork net;
    const auto x = net.Input("x", {4});
    NodeParameters declared, half, twice;
    declared.Set("rows", "4");
    half.Set("startRow", "0");
    half.Set("numRows", "2");
    twice.Set("numRepeats", "2");
    const auto past = net.network.Add("PastValue", "past", {x}, declared);
    const auto scaled = net.Add("ElementTimes", "scaled", {net.Parameter("s", {1, 1}), past}); // [4 x 1]
    const auto repeated =
        net.network.Add("RowRepeat", "repeated", {net.network.Add("RowSlice", "half", {scaled}, half)}, twice);
    const auto h = net.Add("Plus", "h", {x, repeated});
    net.network.SetInput(past, 0, h);
    net.network.Validate();
    EXPECT_EQ(net.network.DescribeShape(*repeated), "[4 x *]");
    EXPECT_EQ(net.network.DescribeShape(*h), "[4 x *]");
}

// ---- truncated sequences ----

namespace
{

// h = Tanh(U x + R1 h(t-1) + R2 h(t-step)), under a criterion that weights each element differently.
struct Recurrent : TestNetwork
{
    explicit Recurrent(size_t step, const std::string& type = "PastValue", DataType dataType = DataType::Float64)
        : TestNetwork(dataType)
    {
        x = Input("x", {3});
        const auto ux = Add("Times", "Ux", {Parameter("U", {2, 3}), x});
        const auto first = network.Add(type, "first", {ux}, Delayed(1, 0.2));
        const auto second = network.Add(type, "second", {ux}, Delayed(step, -0.3));
        const auto sum = Add("Plus", "sum",
                             {Add("Times", "Rh", {Parameter("R", {2, 2}), first}),
                              Add("DiagTimes", "Dh", {Parameter("D", {2, 1}), second})});
        h = Add("Tanh", "h", {Add("Plus", "z", {ux, sum})});
        network.SetInput(first, 0, h);
        network.SetInput(second, 0, h);
        criterion = Add("TestCriterion", "criterion", {Add("Times", "y", {Parameter("V", {2, 2}), h})});
        network.Validate();
    }

    // The steps [begin, end) of data with S rows.
    void SetPart(const std::vector<double>& data, size_t rows, size_t begin, size_t end)
    {
        SetInput(x, std::vector<double>(data.begin() + ptrdiff_t(3 * rows * begin),
                                        data.begin() + ptrdiff_t(3 * rows * end)));
    }

    ComputationNodePtr x, h, criterion;
};

// Two rows: one sequence of 6; sequences of 4 and 2. Cut after each `size` steps.
constexpr size_t c_steps = 6;
void SetTruncated(MBLayout& layout, size_t begin, size_t end)
{
    const ptrdiff_t shift = -ptrdiff_t(begin);
    layout.Init(2, end - begin);
    layout.AddSequence(0, 0, 0 + shift, 6 + shift);
    if (begin < 4)
        layout.AddSequence(1, 1, 0 + shift, 4 + shift);
    if (end > 4)
        layout.AddSequence(2, 1, 4 + shift, 6 + shift);
    layout.BeginMinibatch();
}

std::vector<double> Chunked(Recurrent& net, Evaluator& evaluator, size_t size)
{
    const std::vector<double> data = SomeData(3 * 2 * c_steps);
    std::vector<double> values;
    net.network.Layout()->BeginPass();
    for (size_t begin = 0; begin < c_steps; begin += size)
    {
        const size_t end = std::min(begin + size, c_steps);
        SetTruncated(*net.network.Layout(), begin, end);
        net.SetPart(data, 2, begin, end);
        evaluator.Forward();
        evaluator.Forward(); // computing a minibatch again changes nothing
        const std::vector<double> part = ValueOf(net.h);
        values.insert(values.end(), part.begin(), part.end());
    }
    return values;
}

} // namespace

TEST(TruncatedSequences, StateGoesOnInTheNextMinibatch)
{
    for (const size_t step : {1, 2, 3, 5})
    {
        Recurrent net(step);
        Evaluator evaluator(net.network, {net.h}, Checked(false));
        const std::vector<double> whole = Chunked(net, evaluator, c_steps);
        for (const size_t size : {1, 2, 3, 4, 5})
        {
            const std::vector<double> chunked = Chunked(net, evaluator, size);
            ASSERT_EQ(whole.size(), chunked.size());
            for (size_t i = 0; i < whole.size(); i++)
                EXPECT_DOUBLE_EQ(whole[i], chunked[i])
                    << "step " << step << ", chunks of " << size << ", element " << i;
        }
    }
}

TEST(TruncatedSequences, APassBeginsWithoutState)
{
    Recurrent net(2);
    Evaluator evaluator(net.network, {net.h}, Checked(false));
    const std::vector<double> first = Chunked(net, evaluator, 2);
    // The next pass begins in the middle of a sequence: nothing is known of before.
    const std::vector<double> data = SomeData(3 * 2 * c_steps);
    net.network.Layout()->BeginPass();
    SetTruncated(*net.network.Layout(), 2, 4);
    net.SetPart(data, 2, 2, 4);
    evaluator.Forward();
    const std::vector<double> anew = ValueOf(net.h);
    Recurrent other(2);
    Evaluator otherEvaluator(other.network, {other.h}, Checked(false));
    SetTruncated(*other.network.Layout(), 2, 4);
    other.SetPart(data, 2, 2, 4);
    otherEvaluator.Forward();
    EXPECT_EQ(anew, ValueOf(other.h));
    EXPECT_NE(anew, std::vector<double>(first.begin() + 8, first.begin() + 16));
}

// Steps before the pass are unknown for a sequence that began earlier; a delay gives them the initial value. This also
// holds in the next minibatch if the delay is longer than the first one. Sequences that begin with the pass give the
// same values.
TEST(TruncatedSequences, WhatWasBeforeThePassStaysUnknown)
{
    const std::vector<double> data = SomeData(3 * 2 * c_steps);
    for (const size_t step : {2, 3, 4, 5})
    {
        const auto run = [&](ptrdiff_t begin)
        {
            Recurrent net(step);
            Evaluator evaluator(net.network, {net.h}, Checked(false));
            net.network.Layout()->BeginPass(); // one that ends within its sequences
            SetTruncated(*net.network.Layout(), 0, 2);
            net.SetPart(data, 2, 0, 2);
            evaluator.Forward();
            net.network.Layout()->BeginPass();
            std::vector<double> values;
            for (size_t first = 0; first < c_steps; first += 2)
            {
                MBLayout& layout = *net.network.Layout();
                layout.Init(2, 2);
                for (const size_t row : {0, 1})
                    layout.AddSequence(row, row, begin - ptrdiff_t(first), ptrdiff_t(c_steps - first));
                layout.BeginMinibatch();
                net.SetPart(data, 2, first, first + 2);
                evaluator.Forward();
                const std::vector<double> part = ValueOf(net.h);
                values.insert(values.end(), part.begin(), part.end());
            }
            return values;
        };
        EXPECT_EQ(run(-5), run(0)) << step;
    }
}

TEST(TruncatedSequences, TheStateOfAnotherNetworkIsRefused)
{
    const auto run = [](size_t rows, const auto& use)
    {
        TestNetwork net;
        const auto x = net.Input("x", {rows});
        const auto delay = net.network.Add("PastValue", "delay", {x});
        net.network.Validate();
        MBLayout& layout = *net.network.Layout();
        layout.BeginPass();
        layout.Init(1, 2);
        layout.AddSequence(0, 0, 0, 5);
        SetInput(x, SomeData(2 * rows));
        Evaluator evaluator(net.network, {delay}, Checked(false));
        evaluator.Forward();
        use(dynamic_cast<DelayNode&>(*delay));
    };
    std::string state;
    run(3, [&](const DelayNode& delay) { delay.SaveState(state); });
    const auto restore = [&](DelayNode& delay)
    {
        const char* position = state.data();
        delay.RestoreState(position, state.data() + state.size());
        EXPECT_EQ(position, state.data() + state.size());
    };
    run(3, restore);
    EXPECT_EQ(MessageOf([&] { run(2, restore); }),
              "the checkpoint's state of PastValue 'delay' does not fit; 3 numbers instead of 2");
}

namespace
{

// v(t) = x(t-1) of one row, of which each minibatch is a piece of a sequence that began before and goes on.
struct Pieces
{
    explicit Pieces(bool isSparse = false)
    {
        x = net.network.AddInput("x", {3}, isSparse);
        delay = std::dynamic_pointer_cast<DelayNode>(net.network.Add("PastValue", "delay", {x}, Delayed(1, -1)));
        net.network.Validate();
        evaluator.emplace(net.network, std::vector<ComputationNodePtr>{delay}, Checked(false));
        net.network.Layout()->BeginPass();
    }
    // The value of the first step.
    std::vector<double> First(const std::vector<double>& data)
    {
        MBLayout& layout = *net.network.Layout();
        layout.Init(1, data.size() / 3);
        layout.AddSequence(0, 0, -9, 99);
        layout.BeginMinibatch();
        SetInput(x, data);
        evaluator->Forward();
        const std::vector<double> all = ValueOf(delay);
        return {all.begin(), all.begin() + 3};
    }
    TestNetwork net;
    ComputationNodePtr x;
    std::shared_ptr<DelayNode> delay;
    std::optional<Evaluator> evaluator;
};

} // namespace

TEST(TruncatedSequences, SparseWordsGoOn)
{
    for (const bool isSparse : {false, true})
    {
        Pieces pieces(isSparse);
        EXPECT_EQ(pieces.First({1, 0, 0, 0, 0, 5}), (std::vector<double>{-1, -1, -1}));
        EXPECT_EQ(pieces.First({0, 2, 0}), (std::vector<double>{0, 0, 5})) << isSparse;
        EXPECT_EQ(pieces.First({0, 0, 0}), (std::vector<double>{0, 2, 0})) << isSparse;
    }
}

// The pass that was interrupted goes on from what was saved of it, the next one begins without.
TEST(TruncatedSequences, ARestoredStateIsThatOfOnePass)
{
    std::string state;
    Pieces before;
    before.First({1, 2, 3});
    before.delay->SaveState(state);

    Pieces pieces;
    const char* position = state.data();
    pieces.delay->RestoreState(position, state.data() + state.size());
    EXPECT_EQ(pieces.First({4, 5, 6}), (std::vector<double>{1, 2, 3}));
    EXPECT_EQ(pieces.First({7, 8, 9}), (std::vector<double>{4, 5, 6}));
    pieces.net.network.Layout()->BeginPass();
    EXPECT_EQ(pieces.First({4, 5, 6}), (std::vector<double>{-1, -1, -1}));
}

// Rows of other sequences than before cannot go on from theirs: as if their sequences began with the second minibatch.
TEST(TruncatedSequences, AnotherNumberOfRowsBeginsWithoutState)
{
    for (const size_t step : {1, 3, 5})
    {
        const auto run = [&](ptrdiff_t begin)
        {
            Recurrent net(step);
            Evaluator evaluator(net.network, {net.h}, Checked(false));
            MBLayout& layout = *net.network.Layout();
            layout.BeginPass();
            std::vector<double> values;
            for (const ptrdiff_t first : {0, 4, 8})
            {
                const size_t rows = first == 0 ? 2 : 3;
                layout.Init(rows, 4);
                for (size_t row = 0; row < rows; row++)
                    layout.AddSequence(row, row, first == 0 ? 0 : begin - first, 12 - first);
                layout.BeginMinibatch();
                SetInput(net.x, SomeData(3 * rows * 4));
                evaluator.Forward();
                const std::vector<double> part = ValueOf(net.h);
                values.insert(values.end(), part.begin(), part.end());
            }
            return values;
        };
        EXPECT_EQ(run(0), run(4)) << step;
    }
}

TEST(TruncatedSequences, GradientsAgreeWithDifferences)
{
    for (const size_t step : {1, 2, 3})
    {
        Recurrent net(step);
        Evaluator evaluator(net.network, {net.criterion}, Checked(true));
        const std::vector<double> data = SomeData(3 * 2 * c_steps);
        net.network.Layout()->BeginPass();
        for (size_t begin = 0; begin < c_steps; begin += 2)
        {
            SetTruncated(*net.network.Layout(), begin, begin + 2);
            net.SetPart(data, 2, begin, begin + 2);
            ExpectGradientsAgree(evaluator, net.criterion);
        }
    }
}

TEST(TruncatedSequences, EqualWholeOnesWhereNothingIsCut)
{
    const std::vector<double> data = SomeData(3 * 2 * 4);
    const auto gradients = [&](bool truncated)
    {
        Recurrent net(2);
        MBLayout& layout = *net.network.Layout();
        Evaluator evaluator(net.network, {net.criterion}, Checked(true));
        // In truncated mode sequences follow one another in a row; here each takes exactly one minibatch.
        layout.BeginPass();
        std::vector<double> all;
        for (size_t minibatch = 0; minibatch < 2; minibatch++)
        {
            layout.Init(2, 4);
            layout.AddSequence(2 * minibatch, 0, 0, 4);
            layout.AddSequence(2 * minibatch + 1, 1, 0, 4);
            if (truncated)
                layout.BeginMinibatch();
            else
                layout.BeginPass();
            net.SetPart(data, 2, 0, 4);
            evaluator.Forward();
            evaluator.Backward(net.criterion);
            for (const auto& parameter : evaluator.Parameters())
            {
                const std::vector<double> gradient = GradientOf(parameter);
                all.insert(all.end(), gradient.begin(), gradient.end());
            }
        }
        return all;
    };
    EXPECT_EQ(gradients(true), gradients(false));
}

// ---- loops ----

TEST(RecurrentLoop, GradientsThroughTimeWithGapsAndSeveralSequencesInARow)
{
    for (const std::string type : {"PastValue", "FutureValue"})
        for (const size_t step : {1, 2, 3})
        {
            Recurrent net(step, type);
            SetTwoRows(*net.network.Layout());
            net.FillInputs();
            Evaluator evaluator(net.network, {net.criterion}, Checked(true));
            ExpectGradientsAgree(evaluator, net.criterion);
            net.SetSequences({4, 1, 3});
            net.FillInputs(2);
            ExpectGradientsAgree(evaluator, net.criterion);
        }
}

namespace
{

ComputationNodePtr AddLayer(TestNetwork& net, const std::string& name, const std::string& delayType,
                            const ComputationNodePtr& input, size_t rows)
{
    const auto ux = net.Add("Times", name + ".Ux", {net.Parameter(name + ".U", {2, rows}), input});
    NodeParameters parameters;
    parameters.Set("rows", "2");
    const auto delay = net.network.AddUnconnected(delayType, name + ".delay", parameters);
    const auto rh = net.Add("Times", name + ".Rh", {net.Parameter(name + ".R", {2, 2}), delay});
    const auto sum =
        net.Add("Plus", name + ".sum", {net.Add("Plus", name + ".z", {ux, rh}), net.Parameter(name + ".b", {2, 1})});
    const auto h = net.Add("Sigmoid", name + ".h", {sum});
    net.network.SetInputs(delay, {h});
    return h;
}

} // namespace

TEST(RecurrentLoop, BothDirectionsInOneNetwork)
{
    TestNetwork net;
    const auto x = net.Input("x", {3});
    const auto forward = AddLayer(net, "forward", "PastValue", x, 3);
    const auto backward = AddLayer(net, "backward", "FutureValue", x, 3);
    const auto both = net.Add("Plus", "both", {forward, backward});
    const auto top = AddLayer(net, "top", "FutureValue", both, 2);
    const auto criterion = net.Add("TestCriterion", "criterion", {top});
    net.network.Validate();
    SetTwoRows(*net.network.Layout());
    net.FillInputs();
    Evaluator evaluator(net.network, {criterion}, Checked(true));
    ExpectGradientsAgree(evaluator, criterion);
    size_t loops = 0;
    for (const PlanStep& step : evaluator.Plan().Steps())
        loops += step.kind == PlanStep::Kind::Loop;
    EXPECT_EQ(loops, 3u);
}

TEST(RecurrentLoop, NestedLoopsAreOne)
{
    TestNetwork net;
    const auto x = net.Input("x", {2});
    NodeParameters rows;
    rows.Set("rows", "2");
    const auto inner = net.network.AddUnconnected("PastValue", "inner", rows);
    const auto outer = net.network.AddUnconnected("PastValue", "outer", rows);
    const auto a = net.Add("Tanh", "a",
                           {net.Add("Plus", "a0", {x, net.Add("Times", "a1", {net.Parameter("Wa", {2, 2}), inner})})});
    const auto b = net.Add("Tanh", "b",
                           {net.Add("Plus", "b0", {a, net.Add("Times", "b1", {net.Parameter("Wb", {2, 2}), outer})})});
    net.network.SetInputs(inner, {net.Add("Plus", "c", {a, b})});
    net.network.SetInputs(outer, {b});
    const auto criterion = net.Add("TestCriterion", "criterion", {b});
    net.network.Validate();
    SetTwoRows(*net.network.Layout());
    net.FillInputs();
    Evaluator evaluator(net.network, {criterion}, Checked(true));
    ExpectGradientsAgree(evaluator, criterion);
}

TEST(RecurrentLoop, OppositeDirectionsAreAnErrorThatListsTheNodes)
{
    TestNetwork net;
    const auto x = net.Input("x", {2});
    const auto past = net.network.AddUnconnected("PastValue", "past");
    const auto future = net.network.AddUnconnected("FutureValue", "future");
    const auto h = net.Add("Plus", "h", {net.Add("Plus", "s", {past, future}), x});
    net.network.SetInputs(past, {h});
    net.network.SetInputs(future, {h});
    EXPECT_EQ(MessageOf([&] { net.network.Validate(); }),
              "the delay nodes 'past' (PastValue) and 'future' (FutureValue) of one recurrent loop point in opposite "
              "directions; the nodes of the loop are past (PastValue), future (FutureValue), s (Plus), h (Plus)");
}

} // namespace cntk::Testing
