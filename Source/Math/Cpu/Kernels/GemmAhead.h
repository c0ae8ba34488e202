// What a product asks memory for before it is needed: the next panels of its operands.
#pragma once

#include "Math/Cpu/Kernels/GemmTile.h"

#include <cstddef>

namespace cntk
{
namespace
{

template <class T, size_t VectorBytes, size_t Columns>
struct GemmAhead : GemmTile<T, VectorBytes, Columns>
{
    using Base = GemmTile<T, VectorBytes, Columns>;
    using Base::c_lineElements, Base::c_rows;

    // Asks for a part of what the next panel of B, which is not transposed, is made of: its columns are too short for a
    // prefetcher of the processor to see them coming.
    static void FetchB(const GemmTask<T>& g, size_t column, size_t columns, size_t step, size_t depth, size_t part,
                       size_t parts)
    {
        for (size_t j = part; j < columns; j += parts)
            for (size_t p = 0; p < depth + c_lineElements; p += c_lineElements)
                __builtin_prefetch(g.b + (column + j) * g.ldb + step + Least(p, depth - 1), 0, 2);
    }

    // From so many panels of B and so large a matrix on, the next panel of A is asked for while one is multiplied: its
    // lines are too far apart for a prefetcher of the processor to see them coming.
    static constexpr size_t c_leastPanelsToFetchA = 6;
    static constexpr size_t c_secondCache = 1 << 20;
    static bool FetchesA(const GemmTask<T>& g, size_t panels)
    {
        return VectorBytes == 64 && panels >= c_leastPanelsToFetchA && g.m * g.k * sizeof(T) > c_secondCache;
    }

    // The panel of A so many behind the one from this row on, which may be one of the next steps; times: as LinesAhead
    // has it.
    static typename Base::LinesAhead LinesOfA(const GemmTask<T>& g, size_t row, size_t panels, size_t step,
                                              size_t depth, size_t times)
    {
        const size_t rowsOfPanels = (g.m + c_rows - 1) / c_rows * c_rows;
        row += panels * c_rows;
        if (row >= rowsOfPanels)
        {
            row -= rowsOfPanels;
            step += depth;
        }
        if (step >= g.k || row >= g.m)
            return {};
        const size_t rows = Least(c_rows, g.m - row);
        const size_t steps = Least(depth, g.k - step);
        if (g.transA)
            return {g.a + row * g.lda + step, g.lda, rows, steps, times};
        return {g.a + row + step * g.lda, g.lda, steps, rows, times};
    }

    // Asks for a part of a packed panel.
    static void FetchPanel(const T* panel, size_t elements, size_t part, size_t parts)
    {
        const size_t share = (elements / c_lineElements + parts - 1) / parts * c_lineElements;
        for (size_t at = part * share; at < Least((part + 1) * share, elements); at += c_lineElements)
            __builtin_prefetch(panel + at, 0, 2);
    }
};

} // namespace
} // namespace cntk
