// Products whose panels the threads share: all transposes, edges of tiles, slabs and blocks, every width of registers.
#include "Math/Cpu/GemmShared.h"
#include "MathTests/Cpu/GemmCase.h"

#include <gtest/gtest.h>
#include <vector>

namespace cntk
{

namespace
{

template <class T>
class GemmSharedTest : public testing::Test
{
};
using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(GemmSharedTest, ElementTypes);

// Around the edges of blocks (2048 rows or columns) and with many slabs of steps.
constexpr Shape c_largeShapes[] = {{2049, 70, 33}, {65, 2065, 40}, {70, 50, 2600}, {512, 300, 321}};

} // namespace

TYPED_TEST(GemmSharedTest, EveryWidthMultipliesEveryShape)
{
    for (const ProductKernels& kernels : EveryWidth())
        for (const int threads : {1, 3})
        {
            SCOPED_TRACE(testing::Message() << kernels.floats.tileRows << ", " << threads << " threads");
            ThreadPool pool(threads);
            SharedGemm shared(pool, kernels);
            CheckAll<TypeParam>([&](const GemmTask<TypeParam>& task) { shared.Multiply(task); });
        }
}

TYPED_TEST(GemmSharedTest, EachBitIsThatOfOneThread)
{
    ThreadPool pool(4);
    SharedGemm shared(pool, BestKernels());
    for (int repeat = 0; repeat < 2; ++repeat)
        CheckBitsOfOneThread<TypeParam>(c_largeShapes, [&](const GemmTask<TypeParam>& task) { shared.Multiply(task); });
}

TYPED_TEST(GemmSharedTest, EpilogueSeesEachElementOnceAfterTheLastSlab)
{
    ThreadPool pool(4);
    SharedGemm shared(pool, BestKernels());
    CheckBias<TypeParam>(c_largeShapes, [&](const GemmTask<TypeParam>& task) { shared.Multiply(task); });
}

TYPED_TEST(GemmSharedTest, EpilogueMayTakeThePlaceOfC)
{
    ThreadPool pool(4);
    SharedGemm shared(pool, BestKernels());
    for (const Shape& shape : c_largeShapes)
        for (const bool transB : {false, true})
            CheckEpilogue<TypeParam>(shape, false, transB, 0,
                                     [&](const GemmTask<TypeParam>& task) { shared.Multiply(task); });
}

} // namespace cntk
