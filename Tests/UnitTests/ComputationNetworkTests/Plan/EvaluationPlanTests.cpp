// Order, loops, pruning of gradients and fusion.
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk::Testing
{
namespace
{

using ::testing::HasSubstr;

std::string Steps(const std::vector<ComputationNodePtr>& roots, bool fuse = false)
{
    return EvaluationPlan::Build(roots, {.training = false, .fuse = fuse, .backwardRoot = {}, .keepValues = {}})
        .ToString();
}

EvaluationPlan TrainingPlan(const std::vector<ComputationNodePtr>& roots, bool fuse = false)
{
    return EvaluationPlan::Build(roots, {.training = true, .fuse = fuse, .backwardRoot = {}, .keepValues = {}});
}

TEST(EvaluationPlan, IsDepthFirstInputsLeftToRight)
{
    TestNetwork net;
    auto x = net.Input("x", {2});
    auto w = net.Parameter("W", {2, 2});
    auto p = net.Add("Times", "p", {w, x});
    auto left = net.Add("Tanh", "left", {p});
    auto right = net.Add("Sigmoid", "right", {x});
    auto sum = net.Add("Plus", "sum", {right, left});
    EXPECT_EQ(Steps({sum}), "x\nright\nW\np\nleft\nsum\n");
    EXPECT_EQ(Steps({left, sum}), "W\nx\np\nleft\nright\nsum\n"); // in the order of the roots
}

// h = Tanh(U x + R delay(h))
struct RecurrentNetwork : TestNetwork
{
    explicit RecurrentNetwork(const std::string& delayType = "TestDelay")
    {
        x = Input("x", {3});
        u = Parameter("U", {2, 3});
        r = Parameter("R", {2, 2});
        delay = Add(delayType, "delay", {x});
        ux = Add("Times", "Ux", {u, x});
        rh = Add("Times", "Rh", {r, delay});
        z = Add("Plus", "z", {ux, rh});
        h = Add("Tanh", "h", {z});
        network.SetInput(delay, 0, h);
        criterion = Add("TestCriterion", "ce", {h});
        network.Validate();
    }
    ComputationNodePtr x, u, r, delay, ux, rh, z, h, criterion;
};

TEST(EvaluationPlan, LoopIsOneBlockInOrderOfAStep)
{
    RecurrentNetwork net;
    EXPECT_EQ(Steps({net.criterion}), "U\nx\nUx\nR\nloop forward: delay, Rh, z, h\nce\n");
    EXPECT_EQ(Steps({net.delay}), "U\nx\nUx\nR\nloop forward: delay, Rh, z, h\n"); // wherever the walk enters
    RecurrentNetwork backward("TestDelayFromFuture");
    EXPECT_EQ(Steps({backward.criterion}), "U\nx\nUx\nR\nloop backward: delay, Rh, z, h\nce\n");
}

TEST(EvaluationPlan, DelayOutsideLoopsIsAnOrdinaryNode)
{
    TestNetwork net;
    auto delay = net.Add("TestDelay", "d", {net.Input("x", {3})});
    net.network.Validate();
    EXPECT_EQ(Steps({delay}), "x\nd\n");
}

TEST(EvaluationPlan, NestedAndNeighbouringLoops)
{
    TestNetwork net;
    auto x = net.Input("x", {2});
    // Two loops, the second consuming the first.
    auto d1 = net.Add("TestDelay", "d1", {x});
    auto h1 = net.Add("Plus", "h1", {x, d1});
    net.network.SetInput(d1, 0, h1);
    auto d2 = net.Add("TestDelayFromFuture", "d2", {x});
    auto h2 = net.Add("Plus", "h2", {h1, d2});
    net.network.SetInput(d2, 0, h2);
    net.network.Validate();
    EXPECT_EQ(Steps({h2}), "x\nloop forward: d1, h1\nloop backward: d2, h2\n");
}

TEST(EvaluationPlan, CycleWithoutDelayIsAnErrorThatListsIt)
{
    TestNetwork net;
    auto x = net.Input("x", {2});
    auto a = net.Add("Plus", "a", {x, x});
    auto b = net.Add("Tanh", "b", {a});
    net.network.SetInput(a, 1, b);
    EXPECT_EQ(MessageOf([&] { Steps({b}); }),
              "the nodes a (Plus), b (Tanh) form a loop without a delay; a recurrent loop "
              "needs a PastValue or FutureValue node");
}

TEST(EvaluationPlan, CycleWithoutDelayBesideOneWithDelay)
{
    RecurrentNetwork net;
    auto extra = net.Add("Plus", "extra", {net.z, net.z});
    net.network.SetInput(net.h, 0, extra);
    net.network.SetInput(net.z, 0, extra);
    EXPECT_THAT(MessageOf([&] { Steps({net.criterion}); }), HasSubstr("form a loop without a delay"));
    EXPECT_THAT(MessageOf([&] { Steps({net.criterion}); }), HasSubstr("extra (Plus)"));
}

TEST(EvaluationPlan, DirectionsMustAgree)
{
    TestNetwork net;
    auto x = net.Input("x", {2});
    auto past = net.Add("TestDelay", "past", {x});
    auto future = net.Add("TestDelayFromFuture", "future", {x});
    auto h = net.Add("Plus", "h", {x, net.Add("Plus", "both", {past, future})});
    net.network.SetInput(past, 0, h);
    net.network.SetInput(future, 0, h);
    const char* message =
        "the delay nodes 'past' (TestDelay) and 'future' (TestDelayFromFuture) of one recurrent loop point in "
        "opposite directions; the nodes of the loop are past (TestDelay), future (TestDelayFromFuture), both "
        "(Plus), h (Plus)";
    EXPECT_EQ(MessageOf([&] { net.network.Validate(); }), message);
    EXPECT_EQ(MessageOf([&] { Steps({h}); }), message);
}

TEST(EvaluationPlan, NodesThatNeedTheWholeMinibatchCannotLoop)
{
    TestNetwork net;
    auto x = net.Input("x", {2});
    auto d = net.Add("TestDelay", "d", {x});
    auto whole = net.Add("TestWhole", "whole", {d});
    auto h = net.Add("Plus", "h", {whole, x});
    net.network.SetInput(d, 0, h);
    const char* message =
        "node 'whole' (TestWhole) needs the whole minibatch at once and cannot be part of a recurrent loop; the "
        "nodes of the loop are d (TestDelay), whole (TestWhole), h (Plus)";
    EXPECT_EQ(MessageOf([&] { net.network.Validate(); }), message);
    EXPECT_EQ(MessageOf([&] { Steps({h}); }), message);
}

TEST(EvaluationPlan, LoopNeedsMinibatchData)
{
    TestNetwork net;
    auto w = net.Parameter("W", {2, 1});
    auto d = net.Add("TestDelay", "d", {w});
    auto h = net.Add("Plus", "h", {w, d});
    net.network.SetInput(d, 0, h);
    EXPECT_THAT(MessageOf([&] { Steps({h}); }), HasSubstr("depends on no minibatch data"));
}

TEST(EvaluationPlan, GradientsOnlyBetweenCriterionAndTrainedParameters)
{
    TestNetwork net;
    auto x = net.Input("x", {2});
    auto frozen = net.Parameter("F", {2, 2});
    std::dynamic_pointer_cast<LearnableParameterNode>(frozen)->SetLearningRateMultiplier(0);
    auto w = net.Parameter("W", {2, 2});
    auto below = net.Add("Times", "below", {frozen, x});
    auto h = net.Add("Times", "h", {w, below});
    auto aside = net.Add("Tanh", "aside", {h});
    auto criterion = net.Add("TestCriterion", "ce", {h});
    net.network.Validate();
    const EvaluationPlan plan = TrainingPlan({aside, criterion});
    for (const auto& node : {w, h, criterion})
        EXPECT_TRUE(plan.NeedsGradient(node.get())) << node->Name();
    for (const auto& node : {x, frozen, below, aside})
        EXPECT_FALSE(plan.NeedsGradient(node.get())) << node->Name();
    EXPECT_EQ(plan.BackwardRoot(), criterion);
    const EvaluationPlan inference =
        EvaluationPlan::Build({criterion}, {.training = false, .fuse = true, .backwardRoot = {}, .keepValues = {}});
    EXPECT_FALSE(inference.NeedsGradient(h.get()));
}

TEST(EvaluationPlan, LoopsNeedGradientsAsAWhole)
{
    RecurrentNetwork net;
    const EvaluationPlan plan = TrainingPlan({net.criterion});
    for (const auto& node : {net.delay, net.rh, net.z, net.h, net.r, net.u, net.ux})
        EXPECT_TRUE(plan.NeedsGradient(node.get())) << node->Name();
    EXPECT_FALSE(plan.NeedsGradient(net.x.get()));
}

TEST(EvaluationPlan, RefusesToTrainThroughNodesWithoutGradient)
{
    TestNetwork net;
    auto x = net.Input("x", {2});
    auto opaque = net.Add("TestOpaque", "opaque", {net.Add("Times", "p", {net.Parameter("W", {2, 2}), x})});
    auto criterion = net.Add("TestCriterion", "ce", {opaque});
    net.network.Validate();
    EXPECT_EQ(
        MessageOf([&] { TrainingPlan({criterion}); }),
        "cannot train the criterion 'ce': node 'opaque' (TestOpaque) has no gradient, and the parameter 'W' below "
        "it is trained; use another node type, or exclude the parameters below it from training");
    // The node is allowed as an evaluation next to the criterion.
    auto good = net.Add("TestCriterion", "good", {net.network.Find("p")});
    net.network.Validate();
    EXPECT_TRUE(TrainingPlan({criterion, good}).NeedsGradient(good.get()));
}

TEST(EvaluationPlan, CriterionMustBeANumber)
{
    TestNetwork net;
    auto h = net.Add("Times", "h", {net.Parameter("W", {2, 2}), net.Input("x", {2})});
    net.network.Validate();
    EXPECT_EQ(MessageOf([&] { TrainingPlan({h}); }),
              "the training criterion 'h' (Times) is not a single number: its shape is [2 x *]");
}

TEST(EvaluationPlan, DeepNetworksAndLongLoopsNeedNoStack)
{
    TestNetwork net;
    auto x = net.Input("x", {2});
    auto d = net.Add("TestDelay", "d", {x});
    ComputationNodePtr top = net.Add("Plus", "first", {x, d});
    for (size_t i = 0; i < 20000; i++)
        top = net.Add("Tanh", "t" + std::to_string(i), {top});
    net.network.SetInput(d, 0, top);
    net.network.Validate();
    const EvaluationPlan plan =
        EvaluationPlan::Build({top}, {.training = false, .fuse = true, .backwardRoot = {}, .keepValues = {}});
    ASSERT_EQ(plan.Steps().size(), 2u);
    EXPECT_EQ(plan.Steps()[1].nodes.size(), 20002u);
}

// ---- fusion ----

TEST(EvaluationPlanFusion, ProductBiasAndActivationBecomeOneStep)
{
    TestNetwork net;
    auto x = net.Input("x", {3});
    ComputationNodePtr top = x;
    size_t rows = 3;
    for (const char* activation : {"Sigmoid", "Tanh", "RectifiedLinear", "Softmax"})
    {
        const std::string name = activation;
        auto product = net.Add("Times", "p" + name, {net.Parameter("W" + name, {2, rows}), top});
        auto bias = net.Parameter("b" + name, {2, 1});
        auto sum = name == "Tanh" ? net.Add("Plus", "z" + name, {bias, product})
                                  : net.Add("Plus", "z" + name, {product, bias});
        top = net.Add(activation, name, {sum});
        rows = 2;
    }
    auto criterion = net.Add("TestCriterion", "ce", {top});
    net.network.Validate();
    EXPECT_EQ(TrainingPlan({criterion}, true).ToString(),
              "WSoftmax\nWRectifiedLinear\nbTanh\nWTanh\nWSigmoid\nx\nbSigmoid\nfused: pSigmoid, zSigmoid, Sigmoid\n"
              "fused: pTanh, zTanh, Tanh\nbRectifiedLinear\n"
              "fused: pRectifiedLinear, zRectifiedLinear, RectifiedLinear\nbSoftmax\nfused: pSoftmax, zSoftmax\n"
              "Softmax\nce\n");
}

TEST(EvaluationPlanFusion, NotWhereSomebodyWantsTheValuesBetween)
{
    TestNetwork net;
    auto x = net.Input("x", {3});
    auto p = net.Add("Times", "p", {net.Parameter("W", {2, 3}), x});
    auto z = net.Add("Plus", "z", {p, net.Parameter("b", {2, 1})});
    auto h = net.Add("Sigmoid", "h", {z});
    net.network.Validate();
    EXPECT_THAT(Steps({h}, true), HasSubstr("fused: p, z, h\n"));
    EXPECT_THAT(Steps({h, z}, true), HasSubstr("fused: p, z\nh\n"));
    EXPECT_THAT(Steps({h, p}, true), Not(HasSubstr("fused")));
    const auto keeping = [&](const ComputationNodePtr& kept)
    {
        return EvaluationPlan::Build({h}, {.training = false, .fuse = true, .backwardRoot = {}, .keepValues = {kept}})
            .ToString();
    };
    EXPECT_THAT(keeping(z), HasSubstr("fused: p, z\nh\n"));
    EXPECT_THAT(keeping(p), Not(HasSubstr("fused")));
    auto second = net.Add("Tanh", "second", {p});
    net.network.Validate();
    EXPECT_THAT(Steps({h, second}, true), Not(HasSubstr("fused")));
}

// The matrix after a pooling is [outputs x channels x width x height].
TEST(EvaluationPlanFusion, AlsoOfATensorThatTakesWholeImages)
{
    for (const bool fits : {true, false})
    {
        TestNetwork net;
        auto x = net.Input("x", {2, 3, 4});
        auto W = fits ? net.Parameter("W", {5, 2, 3, 4}) : net.Parameter("W", {5, 2, 3});
        auto p = net.Add("Times", "p", {W, x});
        auto z = net.Add("Plus", "z", {p, fits ? net.Parameter("b", {5}) : net.Parameter("b", {5, 4})});
        auto h = net.Add("Sigmoid", "h", {z});
        net.network.Validate();
        EXPECT_EQ(Steps({h}, true).find("fused: p, z, h\n") != std::string::npos, fits);
        net.SetSequences({2, 1, 3});
        net.FillInputs();
        EvaluatorOptions options;
        options.fuse = false;
        Evaluator plain(net.network, {h}, options);
        plain.Forward();
        const std::vector<double> expected = ValueOf(h);
        Evaluator fused(net.network, {h}, {});
        fused.Forward();
        const std::vector<double> found = ValueOf(h);
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); i++)
        {
            if (std::isnan(expected[i])) // a gap
                continue;
            EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
        }
    }
}

TEST(EvaluationPlanFusion, OnlyForABiasColumn)
{
    TestNetwork net;
    auto x = net.Input("x", {3});
    auto p = net.Add("Times", "p", {net.Parameter("W", {2, 3}), x});
    auto scalar = net.Add("Plus", "z", {p, net.Parameter("s", {1, 1})});
    auto q = net.Add("Times", "q", {net.Parameter("V", {2, 3}), x});
    auto samples = net.Add("Plus", "y", {q, scalar});
    net.network.Validate();
    EXPECT_THAT(Steps({samples}, true), Not(HasSubstr("fused")));
}

} // namespace
} // namespace cntk::Testing
