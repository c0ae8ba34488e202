// The project's own matrix product for one instruction set: column-major, packed in panels as in Goto's algorithm, with
// a path that packs little for the small and narrow products of small networks.
#pragma once

#include "Math/Cpu/Kernels/GemmTile.h"
#include "Math/Cpu/Kernels/GemmVector.h"

#include <cstddef>

namespace cntk
{
namespace
{

// VectorBytes: width of a register. c_rows x c_columns: the tile of C that is kept in registers.
template <class T, size_t VectorBytes, size_t Columns>
struct GemmKernel : GemmTile<T, VectorBytes, Columns>
{
    using Base = GemmTile<T, VectorBytes, Columns>;
    using Base::c_blockColumns, Base::c_blockRows, Base::c_columns, Base::c_depth, Base::c_lineElements,
        Base::c_mostRowsOnce, Base::c_rows, Base::c_scratchA, Base::c_scratchB;
    using Base::EndBlock, Base::EndsPanels, Base::EvenWidth, Base::PackA, Base::PackB, Base::PackPanelOfA,
        Base::PackPanelOfB;
    using typename Base::LinesAhead, typename Base::Panels, typename Base::Prefetches;

    // A panel of op(b): element (p, j) at data + p * row + j * column.
    struct PanelOfB
    {
        const T* data;
        size_t row;
        size_t column;
        bool isPacked;
    };
    static PanelOfB InPlace(const GemmTask<T>& g, size_t column, size_t step)
    {
        if (g.transB)
            return {g.b + column + step * g.ldb, g.ldb, 1, false};
        return {g.b + column * g.ldb + step, 1, g.ldb, false};
    }
    static PanelOfB Packed(const T* data) { return {data, c_columns, 1, true}; }

    // How the inner loops read B.
    enum class SourceOfB
    {
        Packed,   // all panels have been packed
        OnDemand, // each is packed right before it is needed
        InPlace
    };

    // With so few panels of B, each panel of A is packed right before it is used, if at all; if A is transposed and B
    // can be read in place, also with some more of them.
    static constexpr size_t c_mostUsesOfPlainA = VectorBytes == 64 ? 32 : 8;
    static constexpr size_t c_mostUsesOfTransposedA = 8;
    static constexpr size_t c_mostPanelsReadByPanelsOfA = VectorBytes == 64 ? 16 : 0;

    // True if B need not be packed where each of its panels is used once. Columns that begin a multiple of 4096 bytes
    // apart share a few places of the first-level cache.
    static bool IsReadable(const GemmTask<T>& g)
    {
        constexpr size_t c_clashingBytes = 4096;
        return !g.transB && g.ldb * sizeof(T) % c_clashingBytes != 0;
    }
    // The same for products that threads share. Measured with wide registers only.
    static bool CanReadB(const GemmTask<T>& g) { return VectorBytes == 64 && IsReadable(g); }

    // A tile of a packed panel of A.
    static void TileAt(const PanelOfB& b, size_t width, size_t depth, const T* a, const GemmTask<T>& g, T beta, T* c,
                       size_t ldc, size_t height, Prefetches* prefetches)
    {
        (b.isPacked ? &Base::template TileOf<Panels::Packed>
                    : &Base::template TileOf<Panels::Plain>)(width, depth, a, c_rows, b.data, b.row, b.column, g.alpha,
                                                             beta, c, ldc, height, prefetches, nullptr);
    }
    // A tile of a panel of A that is read in place, and packed if kept is not null.
    static void TileOfPlainA(const PanelOfB& b, size_t width, size_t depth, const T* a, const GemmTask<T>& g, T beta,
                             T* c, size_t ldc, Prefetches* prefetches, T* kept)
    {
        (kept != nullptr ? &Base::template TileOf<Panels::KeepingA>
                         : &Base::template TileOf<Panels::Plain>)(width, depth, a, g.lda, b.data, b.row, b.column,
                                                                  g.alpha, beta, c, ldc, c_rows, prefetches, kept);
    }

