// The project's own matrix product, one source compiled for each instruction
// set: column-major, packed in panels as Goto's algorithm has it, with a path
// that packs nothing for the small and skinny products of small networks.
// Everything is in an unnamed namespace: code for one instruction set must
// never be linked into another's.
#pragma once

#include "Math/Cpu/Kernels/GemmColumn.h"

#include <cstddef>

namespace cntk
{
namespace
{

// VectorBytes: width of a register. c_rows x c_columns: the tile of C that is
// kept in registers.
template <class T, size_t VectorBytes, size_t Columns>
struct GemmKernel : GemmColumn<T, VectorBytes, Columns>
{
    using Base = GemmColumn<T, VectorBytes, Columns>;
    using Base::c_blockColumns, Base::c_blockRows, Base::c_columns, Base::c_depth, Base::c_lanes, Base::c_lineElements,
        Base::c_mostRowsOnce, Base::c_rows, Base::c_scratchA, Base::c_scratchB;
    using Base::EndBlock, Base::EndsPanels, Base::EvenWidth, Base::FetchB, Base::FetchesA, Base::FetchPanel,
        Base::LinesOfA, Base::PackA, Base::PackB, Base::PackPanelOfB;
    using typename Base::Panels;

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
    static bool IsReadable(const GemmTask<T>& g) { return !g.transB && g.ldb * sizeof(T) % c_clashingBytes != 0; }

    // The same in tiles that threads share out; measured for wide registers alone.
    static bool CanTilesReadB(const GemmTask<T>& g) { return VectorBytes == 64 && IsReadable(g); }

    // The inner loops over a block of packed A. panelsB: all panels of B, or room for one.
    template <bool Ends>
    static void Block(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                      size_t depth, const T* packedA, SourceOfB source, T* panelsB)
    {
        const T beta = step == 0 ? g.beta : T(1);
        typename Base::template PanelOfC<Ends> panelOfC(g, step, depth, rows, c_columns);
        const size_t tiles = (rows + c_rows - 1) / c_rows;
        const size_t panels = Base::PanelsOf(columns);
        // What lies beside C will be read from its beginning the next time: that is then still in the cache. Of several
        // blocks each goes forward, as the processor's prefetchers do.
        const bool isBackward = Ends && rows == g.m && depth == g.k;
        for (size_t n = 0; n < panels; ++n)
        {
            const size_t panel = isBackward ? panels - 1 - n : n;
            const size_t j = Base::BeginOfPanel(columns, panel);
            const size_t width = EvenWidth(columns - j);
            T* const packed = panelsB + (source == SourceOfB::Packed ? panel * c_columns * depth : 0);
            if (source == SourceOfB::OnTheWay)
                PackPanelOfB(g, column + j, width, step, depth, packed);
            const PlainB b = source == SourceOfB::Plain ? At(g, column + j, step) : PlainB{packed, c_columns, 1};
            const size_t next =
                n + 1 < panels ? Base::BeginOfPanel(columns, isBackward ? panel - 1 : panel + 1) : columns;
            for (size_t i = 0; i < rows; i += c_rows)
            {
                const size_t height = Least(c_rows, rows - i);
                const T* a = packedA + i * depth;
                T* c = panelOfC.At(row + i, column + j, i, 0);
                if (next < columns && source != SourceOfB::Packed && !g.transB)
                    FetchB(g, column + next, EvenWidth(columns - next), step, depth, i / c_rows, tiles);
                if (source != SourceOfB::Plain)
                    Base::template TileOf<Panels::Packed>(width, depth, a, c_rows, b.data, c_columns, 1, g.alpha, beta,
                                                          c, panelOfC.Stride(), height, panelOfC.Beside());
                else
                    Base::template TileOf<Panels::Plain>(width, depth, a, c_rows, b.data, b.row, b.column, g.alpha,
                                                         beta, c, panelOfC.Stride(), height, panelOfC.Beside());
            }
            panelOfC.End(row, rows, column + j, width);
        }
    }

