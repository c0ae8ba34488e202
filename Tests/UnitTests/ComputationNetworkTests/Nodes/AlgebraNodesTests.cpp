// Look-ups, negative samples and interleaved streams: values against loops, gaps, and errors.
#include "ComputationNetworkTests/TestNetwork.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

using testing::ElementsAre;

ComputationNodePtr Matrix(TestNetwork& net, const std::string& name, const TensorShape& shape,
                          const std::vector<double>& values)
{
    const ComputationNodePtr node = net.Parameter(name, shape);
    std::dynamic_pointer_cast<LearnableParameterNode>(node)->Values().FromHost(values);
    return node;
}

ComputationNodePtr Number(TestNetwork& net, const std::string& name, double value)
{
    const ComputationNodePtr node = Matrix(net, name, {1, 1}, {value});
    std::dynamic_pointer_cast<LearnableParameterNode>(node)->SetLearningRateMultiplier(0);
    return node;
}

// ---- LookupTable ----

struct LookupResult
{
    std::vector<double> value, gradient;
    std::vector<int32_t> touched;
    bool isDense = false;
};

// Samples of two words, with words 2 and 0, then 0 and 1.
LookupResult LookUp(bool sparse)
{
    TestNetwork net;
    net.SetFrames(2);
    const ComputationNodePtr table = Matrix(net, "E", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
    const ComputationNodePtr words = net.network.AddInput("words", {8}, sparse);
    const ComputationNodePtr y = net.Add("LookupTable", "y", {table, words});
    const ComputationNodePtr c = net.Add("SumElements", "c", {y});
    net.network.Validate();
    const double data[] = {0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
    dynamic_cast<InputValueNode&>(*words).SetDense(data, 8, 2);
    EvaluatorOptions options;
    options.training = true;
    options.keepValues = {y};
    Evaluator evaluator(net.network, {c}, options);
    LookupResult result;
    for (int pass = 0; pass < 2; pass++) // what the first leaves behind is none of the second's
    {
        evaluator.Forward();
        evaluator.Backward(c);
        result = {ValueOf(y), GradientOf(table), table->GradientColumns().columns, table->GradientColumns().all};
    }
    return result;
}

TEST(LookupTableTest, SparseAndDenseWordsGiveTheSame)
{
    for (const bool sparse : {false, true})
    {
        const LookupResult result = LookUp(sparse);
        EXPECT_THAT(result.value, ElementsAre(5, 6, 1, 2, 1, 2, 3, 4)) << sparse;
        EXPECT_THAT(result.gradient, ElementsAre(2, 2, 1, 1, 1, 1, 0, 0)) << sparse;
        EXPECT_EQ(result.isDense, !sparse);
        if (sparse)
        {
            EXPECT_THAT(result.touched, ElementsAre(0, 1, 2));
        }
    }
}

TEST(LookupTableTest, WordsMustFitTheTable)
{
    TestNetwork net;
    net.Add("LookupTable", "y", {net.Parameter("E", {2, 4}), net.Input("x", {6})});
    EXPECT_EQ(MessageOf([&] { net.network.Validate(); }),
              "LookupTable('E' [2 x 4], 'x' [6]): the words have 6 rows; expected 4, as many as the table has columns, "
              "or a multiple of that");
    TestNetwork data;
    data.Add("LookupTable", "y", {data.Input("E", {2}), data.Input("x", {6})});
    EXPECT_EQ(MessageOf([&] { data.network.Validate(); }),
              "the table of LookupTable, 'E' [2], changes with the samples; expected a parameter, with a column for "
              "each word");
}

// ---- CosDistanceWithNegativeSamples ----

TEST(NegativeSamplesTest, ComparesWithTheSamplesThatFollow)
{
    TestNetwork net;
    net.SetSequences({3, 2}); // columns: s0 t0, s1 t0, s0 t1, s1 t1, s0 t2, gap
    const ComputationNodePtr x = net.Input("x", {2});
    const ComputationNodePtr y = net.Input("y", {2});
    const ComputationNodePtr v =
        net.Add("CosWithNegSamples", "v", {x, y, Number(net, "shift", 2), Number(net, "n", 4)});
    net.network.Validate();
    const double noNumber = std::nan("");
    const double angles[2][5] = {{0, 1, 2, 3, 4}, {0.5, 1.75, 2, 2.5, 6}};
    for (const int input : {0, 1})
    {
        std::vector<double> values;
        for (const double angle : angles[input])
        {
            values.push_back(3 * std::cos(angle));
            values.push_back(3 * std::sin(angle));
        }
        values.insert(values.end(), 2, noNumber);
        dynamic_cast<InputValueNode&>(*(input == 0 ? x : y)).SetDense(values.data(), 2, 6);
    }
    Evaluator evaluator(net.network, {v}, {});
    evaluator.Forward();
    const std::vector<double> value = ValueOf(v);
    for (size_t sample = 0; sample < 5; sample++)
        for (size_t row = 0; row <= 4; row++)
        {
            const size_t partner = row == 0 ? sample : (sample + 2 + row - 1) % 5;
            EXPECT_NEAR(value[sample * 5 + row], std::cos(angles[0][sample] - angles[1][partner]), 1e-12)
                << sample << ", " << row;
        }
}

TEST(NegativeSamplesTest, NumbersComeFromConstants)
{
    const auto message = [](const std::function<ComputationNodePtr(TestNetwork&)>& shift, const TensorShape& shape)
    {
        TestNetwork net;
        net.Add("CosDistanceWithNegativeSamples", "v",
                {net.Input("x", {2}), net.Input("y", shape), shift(net), Number(net, "n", 1)});
        return MessageOf([&] { net.network.Validate(); });
    };
    EXPECT_EQ(message([](TestNetwork& net) { return Number(net, "s", 0.5); }, {2}),
              "'s' is 0.5; CosDistanceWithNegativeSamples takes a shift there, a whole number of 0 or more");
    EXPECT_EQ(message([](TestNetwork& net) { return net.Input("s", {1}); }, {2}),
              "CosDistanceWithNegativeSamples takes the shift from a 1x1 constant, but 's' (InputValue) is none");
    EXPECT_EQ(message([](TestNetwork& net) { return Number(net, "s", 1); }, {3}),
              "CosDistanceWithNegativeSamples compares the columns of 'x' [2] with those of 'y' [3]; expected operands "
              "of one size");
}

// The inverse of a norm of 0 is 1e30.
namespace
{

struct Similarity
{
    std::vector<double> value;
    std::vector<double> gradients[2];
};

// Returns the cosine of two columns. Both node types compute the same for a single pair.
Similarity SimilarityOf(const std::string& type, DataType dataType, const std::vector<double>& x,
                        const std::vector<double>& y)
{
    TestNetwork net(dataType);
    std::vector<ComputationNodePtr> inputs{Matrix(net, "x", {2, 1}, x), Matrix(net, "y", {2, 1}, y)};
    if (type != "CosDistance")
        inputs.insert(inputs.end(), {Number(net, "shift", 0), Number(net, "n", 0)});
    const ComputationNodePtr v = net.Add(type, "v", inputs);
    net.network.Validate();
    EvaluatorOptions options;
    options.training = true;
    Evaluator evaluator(net.network, {v}, options);
    evaluator.Forward();
    evaluator.Backward(v);
    return {ValueOf(v), {GradientOf(inputs[0]), GradientOf(inputs[1])}};
}

} // namespace

TEST(CosDistanceTest, ZerosHaveNoDirection)
{
    for (const char* type : {"CosDistance", "CosDistanceWithNegativeSamples"})
    {
        const Similarity result = SimilarityOf(type, DataType::Float64, {0, 0}, {3, 4});
        EXPECT_THAT(result.value, ElementsAre(0)) << type;
        EXPECT_THAT(result.gradients[0], ElementsAre(testing::DoubleEq(0.6e30), testing::DoubleEq(0.8e30))) << type;
        EXPECT_THAT(result.gradients[1], ElementsAre(0, 0)) << type;
    }
}

// Two columns of 0 have no gradient, and those of very small numbers no infinite one: neither in single precision,
// where the inverse norms' product is infinite.
TEST(CosDistanceTest, SmallColumnsHaveFiniteGradients)
{
    for (const DataType dataType : {DataType::Float32, DataType::Float64})
        for (const char* type : {"CosDistance", "CosDistanceWithNegativeSamples"})
            for (const double size : {0.0, 1e-25})
            {
                const Similarity result = SimilarityOf(type, dataType, {size, 0}, {size, 0});
                for (const std::vector<double>& gradient : result.gradients)
                {
                    EXPECT_TRUE(std::isfinite(gradient[0])) << type << ", " << size;
                    EXPECT_EQ(gradient[1], 0) << type << ", " << size;
                    if (size == 0)
                    {
                        EXPECT_EQ(gradient[0], 0) << type;
                    }
                }
            }
}

// ---- StrideTimes ----

TEST(StrideTimesTest, StreamsLieInColumnsOrRows)
{
    TestNetwork net;
    const ComputationNodePtr one = Number(net, "one", 1);
    const ComputationNodePtr zero = Number(net, "zero", 0);
    const ComputationNodePtr a = Matrix(net, "a", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
    const ComputationNodePtr b = Matrix(net, "b", {2, 3}, {1, 10, 2, 20, 3, 30});
    const ComputationNodePtr columns = net.Add("StrideTimes", "columns", {a, b, one});
    const ComputationNodePtr c = Matrix(net, "c", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    const ComputationNodePtr d = Matrix(net, "d", {2, 2}, {1, 10, 2, 20});
    const ComputationNodePtr rows = net.Add("StrideTimes", "rows", {c, d, zero});
    net.network.Validate();
    Evaluator evaluator(net.network, {columns, rows}, {});
    evaluator.Forward();
    // Stream 0 has columns 0 and 2 of a, stream 1 columns 1 and 3; column 2 of b is stream 0's again.
    EXPECT_THAT(ValueOf(columns), ElementsAre(51, 62, 146, 168, 153, 186));
    // Stream 0 has rows 0 and 2 of c, stream 1 rows 1 and 3.
    EXPECT_THAT(ValueOf(rows), ElementsAre(51, 73, 124, 168));
}

TEST(StrideTimesTest, OperandsMustFit)
{
    const auto message = [](const TensorShape& a, double stride)
    {
        TestNetwork net;
        net.Add("StrideTimes", "v", {net.Parameter("a", a), net.Parameter("b", {2, 3}), Number(net, "s", stride)});
        return MessageOf([&] { net.network.Validate(); });
    };
    EXPECT_EQ(message({2, 5}, 1), "StrideTimes('a' [2 x 5], 'b' [2 x 3]): the columns of the left operand must be a "
                                  "multiple of the rows of the right one");
    EXPECT_EQ(message({2, 2}, 0),
              "StrideTimes('a' [2 x 2], 'b' [2 x 3]): the left operand must have as many columns as "
              "the right one has rows, and a multiple of its columns as rows");
    EXPECT_EQ(message({2, 6}, 2), "the stride of StrideTimes, 's', is 2; expected 0 (streams in the rows), 1 (in the "
                                  "columns) or the number of streams, 3");
    TestNetwork net;
    net.Add("StrideTimes", "v", {net.Input("a", {2, 4}), net.Parameter("b", {2, 3}), Number(net, "s", 1)});
    EXPECT_EQ(MessageOf([&] { net.network.Validate(); }),
              "StrideTimes('a' [2 x 4], 'b' [2 x 3]): where only the left operand changes with the samples, the right "
              "one needs a column for each of the 2 streams");
}

// The definition, element by element, for a left operand that is another matrix in each column; by minibatch, and by
// time step inside of a loop.
TEST(StrideTimesTest, TheLeftOperandMayChangeWithTheSamples)
{
    for (const bool inLoop : {false, true})
    {
        TestNetwork net;
        const ComputationNodePtr a = net.Input("a", {2, 6});
        const ComputationNodePtr b = net.Input("b", {2});
        const ComputationNodePtr c = net.Parameter("c", {2, 3});
        const ComputationNodePtr stride = Number(net, "s", 3);
        ComputationNodePtr right = b;
        if (inLoop) // 0 times the past
        {
            const ComputationNodePtr past = net.network.AddUnconnected("TestDelay", "past", {});
            const ComputationNodePtr none = net.Add("ElementTimes", "none", {Number(net, "zero", 0), past});
            right = net.Add("Plus", "right", {b, none});
        }
        const ComputationNodePtr v = net.Add("StrideTimes", "v", {a, right, stride});
        if (inLoop)
            net.network.SetInputs(net.network.Find("past"), {v});
        const ComputationNodePtr all = net.Add("StrideTimes", "all", {a, c, stride});
        net.network.Validate();
        net.SetSequences({3, 4, 2, 4});
        net.FillInputs();
        Evaluator evaluator(net.network, {v, all}, {});
        evaluator.Forward();
        const std::vector<double> left = ValueOf(a), one = ValueOf(b), each = ValueOf(c), result = ValueOf(v),
                                  results = ValueOf(all);
        for (size_t column = 0; column < 16; column++)
            for (size_t i = 0; i < 2; i++)
            {
                if (std::isnan(one[2 * column])) // a gap
                    continue;
                for (size_t k = 0; k < 3; k++)
                {
                    const double* matrix = &left[12 * column];
                    const double first = matrix[2 * k + i], second = matrix[2 * (3 + k) + i];
                    EXPECT_NEAR(results[6 * column + 2 * k + i], first * each[2 * k] + second * each[2 * k + 1], 1e-12);
                    if (column % 3 != k)
                        continue;
                    const double expected = first * one[2 * column] + second * one[2 * column + 1];
                    EXPECT_NEAR(result[2 * column + i], expected, 1e-12);
                }
            }
    }
}

// ---- norms ----

TEST(NormTest, ZeroHasNoDirection)
{
    for (const char* type : {"MatrixL1Reg", "MatrixL2Reg"})
        for (const double scale : {0.0, 1.0})
        {
            TestNetwork net;
            const ComputationNodePtr x = Matrix(net, "x", {2, 2}, {3 * scale, 0, 0, -4 * scale});
            const ComputationNodePtr v = net.Add(type, "v", {x});
            net.network.Validate();
            EvaluatorOptions options;
            options.training = true;
            Evaluator evaluator(net.network, {v}, options);
            evaluator.Forward();
            evaluator.Backward(v);
            const bool isL1 = std::string(type) == "MatrixL1Reg";
            EXPECT_THAT(ValueOf(v), ElementsAre((isL1 ? 7 : 5) * scale));
            const double a = isL1 ? 1 : 0.6, b = isL1 ? -1 : -0.8;
            EXPECT_THAT(GradientOf(x), ElementsAre(testing::DoubleEq(a * scale), 0, 0, testing::DoubleEq(b * scale)));
        }
}

} // namespace

} // namespace cntk::Testing
