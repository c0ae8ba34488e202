// Each rule against its formula, written out for single numbers.
#include "Math/Operations.h"
#include "SGD/GradientTransforms.h"
#include "SGD/UpdateRule.h"

#include <cmath>
#include <gtest/gtest.h>

namespace cntk
{

namespace
{

class UpdateRuleTest : public ::testing::Test
{
protected:
    Matrix Make(std::vector<double> values, size_t rows = 2)
    {
        Matrix matrix(rows, values.size() / rows, DataType::Float64, *m_device);
        matrix.FromHost(values);
        return matrix;
    }
    std::unique_ptr<UpdateRule> Rule() { return MakeUpdateRule(m_options, DataType::Float64, *m_device); }
    static void ExpectNear(const Matrix& got, const std::vector<double>& want)
    {
        const auto values = got.ToHost();
        ASSERT_EQ(values.size(), want.size());
        for (size_t i = 0; i < want.size(); ++i)
            EXPECT_NEAR(values[i], want[i], 1e-12 * (1 + std::abs(want[i]))) << "element " << i;
    }

    std::shared_ptr<Device> m_device = MakeCpuDevice({.threads = 1});
    SgdOptions m_options;
    std::vector<double> m_w{1, -2, 0.5, 3};
    std::vector<double> m_g{0.5, -1, 0, 2};
};

} // namespace

TEST_F(UpdateRuleTest, PlainHasUnitGainMomentumWithTheRateInside)
{
    Matrix w = Make(m_w), s = Make({0.1, 0.2, 0.3, 0.4}), g = Make(m_g);
    Rule()->Step(w, s, g, nullptr, {.rate = 0.1, .momentum = 0.9, .columns = 4});
    std::vector<double> state, parameter;
    for (size_t i = 0; i < 4; ++i)
    {
        state.push_back(0.9 * (0.1 * double(i + 1)) + 0.1 * 0.1 * m_g[i]);
        parameter.push_back(m_w[i] - state[i]);
    }
    ExpectNear(s, state);
    ExpectNear(w, parameter);
}

TEST_F(UpdateRuleTest, NesterovLooksAhead)
{
    m_options.useNAG = true;
    Matrix w = Make(m_w), s = Make({0.1, 0.2, 0.3, 0.4}), g = Make(m_g);
    Rule()->Step(w, s, g, nullptr, {.rate = 0.1, .momentum = 0.9, .columns = 4});
    std::vector<double> parameter;
    for (size_t i = 0; i < 4; ++i)
    {
        const double state = 0.9 * (0.1 * double(i + 1)) + 0.1 * 0.1 * m_g[i];
        parameter.push_back(m_w[i] - (0.9 * state + 0.1 * 0.1 * m_g[i]));
    }
    ExpectNear(w, parameter);
}

TEST_F(UpdateRuleTest, AdaGradDividesByTheRootOfTheSumOfSquares)
{
    for (const bool normalize : {true, false})
    {
        m_options.gradUpdateType = GradientUpdateType::AdaGrad;
        m_options.normWithAveMultiplier = normalize;
        Matrix w = Make(m_w), s = Make({1, 2, 3, 4}), g = Make(m_g);
        Rule()->Step(w, s, g, nullptr, {.rate = 0.1, .momentum = 0, .columns = 4});
        std::vector<double> q, parameter;
        double mean = 0;
        for (size_t i = 0; i < 4; ++i)
        {
            q.push_back(1 / std::sqrt(double(i + 1) + m_g[i] * m_g[i] + 1e-16));
            mean += q[i] / 4;
        }
        for (size_t i = 0; i < 4; ++i)
            parameter.push_back(m_w[i] - 0.1 / (normalize ? mean : 1) * q[i] * m_g[i]);
        ExpectNear(w, parameter);
    }
}

TEST_F(UpdateRuleTest, UseAdagradIsTheOldSwitch)
{
    m_options.useAdagrad = true;
    Matrix w = Make(m_w), s = Make({0, 0, 0, 0}), g = Make(m_g);
    Rule()->Step(w, s, g, nullptr, {.rate = 0.1, .momentum = 0, .columns = 4});
    ExpectNear(s, {0.25, 1, 0, 4});
}

TEST_F(UpdateRuleTest, RmsPropGrowsStepsWhileTheSignStays)
{
    m_options.gradUpdateType = GradientUpdateType::RmsProp;
    const auto rule = Rule();
    Matrix w = Make(m_w), s = Make({0, 0, 0, 0});
    std::vector<double> parameter = m_w, v(4), z(4), p(4);
    const std::vector<std::vector<double>> gradients{{0.5, -1, 0, 2}, {1, -1, 0.5, -2}, {1, -3, 0.5, 1}};
    for (size_t step = 0; step < gradients.size(); ++step)
    {
        Matrix g = Make(gradients[step]);
        rule->Step(w, s, g, nullptr, {.rate = 0.1, .momentum = 0, .columns = 4});
        std::vector<double> q(4);
        double mean = 0;
        for (size_t i = 0; i < 4; ++i)
        {
            const double gradient = gradients[step][i];
            if (step == 0)
            {
                v[i] = gradient * gradient;
                p[i] = 0.02;
            }
            v[i] = 0.99 * v[i] + 0.01 * gradient * gradient;
            const double sign = gradient > 0 ? 1 : gradient < 0 ? -1 : 0;
            p[i] = z[i] * sign > 0 ? std::min(p[i] * 1.2, 10.0) : std::max(p[i] * 0.75, 0.1);
            z[i] = sign;
            q[i] = p[i] / std::sqrt(v[i] + double(1e-6f));
            mean += q[i] / 4;
        }
        for (size_t i = 0; i < 4; ++i)
            parameter[i] -= 0.1 / mean * q[i] * gradients[step][i];
        ExpectNear(w, parameter);
    }
    EXPECT_EQ(s.Columns(), 6u);
    EXPECT_EQ(rule->StateColumns(2), 6u);
}

TEST_F(UpdateRuleTest, FSAdaGradLimitsItsWeights)
{
    m_options.gradUpdateType = GradientUpdateType::FSAdaGrad;
    const auto rule = Rule();
    Matrix w = Make(m_w), s = Make({0, 0, 0, 0}), g = Make(m_g);
    rule->Step(w, s, g, nullptr, {.rate = 0.1, .momentum = 0.9, .columns = 100});
    const double keep = std::exp(-100.0 / 720000);
    const double count = (1 - keep) * 100;
    EXPECT_DOUBLE_EQ(rule->Counter(), count);
    std::vector<double> parameter;
    for (size_t i = 0; i < 4; ++i)
    {
        const double variance = (1 - keep) * m_g[i] * m_g[i];
        const double weight = variance > 0 ? std::min(0.0025 * std::sqrt(count) / std::sqrt(variance), 10.0) : 0;
        parameter.push_back(m_w[i] - 0.1 * 0.1 * weight * m_g[i]);
    }
    ExpectNear(w, parameter);
}

TEST_F(UpdateRuleTest, AdamStepsByTheRateOfAMinibatch)
{
    m_options.gradUpdateType = GradientUpdateType::Adam;
    const auto rule = Rule();
    Matrix w = Make(m_w), s = Make({0, 0, 0, 0});
    std::vector<double> parameter = m_w, mean(4), square(4);
    double meanWeight = 1, squareWeight = 1; // of what was before the first gradient
    const std::vector<std::vector<double>> gradients{{0.5, -1, 0, 2}, {1, -1, 0.5, -2}, {1, -3, 0.5, 1}};
    const std::vector<double> momenta{0.9, 0.9, 0.95};
    for (size_t step = 0; step < gradients.size(); ++step)
    {
        const double momentum = momenta[step], n = step == 2 ? 4 : 8;
        Matrix g = Make(gradients[step]);
        rule->BeginUpdate(momentum);
        rule->Step(w, s, g, nullptr, {.rate = 0.01, .momentum = momentum, .columns = size_t(n)});
        meanWeight *= momentum;
        squareWeight *= 0.999;
        for (size_t i = 0; i < 4; ++i)
        {
            const double gradient = gradients[step][i] / n;
            mean[i] = momentum * mean[i] + (1 - momentum) * gradient;
            square[i] = 0.999 * square[i] + 0.001 * gradient * gradient;
            parameter[i] -=
                0.01 * n * (mean[i] / (1 - meanWeight)) / (std::sqrt(square[i] / (1 - squareWeight)) + 1e-8);
        }
        ExpectNear(w, parameter);
        if (step == 0)
        {
            // Nearly the rate of the minibatch, whatever the gradient.
            EXPECT_NEAR(w.ToHost()[3], 3 - 0.08, 1e-7);
        }
    }
    EXPECT_EQ(rule->StateColumns(2), 4u);
    EXPECT_NEAR(rule->Counter(), 1 - meanWeight, 1e-15);
    EXPECT_NEAR(rule->SecondCounter(), 1 - squareWeight, 1e-15);
}

TEST_F(UpdateRuleTest, OnlyTouchedColumnsOfASparseGradientTakePart)
{
    Matrix w = Make(m_w), s = Make({0.1, 0.2, 0.3, 0.4}), g = Make({0, 0, 1, 2});
    TouchedColumns touched;
    touched.columns = {1};
    Rule()->Step(w, s, g, &touched, {.rate = 0.1, .momentum = 0.5, .columns = 4});
    const auto values = w.ToHost();
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[1], -2);
    EXPECT_LT(values[2], 0.5);
}

