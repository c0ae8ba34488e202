// Products: every engine, all transposes, shapes around the tiles' edges, strides, several threads, epilogues.
#include "Math/Cpu/GemmContext.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" // wide registers that this file is not compiled for are passed in memory
#endif
#include "Math/Cpu/GemmKernel.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

namespace cntk
{

namespace
{

struct Shape
{
    size_t m, n, k;
};

// Below, at and beyond one register tile, one packed block and one pass over the depth.
constexpr Shape c_shapes[] = {{1, 1, 1},    {2, 25, 50},   {7, 5, 3},      {16, 6, 8},      {17, 7, 9},
                              {50, 25, 2},  {50, 50, 25},  {33, 13, 64},   {64, 1, 40},     {1, 64, 40},
                              {96, 24, 33}, {200, 10, 41}, {130, 49, 331}, {193, 101, 641}, {260, 61, 77}};

template <class T>
struct Product
{
    Product(Shape shape, bool transA, bool transB, T alpha, T beta)
    {
        task.transA = transA;
        task.transB = transB;
        task.m = shape.m;
        task.n = shape.n;
        task.k = shape.k;
        task.alpha = alpha;
        task.beta = beta;
        // Longer columns than needed: what lies between must neither be read into the result nor written.
        task.lda = (transA ? shape.k : shape.m) + 3;
        task.ldb = (transB ? shape.n : shape.k) + 1;
        task.ldc = shape.m + 2;
        a = Fill(task.lda * (transA ? shape.m : shape.k));
        b = Fill(task.ldb * (transB ? shape.k : shape.n));
        c = Fill(task.ldc * shape.n);
        if (beta == 0) // must not be read
            for (size_t j = 0; j < shape.n; ++j)
                for (size_t i = 0; i < shape.m; ++i)
                    c[j * task.ldc + i] = std::numeric_limits<T>::quiet_NaN();
        before = c;
        task.a = a.data();
        task.b = b.data();
        task.c = c.data();
    }

    std::vector<T> Fill(size_t count)
    {
        std::uniform_real_distribution<T> uniform(-1, 1);
        std::vector<T> values(count);
        for (T& value : values)
            value = uniform(random);
        return values;
    }

    double Expected(size_t i, size_t j) const
    {
        double sum = 0;
        for (size_t p = 0; p < task.k; ++p)
            sum += double(task.transA ? a[p + i * task.lda] : a[i + p * task.lda]) *
                   double(task.transB ? b[j + p * task.ldb] : b[p + j * task.ldb]);
        return double(task.alpha) * sum + (task.beta == 0 ? 0 : double(task.beta) * double(before[j * task.ldc + i]));
    }

    // bias: added to each row's expected value where it is not empty.
    void Check(const std::vector<T>& bias = {}) const
    {
        const double tolerance = 4 * double(std::numeric_limits<T>::epsilon()) * (4 + double(task.k));
        for (size_t j = 0; j < task.n; ++j)
        {
            for (size_t i = 0; i < task.m; ++i)
                ASSERT_NEAR(double(c[j * task.ldc + i]), Expected(i, j) + (bias.empty() ? 0 : double(bias[i])),
                            tolerance)
                    << "row " << i << ", column " << j;
            for (size_t i = task.m; i < task.ldc; ++i)
                ASSERT_EQ(c[j * task.ldc + i], before[j * task.ldc + i]) << "written between the columns";
        }
    }

