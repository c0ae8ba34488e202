// Products with few columns, column by column past a matrix that stays where it lies; a part of
// VectorKernelTemplates.h.
#pragma once

#include "Math/Cpu/Kernels/VectorReduction.h"
#include "Math/Cpu/VectorKernels.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace cntk::simd
{
namespace
{

// ---- inner products of all pairs of columns -------------------------------------------------------------------------

// A register. Goes by reference: how wide ones are passed depends on the instruction set.
template <class T>
using Lanes __attribute__((vector_size(c_vectorBytes))) = T;
using LaneBits __attribute__((vector_size(c_vectorBytes))) = int32_t;

// A lane with the bit Distance takes b's sum of two lanes, another one a's; they end up in a.
template <class T, size_t Distance, size_t... Lane>
[[gnu::always_inline]] inline void Fold(Lanes<T>& a, const Lanes<T>& b, std::index_sequence<Lane...>)
{
    constexpr size_t lanes = c_vectorLength<T>;
    a = __builtin_shufflevector(a, b, int(Lane & Distance ? Lane - Distance + lanes : Lane)...) +
        __builtin_shufflevector(a, b, int(Lane & Distance ? Lane + lanes : Lane + Distance)...);
}

// Lane i of the first register becomes the sum over all lanes of register i % Count.
template <class T, size_t Count, size_t Distance = 1>
[[gnu::always_inline]] inline void SumEach(Lanes<T>* registers)
{
    using Sequence = std::make_index_sequence<c_vectorLength<T>>;
    if constexpr (Distance < c_vectorLength<T> && Count > 1)
    {
#pragma GCC unroll 8
        for (size_t i = 0; i < Count / 2; ++i)
        {
            Fold<T, Distance>(registers[2 * i], registers[2 * i + 1], Sequence());
            registers[i] = registers[2 * i];
        }
        SumEach<T, Count / 2, 2 * Distance>(registers);
    }
    else if constexpr (Distance < c_vectorLength<T>)
    {
        Fold<T, Distance>(registers[0], registers[0], Sequence());
        SumEach<T, 1, 2 * Distance>(registers);
    }
}

// The last elements of a column, fewer than a register has, and zeros: where there are as many before them, by clearing
// what was taken already.
template <class T>
[[gnu::always_inline]] inline void LoadRest(Lanes<T>& to, const T* column, size_t rows, size_t rest)
{
    constexpr size_t lanes = c_vectorLength<T>;
    if (rows >= lanes)
    {
        constexpr size_t words = c_vectorBytes / sizeof(int32_t);
        alignas(c_vectorBytes) static constexpr auto c_masks = []
        {
            struct
            {
                int32_t bits[2 * words] = {};
            } masks;
            for (size_t i = words; i < 2 * words; ++i)
                masks.bits[i] = -1;
            return masks;
        }();
        LaneBits mask, bits;
        __builtin_memcpy(&mask, c_masks.bits + rest * sizeof(T) / sizeof(int32_t), sizeof mask);
        __builtin_memcpy(&bits, column + rows - lanes, sizeof bits);
        bits &= mask;
        __builtin_memcpy(&to, &bits, sizeof to);
        return;
    }
    T values[lanes];
    for (size_t i = 0; i < lanes; ++i)
        values[i] = i < rest ? column[rows - rest + i] : T(0);
    __builtin_memcpy(&to, values, sizeof to);
}

// Sides of a table of inner products: the columns of two matrices that it is about, and its memory.
template <class T>
struct InnerTable
{
    ColumnBlock<const T> a;
    ColumnBlock<const T> b;
    size_t rows = 0;
    T* results = nullptr;
    size_t stride = 0; // distance between result columns
};

// Columns [first, first+columns) of a by [second, second+others) of b, at most A by B of them. A and B are powers of
// two and at most the lanes of a register. The last column stands for columns that do not exist.
template <class T, size_t A, size_t B>
[[gnu::always_inline]] inline void InnerTile(const InnerTable<T>& table, size_t first, size_t columns, size_t second,
                                             size_t others)
{
    constexpr size_t lanes = c_vectorLength<T>;
    static_assert(A * B <= lanes);
    const T* a[A];
    const T* b[B];
#pragma GCC unroll 8
    for (size_t j = 0; j < A; ++j)
        a[j] = table.a.Column(first + (j < columns ? j : columns - 1));
#pragma GCC unroll 8
    for (size_t i = 0; i < B; ++i)
        b[i] = table.b.Column(second + (i < others ? i : others - 1));
    Lanes<T> sums[A * B] = {};
    const auto add = [&](const Lanes<T>(&x)[A], const Lanes<T>(&y)[B])
    {
#pragma GCC unroll 8
        for (size_t i = 0; i < B; ++i)
#pragma GCC unroll 8
            for (size_t j = 0; j < A; ++j)
                sums[i * A + j] += x[j] * y[i];
    };
    const size_t rest = table.rows % lanes;
    Lanes<T> x[A];
    Lanes<T> y[B];
    for (size_t p = 0; p < table.rows - rest; p += lanes)
    {
#pragma GCC unroll 8
        for (size_t i = 0; i < B; ++i)
            __builtin_memcpy(&y[i], b[i] + p, sizeof y[i]);
#pragma GCC unroll 8
        for (size_t j = 0; j < A; ++j)
            __builtin_memcpy(&x[j], a[j] + p, sizeof x[j]);
        add(x, y);
    }
    if (rest > 0)
    {
#pragma GCC unroll 8
        for (size_t i = 0; i < B; ++i)
            LoadRest<T>(y[i], b[i], table.rows, rest);
#pragma GCC unroll 8
        for (size_t j = 0; j < A; ++j)
            LoadRest<T>(x[j], a[j], table.rows, rest);
        add(x, y);
    }
    SumEach<T, A * B>(sums);
    T results[lanes];
    __builtin_memcpy(results, &sums[0], sizeof results);
    for (size_t i = 0; i < others; ++i)
        for (size_t j = 0; j < columns; ++j)
            table.results[(second + i) * table.stride + first + j] = results[i * A + j];
}

// The columns of a that stay in the first-level cache while all columns of b are used.
constexpr size_t c_columnsTogether = 8;

template <class T, size_t B>
[[gnu::always_inline]] inline void InnerTiles(const InnerTable<T>& table, size_t first, size_t columns, size_t second,
                                              size_t others)
{
    constexpr size_t most = c_vectorLength<T> / B;
    constexpr size_t width = most < c_columnsTogether ? most : c_columnsTogether;
    for (size_t j = 0; j < columns; j += width)
        InnerTile<T, width, B>(table, first + j, columns - j < width ? columns - j : width, second, others);
}

// Asks for columns: short streams side by side, which the processor does not foresee.
template <class T>
[[gnu::always_inline]] inline void FetchColumns(const ColumnBlock<const T>& a, size_t rows, size_t first, size_t end)
{
    constexpr size_t line = 64 / sizeof(T);
    for (size_t j = first; j < end; ++j)
        for (size_t i = 0; i < rows; i += line)
            __builtin_prefetch(a.Column(j) + i);
}

template <class T>
void InnerProducts(const ColumnBlock<const T>& a, const ColumnBlock<const T>& b, size_t rows, size_t columns,
                   size_t others, T* results, size_t stride)
{
    constexpr size_t most = c_vectorLength<T> < 4 ? c_vectorLength<T> : 4; // of b together
    const InnerTable<T> table{a, b, rows, results, stride};
    for (size_t j = 0; j < columns; j += c_columnsTogether)
    {
        const size_t width = columns - j < c_columnsTogether ? columns - j : c_columnsTogether;
        const size_t next = j + c_columnsTogether;
        FetchColumns(a, rows, next, next + c_columnsTogether < columns ? next + c_columnsTogether : columns);
        size_t i = 0;
        for (; others - i >= most || (most == 4 && others - i == 3); i += others - i < most ? others - i : most)
            InnerTiles<T, most>(table, j, width, i, others - i < most ? others - i : most);
        for (; most == 4 && others - i == 2; i += 2)
            InnerTiles<T, 2>(table, j, width, i, 2);
        for (; i < others; ++i)
            InnerTiles<T, 1>(table, j, width, i, 1);
    }
}

// ---- combinations of columns ----------------------------------------------------------------------------------------

// sum + f * x, rounded once where there are fused operations: which product of an expression compilers round before it
// is added, or whether all, is theirs to choose, and may differ where the same is computed in one pass or in two.
template <class T>
[[gnu::always_inline]] inline T AddedTo(T sum, T f, T x)
{
#if defined(__FMA__)
    if constexpr (sizeof(T) == sizeof(float))
        return __builtin_fmaf(f, x, sum);
    else
        return __builtin_fma(f, x, sum);
#else
    return sum + f * x;
#endif
}

// Four columns of a combination, of which all sums are made in one order.
template <class T>
[[gnu::always_inline]] inline T OfFour(T f0, T x0, T f1, T x1, T f2, T x2, T f3, T x3)
{
    return AddedTo(f1 * x1, f0, x0) + AddedTo(f3 * x3, f2, x2);
}

// The first columns of a combination that replaces what y holds; returns how many.
template <class T>
size_t BeginCombination(const ColumnBlock<const T>& a, size_t rows, size_t columns, const T* factors,
                        size_t factorStride, T* y)
{
    const T* first = a.data;
    const T f0 = factors[0];
    if (columns >= 4)
    {
        const T* second = first + a.stride;
        const T* third = second + a.stride;
        const T* fourth = third + a.stride;
        const T f1 = factors[factorStride];
        const T f2 = factors[2 * factorStride];
        const T f3 = factors[3 * factorStride];
#pragma omp simd
        for (size_t i = 0; i < rows; ++i)
            y[i] = OfFour(f0, first[i], f1, second[i], f2, third[i], f3, fourth[i]);
        return 4;
    }
#pragma omp simd
    for (size_t i = 0; i < rows; ++i)
        y[i] = f0 * first[i];
    return 1;
}

template <class T>
void AddCombination(const ColumnBlock<const T>& a, size_t rows, size_t columns, const T* factors, size_t factorStride,
                    T* y, bool replaces)
{
    size_t j = replaces ? BeginCombination(a, rows, columns, factors, factorStride, y) : 0;
    for (; j + 4 <= columns; j += 4)
    {
        const T* first = a.data + j * a.stride;
        const T* second = first + a.stride;
        const T* third = second + a.stride;
        const T* fourth = third + a.stride;
        const T f0 = factors[j * factorStride];
        const T f1 = factors[(j + 1) * factorStride];
        const T f2 = factors[(j + 2) * factorStride];
        const T f3 = factors[(j + 3) * factorStride];
#pragma omp simd
        for (size_t i = 0; i < rows; ++i)
            y[i] += OfFour(f0, first[i], f1, second[i], f2, third[i], f3, fourth[i]);
    }
    for (; j < columns; ++j)
    {
        const T* column = a.data + j * a.stride;
        const T factor = factors[j * factorStride];
#pragma omp simd
        for (size_t i = 0; i < rows; ++i)
            y[i] = AddedTo(y[i], factor, column[i]);
    }
}

// In one pass over y.
template <class T, size_t Count, bool Replaces>
void AddSomeColumns(const T* const* columns, const T* factors, size_t rows, T* y)
{
    const T* of[Count];
    T f[Count];
#pragma GCC unroll 8
    for (size_t j = 0; j < Count; ++j)
    {
        of[j] = columns[j];
        f[j] = factors[j];
    }
#pragma omp simd
    for (size_t i = 0; i < rows; ++i)
    {
        T sum = Replaces ? T(0) : y[i];
#pragma GCC unroll 8
        for (size_t j = 0; j < Count; ++j)
            sum = AddedTo(sum, f[j], of[j][i]);
        y[i] = sum;
    }
}

template <class T>
void AddColumns(const T* const* columns, const T* factors, size_t count, size_t rows, T* y, bool replaces)
{
    static_assert(VectorKernels<T>::c_mostPicked == 4);
    constexpr decltype(&AddSomeColumns<T, 1, false>) c_functions[][2] = {
        {&AddSomeColumns<T, 1, false>, &AddSomeColumns<T, 1, true>},
        {&AddSomeColumns<T, 2, false>, &AddSomeColumns<T, 2, true>},
        {&AddSomeColumns<T, 3, false>, &AddSomeColumns<T, 3, true>},
        {&AddSomeColumns<T, 4, false>, &AddSomeColumns<T, 4, true>}};
    c_functions[count - 1][replaces](columns, factors, rows, y);
}

// Columns of the parameter that are asked for ahead: they follow one another, but each takes long.
constexpr size_t c_columnsAhead = 6;

template <class T, size_t Count>
void DescendByCombinationsOf(const ColumnBlock<const T>& a, const T* factors, size_t factorStride,
                             const UpdateBlock<T>& b, T rate)
{
    const T* of[Count];
#pragma GCC unroll 8
    for (size_t j = 0; j < Count; ++j)
        of[j] = a.Column(j);
    for (size_t column = 0; column < b.columns; ++column)
    {
        T* const w = b.parameter + column * b.stride;
        if (column + c_columnsAhead < b.columns)
            FetchColumns<T>({w, b.stride}, b.rows, c_columnsAhead, c_columnsAhead + 1);
        T f[Count];
#pragma GCC unroll 8
        for (size_t j = 0; j < Count; ++j)
            f[j] = factors[j * factorStride + column];
#pragma omp simd
        for (size_t i = 0; i < b.rows; ++i)
        {
            T sum;
            if constexpr (Count >= 4)
                sum = OfFour(f[0], of[0][i], f[1], of[1][i], f[2], of[2][i], f[3], of[3][i]);
            else
                sum = f[0] * of[0][i];
#pragma GCC unroll 8
            for (size_t j = Count >= 4 ? 4 : 1; j < Count; ++j)
                sum = AddedTo(sum, f[j], of[j][i]);
            w[i] = AddedTo(w[i], -rate, sum);
        }
    }
}

template <class T>
void DescendByCombinations(const ColumnBlock<const T>& a, size_t columns, const T* factors, size_t factorStride,
                           const UpdateBlock<T>& block, T rate)
{
    static_assert(VectorKernels<T>::c_mostCombined == 5);
    constexpr decltype(&DescendByCombinationsOf<T, 1>) c_functions[] = {
        &DescendByCombinationsOf<T, 1>, &DescendByCombinationsOf<T, 2>, &DescendByCombinationsOf<T, 3>,
        &DescendByCombinationsOf<T, 4>, &DescendByCombinationsOf<T, 5>};
    c_functions[columns - 1](a, factors, factorStride, block, rate);
}

} // namespace
} // namespace cntk::simd
