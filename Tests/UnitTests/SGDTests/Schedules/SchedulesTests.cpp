// Tests conversions from rates and momenta per minibatch to those per sample.
#include "SGD/Schedules/Schedules.h"

#include <cmath>
#include <gtest/gtest.h>

namespace cntk
{

namespace
{

SgdOptions Options()
{
    SgdOptions options;
    options.maxEpochs = 3;
    options.minibatchSize.values = {4, 8, 12};
    return options;
}

} // namespace

TEST(Schedules, RatePerMinibatchIsDividedByThatEpochsMinibatchSizeInSinglePrecision)
{
    SgdOptions options = Options();
    options.learningRatesPerMB.values = {0.4f, 0.1f};
    EXPECT_EQ(LearningRateCount(options), 2u);
    EXPECT_DOUBLE_EQ(LearningRatePerSample(options, 0, 4), double(0.4f / 4.0f));
    EXPECT_DOUBLE_EQ(LearningRatePerSample(options, 1, 8), double(0.1f / 8.0f));
    EXPECT_DOUBLE_EQ(LearningRatePerSample(options, 7, 12), double(0.1f / 12.0f));
}

TEST(Schedules, RatePerSampleIsSinglePrecisionWidened)
{
    SgdOptions options = Options();
    options.learningRatesPerSample = 0.01f;
    EXPECT_NEAR(LearningRatePerSample(options, 5, 12), 0.009999999776, 1e-12);
}

TEST(Schedules, WithoutListTheRateIsHalfAMinibatch)
{
    EXPECT_DOUBLE_EQ(LearningRatePerSample(Options(), 0, 4), 0.125);
}

TEST(Schedules, MomentumPerMinibatchBecomesPerSampleAndShortMinibatchesGetMore)
{
    SgdOptions options = Options();
    options.momentumPerMB = 0.9f;
    const double perSample = MomentumPerSample(options, 0, 6);
    EXPECT_DOUBLE_EQ(perSample, std::pow(double(0.9f), 1.0 / 6));
    EXPECT_NEAR(MomentumOfMinibatch(perSample, 6), double(0.9f), 1e-15);
    EXPECT_NEAR(MomentumOfMinibatch(perSample, 2), std::cbrt(double(0.9f)), 1e-15);
    EXPECT_NEAR(MomentumTimeConstant(perSample), 56.947, 1e-3);
}

TEST(Schedules, MomentumDefaultsTo09PerMinibatch)
{
    EXPECT_DOUBLE_EQ(MomentumPerSample(Options(), 0, 10), std::pow(double(0.9f), 0.1));
}

TEST(Schedules, MomentumOfZeroStaysZero)
{
    SgdOptions options = Options();
    options.momentumPerMB = 0.0f;
    EXPECT_EQ(MomentumPerSample(options, 0, 6), 0);
    EXPECT_EQ(MomentumOfMinibatch(0, 6), 0);
    EXPECT_EQ(MomentumTimeConstant(0), 0);
}

TEST(Schedules, MomentumAsTimeConstantIsRoundedToSinglePrecision)
{
    SgdOptions options = Options();
    options.momentumAsTimeConstant.values = {100, 0, 20.1F};
    EXPECT_EQ(MomentumPerSample(options, 0, 6), double(float(std::exp(-0.01))));
    EXPECT_EQ(MomentumPerSample(options, 1, 6), 0);
    EXPECT_EQ(MomentumPerSample(options, 2, 6), double(float(std::exp(-1 / double(20.1F)))));
}

TEST(Schedules, TruncatedMinibatchesCountAllParallelSequences)
{
    SgdOptions options = Options();
    options.truncated = true;
    EXPECT_EQ(NominalMinibatchSize(options, 4, 3), 12u);
    EXPECT_EQ(NominalMinibatchSize(options, 1, 3), 1u);
    options.truncated = false;
    EXPECT_EQ(NominalMinibatchSize(options, 4, 3), 4u);
}

TEST(Schedules, SearchesBeginBehindTheLists)
{
    SgdOptions options = Options();
    options.learningRatesPerSample.values = {0.1f};
    EXPECT_FALSE(SearchesLearningRate(options, 1));
    EXPECT_FALSE(SearchesMinibatchSize(options, 3));
    options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    EXPECT_FALSE(SearchesLearningRate(options, 1));
    options.autoAdjust.autoAdjustLR = LearningRateSearch::SearchBeforeEpoch;
    options.autoAdjust.autoAdjustMinibatch = true;
    EXPECT_FALSE(SearchesLearningRate(options, 0));
    EXPECT_TRUE(SearchesLearningRate(options, 1));
    EXPECT_FALSE(SearchesMinibatchSize(options, 2));
    EXPECT_TRUE(SearchesMinibatchSize(options, 3));
}

} // namespace cntk