    // The same with A as it lies: each panel of it is packed by the first tile
    // that needs it.
    template <bool Ends>
    static void BlockOfPlainA(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                              size_t depth, const T* packedB, T* panel)
    {
        const T beta = step == 0 ? g.beta : T(1);
        typename Base::template PanelOfC<Ends> panelOfC(g, step, depth, c_rows, columns);
        const size_t panels = (columns + c_columns - 1) / c_columns;
        const bool fetches = FetchesA(g, panels);
        // Where the next panel is packed on the way, the one behind that is asked for.
        const bool packsNext = Base::c_packsOnTheWay && fetches && g.transA && packedB == nullptr && g.m > c_rows;
        T* nextPanel = panel + c_rows * depth;
        bool isThere = false;
        for (size_t i = 0; i < rows; i += c_rows)
        {
            const size_t height = Least(c_rows, rows - i);
            if (fetches)
                panelOfC.AskFor(LinesOfA(g, row + i, packsNext ? 2 : 1, step, depth, columns));
            // A whole register must not be read beyond the last rows.
            bool isPacked = g.transA || height != c_rows;
            if (isPacked && !isThere)
                Base::PackPanelOfA(g, row + i, height, step, depth, !fetches, panel);
            const size_t nextHeight = Least(c_rows, rows - i - height);
            isThere = packsNext && nextHeight > 0 && Base::PanelAhead::CanPack(nextHeight, depth);
            if (isThere)
                panelOfC.Pack({g.a + (row + i + height) * g.lda + step, g.lda, nextHeight, depth, nextPanel, columns});
            for (size_t j = 0, panelB = 0, width = 0; j < columns; j += width, panelB += c_columns * depth)
            {
                width = EvenWidth(columns - j);
                const PlainB b = packedB != nullptr ? PlainB{packedB + panelB, c_columns, 1} : At(g, column + j, step);
                const T* a = isPacked ? panel : g.a + (row + i) + step * g.lda;
                const size_t aStride = isPacked ? c_rows : g.lda;
                T* c = panelOfC.At(row + i, column + j, 0, j);
                if (isPacked && packedB != nullptr)
                    Base::template TileOf<Panels::Packed>(width, depth, a, aStride, b.data, b.row, b.column, g.alpha,
                                                          beta, c, panelOfC.Stride(), height, panelOfC.Beside());
                else if (isPacked || columns <= c_columns)
                    Base::template TileOf<Panels::Plain>(width, depth, a, aStride, b.data, b.row, b.column, g.alpha,
                                                         beta, c, panelOfC.Stride(), height, panelOfC.Beside());
                else
                {
                    Base::template TileOf<Panels::PlainKeepingA>(width, depth, a, aStride, b.data, b.row, b.column,
                                                                 g.alpha, beta, c, panelOfC.Stride(), height,
                                                                 panelOfC.Beside(), panel);
                    isPacked = true;
                }
            }
            panelOfC.End(row + i, height, column, columns);
            if (isThere)
            {
                T* const multiplied = panel;
                panel = nextPanel;
                nextPanel = multiplied;
            }
        }
    }

    // Whether an epilogue that reads other matrices is to be given columns in one piece, all rows of them: where some
    // rows of a column are no whole lines of the cache, but several whole columns are.
    static bool EndsWholeColumns(const GemmTask<T>& g)
    {
        return g.m == g.epilogue->besideStride && g.m % c_lineElements != 0 && g.m <= c_mostRowsOnce;
    }

    // The inner loops for it: panels of columns one by one. A as it lies is packed by the tiles of the first.
    static void BlockOfWholeColumns(const GemmTask<T>& g, size_t column, size_t columns, size_t step, size_t depth,
                                    const T* packedB, T* packedA)
    {
        const T beta = step == 0 ? g.beta : T(1);
        typename Base::template PanelOfC<true> panelOfC(g, step, depth, g.m, c_columns);
        for (size_t j = 0, panelB = 0, width = 0; j < columns; j += width, panelB += c_columns * depth)
        {
            width = EvenWidth(columns - j);
            const PlainB b = packedB != nullptr ? PlainB{packedB + panelB, c_columns, 1} : At(g, column + j, step);
            for (size_t i = 0; i < g.m; i += c_rows)
            {
                const size_t height = Least(c_rows, g.m - i);
                T* const a = packedA + i * depth;
                T* c = panelOfC.At(i, column + j, i, 0);
                const bool packs = j == 0 && !g.transA && height == c_rows;
                if (j == 0 && !packs)
                    PackA(g, i, height, step, depth, a);
                if (packs)
                    Base::template TileOf<Panels::PlainKeepingA>(width, depth, g.a + i + step * g.lda, g.lda, b.data,
                                                                 b.row, b.column, g.alpha, beta, c, panelOfC.Stride(),
                                                                 height, panelOfC.Beside(), a);
                else if (packedB != nullptr)
                    Base::template TileOf<Panels::Packed>(width, depth, a, c_rows, b.data, b.row, b.column, g.alpha,
                                                          beta, c, panelOfC.Stride(), height, panelOfC.Beside());
                else
                    Base::template TileOf<Panels::Plain>(width, depth, a, c_rows, b.data, b.row, b.column, g.alpha,
                                                         beta, c, panelOfC.Stride(), height, panelOfC.Beside());
            }
            panelOfC.End(0, g.m, column + j, width);
        }
    }