    // Multiplies a block of packed A. panelsB: all panels of B, or memory for one.
    template <bool Ends>
    static void Block(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                      size_t depth, const T* packedA, SourceOfB source, T* panelsB)
    {
        const T beta = step == 0 ? g.beta : T(1);
        typename Base::template PanelOfC<Ends> panelOfC(g, step, depth, rows, c_columns);
        const size_t tiles = (rows + c_rows - 1) / c_rows;
        const size_t panels = Base::PanelsOf(columns);
        // Backward, the first columns of the epilogue's matrices are still in the cache when they are read the next
        // time. Several blocks go forward, as the processor's prefetchers do.
        const bool isBackward = Ends && rows == g.m && depth == g.k;
        for (size_t n = 0; n < panels; ++n)
        {
            const size_t panel = isBackward ? panels - 1 - n : n;
            const size_t j = Base::BeginOfPanel(columns, panel);
            const size_t width = EvenWidth(columns - j);
            T* const packed = panelsB + (source == SourceOfB::Packed ? panel * c_columns * depth : 0);
            if (source == SourceOfB::OnDemand)
                PackPanelOfB(g, column + j, width, step, depth, packed);
            const PanelOfB b = source == SourceOfB::InPlace ? InPlace(g, column + j, step) : Packed(packed);
            const size_t next =
                n + 1 < panels ? Base::BeginOfPanel(columns, isBackward ? panel - 1 : panel + 1) : columns;
            for (size_t i = 0; i < rows; i += c_rows)
            {
                T* c = panelOfC.At(row + i, column + j, i, 0);
                if (next < columns && source != SourceOfB::Packed && !g.transB)
                    PrefetchB(g, column + next, EvenWidth(columns - next), step, depth, i / c_rows, tiles);
                TileAt(b, width, depth, packedA + i * depth, g, beta, c, panelOfC.Stride(), Least(c_rows, rows - i),
                       panelOfC.OfTile());
            }
            panelOfC.End(row, rows, column + j, width);
        }
    }

    // The same for an A that has not been packed. Whole panels of it are read in place by a single tile, or packed by
    // the first of several; all others are packed right before their tiles.
    template <bool Ends>
    static void BlockOfPlainA(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                              size_t depth, const T* packedB, T* panel)
    {
        const T beta = step == 0 ? g.beta : T(1);
        typename Base::template PanelOfC<Ends> panelOfC(g, step, depth, c_rows, columns);
        const bool prefetchesA = PrefetchesA(g, (columns + c_columns - 1) / c_columns);
        for (size_t i = 0; i < rows; i += c_rows)
        {
            const size_t height = Least(c_rows, rows - i);
            if (prefetchesA)
                panelOfC.PrefetchNext(LinesOfNextPanel(g, row + i, step, depth, columns));
            // In place, whole registers would be read beyond the last rows.
            const bool isPacked = g.transA || height != c_rows;
            if (isPacked)
                PackPanelOfA(g, row + i, height, step, depth, panel);
            for (size_t j = 0, panelB = 0, width = 0; j < columns; j += width, panelB += c_columns * depth)
            {
                width = EvenWidth(columns - j);
                const PanelOfB b = packedB != nullptr ? Packed(packedB + panelB) : InPlace(g, column + j, step);
                T* c = panelOfC.At(row + i, column + j, 0, j);
                if (isPacked || j > 0)
                    TileAt(b, width, depth, panel, g, beta, c, panelOfC.Stride(), height, panelOfC.OfTile());
                else
                    TileOfPlainA(b, width, depth, g.a + (row + i) + step * g.lda, g, beta, c, panelOfC.Stride(),
                                 panelOfC.OfTile(), columns > c_columns ? panel : nullptr);
            }
            panelOfC.End(row + i, height, column, columns);
        }
    }

    // True if an epilogue that reads other matrices is to be given whole columns: a few rows of a column are no whole
    // lines of the cache, several whole columns are.
    static bool EndsWholeColumns(const GemmTask<T>& g)
    {
        return g.m == g.epilogue->besideStride && g.m % c_lineElements != 0 && g.m <= c_mostRowsOnce;
    }

    // The same for whole columns, one panel of them after another.
    static void BlockOfWholeColumns(const GemmTask<T>& g, size_t column, size_t columns, size_t step, size_t depth,
                                    const T* packedB, T* packedA)
    {
        const T beta = step == 0 ? g.beta : T(1);
        typename Base::template PanelOfC<true> panelOfC(g, step, depth, g.m, c_columns);
        for (size_t j = 0, panelB = 0, width = 0; j < columns; j += width, panelB += c_columns * depth)
        {
            width = EvenWidth(columns - j);
            const PanelOfB b = packedB != nullptr ? Packed(packedB + panelB) : InPlace(g, column + j, step);
            for (size_t i = 0; i < g.m; i += c_rows)
            {
                const size_t height = Least(c_rows, g.m - i);
                T* const a = packedA + i * depth;
                T* c = panelOfC.At(i, column + j, i, 0);
                const bool packs = j == 0 && !g.transA && height == c_rows;
                if (j == 0 && !packs)
                    PackPanelOfA(g, i, height, step, depth, a);
                if (packs)
                    TileOfPlainA(b, width, depth, g.a + i + step * g.lda, g, beta, c, panelOfC.Stride(),
                                 panelOfC.OfTile(), a);
                else
                    TileAt(b, width, depth, a, g, beta, c, panelOfC.Stride(), height, panelOfC.OfTile());
            }
            panelOfC.End(0, g.m, column + j, width);
        }
    }