// Columns 1 and 3 of four; column 0 was touched before, column 2 never, and its multiplier of 1e8 must not count.
TEST_F(UpdateRuleTest, AdaGradOfASparseGradientLeavesOtherColumnsOutOfTheMean)
{
    for (const bool normalize : {true, false})
    {
        m_options.gradUpdateType = GradientUpdateType::AdaGrad;
        m_options.normWithAveMultiplier = normalize;
        const std::vector<double> before{1, 2, 3, 4, 0, 0, 5, 6}, start{1, -2, 0.5, 3, 7, 8, -1, 4};
        const std::vector<double> gradient{0, 0, 0.5, -1, 0, 0, 2, 0.25};
        Matrix w = Make(start), s = Make(before), g = Make(gradient);
        TouchedColumns touched;
        touched.columns = {1, 3};
        Rule()->Step(w, s, g, &touched, {.rate = 0.1, .momentum = 0, .columns = 4});
        std::vector<double> state = before, parameter = start;
        double mean = 0;
        for (const size_t i : {2, 3, 6, 7})
        {
            state[i] += gradient[i] * gradient[i];
            mean += 1 / std::sqrt(state[i]) / 4;
        }
        for (const size_t i : {2, 3, 6, 7})
            parameter[i] -= 0.1 / (normalize ? mean : 1) / std::sqrt(state[i]) * gradient[i];
        ExpectNear(s, state);
        ExpectNear(w, parameter);
    }
}

