// The project's own matrix product, one source compiled for each instruction
// set: column-major, packed in panels as Goto's algorithm has it, with a path
// that packs nothing for the small and skinny products of small networks.
// Everything is in an unnamed namespace: code for one instruction set must
// never be linked into another's.
#pragma once

#include "Math/Cpu/GemmPanels.h"

#include <cstddef>

namespace cntk
{
namespace
{

// VectorBytes: width of a register. c_rows x c_columns: the tile of C that is
// kept in registers.
template <class T, size_t VectorBytes, size_t Columns>
struct GemmKernel : GemmPanels<T, VectorBytes, Columns>
{
    using Base = GemmPanels<T, VectorBytes, Columns>;
    using Base::c_blockColumns, Base::c_blockRows, Base::c_columns, Base::c_depth, Base::c_lanes, Base::c_lineElements,
        Base::c_mostRowsOnce, Base::c_rows, Base::c_scratchA, Base::c_scratchB;
    using Base::EvenWidth, Base::Load, Base::PackA, Base::PackB, Base::PackPanelOfB, Base::Store;
    using typename Base::Vector;

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

    // C tile = beta * C tile + alpha * A panel * B panel, N columns. a: V registers of a panel's c_rows values a step,
    // steps aStride apart; b[p][j] at b + p*bRow + j*bColumn. Of C only so many rows exist, the last of them in the
    // last register. With packed panels the strides are known when compiling. kept: not null where the panel of A is to
    // be packed on the way.
    template <Panels Kind, size_t N, size_t V>
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
            if constexpr (V == 2)
                __builtin_prefetch(c + j * ldc + c_rows - 1, 1);
        }
        Vector sums[V][N] = {};
        for (size_t p = 0; p < depth; ++p, a += aStride, b += bRow)
        {
            Vector of[V];
#pragma GCC unroll 2
            for (size_t v = 0; v < V; ++v)
            {
                Load(of[v], a + v * c_lanes);
                if constexpr (Kind == Panels::PlainKeepingA)
                {
                    // Each step is in a page of its own: no prefetcher of the processor follows.
                    __builtin_prefetch(a + 12 * aStride + v * c_lanes);
                    Store(kept + p * c_rows + v * c_lanes, of[v]);
                }
            }
#pragma GCC unroll 16
            for (size_t j = 0; j < N; ++j)
            {
                const T factor = b[j * bColumn];
#pragma GCC unroll 2
                for (size_t v = 0; v < V; ++v)
                    sums[v][j] += of[v] * factor;
            }
        }
        if (rows == V * c_lanes)
        {
#pragma GCC unroll 16
            for (size_t j = 0; j < N; ++j, c += ldc)
#pragma GCC unroll 2
                for (size_t v = 0; v < V; ++v)
                    Base::Add(sums[v][j], alpha, beta, c + v * c_lanes);
            return;
        }
#if defined(CNTK_GEMM_MASKS)
#pragma GCC unroll 16
        for (size_t j = 0; j < N; ++j, c += ldc)
        {
            if constexpr (V == 2)
                Base::Add(sums[0][j], alpha, beta, c);
            Base::AddFirst(sums[V - 1][j], alpha, beta, c + (V - 1) * c_lanes, rows - (V - 1) * c_lanes);
        }
#else
        T scaled[N * V * c_lanes];
#pragma GCC unroll 16
        for (size_t j = 0; j < N; ++j)
#pragma GCC unroll 2
            for (size_t v = 0; v < V; ++v)
                Store(scaled + (j * V + v) * c_lanes, sums[v][j] * alpha);
        Base::template AddRest<V * c_lanes>(scaled, N, beta, c, ldc, rows);
#endif
    }

    // The same for a number of columns known at run time.
    template <Panels Kind, size_t N = Columns>
    static void TileOf(size_t columns, size_t depth, const T* a, size_t aStride, const T* b, size_t bRow,
                       size_t bColumn, T alpha, T beta, T* c, size_t ldc, size_t rows, T* kept = nullptr)
    {
        if constexpr (N > 0)
        {
            if (columns != N)
                TileOf<Kind, N - 1>(columns, depth, a, aStride, b, bRow, bColumn, alpha, beta, c, ldc, rows, kept);
            else if (rows > c_lanes || Kind == Panels::PlainKeepingA)
                Tile<Kind, N, 2>(depth, a, aStride, b, bRow, bColumn, alpha, beta, c, ldc, rows, kept);
            else if constexpr (Kind != Panels::PlainKeepingA)
                Tile<Kind, N, 1>(depth, a, aStride, b, bRow, bColumn, alpha, beta, c, ldc, rows, kept);
        }
    }

    // How the inner loops get at B.
    enum class SourceOfB
    {
        Packed,   // all panels are packed before
        OnTheWay, // each right before it is needed
        Plain
    };

    // Panels of B up to which A is packed panel by panel, each where it is used first, as it is where it is transposed
    // and B has a few; or some more of them that can be read as they lie.
    static constexpr size_t c_mostUsesOfPlainA = VectorBytes == 64 ? 32 : 8;
    static constexpr size_t c_mostUsesOfTransposedA = 8;
    static constexpr size_t c_mostPanelsReadByPanelsOfA = VectorBytes == 64 ? 16 : 0;

