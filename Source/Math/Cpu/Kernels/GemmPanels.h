// Panels of the operands of a product: what the kernel's inner loop reads, a
// register tile's rows or columns together, step by step. One source compiled
// for each instruction set; everything is in an unnamed namespace.
#pragma once

#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/Kernels/GemmTranspose.h"

#include <cstddef>
#include <cstring>

// Loads and stores of a part of a register, which the compiler's vectors do not have.
#if defined(__AVX512F__) && !defined(CNTK_EMULATE_AVX512)
#define CNTK_GEMM_MASKS
#include <immintrin.h>
#endif

namespace cntk
{
namespace
{

// Of our own: a function template of the standard library compiled here could
// be linked into baseline code.
constexpr size_t Least(size_t a, size_t b)
{
    return a < b ? a : b;
}
constexpr size_t Greatest(size_t a, size_t b)
{
    return a < b ? b : a;
}

// VectorBytes: width of a register. c_rows x c_columns: the tile of C that is
// kept in registers.
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
    // second. Where B's panels pass by once, the block may be larger: processors with AVX-512 have a second-level cache
    // of 1 MB and more, others often of half of it.
    static constexpr size_t c_depth = 1280 / sizeof(T);
    static constexpr size_t c_blockRows = 192 / c_rows * c_rows;
    static constexpr size_t c_mostRowsOnce = VectorBytes == 64 ? 512 : c_blockRows;
    static constexpr size_t c_blockColumns = 3072 / Columns * Columns;
    // What the caller provides as scratch, in elements.
    static constexpr size_t c_scratchA = c_mostRowsOnce * c_depth;
    static constexpr size_t c_scratchB = c_blockColumns * c_depth;

    // Registers go by reference: how wide ones are passed depends on the
    // instruction set.
    static void Load(Vector& vector, const T* from) { std::memcpy(&vector, from, sizeof vector); }
    static void Store(T* to, const Vector& vector) { std::memcpy(to, &vector, sizeof vector); }
#if defined(CNTK_GEMM_MASKS)
    static constexpr bool c_hasMasks = VectorBytes == 64;
    // The first so many elements; those beyond are 0.
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
#else
    static constexpr bool c_hasMasks = false;
#endif

    // c = alpha*sum + beta*c
    static void Add(Vector& sum, T alpha, T beta, T* c)
    {
        sum *= alpha;
        if (beta != 0)
        {
            Vector before;
            Load(before, c);
            sum += beta * before;
        }
        Store(c, sum);
    }
#if defined(CNTK_GEMM_MASKS)
    // The same for the first so many elements.
    static void AddFirst(Vector& sum, T alpha, T beta, T* c, size_t count)
    {
        sum *= alpha;
        if (beta != 0)
        {
            Vector before;
            LoadFirst(before, c, count);
            sum += beta * before;
        }
        StoreFirst(c, sum, count);
    }
#endif

    // c = sums + beta*c for columns of so many rows, fewer than their registers in sums hold. A function of its own: in
    // line it would slow down the tiles that are whole.
    template <size_t Stride>
    [[gnu::noinline]] static void AddRest(const T* sums, size_t columns, T beta, T* c, size_t ldc, size_t rows)
    {
        for (size_t j = 0; j < columns; ++j, sums += Stride, c += ldc)
        {
            size_t i = 0;
            for (; i + c_lanes <= rows; i += c_lanes)
            {
                Vector sum;
                Load(sum, sums + i);
                Add(sum, 1, beta, c + i);
            }
            AddPieces(sums + i, beta, c + i, rows - i);
        }
    }

    // A register of memory of which only the first so many elements are there.
    static void MoveFirst(T* to, const T* from, size_t count)
    {
#if defined(CNTK_GEMM_MASKS)
        Vector vector;
        LoadFirst(vector, from, count);
        Store(to, vector);
#else
        if (count == c_lanes)
            Move(to, from);
        else
            MovePieces(to, from, count);
#endif
    }

