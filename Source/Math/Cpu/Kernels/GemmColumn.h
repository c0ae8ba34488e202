// Products of one column, made while their left operand is packed: a pass of its own over the panels, which may be more
// than a cache holds, would take as long as memory brings them. One source compiled for each instruction set;
// everything is in an unnamed namespace.
#pragma once

#include "Math/Cpu/Kernels/GemmAhead.h"

#include <cstddef>

namespace cntk
{
namespace
{

// As GemmPanels has them.
template <class T, size_t VectorBytes, size_t Columns>
struct GemmColumn : GemmAhead<T, VectorBytes, Columns>
{
    using Base = GemmAhead<T, VectorBytes, Columns>;
    using Base::Add, Base::Load, Base::PackA, Base::Store;
    using Base::c_lanes, Base::c_panelsTogether, Base::c_rows;
    using typename Base::Panels;
    using typename Base::Vector;

    // Steps that A is asked for ahead: the processor does not foresee short pieces that lie as far apart as a column is
    // long. Measured for wide registers alone.
    static constexpr size_t c_stepsAhead = 14;

    // Panels of an A that is not transposed, and c = beta * c + alpha * their product with a column b, while they are
    // in registers: to the last bit what tiles of them give.
    template <size_t PanelCount>
    static void PackPlainAOnce(const T* from, size_t stride, size_t depth, T* to, const T* b, T alpha, T beta, T* c)
    {
        constexpr size_t parts = 2 * PanelCount;
        Vector sums[parts] = {};
        for (size_t p = 0; p < depth; ++p, from += stride)
        {
            const T factor = b[p];
#pragma GCC unroll 8
            for (size_t part = 0; part < parts; ++part)
            {
                Vector vector;
                Load(vector, from + part * c_lanes);
                if constexpr (VectorBytes == 64)
                    __builtin_prefetch(from + c_stepsAhead * stride + part * c_lanes);
                Store(to + (part / 2 * depth + p) * c_rows + part % 2 * c_lanes, vector);
                sums[part] += vector * factor;
            }
        }
#pragma GCC unroll 8
        for (size_t part = 0; part < parts; ++part)
            Add(sums[part], alpha, beta, c + part * c_lanes);
    }

    // A panel of packed A by a column of B that lies along the steps.
    static void MultiplyPanel(const GemmTask<T>& g, size_t row, size_t rows, size_t step, size_t depth, const T* panel)
    {
        Base::template TileOf<Panels::Plain>(1, depth, panel, c_rows, g.b + step, 1, g.ldb, g.alpha,
                                             step == 0 ? g.beta : T(1), g.c + row, g.ldc, rows, nullptr);
    }

    // Panels of an A that is not transposed, and on the way a product of one column.
    static void PackAndMultiply(const GemmTask<T>& g, size_t row, size_t rows, size_t step, size_t depth, T* to)
    {
        constexpr decltype(&PackPlainAOnce<1>) c_functions[] = {&PackPlainAOnce<1>, &PackPlainAOnce<2>,
                                                                &PackPlainAOnce<3>, &PackPlainAOnce<4>};
        while (rows >= c_rows)
        {
            const size_t together = Least(c_panelsTogether, rows / c_rows);
            c_functions[together - 1](g.a + row + step * g.lda, g.lda, depth, to, g.b + step, g.alpha,
                                      step == 0 ? g.beta : T(1), g.c + row);
            row += together * c_rows;
            rows -= together * c_rows;
            to += together * c_rows * depth;
        }
        if (rows == 0)
            return;
        PackA(g, row, rows, step, depth, to);
        MultiplyPanel(g, row, rows, step, depth, to);
    }
};

} // namespace
} // namespace cntk
