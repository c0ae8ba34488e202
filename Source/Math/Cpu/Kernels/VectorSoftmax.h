// The softmax family as loops that compilers vectorise; a part of VectorKernelTemplates.h.
#pragma once

#include "Math/Cpu/Kernels/VectorReduction.h"
#include "Math/Cpu/VectorKernels.h"

namespace cntk::simd
{
namespace
{

// Elements that go through one step after the other: they stay in the first-level cache, and each step is a short loop,
// of which the processor has more vectors under way than of a long one.
template <class T>
constexpr size_t c_stretch = 4096 / sizeof(T);

// Adds exp(x - largest) of whole vectors to their lanes, and keeps it where there is memory for that. next: as many
// elements that are read afterwards and asked for on the way, or null.
template <class T>
[[gnu::always_inline]] inline void AddExponentials(const T* x, size_t count, T largest, double* sums, T* kept,
                                                   const T* next)
{
    constexpr size_t lanes = c_vectorLength<T>;
    alignas(64) T passing[c_stretch<T>];
    for (size_t begin = 0; begin < count; begin += c_stretch<T>)
    {
        const size_t size = count - begin < c_stretch<T> ? count - begin : c_stretch<T>;
        const T* const from = x + begin;
        T* const values = kept ? kept + begin : passing;
#pragma omp simd
        for (size_t i = 0; i < size; ++i)
            values[i] = ExponentialOfNegative(from[i] - largest);
        for (size_t i = 0; i < size; i += lanes)
        {
            if (next != nullptr && i % (64 / sizeof(T)) == 0)
                __builtin_prefetch(next + begin + i, 0, 2);
#pragma omp simd
            for (size_t lane = 0; lane < lanes; ++lane)
                sums[lane] += double(values[i + lane]);
        }
    }
}

// Computes whole vectors. Both outputs may be the same memory, which then holds the softmax.
template <class T>
[[gnu::always_inline]] inline void StoreLogSoftmax(const T* x, size_t count, T largest, T logSum, T* logSoftmax,
                                                   T* softmax)
{
    for (size_t begin = 0; begin < count; begin += c_stretch<T>)
    {
        const size_t end = count - begin < c_stretch<T> ? count : begin + c_stretch<T>;
#pragma omp simd
        for (size_t i = begin; i < end; ++i)
            logSoftmax[i] = (x[i] - largest) - logSum;
        if (!softmax)
            continue;
#pragma omp simd
        for (size_t i = begin; i < end; ++i)
            softmax[i] = ExponentialOfNegative(logSoftmax[i]);
    }
}

// Largest element of a column, and the sum of exp(x - largest). Exponentials are kept where there is memory for them.
// next: the column that follows, or null.
template <class T>
struct SumOfExponentials
{
    static constexpr size_t lanes = c_vectorLength<T>;
    size_t rest;
    size_t whole; // elements of full blocks
    T largest;
    // Those left over, or their exponentials. Other lanes hold minus infinity, whose exponential is 0.
    T tail[lanes];
    double sum;

