// Multiplies panels of A and B into a tile of C that is kept in registers, and applies the epilogue to finished tiles.
#pragma once

#include "Math/Cpu/Kernels/GemmPanels.h"

#include <cstddef>

namespace cntk
{
namespace
{

template <class T, size_t VectorBytes, size_t Columns>
struct GemmTile : GemmPanels<T, VectorBytes, Columns>
{
    using Base = GemmPanels<T, VectorBytes, Columns>;
    using Base::c_columns, Base::c_lanes, Base::c_lineElements, Base::c_rows;
    using Base::Load, Base::Store;
    using typename Base::Vector;
    // Prefetching data that is read after the tile was faster with wide registers only.
    static constexpr bool c_prefetchesNext = VectorBytes == 64;
    // Elements of a panel of C that is written nowhere else.
    static constexpr size_t c_scratchC = 12 * 1024;

    enum class Panels
    {
        Packed,  // A and B
        Plain,   // at least one of them is read in place
        KeepingA // A is read in place, and packed on the way for other tiles
    };

    // The data that a tile prefetches, and the time. Memory takes only some lines at once: a burst of prefetches would
    // delay the loads of panels.
    enum class Prefetch
    {
        Burst,       // C, before the first step
        Interleaved, // C and the epilogue's matrices, one column at a time between the steps
        WithNext     // also data that is read after the tile
    };

    // Lines of the cache that will be read soon, in runs that are `stride` elements apart. They are prefetched in
    // `times` portions.
    class LinesAhead
    {
    public:
        LinesAhead() = default; // none
        LinesAhead(const T* first, size_t stride, size_t runs, size_t elementsOfRun, size_t times)
            : m_next(first), m_lines((elementsOfRun + c_lineElements - 1) / c_lineElements),
              m_toNextRun(ptrdiff_t(stride) - ptrdiff_t(m_lines * c_lineElements)), m_leftOfRun(m_lines),
              m_left(runs * m_lines), m_portion((m_left + times - 1) / times)
        {
        }

        [[gnu::always_inline]] inline void PrefetchPortion()
        {
            for (size_t count = Least(m_portion, m_left); count > 0; --count, --m_left)
            {
                __builtin_prefetch(m_next, 0, 2);
                m_next += c_lineElements;
                if (--m_leftOfRun == 0)
                {
                    m_next += m_toNextRun;
                    m_leftOfRun = m_lines;
                }
            }
        }

    private:
        const T* m_next = nullptr;
        size_t m_lines = 0; // of a run
        ptrdiff_t m_toNextRun = 0;
        size_t m_leftOfRun = 0;
        size_t m_left = 0; // of all runs
        size_t m_portion = 0;
    };

    // The addresses that a tile prefetches besides its panels.
    struct Prefetches
    {
        const T* first = nullptr; // at the tile's place in the matrices that the epilogue reads; null: none
        const T* second = nullptr;
        size_t stride = 0;
        bool includesC = true; // false: C is in the first-level cache
        bool includesNext = false;
        LinesAhead next = {};
    };

    // A column that does not begin at a line of the cache reaches into one more line.
    template <bool IsWritten, size_t V>
    [[gnu::always_inline]] static inline void PrefetchColumn(const T* column)
    {
#pragma GCC unroll 4
        for (size_t i = 0; i < V * c_lanes; i += c_lineElements)
            __builtin_prefetch(column + i, IsWritten);
        __builtin_prefetch(column + V * c_lanes - 1, IsWritten);
    }

