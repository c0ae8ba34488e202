// Products: every engine, all transposes, shapes around the tiles' edges, strides, several threads, epilogues.
#include "Math/Cpu/GemmContext.h"
#include "MathTests/Cpu/GemmCase.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace cntk
{

namespace
{

template <class T>
std::vector<MatrixEngine> InstalledEngines()
{
    std::vector<MatrixEngine> engines{MatrixEngine::Auto, MatrixEngine::Own};
    for (const MatrixEngine engine : {MatrixEngine::OpenBlas, MatrixEngine::OneDnn})
        if (FindLibraryProduct<T>(engine) != nullptr)
            engines.push_back(engine);
    return engines;
}

template <class T>
class GemmContextTest : public testing::Test
{
};
using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(GemmContextTest, ElementTypes);

} // namespace

TYPED_TEST(GemmContextTest, EveryEngineMultipliesEveryShape)
{
    for (const int threads : {1, 3, 4})
    {
        ThreadPool pool(threads);
        for (const MatrixEngine engine : InstalledEngines<TypeParam>())
        {
            SCOPED_TRACE(testing::Message() << NameOf(engine) << ", " << threads << " threads");
            GemmContext context(pool, BestKernels(), engine);
            CheckAll<TypeParam>([&](const GemmTask<TypeParam>& task) { context.Multiply(task); });
        }
    }
}

// The way in which the threads share out a product does not change its result.
TYPED_TEST(GemmContextTest, EachBitIsThatOfOneThread)
{
    const Shape shapes[] = {{37, 20, 6000},  {200, 100, 2570}, {1, 3, 300000},
                            {230, 150, 300}, {5000, 130, 50},  {90, 30, 400}};
    std::set<std::string> ways;
    for (const int threads : {2, 4})
    {
        ThreadPool pool(threads);
        GemmContext context(pool, BestKernels());
        context.TraceTo([&](const std::string& text) { ways.insert(text.substr(text.rfind(", ") + 2)); });
        SCOPED_TRACE(testing::Message() << threads << " threads");
        CheckBitsOfOneThread<TypeParam>(shapes, [&](const GemmTask<TypeParam>& task) { context.Multiply(task); });
    }
    EXPECT_TRUE(ways.contains("rows kept by each thread"));
    EXPECT_TRUE(ways.contains("4 tiles for the threads"));
}

TYPED_TEST(GemmContextTest, KernelsOfEveryWidth)
{
    for (const ProductKernels& kernels : EveryWidth())
    {
        SCOPED_TRACE(testing::Message() << kernels.floats.tileRows << " rows");
        const GemmFunctions<TypeParam>& functions = kernels.Of<TypeParam>();
        std::vector<TypeParam> scratchA(functions.scratchA);
        std::vector<TypeParam> scratchB(functions.scratchB);
        CheckAll<TypeParam>([&](const GemmTask<TypeParam>& task)
                            { functions.multiply(&task, 1, scratchA.data(), scratchB.data()); });
    }
}

// Panels of an A larger than the second-level cache are prefetched, with all kinds of incomplete panels and steps.
TYPED_TEST(GemmContextTest, PrefetchesPanelsOfALargeA)
{
    std::vector<ProductKernels> all = EveryWidth();
    all.push_back(BestKernels());
    for (const Shape& shape :
         {Shape{200, 62, 1616}, Shape{198, 64, 1600}, Shape{84, 61, 3499}, Shape{50, 70, 6400}, Shape{20, 61, 15000}})
        for (const bool transA : {false, true})
        {
            const std::vector<double> sums = Product<TypeParam>(shape, transA, false, 1, 1).Sums();
            for (const ProductKernels& kernels : all)
            {
                SCOPED_TRACE(testing::Message() << kernels.floats.tileRows << ", " << shape.m << " x " << shape.n
                                                << " x " << shape.k << ", transA " << transA);
                const GemmFunctions<TypeParam>& functions = kernels.Of<TypeParam>();
                std::vector<TypeParam> scratchA(functions.scratchA), scratchB(functions.scratchB);
                Product<TypeParam> product(shape, transA, false, 1, 1);
                functions.multiply(&product.task, 1, scratchA.data(), scratchB.data());
                product.Check(sums, {});
                if (testing::Test::HasFatalFailure())
                    return;
            }
        }
}

// Values that fill registers beyond the last row and column affect nothing: a NaN changes only its own row or column of
// C.
TYPED_TEST(GemmContextTest, NanStaysInItsRowAndColumn)
{
    std::vector<ProductKernels> all = EveryWidth();
    all.push_back(BestKernels());
    for (const ProductKernels& kernels : all)
    {
        const GemmFunctions<TypeParam>& functions = kernels.Of<TypeParam>();
        std::vector<TypeParam> scratchA(functions.scratchA, std::numeric_limits<TypeParam>::quiet_NaN());
        std::vector<TypeParam> scratchB(functions.scratchB, std::numeric_limits<TypeParam>::quiet_NaN());
        for (const Shape& shape : {Shape{1, 1, 1}, Shape{15, 13, 3}, Shape{17, 31, 20}, Shape{33, 19, 321},
                                   Shape{49, 120, 47}, Shape{300, 130, 9}, Shape{530, 37, 33}})
            for (const bool transA : {false, true})
                for (const bool transB : {false, true})
                {
                    SCOPED_TRACE(testing::Message()
                                 << kernels.floats.tileRows << ", " << shape.m << " x " << shape.n << " x " << shape.k
                                 << ", transA " << transA << ", transB " << transB);
                    Product<TypeParam> product(shape, transA, transB, 1, 0);
                    // The very last elements of A and of B.
                    product.a.back() = std::numeric_limits<TypeParam>::quiet_NaN();
                    product.b.back() = std::numeric_limits<TypeParam>::infinity();
                    functions.multiply(&product.task, 1, scratchA.data(), scratchB.data());
                    for (size_t j = 0; j < shape.n; ++j)
                        for (size_t i = 0; i < shape.m; ++i)
                            ASSERT_EQ(std::isfinite(product.c[j * product.task.ldc + i]),
                                      i + 1 < shape.m && j + 1 < shape.n)
                                << "row " << i << ", column " << j;
                }
    }
}

TYPED_TEST(GemmContextTest, EpilogueSeesEachElementOnce)
{
    for (const int threads : {1, 4})
    {
        ThreadPool pool(threads);
        GemmContext context(pool, BestKernels());
        CheckBias<TypeParam>(c_shapes, [&](const GemmTask<TypeParam>& task) { context.Multiply(task); });
    }
}

TYPED_TEST(GemmContextTest, EpilogueMayReplaceC)
{
    for (const int threads : {1, 4})
    {
        ThreadPool pool(threads);
        GemmContext context(pool, BestKernels());
        for (const Shape& shape : c_shapes)
            for (const bool transA : {false, true})
                for (const bool transB : {false, true})
                    for (const TypeParam beta : {TypeParam(0), TypeParam(1)})
                        CheckEpilogue<TypeParam>(shape, transA, transB, beta,
                                                 [&](const GemmTask<TypeParam>& task) { context.Multiply(task); });
    }
}

TYPED_TEST(GemmContextTest, EpilogueRunsAtAnyWidthAndForEmptyProducts)
{
    for (const ProductKernels& kernels : EveryWidth())
    {
        SCOPED_TRACE(testing::Message() << kernels.floats.tileRows << " rows");
        const GemmFunctions<TypeParam>& functions = kernels.Of<TypeParam>();
        std::vector<TypeParam> scratchA(functions.scratchA), scratchB(functions.scratchB);
        for (const Shape& shape : {c_shapes[4], c_shapes[12], c_shapes[14], Shape{200, 400, 50}, Shape{40, 700, 60}})
            for (const bool transA : {false, true})
                for (const bool transB : {false, true})
                    CheckEpilogue<TypeParam>(shape, transA, transB, 0,
                                             [&](const GemmTask<TypeParam>& task)
                                             { functions.multiply(&task, 1, scratchA.data(), scratchB.data()); });
    }
    ThreadPool pool(1);
    GemmContext context(pool, BestKernels());
    CheckEpilogue<TypeParam>({5, 3, 0}, false, false, 0.5,
                             [&](const GemmTask<TypeParam>& task) { context.Multiply(task); });
}

TYPED_TEST(GemmContextTest, EmptySums)
{
    ThreadPool pool(2);
    GemmContext context(pool, BestKernels());
    Product<TypeParam> scaled({5, 3, 0}, false, false, 1, TypeParam(0.5));
    context.Multiply(scaled.task);
    scaled.Check();
    Product<TypeParam> zeroed({5, 3, 0}, false, false, 1, 0);
    context.Multiply(zeroed.task);
    zeroed.Check();
    Product<TypeParam> noFactor({5, 3, 4}, false, false, 0, 2);
    context.Multiply(noFactor.task);
    noFactor.Check();
    Product<TypeParam> empty({0, 3, 4}, false, false, 1, 0);
    context.Multiply(empty.task);
}

TYPED_TEST(GemmContextTest, ResultDoesNotDependOnTheThreads)
{
    Product<TypeParam> one({193, 101, 641}, false, true, 1, 0);
    ThreadPool pool(4);
    GemmContext context(pool, BestKernels());
    context.Multiply(one.task);
    for (int repeat = 0; repeat < 20; ++repeat)
    {
        Product<TypeParam> again({193, 101, 641}, false, true, 1, 0);
        context.Multiply(again.task);
        for (size_t j = 0; j < one.task.n; ++j)
            for (size_t i = 0; i < one.task.m; ++i)
                ASSERT_EQ(again.c[j * again.task.ldc + i], one.c[j * one.task.ldc + i]);
    }
}

// A library computes large products of a B that is not transposed, on processors where it was measured to be faster.
TYPED_TEST(GemmContextTest, AutoTakesTheFastestEngineForTheShape)
{
    GemmTask<TypeParam> task;
    task.m = 512;
    task.n = 1024;
    task.k = 512;
    const bool isFasterWithOneDnn = __builtin_cpu_is("intel") && BestInstructionSet() == InstructionSet::Avx512 &&
                                    FindLibraryProduct<TypeParam>(MatrixEngine::OneDnn) != nullptr;
    EXPECT_EQ(FastestEngine(task), isFasterWithOneDnn ? MatrixEngine::OneDnn : MatrixEngine::Own);
    task.transB = true; // the gradient of a weight
    EXPECT_EQ(FastestEngine(task), MatrixEngine::Own);
    task.transB = false;
    task.n = 100;
    EXPECT_EQ(FastestEngine(task), MatrixEngine::Own);
}

TEST(GemmContext, LogsEachShapeOnce)
{
    ThreadPool pool(1);
    GemmContext context(pool, BestKernels());
    std::vector<std::string> lines;
    context.TraceTo([&](const std::string& text) { lines.push_back(text); });
    Product<float> first({50, 25, 2}, false, false, 1, 0);
    context.Multiply(first.task);
    context.Multiply(first.task);
    Product<double> second({50, 2, 25}, true, true, 1, 0);
    context.Multiply(second.task);
    const std::string own = DescribeEngine(MatrixEngine::Own);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0], "Product 50 x 2 * 2 x 25, float: " + own + ", one thread");
    EXPECT_EQ(lines[1], "Product 50 x 25 (transposed) * 25 x 2 (transposed), double: " + own + ", one thread");
}

} // namespace cntk
