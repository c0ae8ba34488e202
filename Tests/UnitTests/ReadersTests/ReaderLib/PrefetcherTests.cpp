// The prefetch thread: order, end, errors, stopping early.
#include "Common/Error.h"
#include "Readers/ReaderLib/Prefetcher.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>
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

TEST(PrefetcherTests, ErrorsComeAfterEarlierItems)
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
    EXPECT_LE(total, 73 + 50); // those taken, and at most one more
}

size_t BytesOfVector(const std::vector<char>& item)
{
    return item.capacity();
}

// Returns the number of small items that the thread has filled when it rests.
TEST(PrefetcherTests, SeveralSmallItemsOrOneLargeItemWait)
{
    using Items = Prefetcher<std::vector<char>>;
    for (const size_t bytes : {size_t(10), Items::c_mostBytes / 3, Items::c_mostBytes / 2 + 1, 2 * Items::c_mostBytes})
    {
        Items prefetcher(BytesOfVector);
        const size_t room = std::clamp<size_t>(Items::c_mostBytes / bytes, 1, Items::c_mostItems);
        std::atomic<size_t> made = 0;
        prefetcher.Start(
            [&](std::vector<char>& item)
            {
                item.assign(bytes, char(made));
                ++made;
                return true;
            });
        std::vector<char> item;
        for (size_t taken = 0; taken < 30; ++taken)
        {
            ASSERT_TRUE(prefetcher.Next(item));
            ASSERT_EQ(item.front(), char(taken));
            ASSERT_LE(made, taken + 1 + room);
        }
        while (made < 31) // the thread resumes by itself
            std::this_thread::yield();
        prefetcher.Stop();
        EXPECT_LE(made, 30 + room);
    }
}

// Every buffer is used once before any is used a second time, so that none grows late.
TEST(PrefetcherTests, BuffersTakeTurnsFromTheBeginning)
{
    using Items = Prefetcher<std::vector<char>>;
    Items prefetcher(BytesOfVector);
    std::atomic<size_t> grown = 0;
    for (int round = 0; round < 3; ++round)
    {
        prefetcher.Start(
            [&](std::vector<char>& item)
            {
                grown += item.capacity() == 0;
                item.assign(10, 'x');
                return true;
            });
        std::vector<char> item(10, 'x');
        for (int taken = 0; taken < 40; ++taken)
        {
            if (round == 1) // a slow caller finds the maximum number of waiting items
                std::this_thread::sleep_for(std::chrono::microseconds(200));
            ASSERT_TRUE(prefetcher.Next(item));
            if (taken == 20)
                grown = 0;
        }
        EXPECT_EQ(grown, 0u) << round;
        prefetcher.Stop();
    }
}

// A large item among small ones: from then on one item waits at a time, and none is lost or reordered.
TEST(PrefetcherTests, KeepsOrderWhenItemsGrow)
{
    Prefetcher<std::vector<char>> prefetcher(BytesOfVector);
    for (int round = 0; round < 2; ++round)
    {
        int next = 0;
        prefetcher.Start(
            [&](std::vector<char>& item)
            {
                item.assign(next == 20 ? 3 << 20 : 10, char(next));
                return next++ < 60;
            });
        std::vector<char> item;
        for (int i = 0; i < 60; ++i)
        {
            ASSERT_TRUE(prefetcher.Next(item));
            ASSERT_EQ(item.front(), char(i));
            if (i % 7 == 0)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_FALSE(prefetcher.Next(item));
    }
}

// The thread measures the time per item. Then no items are taken for a while, or they are taken faster.
TEST(PrefetcherTests, KeepsOrderAndLimitWhenThePaceChanges)
{
    using Items = Prefetcher<std::vector<char>>;
    Items prefetcher(BytesOfVector);
    std::atomic<size_t> made = 0;
    prefetcher.Start(
        [&](std::vector<char>& item)
        {
            item.assign(10, char(made));
            return made++ < 600;
        });
    std::vector<char> item;
    for (size_t taken = 0; taken < 600; ++taken)
    {
        ASSERT_TRUE(prefetcher.Next(item));
        ASSERT_EQ(item.front(), char(taken));
        ASSERT_LE(made, taken + 2 + Items::c_mostItems);
        if (taken < 200)
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        if (taken % 100 == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_FALSE(prefetcher.Next(item));
}

// The thread wakes, and finds all items still waiting.
TEST(PrefetcherTests, KeepsTheLimitWhenThePaceStops)
{
    using Items = Prefetcher<std::vector<char>>;
    for (const size_t room : {1, 2, 3, 4, 8})
    {
        Items prefetcher(BytesOfVector);
        std::atomic<size_t> made = 0;
        prefetcher.Start(
            [&](std::vector<char>& item)
            {
                item.resize(Items::c_mostBytes / room);
                ++made;
                return true;
            });
        std::vector<char> item;
        for (size_t taken = 0; taken < 40; ++taken)
        {
            ASSERT_TRUE(prefetcher.Next(item));
            std::this_thread::sleep_for(std::chrono::microseconds(500));
        }
        while (made < 41) // the thread resumes by itself
            std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // many times the time per item
        EXPECT_LE(made, 40 + room);
    }
}

TEST(PrefetcherTests, BuffersAreReusedInTurn)
{
    Prefetcher<std::vector<char>> prefetcher(BytesOfVector);
    std::atomic<int> grown = 0;
    int next = 0;
    prefetcher.Start(
        [&](std::vector<char>& item)
        {
            grown += item.capacity() == 0;
            item.assign(100, 'x');
            return next++ < 1000;
        });
    std::vector<char> item;
    for (int taken = 0; prefetcher.Next(item); ++taken)
        if (taken % 50 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
    EXPECT_LE(grown, int(prefetcher.c_mostItems) + 1); // the waiting items, and the caller's
}

} // namespace
} // namespace cntk
