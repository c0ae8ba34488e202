// The tile of C that a product keeps in registers, and what becomes of tiles that are finished. One source compiled for
// each instruction set; everything is in an unnamed namespace.
#pragma once

#include "Math/Cpu/Kernels/GemmPanels.h"

#include <cstddef>

namespace cntk
{
namespace
{

// As GemmPanels has them.
template <class T, size_t VectorBytes, size_t Columns>
struct GemmTile : GemmPanels<T, VectorBytes, Columns>
{
    using Base = GemmPanels<T, VectorBytes, Columns>;
    using Base::c_columns, Base::c_lanes, Base::c_lineElements, Base::c_rows;
    using Base::Load, Base::Store;
    using typename Base::Vector;
    // Whether tiles ask for what is read after them, or pack a panel of it; measured for wide registers alone.
    static constexpr bool c_asksAhead = VectorBytes == 64;
    static constexpr bool c_packsOnTheWay = VectorBytes == 64;
    // Elements of a panel of C that is written nowhere else.
    static constexpr size_t c_scratchC = 12 * 1024;

    enum class Panels
    {
        Packed,        // A and B
        Plain,         // either of them as it lies
        PlainKeepingA, // and A is packed on the way
    };

    // What a tile asks for: C's lines before its first step; or those and what lies beside C on the way, a column now
    // and then between the steps, since memory takes no more than some lines at once; or what is read after the tile as
    // well, which costs tiles of few steps too much where there is none.
    enum class Asking
    {
        AtOnce,
        OnTheWay,
        Ahead
    };

    // Lines of the cache that will be read soon, by runs that lie apart, asked for a few at a time: all at once would
    // take all places for loads, and a tile's panels wait behind memory.
    class LinesAhead
    {
    public:
        LinesAhead() = default; // none
        // The beginnings of so many runs are stride elements apart. times: how often Ask is called.
        LinesAhead(const T* first, size_t stride, size_t runs, size_t elementsOfRun, size_t times)
            : m_next(first), m_lines((elementsOfRun + c_lineElements - 1) / c_lineElements),
              m_toNextRun(ptrdiff_t(stride) - ptrdiff_t(m_lines * c_lineElements)), m_leftOfRun(m_lines),
              m_left(runs * m_lines), m_atOnce((m_left + times - 1) / times)
        {
        }

        [[gnu::always_inline]] inline void Ask()
        {
            for (size_t count = Least(m_atOnce, m_left); count > 0; --count, --m_left)
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
        size_t m_left = 0; // of all
        size_t m_atOnce = 0;
    };

    // A panel of a transposed A that is packed on the way, a few columns of op(A) at a time: its loads, shuffles and
    // stores find room beside multiply-adds.
    class PanelAhead
    {
    public:
        PanelAhead() = default; // none
        // from: op(A) at its first row and step, rows of it stride elements apart. As CanPack allows; times: how often
        // Pack is called.
        PanelAhead(const T* from, size_t stride, size_t rows, size_t depth, T* to, size_t times)
            : m_from(from), m_stride(stride), m_rows(rows), m_to(to), m_left(rows / c_piece * (depth / c_lanes)),
              m_atOnce((m_left + times - 1) / times)
        {
        }

        static bool CanPack(size_t rows, size_t depth)
        {
            return c_packsOnTheWay && rows % c_piece == 0 && depth % c_lanes == 0;
        }

        [[gnu::always_inline]] inline void Pack()
        {
            for (size_t count = Least(m_atOnce, m_left); count > 0; --count, --m_left)
            {
                Vector piece[c_piece];
                const T* row = m_from + m_row * m_stride;
#pragma GCC unroll 4
                for (size_t i = 0; i < c_piece; ++i, row += m_stride)
                    Load(piece[i], row);
                Base::Transpose::StoreColumns(piece, m_to + m_row, c_rows);
                m_row += c_piece;
                if (m_row == m_rows)
                {
                    m_row = 0;
                    m_from += c_lanes;
                    m_to += c_lanes * c_rows;
                }
            }
        }

    private:
        static constexpr size_t c_piece = Base::Transpose::c_inPart; // rows, of c_lanes steps

        const T* m_from = nullptr;
        size_t m_stride = 0;
        size_t m_rows = 0;
        T* m_to = nullptr;
        size_t m_left = 0; // pieces
        size_t m_atOnce = 0;
        size_t m_row = 0; // of the next piece
    };

