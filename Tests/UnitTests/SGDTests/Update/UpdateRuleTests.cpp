// Compares each rule with its formula, computed for single values.
#include "Math/Operations.h"
#include "SGD/Update/UpdateRule.h"

#include <algorithm>
#include <cmath>
#include <functional>
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
    std::unique_ptr<UpdateRule> Rule() { return std::make_unique<UpdateRule>(m_options); }
    // Returns m_w after a step with this gradient, without momentum. A sparse gradient has touched the second column.
    Matrix Descended(const std::vector<double>& gradient, size_t columns, bool sparse = false, double rate = 1)
    {
        GradientTransforms transforms(m_options);
        UpdateStep step{.rate = rate, .momentum = 0, .columns = columns};
        Matrix w = Make(m_w), s = Make({0, 0, 0, 0}), g = Make(gradient);
        TouchedColumns second;
        second.columns = {1};
        const TouchedColumns* const touched = sparse ? &second : nullptr;
        transforms.Prepare(step, touched);
        Rule()->Step(w, s, g, touched, step);
        transforms.Finish(w, step, touched);
        return w;
    }
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

// Before the first gradient there is no sign: the step of 0.02 shrinks to 0.015 at once and then grows to 0.018.
TEST_F(UpdateRuleTest, RmsPropBeginsWithASmallStepWhereItsLeastIsSmaller)
{
    m_options.gradUpdateType = GradientUpdateType::RmsProp;
    m_options.rmsWgtMin = 0.001;
    m_options.normWithAveMultiplier = false;
    const auto rule = Rule();
    Matrix w = Make({1, 1}), s = Make({0, 0});
    for (const double step : {0.015, 0.015 + 0.018})
    {
        Matrix g = Make({2, -2});
        rule->Step(w, s, g, nullptr, {.rate = 0.5, .momentum = 0, .columns = 4});
        const double moved = 0.5 * step * 2 / std::sqrt(4 + double(1e-6f));
        ExpectNear(w, {1 - moved, 1 + moved});
    }
}

TEST_F(UpdateRuleTest, FSAdaGradLimitsItsWeights)
{
    m_options.gradUpdateType = GradientUpdateType::FSAdaGrad;
    const auto rule = Rule();
    m_g[1] = -1e-6; // its weight would be 25000 without the limit
    Matrix w = Make(m_w), s = Make({0, 0, 0, 0}), g = Make(m_g);
    rule->Step(w, s, g, nullptr, {.rate = 0.1, .momentum = 0.9, .columns = 100});
    const double keep = std::exp(-100.0 / 720000);
    const double count = (1 - keep) * 100;
    EXPECT_DOUBLE_EQ(rule->counters[0], count);
    std::vector<double> parameter;
    for (size_t i = 0; i < 4; ++i)
    {
        const double variance = (1 - keep) * m_g[i] * m_g[i];
        const double weight = variance > 0 ? std::min(0.0025 * std::sqrt(count) / std::sqrt(variance), 10.0) : 0;
        parameter.push_back(m_w[i] - 0.1 * 0.1 * weight * m_g[i]);
    }
    ExpectNear(w, parameter);
    EXPECT_NEAR(w.ToHost()[1], m_w[1] + 0.1 * 0.1 * 10 * 1e-6, 1e-15);
}