    // In pieces of halves, quarters, ... of a register, down to single elements.
    template <size_t Size = c_lanes / 2>
    static void MovePieces(T* to, const T* from, size_t count)
    {
        const size_t piece = count & Size;
        if (piece != 0)
            std::memcpy(to, from, Size * sizeof(T));
        if constexpr (Size > 1)
            MovePieces<Size / 2>(to + piece, from + piece, count);
    }
    template <size_t Size = c_lanes / 2>
    static void AddPieces(const T* sums, T beta, T* c, size_t count)
    {
        const size_t piece = count & Size;
        if (piece != 0)
#pragma GCC unroll 16
            for (size_t i = 0; i < Size; ++i)
                c[i] = beta == 0 ? sums[i] : sums[i] + beta * c[i];
        if constexpr (Size > 1)
            AddPieces<Size / 2>(sums + piece, beta, c + piece, count);
    }
    static void Move(T* to, const T* from)
    {
        Vector vector;
        Load(vector, from);
        Store(to, vector);
    }

    // Panels that lie beside each other in memory are packed together: each
    // step's line is read as a whole.
    static constexpr size_t c_panelsTogether = 4;

    // Rows [row, row+rows) and steps [step, step+depth) of op(a) as panels of c_rows. What the last one has beyond the
    // register with the last row is not written.
    static void PackA(const GemmTask<T>& g, size_t row, size_t rows, size_t step, size_t depth, T* to)
    {
        for (size_t panel = 0; panel < rows;)
        {
            const size_t together = g.transA ? 1 : Greatest(1, Least(c_panelsTogether, (rows - panel) / c_rows));
            if (together > 1)
                PackPlainA(g.a + (row + panel) + step * g.lda, g.lda, together, depth, to);
            else
                PackPanelOfA(g, row + panel, Least(c_rows, rows - panel), step, depth, true, to);
            panel += together * c_rows;
            to += together * c_rows * depth;
        }
    }

    static void PackPlainA(const T* from, size_t stride, size_t panels, size_t depth, T* to)
    {
        for (size_t p = 0; p < depth; ++p, from += stride)
            for (size_t panel = 0; panel < panels; ++panel)
            {
                T* out = to + (panel * depth + p) * c_rows;
                Move(out, from + panel * c_rows);
                Move(out + c_lanes, from + panel * c_rows + c_lanes);
            }
    }

    // asksForNext: for the panel that follows, where A is transposed.
    static void PackPanelOfA(const GemmTask<T>& g, size_t row, size_t rows, size_t step, size_t depth, bool asksForNext,
                             T* to)
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
            return (asksForNext && VectorBytes == 64 ? &PackTransposedA<false, true>
                                                     : &PackTransposedA<false, false>)(from, g.lda, rows, depth, to);
        if constexpr (c_hasMasks)
            return PackTransposedA<true, true>(from, g.lda, rows, depth, to);
        for (size_t p = 0; p < depth; ++p)
            for (size_t i = 0; i < rows; ++i)
                to[p * c_rows + i] = from[i * g.lda + p];
    }

    // IsShort: not as many steps as a register has lanes.
    template <bool IsShort, bool AsksForNext>
    static void PackTransposedA(const T* from, size_t stride, size_t rows, size_t depth, T* to)
    {
        for (size_t p = 0; p < depth; p = NextBlock(p, depth))
            for (size_t half = 0; half < rows; half += c_lanes)
            {
                // Rows that are not there repeat the last one.
                Vector block[c_lanes];
#pragma GCC unroll 16
                for (size_t i = 0; i < c_lanes; ++i)
                {
                    const T* const line = from + Least(half + i, rows - 1) * stride + p;
                    if constexpr (IsShort)
                        LoadFirst(block[i], line, depth);
                    else
                        Load(block[i], line);
                    if constexpr (AsksForNext)
                        __builtin_prefetch(from + (c_rows + half + i) * stride + p, 0, 2);
                }
                Transpose::Square(block);
#pragma GCC unroll 16
                for (size_t q = 0; q < c_lanes; ++q)
                    if (!IsShort || q < depth)
                        Store(to + (p + q) * c_rows + half, block[q]);
            }
    }

    // The block of c_lanes steps after the one from step p on: the last one begins earlier where steps are no multiple.
    static size_t NextBlock(size_t p, size_t depth)
    {
        p += c_lanes;
        return p < depth && p + c_lanes > depth ? depth - c_lanes : p;
    }

    // Columns of the next panel of B. A narrow rest keeps too few registers busy:
    // the last two share what is left.
    static constexpr size_t EvenWidth(size_t left)
    {
        return left > c_columns && left <= c_columns + c_columns / 2 ? (left + 1) / 2 : Least(c_columns, left);
    }

