// Slabs of steps, in each all rows as panels: the order in which a product reads them. Threads share out the rows.
#include "Math/Cpu/GemmPrepacked.h"

#include "Math/Cpu/Blocks.h"

#include <algorithm>
#include <array>

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

} // namespace

GemmPrepacked::GemmPrepacked(ThreadPool& pool, const GemmIsa& isa) : m_pool(pool), m_isa(isa)
{
    // Two panels more than columns: those that share a rest are as long as whole ones.
    const size_t bytes =
        std::max((isa.floats.scratchB + 2 * isa.floats.tileColumns * isa.floats.depth) * sizeof(float),
                 (isa.doubles.scratchB + 2 * isa.doubles.tileColumns * isa.doubles.depth) * sizeof(double));
    for (int thread = 0; thread < pool.Threads(); ++thread)
        m_panelsB.push_back(MakeAlignedMemory(bytes));
}

// As the product that packs on its way cuts them: the sums are then the same.
template <class T>
size_t GemmPrepacked::DepthEach(size_t k) const
{
    const size_t passes = (k + m_isa.Of<T>().depth - 1) / m_isa.Of<T>().depth;
    return passes == 0 ? 0 : (k + passes - 1) / passes;
}

template <class T>
size_t GemmPrepacked::PaddedRows(size_t m) const
{
    return RoundUp(m, m_isa.Of<T>().tileRows);
}

template <class T>
size_t GemmPrepacked::PanelElements(size_t m, size_t k) const
{
    return PaddedRows<T>(m) * k;
}

template <class T>
void GemmPrepacked::Pack(const GemmTask<T>& task, T* panels)
{
    if (task.m == 0 || task.k == 0)
        return;
    const GemmFunctions<T>& functions = m_isa.Of<T>();
    const size_t depthEach = DepthEach<T>(task.k);
    const size_t slabs = (task.k + depthEach - 1) / depthEach;
    const size_t rowsEach =
        task.m * task.k < c_leastShared ? PaddedRows<T>(task.m) : RoundUp(c_rowsTogether, functions.tileRows);
    const size_t parts = (task.m + rowsEach - 1) / rowsEach;
    const auto pack = [&](size_t index, size_t)
    {
        const size_t step = index / parts * depthEach;
        const size_t depth = std::min(depthEach, task.k - step);
        const size_t row = index % parts * rowsEach;
        functions.packA(task, row, std::min(rowsEach, task.m - row), step, depth,
                        panels + step * PaddedRows<T>(task.m) + row * depth);
    };
    if (parts == 1)
        for (size_t slab = 0; slab < slabs; ++slab)
            pack(slab, 0);
    else
        m_pool.Run(slabs * parts, pack);
}

template <class T>
void GemmPrepacked::Multiply(const GemmTask<T>& task, const T* panels)
{
    const double work = double(task.m) * double(task.n) * double(task.k);
    const size_t threads = size_t(std::clamp(work / c_workPerThread, 1.0, double(m_pool.Threads())));
    const size_t rowsEach = RoundUp((task.m + threads - 1) / threads, m_isa.Of<T>().tileRows);
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
    const GemmFunctions<T>& functions = m_isa.Of<T>();
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
                if (runs[run].columns > 0)
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
template void GemmPrepacked::Pack<float>(const GemmTask<float>&, float*);
template void GemmPrepacked::Pack<double>(const GemmTask<double>&, double*);
template void GemmPrepacked::Multiply<float>(const GemmTask<float>&, const float*);
template void GemmPrepacked::Multiply<double>(const GemmTask<double>&, const double*);

} // namespace cntk