    // A tile of C of packed panels of A and of B, where it is packed. Of packed ones a panel of A stays in the
    // first-level cache, the tile's panels of B in the second.
    template <bool Ends>
    static void TileOfPacked(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                             size_t depth, const T* packedA, const T* packedB)
    {
        if (packedB == nullptr)
            return Block<Ends>(g, row, rows, column, columns, step, depth, packedA, SourceOfB::Plain, nullptr);
        const T beta = step == 0 ? g.beta : T(1);
        typename Base::template PanelOfC<Ends> panelOfC(g, step, depth, c_rows, columns);
        for (size_t i = 0; i < rows; i += c_rows)
        {
            const size_t height = Least(c_rows, rows - i);
            for (size_t j = 0; j < columns; j += c_columns)
            {
                if (i + c_rows < rows)
                    FetchPanel(packedA + (i + c_rows) * depth, c_rows * depth, j / c_columns,
                               (columns + c_columns - 1) / c_columns);
                T* c = panelOfC.At(row + i, column + j, 0, j);
                Base::template TileOf<Panels::Packed>(Least(c_columns, columns - j), depth, packedA + i * depth, c_rows,
                                                      packedB + j * depth, c_columns, 1, g.alpha, beta, c,
                                                      panelOfC.Stride(), height, panelOfC.Beside());
            }
            panelOfC.End(row + i, height, column, columns);
        }
    }

    // Columns of C of packed panels of A, with op(b) as it is: packed into scratchB or read as it lies. All panels of A
    // pass by each panel of B, which stays in the first-level cache, as they do in the second.
    static void MultiplyColumns(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns,
                                size_t step, size_t depth, const T* packedA, T* scratchB)
    {
        const SourceOfB source = CanTilesReadB(g) ? SourceOfB::Plain
                                 : g.transB       ? SourceOfB::Packed
                                                  : SourceOfB::OnTheWay;
        if (source == SourceOfB::Packed)
            PackB(g, column, columns, step, depth, true, scratchB);
        const auto block = EndsPanels(g, step, depth) ? &Block<true> : &Block<false>;
        block(g, row, rows, column, columns, step, depth, packedA, source, scratchB);
        EndBlock(g, row, rows, column, columns, step, depth);
    }

    static void EndedTileOfPacked(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns,
                                  size_t step, size_t depth, const T* packedA, const T* packedB)
    {
        const auto tile = EndsPanels(g, step, depth) ? &TileOfPacked<true> : &TileOfPacked<false>;
        tile(g, row, rows, column, columns, step, depth, packedA, packedB);
        EndBlock(g, row, rows, column, columns, step, depth);
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
        // All rows of few steps where that lets what an epilogue reads be read from one end to the other.
        const bool isWhole = EndsPanels(g, 0, g.k) && g.m <= c_mostRowsOnce && g.m * depthEach <= c_blockRows * c_depth;
        // All rows as well where the panels of A follow one another through them.
        const bool isInOne = isOnce || isWhole || (isByPanels && g.epilogue == nullptr);
        const size_t rowsEach = isInOne ? g.m : EvenRows(g.m);
        for (size_t column = 0; column < g.n; column += c_blockColumns)
        {
            const size_t columns = Least(c_blockColumns, g.n - column);
            for (size_t step = 0; step < g.k; step += depthEach)
            {
                const size_t depth = Least(depthEach, g.k - step);
                if (source == SourceOfB::Packed)
                    PackB(g, column, columns, step, depth, true, scratchB);
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

    // Rows that are packed at a time: blocks as even as panels allow.
    static size_t EvenRows(size_t m)
    {
        const size_t blocks = (m + c_blockRows - 1) / c_blockRows;
        return ((m + blocks - 1) / blocks + c_rows - 1) / c_rows * c_rows;
    }

    static GemmFunctions<T> Functions()
    {
        return {&Run,
                &PackA,
                &Base::PackAndMultiply,
                &Base::MultiplyPanel,
                &Base::PackWholePanelsOfB,
                &EndedTileOfPacked,
                &MultiplyColumns,
                &DepthEach,
                &CanTilesReadB,
                VectorBytes == 64,
                c_rows,
                c_columns,
                c_depth,
                c_scratchA,
                c_scratchB};
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
