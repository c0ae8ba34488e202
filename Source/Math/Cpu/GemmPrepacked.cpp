// The panels lie in the order in which a product reads them: slabs of steps, in each slab all rows. Threads share out
// the rows.
#include "Math/Cpu/GemmPrepacked.h"

#include "Math/Cpu/AlignedMemory.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cntk
{

namespace
{

// Rows of one packing task, and elements from which threads share the packing.
constexpr size_t c_rowsTogether = 64;
constexpr size_t c_leastShared = (size_t(1) << 16) / c_finerSplit;

template <class T>
GemmTask<T> TaskOf(const MatrixView& a, bool transposed)
{
    GemmTask<T> task;
    task.transA = transposed;
    task.a = a.As<T>();
    task.lda = a.stride;
    return task;
}

// Copies in pieces of 16 bytes: for a few elements, a call of std::memcpy takes longer than the copy.
template <class T>
void CopyShort(const T* from, size_t count, T* to)
{
    constexpr size_t piece = 16 / sizeof(T);
    size_t i = 0;
    for (; i + piece <= count; i += piece)
        std::memcpy(to + i, from + i, 16);
    for (; i < count; ++i)
        to[i] = from[i];
}

} // namespace

GemmPrepacked::GemmPrepacked(ThreadPool& pool, const ProductKernels& kernels) : m_pool(pool), m_kernels(kernels)
{
    const size_t bytes = std::max(kernels.floats.scratchB * sizeof(float), kernels.doubles.scratchB * sizeof(double));
    for (int thread = 0; thread < pool.Threads(); ++thread)
        m_panelsB.push_back(MakeAlignedMemory(bytes));
}

// Cuts the steps as other products do, so that sums have the same bits.
template <class T>
size_t GemmPrepacked::DepthEach(size_t k) const
{
    return m_kernels.Of<T>().depthEach(k);
}

template <class T>
size_t GemmPrepacked::PaddedRows(size_t m) const
{
    return RoundUp(m, m_kernels.Of<T>().tileRows);
}

template <class T>
size_t GemmPrepacked::PanelElements(size_t m, size_t k) const
{
    return PaddedRows<T>(m) * k;
}

template <class T>
void GemmPrepacked::Pack(std::span<const MatrixView> parts, bool transposed, T* panels)
{
    size_t along = 0; // rows of the stack
    for (const MatrixView& part : parts)
        along += part.rows;
    const size_t m = transposed ? parts.front().columns : along;
    const size_t k = transposed ? along : parts.front().columns;
    if (m == 0 || k == 0)
        return;
    const size_t depthEach = DepthEach<T>(k);
    const size_t slabs = (k + depthEach - 1) / depthEach;
    const size_t rowsEach =
        m * k < c_leastShared ? PaddedRows<T>(m) : RoundUp(c_rowsTogether, m_kernels.Of<T>().tileRows);
    const size_t tasks = (m + rowsEach - 1) / rowsEach;
    const auto pack = [&](size_t task, size_t number)
    {
        const size_t step = number * depthEach;
        const Slab slab{step, std::min(depthEach, k - step)};
        const size_t row = task * rowsEach;
        T* const to = panels + step * PaddedRows<T>(m) + row * slab.depth;
        if (transposed)
            PackAcross(parts, slab, row, std::min(rowsEach, m - row), to);
        else
            PackDown(parts, slab, row, std::min(rowsEach, m - row), to);
    };
    if (tasks > 1)
        return m_pool.Run(slabs * tasks, [&](size_t index, size_t) { pack(index % tasks, index / tasks); });
    for (size_t slab = 0; slab < slabs; ++slab)
        pack(0, slab);
}

// Packs rows of a stack of matrices.
template <class T>
void GemmPrepacked::PackDown(std::span<const MatrixView> parts, const Slab& slab, size_t row, size_t rows, T* to) const
{
    const GemmFunctions<T>& functions = m_kernels.Of<T>();
    const size_t end = row + rows;
    size_t first = 0; // row of the current part in the stack
    for (auto part = parts.begin(); row < end;)
    {
        while (first + part->rows <= row)
            first += (part++)->rows;
        const size_t here = std::min(end, first + part->rows) - row;
        // Only the very last panel may be incomplete.
        const size_t together = row + here == end ? here : here / functions.tileRows * functions.tileRows;
        const size_t height = together > 0 ? together : std::min(functions.tileRows, end - row);
        if (together > 0)
            functions.packA(TaskOf<T>(*part, false), row - first, height, slab.step, slab.depth, to);
        else
            PackPiecewise(parts.subspan(size_t(part - parts.begin())), slab, row - first, height, to);
        row += height;
        to += RoundUp(height, functions.tileRows) * slab.depth;
    }
}

// Packs a panel of rows of several matrices, beginning in the first one.
template <class T>
void GemmPrepacked::PackPiecewise(std::span<const MatrixView> parts, const Slab& slab, size_t row, size_t rows,
                                  T* to) const
{
    const size_t tileRows = m_kernels.Of<T>().tileRows;
    if (rows < tileRows)
        std::fill_n(to, tileRows * slab.depth, T(0));
    for (size_t done = 0; done < rows; row = 0, parts = parts.subspan(1))
    {
        const MatrixView& part = parts.front();
        const size_t here = std::min(part.rows - row, rows - done);
        const T* from = part.As<T>() + row + slab.step * part.stride;
        for (size_t p = 0; p < slab.depth; ++p)
            CopyShort(from + p * part.stride, here, to + p * tileRows + done);
        done += here;
    }
}

// Packs rows of the transposed matrices, each of which has some of the steps.
template <class T>
void GemmPrepacked::PackAcross(std::span<const MatrixView> parts, const Slab& slab, size_t row, size_t rows,
                               T* to) const
{
    const GemmFunctions<T>& functions = m_kernels.Of<T>();
    for (size_t panel = 0; panel < rows; panel += functions.tileRows, to += functions.tileRows * slab.depth)
    {
        size_t first = 0; // step of the current part
        for (const MatrixView& part : parts)
        {
            const size_t begin = std::max(first, slab.step);
            const size_t end = std::min(first + part.rows, slab.step + slab.depth);
            if (begin < end)
                functions.packA(TaskOf<T>(part, true), row + panel, std::min(functions.tileRows, rows - panel),
                                begin - first, end - begin, to + (begin - slab.step) * functions.tileRows);
            first += part.rows;
        }
    }
}

template <class T>
void GemmPrepacked::Multiply(const GemmTask<T>& task, const T* panels)
{
    const double work = double(task.m) * double(task.n) * double(task.k);
    const size_t threads = size_t(std::clamp(work / c_multiplyAddsPerThread, 1.0, double(m_pool.Threads())));
    const size_t rowsEach = RoundUp((task.m + threads - 1) / threads, m_kernels.Of<T>().tileRows);
    m_pool.Run((task.m + rowsEach - 1) / rowsEach,
               [&](size_t part, size_t thread)
               {
                   const size_t row = part * rowsEach;
                   MultiplyRows(task, panels, row, std::min(rowsEach, task.m - row), thread);
               });
}

template <class T>
void GemmPrepacked::MultiplyRows(const GemmTask<T>& task, const T* panels, size_t firstRow, size_t rows, size_t thread)
{
    const GemmFunctions<T>& functions = m_kernels.Of<T>();
    T* const panelsB = reinterpret_cast<T*>(m_panelsB[thread].get());
    const size_t depthEach = DepthEach<T>(task.k);
    const size_t columnsEach = functions.scratchB / functions.depth;
    for (size_t column = 0; column < task.n; column += columnsEach)
    {
        const size_t columns = std::min(columnsEach, task.n - column);
        for (size_t step = 0; step < task.k; step += depthEach)
        {
            const size_t depth = std::min(depthEach, task.k - step);
            functions.packB(task, column, columns, step, depth, panelsB);
            const T* slab = panels + step * PaddedRows<T>(task.m);
            // Each panel of A stays in the first-level cache for all columns.
            for (size_t row = firstRow; row < firstRow + rows; row += functions.tileRows)
                functions.multiplyPanel(task, row, std::min(functions.tileRows, firstRow + rows - row), column, columns,
                                        step, depth, slab + row * depth, panelsB);
        }
    }
}

template size_t GemmPrepacked::PanelElements<float>(size_t, size_t) const;
template size_t GemmPrepacked::PanelElements<double>(size_t, size_t) const;
template void GemmPrepacked::Pack<float>(std::span<const MatrixView>, bool, float*);
template void GemmPrepacked::Pack<double>(std::span<const MatrixView>, bool, double*);
template void GemmPrepacked::Multiply<float>(const GemmTask<float>&, const float*);
template void GemmPrepacked::Multiply<double>(const GemmTask<double>&, const double*);

} // namespace cntk
