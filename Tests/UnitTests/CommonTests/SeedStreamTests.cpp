// Streams of seeds: the numbers of CNTK v1.1 without a trainingSeed, independent numbers with one.
#include "Common/Random.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

namespace cntk
{
namespace
{

TEST(SeedStreamTests, WithoutATrainingSeedTheNumberIsTheSeed)
{
    for (const SeedStream& seeds : {SeedStream(), SeedStream(0, "order"), SeedStream(0, "dropout")})
        for (const uint64_t number : {uint64_t(0), uint64_t(1), uint64_t(1234), ~uint64_t(0)})
            EXPECT_EQ(seeds(number), number);
}

TEST(SeedStreamTests, SeedsAreThoseOfTheirStreamOnly)
{
    std::set<uint64_t> seen;
    size_t count = 0;
    for (const char* purpose : {"start values", "dropout", "noise", "order", "chunks", ""})
        for (const uint64_t trainingSeed : {uint64_t(1), uint64_t(2), uint64_t(3), ~uint64_t(0)})
            for (uint64_t number = 0; number < 40; ++number, ++count)
            {
                const uint64_t seed = SeedStream(trainingSeed, purpose)(number);
                EXPECT_EQ(SeedStream(trainingSeed, purpose)(number), seed);
                EXPECT_GE(seed, 1u);
                EXPECT_LT(seed, MinStdRand0::c_modulus) << "it would be taken for another one";
                seen.insert(seed);
            }
    EXPECT_EQ(seen.size(), count);
}

// Returns the correlation of the first draws of generators with neighbouring seeds.
double NeighboursCorrelation(const std::vector<uint64_t>& seeds)
{
    std::vector<double> first;
    for (const uint64_t seed : seeds)
        first.push_back(MinStdRand0(seed).Canonical<double>() - 0.5);
    double product = 0, square = 0;
    for (size_t i = 0; i + 1 < first.size(); ++i)
    {
        product += first[i] * first[i + 1];
        square += first[i] * first[i];
    }
    return product / square;
}

TEST(SeedStreamTests, NeighboursHaveNothingToDoWithEachOther)
{
    constexpr size_t count = 10000;
    std::vector<uint64_t> original, numbers, trainingSeeds;
    for (uint64_t i = 1; i <= count; ++i)
    {
        original.push_back(i);
        numbers.push_back(SeedStream(7, "noise")(i));
        trainingSeeds.push_back(SeedStream(i, "noise")(1));
    }
    EXPECT_GT(NeighboursCorrelation(original), 0.25) << "what this test is able to see";
    EXPECT_LT(std::abs(NeighboursCorrelation(numbers)), 4 / std::sqrt(double(count)));
    EXPECT_LT(std::abs(NeighboursCorrelation(trainingSeeds)), 4 / std::sqrt(double(count)));
}

// Published seeds must not change: other numbers in a release would break every reproduction.
TEST(SeedStreamTests, TheSeedsOfAReleaseStay)
{
    EXPECT_EQ(SeedStream(1, "start values")(1), 715633816u);
    EXPECT_EQ(SeedStream(1, "dropout")(1), 808230299u);
    EXPECT_EQ(SeedStream(42, "order")(0), 216650487u);
}

} // namespace
} // namespace cntk
