// Criteria: values known by hand, ties, topK, sparse and soft labels, gaps, errors.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace cntk::Testing
{

namespace
{

// A criterion over labels and predictions given column by column, and a constant third input.
struct Compared
{
    Compared(const std::string& type, size_t rows, const std::vector<double>& labels,
             const std::vector<double>& predictions, bool sparseLabels = false, double third = 0,
             DataType dataType = DataType::Float64)
        : net(dataType)
    {
        net.SetFrames(predictions.size() / rows);
        const ComputationNodePtr label = net.network.AddInput("labels", {rows}, sparseLabels);
        const ComputationNodePtr prediction = net.network.AddInput("z", {rows});
        std::vector<ComputationNodePtr> inputs = {label, prediction};
        if (third != 0)
        {
            inputs.push_back(net.Parameter("third", {1}));
            dynamic_cast<LearnableParameterNode&>(*inputs.back()).InitFixed(third);
        }
        criterion = net.Add(type, "c", inputs);
        net.network.Validate();
        dynamic_cast<InputValueNode&>(*label).SetDense(labels.data(), rows, labels.size() / rows);
        dynamic_cast<InputValueNode&>(*prediction).SetDense(predictions.data(), rows, predictions.size() / rows);
    }
    double Value()
    {
        Evaluator evaluator(net.network, {criterion});
        evaluator.Forward();
        return ValueOf(criterion)[0];
    }
    TestNetwork net;
    ComputationNodePtr criterion;
};

TEST(CriterionNodesTest, SquareErrorHasNoFactor)
{
    for (const bool sparse : {false, true})
        EXPECT_DOUBLE_EQ(Compared("SquareError", 2, {1, 2, 3, 4}, {1, 0, 0, 4}, sparse).Value(), 13);
}

// The softmax is in the memory of the gradient where nobody added to that before; with a factor and without.
TEST(CriterionNodesTest, GradientOfTheSoftmaxBesideOthers)
{
    for (const bool sparse : {false, true})
        for (const bool isLast : {false, true})
            for (const char* scale : {"", "Times"})
            {
                TestNetwork net;
                const ComputationNodePtr labels = net.network.AddInput("labels", {3}, sparse);
                auto z = net.Add("Times", "z", {net.Parameter("W", {3, 2}), net.Input("x", {2})});
                auto softmax = net.Add("CrossEntropyWithSoftmax", "ce", {labels, z});
                if (*scale != 0)
                    softmax = net.Add(scale, "scaled", {net.Parameter("factor", {1}), softmax});
                auto other = net.Add("SumElements", "sum", {net.Add("Sigmoid", "s", {z})});
                auto total =
                    isLast ? net.Add("Plus", "total", {other, softmax}) : net.Add("Plus", "total", {softmax, other});
                net.network.Validate();
                net.SetSequences({3, 2}); // with a gap
                net.FillInputs();
                const std::vector<double> words{1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0};
                dynamic_cast<InputValueNode&>(*labels).SetDense(words.data(), 3, 6);
                Evaluator evaluator(net.network, {total}, Checked(true));
                ExpectGradientsAgree(evaluator, total);
            }
}

TEST(CriterionNodesTest, CrossEntropyStandsZerosAndExtremes)
{
    for (const bool sparse : {false, true})
    {
        EXPECT_DOUBLE_EQ(Compared("CrossEntropy", 2, {1, 0}, {0, 1}, sparse).Value(), double(85.1f));
        EXPECT_DOUBLE_EQ(Compared("CrossEntropyWithSoftmax", 2, {1, 0}, {-1e4, 1e4}, sparse).Value(), 2e4);
        EXPECT_DOUBLE_EQ(Compared("CrossEntropyWithSoftmax", 2, {1, 0}, {1e4, -1e4}, sparse).Value(), 0);
    }
    EXPECT_NEAR(Compared("CrossEntropyWithSoftmax", 2, {0.25, 0.75}, {0, 0}).Value(), std::log(2.0), 1e-15);
}

TEST(CriterionNodesTest, ErrorsAreCountedWithTiesToTheLowestIndex)
{
    const std::vector<double> labels = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0};
    const std::vector<double> predictions = {5, 5, 1, 5, 5, 1, 0, 1, 2, 1, 2, 3};
    for (const bool sparse : {false, true})
    {
        EXPECT_EQ(Compared("ErrorPrediction", 3, labels, predictions, sparse).Value(), 2);
        EXPECT_EQ(Compared("ClassificationError", 3, labels, predictions, sparse, 1).Value(), 2);
        EXPECT_EQ(Compared("ErrorPrediction", 3, labels, predictions, sparse, 2).Value(), 1);
        EXPECT_EQ(Compared("ErrorPrediction", 3, labels, predictions, sparse, 3).Value(), 0);
    }
}

// Elements of lower index precede equal elements of higher index.
TEST(CriterionNodesTest, TiesAmongTheKLargest)
{
    const std::vector<double> labels = {0, 1, 0, 1, 0, 0, 1, 0, 0}, predictions(9, 5);
    for (const bool sparse : {false, true})
        for (const auto& [topK, errors] : {std::pair(1, 1), {2, 0}})
            EXPECT_EQ(Compared("ErrorPrediction", 3, labels, predictions, sparse, topK).Value(), errors) << topK;
}

// Labels and predictions of a gap may be anything, such as what a network makes of zeros: the same as without the gaps.
TEST(CriterionNodesTest, WhatStandsInGapsDoesNotCount)
{
    const std::vector<double> labels = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0};
    const std::vector<double> predictions = {0.5, 0.3, 0.2, 0.6, 0.2, 0.2, 0.1, 0.1, 0.8, 0.3, 0.3, 0.4};
    const std::vector<double> gap = {0, 0, 1, 0.9, 0.05, 0.05};
    // Two rows: the first sequence has 3 steps, the second one and two gaps behind it.
    std::vector<double> labelsWithGaps, predictionsWithGaps;
    for (const size_t sample : {0, 1, 2, 4, 3, 4}) // 4: a gap
    {
        const bool isGap = sample == 4;
        const auto append = [&](std::vector<double>& to, const std::vector<double>& from, size_t first)
        { to.insert(to.end(), from.begin() + ptrdiff_t(first), from.begin() + ptrdiff_t(first + 3)); };
        append(labelsWithGaps, isGap ? gap : labels, isGap ? 0 : 3 * sample);
        append(predictionsWithGaps, isGap ? gap : predictions, isGap ? 3 : 3 * sample);
    }
    for (const char* type : {"ErrorPrediction", "SquareError", "CrossEntropyWithSoftmax", "CrossEntropy", "Logistic"})
        for (const bool sparse : {false, true})
            for (const double third : {0, 2})
            {
                const bool hasThird = std::string(type) == "ErrorPrediction" || std::string(type) == "Logistic";
                if (third != 0 && !hasThird)
                    continue;
                Compared whole(type, 3, labels, predictions, sparse, third);
                Compared ragged(type, 3, labelsWithGaps, predictionsWithGaps, sparse, third);
                ragged.net.SetSequences({3, 1});
                EXPECT_NEAR(ragged.Value(), whole.Value(), 1e-14) << type << ", sparse " << sparse << ", " << third;
            }
}