    std::mt19937 random{1};
    GemmTask<T> task;
    std::vector<T> a, b, c, before;
};

template <class T, class Multiply>
void CheckAll(Multiply&& multiply)
{
    for (const Shape& shape : c_shapes)
        for (const bool transA : {false, true})
            for (const bool transB : {false, true})
                for (const T beta : {T(0), T(1), T(-0.5)})
                {
                    SCOPED_TRACE(testing::Message() << shape.m << " x " << shape.n << " x " << shape.k << ", transA "
                                                    << transA << ", transB " << transB << ", beta " << double(beta));
                    Product<T> product(shape, transA, transB, T(beta == 0 ? 1 : 0.75), beta);
                    multiply(product.task);
                    product.Check();
                    if (testing::Test::HasFatalFailure())
                        return;
                }
}

template <class T>
std::vector<GemmEngine> EnginesHere()
{
    std::vector<GemmEngine> engines{GemmEngine::Own};
    for (const GemmEngine engine : {GemmEngine::OpenBlas, GemmEngine::OneDnn})
        if (sizeof(T) == sizeof(float) ? FindSingleGemm(engine) != nullptr : FindDoubleGemm(engine) != nullptr)
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
        GemmContext context(pool);
        for (const GemmEngine engine : EnginesHere<TypeParam>())
        {
            SCOPED_TRACE(testing::Message() << NameOf(engine) << ", " << threads << " threads");
            context.ForceEngine(engine);
            CheckAll<TypeParam>([&](const GemmTask<TypeParam>& task) { context.Multiply(task); });
        }
    }
}

// The registers of each instruction set as this file's compiler makes them of others: the same code on any processor.
TYPED_TEST(GemmContextTest, KernelsOfEveryWidth)
{
    for (const GemmIsa& isa :
         {MakeGemmIsa<16, 4>("16 bytes"), MakeGemmIsa<32, 6>("32 bytes"), MakeGemmIsa<64, 12>("64 bytes")})
    {
        SCOPED_TRACE(isa.name);
        std::vector<TypeParam> scratchA(isa.scratchBytesA / sizeof(TypeParam));
        std::vector<TypeParam> scratchB(isa.scratchBytesB / sizeof(TypeParam));
        CheckAll<TypeParam>(
            [&](const GemmTask<TypeParam>& task)
            {
                if constexpr (sizeof(TypeParam) == sizeof(float))
                    isa.multiplyFloat(task, scratchA.data(), scratchB.data());
                else
                    isa.multiplyDouble(task, scratchA.data(), scratchB.data());
            });
    }
}

TYPED_TEST(GemmContextTest, EpilogueSeesEachElementOnce)
{
    for (const int threads : {1, 4})
    {
        ThreadPool pool(threads);
        GemmContext context(pool);
        for (const Shape& shape : c_shapes)
        {
            SCOPED_TRACE(testing::Message() << shape.m << " x " << shape.n << " x " << shape.k);
            Product<TypeParam> product(shape, false, false, 1, 0);
            const std::vector<TypeParam> bias = product.Fill(shape.m);
            const auto add =
                [](const void* bias, TypeParam* tile, size_t stride, size_t firstRow, size_t rows, size_t columns)
            {
                for (size_t j = 0; j < columns; ++j)
                    for (size_t i = 0; i < rows; ++i)
                        tile[j * stride + i] += static_cast<const TypeParam*>(bias)[firstRow + i];
            };
            context.Multiply(product.task, {+add, bias.data()});
            product.Check(bias);
        }
    }
}

TYPED_TEST(GemmContextTest, NothingToSumUp)
{
    ThreadPool pool(2);
    GemmContext context(pool);
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
    GemmContext context(pool);
    context.ForceEngine(GemmEngine::Own);
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

TEST(GemmContext, TellsOfEachShapeOnce)
{
    ThreadPool pool(1);
    GemmContext context(pool);
    context.ForceEngine(GemmEngine::Own);
    std::vector<std::string> lines;
    context.TraceTo([&](const std::string& text) { lines.push_back(text); });
    Product<float> first({50, 25, 2}, false, false, 1, 0);
    context.Multiply(first.task);
    context.Multiply(first.task);
    Product<double> second({50, 2, 25}, true, true, 1, 0);
    context.Multiply(second.task);
    const std::string own = DescribeEngine(GemmEngine::Own);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0], "Product 50 x 2 * 2 x 25, float: " + own + ", one thread");
    EXPECT_EQ(lines[1], "Product 50 x 25 (transposed) * 25 x 2 (transposed), double: " + own + ", one thread");
}

} // namespace cntk
