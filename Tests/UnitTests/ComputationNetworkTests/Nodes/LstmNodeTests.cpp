// LSTM: its values against formulas written out, truncated sequences, the state of checkpoints, wrong shapes.
#include "ComputationNetwork/Evaluation/GradientCheck.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "ComputationNetworkTests/Files/FieldBytes.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace cntk::Testing
{

namespace
{

constexpr size_t c_inputs = 3, c_cells = 2;

struct LstmNetwork : TestNetwork
{
    LstmNetwork()
    {
        x = Input("x", {c_inputs});
        for (const char* name : {"i", "f", "o"})
            weights.push_back(Parameter(name, {c_cells, c_inputs + c_cells + 2}));
        weights.push_back(Parameter("c", {c_cells, c_inputs + c_cells + 1}));
        h = Add("LSTM", "h", {x, weights[0], weights[1], weights[2], weights[3]});
        criterion = Add("TestCriterion", "criterion", {Add("Times", "y", {Parameter("V", {2, c_cells}), h})});
        network.Validate();
    }
    void Set(const std::vector<double>& values)
    {
        dynamic_cast<InputValueNode&>(*x).SetDense(values.data(), c_inputs, values.size() / c_inputs);
    }

    ComputationNodePtr x, h, criterion;
    std::vector<ComputationNodePtr> weights;
};

// The outputs of one sequence, written out for a single cell at a time.
std::vector<double> Outputs(const LstmNetwork& net, const std::vector<double>& x)
{
    std::array<std::vector<double>, 4> w;
    for (size_t gate = 0; gate < 4; gate++)
        w[gate] = ValueOf(net.weights[gate]);
    const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
    std::vector<double> h(c_cells, 0), c(c_cells, double(0.1f)), all;
    for (size_t time = 0; time < x.size() / c_inputs; time++)
    {
        const std::vector<double> before = h, cBefore = c;
        for (size_t cell = 0; cell < c_cells; cell++)
        {
            const auto sum = [&](size_t gate)
            {
                double z = w[gate][cell];
                for (size_t j = 0; j < c_inputs; j++)
                    z += w[gate][(1 + j) * c_cells + cell] * x[time * c_inputs + j];
                for (size_t j = 0; j < c_cells; j++)
                    z += w[gate][(1 + c_inputs + j) * c_cells + cell] * before[j];
                return z;
            };
            const size_t peephole = (1 + c_inputs + c_cells) * c_cells + cell;
            const double i = sigmoid(sum(0) + w[0][peephole] * cBefore[cell]);
            const double f = sigmoid(sum(1) + w[1][peephole] * cBefore[cell]);
            c[cell] = f * cBefore[cell] + i * std::tanh(sum(3));
            h[cell] = sigmoid(sum(2) + w[2][peephole] * c[cell]) * std::tanh(c[cell]);
        }
        all.insert(all.end(), h.begin(), h.end());
    }
    return all;
}

// Steps [begin, end) of two rows: one sequence of 6; sequences of 4 and 2.
constexpr size_t c_lstmSteps = 6;
void SetPart(LstmNetwork& net, const std::vector<double>& data, size_t begin, size_t end)
{
    MBLayout& layout = *net.network.Layout();
    const ptrdiff_t shift = -ptrdiff_t(begin);
    layout.Init(2, end - begin);
    layout.AddSequence(0, 0, 0 + shift, 6 + shift);
    if (begin < 4)
        layout.AddSequence(1, 1, 0 + shift, 4 + shift);
    if (end > 4)
        layout.AddSequence(2, 1, 4 + shift, 6 + shift);
    layout.BeginMinibatch();
    net.Set(std::vector<double>(data.begin() + ptrdiff_t(2 * c_inputs * begin),
                                data.begin() + ptrdiff_t(2 * c_inputs * end)));
}

std::vector<double> Chunked(LstmNetwork& net, Evaluator& evaluator, size_t size)
{
    const std::vector<double> data = SomeData(c_inputs * 2 * c_lstmSteps);
    std::vector<double> values;
    net.network.Layout()->BeginPass();
    for (size_t begin = 0; begin < c_lstmSteps; begin += size)
    {
        SetPart(net, data, begin, std::min(begin + size, c_lstmSteps));
        evaluator.Forward();
        evaluator.Forward(); // computing a minibatch again changes nothing
        const std::vector<double> part = ValueOf(net.h);
        values.insert(values.end(), part.begin(), part.end());
    }
    return values;
}

} // namespace

// Version 1 has nothing but the state before the first step, later ones the sizes, which the inputs say, too.
TEST(LstmNode, ReadsFieldsOfAllVersions)
{
    for (const uint64_t version : {1, 2, 8})
    {
        SCOPED_TRACE(version);
        LstmNetwork net;
        FieldBytes bytes;
        if (version > 1)
            bytes.Add(uint64_t(c_inputs)).Add(uint64_t(c_cells));
        bytes.Add(0.1 + double(version)).Load(*net.h, version);
        for (const ComputationNodePtr& weights : net.weights)
            dynamic_cast<LearnableParameterNode&>(*weights).InitFixed(0);
        net.network.Layout()->InitAsFrameMode(1);
        net.Set({0, 0, 0});
        Evaluator evaluator(net.network, {net.h}, Checked(false));
        evaluator.Forward();
        // All gates are 1/2, so the cell is half of what it was.
        const double expected = 0.5 * std::tanh(0.5 * (0.1 + double(version)));
        for (const double value : ValueOf(net.h))
            EXPECT_NEAR(value, expected, 1e-15);
    }
}

// Rows of other sequences than before cannot go on from theirs: as if their sequences began with the minibatch.
TEST(LstmNode, AnotherNumberOfRowsBeginsWithoutState)
{
    const auto run = [](ptrdiff_t begin)
    {
        LstmNetwork net;
        Evaluator evaluator(net.network, {net.h}, Checked(false));
        MBLayout& layout = *net.network.Layout();
        layout.BeginPass();
        for (const size_t rows : {2, 3})
        {
            layout.Init(rows, 2);
            for (size_t row = 0; row < rows; row++)
                layout.AddSequence(row, row, rows == 2 ? 0 : begin, 4);
            layout.BeginMinibatch();
            net.Set(SomeData(c_inputs * rows * 2));
            evaluator.Forward();
        }
        return ValueOf(net.h);
    };
    EXPECT_EQ(run(-2), run(0));
}

TEST(LstmNode, ComputesTheFormulas)
{
    LstmNetwork net;
    MBLayout& layout = *net.network.Layout();
    layout.Init(2, 5);
    layout.AddSequence(0, 0, 0, 2);
    layout.AddSequence(1, 0, 2, 5);
    layout.AddSequence(2, 1, 0, 4);
    layout.AddGap(1, 4, 5);
    std::vector<double> data = SomeData(c_inputs * 10);
    std::fill(data.end() - c_inputs, data.end(), std::numeric_limits<double>::quiet_NaN());
    net.Set(data);
    Evaluator evaluator(net.network, {net.h}, Checked(false));
    evaluator.Forward();
    const std::vector<double> values = ValueOf(net.h);
    const auto expectSequence = [&](size_t row, size_t begin, size_t end)
    {
        std::vector<double> x, h;
        for (size_t time = begin; time < end; time++)
        {
            x.insert(x.end(), data.begin() + ptrdiff_t((2 * time + row) * c_inputs),
                     data.begin() + ptrdiff_t((2 * time + row + 1) * c_inputs));
            h.insert(h.end(), values.begin() + ptrdiff_t((2 * time + row) * c_cells),
                     values.begin() + ptrdiff_t((2 * time + row + 1) * c_cells));
        }
        const std::vector<double> expected = Outputs(net, x);
        ASSERT_EQ(h.size(), expected.size());
        for (size_t i = 0; i < h.size(); i++)
            EXPECT_NEAR(h[i], expected[i], 1e-14) << "row " << row << " from " << begin << ", element " << i;
    };
    expectSequence(0, 0, 2);
    expectSequence(0, 2, 5);
    expectSequence(1, 0, 4);
}

TEST(LstmNode, StateGoesOnInTheNextMinibatch)
{
    LstmNetwork net;
    Evaluator evaluator(net.network, {net.h}, Checked(false));
    const std::vector<double> whole = Chunked(net, evaluator, c_lstmSteps);
    for (const size_t size : {1, 2, 3, 4, 5})
    {
        const std::vector<double> chunked = Chunked(net, evaluator, size);
        ASSERT_EQ(whole.size(), chunked.size());
        for (size_t i = 0; i < whole.size(); i++)
            EXPECT_NEAR(whole[i], chunked[i], 1e-15) << "chunks of " << size << ", element " << i;
    }
}

TEST(LstmNode, GradientsOfTruncatedSequencesAgreeWithDifferences)
{
    LstmNetwork net;
    Evaluator evaluator(net.network, {net.criterion}, Checked(true));
    const std::vector<double> data = SomeData(c_inputs * 2 * c_lstmSteps);
    net.network.Layout()->BeginPass();
    for (size_t begin = 0; begin < c_lstmSteps; begin += 3)
    {
        SetPart(net, data, begin, begin + 3);
        for (const GradientComparison& one : CompareGradients(evaluator, net.criterion))
            EXPECT_NEAR(one.backpropagated, one.numeric, 1e-6 * std::max(1.0, std::abs(one.numeric)))
                << one.parameter->Name() << " (" << one.row << ", " << one.column << ")";
    }
}

TEST(LstmNode, StateIsSavedAndRestored)
{
    const std::vector<double> data = SomeData(c_inputs * 2 * c_lstmSteps);
    LstmNetwork net;
    Evaluator evaluator(net.network, {net.h}, Checked(false));
    net.network.Layout()->BeginPass();
    SetPart(net, data, 0, 3);
    evaluator.Forward();
    std::string bytes = "before";
    dynamic_cast<RecurrentState&>(*net.h).SaveState(bytes);
    SetPart(net, data, 3, 6);
    evaluator.Forward();
    const std::vector<double> expected = ValueOf(net.h);

    LstmNetwork other;
    Evaluator otherEvaluator(other.network, {other.h}, Checked(false));
    other.network.Layout()->BeginPass();
    const char* position = bytes.data() + 6;
    dynamic_cast<RecurrentState&>(*other.h).RestoreState(position, bytes.data() + bytes.size());
    EXPECT_EQ(position, bytes.data() + bytes.size());
    SetPart(other, data, 3, 6);
    otherEvaluator.Forward();
    EXPECT_EQ(ValueOf(other.h), expected);

    position = bytes.data() + 6;
    EXPECT_EQ(
        MessageOf([&]
                  { dynamic_cast<RecurrentState&>(*other.h).RestoreState(position, bytes.data() + bytes.size() - 8); }),
        "the checkpoint's state of LSTM 'h' does not fit: 2 parallel sequences of 4 numbers are not there");
}

TEST(LstmNode, InfersTheSizesOfItsWeights)
{
    TestNetwork net;
    const auto x = net.Input("x", {3});
    const auto i = net.Parameter("i", {2, 7});
    const auto f = net.Parameter("f", {0, 0}), o = net.Parameter("o", {0, 0}), c = net.Parameter("c", {2, 0});
    const auto h = net.Add("LSTM", "h", {x, i, f, o, c});
    net.network.Validate();
    EXPECT_EQ(net.network.DescribeShape(*f), "[2 x 7]");
    EXPECT_EQ(net.network.DescribeShape(*o), "[2 x 7]");
    EXPECT_EQ(net.network.DescribeShape(*c), "[2 x 6]");
    EXPECT_EQ(net.network.DescribeShape(*h), "[2 x *]");
}

TEST(LstmNode, ShapesThatDoNotFit)
{
    TestNetwork net;
    const auto x = net.Input("x", {3});
    const auto gate = net.Parameter("gate", {2, 7}), cell = net.Parameter("cell", {2, 7});
    net.Add("LSTM", "h", {x, gate, gate, gate, cell});
    EXPECT_EQ(
        MessageOf([&] { net.network.Validate(); }),
        "the cell weights of LSTM are 'cell' [2 x 7]; expected a parameter [2 x 6]: a column of biases, 3 for the "
        "data, 2 for the output before");
    TestNetwork other;
    const auto w = other.Parameter("w", {2, 7});
    other.Add("LSTM", "h", {other.Input("x", {3}), w, other.Parameter("f", {3, 7}), w, other.Parameter("c", {2, 6})});
    EXPECT_EQ(MessageOf([&] { other.network.Validate(); }),
              "the forgetGate weights of LSTM are 'f' [3 x 7]; expected a parameter [2 x 7]: a column of biases, 3 for "
              "the data, 2 for the output before and one for the cell");
    TestNetwork third;
    const auto v = third.Parameter("v", {2, 7});
    third.Add("LSTM", "h", {third.Parameter("x", {3}), v, v, v, third.Parameter("c", {2, 6})});
    EXPECT_EQ(MessageOf([&] { third.network.Validate(); }),
              "LSTM needs minibatch data, but 'x' [3] is the same at all times");
}

} // namespace cntk::Testing