TEST(CriterionNodesTest, GapsGiveNoError)
{
    TestNetwork net;
    net.SetSequences({3, 1});
    const ComputationNodePtr labels = net.Input("labels", {4});
    const ComputationNodePtr z = net.Input("z", {4});
    std::vector<ComputationNodePtr> criteria;
    for (const char* type : {"ErrorPrediction", "SquareError", "CrossEntropyWithSoftmax", "CrossEntropy", "Logistic"})
        criteria.push_back(net.Add(type, type, {labels, z}));
    criteria.push_back(net.Add("SumElements", "SumElements", {z}));
    net.network.Validate();
    net.FillInputs();
    Evaluator evaluator(net.network, criteria);
    evaluator.Forward();
    for (const ComputationNodePtr& criterion : criteria)
        EXPECT_TRUE(std::isfinite(ValueOf(criterion)[0])) << criterion->Name();
    EXPECT_LE(ValueOf(criteria[0])[0], 4);
}

TEST(CriterionNodesTest, LogisticIsTheBinaryCrossEntropy)
{
    const double expected = -std::log(0.8) - std::log(1 - 0.3);
    for (const bool sparse : {false, true})
        EXPECT_NEAR(Compared("Logistic", 1, {1, 0}, {0.8, 0.3}, sparse).Value(), expected, 1e-15);
    EXPECT_NEAR(Compared("Logistic", 1, {1, 0}, {0.8, 0.3}, false, 2).Value(), 2 * expected, 1e-15);
}

// However small p is: nothing of it is lost beside 1.
TEST(CriterionNodesTest, LogisticStandsSmallProbabilities)
{
    for (const DataType type : {DataType::Float32, DataType::Float64})
        for (const bool sparse : {false, true})
        {
            EXPECT_NEAR(Compared("Logistic", 1, {1}, {1e-9}, sparse, 0, type).Value(), -std::log(1e-9), 1e-5);
            EXPECT_NEAR(Compared("Logistic", 1, {1}, {1e-35}, sparse, 0, type).Value(), -std::log(1e-35), 1e-5);
            EXPECT_NEAR(Compared("Logistic", 1, {0}, {1 - 0x1p-24}, sparse, 0, type).Value(), std::log(0x1p24), 1e-5);
        }
}