    // What lies at a tile's place in the matrices that the epilogue of C reads, if any, and what is to be asked for on
    // the way besides.
    struct BesideC
    {
        const T* first = nullptr;
        const T* second = nullptr;
        size_t stride = 0;
        bool asksForC = true;  // C is not in the first-level cache anyway
        bool isAhead = false;  // there is something to ask for after the tiles
        LinesAhead ahead = {}; // of which a tile takes its part
        PanelAhead panel = {}; // and of this, where it has two registers of rows and B lies as it is
    };

    // How many panels of B of even width there are, and where they begin.
    static constexpr size_t PanelsOf(size_t columns)
    {
        const size_t whole = Base::WholePanels(columns) * c_columns;
        return Base::WholePanels(columns) + (Base::EvenWidth(columns - whole) < columns - whole ? 2 : 1);
    }
    static constexpr size_t BeginOfPanel(size_t columns, size_t panel)
    {
        const size_t whole = Base::WholePanels(columns);
        return panel <= whole ? panel * c_columns : whole * c_columns + Base::EvenWidth(columns - whole * c_columns);
    }

    // Asks for all lines of the cache that a tile's column is in: one more where it does not begin with one of them.
    template <bool IsWritten, size_t V>
    [[gnu::always_inline]] static inline void AskForColumn(const T* column)
    {
#pragma GCC unroll 4
        for (size_t i = 0; i < V * c_lanes; i += c_lineElements)
            __builtin_prefetch(column + i, IsWritten);
        __builtin_prefetch(column + V * c_lanes - 1, IsWritten);
    }

    // C tile = beta * C tile + alpha * A panel * B panel, N columns. a: V registers of a panel's c_rows values a step,
    // steps aStride apart; b[p][j] at b + p*bRow + j*bColumn. Of C only so many rows exist, the last of them in the
    // last register. With packed panels the strides are known when compiling. kept: not null where the panel of A is to
    // be packed on the way. Not in line, where the compiler runs out of registers.
    template <Panels Kind, size_t N, size_t V, Asking When>
    [[gnu::noinline]] static void Tile(size_t depth, const T* a, size_t aStride, const T* b, size_t bRow,
                                       size_t bColumn, T alpha, T beta, T* c, size_t ldc, size_t rows, BesideC* beside,
                                       T* kept)
    {
        if constexpr (Kind == Panels::Packed)
        {
            aStride = c_rows;
            bRow = c_columns;
            bColumn = 1;
        }
        if constexpr (When == Asking::AtOnce)
#pragma GCC unroll 16
            for (size_t j = 0; j < N; ++j)
            {
                if constexpr (V == 2)
                    AskForColumn<true, V>(c + j * ldc);
                else
                    __builtin_prefetch(c + j * ldc, 1);
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
        };
        if constexpr (When != Asking::AtOnce)
        {
            const T* ofC = c;
            const T* first = beside->first;
            const T* second = beside->second;
            LinesAhead ahead;
            if constexpr (When == Asking::Ahead)
                ahead = beside->ahead;
            for (size_t column = 0; column < N; ++column)
            {
                if (beside->asksForC)
                    AskForColumn<true, V>(ofC);
                ofC += ldc;
                if (first != nullptr)
                {
                    AskForColumn<false, V>(first);
                    first += beside->stride;
                    AskForColumn<false, V>(second);
                    second += beside->stride;
                }
                if constexpr (When == Asking::Ahead)
                    ahead.Ask();
                if constexpr (When == Asking::Ahead && c_packsOnTheWay && Kind == Panels::Plain && V == 2)
                    beside->panel.Pack();
                addSteps(depth * column / N, depth * (column + 1) / N);
            }
            if constexpr (When == Asking::Ahead)
                beside->ahead = ahead;
        }
        else
            addSteps(0, depth);
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
                       size_t bColumn, T alpha, T beta, T* c, size_t ldc, size_t rows, BesideC* beside,
                       T* kept = nullptr)
    {
        if constexpr (N > 0)
        {
            if (columns != N)
                TileOf<Kind, N - 1>(columns, depth, a, aStride, b, bRow, bColumn, alpha, beta, c, ldc, rows, beside,
                                    kept);
            else if (rows > c_lanes || Kind == Panels::PlainKeepingA)
                TileThatAsks<Kind, N, 2>(beside)(depth, a, aStride, b, bRow, bColumn, alpha, beta, c, ldc, rows, beside,
                                                 kept);
            else if constexpr (Kind != Panels::PlainKeepingA)
                TileThatAsks<Kind, N, 1>(beside)(depth, a, aStride, b, bRow, bColumn, alpha, beta, c, ldc, rows, beside,
                                                 kept);
        }
    }
    template <Panels Kind, size_t N, size_t V>
    static auto TileThatAsks(const BesideC* beside)
    {
        constexpr Asking most = c_asksAhead ? Asking::Ahead : Asking::OnTheWay; // narrow registers never have more
        if (beside == nullptr)
            return &Tile<Kind, N, V, Asking::AtOnce>;
        return beside->isAhead ? &Tile<Kind, N, V, most> : &Tile<Kind, N, V, Asking::OnTheWay>;
    }

