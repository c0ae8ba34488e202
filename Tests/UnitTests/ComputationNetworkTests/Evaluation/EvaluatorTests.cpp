// Values and gradients of plain networks and recurrent loops with gaps. Sharing and fusion change no result, and the
// steady state allocates nothing.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/GradientCheck.h"
#include "ComputationNetworkTests/TestNetwork.h"
#include "Math/Operations.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace cntk::Testing
{
namespace
{

// Two layers and a softmax.
struct Layers : TestNetwork
{
    explicit Layers(DataType type = DataType::Float64) : TestNetwork(type)
    {
        auto x = Input("x", {3});
        auto z1 = Add("Plus", "z1", {Add("Times", "p1", {Parameter("W1", {4, 3}), x}), Parameter("b1", {4, 1})});
        h = Add("Sigmoid", "h", {z1});
        auto z2 = Add("Plus", "z2", {Add("Times", "p2", {Parameter("W2", {2, 4}), h}), Parameter("b2", {2, 1})});
        output = Add("Tanh", "out", {z2});
        criterion = Add("TestCriterion", "ce", {output});
        network.Validate();
    }
    ComputationNodePtr h, output, criterion;
};

TEST(Evaluator, ComputesValuesByHand)
{
    TestNetwork net;
    auto x = net.Input("x", {2});
    auto w = net.Parameter("W", {1, 2});
    auto p = net.Add("Times", "p", {w, x});
    auto s = net.Add("Sigmoid", "s", {p});
    net.network.Validate();
    std::dynamic_pointer_cast<LearnableParameterNode>(w)->Values().FromHost(std::vector<double>{2, -1});
    net.SetFrames(2);
    const std::vector<double> values{1, 2, 3, 5};
    std::dynamic_pointer_cast<InputValueNode>(x)->SetDense(values.data(), 2, 2);
    Evaluator evaluator(net.network, {s, p});
    evaluator.Forward();
    ExpectNear(ValueOf(p), {0, 1}, 1e-15);
    ExpectNear(ValueOf(s), {0.5, 1 / (1 + std::exp(-1.0))}, 1e-15);
}

TEST(Evaluator, GradientsAgreeWithDifferences)
{
    Layers net;
    net.SetFrames(5);
    net.FillInputs();
    for (const bool fuse : {true, false})
        for (const bool share : {true, false})
        {
            EvaluatorOptions options = Checked(true);
            options.fuse = fuse;
            options.shareMemory = share;
            Evaluator evaluator(net.network, {net.criterion}, options);
            ExpectGradientsAgree(evaluator, net.criterion);
        }
}

TEST(Evaluator, ListsTrainedParametersCaseSensitively)
{
    TestNetwork net;
    auto x = net.Input("x", {2});
    auto frozen = net.Parameter("F", {2, 2});
    std::dynamic_pointer_cast<LearnableParameterNode>(frozen)->SetLearningRateMultiplier(0);
    auto h = net.Add("Times", "h", {net.Parameter("b", {2, 2}), net.Add("Times", "below", {frozen, x})});
    auto criterion = net.Add("TestCriterion", "ce", {net.Add("Times", "g", {net.Parameter("W", {2, 2}), h})});
    net.network.Validate();
    Evaluator evaluator(net.network, {criterion}, Checked(true));
    ASSERT_EQ(evaluator.Parameters().size(), 2u);
    EXPECT_EQ(evaluator.Parameters()[0]->Name(), "W");
    EXPECT_EQ(evaluator.Parameters()[1]->Name(), "b");
}

TEST(Evaluator, GradientsOfSharedInputsAddUp)
{
    TestNetwork net;
    auto x = net.Input("x", {2});
    auto w = net.Parameter("W", {2, 2});
    auto p = net.Add("Times", "p", {w, x});
    auto q = net.Add("Times", "q", {w, net.Add("Tanh", "t", {p})}); // the weight twice
    auto sum = net.Add("Plus", "sum", {net.Add("ElementTimes", "e", {p, p}), q});
    auto criterion = net.Add("TestCriterion", "ce", {sum});
    net.network.Validate();
    net.SetFrames(3);
    net.FillInputs();
    Evaluator evaluator(net.network, {criterion}, Checked(true));
    ExpectGradientsAgree(evaluator, criterion);
}

TEST(Evaluator, EvaluationNodesBesideTheCriterion)
{
    Layers net;
    auto evaluation = net.Add("TestCriterion", "eval", {net.h});
    net.network.Validate();
    net.SetFrames(4);
    net.FillInputs();
    Evaluator evaluator(net.network, {evaluation, net.criterion}, Checked(true));
    ExpectGradientsAgree(evaluator, net.criterion);
    EXPECT_FALSE(std::isnan(ValueOf(evaluation)[0]));
    EXPECT_EQ(MessageOf([&] { evaluator.Backward(evaluation); }),
              "back-propagation from 'eval' was not planned; the plan's criterion is 'ce'");
    EvaluatorOptions options = Checked(true);
    options.backwardRoot = evaluation;
    Evaluator other(net.network, {evaluation, net.criterion}, options);
    ExpectGradientsAgree(other, evaluation);
}

TEST(Evaluator, AccumulatesOverPartsOfAMinibatch)
{
    Layers net;
    Evaluator evaluator(net.network, {net.criterion}, Checked(true));
    net.SetFrames(4);
    net.FillInputs(1);
    evaluator.Forward();
    evaluator.Backward(net.criterion);
    std::vector<double> expected = GradientOf(net.network.Find("W1"));
    net.SetFrames(6);
    net.FillInputs(2);
    evaluator.Forward();
    evaluator.Backward(net.criterion);
    const std::vector<double> second = GradientOf(net.network.Find("W1"));
    for (size_t i = 0; i < expected.size(); i++)
        expected[i] += second[i];

    net.SetFrames(4);
    net.FillInputs(1);
    evaluator.Forward();
    evaluator.Backward(net.criterion);
    net.SetFrames(6);
    net.FillInputs(2);
    evaluator.Forward();
    evaluator.BackwardAccumulate(net.criterion);
    ExpectNear(GradientOf(net.network.Find("W1")), expected, 1e-12);
}

TEST(Evaluator, SeveralEvaluatorsTakeTurns)
{
    Layers net;
    Evaluator training(net.network, {net.criterion}, Checked(true));
    Evaluator testing(net.network, {net.output});
    net.SetFrames(5);
    net.FillInputs();
    training.Forward();
    training.Backward(net.criterion);
    const std::vector<double> gradient = GradientOf(net.network.Find("W1"));
    testing.Forward();
    const std::vector<double> value = ValueOf(net.output);
    EXPECT_EQ(MessageOf([&] { training.Backward(net.criterion); }),
              "back-propagation from 'ce' without a forward pass before it");
    training.Forward();
    training.Backward(net.criterion);
    EXPECT_EQ(GradientOf(net.network.Find("W1")), gradient);
    testing.Forward();
    EXPECT_EQ(ValueOf(net.output), value);
}

TEST(Evaluator, NoticesInputsThatDoNotFitTheLayout)
{
    Layers net;
    net.SetFrames(5);
    net.FillInputs();
    Evaluator evaluator(net.network, {net.criterion});
    evaluator.Forward();
    net.SetFrames(6);
    EXPECT_EQ(MessageOf([&] { evaluator.Forward(); }), "input 'x' holds 5 columns, but its minibatch layout has 6");
}

TEST(Evaluator, NoticesAChangedNetwork)
{
    Layers net;
    Evaluator evaluator(net.network, {net.criterion});
    net.Add("Tanh", "more", {net.h});
    net.SetFrames(5);
    net.FillInputs();
    EXPECT_EQ(MessageOf([&] { evaluator.Forward(); }), "the network has changed since its evaluation was planned");
}

TEST(Evaluator, KeepsAskedForValues)
{
    Layers net;
    net.SetFrames(5);
    net.FillInputs();
    EvaluatorOptions options = Checked(true);
    options.keepValues = {net.network.Find("p1"), net.network.Find("z1"), net.h};
    Evaluator evaluator(net.network, {net.criterion}, options);
    evaluator.Forward();
    evaluator.Backward(net.criterion);
    const std::vector<double> h = ValueOf(net.h), z = ValueOf(net.network.Find("z1"));
    for (size_t i = 0; i < h.size(); i++)
        EXPECT_NEAR(h[i], 1 / (1 + std::exp(-z[i])), 1e-14);
}

TEST(Evaluator, AllocatesOnlyForLargerMinibatches)
{
    Layers net;
    EvaluatorOptions options;
    options.training = true;
    Evaluator evaluator(net.network, {net.criterion}, options);
    const auto run = [&](size_t samples)
    {
        net.SetFrames(samples);
        net.FillInputs();
        evaluator.Forward();
        evaluator.Backward(net.criterion);
        return evaluator.BytesAllocated();
    };
    const size_t bytes = run(64);
    EXPECT_EQ(run(10), bytes);
    EXPECT_EQ(run(64), bytes);
    EXPECT_GT(run(640), bytes);
}

TEST(Evaluator, WorksInSinglePrecision)
{
    Layers single(DataType::Float32), reference;
    for (Layers* net : {&single, &reference})
    {
        net->SetFrames(5);
        net->FillInputs();
    }
    Evaluator a(single.network, {single.criterion}, Checked(true)),
        b(reference.network, {reference.criterion}, Checked(true));
    a.Forward();
    b.Forward();
    a.Backward(single.criterion);
    b.Backward(reference.criterion);
    ExpectNear(GradientOf(single.network.Find("W1")), GradientOf(reference.network.Find("W1")), 1e-5);
}

TEST(Evaluator, AxesOfDifferentLengthsInOneNetwork)
{
    TestNetwork net;
    NodeParameters parameters;
    parameters.Set("rows", "3");
    parameters.Set("cols", "1");
    parameters.Set("dynamicAxis", "other");
    auto w = net.Parameter("W", {2, 3});
    auto x = net.Input("x", {3});
    auto y = net.network.Add("InputValue", "y", {}, parameters);
    auto a = net.Add("TestCriterion", "a", {net.Add("Tanh", "tx", {net.Add("Times", "px", {w, x})})});
    auto b = net.Add("TestCriterion", "b", {net.Add("Sigmoid", "sy", {net.Add("Times", "py", {w, y})})});
    auto criterion = net.Add("Plus", "ce", {a, b});
    net.network.Validate();
    Evaluator evaluator(net.network, {criterion}, Checked(true));
    for (const size_t columns : {7, 2, 9})
    {
        net.SetFrames(4);
        net.network.Layout("other")->InitAsFrameMode(columns);
        net.FillInputs();
        ExpectGradientsAgree(evaluator, criterion);
    }
}

TEST(Evaluator, EmptyMinibatchesHaveZeroGradients)
{
    Layers net;
    Evaluator evaluator(net.network, {net.criterion}, Checked(true));
    for (const size_t samples : {4, 0})
    {
        net.SetFrames(samples);
        net.FillInputs();
        evaluator.Forward();
        evaluator.Backward(net.criterion);
    }
    EXPECT_EQ(ValueOf(net.criterion), std::vector<double>{0});
    for (const auto& parameter : evaluator.Parameters())
        EXPECT_EQ(GradientOf(parameter), std::vector<double>(parameter->Values().Elements(), 0.0)) << parameter->Name();
}

// ---- sparse gradients ----

struct SparseNetwork : TestNetwork
{
    SparseNetwork()
    {
        x = std::dynamic_pointer_cast<InputValueNode>(network.AddInput("x", {6}, true));
        w = Parameter("W", {2, 6});
        criterion = Add("TestCriterion", "ce", {Add("Tanh", "t", {Add("Times", "p", {w, x})})});
        network.Validate();
    }
    // One-hot columns.
    void Set(const std::vector<int32_t>& words)
    {
        SetFrames(words.size());
        std::vector<int32_t> starts(words.size() + 1);
        for (size_t i = 0; i < starts.size(); i++)
            starts[i] = int32_t(i);
        const std::vector<double> ones(words.size(), 1.0);
        x->SetSparse(ones.data(), words.data(), starts.data(), 6, words.size());
    }
    std::shared_ptr<InputValueNode> x;
    ComputationNodePtr w, criterion;
};

TEST(EvaluatorSparse, OnlyTouchedColumnsHoldAGradient)
{
    SparseNetwork net;
    Evaluator evaluator(net.network, {net.criterion}, Checked(true));
    for (const std::vector<int32_t>& words : {std::vector<int32_t>{4, 1, 4}, {0, 1}, {5}})
    {
        net.Set(words);
        evaluator.Forward();
        evaluator.Backward(net.criterion);
        const TouchedColumns touched = net.w->GradientColumns();
        EXPECT_FALSE(touched.all);
        std::vector<int32_t> expected = words;
        std::sort(expected.begin(), expected.end());
        expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
        EXPECT_EQ(touched.columns, expected);
        // The columns of the previous minibatch are zero again.
        const std::vector<double> gradient = GradientOf(net.w);
        for (int32_t column = 0; column < 6; column++)
        {
            const bool isTouched = std::find(expected.begin(), expected.end(), column) != expected.end();
            EXPECT_TRUE(isTouched || gradient[size_t(column) * 2] == 0) << "column " << column;
        }
        ExpectGradientsAgree(evaluator, net.criterion);
    }
}

TEST(EvaluatorSparse, ContributionsThatTouchNothingNewLeaveItSparse)
{
    SparseNetwork net;
    auto again = net.Add("TestCriterion", "ae", {net.Add("Sigmoid", "s", {net.Add("Times", "q", {net.w, net.x})})});
    auto criterion = net.Add("Plus", "both", {net.criterion, again});
    net.network.Validate();
    Evaluator evaluator(net.network, {criterion}, Checked(true));
    net.Set({4, 1, 4}); // both products touch the same columns
    ExpectGradientsAgree(evaluator, criterion);
    EXPECT_FALSE(net.w->GradientColumns().all);
    EXPECT_EQ(net.w->GradientColumns().columns, (std::vector<int32_t>{1, 4}));

    net.SetFrames(2); // samples without any element
    const double values[] = {0};
    const int32_t starts[] = {0, 0, 0};
    net.x->SetSparse(values, starts, starts, 6, 2);
    evaluator.Forward();
    evaluator.Backward(criterion);
    EXPECT_FALSE(net.w->GradientColumns().all);
    EXPECT_TRUE(net.w->GradientColumns().columns.empty());
    EXPECT_EQ(GradientOf(net.w), std::vector<double>(12, 0.0));
}

TEST(EvaluatorSparse, ADenseContributionMakesItDense)
{
    SparseNetwork net;
    auto y = net.Input("y", {6});
    auto dense = net.Add("TestCriterion", "de", {net.Add("Tanh", "t2", {net.Add("Times", "p2", {net.w, y})})});
    auto criterion = net.Add("Plus", "both", {net.criterion, dense});
    net.network.Validate();
    net.Set({3, 0});
    std::dynamic_pointer_cast<InputValueNode>(y)->SetDense(std::vector<double>(12, 0.5).data(), 6, 2);
    Evaluator evaluator(net.network, {criterion}, Checked(true));
    ExpectGradientsAgree(evaluator, criterion);
    EXPECT_TRUE(net.w->GradientColumns().all);
}

TEST(EvaluatorSparse, ASecondEvaluatorLeavesNothingBehind)
{
    SparseNetwork net;
    EvaluatorOptions options = Checked(true);
    Evaluator first(net.network, {net.criterion}, options), second(net.network, {net.criterion}, options);
    net.Set({4, 1});
    first.Forward();
    first.Backward(net.criterion);
    net.Set({2});
    second.Forward();
    second.Backward(net.criterion);
    net.Set({3});
    first.Forward();
    first.Backward(net.criterion);
    const std::vector<double> gradient = GradientOf(net.w);
    for (const size_t column : {0, 1, 2, 4, 5})
        EXPECT_EQ(gradient[column * 2], 0) << "column " << column;
    EXPECT_NE(gradient[3 * 2], 0);
}

// ---- loops ----

// h = Tanh(U x + R delay(h) + b), with the input side and the output side outside the loop
struct DelayedSum : TestNetwork
{
    explicit DelayedSum(const std::string& delayType)
    {
        x = Input("x", {3});
        auto ux = Add("Times", "Ux", {Parameter("U", {2, 3}), x});
        delay = Add(delayType, "delay", {ux});
        auto rh = Add("Times", "Rh", {Parameter("R", {2, 2}), delay});
        auto z = Add("Plus", "z", {Add("Plus", "s", {ux, rh}), Parameter("b", {2, 1})});
        h = Add("Tanh", "h", {z});
        network.SetInput(delay, 0, h);
        output = Add("Times", "out", {Parameter("V", {2, 2}), h});
        criterion = Add("TestCriterion", "ce", {output});
        network.Validate();
    }
    ComputationNodePtr x, delay, h, output, criterion;
};

class RecurrentLoops : public ::testing::TestWithParam<std::string>
{
};

TEST_P(RecurrentLoops, ForwardFollowsTime)
{
    DelayedSum net(GetParam());
    const std::vector<size_t> lengths{4, 2, 3};
    net.SetSequences(lengths);
    net.FillInputs();
    EvaluatorOptions options;
    options.checkPlan = true;
    options.poisonMemory = true;
    Evaluator evaluator(net.network, {net.h}, options);
    evaluator.Forward();
    const std::vector<double> h = ValueOf(net.h), x = ValueOf(net.x), u = ValueOf(net.network.Find("U")),
                              r = ValueOf(net.network.Find("R")), b = ValueOf(net.network.Find("b"));
    const size_t rows = lengths.size();
    for (size_t s = 0; s < rows; s++)
    {
        double previous[2] = {0.1, 0.1};
        for (size_t i = 0; i < lengths[s]; i++)
        {
            const size_t t = GetParam() == "TestDelay" ? i : lengths[s] - 1 - i;
            const size_t column = t * rows + s;
            double now[2];
            for (size_t k = 0; k < 2; k++)
            {
                double z = b[k];
                for (size_t j = 0; j < 3; j++)
                    z += u[j * 2 + k] * x[column * 3 + j];
                for (size_t j = 0; j < 2; j++)
                    z += r[j * 2 + k] * previous[j];
                now[k] = std::tanh(z);
                EXPECT_NEAR(h[column * 2 + k], now[k], 1e-14) << "sequence " << s << " time " << t;
            }
            std::copy(now, now + 2, previous);
        }
    }
}

TEST_P(RecurrentLoops, GradientsAgreeWithDifferences)
{
    DelayedSum net(GetParam());
    Evaluator evaluator(net.network, {net.criterion}, Checked(true));
    for (const std::vector<size_t>& lengths :
         {std::vector<size_t>{5}, std::vector<size_t>{3, 3}, std::vector<size_t>{4, 1, 3}, std::vector<size_t>{1, 1}})
    {
        net.SetSequences(lengths);
        net.FillInputs();
        ExpectGradientsAgree(evaluator, net.criterion);
    }
}

TEST_P(RecurrentLoops, LoopInsideTheGradientOfAnother)
{
    // A second loop over the first one's output, both reading the input's projection.
    DelayedSum net(GetParam());
    auto d = net.Add("TestDelayFromFuture", "d2", {net.output});
    auto g = net.Add("Sigmoid", "g",
                     {net.Add("Plus", "g0",
                              {net.Add("ElementTimes", "g1", {net.Parameter("D", {2, 1}), d}),
                               net.Add("Plus", "g2", {net.output, net.network.Find("Ux")})})});
    net.network.SetInput(d, 0, g);
    auto criterion = net.Add("TestCriterion", "ce2", {g});
    net.network.Validate();
    net.SetSequences({4, 2, 3});
    net.FillInputs();
    Evaluator evaluator(net.network, {criterion}, Checked(true));
    ExpectGradientsAgree(evaluator, criterion);
}

INSTANTIATE_TEST_SUITE_P(BothDirections, RecurrentLoops, ::testing::Values("TestDelay", "TestDelayFromFuture"));

TEST(Evaluator, FrameByFrameEqualsWhole)
{
    DelayedSum net("TestDelay");
    net.SetSequences({4, 2, 3});
    net.FillInputs();
    const auto run = [&](bool frameByFrame)
    {
        EvaluatorOptions options = Checked(true);
        options.frameByFrame = frameByFrame;
        Evaluator evaluator(net.network, {net.criterion}, options);
        evaluator.Forward();
        evaluator.Backward(net.criterion);
        std::vector<double> all = ValueOf(net.criterion);
        for (const auto& parameter : evaluator.Parameters())
        {
            const std::vector<double> gradient = GradientOf(parameter);
            all.insert(all.end(), gradient.begin(), gradient.end());
        }
        return all;
    };
    ExpectNear(run(true), run(false), 1e-12);
}

// ---- random graphs ----

// Sharing all memory and fusing everything gives the values and parameter gradients of the plainest evaluation.
TEST(Evaluator, RandomGraphsAreEqualWithAndWithoutSharing)
{
    for (unsigned seed = 1; seed <= 40; seed++)
    {
        std::mt19937 random(seed);
        TestNetwork net;
        std::vector<ComputationNodePtr> nodes{net.Input("x", {3}), net.Input("y", {3})};
        const auto pick = [&] { return nodes[nodes.size() - 1 - random() % std::min<size_t>(nodes.size(), 6)]; };
        for (size_t i = 0; i < 30; i++)
        {
            const std::string name = "n" + std::to_string(i);
            static const std::vector<std::string> unary{"Sigmoid", "Tanh",   "RectifiedLinear",
                                                        "Exp",     "Negate", "Softmax"};
            ComputationNodePtr node;
            switch (random() % 6)
            {
            case 0:
                node = net.Add("Plus", name, {pick(), pick()});
                break;
            case 1:
                node = net.Add("ElementTimes", name, {pick(), net.Parameter("D" + name, {3, 1})});
                break;
            case 2:
                node = net.Add("Minus", name, {pick(), pick()});
                break;
            case 3:
                node = net.Add("Times", name, {net.Parameter("W" + name, {3, 3}), pick()});
                break;
            case 4:
                node = net.Add("Plus", name,
                               {net.Parameter("b" + name, {3, 1}),
                                net.Add("Times", "p" + name, {net.Parameter("W" + name, {3, 3}), pick()})});
                break;
            default:
                node = net.Add(unary[random() % unary.size()], name, {pick()});
                node = net.Add("Tanh", "t" + name, {node}); // values stay small
            }
            nodes.push_back(node);
        }
        auto criterion = net.Add("TestCriterion", "ce", {nodes.back()});
        auto second = net.Add("TestCriterion", "ev", {pick()});
        net.network.Validate();
        net.SetSequences({2, 1});
        net.FillInputs(seed);
        if (!EvaluationPlan::Build({criterion}, {.training = true, .fuse = true, .backwardRoot = {}, .keepValues = {}})
                 .NeedsGradient(criterion.get()))
            continue;

        const auto run = [&](bool share, bool fuse)
        {
            EvaluatorOptions options = Checked(true);
            options.shareMemory = share;
            options.fuse = fuse;
            Evaluator evaluator(net.network, {second, criterion}, options);
            evaluator.Forward();
            evaluator.Backward(criterion);
            std::vector<double> all = ValueOf(criterion);
            all.push_back(ValueOf(second)[0]);
            for (const auto& parameter : evaluator.Parameters())
            {
                const std::vector<double> gradient = GradientOf(parameter);
                all.insert(all.end(), gradient.begin(), gradient.end());
            }
            return all;
        };
        SCOPED_TRACE("seed " + std::to_string(seed));
        const std::vector<double> plain = run(false, false);
        ExpectNear(run(true, false), plain, 1e-12);
        ExpectNear(run(true, true), plain, 1e-12);
    }
}

} // namespace
} // namespace cntk::Testing
