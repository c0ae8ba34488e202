// Word classes and noise contrastive estimation: values computed by hand, extremes, touched columns, errors.
#include "Common/Error.h"
#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

EvaluatorOptions TrainingOf(const ComputationNodePtr& criterion)
{
    EvaluatorOptions options;
    options.training = true;
    options.backwardRoot = criterion;
    return options;
}

// -log softmax of scores at a place.
double Loss(const std::vector<double>& scores, size_t target)
{
    double sum = 0;
    for (const double score : scores)
        sum += std::exp(score - scores[target]);
    return std::log(sum);
}

// x [2], W [2 x 5], class scores of 2 classes: words 0-2 and 3-4.
struct ClassNetwork
{
    explicit ClassNetwork(const std::vector<double>& labels, const std::vector<double>& x = {1, -1, 0.5, 2},
                          const std::vector<double>& classScores = {0.3, -0.2, 0, 1})
    {
        net.SetFrames(labels.size() / 4);
        const ComputationNodePtr label = net.Input("labels", {4});
        const ComputationNodePtr input = net.Input("x", {2});
        const ComputationNodePtr scores = net.Input("q", {2});
        weights = std::dynamic_pointer_cast<LearnableParameterNode>(net.Parameter("W", {2, 5}));
        weights->Values().FromHost(std::vector<double>{1, 0, 0, 1, 1, 1, -1, 2, 3, 1});
        criterion = net.Add("CBCEWithSM", "c", {label, input, weights, scores});
        net.network.Validate();
        const size_t samples = labels.size() / 4;
        dynamic_cast<InputValueNode&>(*label).SetDense(labels.data(), 4, samples);
        dynamic_cast<InputValueNode&>(*input).SetDense(x.data(), 2, samples);
        dynamic_cast<InputValueNode&>(*scores).SetDense(classScores.data(), 2, samples);
    }
    double Value()
    {
        Evaluator evaluator(net.network, {criterion});
        evaluator.Forward();
        return ValueOf(criterion)[0];
    }
    TestNetwork net;
    std::shared_ptr<LearnableParameterNode> weights;
    ComputationNodePtr criterion;
};

TEST(ClassBasedCrossEntropyTest, IsTheSumOfWordInClassAndClass)
{
    // x = (1, -1): words 0, 1, 2 have scores 1, -1, 0. x = (0.5, 2): words 3, 4 have 3.5, 3.5.
    const double expected = Loss({1, -1, 0}, 1) + Loss({0.3, -0.2}, 0) + Loss({3.5, 3.5}, 1) + Loss({0, 1}, 1);
    EXPECT_NEAR(ClassNetwork({1, 0, 0, 3, 4, 1, 3, 5}).Value(), expected, 1e-14);
}

TEST(ClassBasedCrossEntropyTest, SamplesOfAnEmptyClassAreLeftOut)
{
    EXPECT_NEAR(ClassNetwork({0, 0, 2, 2, 4, 1, 3, 5}).Value(), Loss({3.5, 3.5}, 1) + Loss({0, 1}, 1), 1e-14);
    EXPECT_EQ(ClassNetwork({0, 0, 2, 2, 0, 0, 0, 0}).Value(), 0);
}

TEST(ClassBasedCrossEntropyTest, StandsExtremes)
{
    EXPECT_DOUBLE_EQ(ClassNetwork({1, 0, 0, 3}, {1e4, -1e4}, {-1e4, 1e4}).Value(), 4e4);
    EXPECT_DOUBLE_EQ(ClassNetwork({0, 1, 0, 3}, {1e4, -1e4}, {-1e4, 1e4}).Value(), 0);
}

TEST(ClassBasedCrossEntropyTest, TouchesTheWordsOfTheMinibatchOnly)
{
    ClassNetwork classes({4, 1, 3, 5});
    Evaluator evaluator(classes.net.network, {classes.criterion}, TrainingOf(classes.criterion));
    for (int minibatch = 0; minibatch < 2; minibatch++)
    {
        evaluator.Forward();
        evaluator.Backward(classes.criterion);
        EXPECT_FALSE(classes.weights->GradientColumns().all);
        EXPECT_TRUE(classes.weights->GradientColumns().standsForDense);
        EXPECT_EQ(classes.weights->GradientColumns().columns, (std::vector<int32_t>{3, 4}));
        const std::vector<double> gradient = GradientOf(classes.weights);
        EXPECT_TRUE(std::all_of(gradient.begin(), gradient.begin() + 6, [](double g) { return g == 0; }));
        // x = (1, -1): words 3, 4 have scores -3, 2; the second is right.
        const double p = std::exp(-3.0) / (std::exp(-3.0) + std::exp(2.0));
        EXPECT_NEAR(gradient[6], p, 1e-15);
        EXPECT_NEAR(gradient[9], p, 1e-15);
    }
}