    // What becomes of columns whose beginnings are multiples of this apart: they share the same few places of a
    // first-level cache.
    static constexpr size_t c_clashingBytes = 4096;

    // Whether B need not be packed where each of its panels passes by a block of A once.
    static bool IsReadable(const GemmTask<T>& g)
    {
        return !g.transB && g.ldb * sizeof(T) % c_clashingBytes != 0;
    }

    // The same in tiles that threads share out; measured for wide registers alone.
    static bool CanTilesReadB(const GemmTask<T>& g)
    {
        return VectorBytes == 64 && IsReadable(g);
    }

    // Asks for a part of what the next panel of B, which is not transposed, is made of: its columns are too short for a
    // prefetcher of the processor to see them coming.
    static void FetchB(const GemmTask<T>& g, size_t column, size_t columns, size_t step, size_t depth, size_t part,
                       size_t parts)
    {
        for (size_t j = part; j < columns; j += parts)
            for (size_t p = 0; p < depth + c_lineElements; p += c_lineElements)
                __builtin_prefetch(g.b + (column + j) * g.ldb + step + Least(p, depth - 1), 0, 2);
    }

    // From so many panels of B and so large a matrix on, the next panel of A is asked for while one is multiplied.
    static constexpr size_t c_leastPanelsToFetchA = 6;
    static constexpr size_t c_secondCache = 1 << 20;

    // Asks for a part of a panel of A, which is not transposed: each step of it is in a page of its own.
    static void FetchA(const GemmTask<T>& g, size_t row, size_t step, size_t depth, size_t part, size_t parts)
    {
        const size_t share = (depth + parts - 1) / parts;
        const T* from = g.a + row + (step + part * share) * g.lda;
        for (size_t p = part * share; p < Least((part + 1) * share, depth); ++p, from += g.lda)
        {
            __builtin_prefetch(from, 0, 2);
            __builtin_prefetch(from + c_lanes, 0, 2);
        }
    }

    // The same for a packed panel.
    static void FetchPanel(const T* panel, size_t elements, size_t part, size_t parts)
    {
        const size_t share = (elements / c_lineElements + parts - 1) / parts * c_lineElements;
        for (size_t at = part * share; at < Least((part + 1) * share, elements); at += c_lineElements)
            __builtin_prefetch(panel + at, 0, 2);
    }

    // The inner loops over a block of packed A. panelsB: all panels of B, or room for one.
    static void Block(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                      size_t depth, const T* packedA, SourceOfB source, T* panelsB)
    {
        const T beta = step == 0 ? g.beta : T(1);
        const size_t tiles = (rows + c_rows - 1) / c_rows;
        for (size_t j = 0, panel = 0, width = 0; j < columns; j += width, panel += c_columns * depth)
        {
            width = EvenWidth(columns - j);
            T* const packed = panelsB + (source == SourceOfB::Packed ? panel : 0);
            if (source == SourceOfB::OnTheWay)
                PackPanelOfB(g, column + j, width, step, depth, packed);
            const PlainB b = source == SourceOfB::Plain ? At(g, column + j, step) : PlainB{packed, c_columns, 1};
            const size_t left = columns - j - width;
            for (size_t i = 0; i < rows; i += c_rows)
            {
                const size_t height = Least(c_rows, rows - i);
                const T* a = packedA + i * depth;
                T* c = g.c + (row + i) + (column + j) * g.ldc;
                if (left > 0 && source != SourceOfB::Packed && !g.transB)
                    FetchB(g, column + j + width, EvenWidth(left), step, depth, i / c_rows, tiles);
                if (source != SourceOfB::Plain)
                    TileOf<Panels::Packed>(width, depth, a, c_rows, b.data, c_columns, 1, g.alpha, beta, c, g.ldc,
                                           height);
                else
                    TileOf<Panels::Plain>(width, depth, a, c_rows, b.data, b.row, b.column, g.alpha, beta, c, g.ldc,
                                          height);
            }
        }
    }

