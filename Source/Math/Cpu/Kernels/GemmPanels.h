// Packs the operands of a matrix product into panels: blocks as high or wide as the tile of C that is kept in
// registers, stored step by step in the order in which the inner loop reads them.
#pragma once

#include "Math/Cpu/CpuKernelTable.h"

#include <cstddef>
#include <cstring>
#include <utility>

// Loads and stores of a part of a register, which the compiler's vector types do not have.
#if defined(__AVX512F__) && !defined(CNTK_EMULATE_AVX512)
#define CNTK_GEMM_MASKS
#include <immintrin.h>
#endif

namespace cntk
{
namespace
{

// std::min and std::max could be linked into baseline code.
constexpr size_t Least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Transposes blocks of registers with the cheapest shuffles that processors have: first within parts of 16 bytes, then
// whole parts.
template <class T, size_t VectorBytes>
struct GemmTranspose
{
    using Vector __attribute__((vector_size(VectorBytes))) = T;
    static constexpr size_t c_lanes = VectorBytes / sizeof(T);
    static constexpr size_t c_inPart = 16 / sizeof(T); // elements
    static constexpr size_t c_parts = VectorBytes / 16;

    // Turns rows v[0 .. c_lanes) into columns.
    static void Square(Vector (&v)[c_lanes])
    {
        Vector parts[c_lanes];
#pragma GCC unroll 16
        for (size_t group = 0; group < c_parts; ++group)
            WithinParts(v + group * c_inPart, parts + group, c_parts);
#pragma GCC unroll 16
        for (size_t i = 0; i < c_inPart; ++i)
            OfParts(parts + i * c_parts, v + i, c_inPart);
    }

    // The same for any multiple of c_inPart rows. The columns then follow one another without gaps in v[0], v[1], ...
    template <size_t Rows>
    static void Dense(Vector (&v)[Rows])
    {
        static_assert(Rows % c_inPart == 0);
        constexpr size_t c_groups = Rows / c_inPart;
        Vector parts[Rows];
#pragma GCC unroll 16
        for (size_t group = 0; group < c_groups; ++group)
            WithinParts(v + group * c_inPart, parts + group, c_groups);
#pragma GCC unroll 16
        for (size_t i = 0; i < Rows / c_parts; ++i)
            OfParts(parts + i * c_parts, v + i, Rows / c_parts);
    }

private:
    // Takes units of a and b in turn, from the first or second half of each part.
    template <size_t Unit, bool IsSecond, size_t... Lane>
    static void Interleave(const Vector& a, const Vector& b, Vector& to, std::index_sequence<Lane...>)
    {
        constexpr size_t c_from = IsSecond ? c_inPart / 2 : 0;
        to = __builtin_shufflevector(a, b,
                                     int(Lane / c_inPart * c_inPart + c_from + Lane % c_inPart / Unit / 2 * Unit +
                                         Lane % Unit + (Lane / Unit % 2 == 0 ? 0 : c_lanes))...);
    }
    template <size_t Unit>
    static void Interleave(const Vector& a, const Vector& b, Vector& first, Vector& second)
    {
        Interleave<Unit, false>(a, b, first, std::make_index_sequence<c_lanes>());
        Interleave<Unit, true>(a, b, second, std::make_index_sequence<c_lanes>());
    }

    // Transposes each part: part l of to[i * stride] becomes column l * c_inPart + i.
    static void WithinParts(const Vector* rows, Vector* to, size_t stride)
    {
        if constexpr (c_inPart == 2)
            Interleave<1>(rows[0], rows[1], to[0], to[stride]);
        else
        {
            Vector low, high, nextLow, nextHigh;
            Interleave<1>(rows[0], rows[1], low, high);
            Interleave<1>(rows[2], rows[3], nextLow, nextHigh);
            Interleave<2>(low, nextLow, to[0], to[stride]);
            Interleave<2>(high, nextHigh, to[2 * stride], to[3 * stride]);
        }
    }