// The gradient of a word in two classes is a sum over the classes. It cannot update the word class by class, so it
// stays in memory.
TEST(ClassBasedCrossEntropyTest, AreUpdatedBehindWhereNoWordIsInTwoClasses)
{
    struct Updates final : GradientUpdates
    {
        ProductUpdate UpdateOf(const ComputationNode&) override { return {}; }
        bool UpdateBy(SliceOperands&, const ComputationNode&) override { return ++asked > 0; }
        int asked = 0;
    };
    for (const bool isInTwo : {false, true})
    {
        ClassNetwork classes({2, 0, 0, 3, 3, 1, isInTwo ? 2.0 : 3.0, 5});
        Evaluator evaluator(classes.net.network, {classes.criterion}, TrainingOf(classes.criterion));
        evaluator.Forward();
        Updates updates;
        evaluator.Backward(classes.criterion, &updates);
        EXPECT_EQ(updates.asked, isInTwo ? 0 : 1);
        if (!isInTwo)
            continue;
        // x = (1, -1): words 0 to 2 have scores 1, -1, 0, the last is right; (0.5, 2): words 2 to 4 2.5, 3.5, 3.5.
        const double first = std::exp(0.0) / (std::exp(1.0) + std::exp(-1.0) + 1) - 1;
        const double second = std::exp(2.5) / (std::exp(2.5) + 2 * std::exp(3.5));
        const std::vector<double> gradient = GradientOf(classes.weights);
        EXPECT_NEAR(gradient[4], first * 1 + second * 0.5, 1e-14);
        EXPECT_NEAR(gradient[5], first * -1 + second * 2, 1e-14);
    }
}

TEST(ClassBasedCrossEntropyTest, KeepsNothingOfTheSizeOfTheVocabulary)
{
    TestNetwork net;
    const ComputationNodePtr c =
        net.Add("ClassBasedCrossEntropyWithSoftmax", "c",
                {net.Input("labels", {4}), net.Input("x", {20}), net.Parameter("W", {20, 5000}), net.Input("q", {30})});
    net.network.Validate();
    for (const TemporarySpec& spec : c->Temporaries())
        EXPECT_LE(spec.rows, 30u);
}

TEST(ClassBasedCrossEntropyTest, WrongLabelsAreNamed)
{
    const auto messageOf = [](const std::vector<double>& labels)
    { return MessageOf([&] { ClassNetwork(labels).Value(); }); };
    EXPECT_EQ(messageOf({1, 0, 0, 3, 5, 1, 3, 5}), "the label of sample 1 has 5 as its word; expected a whole number "
                                                   "from 0 to 4, since 'W' has 5 columns, one a word");
    EXPECT_EQ(messageOf({1, 2, 0, 3}), "the label of sample 0 has 2 as its class; expected a whole number from 0 to 1, "
                                       "since 'q' has 2 rows, one a class");
    EXPECT_EQ(messageOf({1, 0, -1, 3}), "the label of sample 0 has -1 as its first word of the class; expected a whole "
                                        "number from 0 to 5, since 'W' has 5 columns, one a word");
    EXPECT_EQ(messageOf({1, 0, 0, 3.5}), "the label of sample 0 has 3.5 as its first word of the next class; expected "
                                         "a whole number from 0 to 5, since 'W' has 5 columns, one a word");
    EXPECT_EQ(messageOf({3, 0, 0, 3}),
              "the label of sample 0 has word 3 in class 0, but the words of that class are 0 to 2");
    EXPECT_EQ(messageOf({1, 0, 2, 2}), "the label of sample 0 has word 1 in class 0, but the words of that class are 2 "
                                       "to 1, which are none; expected another class or word");
}