// Momentum schedules such as 0:0.9, and checkpoints, depend on it.
TEST_F(UpdateRuleTest, FSAdaGradWithoutMomentumLeavesItsSmoothedGradientAsItWas)
{
    m_options.gradUpdateType = GradientUpdateType::FSAdaGrad;
    const auto rule = Rule();
    const auto step = [&](Matrix& w, Matrix& s, double momentum)
    {
        Matrix g = Make(m_g);
        const std::vector<double> before = w.ToHost();
        rule->Step(w, s, g, nullptr, {.rate = 0.1, .momentum = momentum, .columns = 100});
        return before;
    };
    const auto smoothed = [](const Matrix& s)
    {
        const std::vector<double> state = s.ToHost();
        return std::vector<double>(state.begin() + 4, state.end());
    };
    Matrix w = Make(m_w), s = Make({0, 0, 0, 0});
    step(w, s, 0);
    EXPECT_EQ(smoothed(s), std::vector<double>(4, 0.0));
    EXPECT_NE(w.ToHost(), m_w);
    step(w, s, 0.9);
    const std::vector<double> after = smoothed(s);
    EXPECT_NE(after, std::vector<double>(4, 0.0));
    const std::vector<double> before = step(w, s, 0);
    EXPECT_EQ(smoothed(s), after);
    // The step is the weighted gradient.
    std::vector<double> parameter = before;
    for (size_t i = 0; i < 4; ++i)
        if (m_g[i] != 0)
            parameter[i] -= 0.1 * std::min(0.0025 * std::sqrt(rule->counters[0] / s.ToHost()[i]), 10.0) * m_g[i];
    ExpectNear(w, parameter);
}

TEST_F(UpdateRuleTest, AdamStepsByTheRateOfAMinibatch)
{
    m_options.gradUpdateType = GradientUpdateType::Adam;
    const auto rule = Rule();
    Matrix w = Make(m_w), s = Make({0, 0, 0, 0});
    std::vector<double> parameter = m_w, mean(4), square(4);
    double meanWeight = 1, squareWeight = 1; // weights of the initial state
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
            // Nearly the rate per minibatch, whatever the gradient.
            EXPECT_NEAR(w.ToHost()[3], 3 - 0.08, 1e-7);
        }
    }
    EXPECT_EQ(rule->StateColumns(2), 4u);
    EXPECT_NEAR(rule->counters[0], 1 - meanWeight, 1e-15);
    EXPECT_NEAR(rule->counters[1], 1 - squareWeight, 1e-15);
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

// The gradient touches columns 1 and 3 of four. Column 0 was touched before. Column 2 never was; its multiplier of 1e8
// must not count.
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