    // Joins the parts First and Second of a and then of b.
    template <size_t First, size_t Second, size_t... Lane>
    static void Select(const Vector& a, const Vector& b, Vector& to, std::index_sequence<Lane...>)
    {
        constexpr size_t c_half = c_lanes / 2;
        // NOLINTBEGIN(bugprone-branch-clone): First and Second may be equal
        to = __builtin_shufflevector(a, b,
                                     int((Lane % c_half / c_inPart == 0 ? First : Second) * c_inPart + Lane % c_inPart +
                                         (Lane < c_half ? 0 : c_lanes))...);
        // NOLINTEND(bugprone-branch-clone)
    }
    template <size_t First, size_t Second>
    static void Select(const Vector& a, const Vector& b, Vector& to)
    {
        Select<First, Second>(a, b, to, std::make_index_sequence<c_lanes>());
    }

    // Collects the parts l of all c_parts rows in to[l * stride].
    static void OfParts(const Vector* rows, Vector* to, size_t stride)
    {
        if constexpr (c_parts == 1)
            to[0] = rows[0];
        else if constexpr (c_parts == 2)
        {
            Select<0, 0>(rows[0], rows[1], to[0]);
            Select<1, 1>(rows[0], rows[1], to[stride]);
        }
        else
        {
            static_assert(c_parts == 4);
            Vector low, high, nextLow, nextHigh;
            Select<0, 1>(rows[0], rows[1], low);
            Select<2, 3>(rows[0], rows[1], high);
            Select<0, 1>(rows[2], rows[3], nextLow);
            Select<2, 3>(rows[2], rows[3], nextHigh);
            Select<0, 2>(low, nextLow, to[0]);
            Select<1, 3>(low, nextLow, to[stride]);
            Select<0, 2>(high, nextHigh, to[2 * stride]);
            Select<1, 3>(high, nextHigh, to[3 * stride]);
        }
    }
};

// VectorBytes: width of a register. c_rows x c_columns: the tile of C that is kept in registers.
template <class T, size_t VectorBytes, size_t Columns>
struct GemmPanels
{
    using Transpose = GemmTranspose<T, VectorBytes>;
    using Vector = typename Transpose::Vector;
    static constexpr size_t c_lanes = VectorBytes / sizeof(T);
    static constexpr size_t c_rows = 2 * c_lanes;
    static constexpr size_t c_columns = Columns;
    static constexpr size_t c_lineElements = 64 / sizeof(T);
    // Panels of A (c_rows x c_depth) or of B stay in the first-level cache, blocks of A (c_blockRows x c_depth) in the
    // second. Where each panel of B is used once, the block may be larger: processors with AVX-512 have a second-level
    // cache of 1 MB and more, others often half of it.
    static constexpr size_t c_depth = 1280 / sizeof(T);
    static constexpr size_t c_blockRows = 192 / c_rows * c_rows;
    static constexpr size_t c_mostRowsOnce = VectorBytes == 64 ? 512 : c_blockRows;
    static constexpr size_t c_blockColumns = 3072 / Columns * Columns;
    // Scratch memory that the caller provides, in elements.
    static constexpr size_t c_scratchA = c_mostRowsOnce * c_depth;
    static constexpr size_t c_scratchB = c_blockColumns * c_depth;

    // Registers are passed by reference: passing wide ones by value depends on the instruction set.
    static void Load(Vector& vector, const T* from) { std::memcpy(&vector, from, sizeof vector); }
    static void Store(T* to, const Vector& vector) { std::memcpy(to, &vector, sizeof vector); }
#if defined(CNTK_GEMM_MASKS)
    static constexpr bool c_hasMasks = VectorBytes == 64;
    // Loads the first `count` elements; the others become 0.
    static void LoadFirst(Vector& vector, const T* from, size_t count)
    {
        if constexpr (sizeof(T) == sizeof(float))
            vector = (Vector)_mm512_maskz_loadu_ps(__mmask16((1u << count) - 1), from);
        else
            vector = (Vector)_mm512_maskz_loadu_pd(__mmask8((1u << count) - 1), from);
    }
    static void StoreFirst(T* to, const Vector& vector, size_t count)
    {
        if constexpr (sizeof(T) == sizeof(float))
            _mm512_mask_storeu_ps(to, __mmask16((1u << count) - 1), (__m512)vector);
        else
            _mm512_mask_storeu_pd(to, __mmask8((1u << count) - 1), (__m512d)vector);
    }
    static void MoveFirst(T* to, const T* from, size_t count)
    {
        Vector vector;
        LoadFirst(vector, from, count);
        Store(to, vector);
    }
#else
    static constexpr bool c_hasMasks = false;
    // Copies a whole register, or halves, quarters, ... of one.
    template <size_t Size = c_lanes>
    static void MoveFirst(T* to, const T* from, size_t count)
    {
        const size_t piece = count & Size;
        if (piece != 0)
            std::memcpy(to, from, Size * sizeof(T));
        if constexpr (Size > 1)
            MoveFirst<Size / 2>(to + piece, from + piece, count);
    }
#endif

