// Gradient descent with and without momentum: one pass over the parameter.
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/ThreadPool.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>

namespace cntk
{

namespace
{

// Blocks of so many elements are visited from the last to the first: the end of a gradient that was just worked out is
// still in the cache, and the beginning of the parameter will be, which the next product begins with.
constexpr size_t c_block = 16 * 1024;

template <class T>
T* At(const MatrixView& view, size_t column, size_t row)
{
    return view.As<T>() + column * view.stride + row;
}

// Touched columns that are asked for ahead: they lie anywhere, so that no prefetcher of the processor knows them.
constexpr size_t c_columnsAhead = 3;

void AskFor(const MatrixView& view, size_t column)
{
    const size_t size = SizeOf(view.type);
    const auto* const first = static_cast<const std::byte*>(view.data) + column * view.stride * size;
    for (size_t at = 0; at < view.rows * size; at += 64)
        __builtin_prefetch(first + at, 1);
}

// body(column, row, count) for stretches of the parameter, which is the first of the matrices, that the threads share
// out: of touched columns, or of all elements, which count as one column where all matrices are in one piece.
template <class Body>
void ForEachStretch(ThreadPool& pool, std::initializer_list<MatrixView> matrices, const TouchedColumns* touched,
                    Body&& body)
{
    const MatrixView& parameter = *matrices.begin();
    if (touched)
    {
        const size_t columns = touched->columns.size();
        ForEachPart(pool, columns, 1, UsefulThreads(2 * columns * parameter.rows, pool),
                    [&](int, size_t begin, size_t end)
                    {
                        for (size_t i = begin; i < end; ++i)
                        {
                            if (i + c_columnsAhead < end)
                                for (const MatrixView& matrix : matrices)
                                    AskFor(matrix, size_t(touched->columns[i + c_columnsAhead]));
                            body(size_t(touched->columns[i]), 0, parameter.rows);
                        }
                    });
        return;
    }
    const int parts = UsefulThreads(2 * parameter.Elements(), pool);
    if (std::all_of(matrices.begin(), matrices.end(), [](const MatrixView& matrix) { return matrix.IsContiguous(); }))
    {
        ForEachPart(pool, parameter.Elements(), 64, parts,
                    [&](int, size_t begin, size_t end)
                    {
                        while (end > begin)
                        {
                            const size_t first = begin + (end - begin - 1) / c_block * c_block;
                            body(0, first, end - first);
                            end = first;
                        }
                    });
        return;
    }
    ForEachPart(pool, parameter.columns, 1, parts,
                [&](int, size_t begin, size_t end)
                {
                    for (size_t column = begin; column < end; ++column)
                        body(column, 0, parameter.rows);
                });
}

} // namespace

void CpuKernels::MomentumUpdate(const MatrixView& parameter, const MatrixView& smoothed, const MatrixView& gradient,
                                double rate, double momentum, const TouchedColumns* touched)
{
    Visit(parameter.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              const UpdateNumbers<T> numbers(rate, momentum, touched != nullptr);
              ForEachStretch(m_pool, {parameter, smoothed, gradient}, touched,
                             [&](size_t column, size_t row, size_t count)
                             {
                                 kernels.momentumUpdate({.parameter = At<T>(parameter, column, row),
                                                         .smoothed = At<T>(smoothed, column, row),
                                                         .gradient = At<T>(gradient, column, row),
                                                         .rows = count},
                                                        numbers.momentum, numbers.factor, numbers.step);
                             });
          });
}

// Where a product has few steps, memory does not bring parameter and smoothed gradient while they are added up: a pass
// of its own over all of both is then as fast or faster, for several threads sooner than for one.
bool CpuKernels::CanUpdateBehind(const MatrixView& gradient, size_t steps) const
{
    constexpr size_t c_leastSteps = 32, c_leastStepsOfThreads = 64;
    return gradient.IsContiguous() && steps >= (m_pool.Threads() > 1 ? c_leastStepsOfThreads : c_leastSteps);
}

} // namespace cntk
