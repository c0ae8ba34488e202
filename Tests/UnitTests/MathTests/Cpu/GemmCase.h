// Products of random operands, and their expected results by plain loops.
#pragma once

#include "Math/Cpu/Kernels/GemmKernel.h"
#include "MathTests/Cpu/PageEndAllocator.h"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace cntk
{
namespace
{

struct Shape
{
    size_t m, n, k;
};

// Below, at and beyond one register tile, one packed block and one pass over the depth. In the last shape the columns
// of B are 4096 bytes apart.
constexpr Shape c_shapes[] = {{1, 1, 1},      {2, 25, 50},     {7, 5, 3},     {16, 6, 8},
                              {17, 7, 9},     {50, 25, 2},     {50, 50, 25},  {33, 13, 64},
                              {64, 1, 40},    {1, 64, 40},     {96, 24, 33},  {200, 10, 41},
                              {130, 49, 331}, {193, 101, 641}, {260, 61, 77}, {257, 13, 1023}};

// Returns kernels with the register sizes of each instruction set. The test's compiler emulates larger registers, so
// the same code runs on any processor.
inline std::vector<ProductKernels> EveryWidth()
{
    return {MakeProducts<16, 4>(), MakeProducts<32, 6>(), MakeProducts<64, 12>()};
}

inline const ProductKernels& BestKernels()
{
    return KernelsFor(BestInstructionSet()).products;
}

template <class T>
struct Product
{
    using Values = std::vector<T, PageEndAllocator<T>>;

    Product(Shape shape, bool transA, bool transB, T alpha, T beta)
    {
        task.transA = transA;
        task.transB = transB;
        task.m = shape.m;
        task.n = shape.n;
        task.k = shape.k;
        task.alpha = alpha;
        task.beta = beta;
        // Columns are longer than needed; the padding must neither affect the result nor be written.
        task.lda = (transA ? shape.k : shape.m) + 3;
        task.ldb = (transB ? shape.n : shape.k) + 1;
        task.ldc = shape.m + 2;
        // The memory ends with the last column, so that reading beyond it crashes.
        a = transA ? Fill(shape.k, shape.m, task.lda) : Fill(shape.m, shape.k, task.lda);
        b = transB ? Fill(shape.n, shape.k, task.ldb) : Fill(shape.k, shape.n, task.ldb);
        c = Fill(shape.m, shape.n, task.ldc);
        if (beta == 0) // must not be read
            for (size_t j = 0; j < shape.n; ++j)
                for (size_t i = 0; i < shape.m; ++i)
                    c[j * task.ldc + i] = std::numeric_limits<T>::quiet_NaN();
        before = c;
        task.a = a.data();
        task.b = b.data();
        task.c = c.data();
    }

    Values Fill(size_t rows, size_t columns, size_t stride)
    {
        std::uniform_real_distribution<T> uniform(-1, 1);
        Values values(columns == 0 ? 0 : (columns - 1) * stride + rows);
        for (T& value : values)
            value = uniform(random);
        return values;
    }

    // Returns A B, column by column, without alpha, beta and the old C.
    std::vector<double> Sums() const
    {
        std::vector<double> sums;
        for (size_t j = 0; j < task.n; ++j)
            for (size_t i = 0; i < task.m; ++i)
            {
                double sum = 0;
                for (size_t p = 0; p < task.k; ++p)
                    sum += double(task.transA ? a[p + i * task.lda] : a[i + p * task.lda]) *
                           double(task.transB ? b[j + p * task.ldb] : b[p + j * task.ldb]);
                sums.push_back(sum);
            }
        return sums;
    }

    double Expected(const std::vector<double>& sums, size_t i, size_t j) const
    {
        return double(task.alpha) * sums[j * task.m + i] +
               (task.beta == 0 ? 0 : double(task.beta) * double(before[j * task.ldc + i]));
    }

    // bias: added to the expected value of each row, unless empty.
    void Check(const Values& bias = {}) const { Check(Sums(), bias); }
    void Check(const std::vector<double>& sums, const Values& bias) const
    {
        const double tolerance = 4 * double(std::numeric_limits<T>::epsilon()) * (4 + double(task.k));
        for (size_t j = 0; j < task.n; ++j)
        {
            for (size_t i = 0; i < task.m; ++i)
                ASSERT_NEAR(double(c[j * task.ldc + i]), Expected(sums, i, j) + (bias.empty() ? 0 : double(bias[i])),
                            tolerance)
                    << "row " << i << ", column " << j;
            for (size_t i = task.m; j + 1 < task.n && i < task.ldc; ++i)
                ASSERT_EQ(c[j * task.ldc + i], before[j * task.ldc + i]) << "written between the columns";
        }
    }

    std::mt19937 random{1};
    GemmTask<T> task;
    Values a, b, c, before;
};

// Operands of a shape in c_shapes are the same random numbers each time, so their product is computed once for all
// engines.
template <class T>
const std::vector<double>& SumsOf(const Shape& shape, const Product<T>& product)
{
    static std::map<std::tuple<const Shape*, bool, bool>, std::vector<double>> sumsOf;
    std::vector<double>& sums = sumsOf[{&shape, product.task.transA, product.task.transB}];
    if (sums.empty())
        sums = product.Sums();
    return sums;
}

// Adds a bias to each row.
template <class T>
struct AddedBias : GemmEpilogue<T>
{
    explicit AddedBias(const T* values) : bias(values)
    {
        this->apply = [](const GemmEpilogue<T>& self, T* block, size_t stride, size_t firstRow, size_t, size_t rows,
                         size_t columns)
        {
            for (size_t j = 0; j < columns; ++j)
                for (size_t i = 0; i < rows; ++i)
                    block[j * stride + i] += static_cast<const AddedBias&>(self).bias[firstRow + i];
        };
    }

    const T* bias;
};

// Adds the new C to a matrix of C's size, which may have longer columns. So the test sees each element.
template <class T>
struct AddedProduct : GemmEpilogue<T>
{
    AddedProduct(typename Product<T>::Values& values, size_t stride, bool needsC) : sums(values.data())
    {
        this->beside[0] = this->beside[1] = sums;
        this->besideStride = stride;
        this->replacesC = !needsC;
        this->apply = [](const GemmEpilogue<T>& self, T* block, size_t blockStride, size_t firstRow, size_t firstColumn,
                         size_t rows, size_t columns)
        {
            for (size_t j = 0; j < columns; ++j)
                for (size_t i = 0; i < rows; ++i)
                    static_cast<const AddedProduct&>(self).sums[(firstColumn + j) * self.besideStride + firstRow + i] +=
                        block[j * blockStride + i];
        };
    }

    T* sums;
};

// A product that is added to another matrix adds its value once to each element, with the same bits as without
// epilogue.
template <class T, class Multiply>
void CheckEpilogue(Shape shape, bool transA, bool transB, T beta, Multiply&& multiply)
{
    SCOPED_TRACE(testing::Message() << shape.m << " x " << shape.n << " x " << shape.k << ", transA " << transA
                                    << ", transB " << transB << ", beta " << double(beta));
    Product<T> plain(shape, transA, transB, T(0.5), beta);
    multiply(plain.task);
    for (const bool needsC : {true, false})
    {
        Product<T> product(shape, transA, transB, T(0.5), beta);
        const size_t stride = shape.m + 1;
        auto sums = product.Fill(shape.m, shape.n, stride);
        auto expected = sums;
        for (size_t j = 0; j < shape.n; ++j)
            for (size_t i = 0; i < shape.m; ++i)
                expected[j * stride + i] += plain.c[j * plain.task.ldc + i];
        const AddedProduct<T> epilogue(sums, stride, needsC);
        product.task.epilogue = &epilogue;
        multiply(product.task);
        ASSERT_TRUE(sums == expected);
        ASSERT_TRUE(!needsC || product.c == plain.c);
    }
}

// Each transpose of each shape has the bits of one thread.
template <class T, class Multiply>
void CheckBitsOfOneThread(std::span<const Shape> shapes, Multiply&& multiply)
{
    const GemmFunctions<T>& functions = BestKernels().Of<T>();
    std::vector<T> scratchA(functions.scratchA), scratchB(functions.scratchB);
    for (const Shape& shape : shapes)
        for (const bool transA : {false, true})
            for (const bool transB : {false, true})
                for (const T beta : {T(0), T(-0.5)})
                {
                    SCOPED_TRACE(testing::Message() << shape.m << " x " << shape.n << " x " << shape.k << ", transA "
                                                    << transA << ", transB " << transB << ", beta " << double(beta));
                    Product<T> product(shape, transA, transB, T(0.75), beta);
                    functions.multiply(&product.task, 1, scratchA.data(), scratchB.data());
                    const auto alone = std::exchange(product.c, product.before);
                    product.task.c = product.c.data();
                    multiply(product.task);
                    ASSERT_EQ(std::memcmp(product.c.data(), alone.data(), alone.size() * sizeof(T)), 0);
                }
}

// An epilogue processes each element once, after the last step.
template <class T, class Multiply>
void CheckBias(std::span<const Shape> shapes, Multiply&& multiply)
{
    for (const Shape& shape : shapes)
    {
        SCOPED_TRACE(testing::Message() << shape.m << " x " << shape.n << " x " << shape.k);
        Product<T> product(shape, false, false, 1, 0);
        const auto bias = product.Fill(shape.m, 1, shape.m);
        const AddedBias<T> epilogue(bias.data());
        product.task.epilogue = &epilogue;
        multiply(product.task);
        product.Check(bias);
    }
}

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
                    const std::vector<double>& sums = SumsOf(shape, product);
                    multiply(product.task);
                    product.Check(sums, {});
                    if (testing::Test::HasFatalFailure())
                        return;
                }
}

} // namespace
} // namespace cntk
