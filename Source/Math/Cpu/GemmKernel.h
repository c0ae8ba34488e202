// The project's own matrix product, one source compiled for each instruction set: column-major, packed in panels as
// Goto's algorithm has it, with a path that packs nothing for the small and skinny products of small networks.
// Everything is in an unnamed namespace: code for one instruction set must never be linked into another's.
#pragma once

#include "Math/Cpu/GemmIsa.h"

#include <cstddef>
#include <cstring>
#include <utility>

namespace cntk
{
namespace
{

// Of our own: a function template of the standard library compiled here could be linked into baseline code.
constexpr size_t Least(size_t a, size_t b)
{
    return a < b ? a : b;
}
constexpr size_t Greatest(size_t a, size_t b)
{
    return a < b ? b : a;
}

// VectorBytes: width of a register. c_rows x c_columns: the tile of C that is kept in registers.
template <class T, size_t VectorBytes, size_t Columns>
struct GemmKernel
{
    using Vector __attribute__((vector_size(VectorBytes))) = T;
    static constexpr size_t c_lanes = VectorBytes / sizeof(T);
    static constexpr size_t c_rows = 2 * c_lanes;
    static constexpr size_t c_columns = Columns;
    // Panels of A (c_rows x c_depth) stay in the first-level cache, blocks of A (c_blockRows x c_depth) in the second.
    static constexpr size_t c_depth = 1280 / sizeof(T);
    static constexpr size_t c_blockRows = 192 / c_rows * c_rows;
    static constexpr size_t c_blockColumns = 3072 / Columns * Columns;
    // What the caller provides as scratch, in elements.
    static constexpr size_t c_scratchA = c_blockRows * c_depth;
    static constexpr size_t c_scratchB = c_blockColumns * c_depth;

    static Vector Load(const T* from)
    {
        Vector vector;
        std::memcpy(&vector, from, sizeof vector);
        return vector;
    }
    static void Store(T* to, Vector vector) { std::memcpy(to, &vector, sizeof vector); }

    template <size_t Distance, size_t... Lane>
    static void ExchangePair(Vector& a, Vector& b, std::index_sequence<Lane...>)
    {
        const Vector low = __builtin_shufflevector(a, b, int(Lane & Distance ? Lane - Distance + c_lanes : Lane)...);
        b = __builtin_shufflevector(a, b, int(Lane & Distance ? Lane + c_lanes : Lane + Distance)...);
        a = low;
    }

    // The square block of registers, transposed: halves, quarters, ... down to single elements change places.
    template <size_t Distance = c_lanes / 2>
    static void Transpose(Vector (&v)[c_lanes])
    {
        if constexpr (Distance > 0)
        {
#pragma GCC unroll 16
            for (size_t i = 0; i < c_lanes; ++i)
                if ((i & Distance) == 0)
                    ExchangePair<Distance>(v[i], v[i + Distance], std::make_index_sequence<c_lanes>());
            Transpose<Distance / 2>(v);
        }
    }

    enum class Panels
    {
        Packed,        // A and B
        Plain,         // either of them as it lies
        PlainKeepingA, // and A is packed on the way
    };
    // A panel of op(b): element (p, j) at data + p*row + j*column.
    struct PlainB
    {
        const T* data;
        size_t row;
        size_t column;
    };
    static PlainB At(const GemmTask<T>& g, size_t column, size_t step)
    {
        if (g.transB)
            return {g.b + column + step * g.ldb, g.ldb, 1};
        return {g.b + column * g.ldb + step, 1, g.ldb};
    }

    // C tile = beta * C tile + alpha * A panel * B panel, N columns. a: c_rows values a step, steps aStride apart;
    // b[p][j] at b + p*bRow + j*bColumn. rows < c_rows: only these rows of C exist.
    // With packed panels the strides are known when compiling. kept: not null where the panel of A is to be packed on
    // the way.
    template <Panels Kind, size_t N>
    static void Tile(size_t depth, const T* a, size_t aStride, const T* b, size_t bRow, size_t bColumn, T alpha, T beta,
                     T* c, size_t ldc, size_t rows, T* kept)
    {
        if constexpr (Kind == Panels::Packed)
        {
            aStride = c_rows;
            bRow = c_columns;
            bColumn = 1;
        }
#pragma GCC unroll 16
        for (size_t j = 0; j < N; ++j)
        {
            __builtin_prefetch(c + j * ldc, 1);
            __builtin_prefetch(c + j * ldc + c_rows - 1, 1);
        }
        Vector low[N] = {};
        Vector high[N] = {};
        for (size_t p = 0; p < depth; ++p, a += aStride, b += bRow)
        {
            const Vector aLow = Load(a);
            const Vector aHigh = Load(a + c_lanes);
            if constexpr (Kind == Panels::PlainKeepingA)
            {
                // Each step is in a page of its own: no prefetcher of the processor follows.
                __builtin_prefetch(a + 12 * aStride);
                Store(kept + p * c_rows, aLow);
                Store(kept + p * c_rows + c_lanes, aHigh);
            }
#pragma GCC unroll 16
            for (size_t j = 0; j < N; ++j)
            {
                const T factor = b[j * bColumn];
                low[j] += aLow * factor;
                high[j] += aHigh * factor;
            }
        }
        if (rows == c_rows)
        {
#pragma GCC unroll 16
            for (size_t j = 0; j < N; ++j, c += ldc)
            {
                low[j] *= alpha;
                high[j] *= alpha;
                if (beta != 0)
                {
                    low[j] += beta * Load(c);
                    high[j] += beta * Load(c + c_lanes);
                }
                Store(c, low[j]);
                Store(c + c_lanes, high[j]);
            }
            return;
        }
        T column[c_rows];
#pragma GCC unroll 16
        for (size_t j = 0; j < N; ++j, c += ldc)
        {
            Store(column, low[j] * alpha);
            Store(column + c_lanes, high[j] * alpha);
            for (size_t i = 0; i < rows; ++i)
                c[i] = beta == 0 ? column[i] : column[i] + beta * c[i];
        }
    }

