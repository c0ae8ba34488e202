// Pieces of memory in large pages: they do not overlap, and are freed as a whole.
#include "Math/Cpu/HostDevice.h"

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace cntk
{
namespace
{

struct Held
{
    unsigned char* memory;
    size_t bytes;
    unsigned char mark;
};

bool HasItsMark(const Held& held)
{
    for (size_t i = 0; i < held.bytes; ++i)
        if (held.memory[i] != held.mark)
            return false;
    return true;
}

TEST(LargePages, PiecesDoNotOverlapAndAllMemoryIsFreed)
{
    LargePages pages;
    std::mt19937 random(1);
    std::vector<Held> all;
    for (int turn = 0; turn < 300; ++turn)
    {
        if (all.size() < 8 || random() % 2 == 0)
        {
            const size_t bytes = LargePages::c_leastBytes + random() % (LargePages::c_pageBytes / 4);
            auto* const memory = static_cast<unsigned char*>(pages.Allocate(bytes));
            ASSERT_NE(memory, nullptr);
            EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
            all.push_back({memory, bytes, static_cast<unsigned char>(turn)});
            std::memset(memory, all.back().mark, bytes);
            continue;
        }
        const size_t at = random() % all.size();
        ASSERT_TRUE(HasItsMark(all[at]));
        EXPECT_TRUE(pages.Free(all[at].memory));
        EXPECT_FALSE(pages.Free(all[at].memory)); // freed already
        all.erase(all.begin() + ptrdiff_t(at));
    }
    EXPECT_GT(pages.Chunks(), 0u);
    for (const Held& held : all)
    {
        EXPECT_TRUE(HasItsMark(held));
        EXPECT_TRUE(pages.Free(held.memory));
    }
    EXPECT_EQ(pages.Chunks(), 0u);
}

TEST(LargePages, ReusesFreedMemory)
{
    LargePages pages;
    const size_t bytes = LargePages::c_pageBytes - 64;
    for (int turn = 0; turn < 100; ++turn)
    {
        void* const first = pages.Allocate(bytes);
        void* const second = pages.Allocate(bytes);
        EXPECT_EQ(pages.Chunks(), 1u);
        EXPECT_TRUE(pages.Free(turn % 2 == 0 ? first : second));
        EXPECT_TRUE(pages.Free(turn % 2 == 0 ? second : first));
    }
    EXPECT_EQ(pages.Chunks(), 0u);
}

// Matrices of one size, a multiple of a cache way, do not all occupy the same cache lines.
TEST(LargePages, MatricesOfOneSizeBeginInDifferentLines)
{
    for (const size_t bytes : {size_t(128) << 10, size_t(20) * 65536})
    {
        LargePages pages;
        std::set<size_t> lines;
        std::vector<void*> all;
        for (int i = 0; i < 32; ++i)
        {
            all.push_back(pages.Allocate(bytes));
            lines.insert(reinterpret_cast<uintptr_t>(all.back()) % 4096 / 64);
        }
        EXPECT_EQ(lines.size(), all.size()) << bytes;
        for (void* memory : all)
            EXPECT_TRUE(pages.Free(memory));
    }
}

TEST(LargePages, RefusesToFreeOtherMemory)
{
    LargePages pages;
    void* const own = pages.Allocate(LargePages::c_leastBytes);
    int other = 0;
    EXPECT_FALSE(pages.Free(&other));
    EXPECT_FALSE(pages.Free(nullptr));
    EXPECT_FALSE(pages.Free(static_cast<std::byte*>(own) + 64));
    EXPECT_TRUE(pages.Free(own));
}

TEST(LargePages, ThreadsAllocateAndFreeInParallel)
{
    LargePages pages;
    std::vector<std::thread> threads;
    std::vector<int> failures(4);
    for (size_t t = 0; t < failures.size(); ++t)
        threads.emplace_back(
            [&, t]
            {
                for (int turn = 0; turn < 50; ++turn)
                {
                    const Held held{static_cast<unsigned char*>(pages.Allocate(LargePages::c_leastBytes)),
                                    LargePages::c_leastBytes, static_cast<unsigned char>(t + 1)};
                    std::memset(held.memory, held.mark, held.bytes);
                    failures[t] += !HasItsMark(held);
                    failures[t] += !pages.Free(held.memory);
                }
            });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(failures, std::vector<int>(failures.size(), 0));
    EXPECT_EQ(pages.Chunks(), 0u);
}

} // namespace
} // namespace cntk