    // C tile = beta * C tile + alpha * A panel * B panel, N columns. a: V registers of each step, steps aStride apart.
    // b: element (p, j) at b + p * bRow + j * bColumn. C has `rows` rows, the last of them in the last register. With
    // packed panels the strides are known at compile time. kept: where KeepingA packs A. Not inlined: the compiler
    // would run out of registers.
    template <Panels Kind, size_t N, size_t V, Prefetch When>
    [[gnu::noinline]] static void Tile(size_t depth, const T* a, size_t aStride, const T* b, size_t bRow,
                                       size_t bColumn, T alpha, T beta, T* c, size_t ldc, size_t rows,
                                       Prefetches* prefetches, T* kept)
    {
        if constexpr (Kind == Panels::Packed)
        {
            aStride = c_rows;
            bRow = c_columns;
            bColumn = 1;
        }
        Vector sums[V][N] = {};
        const auto addSteps = [&](size_t p, size_t end) __attribute__((always_inline))
        {
            for (; p < end; ++p, a += aStride, b += bRow)
            {
                Vector of[V];
#pragma GCC unroll 2
                for (size_t v = 0; v < V; ++v)
                {
                    Load(of[v], a + v * c_lanes);
                    if constexpr (Kind == Panels::KeepingA)
                    {
                        // Each step lies in a page of its own, so that no prefetcher of the processor follows.
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
        };
        if constexpr (When == Prefetch::Burst)
        {
#pragma GCC unroll 16
            for (size_t j = 0; j < N; ++j)
            {
                if constexpr (V == 2)
                    PrefetchColumn<true, V>(c + j * ldc);
                else
                    __builtin_prefetch(c + j * ldc, 1);
            }
            addSteps(0, depth);
        }
        else
        {
            const T* ofC = c;
            const T* first = prefetches->first;
            const T* second = prefetches->second;
            LinesAhead next;
            if constexpr (When == Prefetch::WithNext)
                next = prefetches->next;
            for (size_t column = 0; column < N; ++column)
            {
                if (prefetches->includesC)
                    PrefetchColumn<true, V>(ofC);
                ofC += ldc;
                if (first != nullptr)
                {
                    PrefetchColumn<false, V>(first);
                    first += prefetches->stride;
                    PrefetchColumn<false, V>(second);
                    second += prefetches->stride;
                }
                if constexpr (When == Prefetch::WithNext)
                    next.PrefetchPortion();
                addSteps(depth * column / N, depth * (column + 1) / N);
            }
            if constexpr (When == Prefetch::WithNext)
                prefetches->next = next;
        }
        if (rows == V * c_lanes)
        {
#pragma GCC unroll 16
            for (size_t j = 0; j < N; ++j, c += ldc)
#pragma GCC unroll 2
                for (size_t v = 0; v < V; ++v)
                    Add(sums[v][j], alpha, beta, c + v * c_lanes);
            return;
        }
#if defined(CNTK_GEMM_MASKS)
#pragma GCC unroll 16
        for (size_t j = 0; j < N; ++j, c += ldc)
        {
            if constexpr (V == 2)
                Add(sums[0][j], alpha, beta, c);
            AddFirst(sums[V - 1][j], alpha, beta, c + (V - 1) * c_lanes, rows - (V - 1) * c_lanes);
        }
#else
        T scaled[N * V * c_lanes];
#pragma GCC unroll 16
        for (size_t j = 0; j < N; ++j)
#pragma GCC unroll 2
            for (size_t v = 0; v < V; ++v)
                Store(scaled + (j * V + v) * c_lanes, sums[v][j] * alpha);
        AddRest<V * c_lanes>(scaled, N, beta, c, ldc, rows);
#endif
    }

    // The same for a number of columns that is known at run time.
    template <Panels Kind, size_t N = Columns>
    static void TileOf(size_t columns, size_t depth, const T* a, size_t aStride, const T* b, size_t bRow,
                       size_t bColumn, T alpha, T beta, T* c, size_t ldc, size_t rows, Prefetches* prefetches,
                       T* kept = nullptr)
    {
        if constexpr (N > 0)
        {
            if (columns != N)
                TileOf<Kind, N - 1>(columns, depth, a, aStride, b, bRow, bColumn, alpha, beta, c, ldc, rows, prefetches,
                                    kept);
            else if (rows > c_lanes || Kind == Panels::KeepingA)
                TileThatPrefetches<Kind, N, 2>(prefetches)(depth, a, aStride, b, bRow, bColumn, alpha, beta, c, ldc,
                                                           rows, prefetches, kept);
            else if constexpr (Kind != Panels::KeepingA)
                TileThatPrefetches<Kind, N, 1>(prefetches)(depth, a, aStride, b, bRow, bColumn, alpha, beta, c, ldc,
                                                           rows, prefetches, kept);
        }
    }

    // The part of C that is finished before the next one is begun, for an epilogue that reads other matrices: a panel's
    // rows or columns. The epilogue is applied while it is in the first-level cache. Where nobody else reads C, it is
    // scratch memory that never leaves the cache. Ends: these are C's last steps, and it has such an epilogue.
    // Otherwise C's own memory.
    template <bool Ends>
    class PanelOfC
    {
    public:
        // rows, columns: the largest size that it may have. depth: steps that are added.
        PanelOfC(const GemmTask<T>& g, size_t step, size_t depth, size_t rows, size_t columns)
            : m_task(g),
              m_isScratch(Ends && g.epilogue->replacesC && step == 0 && g.beta == 0 && rows * columns <= c_scratchC),
              m_stride(m_isScratch ? rows : g.ldc), m_isInterleaved(Ends || IsFarC(g, depth))
        {
        }

        size_t Stride() const { return m_stride; }

        // Returns the memory to which the tile at a row and a column of C is written.
        T* At(size_t row, size_t column, size_t rowOfPanel, size_t columnOfPanel)
        {
            if constexpr (Ends)
            {
                const GemmEpilogue<T>& epilogue = *m_task.epilogue;
                const size_t place = m_task.firstRow + row + (m_task.firstColumn + column) * epilogue.besideStride;
                m_prefetches.first = epilogue.beside[0] + place;
                m_prefetches.second = epilogue.beside[1] + place;
                m_prefetches.stride = epilogue.besideStride;
                m_prefetches.includesC = !m_isScratch;
                if (m_isScratch)
                    return m_scratch + rowOfPanel + columnOfPanel * m_stride;
            }
            return m_task.c + row + column * m_task.ldc;
        }
        // The following tiles prefetch these lines.
        void PrefetchNext(const LinesAhead& next)
        {
            m_prefetches.next = next;
            m_prefetches.includesNext = true;
            m_isInterleaved = true;
        }
        // For the tile at the place given to At; null: Prefetch::Burst.
        Prefetches* OfTile() { return m_isInterleaved ? &m_prefetches : nullptr; }

        // After its last tile.
        void End(size_t row, size_t rows, size_t column, size_t columns)
        {
            if constexpr (Ends)
                ApplyEpilogue(m_task, m_isScratch ? m_scratch : m_task.c + row + column * m_task.ldc, m_stride, row,
                              rows, column, columns);
        }

    private:
        const GemmTask<T>& m_task;
        bool m_isScratch;
        size_t m_stride;
        bool m_isInterleaved;
        Prefetches m_prefetches;
        alignas(64) T m_scratch[Ends ? c_scratchC : 1];
    };

    // True if these are C's last steps and its epilogue reads other matrices.
    static bool EndsPanels(const GemmTask<T>& g, size_t step, size_t depth)
    {
        return g.epilogue != nullptr && g.epilogue->beside[0] != nullptr && step + depth == g.k;
    }

    // Applies an epilogue that reads C alone, which takes more rows at once, after the last steps.
    static void EndBlock(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                         size_t depth)
    {
        if (g.epilogue != nullptr && g.epilogue->beside[0] == nullptr && step + depth == g.k)
            ApplyEpilogue(g, g.c + row + column * g.ldc, g.ldc, row, rows, column, columns);
    }

private:
    template <Panels Kind, size_t N, size_t V>
    static auto TileThatPrefetches(const Prefetches* prefetches)
    {
        constexpr Prefetch most = c_prefetchesNext ? Prefetch::WithNext : Prefetch::Interleaved;
        if (prefetches == nullptr)
            return &Tile<Kind, N, V, Prefetch::Burst>;
        return prefetches->includesNext ? &Tile<Kind, N, V, most> : &Tile<Kind, N, V, Prefetch::Interleaved>;
    }

    // Prefetching C between the steps is faster if C is larger than the second-level cache holds beside the panels and
    // there are steps enough. Measured with wide registers only.
    static bool IsFarC(const GemmTask<T>& g, size_t depth)
    {
        constexpr size_t c_leastSteps = 96;
        constexpr size_t c_nearBytes = size_t(512) << 10;
        return sizeof(Vector) == 64 && depth >= c_leastSteps && g.m * g.n * sizeof(T) > c_nearBytes;
    }

    static void ApplyEpilogue(const GemmTask<T>& g, T* block, size_t stride, size_t row, size_t rows, size_t column,
                              size_t columns)
    {
        g.epilogue->apply(*g.epilogue, block, stride, g.firstRow + row, g.firstColumn + column, rows, columns);
    }

    // c = alpha * sum + beta * c
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
    // The same for the first `count` elements.
    static void AddFirst(Vector& sum, T alpha, T beta, T* c, size_t count)
    {
        sum *= alpha;
        if (beta != 0)
        {
            Vector before;
            Base::LoadFirst(before, c, count);
            sum += beta * before;
        }
        Base::StoreFirst(c, sum, count);
    }
#endif

    // c = sums + beta * c for columns with fewer rows than their registers in sums hold. Not inlined: it would slow
    // down whole tiles.
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
    // In halves, quarters, ... of a register.
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
};

} // namespace
} // namespace cntk