    // As many panels as are whole before that.
    static constexpr size_t WholePanels(size_t left)
    {
        constexpr size_t c_shared = c_columns + c_columns / 2;
        return left > c_shared ? (left - c_shared + c_columns - 1) / c_columns : 0;
    }

    // Columns [column, column+columns) of op(b) as panels of c_columns; the last
    // one, or the last two that share what is left (isEven), may be narrower in
    // use, not in layout.
    static void PackB(const GemmTask<T>& g, size_t column, size_t columns, size_t step, size_t depth, bool isEven,
                      T* to)
    {
        for (size_t panel = 0; panel < columns;)
        {
            const size_t left = columns - panel;
            const size_t whole = isEven ? WholePanels(left) : left / c_columns;
            const size_t together = g.transB ? Least(2 * c_panelsTogether, whole) : 0;
            if (together > 1)
            {
                PackTransposedB(g.b + (column + panel) + step * g.ldb, g.ldb, together, depth, to);
                panel += together * c_columns;
                to += together * c_columns * depth;
                continue;
            }
            const size_t width = isEven ? EvenWidth(left) : Least(c_columns, left);
            PackPanelOfB(g, column + panel, width, step, depth, to);
            panel += width;
            to += c_columns * depth;
        }
    }
    static void PackWholePanelsOfB(const GemmTask<T>& g, size_t column, size_t columns, size_t step, size_t depth,
                                   T* to)
    {
        PackB(g, column, columns, step, depth, false, to);
    }

    static void PackTransposedB(const T* from, size_t stride, size_t panels, size_t depth, T* to)
    {
        for (size_t p = 0; p < depth; ++p, from += stride)
        {
            size_t panel = 0;
#if defined(CNTK_GEMM_MASKS)
            // Whole lines are read, three for four panels: pieces of a panel's width would wait for memory twice as
            // long.
            if constexpr (4 * c_columns == 3 * c_lanes)
                for (; panel + 4 <= panels; panel += 4)
                    CopyToFourPanels(from + panel * c_columns, to + (panel * depth + p) * c_columns, c_columns * depth);
#endif
            for (; panel < panels; ++panel)
                std::memcpy(to + (panel * depth + p) * c_columns, from + panel * c_columns, c_columns * sizeof(T));
        }
    }
#if defined(CNTK_GEMM_MASKS)
    static void CopyToFourPanels(const T* from, T* to, size_t panelElements)
    {
        Vector first, second, third;
        Load(first, from);
        Load(second, from + c_lanes);
        Load(third, from + 2 * c_lanes);
        StoreFirst(to, first, c_columns);
        StoreFirst(to + panelElements, Behind<12>(first, second), c_columns);
        StoreFirst(to + 2 * panelElements, Behind<8>(second, third), c_columns);
        StoreFirst(to + 3 * panelElements, Behind<4>(third, third), c_columns);
    }
    // The 16 elements of two registers behind so many.
    template <int S>
    static Vector Behind(const Vector& low, const Vector& high)
    {
        return __builtin_shufflevector(low, high, S, S + 1, S + 2, S + 3, S + 4, S + 5, S + 6, S + 7, S + 8, S + 9,
                                       S + 10, S + 11, S + 12, S + 13, S + 14, S + 15);
    }
#endif

    static void PackPanelOfB(const GemmTask<T>& g, size_t column, size_t columns, size_t step, size_t depth, T* to)
    {
        if (g.transB)
        {
            const T* from = g.b + column + step * g.ldb;
            if (columns == c_columns)
                return PackTransposedB(from, g.ldb, 1, depth, to);
            for (size_t p = 0; p < depth; ++p, from += g.ldb)
                for (size_t j = 0; j < columns; ++j)
                    to[p * c_columns + j] = from[j];
            return;
        }
        PackPlainB(g.b + column * g.ldb + step, g.ldb, columns, depth, to);
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
            // Columns that are not there repeat the last one.
            constexpr bool c_isDense = c_columns % Transpose::c_inPart == 0;
            Vector block[c_isDense ? c_columns : c_lanes] = {};
#pragma GCC unroll 16
            for (size_t j = 0; j < c_columns; ++j)
            {
                Load(block[j], from + Least(j, columns - 1) * stride + p);
                if constexpr (VectorBytes == 64) // for the next panel
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
                // Whole registers are stored where only c_columns elements are meant: the next step overwrites the
                // rest.
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