    // Packs rows [row, row + rows) and steps [step, step + depth) of op(a). Of the last panel only the registers that
    // contain rows are written.
    static void PackA(const GemmTask<T>& g, size_t row, size_t rows, size_t step, size_t depth, T* to)
    {
        for (size_t panel = 0; panel < rows;)
        {
            // Panels that are adjacent in memory are packed together, so that whole lines of the cache are read.
            const size_t together = g.transA ? 0 : Least(c_panelsTogether, (rows - panel) / c_rows);
            if (together > 0)
                PackPlainA(g.a + (row + panel) + step * g.lda, g.lda, together, depth, to);
            else
                PackPanelOfA(g, row + panel, Least(c_rows, rows - panel), step, depth, to);
            const size_t packed = together > 0 ? together : 1;
            panel += packed * c_rows;
            to += packed * c_rows * depth;
        }
    }

    static void PackPanelOfA(const GemmTask<T>& g, size_t row, size_t rows, size_t step, size_t depth, T* to)
    {
        if (!g.transA)
        {
            const T* from = g.a + row + step * g.lda;
            if (rows == c_rows)
                return PackPlainA(from, g.lda, 1, depth, to);
            for (size_t p = 0; p < depth; ++p, from += g.lda)
                for (size_t half = 0; half < rows; half += c_lanes)
                    MoveFirst(to + p * c_rows + half, from + half, Least(c_lanes, rows - half));
            return;
        }
        const T* from = g.a + row * g.lda + step;
        if (depth >= c_lanes)
            return PackTransposedA<false>(from, g.lda, rows, depth, to);
        if constexpr (c_hasMasks)
            return PackTransposedA<true>(from, g.lda, rows, depth, to);
        for (size_t p = 0; p < depth; ++p)
            for (size_t i = 0; i < rows; ++i)
                to[p * c_rows + i] = from[i * g.lda + p];
    }

    // Packs columns [column, column + columns) of op(b). Panels that are not as wide as a tile have its layout all the
    // same.
    static void PackB(const GemmTask<T>& g, size_t column, size_t columns, size_t step, size_t depth, T* to)
    {
        for (size_t panel = 0; panel < columns;)
        {
            const size_t together = g.transB ? Least(2 * c_panelsTogether, WholePanels(columns - panel)) : 0;
            if (together > 1)
            {
                PackTransposedB(g.b + (column + panel) + step * g.ldb, g.ldb, together, depth, to);
                panel += together * c_columns;
                to += together * c_columns * depth;
                continue;
            }
            const size_t width = EvenWidth(columns - panel);
            PackPanelOfB(g, column + panel, width, step, depth, to);
            panel += width;
            to += c_columns * depth;
        }
    }

    static void PackPanelOfB(const GemmTask<T>& g, size_t column, size_t columns, size_t step, size_t depth, T* to)
    {
        if (!g.transB)
            return PackPlainB(g.b + column * g.ldb + step, g.ldb, columns, depth, to);
        const T* from = g.b + column + step * g.ldb;
        if (columns == c_columns)
            return PackTransposedB(from, g.ldb, 1, depth, to);
        for (size_t p = 0; p < depth; ++p, from += g.ldb)
            for (size_t j = 0; j < columns; ++j)
                to[p * c_columns + j] = from[j];
    }

    // The width of the next panel of B. The last two panels share the columns that are left, since a narrow last panel
    // would leave most registers idle.
    static constexpr size_t EvenWidth(size_t left)
    {
        return left > c_columns && left <= c_columns + c_columns / 2 ? (left + 1) / 2 : Least(c_columns, left);
    }
    // The number of panels of full width before those.
    static constexpr size_t WholePanels(size_t left)
    {
        constexpr size_t c_shared = c_columns + c_columns / 2;
        return left > c_shared ? (left - c_shared + c_columns - 1) / c_columns : 0;
    }
    static constexpr size_t PanelsOf(size_t columns)
    {
        const size_t whole = WholePanels(columns) * c_columns;
        return WholePanels(columns) + (EvenWidth(columns - whole) < columns - whole ? 2 : 1);
    }
    static constexpr size_t BeginOfPanel(size_t columns, size_t panel)
    {
        const size_t whole = WholePanels(columns);
        return panel <= whole ? panel * c_columns : whole * c_columns + EvenWidth(columns - whole * c_columns);
    }

private:
    static constexpr size_t c_panelsTogether = 4;