    // Multiplies one packed panel of A by packed columns of B.
    static void MultiplyPanel(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                              size_t depth, const T* packedA, const T* packedB)
    {
        const T beta = step == 0 ? g.beta : T(1);
        typename Base::template PanelOfC<false> panelOfC(g, step, depth, c_rows, columns);
        for (size_t j = 0, width = 0; j < columns; j += width, packedB += c_columns * depth)
        {
            width = EvenWidth(columns - j);
            TileAt(Packed(packedB), width, depth, packedA, g, beta, panelOfC.At(row, column + j, 0, 0),
                   panelOfC.Stride(), rows, panelOfC.OfTile());
        }
        EndBlock(g, row, rows, column, columns, step, depth);
    }

    // Multiplies packed panels of A by columns of op(b), which are packed into scratchB or read in place. All panels of
    // A, in the second-level cache, are used for one panel of B, in the first, after another.
    static void MultiplyColumns(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns,
                                size_t step, size_t depth, const T* packedA, T* scratchB)
    {
        const SourceOfB source = CanReadB(g) ? SourceOfB::InPlace : g.transB ? SourceOfB::Packed : SourceOfB::OnDemand;
        if (source == SourceOfB::Packed)
            PackB(g, column, columns, step, depth, scratchB);
        const auto block = EndsPanels(g, step, depth) ? &Block<true> : &Block<false>;
        block(g, row, rows, column, columns, step, depth, packedA, source, scratchB);
        EndBlock(g, row, rows, column, columns, step, depth);
    }

    // Steps that are packed at a time: as even as the depth allows, and whole lines of the cache.
    static size_t DepthEach(size_t k)
    {
        const size_t passes = (k + c_depth - 1) / c_depth;
        if (passes <= 1)
            return k;
        return ((k + passes - 1) / passes + c_lineElements - 1) / c_lineElements * c_lineElements;
    }

    // Computes products of one op(b) and of one size, so that b is packed once for all. scratchA, scratchB: c_scratchA
    // and c_scratchB elements, aligned to 64 bytes.
    static void Run(const GemmTask<T>* tasks, size_t count, T* scratchA, T* scratchB)
    {
        const GemmTask<T>& g = tasks[0];
        if (g.n == 1 && !g.transA)
            return RunVectors(tasks, count);
        // Packing pays if each packed value is used often enough.
        const bool isReadable = IsReadable(g);
        const bool isByPanels = g.transA && isReadable && g.n <= c_mostPanelsReadByPanelsOfA * c_columns;
        const bool packA = !isByPanels && g.n > (g.transA ? c_mostUsesOfTransposedA : c_mostUsesOfPlainA) * c_columns;
        const bool packB = !isByPanels && g.m > 8 * c_rows && g.n > c_columns;
        // Panels of B that are used once are packed right before, or read in place. A transposed B is packed several
        // panels at a time, which reads whole lines of the cache.
        const bool isOnce = packA && !g.transB && g.m <= c_mostRowsOnce;
        const SourceOfB source = !packB || (isOnce && isReadable) ? SourceOfB::InPlace
                                 : isOnce                         ? SourceOfB::OnDemand
                                                                  : SourceOfB::Packed;
        const size_t depthEach = DepthEach(g.k);
        // All rows at once if the steps are few, so that the epilogue's matrices are read from one end to the other;
        // also where panels of A are prefetched one after another.
        const bool isWhole = EndsPanels(g, 0, g.k) && g.m <= c_mostRowsOnce && g.m * depthEach <= c_blockRows * c_depth;
        const bool isInOne = isOnce || isWhole || (isByPanels && g.epilogue == nullptr);
        const size_t rowsEach = isInOne ? g.m : EvenRows(g.m);
        for (size_t column = 0; column < g.n; column += c_blockColumns)
        {
            const size_t columns = Least(c_blockColumns, g.n - column);
            for (size_t step = 0; step < g.k; step += depthEach)
            {
                const size_t depth = Least(depthEach, g.k - step);
                if (source == SourceOfB::Packed)
                    PackB(g, column, columns, step, depth, scratchB);
                for (const GemmTask<T>* task = tasks; task < tasks + count; ++task)
                {
                    const T* packedB = source == SourceOfB::Packed ? scratchB : nullptr;
                    const bool ends = EndsPanels(*task, step, depth);
                    if (ends && !packA && EndsWholeColumns(*task))
                    {
                        BlockOfWholeColumns(*task, column, columns, step, depth, packedB, scratchA);
                        continue;
                    }
                    for (size_t row = 0; row < g.m; row += rowsEach)
                    {
                        const size_t rows = Least(rowsEach, g.m - row);
                        if (packA)
                        {
                            PackA(*task, row, rows, step, depth, scratchA);
                            (ends ? &Block<true> : &Block<false>)(*task, row, rows, column, columns, step, depth,
                                                                  scratchA, source, scratchB);
                        }
                        else
                            (ends ? &BlockOfPlainA<true> : &BlockOfPlainA<false>)(*task, row, rows, column, columns,
                                                                                  step, depth, packedB, scratchA);
                        EndBlock(*task, row, rows, column, columns, step, depth);
                    }
                }
            }
        }
    }

