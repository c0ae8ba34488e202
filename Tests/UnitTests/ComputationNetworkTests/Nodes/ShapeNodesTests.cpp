// Slices, stacks, repetitions, transpositions and reshaping: values worth knowing, old model files, and errors.
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetworkTests/Files/FieldBytes.h"
#include "ComputationNetworkTests/TestNetwork.h"

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

NodeParameters Given(std::initializer_list<std::pair<const char*, const char*>> pairs)
{
    NodeParameters parameters;
    for (const auto& [name, value] : pairs)
        parameters.Set(name, value);
    return parameters;
}

std::vector<double> Evaluated(TestNetwork& net, const ComputationNodePtr& node)
{
    net.network.Validate();
    Evaluator evaluator(net.network, {node}, {});
    evaluator.Forward();
    return ValueOf(node);
}

TEST(ShapeNodesTest, ValuesOfMatrices)
{
    TestNetwork net;
    const ComputationNodePtr a = Matrix(net, "a", {3, 2}, {1, 2, 3, 4, 5, 6});
    const ComputationNodePtr b = Matrix(net, "b", {1, 2}, {7, 8});
    const auto add = [&](const char* type, const char* name, std::vector<ComputationNodePtr> inputs,
                         const NodeParameters& parameters = {})
    { return net.network.Add(type, name, std::move(inputs), parameters); };
    EXPECT_THAT(Evaluated(net, add("RowSlice", "rows", {a}, Given({{"startRow", "1"}, {"numRows", "2"}}))),
                ElementsAre(2, 3, 5, 6));
    EXPECT_THAT(
        Evaluated(net, add("Slice", "column", {a}, Given({{"startRow", "1"}, {"numRows", "1"}, {"axis", "2"}}))),
        ElementsAre(4, 5, 6));
    EXPECT_THAT(Evaluated(net, add("RowStack", "stack", {b, a, b})), ElementsAre(7, 1, 2, 3, 7, 8, 4, 5, 6, 8));
    EXPECT_THAT(Evaluated(net, add("RowRepeat", "repeat", {b}, Given({{"numRepeats", "2"}}))), ElementsAre(7, 8, 7, 8));
    EXPECT_THAT(Evaluated(net, add("Transpose", "transposed", {a})), ElementsAre(1, 4, 2, 5, 3, 6));
    EXPECT_THAT(Evaluated(net, add("LegacyReshape", "reshaped", {a}, Given({{"numRows", "2"}}))),
                ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_EQ(net.network.Require("reshaped")->SampleLayout(), (TensorShape{2, 3}));
    EXPECT_EQ(net.network.Require("transposed")->SampleLayout(), (TensorShape{2, 3}));
    const ComputationNodePtr square = Matrix(net, "square", {2, 2}, {1, 2, 3, 4});
    EXPECT_THAT(Evaluated(net, add("Diagonal", "diagonal", {square})), ElementsAre(1, 4));
    EXPECT_THAT(Evaluated(net, add("SumColumnElements", "sums", {a})), ElementsAre(6, 15));
    EXPECT_THAT(Evaluated(net, add("ReduceElements", "reduced", {a}, Given({{"axis", "2"}}))), ElementsAre(5, 7, 9));
    EXPECT_THAT(Evaluated(net, add("KhatriRaoProduct", "product", {a, b})), ElementsAre(7, 14, 21, 32, 40, 48));
    const ComputationNodePtr c = Matrix(net, "c", {2, 2}, {1, 10, 0, 2});
    EXPECT_THAT(Evaluated(net, add("KhatriRaoProduct", "first runs fastest", {a, c})),
                ElementsAre(1, 2, 3, 10, 20, 30, 0, 0, 0, 8, 10, 12));
}

// Files contain positions that count from the end and, from version 3 on, axes.
TEST(ShapeNodesTest, ReadFieldsOfAllVersions)
{
    TestNetwork net;
    const ComputationNodePtr a = Matrix(net, "a", {3, 2}, {1, 2, 3, 4, 5, 6});
    const auto add = [&](const char* type, const FieldBytes& bytes, uint64_t version)
    {
        const ComputationNodePtr node = net.network.Add(type, "", std::vector<ComputationNodePtr>(1, a));
        bytes.Load(*node, version);
        return node;
    };
    const auto slice = [](int64_t begin, int64_t length, int32_t axis)
    { return FieldBytes().Add(begin).Add(length).Add(axis); };
    for (const uint64_t version : {3, 8, 14})
    {
        EXPECT_THAT(Evaluated(net, add("Slice", slice(-2, 2, 1), version)), ElementsAre(2, 3, 5, 6)) << version;
        EXPECT_THAT(Evaluated(net, add("Slice", slice(-3, 2, 1), version)), ElementsAre(1, 2, 4, 5)) << version;
        EXPECT_THAT(Evaluated(net, add("Slice", slice(1, 1, 2), version)), ElementsAre(4, 5, 6)) << version;
        const ComputationNodePtr swapped =
            add("TransposeDimensions", FieldBytes().Add(int32_t(3)).Add(int32_t(1)), version);
        net.network.Validate();
        EXPECT_EQ(swapped->SampleLayout(), (TensorShape{1, 2, 3})) << version;
        const ComputationNodePtr stack = net.Add("RowStack", "", {a, a});
        FieldBytes().Add(int32_t(2)).Load(*stack, version);
        net.network.Validate();
        EXPECT_EQ(stack->SampleLayout(), (TensorShape{3, 4})) << version;
    }
    const ComputationNodePtr swapped = add("TransposeDimensions", FieldBytes(), 2);
    net.network.Validate();
    EXPECT_EQ(swapped->SampleLayout(), (TensorShape{2, 3}));
}

// A bias of one column makes samples of [rows x 1]; to repeat their rows gives a vector, as without a bias.
TEST(ShapeNodesTest, RowsAreRepeatedBehindABias)
{
    TestNetwork net;
    const ComputationNodePtr x = net.Input("x", {3});
    const ComputationNodePtr biased = net.Add("Plus", "biased", {x, net.Parameter("bias", {3, 1})});
    const auto repeat = [&](const char* name, const ComputationNodePtr& node) {
        return net.network.Add("RowRepeat", name, {node}, Given({{"numRepeats", "2"}}));
    };
    const ComputationNodePtr repeated = repeat("repeated", biased);
    net.Add("Plus", "sum", {repeated, net.Parameter("next", {6, 1})});
    const ComputationNodePtr image = repeat("image", net.Input("i", {3, 2, 1}));
    const ComputationNodePtr matrix = repeat("matrix", net.Parameter("p", {3, 1}));
    net.network.Validate();
    EXPECT_EQ(repeated->SampleLayout(), (TensorShape{6}));
    EXPECT_EQ(image->SampleLayout(), (TensorShape{3, 2, 2}));
    EXPECT_EQ(matrix->SampleLayout(), (TensorShape{3, 2}));
}

// Rows [1 x columns] make a matrix, as in version 1.1; the [1 x 1 x rows] of models of August 2015 are vectors.
TEST(ShapeNodesTest, RowsAreStackedToAMatrixAndOldInputsToAVector)
{
    TestNetwork net;
    const ComputationNodePtr x = net.Input("x", {2, 3});
    const auto row = [&](const char* name, const char* index) {
        return net.network.Add("RowSlice", name, {x}, Given({{"startRow", index}, {"numRows", "1"}}));
    };
    const ComputationNodePtr first = row("first", "0"), second = row("second", "1");
    const ComputationNodePtr again = net.Add("RowStack", "again", {first, second});
    const ComputationNodePtr turned = net.Add("RowStack", "turned", {second, first});
    const ComputationNodePtr repeated = net.Add("RowStack", "repeated", {first, net.Input("vector", {2})});
    const ComputationNodePtr old = net.Input("old", {1, 1, 3});
    const ComputationNodePtr flat = net.Add("RowStack", "flat", {old, net.network.Require("vector"), old});
    net.SetFrames(1);
    net.network.Validate();
    EXPECT_EQ(again->SampleLayout(), (TensorShape{2, 3}));
    EXPECT_EQ(repeated->SampleLayout(), (TensorShape{3, 3}));
    EXPECT_EQ(flat->SampleLayout(), (TensorShape{8}));
    SetInput(x, {1, 2, 3, 4, 5, 6});
    SetInput(net.network.Require("vector"), {7, 8});
    SetInput(old, {9, 10, 11});
    EXPECT_THAT(Evaluated(net, again), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_THAT(Evaluated(net, turned), ElementsAre(2, 1, 4, 3, 6, 5));
    EXPECT_THAT(Evaluated(net, repeated), ElementsAre(1, 7, 8, 3, 7, 8, 5, 7, 8));
    EXPECT_THAT(Evaluated(net, flat), ElementsAre(9, 10, 11, 7, 8, 9, 10, 11));
}

TEST(ShapeNodesTest, AVectorOfZerosHasNoDirection)
{
    TestNetwork net;
    const ComputationNodePtr x = Matrix(net, "x", {2, 3}, {0, 0, 3, 4, 1, 0});
    const ComputationNodePtr y = Matrix(net, "y", {2, 3}, {1, 2, 6, 8, 0, 2});
    EXPECT_THAT(Evaluated(net, net.Add("CosDistance", "c", {x, y})), ElementsAre(0, testing::DoubleNear(1, 1e-15), 0));
}

TEST(ShapeNodesTest, SlicesSayWhatTheyTake)
{
    TestNetwork net;
    net.network.Add("RowSlice", "y", {net.Input("x", {4})}, Given({{"startRow", "2"}, {"numRows", "3"}}));
    EXPECT_EQ(ValidationMessage(net),
              "Slice takes the elements 2 to 4 (counted from 0) of dimension 1, but 'x' [4] has 4 there");
    const ComputationNodePtr x = net.network.Require("x");
    EXPECT_EQ(MessageOf(
                  [&] {
                      net.network.Add("RowSlice", "a", {x}, Given({{"startRow", "-1"}, {"numRows", "3"}}));
                  }),
              "parameter 'startRow' is -1; expected 0 or more");
    EXPECT_EQ(MessageOf(
                  [&] {
                      net.network.Add("RowSlice", "b", {x}, Given({{"startRow", "1"}, {"numRows", "0"}}));
                  }),
              "parameter 'numRows' is 0; expected 1 or more");
    EXPECT_EQ(MessageOf(
                  [&] {
                      net.network.Add("Slice", "c", {x}, Given({{"startRow", "1"}, {"numRows", "1"}, {"axis", "0"}}));
                  }),
              "parameter 'axis' is 0; expected 1 to 12");
    EXPECT_EQ(MessageOf(
                  [&] {
                      net.network.Add("RowRepeat", "d", {x}, Given({{"numRepeats", "0"}}));
                  }),
              "parameter 'numRepeats' is 0; expected 1 or more");
}

TEST(ShapeNodesTest, OtherOperandsThatDoNotFit)
{
    TestNetwork stack;
    stack.Add("RowStack", "y", {stack.Parameter("a", {2, 3}), stack.Parameter("b", {2, 4})});
    EXPECT_EQ(ValidationMessage(stack),
              "RowStack cannot stack 'a' [2 x 3] and 'b' [2 x 4] along dimension 1: dimension "
              "2 is 3 in one and 4 in the other; expected equal sizes, or 1 in one");
    TestNetwork diagonal;
    diagonal.Add("Diagonal", "y", {diagonal.Parameter("a", {2, 3})});
    EXPECT_EQ(ValidationMessage(diagonal),
              "Diagonal takes a square matrix that is the same for all samples, but its input is 'a' [2 x 3]");
    TestNetwork product;
    product.Add("KhatriRaoProduct", "y", {product.Parameter("a", {2, 3}), product.Parameter("b", {2, 4})});
    EXPECT_EQ(ValidationMessage(product),
              "KhatriRaoProduct('a' [2 x 3], 'b' [2 x 4]) combines columns, but the operands "
              "do not have as many; expected equal numbers, or one in a parameter");
    TestNetwork cosine;
    cosine.Add("CosDistance", "y", {cosine.Input("a", {2}), cosine.Input("b", {3})});
    EXPECT_EQ(ValidationMessage(cosine),
              "CosDistance compares 'a' [2] with 'b' [3]: expected as many rows in both, but "
              "there are 2 and 3");
    TestNetwork sums;
    sums.network.Add("ReduceElements", "y", {sums.Input("a", {2})}, Given({{"axis", "3"}}));
    EXPECT_EQ(ValidationMessage(sums), "ReduceElements sums along dimension 3, but 'a' [2] has 1");
    EXPECT_EQ(
        MessageOf(
            [&] {
                sums.network.Add("ReduceElements", "z", {sums.network.Require("a")}, Given({{"reductionOp", "Max"}}));
            }),
        "parameter 'reductionOp' is 'Max'; expected Plus");
    EXPECT_EQ(MessageOf(
                  [&] {
                      sums.network.Add("ReduceElements", "w", {sums.network.Require("a")}, Given({{"axis", "-2"}}));
                  }),
              "parameter 'axis' is -1; expected 1 to 12, or 0 for all dimensions");
}

// ---- Reshape ----

TEST(ReshapeNodesTest, FramesOfASequenceArePutTogetherAndTakenApart)
{
    TestNetwork net;
    net.SetSequences({4, 2});
    const ComputationNodePtr x = net.Input("x", {1});
    const ComputationNodePtr pairs = net.network.Add("LegacyReshape", "pairs", {x}, Given({{"numRows", "2"}}));
    const ComputationNodePtr again = net.network.Add("LegacyReshape", "again", {pairs}, Given({{"numRows", "1"}}));
    net.network.Validate();
    EXPECT_EQ(again->GetMBLayout(), x->GetMBLayout());
    // Columns: two rows of sequences, t0 s0, t0 s1, t1 s0, ...
    const double values[] = {10, 20, 11, 21, 12, -1, 13, -1};
    dynamic_cast<InputValueNode&>(*x).SetDense(values, 1, 8);
    EvaluatorOptions options;
    options.keepValues = {pairs};
    Evaluator evaluator(net.network, {again}, options);
    evaluator.Forward();
    EXPECT_EQ(pairs->GetMBLayout()->TimeSteps(), 2u);
    EXPECT_EQ(pairs->GetMBLayout()->ColumnMask(), (std::vector<uint8_t>{1, 1, 1, 0}));
    const std::vector<double> together = ValueOf(pairs);
    EXPECT_THAT(std::vector<double>(together.begin(), together.begin() + 6), ElementsAre(10, 11, 20, 21, 12, 13));
    const std::vector<double> apart = ValueOf(again);
    EXPECT_EQ(apart, std::vector<double>(values, values + 8));
}

TEST(ReshapeNodesTest, FramesOnTheirOwnAreCutAnew)
{
    TestNetwork net;
    net.SetFrames(3);
    const ComputationNodePtr x = net.Input("x", {4});
    const ComputationNodePtr y = net.network.Add("LegacyReshape", "y", {x}, Given({{"numRows", "6"}}));
    net.network.Validate();
    const double values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    dynamic_cast<InputValueNode&>(*x).SetDense(values, 4, 3);
    Evaluator evaluator(net.network, {y}, {});
    evaluator.Forward();
    EXPECT_EQ(y->GetMBLayout()->Columns(), 2u);
    EXPECT_EQ(ValueOf(y), std::vector<double>(values, values + 12));
    net.SetFrames(4);
    net.FillInputs();
    EXPECT_EQ(MessageOf([&] { evaluator.Forward(); }),
              "Reshape makes 2 samples of each 3, but the minibatch has 4, which is no multiple of 3; choose a "
              "minibatchSize and a number of samples that are");
}

TEST(ReshapeNodesTest, SequencesMustFit)
{
    TestNetwork net;
    net.SetSequences({4, 3});
    const ComputationNodePtr x = net.Input("x", {2});
    const ComputationNodePtr y = net.network.Add("LegacyReshape", "y", {x}, Given({{"numRows", "4"}}));
    net.network.Validate();
    net.FillInputs();
    Evaluator evaluator(net.network, {y}, {});
    EXPECT_EQ(MessageOf([&] { evaluator.Forward(); }),
              "Reshape puts 2 frames together, but sequence 1 has 3 frames, from step 0 of the minibatch; expected "
              "multiples of 2");
    const ComputationNodePtr z = net.network.Add("LegacyReshape", "z", {x}, Given({{"numRows", "3"}}));
    net.network.Delete(y);
    net.network.Validate();
    Evaluator other(net.network, {z}, {});
    EXPECT_EQ(MessageOf([&] { other.Forward(); }),
              "Reshape makes 2 frames of each 3, which is not possible with sequences; expected several frames put "
              "together, or one taken apart");
}

TEST(ReshapeNodesTest, NodesThatReshapeAlikeHaveOneLayout)
{
    TestNetwork net;
    net.SetSequences({4, 2});
    const ComputationNodePtr a = net.Input("a", {2});
    const ComputationNodePtr b = net.Input("b", {3});
    const ComputationNodePtr a2 = net.network.Add("LegacyReshape", "a2", {a}, Given({{"numRows", "4"}}));
    const ComputationNodePtr b2 = net.network.Add("LegacyReshape", "b2", {b}, Given({{"numRows", "6"}}));
    net.Add("RowStack", "both", {a2, b2});
    net.network.Validate();
    EXPECT_EQ(a2->GetMBLayout(), b2->GetMBLayout());
    net.Add("RowStack", "wrong", {a2, b});
    EXPECT_EQ(ValidationMessage(net), "inputs 'a2' and 'b' have different minibatch layouts (different dynamic axes); "
                                      "they cannot be combined; ReconcileMBLayout gives one of them the other's layout "
                                      "where their sequences have the same lengths");
}

TEST(ReshapeNodesTest, ImagesTakeWhatIsMissingFromTheRows)
{
    TestNetwork net;
    const ComputationNodePtr x = net.Input("x", {12});
    const auto shapeOf = [&](const char* name, std::initializer_list<std::pair<const char*, const char*>> pairs)
    {
        const ComputationNodePtr node = net.network.Add("LegacyReshape", name, {x}, Given(pairs));
        net.network.Validate();
        return node->SampleLayout();
    };
    EXPECT_EQ(shapeOf("a", {{"numRows", "12"}, {"imageWidth", "2"}, {"imageHeight", "3"}}), (TensorShape{2, 2, 3}));
    EXPECT_EQ(shapeOf("b", {{"numRows", "12"}, {"imageHeight", "6"}, {"imageChannels", "1"}}), (TensorShape{1, 2, 6}));
    EXPECT_EQ(shapeOf("c", {{"numRows", "12"}, {"imageHeight", "6"}, {"imageChannels", "1"}, {"imageLayout", "CHW"}}),
              (TensorShape{2, 6, 1}));
    EXPECT_EQ(shapeOf("d", {{"numRows", "12"}}), TensorShape{12});
    EXPECT_EQ(
        MessageOf(
            [&] {
                shapeOf("e", {{"numRows", "12"}, {"imageWidth", "5"}, {"imageHeight", "2"}});
            }),
        "an image of imageWidth=5, imageHeight=2 and imageChannels=0 does not have 12 elements; give two or three "
        "numbers whose product is numRows, or goes into it");
    EXPECT_EQ(MessageOf(
                  [&] {
                      shapeOf("f", {{"numRows", "0"}});
                  }),
              "parameter 'numRows' is 0; expected a whole number from 1");
}

TEST(ReshapeNodesTest, DimensionsMustHaveTheElements)
{
    TestNetwork net;
    net.network.Add("Reshape", "y", {net.Input("x", {2, 3})}, Given({{"dims", "4:0"}}));
    EXPECT_EQ(ValidationMessage(net),
              "Reshape cannot make [4 x 0] of dimensions 1 to 2 of 'x' [2 x 3]: they have 6 elements");
    TestNetwork axes;
    axes.network.Add("Reshape", "y", {axes.Input("x", {6})}, Given({{"dims", "6"}, {"beginAxis", "3"}}));
    EXPECT_EQ(ValidationMessage(axes), "Reshape replaces the dimensions 3 to 1, but 'x' [6] has 1");
    EXPECT_EQ(MessageOf(
                  [&] {
                      axes.network.Add("Reshape", "z", {axes.network.Require("x")}, Given({{"dims", "2:x"}}));
                  }),
              "parameter 'dims' is '2:x'; expected up to 12 dimensions separated by colons, one of them 0 where it "
              "follows from the others");
}

TEST(ReshapeNodesTest, LayoutsThatAreOnlyEqualCanBeReconciled)
{
    TestNetwork net;
    net.network.Layout("other")->InitAsFrameMode(2);
    net.SetFrames(2);
    const ComputationNodePtr x = net.Input("x", {2});
    NodeParameters parameters = Given({{"rows", "2"}, {"dynamicAxis", "other"}});
    const ComputationNodePtr y = net.network.Add("InputValue", "y", {}, parameters);
    const ComputationNodePtr axis = net.network.Add("DynamicAxis", "other");
    const ComputationNodePtr same = net.Add("ReconcileDynamicAxis", "same", {y, x});
    const ComputationNodePtr sum = net.Add("Plus", "sum", {x, same});
    net.network.Validate();
    EXPECT_EQ(axis->GetMBLayout(), y->GetMBLayout());
    const double values[] = {1, 2, 3, 4};
    dynamic_cast<InputValueNode&>(*x).SetDense(values, 2, 2);
    dynamic_cast<InputValueNode&>(*y).SetDense(values, 2, 2);
    Evaluator evaluator(net.network, {sum, axis}, {});
    evaluator.Forward();
    EXPECT_THAT(ValueOf(sum), ElementsAre(2, 4, 6, 8));
    EXPECT_THAT(ValueOf(axis), ElementsAre(0, 0));
    net.network.Layout("other")->InitAsFrameMode(1);
    dynamic_cast<InputValueNode&>(*y).SetDense(values, 2, 1);
    EXPECT_EQ(MessageOf([&] { evaluator.Forward(); }), "ReconcileDynamicAxis 'same': the minibatch layouts of 'y' and "
                                                       "'x' differ: sequence 1 has 0 samples of 'y' and 1 "
                                                       "of 'x'; expected the same sequences of the same lengths");
    // The layouts have equally many columns, but one has two sequences and the other one.
    net.network.Layout("other")->Init(1, 2);
    net.network.Layout("other")->AddSequence(0, 0, 0, 2);
    dynamic_cast<InputValueNode&>(*y).SetDense(values, 2, 2);
    EXPECT_EQ(MessageOf([&] { evaluator.Forward(); }), "ReconcileDynamicAxis 'same': the minibatch layouts of 'y' and "
                                                       "'x' differ: sequence 0 has 2 samples of 'y' and 1 "
                                                       "of 'x'; expected the same sequences of the same lengths");
}

// A model from a stranger must not choose a file to print.
TEST(TraceTest, TheLabelMapOfAModelIsNotOpened)
{
    TestNetwork net;
    const ComputationNodePtr x = net.Input("x", {2});
    const ComputationNodePtr y = net.network.Add("Trace", "y", {x}, {});
    FieldBytes fields;
    fields.Text("look:").Add(uint64_t(1)).Add(uint64_t(0)).Add(false).Add(true).Text("/etc/passwd");
    fields.Add(false).Add(true);
    for (const std::string_view text : {"", "\n", "\n", "", "", " ", "\n", ""})
    {
        for (const char c : text)
            fields.Add(c);
        fields.Add('\0');
    }
    fields.Add(uint64_t(9)).Add(uint64_t(9)).Load(*y, 8);
    net.network.Validate();
    net.network.Layout()->InitAsFrameMode(2);
    const double values[] = {1, 2, 4, 3};
    dynamic_cast<InputValueNode&>(*x).SetDense(values, 2, 2);
    Evaluator evaluator(net.network, {y}, {});
    testing::internal::CaptureStderr();
    evaluator.Forward();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "------- Trace[1] look: 'y'\n1\n0\n");
}

TEST(TraceTest, PrintsSequencesOneAfterAnother)
{
    TestNetwork net;
    net.SetSequences({2, 1});
    const ComputationNodePtr x = net.Input("x", {2});
    const ComputationNodePtr y =
        net.network.Add("Trace", "y", {x},
                        Given({{"say", "look:"}, {"logFirst", "1"}, {"logFrequency", "0"}, {"precisionFormat", ".1"}}));
    net.network.Validate();
    const double values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    dynamic_cast<InputValueNode&>(*x).SetDense(values, 2, 4);
    Evaluator evaluator(net.network, {y}, {});
    testing::internal::CaptureStderr();
    evaluator.Forward();
    evaluator.Forward();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "------- Trace[1] look: 'y'\n1.0 2.0\n5.0 6.0\n3.0 4.0\n");
    EXPECT_EQ(ValueOf(y), std::vector<double>(values, values + 8));
    EXPECT_EQ(MessageOf(
                  [&] {
                      net.network.Add("Trace", "z", {x}, Given({{"precisionFormat", "%n"}}));
                  }),
              "parameter 'precisionFormat' is '%n'; expected the width and precision of a number, like .6");
}

TEST(EnvironmentInputTest, SaysWhetherTheNetworkIsTrained)
{
    TestNetwork net;
    const ComputationNodePtr training = net.network.Add("EnvironmentInput", "training");
    const ComputationNodePtr w = Matrix(net, "w", {1, 1}, {3});
    const ComputationNodePtr y = net.Add("SumElements", "y", {net.Add("ElementTimes", "product", {training, w})});
    net.network.Validate();
    for (const bool isTraining : {true, false})
    {
        EvaluatorOptions options;
        options.training = isTraining;
        Evaluator evaluator(net.network, {y}, options);
        evaluator.Forward();
        EXPECT_THAT(ValueOf(y), ElementsAre(isTraining ? 3 : 0));
    }
    EXPECT_EQ(MessageOf(
                  [&] {
                      net.network.Add("EnvironmentInput", "z", {}, Given({{"property", "isMoving"}}));
                  }),
              "the property of EnvironmentInput is 'isMoving'; expected isTraining");
}

} // namespace

} // namespace cntk::Testing
