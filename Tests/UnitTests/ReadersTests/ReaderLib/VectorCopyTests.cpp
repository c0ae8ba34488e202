// Copies of vectors of any length, and their memory.
#include "Readers/ReaderLib/VectorCopy.h"

#include <gtest/gtest.h>
#include <numeric>

namespace cntk
{
namespace
{

template <class Source, class Target>
void CheckCopies()
{
    constexpr Target c_untouched = -1;
    for (size_t elements = 0; elements <= 70; ++elements)
    {
        std::vector<Source> source(elements + 2);
        std::iota(source.begin(), source.end(), Source(0.25));
        std::vector<Target> target(elements + 2, c_untouched);
        CopyVector(source.data() + 1, elements, target.data() + 1, source.data());
        EXPECT_EQ(target.front(), c_untouched) << elements;
        EXPECT_EQ(target.back(), c_untouched) << elements;
        for (size_t i = 1; i <= elements; ++i)
            EXPECT_EQ(target[i], Target(i) + Target(0.25)) << elements;
    }
}

TEST(VectorCopyTests, CopiesAllElementsAndNoOthers)
{
    CheckCopies<float, float>();
    CheckCopies<float, double>();
    CheckCopies<double, double>();
}

// Small memory, and large memory whose last page is partly used.
TEST(VectorCopyTests, MemoryOfAnySizeKeepsItsValues)
{
    for (size_t count : {size_t(0), size_t(1), size_t(100'000), size_t(2'621'441)})
    {
        const auto memory = MakeInLargePages<float>(count);
        ASSERT_NE(memory, nullptr) << count;
        for (size_t i = 0; i < count; ++i)
            memory[i] = float(i);
        for (size_t i = 0; i < count; ++i)
            ASSERT_EQ(memory[i], float(i)) << count;
    }
}

} // namespace
} // namespace cntk