    // Whether C is asked for on the way: where it comes from beyond the second-level cache, loads of panels would wait
    // behind all of it. Measured for wide registers alone.
    static constexpr size_t c_leastStepsToAskOnTheWay = 96;
    static constexpr size_t c_nearC = size_t(512) << 10; // bytes
    static bool AsksForC(const GemmTask<T>& g, size_t depth)
    {
        return sizeof(Vector) == 64 && depth >= c_leastStepsToAskOnTheWay && g.m * g.n * sizeof(T) > c_nearC;
    }

    // The part of C that is finished before the next one is begun, of an epilogue that reads other matrices: a panel's
    // rows or columns. It is ended while it is in the first-level cache; where nobody else reads C, it is scratch
    // memory that never leaves the cache. Ends: these are C's last steps, and it has such an epilogue. Else C's own
    // memory.
    template <bool Ends>
    class PanelOfC
    {
    public:
        // rows, columns: the most that it has. depth: steps that are added.
        PanelOfC(const GemmTask<T>& g, size_t step, size_t depth, size_t rows, size_t columns)
            : m_task(g),
              m_isScratch(Ends && g.epilogue->replacesC && step == 0 && g.beta == 0 && rows * columns <= c_scratchC),
              m_stride(m_isScratch ? rows : g.ldc), m_asksOnTheWay(Ends || AsksForC(g, depth))
        {
        }

        size_t Stride() const { return m_stride; }

        // Where the tile at a row and a column of C is written.
        T* At(size_t row, size_t column, size_t rowOfPanel, size_t columnOfPanel)
        {
            if constexpr (Ends)
            {
                const GemmEpilogue<T>& ending = *m_task.epilogue;
                const size_t place = m_task.firstRow + row + (m_task.firstColumn + column) * ending.besideStride;
                m_beside.first = ending.beside[0] + place;
                m_beside.second = ending.beside[1] + place;
                m_beside.stride = ending.besideStride;
                m_beside.asksForC = !m_isScratch;
                if (m_isScratch)
                    return m_scratch + rowOfPanel + columnOfPanel * m_stride;
            }
            return m_task.c + row + column * m_task.ldc;
        }
        // During the tiles that follow.
        void AskFor(const LinesAhead& ahead)
        {
            m_beside.ahead = ahead;
            m_beside.isAhead = true;
            m_asksOnTheWay = true;
        }
        // By the tiles that follow, which ask for something as well.
        void Pack(const PanelAhead& panel) { m_beside.panel = panel; }
        // At the same place; null: C is asked for at once.
        BesideC* Beside() { return m_asksOnTheWay ? &m_beside : nullptr; }

        // Behind its last tile.
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
        bool m_asksOnTheWay;
        BesideC m_beside;
        alignas(64) T m_scratch[Ends ? c_scratchC : 1];
    };

    static void ApplyEpilogue(const GemmTask<T>& g, T* block, size_t stride, size_t row, size_t rows, size_t column,
                              size_t columns)
    {
        g.epilogue->apply(*g.epilogue, block, stride, g.firstRow + row, g.firstColumn + column, rows, columns);
    }

    // Whether panels of C are ended behind these steps.
    static bool EndsPanels(const GemmTask<T>& g, size_t step, size_t depth)
    {
        return g.epilogue != nullptr && g.epilogue->beside[0] != nullptr && step + depth == g.k;
    }

    // An epilogue that reads C alone takes more rows at once.
    static void EndBlock(const GemmTask<T>& g, size_t row, size_t rows, size_t column, size_t columns, size_t step,
                         size_t depth)
    {
        if (g.epilogue != nullptr && g.epilogue->beside[0] == nullptr && step + depth == g.k)
            ApplyEpilogue(g, g.c + row + column * g.ldc, g.ldc, row, rows, column, columns);
    }
};

} // namespace
} // namespace cntk