TEST(ClassBasedCrossEntropyTest, WrongLabelsBelongToTheNodeAndTheirSequence)
{
    ClassNetwork network({1, 0, 0, 3, 1, 0, 0, 3, 0, 0, 0, 0, 7, 0, 0, 3}, std::vector<double>(8),
                         std::vector<double>(8));
    network.net.SetSequences({1, 2});
    try
    {
        network.Value();
        FAIL();
    }
    catch (const NodeError& error)
    {
        EXPECT_EQ(&error.Node(), network.criterion.get());
        EXPECT_EQ(error.Message(),
                  "the label of step 1 of sequence 1 has 7 as its word; expected a whole number from 0 "
                  "to 4, since 'W' has 5 columns, one a word");
        EXPECT_EQ(error.Notes(), std::vector<std::string>{"while computing c = ClassBasedCrossEntropyWithSoftmax("
                                                          "labels [4 x *], x [2 x *], W [2 x 5], q [2 x *])"});
    }
}

TEST(ClassBasedCrossEntropyTest, WrongShapesAreNamed)
{
    const auto messageOf = [](const TensorShape& labels, const TensorShape& weights, bool scoresAreData)
    {
        TestNetwork net;
        net.Add("ClassBasedCrossEntropyWithSoftmax", "c",
                {net.Input("labels", labels), net.Input("x", {3}), net.Parameter("W", weights),
                 scoresAreData ? net.Input("q", {2}) : net.Parameter("q", {2})});
        return MessageOf([&] { net.network.Validate(); });
    };
    EXPECT_EQ(
        messageOf({2}, {3, 7}, true),
        "the labels of ClassBasedCrossEntropyWithSoftmax, 'labels' [2], must have 4 numbers a sample: word, class, "
        "first word of the class and of the next");
    EXPECT_EQ(messageOf({4}, {7, 3}, true),
              "ClassBasedCrossEntropyWithSoftmax multiplies 'x' [3] with the columns of 'W' [7 x 3]: expected a "
              "parameter of 3 rows, a column for each word");
    EXPECT_EQ(messageOf({4}, {3, 7}, false),
              "the class scores of ClassBasedCrossEntropyWithSoftmax, 'q' [2], must change with the samples");
}

// x [1] = (2, -1), W [1 x 3] = (0.5, 1, -1), b = (0.1, 0.2, 0.3).
struct NceNetwork
{
    NceNetwork(size_t rows, const std::vector<double>& labels, const std::string& mode = "None")
    {
        net.SetFrames(labels.size() / rows);
        const ComputationNodePtr label = net.Input("labels", {rows});
        const ComputationNodePtr input = net.Input("x", {1});
        weights = std::dynamic_pointer_cast<LearnableParameterNode>(net.Parameter("W", {1, 3}));
        weights->Values().FromHost(std::vector<double>{0.5, 1, -1});
        const auto bias = std::dynamic_pointer_cast<LearnableParameterNode>(net.Parameter("b", {1, 3}));
        bias->Values().FromHost(std::vector<double>{0.1, 0.2, 0.3});
        NodeParameters parameters;
        parameters.Set("mode", mode);
        criterion = net.network.Add("NCEBasedCrossEntropyWithSoftmax", "c", {label, input, weights, bias}, parameters);
        net.network.Validate();
        std::vector<double> x; // 2, -1, -1 and so on
        for (size_t sample = 0; sample < labels.size() / rows; sample++)
            x.push_back(sample % 3 == 0 ? 2 : -1);
        dynamic_cast<InputValueNode&>(*label).SetDense(labels.data(), rows, labels.size() / rows);
        dynamic_cast<InputValueNode&>(*input).SetDense(x.data(), 1, labels.size() / rows);
    }
    double Value()
    {
        Evaluator evaluator(net.network, {criterion});
        evaluator.Forward();
        return ValueOf(criterion)[0];
    }
    TestNetwork net;
    std::shared_ptr<LearnableParameterNode> weights;
    ComputationNodePtr criterion;
};

TEST(NceTest, TellsTheTrueWordFromNoise)
{
    // One noise word: true word 1 with log probability -1.5, noise word 2 with -0.7, negated.
    const double trueScore = 2.2;
    const double noiseScore = -1.7;
    const double expected = -(trueScore - std::log(std::exp(trueScore) + std::exp(-1.5))) -
                            (-0.7 - std::log(std::exp(noiseScore) + std::exp(-0.7)));
    EXPECT_NEAR(NceNetwork(4, {1, -1.5, 2, 0.7}).Value(), expected, 1e-14);
}

