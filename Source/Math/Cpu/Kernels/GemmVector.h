// Multiplies a matrix that is read in place by one column. Memory limits such a product, so the matrix is read once,
// with as many sums in registers as hide the latency of additions. Each sum has the order, and so the bits, of a
// tile's.
#pragma once

#include "Math/Cpu/Kernels/GemmPanels.h"

#include <cstddef>

namespace cntk
{
namespace
{

template <class T, size_t VectorBytes>
struct GemmVector : private GemmPanels<T, VectorBytes, 4> // its loads and stores
{
    using Base = GemmPanels<T, VectorBytes, 4>;
    using Base::c_lanes, Base::Load, Base::Store;
    using typename Base::Vector;
    static constexpr size_t c_mostSums = VectorBytes == 64 ? 16 : 8; // registers
    static constexpr size_t c_rowsTogether = 4;                      // without registers
    static constexpr size_t c_columnsAhead = 8;                      // prefetched

    // c = beta * c + alpha * a * b for some steps; the steps from 1 on add to the sums of those before.
    static void AddSteps(const GemmTask<T>& g, size_t step, size_t depth)
    {
        const Steps steps{g.a + step * g.lda,       g.lda, g.transB ? g.b + step * g.ldb : g.b + step,
                          g.transB ? g.ldb : 1,     depth, g.alpha,
                          step == 0 ? g.beta : T(1)};
        if (g.m < c_lanes)
            return AddFewRows(steps, g.c, g.m);
        const size_t vectors = (g.m + c_lanes - 1) / c_lanes;
        const size_t passes = (vectors + c_mostSums - 1) / c_mostSums;
        const size_t each = (vectors + passes - 1) / passes;
        for (size_t row = 0; row < g.m; row += each * c_lanes)
        {
            const size_t rows = Least(each * c_lanes, g.m - row);
            Steps part = steps;
            part.a += row;
            if (rows < c_lanes)
                AddFewRows(part, g.c + row, rows);
            else
                Add<c_mostSums>((rows + c_lanes - 1) / c_lanes, part, g.c + row, rows);
        }
    }

private:
    struct Steps
    {
        const T* a;
        size_t lda;
        const T* b;
        size_t strideB;
        size_t depth;
        T alpha;
        T beta;
    };

    template <size_t V>
    static void Add(size_t vectors, const Steps& s, T* c, size_t rows)
    {
        if constexpr (V > 1)
            if (vectors != V)
                return Add<V - 1>(vectors, s, c, rows);
        AddVectors<V>(s, c, rows);
    }

    // The last register holds the last rows, and may repeat some of the one before. Not inlined: the compiler would run
    // out of registers.
    template <size_t V>
    [[gnu::noinline]] static void AddVectors(const Steps& s, T* c, size_t rows)
    {
        const size_t last = rows - c_lanes;
        const T* a = s.a;
        const T* b = s.b;
        Vector sums[V] = {};
        for (size_t p = 0; p < s.depth; ++p, a += s.lda, b += s.strideB)
        {
            const T factor = *b;
#pragma GCC unroll 16
            for (size_t v = 0; v < V; ++v)
            {
                const T* const from = v + 1 < V ? a + v * c_lanes : a + last;
                __builtin_prefetch(from + c_columnsAhead * s.lda);
                Vector of;
                Load(of, from);
                sums[v] += of * factor;
            }
        }
#pragma GCC unroll 16
        for (size_t v = 0; v + 1 < V; ++v)
            End(sums[v], s, c + v * c_lanes);
        const size_t done = (V - 1) * c_lanes;
        if (done == last)
            return End(sums[V - 1], s, c + last);
        EndFirst(sums[V - 1], s, c + last, done - last, rows - done);
    }

    static void End(Vector& sum, const Steps& s, T* c)
    {
        sum *= s.alpha;
        if (s.beta != 0)
        {
            Vector before;
            Load(before, c);
            sum += s.beta * before;
        }
        Store(c, sum);
    }

    // The same for `count` elements from `first` on. With vectors, too: a compiler may contract other code otherwise.
    static void EndFirst(Vector& sum, const Steps& s, T* c, size_t first, size_t count)
    {
        T all[c_lanes] = {};
        for (size_t i = 0; i < count; ++i)
            all[first + i] = c[first + i];
        End(sum, s, all);
        for (size_t i = 0; i < count; ++i)
            c[first + i] = all[first + i];
    }

    // Fewer rows than a register holds.
    static void AddFewRows(const Steps& s, T* c, size_t rows)
    {
#if defined(CNTK_GEMM_MASKS)
        if constexpr (Base::c_hasMasks)
        {
            Vector sum = {};
            for (size_t p = 0; p < s.depth; ++p)
            {
                Vector of;
                Base::LoadFirst(of, s.a + p * s.lda, rows);
                sum += of * s.b[p * s.strideB];
            }
            return EndFirst(sum, s, c, 0, rows);
        }
#endif
        T sums[c_lanes] = {};
        for (size_t row = 0; row < rows; row += c_rowsTogether)
        {
            const size_t count = Least(c_rowsTogether, rows - row);
            T together[c_rowsTogether] = {};
            for (size_t p = 0; p < s.depth; ++p)
                for (size_t i = 0; i < count; ++i)
                    together[i] += s.a[p * s.lda + row + i] * s.b[p * s.strideB];
            for (size_t i = 0; i < count; ++i)
                sums[row + i] = together[i];
        }
        Vector sum;
        Load(sum, sums);
        EndFirst(sum, s, c, 0, rows);
    }
};

} // namespace
} // namespace cntk
