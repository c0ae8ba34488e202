// Memory that grows: it is aligned, and kept while it is large enough.
#include "Math/Cpu/AlignedMemory.h"

#include <cstdint>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

TEST(AlignedMemoryTest, BeginsAtACacheLine)
{
    for (const size_t bytes : {1, 63, 64, 65, 100000})
    {
        const AlignedMemory memory = MakeAlignedMemory(bytes);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % c_cacheLine, 0u) << bytes;
    }
}

TEST(AlignedMemoryTest, GrowsAndIsKept)
{
    GrowingMemory memory;
    float* many = memory.Of<float>(1000);
    many[999] = 5;
    EXPECT_EQ(memory.Of<float>(10), many);
    EXPECT_EQ(static_cast<void*>(memory.Of<double>(500)), many); // the same bytes
    EXPECT_EQ(many[999], 5);
    double* more = memory.Of<double>(100000);
    more[99999] = 7;
    EXPECT_EQ(memory.Of<double>(100000)[99999], 7);
}

} // namespace
} // namespace cntk