    // The same with A as it lies: each panel of it is packed by the first tile
    // that needs it.
    static void BlockOfPlainA(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                              size_t depth, const T* packedB, T* panel)
    {
        const T beta = step == 0 ? g.beta : T(1);
        const size_t panels = (columns + c_columns - 1) / c_columns;
        const bool fetches =
            VectorBytes == 64 && !g.transA && panels >= c_leastPanelsToFetchA && g.m * g.k * sizeof(T) > c_secondCache;
        for (size_t i = 0; i < rows; i += c_rows)
        {
            const size_t height = Least(c_rows, rows - i);
            // A whole register must not be read beyond the last rows.
            bool isPacked = g.transA || height != c_rows;
            if (isPacked)
                PackA(g, row + i, height, step, depth, panel);
            for (size_t j = 0, panelB = 0, width = 0; j < columns; j += width, panelB += c_columns * depth)
            {
                width = EvenWidth(columns - j);
                const PlainB b = packedB != nullptr ? PlainB{packedB + panelB, c_columns, 1} : At(g, column + j, step);
                if (fetches && i + c_rows < rows)
                    FetchA(g, row + i + c_rows, step, depth, j / c_columns, panels);
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

    // A tile of C of packed panels of A and of B, where it is packed. Of packed ones a panel of A stays in the
    // first-level cache, the tile's panels of B in the second.
    static void TileOfPacked(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                             size_t depth, const T* packedA, const T* packedB)
    {
        if (packedB == nullptr)
            return Block(g, row, rows, column, columns, step, depth, packedA, SourceOfB::Plain, nullptr);
        const T beta = step == 0 ? g.beta : T(1);
        for (size_t i = 0; i < rows; i += c_rows)
            for (size_t j = 0; j < columns; j += c_columns)
            {
                if (i + c_rows < rows)
                    FetchPanel(packedA + (i + c_rows) * depth, c_rows * depth, j / c_columns,
                               (columns + c_columns - 1) / c_columns);
                TileOf<Panels::Packed>(Least(c_columns, columns - j), depth, packedA + i * depth, c_rows,
                                       packedB + j * depth, c_columns, 1, g.alpha, beta,
                                       g.c + (row + i) + (column + j) * g.ldc, g.ldc, Least(c_rows, rows - i));
            }
    }

    // Steps that are packed at a time: as even as the depth allows, and in whole lines of the cache.
    static size_t DepthEach(size_t k)
    {
        const size_t passes = (k + c_depth - 1) / c_depth;
        if (passes <= 1)
            return k;
        return ((k + passes - 1) / passes + c_lineElements - 1) / c_lineElements * c_lineElements;
    }

    // Whole products of one op(b), and of as many rows each, on this thread: b is packed once for all. scratchA,
    // scratchB: c_scratchA, c_scratchB elements, aligned to 64 bytes.
    static void Run(const GemmTask<T>* tasks, size_t count, T* scratchA, T* scratchB)
    {
        const GemmTask<T>& g = tasks[0];
        // Packing pays when each packed value is used often enough.
        const bool isReadable = IsReadable(g);
        const bool isByPanels = g.transA && isReadable && g.n <= c_mostPanelsReadByPanelsOfA * c_columns;
        const bool packA = !isByPanels && g.n > (g.transA ? c_mostUsesOfTransposedA : c_mostUsesOfPlainA) * c_columns;
        const bool packB = !isByPanels && g.m > 8 * c_rows && g.n > c_columns;
        // Panels of B that pass by once are packed right before, or not at all where they can be read as they lie.
        // Transposed, packing several side by side reads whole lines of the cache.
        const bool isOnce = packA && !g.transB && g.m <= c_mostRowsOnce;
        const SourceOfB source = !packB || (isOnce && isReadable) ? SourceOfB::Plain
                                 : isOnce                         ? SourceOfB::OnTheWay
                                                                  : SourceOfB::Packed;
        const size_t depthEach = DepthEach(g.k);
        const size_t rowsEach = isOnce ? g.m : EvenRows(g.m);
        for (size_t column = 0; column < g.n; column += c_blockColumns)
        {
            const size_t columns = Least(c_blockColumns, g.n - column);
            for (size_t step = 0; step < g.k; step += depthEach)
            {
                const size_t depth = Least(depthEach, g.k - step);
                if (source == SourceOfB::Packed)
                    PackB(g, column, columns, step, depth, true, scratchB);
                for (const GemmTask<T>* task = tasks; task < tasks + count; ++task)
                    for (size_t row = 0; row < g.m; row += rowsEach)
                    {
                        const size_t rows = Least(rowsEach, g.m - row);
                        if (!packA)
                        {
                            BlockOfPlainA(*task, row, rows, column, columns, step, depth,
                                          source == SourceOfB::Packed ? scratchB : nullptr, scratchA);
                            continue;
                        }
                        PackA(*task, row, rows, step, depth, scratchA);
                        Block(*task, row, rows, column, columns, step, depth, scratchA, source, scratchB);
                    }
            }
        }
    }

    // Rows that are packed at a time: blocks as even as panels allow.
    static size_t EvenRows(size_t m)
    {
        const size_t blocks = (m + c_blockRows - 1) / c_blockRows;
        return ((m + blocks - 1) / blocks + c_rows - 1) / c_rows * c_rows;
    }

    static GemmFunctions<T> Functions()
    {
        return {&Run,          &PackA,     &Base::PackWholePanelsOfB,
                &TileOfPacked, &DepthEach, &CanTilesReadB,
                c_rows,        c_columns,  c_depth,
                c_scratchA,    c_scratchB};
    }
};

// The table of one instruction set.
template <size_t VectorBytes, size_t Columns>
GemmIsa MakeGemmIsa(const char* name)
{
    using Float = GemmKernel<float, VectorBytes, Columns>;
    using Double = GemmKernel<double, VectorBytes, Columns>;
    return {name, Float::Functions(), Double::Functions()};
}

} // namespace
} // namespace cntk