// Sparse gradients use a state of the parameter's shape, dense ones a larger state. FSAdaGrad's mean minibatch size
// does not count sparse gradients.
TEST_F(UpdateRuleTest, RmsPropAndFSAdaGradLeaveSparseGradientsToAdaGrad)
{
    const std::vector<double> gradient{0, 0, 0.5, -1};
    TouchedColumns touched;
    touched.columns = {1};
    const UpdateStep step{.rate = 0.1, .momentum = 0.5, .columns = 4};
    for (const bool normalize : {true, false})
        for (const auto type : {GradientUpdateType::RmsProp, GradientUpdateType::FSAdaGrad})
        {
            m_options.normWithAveMultiplier = normalize;
            m_options.gradUpdateType = GradientUpdateType::AdaGrad;
            Matrix want = Make(m_w), wantedState = Make({0, 0, 0, 0});
            EXPECT_FALSE(Rule()->LeavesSparseToAdaGrad());
            m_options.gradUpdateType = type;
            const auto rule = Rule();
            EXPECT_TRUE(rule->LeavesSparseToAdaGrad());
            Matrix w = Make(m_w), s = Make(std::vector<double>(12, 9)); // the state of a dense update
            for (int i = 0; i < 2; ++i)
            {
                m_options.gradUpdateType = GradientUpdateType::AdaGrad;
                Rule()->Step(want, wantedState, Make(gradient), &touched, step);
                rule->Step(w, s, Make(gradient), &touched, step);
            }
            ExpectNear(w, want.ToHost());
            ExpectNear(s, wantedState.ToHost());
            EXPECT_EQ(rule->counters[0], 0);
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
    Rule()->Step(dense, denseState, Make(m_g), nullptr, step); // a new copy: the step overwrites the gradient
    ExpectNear(w, dense.ToHost());
    ExpectNear(s, denseState.ToHost());
}

TEST_F(UpdateRuleTest, ClippingByTruncationLimitsEachElement)
{
    m_options.clippingThresholdPerSample = 0.25;
    ExpectNear(Descended({0.5, -1, 0, 2}, 3), {1 - 0.5, -2 + 0.75, 0.5, 3 - 0.75});
    ExpectNear(Descended({0.5, -1, 0, 2}, 1), {1 - 0.25, -2 + 0.25, 0.5, 3 - 0.25});
}

TEST_F(UpdateRuleTest, ClippingByNormScalesTheWholeGradient)
{
    m_options.clippingThresholdPerSample = 0.5;
    m_options.gradientClippingWithTruncation = false;
    ExpectNear(Descended({3, 0, 0, 4}, 4), {1 - 1.2, -2, 0.5, 3 - 1.6}); // limit 2, norm 5
    ExpectNear(Descended({1.2, 0, 0, 1.6}, 4), {1 - 1.2, -2, 0.5, 3 - 1.6});
}

TEST_F(UpdateRuleTest, L2AddsTheParameterPerColumnButNotToSparseGradients)
{
    m_options.l2RegWeight = 0.1;
    ExpectNear(Descended({0.5, -1, 0, 2}, 3), {1 - 0.8, -2 + 1.6, 0.5 - 0.15, 3 - 2.9});
    ExpectNear(Descended({0, 0, 0, 2}, 3, true), {1, -2, 0.5, 3 - 2});
}

TEST_F(UpdateRuleTest, L1ShrinksParametersTowardsZero)
{
    m_options.l1RegWeight = 0.5;
    // By 0.6, also for a sparse gradient.
    for (const bool sparse : {false, true})
        ExpectNear(Descended({0, 0, 0, 0}, 12, sparse, 0.1), {0.4, -1.4, 0, 2.4});
    ExpectNear(Descended({1, -1, 0, 1}, 12, false, 0.1), {0.3, -1.3, 0, 2.3});
}

// Noise is added after the step and before L1, for sparse gradients to all columns, too. Each step draws new noise.
TEST_F(UpdateRuleTest, NoiseMovesAllOfAParameterAndIsNewAtEachStep)
{
    m_options.gaussianNoiseInjectStd = 0.1;
    m_options.l1RegWeight = 0.5;
    struct Functions
    {
        static double SquareRoot(double x) { return std::sqrt(x); }
        static double LogOf(double x) { return std::log(x); }
        static double SineOf(double x) { return std::sin(x); }
        static double CosineOf(double x) { return std::cos(x); }
        static double ToNumber(uint64_t whole) { return double(whole); }
    };
    for (const bool sparse : {false, true})
    {
        GradientTransforms transforms(m_options);
        UpdateStep step{.rate = 0.1, .momentum = 0, .columns = 1};
        Matrix w = Make(m_w), s = Make({0, 0, 0, 0});
        TouchedColumns second;
        second.columns = {1};
        const TouchedColumns* const touched = sparse ? &second : nullptr;
        std::vector<double> want = m_w;
        for (const uint64_t number : {1, 2, 3})
        {
            EXPECT_EQ(transforms.NoiseNumber(), number);
            transforms.Prepare(step, touched);
            Rule()->Step(w, s, Make({0, 0, 5, -5}), touched, step);
            transforms.Finish(w, step, touched);
            for (size_t i = 0; i < want.size(); ++i)
            {
                const double gradient = i < 2 ? 0 : i == 2 ? 5 : -5;
                const double moved =
                    want[i] - 0.1 * gradient + Noise::At<Functions, double>({.seed = 1, .number = number}, i, 0.1);
                want[i] = moved > 0.05 ? moved - 0.05 : moved < -0.05 ? moved + 0.05 : 0;
            }
            ExpectNear(w, want);
        }
    }
}

TEST_F(UpdateRuleTest, ATrainingSeedDrawsOtherNoise)
{
    m_options.gaussianNoiseInjectStd = 0.1;
    const auto noiseOf = [&](uint64_t trainingSeed)
    {
        UpdateStep step;
        GradientTransforms(m_options, trainingSeed).Prepare(step, nullptr);
        Matrix w = Make({0, 0, 0, 0}), s = Make({0, 0, 0, 0}), g = Make({0, 0, 0, 0});
        Rule()->Step(w, s, g, nullptr, step);
        return w.ToHost();
    };
    EXPECT_EQ(noiseOf(7), noiseOf(7));
    EXPECT_NE(noiseOf(7), noiseOf(8));
    EXPECT_NE(noiseOf(7), noiseOf(0));
}

// After a criterion that is NaN or infinite, a device adds neither the update nor noise to the parameter.
TEST_F(UpdateRuleTest, NoiseAndL1AreNotAddedWhereTheUpdateIsStopped)
{
    for (const double noise : {0.0, 0.1})
        for (const double l1 : {0.0, 0.5})
            for (const bool sparse : {false, true})
            {
                m_options.gaussianNoiseInjectStd = noise;
                m_options.l1RegWeight = l1;
                GradientTransforms transforms(m_options);
                Matrix stop = Make({1}, 1);
                UpdateStep step{.rate = 0.1, .momentum = 0, .columns = 1};
                step.stop = stop;
                Matrix w = Make(m_w), s = Make({0, 0, 0, 0});
                const TouchedColumns none;
                const TouchedColumns* const touched = sparse ? &none : nullptr;
                for (const bool stopped : {true, false})
                {
                    transforms.Prepare(step, touched);
                    Rule()->Step(w, s, Make({0, 0, 0, 0}), touched, step);
                    transforms.Finish(w, step, touched);
                    EXPECT_EQ(w.ToHost() == m_w, stopped || (noise == 0 && l1 == 0));
                    stop.SetZero();
                }
            }
}

// Compares clipping, L2 and L1 of all rules with the same steps on single values.
TEST_F(UpdateRuleTest, EveryRuleTakesClippingAndRegularizationAlong)
{
    m_options.clippingThresholdPerSample = 0.25;
    m_options.l2RegWeight = 0.1;
    m_options.l1RegWeight = 0.02;
    const double n = 4, rate = 0.1, limit = 0.25 * n, momentum = 0.9;
    struct Case
    {
        GradientUpdateType type;
        bool nesterov;
        std::function<double(double)> direction; // of the first step with the transformed gradient; times the rate
    };
    const double keep = std::exp(-n / 720000), mean = (1 - keep) * n;
    for (const Case& rule :
         {
             Case{GradientUpdateType::None, false, [&](double g) { return (1 - momentum) * g; }},
             Case{GradientUpdateType::None, true, [&](double g) { return (1 - momentum) * (1 + momentum) * g; }},
             Case{GradientUpdateType::AdaGrad, false, [](double g) { return g / std::sqrt(g * g + 1e-16); }},
             Case{GradientUpdateType::RmsProp, false, [](double g) { return 0.1 * g / std::sqrt(g * g + 1e-6f); }},
             Case{GradientUpdateType::FSAdaGrad, false,
                  [&](double g)
                  {
                      const double weight = 0.0025 * std::sqrt(mean) / std::sqrt((1 - keep) * g * g);
                      return (1 - momentum) * std::min(weight, 10.0) * g;
                  }},
             Case{GradientUpdateType::Adam, false, [&](double g) { return n * (g / n) / (std::abs(g / n) + 1e-8); }},
         })
    {
        m_options.gradUpdateType = rule.type;
        m_options.useNAG = rule.nesterov;
        m_options.normWithAveMultiplier = false;
        GradientTransforms transforms(m_options);
        UpdateStep step{.rate = rate, .momentum = momentum, .columns = size_t(n)};
        const std::vector<double> gradient{0.5, -3, 0.25, 2};
        Matrix w = Make(m_w), s = Make({0, 0, 0, 0}), g = Make(gradient);
        transforms.Prepare(step, nullptr);
        const auto update = Rule();
        update->BeginUpdate(momentum);
        update->Step(w, s, g, nullptr, step);
        transforms.Finish(w, step, nullptr);
        std::vector<double> want;
        for (size_t i = 0; i < 4; ++i)
        {
            const double clipped = std::clamp(gradient[i], -limit, limit) + 0.1 * n * m_w[i];
            const double moved = m_w[i] - rate * rule.direction(clipped), shrinkage = rate * 0.02 * n;
            want.push_back(moved > shrinkage ? moved - shrinkage : moved < -shrinkage ? moved + shrinkage : 0);
        }
        ExpectNear(w, want);
    }
}

} // namespace cntk