// A divisor of 0 counts as +1e-30 wherever the original divides matrices.
TEST(CriterionNodesTest, GradientsWhereAProbabilityIsZero)
{
    for (const char* type : {"CrossEntropy", "Logistic"})
        for (const bool sparse : {false, true})
        {
            TestNetwork net;
            net.SetFrames(1);
            const ComputationNodePtr labels = net.network.AddInput("labels", {2}, sparse);
            const ComputationNodePtr one = net.Input("one", {1});
            const ComputationNodePtr p = net.Parameter("p", {2, 1});
            dynamic_cast<LearnableParameterNode&>(*p).Values().FromHost(std::vector<double>{0, 0.5});
            const ComputationNodePtr criterion = net.Add(type, "c", {labels, net.Add("Times", "t", {p, one})});
            net.network.Validate();
            dynamic_cast<InputValueNode&>(*labels).SetDense(std::vector<double>{1, 0}.data(), 2, 1);
            dynamic_cast<InputValueNode&>(*one).SetDense(std::vector<double>{1}.data(), 1, 1);
            EvaluatorOptions options;
            options.training = true;
            Evaluator evaluator(net.network, {criterion}, options);
            evaluator.Forward();
            evaluator.Backward(criterion);
            const std::vector<double> gradient = GradientOf(p);
            EXPECT_DOUBLE_EQ(gradient[0], -1e30) << type;
            EXPECT_DOUBLE_EQ(gradient[1], type == std::string("Logistic") ? 2 : 0);
        }
}

TEST(CriterionNodesTest, SizesMustAgree)
{
    for (const char* type : {"CrossEntropyWithSoftmax", "ErrorPrediction", "CrossEntropy"})
    {
        TestNetwork net;
        net.Add(type, "c", {net.Input("labels", {10}), net.Input("z", {12})});
        EXPECT_EQ(MessageOf([&] { net.network.Validate(); }),
                  std::string(type) + " compares 'labels' [10] with 'z' [12]: expected as many rows in both, but there "
                                      "are 10 and 12");
    }
    TestNetwork net;
    net.Add("SquareError", "c", {net.Input("labels", {10}), net.Input("z", {12})});
    EXPECT_EQ(
        MessageOf([&] { net.network.Validate(); }),
        "SquareError compares 'labels' [10] with 'z' [12]: expected as many elements in both, but there are 10 and "
        "12");
    TestNetwork twice;
    twice.Add("SquareError", "c", {twice.network.AddInput("a", {3}, true), twice.network.AddInput("b", {3}, true)});
    EXPECT_EQ(MessageOf([&] { twice.network.Validate(); }),
              "input 'b' is sparse, but SquareError takes sparse values as b only beside a dense a; make it dense: "
              "InputValue in place of SparseInputValue");
    TestNetwork prediction;
    prediction.Add("CrossEntropyWithSoftmax", "c",
                   {prediction.Input("labels", {3}), prediction.network.AddInput("z", {3}, true)});
    EXPECT_EQ(MessageOf([&] { prediction.network.Validate(); }),
              "input 'z' is sparse, but CrossEntropyWithSoftmax takes dense values as z; only labels may be sparse; "
              "sparse values go into the criteria CrossEntropy (labels), CrossEntropyWithSoftmax (labels), "
              "ErrorPrediction (labels), Logistic (labels), SequenceWithSoftmax (labels), SquareError (a or b); or "
              "make it dense: InputValue in "
              "place of SparseInputValue");
    TestNetwork mixed;
    mixed.Add("CrossEntropy", "c", {mixed.Parameter("labels", {3}), mixed.Input("z", {3})});
    EXPECT_EQ(MessageOf([&] { mixed.network.Validate(); }),
              "CrossEntropy compares 'labels' [3] with 'z' [3], but only the second changes with the samples");
    TestNetwork top;
    top.Add("ErrorPrediction", "c", {top.Input("labels", {3}), top.Input("z", {3}), top.Parameter("k", {2})});
    EXPECT_EQ(MessageOf([&] { top.network.Validate(); }),
              "the third input of ErrorPrediction, topK, must be a single number, but is 'k' [2]");
    for (const auto& [number, text] : {std::pair(1.5, "1.5"), {0.5, "0.5"}, {-1.0, "-1"}})
        EXPECT_EQ(MessageOf(
                      [k = number] {
                          Compared("ErrorPrediction", 2, {1, 0}, {1, 0}, false, k);
                      }),
                  std::string("the third input of ErrorPrediction, topK, is ") + text +
                      " ('third'); expected a whole number, 1 or more");
    TestNetwork weights;
    weights.Add("Logistic", "c", {weights.Input("y", {3}), weights.Input("p", {3}), weights.Input("w", {2})});
    EXPECT_EQ(MessageOf([&] { weights.network.Validate(); }),
              "the weights of Logistic, 'w' [2], must be one number a sample, or one for each of its 3 elements");
}

} // namespace

} // namespace cntk::Testing