TEST_F(UpdateRuleTest, AdaGradTakesNeighbouringColumnsAndNoneAtAll)
{
    m_options.gradUpdateType = GradientUpdateType::AdaGrad;
    Matrix w = Make(m_w), s = Make({1, 2, 3, 4}), g = Make(m_g);
    Matrix dense = Make(m_w), denseState = Make({1, 2, 3, 4});
    TouchedColumns touched;
    const UpdateStep step{.rate = 0.1, .momentum = 0, .columns = 4};
    Rule()->Step(w, s, g, &touched, step);
    ExpectNear(w, m_w);
    touched.columns = {0, 1};
    Rule()->Step(w, s, g, &touched, step);
    Rule()->Step(dense, denseState, g, nullptr, step);
    ExpectNear(w, dense.ToHost());
    ExpectNear(s, denseState.ToHost());
}

TEST_F(UpdateRuleTest, ClippingByTruncationLimitsEachElement)
{
    m_options.clippingThresholdPerSample = 0.25;
    GradientTransforms transforms(m_options, DataType::Float64, *m_device);
    Matrix w = Make(m_w), g = Make({0.5, -1, 0, 2});
    transforms.BeforeUpdate(w, g, 3, false);
    ExpectNear(g, {0.5, -0.75, 0, 0.75});
    g = Make({0.5, -1, 0, 2});
    transforms.BeforeUpdate(w, g, 1, false);
    ExpectNear(g, {0.25, -0.25, 0, 0.25});
}

TEST_F(UpdateRuleTest, ClippingByNormScalesTheWholeGradient)
{
    m_options.clippingThresholdPerSample = 0.5;
    m_options.gradientClippingWithTruncation = false;
    GradientTransforms transforms(m_options, DataType::Float64, *m_device);
    Matrix w = Make(m_w), g = Make({3, 0, 0, 4});
    transforms.BeforeUpdate(w, g, 4, false); // limit 2, norm 5
    ExpectNear(g, {1.2, 0, 0, 1.6});
    transforms.BeforeUpdate(w, g, 4, false);
    ExpectNear(g, {1.2, 0, 0, 1.6});
}

TEST_F(UpdateRuleTest, L2AddsTheParameterPerColumnButNotToSparseGradients)
{
    m_options.l2RegWeight = 0.1;
    GradientTransforms transforms(m_options, DataType::Float64, *m_device);
    Matrix w = Make(m_w), g = Make(m_g);
    transforms.BeforeUpdate(w, g, 3, false);
    ExpectNear(g, {0.8, -1.6, 0.15, 2.9});
    transforms.BeforeUpdate(w, g, 3, true);
    ExpectNear(g, {0.8, -1.6, 0.15, 2.9});
}

TEST_F(UpdateRuleTest, L1ShrinksParametersTowardsZero)
{
    m_options.l1RegWeight = 0.5;
    GradientTransforms transforms(m_options, DataType::Float64, *m_device);
    Matrix w = Make(m_w);
    transforms.AfterUpdate(w, 0.1, 12); // by 0.6
    ExpectNear(w, {0.4, -1.4, 0, 2.4});
}

TEST_F(UpdateRuleTest, NoiseMovesParametersAndGoesOnWithANewSeed)
{
    m_options.gaussianNoiseInjectStd = 0.1;
    GradientTransforms transforms(m_options, DataType::Float64, *m_device);
    Matrix w = Make(m_w);
    transforms.AfterUpdate(w, 0.1, 1);
    const auto once = w.ToHost();
    EXPECT_NE(once[0], m_w[0]);
    EXPECT_NEAR(once[0], m_w[0], 1);
    transforms.AfterUpdate(w, 0.1, 1);
    EXPECT_NE(w.ToHost()[0] - once[0], once[0] - m_w[0]);
    EXPECT_EQ(transforms.NoiseSeed(), 3u);
}

} // namespace cntk