    static void PackPlainA(const T* from, size_t stride, size_t panels, size_t depth, T* to)
    {
        for (size_t p = 0; p < depth; ++p, from += stride)
            for (size_t panel = 0; panel < panels; ++panel)
            {
                T* const out = to + (panel * depth + p) * c_rows;
                Vector low, high;
                Load(low, from + panel * c_rows);
                Load(high, from + panel * c_rows + c_lanes);
                Store(out, low);
                Store(out + c_lanes, high);
            }
    }

    // IsShort: fewer steps than a register has lanes.
    template <bool IsShort>
    static void PackTransposedA(const T* from, size_t stride, size_t rows, size_t depth, T* to)
    {
        for (size_t p = 0; p < depth; p = NextBlock(p, depth))
            for (size_t half = 0; half < rows; half += c_lanes)
            {
                Vector block[c_lanes];
#pragma GCC unroll 16
                for (size_t i = 0; i < c_lanes; ++i)
                {
                    // Missing rows repeat the last one.
                    const T* const line = from + Least(half + i, rows - 1) * stride + p;
                    if constexpr (IsShort)
                        LoadFirst(block[i], line, depth);
                    else
                        Load(block[i], line);
                    if constexpr (VectorBytes == 64) // prefetches the next panel
                        __builtin_prefetch(from + (c_rows + half + i) * stride + p, 0, 2);
                }
                Transpose::Square(block);
#pragma GCC unroll 16
                for (size_t q = 0; q < c_lanes; ++q)
                    if (!IsShort || q < depth)
                        Store(to + (p + q) * c_rows + half, block[q]);
            }
    }

    // The block of c_lanes steps after the one at step p. The last block overlaps the one before if it has to.
    static size_t NextBlock(size_t p, size_t depth)
    {
        p += c_lanes;
        return p < depth && p + c_lanes > depth ? depth - c_lanes : p;
    }

    static void PackTransposedB(const T* from, size_t stride, size_t panels, size_t depth, T* to)
    {
        for (size_t p = 0; p < depth; ++p, from += stride)
            for (size_t panel = 0; panel < panels; ++panel)
                std::memcpy(to + (panel * depth + p) * c_columns, from + panel * c_columns, c_columns * sizeof(T));
    }

    static void PackPlainB(const T* from, size_t stride, size_t columns, size_t depth, T* to)
    {
        if (depth < c_lanes)
        {
            for (size_t p = 0; p < depth; ++p)
                for (size_t j = 0; j < columns; ++j)
                    to[p * c_columns + j] = from[j * stride + p];
            return;
        }
        for (size_t p = 0; p < depth; p = NextBlock(p, depth))
        {
            constexpr bool c_isDense = c_columns % Transpose::c_inPart == 0;
            Vector block[c_isDense ? c_columns : c_lanes] = {};
#pragma GCC unroll 16
            for (size_t j = 0; j < c_columns; ++j)
            {
                Load(block[j], from + Least(j, columns - 1) * stride + p); // missing columns repeat the last one
                if constexpr (VectorBytes == 64)                           // prefetches the next panel
                    __builtin_prefetch(from + (c_columns + j) * stride + p, 0, 2);
            }
            if constexpr (c_isDense)
            {
                Transpose::Dense(block);
#pragma GCC unroll 16
                for (size_t j = 0; j < c_columns; ++j)
                    Store(to + p * c_columns + j * c_lanes, block[j]);
            }
            else
            {
                static_assert(c_columns < c_lanes);
                Transpose::Square(block);
                // Whole registers are stored; the next step overwrites what is beyond c_columns.
#pragma GCC unroll 16
                for (size_t q = 0; q + 1 < c_lanes; ++q)
                    Store(to + (p + q) * c_columns, block[q]);
                std::memcpy(to + (p + c_lanes - 1) * c_columns, &block[c_lanes - 1], c_columns * sizeof(T));
            }
        }
    }
};

} // namespace
} // namespace cntk
