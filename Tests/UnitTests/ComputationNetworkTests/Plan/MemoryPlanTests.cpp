// Lifetimes, sharing of slots, and the checker, which must reject every broken plan.
#include "ComputationNetwork/Plan/MemoryPlan.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk::Testing
{
namespace
{

using ::testing::HasSubstr;
using Life = MemoryPlan::Life;
using What = Life::What;

EvaluationPlan PlanOf(const std::vector<ComputationNodePtr>& roots, bool training, bool fuse = false)
{
    return EvaluationPlan::Build(roots, {.training = training, .fuse = fuse, .backwardRoot = {}, .keepValues = {}});
}

MemoryPlan MemoryOf(const EvaluationPlan& plan, bool alias = true, std::vector<ComputationNodePtr> keep = {})
{
    return MemoryPlan::Build(plan, {.share = true, .aliasGradients = alias, .keepValues = std::move(keep)});
}

const Life& LifeOf(const MemoryPlan& memory, const ComputationNodePtr& node, What what)
{
    const auto found = std::find_if(memory.Lives().begin(), memory.Lives().end(),
                                    [&](const Life& life) { return life.node == node.get() && life.what == what; });
    EXPECT_NE(found, memory.Lives().end()) << node->Name();
    return *found;
}

// x -> p0 = W0 x -> s0 = Sigmoid(p0) -> p1 = W1 s0 -> s1 -> ... -> ce; steps: ... W1 W0 x p0 s0 p1 s1 ...
struct Chain : TestNetwork
{
    explicit Chain(size_t layers)
    {
        ComputationNodePtr top = Input("x", {4});
        for (size_t i = 0; i < layers; i++)
        {
            const std::string n = std::to_string(i);
            weights.push_back(Parameter("W" + n, {4, 4}));
            products.push_back(Add("Times", "p" + n, {weights.back(), top}));
            top = Add("Sigmoid", "s" + n, {products.back()});
            activations.push_back(top);
        }
        criterion = Add("TestCriterion", "ce", {top});
        network.Validate();
    }
    std::vector<ComputationNodePtr> weights, products, activations;
    ComputationNodePtr criterion;
};

TEST(MemoryPlan, InferenceNeedsTwoSlotsForAChain)
{
    Chain net(6);
    const EvaluationPlan plan = PlanOf({net.criterion}, false);
    const MemoryPlan memory = MemoryOf(plan);
    CheckPlan(plan, memory);
    EXPECT_LE(memory.SlotCount(), 3u); // two layers at a time and the criterion
    EXPECT_EQ(memory.SlotOfValue(net.weights[0].get()), MemoryPlan::c_none);
    EXPECT_EQ(memory.SlotOfGradient(net.products[0].get()), MemoryPlan::c_none);
}

TEST(MemoryPlan, TrainingKeepsWhatTheBackwardPassReads)
{
    Chain net(3);
    const EvaluationPlan plan = PlanOf({net.criterion}, true);
    const MemoryPlan memory = MemoryOf(plan);
    CheckPlan(plan, memory);
    const size_t end = 2 * plan.Steps().size();
    // W2 W1 W0 x p0 s0: the product is read by the Sigmoid only; the Sigmoid's value by its own backward pass and the
    // product's.
    EXPECT_EQ(LifeOf(memory, net.products[0], What::Value).last, 5u);
    EXPECT_EQ(LifeOf(memory, net.activations[0], What::Value).last, end - 1 - 5);
    EXPECT_EQ(LifeOf(memory, net.criterion, What::Value).last, MemoryPlan::c_forever);
    EXPECT_EQ(LifeOf(memory, net.weights[1], What::Gradient).last, MemoryPlan::c_forever);
    EXPECT_EQ(LifeOf(memory, net.activations[0], What::Gradient).last, end - 1 - 5);
}

TEST(MemoryPlan, GradientPassesThroughWhereItCan)
{
    Chain net(3);
    const EvaluationPlan plan = PlanOf({net.criterion}, true);
    const MemoryPlan memory = MemoryOf(plan);
    EXPECT_EQ(memory.SlotOfGradient(net.products[1].get()), memory.SlotOfGradient(net.activations[1].get()));
    EXPECT_TRUE(memory.IsGradientAlias(net.products[1].get()));
    EXPECT_FALSE(memory.IsGradientAlias(net.activations[1].get()));
    const MemoryPlan without = MemoryOf(plan, false);
    CheckPlan(plan, without);
    EXPECT_NE(without.SlotOfGradient(net.products[1].get()), without.SlotOfGradient(net.activations[1].get()));
}

TEST(MemoryPlan, NoAliasForGradientsWithTwoContributions)
{
    TestNetwork net;
    auto p = net.Add("Times", "p", {net.Parameter("W", {2, 2}), net.Input("x", {2})});
    auto sum = net.Add("Plus", "sum", {p, p});
    auto criterion = net.Add("TestCriterion", "ce", {sum});
    net.network.Validate();
    const EvaluationPlan plan = PlanOf({criterion}, true);
    EXPECT_FALSE(MemoryOf(plan).IsGradientAlias(p.get()));
}

// A summand that is broadcast to all samples has another gradient than the sum, even with equal dimensions.
TEST(MemoryPlan, NoAliasForTheGradientOfAComputedBias)
{
    TestNetwork net;
    const auto bias = net.Add("Times", "bias", {net.Parameter("W", {2, 3}), net.Parameter("v", {3, 1})});
    const auto criterion = net.Add("TestCriterion", "ce", {net.Add("Plus", "sum", {net.Input("x", {2, 1}), bias})});
    net.network.Validate();
    EXPECT_FALSE(MemoryOf(PlanOf({criterion}, true)).IsGradientAlias(bias.get()));
    net.SetSequences({3, 1});
    net.FillInputs();
    Evaluator evaluator(net.network, {criterion}, Checked(true));
    ExpectGradientsAgree(evaluator, criterion);
}

TEST(MemoryPlan, KeptValuesLiveOn)
{
    Chain net(3);
    const EvaluationPlan plan = PlanOf({net.criterion}, false);
    const MemoryPlan memory = MemoryOf(plan, true, {net.activations[0]});
    CheckPlan(plan, memory);
    EXPECT_EQ(LifeOf(memory, net.activations[0], What::Value).last, MemoryPlan::c_forever);
}

TEST(MemoryPlan, FusedValuesHaveNoMemory)
{
    TestNetwork net;
    auto p = net.Add("Times", "p", {net.Parameter("W", {2, 3}), net.Input("x", {3})});
    auto z = net.Add("Plus", "z", {p, net.Parameter("b", {2, 1})});
    auto h = net.Add("Sigmoid", "h", {z});
    auto criterion = net.Add("TestCriterion", "ce", {h});
    net.network.Validate();
    const EvaluationPlan plan = PlanOf({criterion}, true, true);
    const MemoryPlan memory = MemoryOf(plan);
    CheckPlan(plan, memory);
    EXPECT_EQ(memory.SlotOfValue(p.get()), MemoryPlan::c_none);
    EXPECT_EQ(memory.SlotOfValue(z.get()), MemoryPlan::c_none);
    EXPECT_NE(memory.SlotOfValue(h.get()), MemoryPlan::c_none);
    // One buffer for the whole chain.
    EXPECT_EQ(memory.SlotOfGradient(p.get()), memory.SlotOfGradient(h.get()));
    EXPECT_EQ(memory.SlotOfGradient(z.get()), memory.SlotOfGradient(h.get()));
}

// z = W x, read by a criterion with softmax and by a sum of sigmoids. The later one adds to the gradient first.
struct TwoReaders : TestNetwork
{
    explicit TwoReaders(bool softmaxIsLast)
    {
        z = Add("Times", "z", {Parameter("W", {3, 2}), Input("x", {2})});
        softmax = Add("CrossEntropyWithSoftmax", "ce", {Input("labels", {3}), z});
        auto other = Add("SumElements", "sum", {Add("Sigmoid", "s", {z})});
        total = softmaxIsLast ? Add("Plus", "total", {other, softmax}) : Add("Plus", "total", {softmax, other});
        network.Validate();
    }
    ComputationNodePtr z, softmax, total;
};

TEST(MemoryPlan, ASoftmaxBecomesTheFirstContributionToAGradient)
{
    TwoReaders net(true);
    const EvaluationPlan plan = PlanOf({net.total}, true);
    const MemoryPlan memory = MemoryOf(plan);
    CheckPlan(plan, memory);
    EXPECT_EQ(memory.SlotsOfTemporaries(net.softmax.get())[1], memory.SlotOfGradient(net.z.get()));
    EXPECT_NE(memory.SlotsOfTemporaries(net.softmax.get())[0], memory.SlotOfGradient(net.z.get()));
    const MemoryPlan without = MemoryOf(plan, false);
    CheckPlan(plan, without);
    EXPECT_NE(without.SlotsOfTemporaries(net.softmax.get())[1], without.SlotOfGradient(net.z.get()));
    const EvaluationPlan inference = PlanOf({net.total}, false);
    CheckPlan(inference, MemoryOf(inference));
}

TEST(MemoryPlan, ASoftmaxReplacesTheValueThatNobodyReadsAnyMore)
{
    for (const bool training : {true, false})
    {
        TwoReaders net(true);
        const EvaluationPlan plan = PlanOf({net.total}, training);
        const MemoryPlan memory = MemoryOf(plan);
        CheckPlan(plan, memory);
        const size_t softmax = memory.SlotsOfTemporaries(net.softmax.get())[1];
        EXPECT_EQ(memory.SlotOfValue(net.z.get()), softmax);
        const MemoryPlan without = MemoryOf(plan, false);
        CheckPlan(plan, without);
        EXPECT_NE(without.SlotOfValue(net.z.get()), without.SlotsOfTemporaries(net.softmax.get())[1]);
        const MemoryPlan kept = MemoryOf(plan, true, {net.z});
        CheckPlan(plan, kept);
        EXPECT_NE(kept.SlotOfValue(net.z.get()), kept.SlotsOfTemporaries(net.softmax.get())[1]);
    }
    TwoReaders net(false); // the sigmoid comes after the softmax
    const EvaluationPlan plan = PlanOf({net.total}, true);
    const MemoryPlan memory = MemoryOf(plan);
    CheckPlan(plan, memory);
    EXPECT_NE(memory.SlotOfValue(net.z.get()), memory.SlotsOfTemporaries(net.softmax.get())[1]);
    // The checker finds the fault; the planner does not.
    const MemoryPlan apart = MemoryPlan::Build(plan, {.share = false, .aliasGradients = false, .keepValues = {}});
    std::vector<Life> lives = apart.Lives();
    for (Life& life : lives)
        if (life.node == net.z.get() && life.what == What::Value)
        {
            life.inPlaceWith = net.softmax.get();
            life.slot = apart.SlotsOfTemporaries(net.softmax.get())[1];
        }
        else if (life.node == net.softmax.get() && life.what == What::Temporary && life.index == 1)
            life.inPlaceWith = net.z.get();
    EXPECT_THAT(MessageOf([&] { CheckPlan(plan, MemoryPlan::FromLives(lives)); }),
                HasSubstr("the value of node 'z' (Times) cannot be replaced by a temporary of 'ce'"));
}

TEST(MemoryPlan, NoSoftmaxReplacesWhatOthersAddedBefore)
{
    TwoReaders net(false);
    const EvaluationPlan plan = PlanOf({net.total}, true);
    const MemoryPlan memory = MemoryOf(plan);
    CheckPlan(plan, memory);
    EXPECT_NE(memory.SlotsOfTemporaries(net.softmax.get())[1], memory.SlotOfGradient(net.z.get()));
    const MemoryPlan apart = MemoryPlan::Build(plan, {.share = false, .aliasGradients = true, .keepValues = {}});
    std::vector<Life> lives = apart.Lives();
    for (Life& life : lives)
        if (life.node == net.softmax.get() && life.what == What::Temporary && life.index == 1)
        {
            life.aliasOf = net.z.get();
            life.slot = apart.SlotOfGradient(net.z.get());
        }
    EXPECT_THAT(
        MessageOf([&] { CheckPlan(plan, MemoryPlan::FromLives(lives)); }),
        HasSubstr("the temporary of node 'ce' (CrossEntropyWithSoftmax) cannot be the memory of the gradient of "
                  "'z'"));
}

// ---- the checker ----

struct CheckerTest : ::testing::Test
{
    // Returns the checker's message after one life was changed.
    std::string Broken(const ComputationNodePtr& node, What what, const std::function<void(Life&)>& change)
    {
        std::vector<Life> lives = memory.Lives();
        for (Life& life : lives)
            if (life.node == node.get() && life.what == what)
                change(life);
        return MessageOf([&] { CheckPlan(plan, MemoryPlan::FromLives(lives)); });
    }

    Chain net{3};
    EvaluationPlan plan = PlanOf({net.criterion}, true);
    MemoryPlan memory = MemoryPlan::Build(plan, {.share = true, .aliasGradients = false, .keepValues = {}});
};

TEST_F(CheckerTest, AcceptsThePlannersWork)
{
    CheckPlan(plan, memory);
}

TEST_F(CheckerTest, RejectsAValueThatDiesBeforeItsConsumer)
{
    EXPECT_THAT(Broken(net.products[0], What::Value, [](Life& life) { life.last = life.first; }),
                HasSubstr("the value of node 'p0' (Times), which node 's0' reads, is not alive at time 5"));
}

TEST_F(CheckerTest, RejectsAValueThatDiesBeforeTheBackwardPass)
{
    EXPECT_THAT(Broken(net.activations[0], What::Value, [](Life& life) { life.last = 7; }),
                HasSubstr("the value of node 's0' (Sigmoid), which"));
}

TEST_F(CheckerTest, RejectsAValueBornTooEarlyOrTooLate)
{
    EXPECT_THAT(Broken(net.products[0], What::Value, [](Life& life) { life.first--; }),
                HasSubstr("is computed at time 4, but its life begins at 3"));
    EXPECT_THAT(Broken(net.products[0], What::Value, [](Life& life) { life.first++; }),
                HasSubstr("is computed at time 4, but its life begins at 5"));
}

TEST_F(CheckerTest, RejectsTwoLivesInOneSlot)
{
    const size_t slot = memory.SlotOfValue(net.activations[0].get());
    EXPECT_THAT(Broken(net.activations[1], What::Value, [&](Life& life) { life.slot = slot; }),
                HasSubstr("are both alive at time"));
}

TEST_F(CheckerTest, RejectsAGradientThatStartsAfterItsFirstContribution)
{
    EXPECT_THAT(Broken(net.products[1], What::Gradient, [](Life& life) { life.first = life.last; }),
                HasSubstr("the gradient of node 'p1' (Times), which the backward pass of node 's1' adds to,"));
}

TEST_F(CheckerTest, RejectsAParameterGradientThatDiesBeforeTheUpdate)
{
    EXPECT_THAT(Broken(net.weights[1], What::Gradient, [this](Life& life) { life.last = 2 * plan.Steps().size() - 1; }),
                HasSubstr("which the parameter update reads"));
}

TEST_F(CheckerTest, RejectsARootThatDies)
{
    EXPECT_THAT(Broken(net.criterion, What::Value, [](Life& life) { life.last = life.first; }),
                HasSubstr("the value of node 'ce' (TestCriterion), which is a root"));
}

TEST_F(CheckerTest, RejectsMissingMemory)
{
    std::vector<Life> lives = memory.Lives();
    std::erase_if(lives, [&](const Life& life) { return life.node == net.products[2].get(); });
    EXPECT_THAT(MessageOf([&] { CheckPlan(plan, MemoryPlan::FromLives(lives)); }),
                HasSubstr("the value of node 'p2' (Times) has no memory"));
}

TEST_F(CheckerTest, RejectsAliasesThatAreNone)
{
    // The product's backward pass does not pass its gradient through.
    EXPECT_THAT(Broken(net.activations[0], What::Gradient,
                       [&](Life& life)
                       {
                           life.aliasOf = net.products[1].get();
                           life.slot = memory.SlotOfGradient(net.products[1].get());
                       }),
                HasSubstr("the gradient of node 's0' (Sigmoid) cannot be the memory of the gradient of 'p1'"));
}

TEST_F(CheckerTest, RejectsNodesBeforeTheirInputs)
{
    std::vector<PlanStep> steps = plan.Steps();
    std::swap(steps[4], steps[5]);
    EXPECT_EQ(
        MessageOf([&] { CheckPlan(EvaluationPlan::FromSteps(steps, plan.Roots(), plan.BackwardRoot()), memory); }),
        "wrong evaluation plan: node 's0' comes before its input 'p0'");
}

TEST_F(CheckerTest, RejectsNodesComputedTwice)
{
    std::vector<PlanStep> steps = plan.Steps();
    steps.push_back(steps[4]);
    EXPECT_EQ(
        MessageOf([&] { CheckPlan(EvaluationPlan::FromSteps(steps, plan.Roots(), plan.BackwardRoot()), memory); }),
        "wrong evaluation plan: node 'p0' is computed twice");
}

TEST(Checker, RejectsFusionOfWantedValues)
{
    TestNetwork net;
    auto w = net.Parameter("W", {2, 3});
    auto b = net.Parameter("b", {2, 1});
    auto x = net.Input("x", {3});
    auto p = net.Add("Times", "p", {w, x});
    auto z = net.Add("Plus", "z", {p, b});
    auto other = net.Add("Tanh", "other", {p});
    net.network.Validate();
    std::vector<PlanStep> steps;
    for (const auto& leaf : {w, b, x})
        steps.push_back({PlanStep::Kind::Node, {leaf}, ElementwiseOp::Copy, +1});
    steps.push_back({PlanStep::Kind::FusedAffine, {p, z}, ElementwiseOp::Copy, +1});
    steps.push_back({PlanStep::Kind::Node, {other}, ElementwiseOp::Copy, +1});
    const EvaluationPlan plan = EvaluationPlan::FromSteps(steps, {other, z});
    EXPECT_EQ(MessageOf([&] { CheckPlan(plan, MemoryOf(plan)); }),
              "wrong evaluation plan: node 'other' reads the value of 'p', which is fused away");
}

} // namespace
} // namespace cntk::Testing
