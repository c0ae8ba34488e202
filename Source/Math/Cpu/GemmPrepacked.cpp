// Slabs of steps, in each all rows as panels: the order in which a product reads them. Threads share out the rows.
#include "Math/Cpu/GemmPrepacked.h"

#include "Math/Cpu/Blocks.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cntk
{

namespace
{

// Multiply-adds below which another thread costs more than it brings (some 8 microseconds of work).
constexpr double c_workPerThread = 250e3;
// Rows that a task of packing takes, and elements from which threads help.
constexpr size_t c_rowsTogether = 64;
constexpr size_t c_leastShared = size_t(1) << 16;

// Columns whose panels are all whole, but for the last one's.
struct Run
{
    size_t first = 0;
    size_t columns = 0;
};

// A narrow rest keeps too few registers busy: the last two panels share what is left.
std::array<Run, 3> EvenRuns(size_t columns, size_t width)
{
    const size_t rest = columns % width;
    if (columns < width || rest == 0 || rest > width / 2)
        return {Run{0, columns}, Run{}, Run{}};
    const size_t whole = columns - width - rest;
    const size_t half = (width + rest + 1) / 2;
    return {Run{0, whole}, Run{whole, half}, Run{whole + half, width + rest - half}};
}

template <class T>
GemmTask<T> TaskOf(const MatrixView& a, bool transposed)
{
    GemmTask<T> task;
    task.transA = transposed;
    task.a = a.As<T>();
    task.lda = a.stride;
    return task;
}

// In pieces of 16 bytes: of so few elements a call of the library would take longer than copying.
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
    // Two panels more than columns: those that share a rest are as long as whole ones.
    const size_t bytes =
        std::max((kernels.floats.scratchB + 2 * kernels.floats.tileColumns * kernels.floats.depth) * sizeof(float),
                 (kernels.doubles.scratchB + 2 * kernels.doubles.tileColumns * kernels.doubles.depth) * sizeof(double));
    for (int thread = 0; thread < pool.Threads(); ++thread)
        m_panelsB.push_back(MakeAlignedMemory(bytes));
}

// As the product that packs on its way cuts them: the sums are then the same.
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
    PackInTasks(parts, transposed, panels, {});
}

template <class T>
void GemmPrepacked::PackAndMultiply(std::span<const MatrixView> parts, const T* b, T* panels, T* c)
{
    PackInTasks(parts, false, panels, {b, c});
}

template <class T>
void GemmPrepacked::PackInTasks(std::span<const MatrixView> parts, bool transposed, T* panels, const Column<T>& product)
{
    size_t along = 0; // rows of the matrices, one above another
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
            PackDown(parts, slab, row, std::min(rowsEach, m - row), to, product);
    };
    const auto packAllSlabs = [&](size_t task, size_t)
    {
        for (size_t slab = 0; slab < slabs; ++slab)
            pack(task, slab);
    };
    if (tasks == 1)
        packAllSlabs(0, 0);
    else if (product.b != nullptr) // whose slabs are added up in their order
        m_pool.Run(tasks, packAllSlabs);
    else
        m_pool.Run(slabs * tasks, [&](size_t index, size_t) { pack(index % tasks, index / tasks); });
}

// Rows of the matrices one above another.
template <class T>
void GemmPrepacked::PackDown(std::span<const MatrixView> parts, const Slab& slab, size_t row, size_t rows, T* to,
                             const Column<T>& product) const
{
    const GemmFunctions<T>& functions = m_kernels.Of<T>();
    const bool multiplies = product.b != nullptr;
    const auto pack = multiplies ? functions.packAndMultiply : functions.packA;
    const size_t end = row + rows;
    size_t first = 0; // row of the part at hand
    for (auto part = parts.begin(); row < end;)
    {
        while (first + part->rows <= row)
            first += (part++)->rows;
        const size_t here = std::min(end, first + part->rows) - row;
        const size_t whole = here / functions.tileRows * functions.tileRows;
        // The last panel of all is filled up with zeros.
        const size_t together = row + here == end ? here : whole;
        if (together > 0)
        {
            GemmTask<T> task = TaskOf<T>(*part, false);
            task.b = product.b;
            task.c = multiplies ? product.c + first : nullptr;
            pack(task, row - first, together, slab.step, slab.depth, to);
            row += together;
            to += RoundUp(together, functions.tileRows) * slab.depth;
            continue;
        }
        const size_t height = std::min(functions.tileRows, end - row);
        PackPiecewise(parts.subspan(size_t(part - parts.begin())), slab, row - first, height, to);
        if (multiplies)
        {
            GemmTask<T> task;
            task.b = product.b;
            task.c = product.c;
            functions.multiplyPanel(task, row, height, slab.step, slab.depth, to);
        }
        row += height;
        to += functions.tileRows * slab.depth;
    }
}

// A panel of rows of several matrices, from a row of the first.
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

// Rows of the transposed matrices side by side: each matrix has some of the steps.
template <class T>
void GemmPrepacked::PackAcross(std::span<const MatrixView> parts, const Slab& slab, size_t row, size_t rows,
                               T* to) const
{
    const GemmFunctions<T>& functions = m_kernels.Of<T>();
    for (size_t panel = 0; panel < rows; panel += functions.tileRows, to += functions.tileRows * slab.depth)
    {
        size_t first = 0; // step of the part at hand
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
    const size_t threads = size_t(std::clamp(work / c_workPerThread, 1.0, double(m_pool.Threads())));
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
    T* panelsB = reinterpret_cast<T*>(m_panelsB[thread].get());
    const size_t depthEach = DepthEach<T>(task.k);
    const size_t columnsEach = functions.scratchB / functions.depth;
    for (size_t column = 0; column < task.n; column += columnsEach)
    {
        const std::array<Run, 3> runs = EvenRuns(std::min(columnsEach, task.n - column), functions.tileColumns);
        for (size_t step = 0; step < task.k; step += depthEach)
        {
            const size_t depth = std::min(depthEach, task.k - step);
            std::array<T*, 3> panelsOfRun{};
            T* to = panelsB;
            for (size_t run = 0; run < runs.size(); ++run)
            {
                panelsOfRun[run] = to;
                functions.packB(task, column + runs[run].first, runs[run].columns, step, depth, to);
                to += RoundUp(runs[run].columns, functions.tileColumns) * depth;
            }
            const T* slab = panels + step * PaddedRows<T>(task.m);
            // Panel by panel: it stays in the first-level cache for all columns.
            for (size_t row = firstRow; row < firstRow + rows; row += functions.tileRows)
                for (size_t run = 0; run < runs.size(); ++run)
                    if (runs[run].columns > 0)
                        functions.tile(task, row, std::min(functions.tileRows, firstRow + rows - row),
                                       column + runs[run].first, runs[run].columns, step, depth, slab + row * depth,
                                       panelsOfRun[run]);
        }
    }
}

template size_t GemmPrepacked::PanelElements<float>(size_t, size_t) const;
template size_t GemmPrepacked::PanelElements<double>(size_t, size_t) const;
template void GemmPrepacked::Pack<float>(std::span<const MatrixView>, bool, float*);
template void GemmPrepacked::Pack<double>(std::span<const MatrixView>, bool, double*);
template void GemmPrepacked::PackAndMultiply<float>(std::span<const MatrixView>, const float*, float*, float*);
template void GemmPrepacked::PackAndMultiply<double>(std::span<const MatrixView>, const double*, double*, double*);
template void GemmPrepacked::Multiply<float>(const GemmTask<float>&, const float*);
template void GemmPrepacked::Multiply<double>(const GemmTask<double>&, const double*);

} // namespace cntk
