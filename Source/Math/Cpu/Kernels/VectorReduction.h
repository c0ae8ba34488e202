// Reductions and sums of columns as loops that compilers vectorise; a part of VectorKernelTemplates.h.
#pragma once

#include "Math/Cpu/Kernels/VectorLanes.h"
#include "Math/Cpu/Kernels/VectorMath.h"
#include "Math/Cpu/VectorKernels.h"

#include <cstddef>

namespace cntk::simd
{
namespace
{

// Instead of an initialiser, for which compilers call upon slow string instructions.
template <size_t count>
CNTK_VECTOR_FUNCTION void Clear(double (&values)[count])
{
#pragma omp simd
    for (size_t i = 0; i < count; ++i)
        values[i] = 0;
}

// Adds up an array by halves; leaves it changed.
template <size_t count>
CNTK_VECTOR_FUNCTION double SumOfLanes(double (&values)[count])
{
    for (size_t half = count / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; ++i)
            values[i] += values[i + half];
    return values[0];
}

template <class T>
double Sum(const T* values, size_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; ++i)
        sum += double(values[i]);
    return sum;
}

template <class T>
double SumOfSquares(const T* values, size_t count)
{
    // In quarters: a processor foresees several streams better than one alone, and sums wait for each other less.
    const size_t quarter = count / 4;
    const T* const second = values + quarter;
    const T* const third = second + quarter;
    const T* const fourth = third + quarter;
    double sum = 0, ofSecond = 0, ofThird = 0, ofFourth = 0;
#pragma omp simd reduction(+ : sum, ofSecond, ofThird, ofFourth)
    for (size_t i = 0; i < quarter; ++i)
    {
        sum += double(values[i]) * double(values[i]);
        ofSecond += double(second[i]) * double(second[i]);
        ofThird += double(third[i]) * double(third[i]);
        ofFourth += double(fourth[i]) * double(fourth[i]);
    }
    for (size_t i = 4 * quarter; i < count; ++i)
        sum += double(values[i]) * double(values[i]);
    return (sum + ofSecond) + (ofThird + ofFourth);
}

template <class T>
double InnerProduct(const T* a, const T* b, size_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; ++i)
        sum += double(a[i]) * double(b[i]);
    return sum;
}

// Partial results in lanes; the last block may overlap the one before. The comparisons pass over NaN.
template <class T, class Better>
[[gnu::always_inline]] inline T Extreme(const T* values, size_t count, T start, Better better)
{
    constexpr size_t lanes = 2 * c_vectorLength<T>; // two chains of comparisons
    T result = start;
    if (count < lanes)
    {
        for (size_t i = 0; i < count; ++i)
            result = better(values[i], result) ? values[i] : result;
        return result;
    }
    T partial[lanes];
    for (size_t lane = 0; lane < lanes; ++lane)
        partial[lane] = start;
    for (size_t i = 0; i < count; i += lanes)
    {
        const T* block = values + (i + lanes <= count ? i : count - lanes);
#pragma omp simd
        for (size_t lane = 0; lane < lanes; ++lane)
            partial[lane] = better(block[lane], partial[lane]) ? block[lane] : partial[lane];
    }
    for (size_t half = lanes / 2; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; ++lane)
            partial[lane] = better(partial[lane + half], partial[lane]) ? partial[lane + half] : partial[lane];
    return partial[0];
}

template <class T>
T Maximum(const T* values, size_t count, T start)
{
    return Extreme(values, count, start, [](T a, T b) { return a > b; });
}

template <class T>
T Minimum(const T* values, size_t count, T start)
{
    return Extreme(values, count, start, [](T a, T b) { return a < b; });
}

// Many rows: four columns at a time, so that memory is read in long stretches; the sums stay in the cache.
template <class T>
void SumLongColumns(const T* values, ptrdiff_t stride, size_t rows, size_t columns, double* sums)
{
    size_t j = 0;
    for (; j + 4 <= columns; j += 4, values += 4 * stride)
    {
#pragma omp simd
        for (size_t i = 0; i < rows; ++i)
        {
            const ptrdiff_t row = ptrdiff_t(i);
            sums[i] += (double(values[row]) + double(values[row + stride])) +
                       (double(values[row + 2 * stride]) + double(values[row + 3 * stride]));
        }
    }
    for (; j < columns; ++j, values += stride)
    {
#pragma omp simd
        for (size_t i = 0; i < rows; ++i)
            sums[i] += double(values[i]);
    }
}