    // The same for a number of columns known at run time.
    template <Panels Kind, size_t N = Columns>
    static void TileOf(size_t columns, size_t depth, const T* a, size_t aStride, const T* b, size_t bRow,
                       size_t bColumn, T alpha, T beta, T* c, size_t ldc, size_t rows, T* kept = nullptr)
    {
        if constexpr (N > 0)
        {
            if (columns == N)
                Tile<Kind, N>(depth, a, aStride, b, bRow, bColumn, alpha, beta, c, ldc, rows, kept);
            else
                TileOf<Kind, N - 1>(columns, depth, a, aStride, b, bRow, bColumn, alpha, beta, c, ldc, rows, kept);
        }
    }

    // Rows [row, row+rows) and steps [step, step+depth) of op(a) as panels of c_rows, the last one filled up with
    // zeros.
    static void PackA(const GemmTask<T>& g, size_t row, size_t rows, size_t step, size_t depth, T* to)
    {
        for (size_t panel = 0; panel < rows; panel += c_rows, to += c_rows * depth)
        {
            const size_t here = Least(c_rows, rows - panel);
            if (!g.transA)
            {
                const T* from = g.a + (row + panel) + step * g.lda;
                for (size_t p = 0; p < depth; ++p, from += g.lda)
                {
                    T* out = to + p * c_rows;
                    if (here == c_rows)
                    {
                        Store(out, Load(from));
                        Store(out + c_lanes, Load(from + c_lanes));
                        continue;
                    }
                    for (size_t i = 0; i < c_rows; ++i)
                        out[i] = i < here ? from[i] : T(0);
                }
                continue;
            }
            const T* from = g.a + (row + panel) * g.lda + step;
            size_t p = 0;
            if (here == c_rows)
                for (; p + c_lanes <= depth; p += c_lanes)
                    for (size_t half = 0; half < c_rows; half += c_lanes)
                    {
                        Vector block[c_lanes];
#pragma GCC unroll 16
                        for (size_t i = 0; i < c_lanes; ++i)
                            block[i] = Load(from + (half + i) * g.lda + p);
                        Transpose(block);
#pragma GCC unroll 16
                        for (size_t q = 0; q < c_lanes; ++q)
                            Store(to + (p + q) * c_rows + half, block[q]);
                    }
            for (; p < depth; ++p)
                for (size_t i = 0; i < c_rows; ++i)
                    to[p * c_rows + i] = i < here ? from[i * g.lda + p] : T(0);
        }
    }

    // Columns [column, column+columns) of op(b) as panels of c_columns; the last one may be narrower in use, not in
    // layout.
    static void PackB(const GemmTask<T>& g, size_t column, size_t columns, size_t step, size_t depth, T* to)
    {
        for (size_t panel = 0; panel < columns; panel += c_columns, to += c_columns * depth)
        {
            const size_t here = Least(c_columns, columns - panel);
            if (g.transB)
            {
                const T* from = g.b + (column + panel) + step * g.ldb;
                for (size_t p = 0; p < depth; ++p, from += g.ldb)
                    if (here == c_columns)
                        std::memcpy(to + p * c_columns, from, c_columns * sizeof(T));
                    else
                        for (size_t j = 0; j < here; ++j)
                            to[p * c_columns + j] = from[j];
                continue;
            }
            const T* from = g.b + (column + panel) * g.ldb + step;
            size_t p = 0;
            // Whole registers are stored where only c_columns elements are meant: the next step overwrites the rest.
            // The last steps are left to the loop below, which stays within the panel.
            constexpr size_t c_transposed = c_columns < c_lanes ? c_columns : c_lanes;
            if (c_columns <= c_lanes && here == c_columns)
                for (; p + 2 * c_lanes <= depth; p += c_lanes)
                {
                    Vector block[c_lanes] = {};
#pragma GCC unroll 16
                    for (size_t j = 0; j < c_transposed; ++j)
                        block[j] = Load(from + j * g.ldb + p);
                    Transpose(block);
#pragma GCC unroll 16
                    for (size_t q = 0; q < c_lanes; ++q)
                        Store(to + (p + q) * c_columns, block[q]);
                }
            for (; p < depth; ++p)
                for (size_t j = 0; j < here; ++j)
                    to[p * c_columns + j] = from[j * g.ldb + p];
        }
    }