TEST(NceTest, EvaluatesBySoftmaxOrScore)
{
    const std::vector<double> first = {1.1, 2.2, -1.7};
    const std::vector<double> second = {-0.4, -0.8, 1.3};
    EXPECT_NEAR(NceNetwork(1, {1, 2}).Value(), Loss(first, 1) + Loss(second, 2), 1e-14);
    EXPECT_NEAR(NceNetwork(1, {-1, -2}).Value(), -2.2 - 1.3, 1e-14);
    EXPECT_NEAR(NceNetwork(1, {1, -2}).Value(), Loss(first, 1) - 1.3, 1e-14);
    // Word 0 as mode=softmax of LMSequenceReader has it, in either precision, and its score.
    EXPECT_NEAR(NceNetwork(1, {1e-6, double(1e-6f)}).Value(), Loss(first, 0) + Loss(second, 0), 1e-14);
    EXPECT_NEAR(NceNetwork(1, {-1e-6, 2}).Value(), -1.1 + Loss(second, 2), 1e-14);
    EXPECT_NEAR(NceNetwork(4, {1, -1.5, 2, 0.7}, "softmax").Value(), Loss(first, 1), 1e-14);
    EXPECT_NEAR(NceNetwork(4, {1, -1.5, 2, 0.7}, "Unnormalized").Value(), -2.2, 1e-14);
}

// The softmax is made for 32 samples at a time.
TEST(NceTest, EvaluatesManySamples)
{
    std::vector<double> labels;
    double expected = 0;
    for (size_t sample = 0; sample < 70; sample++)
    {
        labels.push_back(double(1 + sample % 2));
        const std::vector<double> first = {1.1, 2.2, -1.7}, others = {-0.4, -0.8, 1.3};
        expected += Loss(sample % 3 == 0 ? first : others, 1 + sample % 2);
    }
    EXPECT_NEAR(NceNetwork(1, labels).Value(), expected, 1e-12);
}

TEST(NceTest, StandsExtremes)
{
    NceNetwork network(4, {1, -1e4, 2, 1e4});
    EXPECT_NEAR(network.Value(), 1e4 - 1.7, 1e-9);
}

TEST(NceTest, ErrorsAreNamed)
{
    EXPECT_EQ(MessageOf(
                  [] {
                      NceNetwork(4, {3, -1, 2, 1}).Value();
                  }),
              "the label of sample 0 has 3 as its word; expected a whole number from 0 to 2, since 'W' has 3 columns, "
              "one a word");
    EXPECT_EQ(MessageOf(
                  [] {
                      NceNetwork(1, {0, 1.5}).Value();
                  }),
              "the label of sample 1 has 1.5 as its word; expected a whole number from 0 to 2, since 'W' has 3 "
              "columns, one a word");
    EXPECT_EQ(MessageOf(
                  [] {
                      NceNetwork(2, {0, 1}).Value();
                  }),
              "the labels of NCEBasedCrossEntropyWithSoftmax, 'labels' [2], must have 2 (K + 1) numbers a sample for K "
              "noise words, or 1, the word, for evaluation");
    EXPECT_EQ(MessageOf(
                  [] {
                      NceNetwork(1, {0, 1}, "full").Value();
                  }),
              "parameter 'mode' is 'full'; expected Softmax, Unnormalized or None");
    EXPECT_EQ(MessageOf(
                  []
                  {
                      NceNetwork network(1, {0, 1});
                      Evaluator evaluator(network.net.network, {network.criterion}, TrainingOf(network.criterion));
                      evaluator.Forward();
                      evaluator.Backward(network.criterion);
                  }),
              "NCEBasedCrossEntropyWithSoftmax 'c' with labels of one number, or a mode other than None, is for "
              "evaluation only; training needs labels of 2 (K + 1) numbers");
    TestNetwork net;
    net.Add("NoiseContrastiveEstimation", "c",
            {net.Input("labels", {4}), net.Input("x", {2}), net.Parameter("W", {2, 3}), net.Parameter("b", {3})});
    EXPECT_EQ(MessageOf([&] { net.network.Validate(); }),
              "the bias of NCEBasedCrossEntropyWithSoftmax, 'b' [3], must be a parameter [1 x 3]");
}

} // namespace

} // namespace cntk::Testing