template <class T>
void SumColumns(const T* values, ptrdiff_t stride, size_t rows, size_t columns, double* sums)
{
    if (rows >= 64)
    {
        SumLongColumns(values, stride, rows, columns, sums);
        return;
    }
    // Blocks of rows whose sums stay in registers.
    constexpr size_t block = 16;
    size_t row = 0;
    for (; row + block <= rows; row += block)
    {
        double partial[block];
        Clear(partial);
        const T* column = values + row;
        for (size_t j = 0; j < columns; ++j, column += stride)
        {
#pragma omp simd
            for (size_t i = 0; i < block; ++i)
                partial[i] += double(column[i]);
        }
        for (size_t i = 0; i < block; ++i)
            sums[row + i] += partial[i];
    }
    for (; row < rows; ++row)
    {
        double sum = 0;
        const T* value = values + row;
        for (size_t j = 0; j < columns; ++j, value += stride)
            sum += double(*value);
        sums[row] += sum;
    }
}

// Four columns at a time, added one after another.
template <class T>
void SumProductColumns(const ColumnBlock<const T>& a, const ColumnBlock<const T>& b, size_t rows, size_t columns,
                       double* sums)
{
    const T* x = a.data;
    const T* y = b.data;
    size_t j = 0;
    for (; j + 4 <= columns; j += 4, x += 4 * a.stride, y += 4 * b.stride)
    {
#pragma omp simd
        for (size_t i = 0; i < rows; ++i)
        {
            const T product0 = x[i] * y[i];
            const T product1 = x[i + a.stride] * y[i + b.stride];
            const T product2 = x[i + 2 * a.stride] * y[i + 2 * b.stride];
            const T product3 = x[i + 3 * a.stride] * y[i + 3 * b.stride];
            sums[i] = (((sums[i] + double(product0)) + double(product1)) + double(product2)) + double(product3);
        }
    }
    for (; j < columns; ++j, x += a.stride, y += b.stride)
    {
#pragma omp simd
        for (size_t i = 0; i < rows; ++i)
        {
            const T product = x[i] * y[i];
            sums[i] += double(product);
        }
    }
}

template <class T>
void SumRows(const T* values, ptrdiff_t stride, size_t rows, size_t columns, double* sums)
{
    for (size_t j = 0; j < columns; ++j)
        sums[j] = Sum(values + ptrdiff_t(j) * stride, rows);
}

template <class T>
void MaximumOfColumns(const T* values, ptrdiff_t stride, size_t rows, size_t columns, T* result)
{
    for (size_t j = 0; j < columns; ++j, values += stride)
    {
#pragma omp simd
        for (size_t i = 0; i < rows; ++i)
            result[i] = values[i] > result[i] ? values[i] : result[i];
    }
}

template <class T>
void MinimumOfColumns(const T* values, ptrdiff_t stride, size_t rows, size_t columns, T* result)
{
    for (size_t j = 0; j < columns; ++j, values += stride)
    {
#pragma omp simd
        for (size_t i = 0; i < rows; ++i)
            result[i] = values[i] < result[i] ? values[i] : result[i];
    }
}

template <class T>
bool HasNotFinite(const T* values, size_t count)
{
    // x - x is 0 for finite numbers and NaN else; NaN stays in a sum.
    constexpr size_t block = 1024;
    for (size_t i = 0; i < count; i += block)
    {
        const size_t end = count - i < block ? count : i + block;
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t k = i; k < end; ++k)
            sum += values[k] - values[k];
        if (!(sum == T(0)))
            return true;
    }
    return false;
}

template <class T>
void AddScaled(T factor, const T* x, T* y, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; ++i)
        y[i] += factor * x[i];
}

template <class T>
void SetScaled(T factor, const T* x, T* y, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; ++i)
        y[i] = factor * x[i];
}

template <class T>
void SetScaledDifference(T scale, const T* a, const T* b, T* output, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; ++i)
        output[i] = scale * (a[i] - b[i]);
}

template <class T>
void AddScaledDifference(T scale, const T* a, const T* b, T* output, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; ++i)
        output[i] += scale * (a[i] - b[i]);
}

template <class T>
size_t ArgMax(const T* values, size_t count)
{
    const T largest = Maximum(values, count, values[0]);
    // A block at a time: a search of single elements takes several times as long as that for the largest.
    constexpr size_t block = 2 * c_vectorLength<T>;
    size_t i = 0;
    for (int found = 0; i + block <= count; i += block)
    {
#pragma omp simd reduction(| : found)
        for (size_t lane = 0; lane < block; ++lane)
            found |= values[i + lane] == largest;
        if (found != 0)
            break;
    }
    for (; i < count; ++i)
        if (values[i] == largest)
            return i;
    return 0; // the first element is NaN: nothing is larger
}

} // namespace
} // namespace cntk::simd