    // The inner loops over a block of packed A and packed (or plain) B.
    static void Block(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                      size_t depth, const T* packedA, const T* packedB)
    {
        const T beta = step == 0 ? g.beta : T(1);
        for (size_t j = 0; j < columns; j += c_columns)
        {
            const size_t width = Least(c_columns, columns - j);
            const PlainB b = packedB != nullptr ? PlainB{packedB + j * depth, c_columns, 1} : At(g, column + j, step);
            for (size_t i = 0; i < rows; i += c_rows)
            {
                const size_t height = Least(c_rows, rows - i);
                const T* a = packedA + i * depth;
                T* c = g.c + (row + i) + (column + j) * g.ldc;
                if (packedB != nullptr)
                    TileOf<Panels::Packed>(width, depth, a, c_rows, b.data, c_columns, 1, g.alpha, beta, c, g.ldc,
                                           height);
                else
                    TileOf<Panels::Plain>(width, depth, a, c_rows, b.data, b.row, b.column, g.alpha, beta, c, g.ldc,
                                          height);
            }
        }
    }

    // The same with A as it lies: each panel of it is packed by the first tile that needs it.
    static void BlockOfPlainA(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                              size_t depth, const T* packedB, T* panel)
    {
        const T beta = step == 0 ? g.beta : T(1);
        for (size_t i = 0; i < rows; i += c_rows)
        {
            const size_t height = Least(c_rows, rows - i);
            // A whole register must not be read beyond the last rows.
            bool isPacked = height != c_rows;
            if (isPacked)
                PackA(g, row + i, height, step, depth, panel);
            for (size_t j = 0; j < columns; j += c_columns)
            {
                const size_t width = Least(c_columns, columns - j);
                const PlainB b =
                    packedB != nullptr ? PlainB{packedB + j * depth, c_columns, 1} : At(g, column + j, step);
                const T* a = isPacked ? panel : g.a + (row + i) + step * g.lda;
                const size_t aStride = isPacked ? c_rows : g.lda;
                T* c = g.c + (row + i) + (column + j) * g.ldc;
                if (isPacked && packedB != nullptr)
                    TileOf<Panels::Packed>(width, depth, a, aStride, b.data, b.row, b.column, g.alpha, beta, c, g.ldc,
                                           height);
                else if (isPacked || columns <= c_columns)
                    TileOf<Panels::Plain>(width, depth, a, aStride, b.data, b.row, b.column, g.alpha, beta, c, g.ldc,
                                          height);
                else
                {
                    TileOf<Panels::PlainKeepingA>(width, depth, a, aStride, b.data, b.row, b.column, g.alpha, beta, c,
                                                  g.ldc, height, panel);
                    isPacked = true;
                }
            }
        }
    }

    // The whole product on this thread. scratchA, scratchB: c_scratchA, c_scratchB elements, aligned to 64 bytes.
    static void Run(const GemmTask<T>& g, T* scratchA, T* scratchB)
    {
        // Packing pays when each packed value is used often enough.
        const bool packA = g.transA || g.n > 8 * c_columns;
        const bool packB = g.m > 8 * c_rows && g.n > c_columns;
        const size_t passes = (g.k + c_depth - 1) / c_depth;
        const size_t depthEach = passes == 0 ? 0 : (g.k + passes - 1) / passes;
        for (size_t column = 0; column < g.n; column += c_blockColumns)
        {
            const size_t columns = Least(c_blockColumns, g.n - column);
            for (size_t step = 0; step < g.k; step += depthEach)
            {
                const size_t depth = Least(depthEach, g.k - step);
                if (packB)
                    PackB(g, column, columns, step, depth, scratchB);
                for (size_t row = 0; row < g.m; row += c_blockRows)
                {
                    const size_t rows = Least(c_blockRows, g.m - row);
                    if (!packA)
                    {
                        BlockOfPlainA(g, row, rows, column, columns, step, depth, packB ? scratchB : nullptr, scratchA);
                        continue;
                    }
                    PackA(g, row, rows, step, depth, scratchA);
                    Block(g, row, rows, column, columns, step, depth, scratchA, packB ? scratchB : nullptr);
                }
            }
        }
    }
};

// The table of one instruction set.
template <size_t VectorBytes, size_t Columns>
GemmIsa MakeGemmIsa(const char* name)
{
    using Float = GemmKernel<float, VectorBytes, Columns>;
    using Double = GemmKernel<double, VectorBytes, Columns>;
    return {name,
            &Float::Run,
            &Double::Run,
            Greatest(Float::c_scratchA * sizeof(float), Double::c_scratchA * sizeof(double)),
            Greatest(Float::c_scratchB * sizeof(float), Double::c_scratchB * sizeof(double)),
            Float::c_rows,
            Columns};
}

} // namespace
} // namespace cntk
