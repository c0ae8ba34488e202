// Products whose threads keep rows: all transposes, groups of rows, steps kept in several parts, every width of
// registers.
#include "Math/Cpu/GemmInRows.h"
#include "MathTests/Cpu/GemmCase.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace cntk
{

namespace
{

template <class T>
class GemmInRowsTest : public testing::Test
{
};
using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(GemmInRowsTest, ElementTypes);

// One group of rows, several of several slabs, steps in two parts, many groups.
constexpr Shape c_shapesInRows[] = {
    {183, 130, 512}, {512, 125, 700}, {600, 125, 1300}, {300, 130, 1700}, {2049, 40, 330}};

std::vector<AlignedMemory> ScratchOf(const ProductKernels& kernels, size_t GemmFunctions<float>::*ofFloats,
                                     size_t GemmFunctions<double>::*ofDoubles, int threads)
{
    std::vector<AlignedMemory> scratch;
    for (int thread = 0; thread < threads; ++thread)
        scratch.push_back(MakeAlignedMemory(
            std::max(kernels.floats.*ofFloats * sizeof(float), kernels.doubles.*ofDoubles * sizeof(double))));
    return scratch;
}

// A product with its own threads and memory.
struct InRows
{
    InRows(const ProductKernels& kernels, int threads)
        : scratchA(ScratchOf(kernels, &GemmFunctions<float>::scratchA, &GemmFunctions<double>::scratchA, threads)),
          scratchB(ScratchOf(kernels, &GemmFunctions<float>::scratchB, &GemmFunctions<double>::scratchB, threads)),
          pool(threads), gemm(pool, kernels, scratchA, scratchB)
    {
    }

    std::vector<AlignedMemory> scratchA;
    std::vector<AlignedMemory> scratchB;
    ThreadPool pool;
    GemmInRows gemm;
};

} // namespace

TYPED_TEST(GemmInRowsTest, EveryWidthMultipliesEveryShape)
{
    for (const ProductKernels& kernels : EveryWidth())
        for (const int threads : {1, 3, 4})
        {
            SCOPED_TRACE(testing::Message() << kernels.floats.tileRows << ", " << threads << " threads");
            InRows inRows(kernels, threads);
            CheckAll<TypeParam>([&](const GemmTask<TypeParam>& task) { inRows.gemm.Multiply(task); });
        }
}

TYPED_TEST(GemmInRowsTest, EachBitIsThatOfOneThread)
{
    for (const int threads : {3, 4})
    {
        InRows inRows(BestKernels(), threads);
        CheckBitsOfOneThread<TypeParam>(c_shapesInRows,
                                        [&](const GemmTask<TypeParam>& task) { inRows.gemm.Multiply(task); });
    }
}

TYPED_TEST(GemmInRowsTest, EpilogueSeesEachElementOnceAfterTheLastStep)
{
    InRows inRows(BestKernels(), 4);
    CheckBias<TypeParam>(c_shapesInRows, [&](const GemmTask<TypeParam>& task) { inRows.gemm.Multiply(task); });
}

TYPED_TEST(GemmInRowsTest, EpilogueMayReplaceC)
{
    InRows inRows(BestKernels(), 4);
    for (const Shape& shape : c_shapesInRows)
        for (const bool transB : {false, true})
            CheckEpilogue<TypeParam>(shape, false, transB, 0,
                                     [&](const GemmTask<TypeParam>& task) { inRows.gemm.Multiply(task); });
}

} // namespace cntk