    [[gnu::always_inline]] SumOfExponentials(const T* x, size_t rows, T* kept, const T* next)
        : rest(rows % lanes), whole(rows - rest), largest(Maximum(x, rows, x[0]))
    {
        for (size_t lane = 0; lane < lanes; ++lane)
            tail[lane] = lane < rest ? x[whole + lane] : -T(__builtin_inff());
        double sums[lanes];
        Clear(sums);
        AddExponentials(x, whole, largest, sums, kept, next);
        AddExponentials<T>(tail, lanes, largest, sums, kept ? tail : nullptr, nullptr);
        sum = SumOfLanes(sums);
    }
};

template <class T>
void LogSoftmaxColumn(const T* input, T* logSoftmax, T* softmax, size_t rows)
{
    constexpr size_t lanes = c_vectorLength<T>;
    const SumOfExponentials<T> column(input, rows, nullptr, nullptr);
    const T logSum = T(__builtin_log(column.sum));
    StoreLogSoftmax(input, column.whole, column.largest, logSum, logSoftmax, softmax);
    if (column.rest == 0)
        return;
    T logTail[lanes];
    T softTail[lanes];
    StoreLogSoftmax(column.tail, lanes, column.largest, logSum, logTail, softTail);
    for (size_t lane = 0; lane < column.rest; ++lane)
        logSoftmax[column.whole + lane] = logTail[lane];
    for (size_t lane = 0; softmax && lane < column.rest; ++lane)
        softmax[column.whole + lane] = softTail[lane];
}

// The softmax alone, with one exponential an element; log softmax(x) = (x - largest) - logSum. Columns mostly follow
// one another in memory; where the next one does not, or there is none, asking for it changes nothing.
template <class T>
Normalizer<T> SoftmaxColumn(const T* input, T* softmax, size_t rows)
{
    const SumOfExponentials<T> column(input, rows, softmax, input + rows);
    const T factor = T(1 / column.sum);
#pragma omp simd
    for (size_t i = 0; i < column.whole; ++i)
        softmax[i] *= factor;
    for (size_t lane = 0; lane < column.rest; ++lane)
        softmax[column.whole + lane] = column.tail[lane] * factor;
    return {column.largest, T(__builtin_log(column.sum))};
}

// For few rows: transposes a tile so that each lane holds a column.
template <class T>
void LogSoftmaxFewRows(const ColumnBlock<const T>& input, const ColumnBlock<T>& logSoftmax,
                       const ColumnBlock<T>& softmax, size_t rows, size_t columns)
{
    constexpr size_t lanes = 32;
    constexpr size_t mostRows = 16;
    T tile[mostRows][lanes];
    T exponentials[mostRows][lanes];
    T largest[lanes];
    double sums[lanes];
    T logSums[lanes];
    for (size_t first = 0; first < columns; first += lanes)
    {
        const size_t count = columns - first < lanes ? columns - first : lanes;
        for (size_t lane = 0; lane < lanes; ++lane)
        {
            // Lanes beyond the last column repeat it.
            const T* column = input.data + (first + (lane < count ? lane : count - 1)) * input.stride;
            for (size_t row = 0; row < rows; ++row)
                tile[row][lane] = column[row];
        }
#pragma omp simd
        for (size_t lane = 0; lane < lanes; ++lane)
            largest[lane] = tile[0][lane];
        for (size_t row = 1; row < rows; ++row)
        {
#pragma omp simd
            for (size_t lane = 0; lane < lanes; ++lane)
                largest[lane] = tile[row][lane] > largest[lane] ? tile[row][lane] : largest[lane];
        }
#pragma omp simd
        for (size_t lane = 0; lane < lanes; ++lane)
            sums[lane] = 0;
        for (size_t row = 0; row < rows; ++row)
        {
#pragma omp simd
            for (size_t lane = 0; lane < lanes; ++lane)
            {
                tile[row][lane] -= largest[lane];
                sums[lane] += double(ExponentialOfNegative(tile[row][lane]));
            }
        }
        // The sums are at least 1: the floor of ClippedLog is far.
#pragma omp simd
        for (size_t lane = 0; lane < lanes; ++lane)
            logSums[lane] = ClippedLog(T(sums[lane]));
        for (size_t row = 0; row < rows; ++row)
        {
#pragma omp simd
            for (size_t lane = 0; lane < lanes; ++lane)
                tile[row][lane] -= logSums[lane];
        }
        for (size_t lane = 0; lane < count; ++lane)
            for (size_t row = 0; row < rows; ++row)
                logSoftmax.data[(first + lane) * logSoftmax.stride + row] = tile[row][lane];
        if (!softmax.data)
            continue;
        for (size_t row = 0; row < rows; ++row)
        {
#pragma omp simd
            for (size_t lane = 0; lane < lanes; ++lane)
                exponentials[row][lane] = ExponentialOfNegative(tile[row][lane]);
        }
        for (size_t lane = 0; lane < count; ++lane)
            for (size_t row = 0; row < rows; ++row)
                softmax.data[(first + lane) * softmax.stride + row] = exponentials[row][lane];
    }
}

template <class T>
void LogSoftmax(const ColumnBlock<const T>& input, const ColumnBlock<T>& logSoftmax, const ColumnBlock<T>& softmax,
                size_t rows, size_t columns)
{
    if (rows <= 16 && columns >= 4)
    {
        LogSoftmaxFewRows<T>(input, logSoftmax, softmax, rows, columns);
        return;
    }
    for (size_t column = 0; column < columns; ++column)
    {
        LogSoftmaxColumn<T>(input.data + column * input.stride, logSoftmax.data + column * logSoftmax.stride,
                            softmax.data ? softmax.data + column * softmax.stride : nullptr, rows);
    }
}

template <class T>
void SoftmaxGradient(const T* gradient, const T* value, T* inputGradient, size_t rows)
{
    const T inner = T(InnerProduct(gradient, value, rows));
#pragma omp simd
    for (size_t i = 0; i < rows; ++i)
        inputGradient[i] += value[i] * (gradient[i] - inner);
}

template <class T>
void LogSoftmaxGradient(const T* gradient, const T* value, T* inputGradient, size_t rows)
{
    const T sum = T(Sum(gradient, rows));
#pragma omp simd
    for (size_t i = 0; i < rows; ++i)
        inputGradient[i] += gradient[i] - Exponential(value[i]) * sum;
}

template <class T>
double CrossEntropy(const T* labels, const T* logSoftmax, size_t rows)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < rows; ++i)
    {
        const double product = double(labels[i]) * double(logSoftmax[i]);
        sum -= labels[i] == T(0) ? 0.0 : product;
    }
    return sum;
}

} // namespace
} // namespace cntk::simd
