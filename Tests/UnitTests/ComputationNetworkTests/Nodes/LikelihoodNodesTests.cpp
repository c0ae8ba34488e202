// Mixtures of Gaussians against the density written out; what far-off samples give; DummyCriterion; errors.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

namespace cntk::Testing
{

namespace
{

// Two components in two dimensions.
std::vector<double> MixtureOf(const std::vector<double>& x)
{
    TestNetwork net;
    net.SetFrames(x.size() / 2);
    const auto parameter = [&](const char* name, const std::vector<double>& values)
    {
        const auto node = std::dynamic_pointer_cast<LearnableParameterNode>(net.Parameter(name, {values.size()}));
        node->Values().FromHost(values);
        return node;
    };
    const ComputationNodePtr input = net.Input("x", {2});
    const ComputationNodePtr v = net.Add("GMMLL", "v",
                                         {parameter("u", {0, std::log(3.0)}), parameter("m", {0, 0, 1, -1}),
                                          parameter("s", {std::log(0.5), std::log(2.0)}), input});
    net.network.Validate();
    dynamic_cast<InputValueNode&>(*input).SetDense(x.data(), 2, x.size() / 2);
    Evaluator evaluator(net.network, {v});
    evaluator.Forward();
    return ValueOf(v);
}

double Density(double distance, double deviation)
{
    return std::exp(-distance / (2 * deviation * deviation)) / (2 * std::numbers::pi * deviation * deviation);
}

TEST(GmmLogLikelihoodTest, IsTheLogarithmOfTheDensity)
{
    const std::vector<double> values = MixtureOf({0, 0, 1, 2, -3, 0.5});
    ASSERT_EQ(values.size(), 3u);
    EXPECT_NEAR(values[0], std::log(0.25 * Density(0, 0.5) + 0.75 * Density(2, 2)), 1e-14);
    EXPECT_NEAR(values[1], std::log(0.25 * Density(5, 0.5) + 0.75 * Density(9, 2)), 1e-14);
    EXPECT_NEAR(values[2], std::log(0.25 * Density(9.25, 0.5) + 0.75 * Density(18.25, 2)), 1e-14);
}

// Where every density rounds to 0 the logarithm still is right.
TEST(GmmLogLikelihoodTest, StandsSamplesFarAway)
{
    const double expected = std::log(0.75) - (999.0 * 999 + 1) / 8 - std::log(2 * std::numbers::pi * 4);
    EXPECT_NEAR(MixtureOf({1000, 0})[0], expected, 1e-9);
}

TEST(GmmLogLikelihoodTest, WrongShapesAreNamed)
{
    const auto messageOf = [](size_t priors, size_t means, size_t deviations, bool isData)
    {
        TestNetwork net;
        net.Add("GMMLogLikelihood", "v",
                {net.Parameter("u", {priors}), net.Parameter("m", {means}), net.Parameter("s", {deviations}),
                 isData ? net.Input("x", {3}) : net.Parameter("x", {3})});
        return MessageOf([&] { net.network.Validate(); });
    };
    EXPECT_EQ(messageOf(2, 6, 3, true),
              "GMMLogLikelihood has 2 components in its priors, 'u' [2], but 3 in its deviations, 's' [3]");
    EXPECT_EQ(messageOf(2, 5, 2, true), "the means of GMMLogLikelihood, 'm' [5], must have 6 elements: 2 components of "
                                        "'u' [2] times 3 dimensions of 'x' [3]");
    EXPECT_EQ(messageOf(2, 6, 2, false), "the features of GMMLogLikelihood, 'x' [3], must change with the samples");
}

TEST(DummyCriterionTest, PassesValueAndDerivativeOn)
{
    TestNetwork net;
    net.SetSequences({2, 1});
    const ComputationNodePtr x = net.Add("Times", "x", {net.Parameter("W", {2, 2}), net.Input("features", {2})});
    const ComputationNodePtr derivative = net.Input("derivative", {2});
    const ComputationNodePtr c = net.Add("DummyCriterion", "c", {net.Input("objective", {1}), derivative, x});
    net.network.Validate();
    net.FillInputs();
    const std::vector<double> objective = {1, 10, 100, std::nan("")};
    const std::vector<double> given = {1, 2, 3, 4, 5, 6, std::nan(""), std::nan("")};
    dynamic_cast<InputValueNode&>(*net.network.Require("objective")).SetDense(objective.data(), 1, 4);
    dynamic_cast<InputValueNode&>(*derivative).SetDense(given.data(), 2, 4);
    EvaluatorOptions options;
    options.training = true;
    options.backwardRoot = c;
    options.shareMemory = false;
    Evaluator evaluator(net.network, {c}, options);
    evaluator.Forward();
    evaluator.Backward(c);
    EXPECT_EQ(ValueOf(c)[0], 111);
    EXPECT_EQ(GradientOf(x), (std::vector<double>{1, 2, 3, 4, 5, 6, 0, 0}));

    TestNetwork other;
    other.Add("DummyCriterion", "c",
              {other.Input("objective", {1}), other.Input("derivative", {2}), other.Input("x", {3})});
    EXPECT_EQ(MessageOf([&] { other.network.Validate(); }),
              "the derivative of DummyCriterion, 'derivative' [2], must have the shape of 'x' [3], what it is the "
              "derivative of");
}

} // namespace

} // namespace cntk::Testing
