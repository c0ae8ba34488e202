// Products: shapes and their errors, sparse operands, re-declared parameters.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

using testing::ElementsAre;

TEST(ProductNodesTest, InnerDimensionsMustAgree)
{
    TestNetwork net;
    net.Add("Times", "y", {net.Parameter("W", {50, 784}), net.Input("x", {783})});
    EXPECT_EQ(ValidationMessage(net), "the inner dimensions of Times('W' [50 x 784], 'x' [783]) disagree: the left "
                                      "operand has 784 columns, the right one 783 rows");
    TestNetwork transposed;
    transposed.Add("TransposeTimes", "y", {transposed.Parameter("W", {50, 784}), transposed.Input("x", {783})});
    EXPECT_EQ(ValidationMessage(transposed), "the inner dimensions of TransposeTimes('W' [50 x 784], 'x' [783]) "
                                             "disagree: the left operand has 50 rows, the right one 783 rows");
    TestNetwork diagonal;
    diagonal.Add("DiagTimes", "y", {diagonal.Parameter("d", {2, 1}), diagonal.Input("x", {3})});
    EXPECT_EQ(ValidationMessage(diagonal), "DiagTimes('d' [2 x 1], 'x' [3]): expected a column of 3 elements on the "
                                           "left, as many as the right operand has rows");
}

TEST(ProductNodesTest, TensorsOfAsManyElementsAreNotTheSame)
{
    TestNetwork turned;
    turned.Add("Times", "y", {turned.Parameter("W", {4, 3, 2}), turned.Input("x", {2, 3})});
    EXPECT_EQ(ValidationMessage(turned), "the inner dimensions of Times('W' [4 x 3 x 2], 'x' [2 x 3]) disagree: those "
                                         "of the left operand are [3 x 2], the dimensions of the right one [2 x 3]");
    TestNetwork other;
    other.Add("Times", "y", {other.Input("x", {2, 3, 1}), other.Parameter("W", {3, 2})});
    EXPECT_EQ(ValidationMessage(other), "the inner dimensions of Times('x' [2 x 3 x 1], 'W' [3 x 2]) disagree: those "
                                        "of the left operand are [3 x 1], the dimensions of the right one [3 x 2]");
    // Dimensions of 1 do not count, and a vector has no dimensions that could be others.
    TestNetwork same;
    const auto ones = same.Add("Times", "y", {same.Parameter("W", {4, 3, 1, 2}), same.Input("x", {1, 3, 2})});
    const auto vector = same.Add("Times", "z", {same.Parameter("V", {4, 3, 2}), same.Input("u", {6})});
    same.network.Validate();
    EXPECT_EQ(ones->SampleLayout(), (TensorShape{4}));
    EXPECT_EQ(vector->SampleLayout(), (TensorShape{4}));
}

TEST(ProductNodesTest, RefusesWhatItCannotMultiply)
{
    TestNetwork transposed;
    transposed.Add("TransposeTimes", "y", {transposed.Parameter("W", {3, 2, 2}), transposed.Input("x", {3})});
    EXPECT_EQ(ValidationMessage(transposed),
              "TransposeTimes takes a matrix on the left, but 'W' [3 x 2 x 2] has 3 dimensions");
    TestNetwork sparse;
    sparse.Add("Times", "y", {sparse.Parameter("W", {3, 2}), sparse.network.AddInput("x", {2, 2}, true)});
    EXPECT_EQ(ValidationMessage(sparse),
              "input 'x' is sparse, but Times takes sparse values as B only beside an A that is the same for all "
              "samples and takes all rows of B, not beside 'W' [3 x 2]; make it dense: InputValue in place of "
              "SparseInputValue");
    TestNetwork left;
    left.Add("Times", "y", {left.network.AddInput("x", {3, 2}, true), left.Parameter("W", {2, 1})});
    EXPECT_EQ(ValidationMessage(left),
              "input 'x' is sparse, but Times takes dense values as A; only B may be sparse; sparse values go into "
              "FutureValue (x), LookupTable (x), PackedIndex (target), PastValue (x), ReconcileDynamicAxis (layout), "
              "ScatterPacked (cond), Times (B), TransposeTimes (B); or make it dense: InputValue in place of "
              "SparseInputValue");
    NodeParameters rank;
    rank.Set("outputRank", "0");
    EXPECT_EQ(MessageOf(
                  [&] {
                      left.network.Add("Times", "z", {left.Parameter("A", {2, 2}), left.Parameter("B", {2})}, rank);
                  }),
              "parameter 'outputRank' is 0; expected 1 to 12");
    TestNetwork vectors;
    rank.Set("outputRank", "2");
    vectors.network.Add("Times", "z", {vectors.Parameter("A", {2}), vectors.Parameter("B", {2})}, rank);
    EXPECT_EQ(ValidationMessage(vectors),
              "Times with outputRank=2 needs a left operand of at least as many dimensions, but 'A' [2] has 1");
}

TEST(ProductNodesTest, AMatrixTakesAllElementsOfAnImage)
{
    for (const TensorShape& declared : {TensorShape{4, 6}, TensorShape{4, 0}})
    {
        TestNetwork net;
        net.SetFrames(2);
        const ComputationNodePtr weights = net.Parameter("W", declared);
        const ComputationNodePtr product = net.Add("Times", "y", {weights, net.Input("x", {1, 1, 6})});
        net.network.Validate();
        EXPECT_EQ(weights->SampleLayout(), (TensorShape{4, 1, 1, 6})) << declared.ToString();
        EXPECT_EQ(product->SampleLayout(), (TensorShape{4}));
    }
}

// Rows 1 and 3 of a one-hot minibatch: only these columns of the parameter get a gradient, and that is recorded.
TEST(ProductNodesTest, SparseDataTouchFewColumns)
{
    TestNetwork net;
    net.SetFrames(2);
    const ComputationNodePtr weights = net.Parameter("W", {2, 5});
    const ComputationNodePtr words = net.network.AddInput("words", {5}, true);
    const ComputationNodePtr sum = net.Add("SumElements", "sum", {net.Add("Times", "y", {weights, words})});
    net.network.Validate();
    const std::vector<float> values = {1, 1};
    const std::vector<int32_t> rows = {3, 1}, starts = {0, 1, 2};
    dynamic_cast<InputValueNode&>(*words).SetSparse(values.data(), rows.data(), starts.data(), 5, 2);
    EvaluatorOptions options;
    options.training = true;
    Evaluator evaluator(net.network, {sum}, options);
    for (int pass = 0; pass < 2; pass++)
    {
        evaluator.Forward();
        evaluator.Backward(sum);
        EXPECT_THAT(GradientOf(weights), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1, 0, 0));
        EXPECT_FALSE(weights->GradientColumns().all);
        EXPECT_THAT(weights->GradientColumns().columns, ElementsAre(1, 3));
    }
}

} // namespace

} // namespace cntk::Testing
