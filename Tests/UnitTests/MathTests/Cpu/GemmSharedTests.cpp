// Products whose panels the threads share: all transposes, edges of tiles, slabs and blocks, every width of registers.
#include "Math/Cpu/GemmKernel.h"
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
    for (const GemmIsa& isa :
         {MakeGemmIsa<16, 4>("16 bytes"), MakeGemmIsa<32, 6>("32 bytes"), MakeGemmIsa<64, 12>("64 bytes")})
        for (const int threads : {1, 3})
        {
            SCOPED_TRACE(testing::Message() << isa.name << ", " << threads << " threads");
            ThreadPool pool(threads);
            SharedGemm shared(pool, isa);
            CheckAll<TypeParam>([&](const GemmTask<TypeParam>& task) { shared.Multiply(task); });
        }
}

TYPED_TEST(GemmSharedTest, EachBitIsThatOfOneThread)
{
    const GemmIsa& isa = BestGemmIsa();
    const GemmFunctions<TypeParam>& functions = isa.Of<TypeParam>();
    std::vector<TypeParam> scratchA(functions.scratchA);
    std::vector<TypeParam> scratchB(functions.scratchB);
    ThreadPool pool(4);
    SharedGemm shared(pool, isa);
    for (const Shape& shape : c_largeShapes)
        for (const bool transA : {false, true})
            for (const bool transB : {false, true})
            {
                SCOPED_TRACE(testing::Message() << shape.m << " x " << shape.n << " x " << shape.k << ", transA "
                                                << transA << ", transB " << transB);
                Product<TypeParam> alone(shape, transA, transB, TypeParam(0.5), 1);
                functions.multiply(&alone.task, 1, scratchA.data(), scratchB.data());
                for (int repeat = 0; repeat < 3; ++repeat)
                {
                    Product<TypeParam> together(shape, transA, transB, TypeParam(0.5), 1);
                    shared.Multiply(together.task);
                    ASSERT_TRUE(together.c == alone.c);
                }
            }
}

TYPED_TEST(GemmSharedTest, EpilogueSeesEachElementOnceAfterTheLastSlab)
{
    ThreadPool pool(4);
    SharedGemm shared(pool, BestGemmIsa());
    for (const Shape& shape : c_largeShapes)
    {
        SCOPED_TRACE(testing::Message() << shape.m << " x " << shape.n << " x " << shape.k);
        Product<TypeParam> product(shape, false, false, 1, 0);
        const auto bias = product.Fill(shape.m, 1, shape.m);
        const AddedBias<TypeParam> epilogue(bias.data());
        product.task.epilogue = &epilogue;
        shared.Multiply(product.task);
        product.Check(bias);
    }
}

TYPED_TEST(GemmSharedTest, EpilogueMayTakeThePlaceOfC)
{
    ThreadPool pool(4);
    SharedGemm shared(pool, BestGemmIsa());
    for (const Shape& shape : c_largeShapes)
        for (const bool transB : {false, true})
            CheckEpilogue<TypeParam>(shape, false, transB, 0,
                                     [&](const GemmTask<TypeParam>& task) { shared.Multiply(task); });
}

} // namespace cntk
