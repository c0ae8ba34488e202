// Searches over criteria that are known functions: the values tried and the value chosen.
#include "SGD/Schedules/TrialSearch.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace cntk
{

namespace
{

struct Trials
{
    std::vector<std::string> prefixes;
    std::vector<double> values;
};

// Best at 0.1, where it is 1; 2 without any training; rates above 0.5 leave the numbers.
double CriterionOf(double rate)
{
    if (rate > 0.5)
        return std::nan("");
    return rate == 0 ? 2 : 1 + 0.1 * std::pow(std::log(rate / 0.1), 2);
}

RateTrial Recorded(Trials& trials)
{
    return [&trials](const char* prefix, double rate)
    {
        trials.prefixes.push_back(prefix);
        trials.values.push_back(rate);
        return CriterionOf(rate);
    };
}

SizeSearchResult SearchSize(const SizeRange& range, double margin, double (*criterion)(size_t),
                            std::vector<size_t>& sizes)
{
    return SearchMinibatchSize(range, margin,
                               [&](const char* prefix, size_t size)
                               {
                                   EXPECT_STREQ(prefix, sizes.empty() ? "BaseAdaptiveMinibatchSearch:"
                                                                      : "AdaptiveMinibatchSearch:");
                                   sizes.push_back(size);
                                   return criterion(size);
                               });
}

} // namespace

TEST(TrialSearch, TakesTheLargestRateThatIsGoodEnough)
{
    Trials trials;
    const RateSearchResult result = SearchLearningRate(
        {.minibatchSize = 16, .sampleShare = 0.25, .previousCriterion = 3, .largestRateBefore = 0.8}, Recorded(trials));
    EXPECT_DOUBLE_EQ(result.baseCriterion, 0.25 * 3 + 0.75 * 2);
    // From 0.8/0.618 on; the first that is a number is good enough.
    EXPECT_EQ(trials.prefixes, (std::vector<std::string>{"BaseAdaptiveLearnRateSearch:", "AdaptiveLearnRateSearch:",
                                                         "AdaptiveLearnRateSearch:", "AdaptiveLearnRateSearch:"}));
    EXPECT_EQ(trials.values[0], 0);
    const double back = 0.618F;
    EXPECT_NEAR(trials.values[1], 0.8 / back / back * 0.618, 1e-12);
    EXPECT_NEAR(result.rate, 0.8 / back / back * 0.618 * 0.618 * 0.618, 1e-12);
}

TEST(TrialSearch, WithoutAnEarlierRateItBeginsByTheMinibatchSize)
{
    Trials trials;
    const RateSearchResult result = SearchLearningRate({.minibatchSize = 16}, Recorded(trials));
    EXPECT_EQ(result.baseCriterion, 2); // there is no earlier criterion
    EXPECT_EQ(trials.values[1], result.rate);
    EXPECT_NEAR(result.rate, 0.125 / 4, 1e-8);
    // The trials that CNTK v1.1 printed.
    trials = {};
    EXPECT_NEAR(SearchLearningRate({.minibatchSize = 10}, Recorded(trials)).rate, 0.03952847264, 5e-12);
}

TEST(TrialSearch, ACriterionThatFellDoesNotLowerTheBase)
{
    Trials trials;
    EXPECT_EQ(SearchLearningRate({.minibatchSize = 16, .sampleShare = 0.5, .previousCriterion = 1}, Recorded(trials))
                  .baseCriterion,
              2);
}

TEST(TrialSearch, TheBestRateIsNarrowedFromBothSides)
{
    Trials trials;
    const RateSearchResult result =
        SearchLearningRate({.minibatchSize = 1, .largestRateBefore = 0.25, .forBestRate = true}, Recorded(trials));
    EXPECT_GT(result.rate, 0.1 * 0.618);
    EXPECT_LT(result.rate, 0.1 / 0.618);
    EXPECT_EQ(trials.prefixes[2], "DetailBaseAdaptiveLearnRateSearch:");
    EXPECT_EQ(trials.values[2], 0.01);
    for (const char* prefix : {"DetailRightAdaptiveLearnRateSearch:", "DetailLeftAdaptiveLearnRateSearch:"})
        EXPECT_NE(std::find(trials.prefixes.begin(), trials.prefixes.end(), prefix), trials.prefixes.end()) << prefix;
    EXPECT_LT(trials.values.size(), 12u);
}

TEST(TrialSearch, EndsWhereNoRateIsGoodEnough)
{
    size_t trials = 0;
    const RateSearchResult result = SearchLearningRate({.minibatchSize = 1},
                                                       [&](const char*, double rate)
                                                       {
                                                           ++trials;
                                                           return rate == 0 ? 1 : std::nan("");
                                                       });
    EXPECT_LE(result.rate, 0.3e-9);
    EXPECT_LT(trials, 60u);
}

TEST(TrialSearch, TheBestRateIsNoWorseThanNoTraining)
{
    // Good below 1e-5 only, which is below the other end of the interval, 0.01/minibatchSize.
    const auto criterion = [](double rate)
    { return rate > 1e-5 ? 2 + rate : 2 - 0.1 * std::exp(-std::pow(std::log(rate / 4e-6), 2)); };
    Trials trials;
    const RateSearchResult result = SearchLearningRate({.minibatchSize = 10, .forBestRate = true},
                                                       [&](const char* prefix, double rate)
                                                       {
                                                           trials.prefixes.push_back(prefix);
                                                           trials.values.push_back(rate);
                                                           return rate == 0 ? 2 : criterion(rate);
                                                       });
    EXPECT_LT(criterion(result.rate), result.baseCriterion);
    EXPECT_LE(result.rate, 1e-5);
    EXPECT_GT(result.rate, 1e-5 * 0.618);
    // The other end is tried, and is worse.
    EXPECT_EQ(trials.prefixes.back(), "DetailBaseAdaptiveLearnRateSearch:");
    EXPECT_EQ(trials.values.back(), 0.001);
    EXPECT_EQ(std::count(trials.prefixes.begin(), trials.prefixes.end(), "AdaptiveLearnRateSearch:"),
              std::ptrdiff_t(trials.prefixes.size()) - 2);
}

TEST(TrialSearch, WhereNoRateIsGoodEnoughTheBetterEndIsTheBest)
{
    const auto found = [](double (*criterion)(double))
    {
        return SearchLearningRate({.minibatchSize = 10, .forBestRate = true},
                                  [&](const char*, double rate) { return rate == 0 ? 1 : criterion(rate); })
            .rate;
    };
    // Whatever the rate, the first samples become worse: as small as can be, with which training ends.
    EXPECT_LE(found([](double rate) { return 1 + rate; }), 0.3e-9);
    EXPECT_EQ(found([](double rate) { return 2 - rate; }), 0.001);
    // No number is better than none; a tie is for the right end, which came down.
    EXPECT_EQ(found([](double rate) { return rate == 0.001 ? 5 : std::nan(""); }), 0.001);
    EXPECT_LE(found([](double) { return std::nan(""); }), 0.3e-9);
    EXPECT_LE(found([](double) { return 2.0; }), 0.3e-9);
}

TEST(TrialSearch, SizesGrowByTheRootOfTwoInMultiplesOf64)
{
    std::vector<size_t> sizes;
    const SizeSearchResult result = SearchSize(
        {256, 100000}, 1, [](size_t size) { return size <= 1000 ? 1 + double(size) * 1e-6 : 2; }, sizes);
    EXPECT_EQ(sizes, (std::vector<size_t>{256, 384, 512, 704, 1024}));
    EXPECT_EQ(result.size, 704u);
    EXPECT_DOUBLE_EQ(result.baseCriterion, 1.000256);
    EXPECT_DOUBLE_EQ(result.criterion, 1.000704);
}

// Criteria that training raises come with the sign changed: the margin is one for worse ones all the same.
TEST(TrialSearch, TheMarginOfSizesLetsWorseCriteriaPassBelowZeroToo)
{
    std::vector<size_t> sizes;
    EXPECT_EQ(SearchSize(
                  {64, 256}, 1, [](size_t size) { return -1 + double(size) * 2e-5; }, sizes)
                  .size,
              256u);
    sizes.clear();
    EXPECT_EQ(SearchSize(
                  {64, 256}, 1, [](size_t size) { return -1 + double(size) * 2e-3; }, sizes)
                  .size,
              64u);
}

TEST(TrialSearch, SizesEndAtTheLimit)
{
    std::vector<size_t> sizes;
    EXPECT_EQ(SearchSize(
                  {256, 512}, 1, [](size_t) { return 1.0; }, sizes)
                  .size,
              512u);
    EXPECT_EQ(sizes, (std::vector<size_t>{256, 384, 512}));
    sizes.clear();
    EXPECT_EQ(SearchSize(
                  {600, 512}, 1, [](size_t) { return 1.0; }, sizes)
                  .size,
              512u);
    EXPECT_TRUE(sizes.empty());
    EXPECT_EQ(SearchSize(
                  {5, 8}, 1, [](size_t) { return 1.0; }, sizes)
                  .size,
              7u);
}

// The original asks for each step of the root of two, whatever it is rounded to.
TEST(TrialSearch, SizesThatRoundAlikeAreTriedEach)
{
    std::vector<size_t> sizes;
    EXPECT_EQ(SearchSize(
                  {64, 190}, 1, [](size_t) { return 1.0; }, sizes)
                  .size,
              192u);
    EXPECT_EQ(sizes, (std::vector<size_t>{64, 64, 128, 192})); // 64, 90.5, 128, 181
    sizes.clear();
    EXPECT_EQ(SearchSize(
                  {60, 70}, 1, [](size_t) { return 1.0; }, sizes)
                  .size,
              64u);
    EXPECT_EQ(sizes, std::vector<size_t>{64});
    sizes.clear();
    SearchSize(
        {7, 20}, 1, [](size_t) { return 1.0; }, sizes);
    EXPECT_EQ(sizes, (std::vector<size_t>{7, 10, 14, 20})); // 7, 9.9, 14, 19.8
}

TEST(TrialSearch, WhereTheSmallestSizeLeavesTheNumbersItIsKept)
{
    std::vector<size_t> sizes;
    SizeSearchResult result = SearchSize(
        {64, 512}, 1, [](size_t) { return std::nan(""); }, sizes);
    EXPECT_FALSE(result.isNumber);
    EXPECT_EQ(result.size, 64u);
    EXPECT_EQ(sizes, std::vector<size_t>{64});
    // A larger one that does is not taken.
    sizes.clear();
    result = SearchSize(
        {64, 512}, 1, [](size_t size) { return size > 128 ? std::nan("") : 1.0; }, sizes);
    EXPECT_TRUE(result.isNumber);
    EXPECT_EQ(result.size, 128u);
    EXPECT_EQ(result.criterion, 1);
    EXPECT_EQ(sizes, (std::vector<size_t>{64, 64, 128, 192}));
}

TEST(TrialSearch, WhenSizesAreSearched)
{
    AutoAdjustOptions options;
    options.minibatchSizeTuningMax = 4096;
    const auto range = [&](size_t epoch, size_t previous, double ratio)
    {
        const auto planned = PlanSizeSearch(options, epoch, 256, previous, ratio);
        return planned ? std::vector<size_t>{planned->lower, planned->upper} : std::vector<size_t>{};
    };
    using Sizes = std::vector<size_t>;
    EXPECT_EQ(range(1, 0, 1), (Sizes{256, 4096}));
    EXPECT_EQ(range(1, 1024, 1), (Sizes{256, 4096})); // too early to know
    EXPECT_EQ(range(2, 1024, 1), (Sizes{512, 2048}));
    EXPECT_EQ(range(2, 1024, 1.0 / 16), (Sizes{1024, 2048})); // a small rate bears large minibatches
    EXPECT_EQ(range(2, 4000, 1), (Sizes{2000, 4096}));
    options.minibatchSizeTuningFrequency = 3;
    EXPECT_EQ(range(2, 1024, 1), (Sizes{512, 2048}));
    EXPECT_EQ(range(3, 1024, 1), Sizes{});
    EXPECT_EQ(range(5, 1024, 1), (Sizes{512, 2048}));
    options.minibatchSizeTuningFrequency = 4;
    EXPECT_EQ(range(2, 1024, 1), (Sizes{512, 2048})); // each of the first four epochs, then every fourth
    EXPECT_EQ(range(3, 1024, 1), (Sizes{512, 2048}));
    EXPECT_EQ(range(6, 1024, 1), Sizes{});
    EXPECT_EQ(range(7, 1024, 1), (Sizes{512, 2048}));
}

} // namespace cntk