    // Computes products with a single column.
    static void RunVectors(const GemmTask<T>* tasks, size_t count)
    {
        for (const GemmTask<T>* task = tasks; task < tasks + count; ++task)
        {
            const size_t depthEach = DepthEach(task->k);
            for (size_t step = 0; step < task->k; step += depthEach)
                GemmVector<T, VectorBytes>::AddSteps(*task, step, Least(depthEach, task->k - step));
            if (task->epilogue != nullptr)
                task->epilogue->apply(*task->epilogue, task->c, task->ldc, task->firstRow, task->firstColumn, task->m,
                                      1);
        }
    }

    static GemmFunctions<T> Functions()
    {
        return {&Run,      &PackA, &PackB,    &MultiplyPanel, &MultiplyColumns, &DepthEach,
                &CanReadB, c_rows, c_columns, c_depth,        c_scratchA,       c_scratchB};
    }

private:
    // Rows that are packed at a time: blocks as even as panels allow.
    static size_t EvenRows(size_t m)
    {
        const size_t blocks = (m + c_blockRows - 1) / c_blockRows;
        return ((m + blocks - 1) / blocks + c_rows - 1) / c_rows * c_rows;
    }

    // Prefetches one of `parts` parts of the next panel of a B that is not transposed. Its columns are too short for
    // the processor's prefetchers.
    static void PrefetchB(const GemmTask<T>& g, size_t column, size_t columns, size_t step, size_t depth, size_t part,
                          size_t parts)
    {
        for (size_t j = part; j < columns; j += parts)
            for (size_t p = 0; p < depth + c_lineElements; p += c_lineElements)
                __builtin_prefetch(g.b + (column + j) * g.ldb + step + Least(p, depth - 1), 0, 2);
    }

    // True if the next panel of A is prefetched during the tiles of one: A does not stay in the second-level cache, its
    // lines are too far apart for the processor's prefetchers, and there are tiles enough.
    static bool PrefetchesA(const GemmTask<T>& g, size_t panelsOfB)
    {
        constexpr size_t c_leastPanelsOfB = 6;
        constexpr size_t c_secondLevelCache = 1 << 20;
        return Base::c_prefetchesNext && panelsOfB >= c_leastPanelsOfB && g.m * g.k * sizeof(T) > c_secondLevelCache;
    }

    // The panel of A after the one at this row. It may be the first one of the next steps.
    static LinesAhead LinesOfNextPanel(const GemmTask<T>& g, size_t row, size_t step, size_t depth, size_t portions)
    {
        row += c_rows;
        if (row >= g.m)
        {
            row = 0;
            step += depth;
        }
        if (step >= g.k)
            return {};
        const size_t rows = Least(c_rows, g.m - row);
        const size_t steps = Least(depth, g.k - step);
        if (g.transA)
            return {g.a + row * g.lda + step, g.lda, rows, steps, portions};
        return {g.a + row + step * g.lda, g.lda, steps, rows, portions};
    }
};

template <size_t VectorBytes, size_t Columns>
ProductKernels MakeProducts()
{
    return {GemmKernel<float, VectorBytes, Columns>::Functions(),
            GemmKernel<double, VectorBytes, Columns>::Functions()};
}

} // namespace
} // namespace cntk
