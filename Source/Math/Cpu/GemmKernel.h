// The project's own matrix product, one source compiled for each instruction set: column-major, packed in panels as
// Goto's algorithm has it, with a path that packs nothing for the small and skinny products of small networks.
// Everything is in an unnamed namespace: code for one instruction set must never be linked into another's.
#pragma once

#include "Math/Cpu/GemmIsa.h"

#include <cstddef>
#include <cstring>

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

    // C tile = beta * C tile + alpha * A panel * B panel, N columns. a: c_rows values a step, steps aStride apart;
    // b[p][j] at b + p*bRow + j*bColumn. rows < c_rows: only these rows of C exist.
    // With packed panels the strides are known when compiling.
    template <bool Packed, size_t N>
    static void Tile(size_t depth, const T* a, size_t aStride, const T* b, size_t bRow, size_t bColumn, T alpha, T beta,
                     T* c, size_t ldc, size_t rows)
    {
        if constexpr (Packed)
        {
            aStride = c_rows;
            bRow = c_columns;
            bColumn = 1;
        }
        Vector low[N] = {};
        Vector high[N] = {};
        for (size_t p = 0; p < depth; ++p, a += aStride, b += bRow)
        {
            const Vector aLow = Load(a);
            const Vector aHigh = Load(a + c_lanes);
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
    template <bool Packed, size_t N = Columns>
    static void TileOf(size_t columns, size_t depth, const T* a, size_t aStride, const T* b, size_t bRow,
                       size_t bColumn, T alpha, T beta, T* c, size_t ldc, size_t rows)
    {
        if constexpr (N > 0)
        {
            if (columns == N)
                Tile<Packed, N>(depth, a, aStride, b, bRow, bColumn, alpha, beta, c, ldc, rows);
            else
                TileOf<Packed, N - 1>(columns, depth, a, aStride, b, bRow, bColumn, alpha, beta, c, ldc, rows);
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
            // Transposed: blocks of 8 steps, so that lines of the source and of the panel are both used whole.
            for (size_t p = 0; p < depth; p += 8)
            {
                const size_t steps = Least(8, depth - p);
                for (size_t i = 0; i < c_rows; ++i)
                {
                    const T* from = g.a + (row + panel + i) * g.lda + step + p;
                    T* out = to + p * c_rows + i;
                    if (i >= here)
                        for (size_t q = 0; q < steps; ++q)
                            out[q * c_rows] = T(0);
                    else if (steps == 8)
                        for (size_t q = 0; q < 8; ++q)
                            out[q * c_rows] = from[q];
                    else
                        for (size_t q = 0; q < steps; ++q)
                            out[q * c_rows] = from[q];
                }
            }
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
                    for (size_t j = 0; j < here; ++j)
                        to[p * c_columns + j] = from[j];
                continue;
            }
            for (size_t j = 0; j < here; ++j)
            {
                const T* from = g.b + (column + panel + j) * g.ldb + step;
                T* out = to + j;
                for (size_t p = 0; p < depth; ++p)
                    out[p * c_columns] = from[p];
            }
        }
    }

    // The inner loops over a block of packed (or plain) A and packed (or plain) B.
    static void Block(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                      size_t depth, const T* packedA, const T* packedB, T* edge)
    {
        const T beta = step == 0 ? g.beta : T(1);
        for (size_t j = 0; j < columns; j += c_columns)
        {
            const size_t width = Least(c_columns, columns - j);
            const T* b = packedB + j * depth;
            size_t bRow = c_columns;
            size_t bColumn = 1;
            if (packedB == nullptr)
            {
                b = g.transB ? g.b + (column + j) + step * g.ldb : g.b + (column + j) * g.ldb + step;
                bRow = g.transB ? g.ldb : 1;
                bColumn = g.transB ? 1 : g.ldb;
            }
            for (size_t i = 0; i < rows; i += c_rows)
            {
                const size_t height = Least(c_rows, rows - i);
                const T* a = packedA + i * depth;
                size_t aStride = c_rows;
                if (packedA == nullptr)
                {
                    // Plain A; its last rows are packed once, since a whole register must not be read beyond its end.
                    a = height == c_rows ? g.a + (row + i) + step * g.lda : edge;
                    aStride = height == c_rows ? g.lda : c_rows;
                    if (height != c_rows && j == 0)
                        PackA(g, row + i, height, step, depth, edge);
                }
                T* c = g.c + (row + i) + (column + j) * g.ldc;
                if (packedA != nullptr && packedB != nullptr)
                    TileOf<true>(width, depth, a, aStride, b, bRow, bColumn, g.alpha, beta, c, g.ldc, height);
                else
                    TileOf<false>(width, depth, a, aStride, b, bRow, bColumn, g.alpha, beta, c, g.ldc, height);
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
                    if (packA)
                        PackA(g, row, rows, step, depth, scratchA);
                    Block(g, row, rows, column, columns, step, depth, packA ? scratchA : nullptr,
                          packB ? scratchB : nullptr, scratchA);
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
