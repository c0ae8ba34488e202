// The shuffle of CNTK v1.1: recorded orders on Linux and on Windows, and the window.
#include "Readers/ReaderLib/RecordWalk.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

TEST(RecordOrderTests, RecordedOrders)
{
    std::vector<uint32_t> order;
    for (uint32_t seed : {0u, 1u}) // seed 0 counts as 1
    {
        EXPECT_EQ(ShuffleWithinWindow(order, 40, 40, GlibcRand(seed)), 8u);
        EXPECT_EQ(order[0], 9u);
        EXPECT_EQ(order[1], 5u);
        EXPECT_EQ(order[2], 16u);
    }
    EXPECT_EQ(ShuffleWithinWindow(order, 40, 40, GlibcRand(2)), 4u);
    EXPECT_EQ(order[0], 0u);
    EXPECT_EQ(order[1], 19u);
    EXPECT_EQ(order[2], 7u);
}

TEST(RecordOrderTests, IsAPermutationWithinTheWindow)
{
    std::vector<uint32_t> order;
    for (size_t count : {1, 2, 3, 10, 100, 1001})
    {
        for (size_t range : {1, 2, 7, 64, 2000})
        {
            ShuffleWithinWindow(order, count, range, GlibcRand(3));
            ASSERT_EQ(order.size(), count);
            std::vector<bool> seen(count);
            for (size_t t = 0; t < count; ++t)
            {
                ASSERT_LT(order[t], count);
                ASSERT_FALSE(seen[order[t]]);
                seen[order[t]] = true;
                ASSERT_LE(std::abs(int64_t(order[t]) - int64_t(t)), int64_t(range / 2));
            }
        }
    }
}

TEST(RecordOrderTests, ShufflesMostElements)
{
    std::vector<uint32_t> order;
    ShuffleWithinWindow(order, 1000, 1000, GlibcRand(5));
    size_t moved = 0;
    for (size_t t = 0; t < order.size(); ++t)
        moved += order[t] != t;
    EXPECT_GT(moved, 900u);
}

} // namespace
} // namespace cntk
