// The random streams compared with recorded values of CNTK v1.1, and with this machine's C library if it is glibc.
#include "Common/Random.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

TEST(RandomTests, MinStdRandUniformDouble)
{
    MinStdRand0 generator(1);
    const double expected[] = {-0.0368462217752, -0.00413498685929, -0.0281040817975};
    for (double value : expected)
        EXPECT_NEAR(generator.Canonical<double>() * 2 * 0.05f - 0.05f, value, 1e-13); // single-precision constants
}

TEST(RandomTests, NormalDistributionDouble)
{
    MinStdRand0 generator(2);
    NormalDistribution<double> normal(0, 0.2f / std::sqrt(8.0));
    const double expected[] = {0.024931855902, -0.0141551925775, -0.140187260091};
    for (double value : expected)
        EXPECT_NEAR(normal(generator), value, 1e-12);
}

TEST(RandomTests, NormalDistributionsDifferByMeanAndDeviation)
{
    MinStdRand0 first(5), second(5);
    NormalDistribution<double> standard(0, 1), other(-3, 0.25);
    for (int i = 0; i < 10; ++i)
        EXPECT_NEAR(other(second), -3 + 0.25 * standard(first), 1e-15);
}

// Tests the draw before 2^31 - 2, the largest number, which single precision would round up to the range.
TEST(RandomTests, UniformNumbersAreBelowOne)
{
    MinStdRand0 generator(739806647), same(739806647);
    EXPECT_EQ(same.Next(), 2147483646u);
    const float value = generator.Canonical<float>();
    EXPECT_LT(value, 1.0f);
    EXPECT_GT(value, 0.9999999f);
}

TEST(RandomTests, MinStdRandSeedZeroIsOne)
{
    MinStdRand0 zero(0), one(1), modulus(MinStdRand0::c_modulus);
    const uint32_t first = one.Next();
    EXPECT_EQ(first, 16807u);
    EXPECT_EQ(zero.Next(), first);
    EXPECT_EQ(modulus.Next(), first);
}

TEST(RandomTests, GlibcRandKnownValues)
{
    GlibcRand generator;
    EXPECT_EQ(generator.Next(), 1804289383u);
    EXPECT_EQ(generator.Next(), 846930886u);
    EXPECT_EQ(generator.Next(), 1681692777u);
    GlibcRand zero(0);
    EXPECT_EQ(zero.Next(), 1804289383u);
}

#ifdef __GLIBC__
TEST(RandomTests, GlibcRandEqualsTheLibrary)
{
    for (uint32_t seed : {0u, 1u, 2u, 42u, 123456789u, 2147483647u, 2147483648u, 4294967295u})
    {
        GlibcRand generator(seed);
        std::srand(seed);
        for (int i = 0; i < 1000; ++i)
            ASSERT_EQ(generator.Next(), uint32_t(std::rand())) << "seed " << seed << ", number " << i;
    }
}
#endif

TEST(RandomTests, DrawStaysInsideAndWraps)
{
    GlibcRand generator(3), plain(3);
    for (int i = 0; i < 1000; ++i)
    {
        const uint64_t first = plain.Next();
        const uint64_t second = plain.Next();
        const int32_t wrapped = int32_t(uint32_t(first * GlibcRand::c_max + second));
        const uint64_t expected = 5 + uint64_t(int64_t(wrapped)) % 11; // 12 hides the sign
        const size_t value = generator.Draw(5, 16);
        ASSERT_EQ(value, expected);
        ASSERT_GE(value, 5u);
        ASSERT_LT(value, 16u);
    }
}

} // namespace
} // namespace cntk
