// Sums of the inner products of several pairs of columns: products of which both operands lie along their steps, so
// that packed panels of either would have to be transposed; a part of VectorKernelTemplates.h.
#pragma once

#include "Math/Cpu/Kernels/VectorProduct.h"

namespace cntk::simd
{
namespace
{

// Columns of each side of a tile: of 32 registers 25 hold sums, and five the columns of b.
constexpr size_t c_sumTile = 5;

// A register that is loaded once: compilers would else load it anew for each of its uses, and that are more loads than
// the multiply-adds leave time for.
template <class T>
[[gnu::always_inline]] inline void Hold(Lanes<T>& value)
{
#if defined(CNTK_VECTOR_MASKS)
    asm("" : "+v"(value));
#else
    (void)value;
#endif
}

// The last elements of a column and zeros.
template <class T>
[[gnu::always_inline]] inline void LoadEnd(Lanes<T>& to, const T* column, size_t rows, size_t rest)
{
#if defined(CNTK_VECTOR_MASKS)
    alignas(c_vectorBytes) T values[c_vectorLength<T>];
    LoadFirst(values, column + rows - rest, rest);
    __builtin_memcpy(&to, values, sizeof to);
#else
    LoadRest<T>(to, column, rows, rest);
#endif
}

// Some pairs of a sum, one after the other; between stretches the sums of each lane wait in memory.
template <class T>
struct SumStretch
{
    const ColumnPair<T>* pairs = nullptr;
    size_t count = 0;
    bool isFirst = true;
    bool isLast = true;
};

// Columns [first, first+columns) of a by [second, second+B) of b. Columns of a that are not there are the last one
// again. Each lane is summed over the pairs in their order, then all lanes.
template <class T, size_t B>
void SumTile(const SumStretch<T>& stretch, size_t first, size_t columns, size_t second, T* partial, T* results,
             size_t stride)
{
    constexpr size_t lanes = c_vectorLength<T>, A = c_sumTile;
    constexpr size_t registers = (A * B + lanes - 1) / lanes * lanes;
    Lanes<T> sums[registers] = {};
    if (!stretch.isFirst)
#pragma GCC unroll 32
        for (size_t i = 0; i < A * B; ++i)
            __builtin_memcpy(&sums[i], partial + i * lanes, sizeof sums[i]);
    for (const ColumnPair<T>* pair = stretch.pairs; pair < stretch.pairs + stretch.count; ++pair)
    {
        const T* a[A];
        const T* b[B];
#pragma GCC unroll 8
        for (size_t j = 0; j < A; ++j)
            a[j] = pair->a.Column(first + (j < columns ? j : columns - 1));
#pragma GCC unroll 8
        for (size_t i = 0; i < B; ++i)
            b[i] = pair->b.Column(second + i);
        const auto add = [&](const auto& load) __attribute__((always_inline))
        {
            Lanes<T> y[B];
#pragma GCC unroll 8
            for (size_t i = 0; i < B; ++i)
            {
                load(y[i], b[i]);
                Hold<T>(y[i]);
            }
#pragma GCC unroll 8
            for (size_t j = 0; j < A; ++j)
            {
                Lanes<T> x;
                load(x, a[j]);
                Hold<T>(x);
#pragma GCC unroll 8
                for (size_t i = 0; i < B; ++i)
                    sums[i * A + j] += x * y[i];
            }
        };
        const size_t rest = pair->rows % lanes;
        const size_t nextTile = A * pair->a.stride; // asked for: short streams, which the processor does not foresee
        for (size_t p = 0; p < pair->rows - rest; p += lanes)
        {
#pragma GCC unroll 8
            for (size_t j = 0; j < A; ++j)
                __builtin_prefetch(a[j] + nextTile + p);
            add([&](Lanes<T>& to, const T* column) { __builtin_memcpy(&to, column + p, sizeof to); });
        }
        if (rest > 0)
            add([&](Lanes<T>& to, const T* column) { LoadEnd<T>(to, column, pair->rows, rest); });
    }
    if (!stretch.isLast)
    {
#pragma GCC unroll 32
        for (size_t i = 0; i < A * B; ++i)
            __builtin_memcpy(partial + i * lanes, &sums[i], sizeof sums[i]);
        return;
    }
#pragma GCC unroll 8
    for (size_t group = 0; group < registers; group += lanes)
        SumEach<T, lanes>(sums + group);
    T values[registers];
#pragma GCC unroll 8
    for (size_t group = 0; group < registers; group += lanes)
        __builtin_memcpy(values + group, &sums[group], sizeof sums[group]);
    for (size_t i = 0; i < B; ++i)
    {
        T* const result = results + (second + i) * stride + first;
        if (columns == A)
            __builtin_memcpy(result, values + i * A, A * sizeof(T));
        else
            for (size_t j = 0; j < columns; ++j)
                result[j] = values[i * A + j];
    }
}

// Bytes of one side of a tile in a range of rows. The columns of b stay in the first-level cache during the pass over
// all columns of a, together with the prefetched next ones.
constexpr size_t c_sumBytes = 14 * 1024;

template <class T>
void SumInnerProducts(const ColumnPair<T>* pairs, size_t count, size_t columns, size_t others, T* results,
                      size_t stride)
{
    static_assert(c_sumTile == 5);
    constexpr decltype(&SumTile<T, 1>) c_tiles[] = {&SumTile<T, 1>, &SumTile<T, 2>, &SumTile<T, 3>, &SumTile<T, 4>,
                                                    &SumTile<T, 5>};
    constexpr size_t c_most = VectorKernels<T>::c_mostSummed;
    constexpr size_t c_elements = c_sumTile * c_sumTile * c_vectorLength<T>; // lane sums of one tile
    alignas(64) T partial[(c_most + c_sumTile - 1) / c_sumTile * c_elements];
    for (size_t i = 0, width = 0; i < others; i += width)
    {
        width = others - i < c_sumTile ? others - i : c_sumTile;
        for (size_t done = 0; done < count;)
        {
            SumStretch<T> stretch{pairs + done, 0, done == 0, false};
            for (size_t bytes = 0; done < count; ++done, ++stretch.count)
            {
                bytes += c_sumTile * pairs[done].rows * sizeof(T);
                if (stretch.count > 0 && bytes > c_sumBytes)
                    break;
            }
            stretch.isLast = done == count;
            for (size_t j = 0; j < columns; j += c_sumTile)
                c_tiles[width - 1](stretch, j, columns - j < c_sumTile ? columns - j : c_sumTile, i,
                                   partial + j / c_sumTile * c_elements, results, stride);
        }
    }
}

} // namespace
} // namespace cntk::simd
