// The prefetch thread: order, end, errors, stopping in the middle.
#include "Common/Error.h"
#include "Readers/ReaderLib/Prefetcher.h"

#include <atomic>
#include <gtest/gtest.h>
#include <vector>

namespace cntk
{
namespace
{

TEST(PrefetcherTests, DeliversInOrderAndEnds)
{
    Prefetcher<std::vector<int>> prefetcher;
    std::vector<int> item;
    for (int round = 0; round < 3; ++round)
    {
        int next = 0;
        prefetcher.Start(
            [&](std::vector<int>& filled)
            {
                filled.assign(1, next);
                return next++ < 100;
            });
        for (int i = 0; i < 100; ++i)
        {
            ASSERT_TRUE(prefetcher.Next(item));
            ASSERT_EQ(item[0], i);
        }
        EXPECT_FALSE(prefetcher.Next(item));
        EXPECT_FALSE(prefetcher.Next(item));
    }
}

TEST(PrefetcherTests, ErrorsComeAfterTheItemsBeforeThem)
{
    Prefetcher<int> prefetcher;
    int next = 0;
    prefetcher.Start(
        [&](int& item)
        {
            if (next == 3)
                Fail(ErrorKind::Data, "line 3");
            item = next++;
            return true;
        });
    int item = -1;
    for (int i = 0; i < 3; ++i)
    {
        ASSERT_TRUE(prefetcher.Next(item));
        EXPECT_EQ(item, i);
    }
    EXPECT_THROW(prefetcher.Next(item), Error);
    EXPECT_FALSE(prefetcher.Next(item));
}

TEST(PrefetcherTests, StopsInTheMiddle)
{
    Prefetcher<int> prefetcher;
    std::atomic<int> made = 0;
    for (int round = 0; round < 50; ++round)
    {
        const int start = 1000 * round;
        int next = start;
        prefetcher.Start(
            [&, next](int& item) mutable
            {
                item = next++;
                ++made;
                return true;
            });
        int item = -1;
        for (int i = 0; i < round % 4; ++i)
        {
            ASSERT_TRUE(prefetcher.Next(item));
            ASSERT_EQ(item, start + i);
        }
        if (round % 2 == 0)
            prefetcher.Stop();
    }
    prefetcher.Stop();
    const int total = made;
    EXPECT_LE(total, 73 + 50); // those taken, and never more than one ahead
}

} // namespace
} // namespace cntk
