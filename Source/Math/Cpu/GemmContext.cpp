// How many threads, which tiles.
#include "Math/Cpu/GemmContext.h"

#include "Common/Error.h"
#include "Math/Cpu/Blocks.h"
#include "Math/Cpu/VectorKernels.h"

#include <algorithm>
#include <limits>

namespace cntk
{

namespace
{

// Multiply-adds below which another thread costs more than it brings (some 8 microseconds of work).
constexpr double c_workPerThread = 250e3;
// From this much work a thread on, tiles are cut in two, so that a core that is taken away does not hold up the rest.
constexpr double c_workForSpareTiles = 8e6;

// Multiply-adds a thread from which packed panels are kept or shared, and the least of each dimension; of the columns,
// in panels of B: for fewer, each thread packs its own panels of A on the way.
constexpr double c_workForSharing = 2e6;
constexpr size_t c_leastShared = 48;
constexpr size_t c_leastPanelsShared = 10;
// Not with so many rows a thread and so small a B: each packs that for itself, and A on the way.
constexpr size_t c_leastRowsEach = 1024;
constexpr size_t c_mostBytesEach = size_t(256) << 10;
// Multiply-adds from which a product is worth all threads rather than one of several that are computed together.
constexpr double c_workForAllThreads = 64e6;

// Of all of C.
template <class T>
void ApplyEpilogue(const GemmTask<T>& task)
{
    if (task.epilogue != nullptr)
        task.epilogue->apply(*task.epilogue, task.c, task.ldc, task.firstRow, task.firstColumn, task.m, task.n);
}

template <class T>
void ScaleOnly(const GemmTask<T>& task)
{
    for (size_t column = 0; column < task.n; ++column)
        for (size_t row = 0; row < task.m; ++row)
        {
            T& value = task.c[column * task.ldc + row];
            value = task.beta == 0 ? T(0) : task.beta * value;
        }
    ApplyEpilogue(task);
}

// Null: our own.
template <class T>
auto LibraryFor(GemmEngine engine)
{
    if constexpr (sizeof(T) == sizeof(float))
        return engine == GemmEngine::Own ? nullptr : FindSingleGemm(engine);
    else
        return engine == GemmEngine::Own ? nullptr : FindDoubleGemm(engine);
}

} // namespace

GemmContext::GemmContext(ThreadPool& pool, const ProductKernels& kernels)
    : m_pool(pool), m_kernels(kernels), m_shared(pool, m_kernels), m_inRows(pool, m_kernels, m_scratchA, m_scratchB),
      m_inSteps(pool, m_kernels)
{
    const auto bytes = [](size_t floats, size_t doubles)
    { return std::max(floats * sizeof(float), doubles * sizeof(double)); };
    for (int thread = 0; thread < pool.Threads(); ++thread)
    {
        m_scratchA.push_back(MakeAlignedMemory(bytes(m_kernels.floats.scratchA, m_kernels.doubles.scratchA)));
        m_scratchB.push_back(MakeAlignedMemory(bytes(m_kernels.floats.scratchB, m_kernels.doubles.scratchB)));
    }
}

// The cheapest way to cut C into at most so many tiles: the time of the slowest thread, with the packing that each tile
// does for itself.
GemmContext::Grid GemmContext::Split(size_t m, size_t n, size_t k) const
{
    const double work = double(m) * double(n) * double(k);
    const size_t threads = size_t(std::clamp(work / c_workPerThread, 1.0, double(m_pool.Threads())));
    if (threads == 1)
        return {m, n, 1, 1};
    constexpr double c_packingCost = 6; // multiply-adds that packing one value costs
    Grid best{m, n, 1, 1};
    double bestCost = std::numeric_limits<double>::infinity();
    const size_t mostTiles = work / double(threads) > c_workForSpareTiles ? 2 * threads : threads;
    for (size_t down = 1; down <= mostTiles; ++down)
        for (size_t across = 1; down * across <= mostTiles; ++across)
        {
            const size_t rows = RoundUp((m + down - 1) / down, m_kernels.floats.tileRows);
            const size_t columns = RoundUp((n + across - 1) / across, m_kernels.floats.tileColumns);
            const size_t tiles = ((m + rows - 1) / rows) * ((n + columns - 1) / columns);
            const double waves = double((tiles + threads - 1) / threads);
            const double cost = waves * (double(rows) * double(columns) + c_packingCost * double(rows + columns));
            // Spare tiles are worth a few per cent of packing.
            const double preference = tiles > threads ? 0.97 : 1;
            if (cost * preference < bestCost)
            {
                bestCost = cost * preference;
                best = {rows, columns, (m + rows - 1) / rows, (n + columns - 1) / columns};
            }
        }
    return best;
}

// Whether the threads keep or share packed panels. Below that, and for few steps, the products that need no packing
// win.
template <class T>
bool GemmContext::IsShared(const GemmTask<T>& task) const
{
    // A few columns of B are packed by each thread in no time, beside so many rows of A.
    const bool isTall =
        task.m >= c_leastRowsEach * size_t(m_pool.Threads()) && task.n * task.k * sizeof(T) <= c_mostBytesEach;
    return m_pool.Threads() > 1 && !isTall && task.m >= c_leastShared && task.k >= c_leastShared &&
           task.n >= c_leastPanelsShared * m_kernels.Of<T>().tileColumns &&
           Work(task) >= c_workForSharing * double(m_pool.Threads());
}

template <class T>
void GemmContext::RunTile(const GemmTask<T>& task, size_t thread)
{
    T* scratchA = reinterpret_cast<T*>(m_scratchA[thread].get());
    T* scratchB = reinterpret_cast<T*>(m_scratchB[thread].get());
    const auto library = LibraryFor<T>(m_engine);
    if (!library)
        return m_kernels.Of<T>().multiply(&task, 1, scratchA, scratchB);
    library(task);
    ApplyEpilogue(task);
}

template <class T>
void GemmContext::Multiply(const GemmTask<T>& task)
{
    if (task.m == 0 || task.n == 0)
        return;
    if (task.k == 0 || task.alpha == 0)
        return ScaleOnly(task);
    if (m_engine == GemmEngine::Own && IsShared(task))
    {
        const bool isInRows = m_inRows.IsPossible(task);
        if (m_trace)
            Trace(task, isInRows ? ", rows kept by each thread" : ", shared by the threads");
        if (isInRows)
            m_inRows.Multiply(task);
        else
            m_shared.Multiply(task);
        return;
    }
    if (m_engine == GemmEngine::Own && m_inSteps.IsWorthIt(task))
    {
        if (m_trace)
            Trace(task, ", its steps shared out to the threads");
        GemmTask<T> plain = task; // what ends C follows the sums of all steps
        plain.epilogue = nullptr;
        m_inSteps.Run(plain, [&](const GemmTask<T>& part, size_t thread) { RunTile(part, thread); });
        return ApplyEpilogue(task);
    }
    const Grid grid = Split(task.m, task.n, task.k);
    const size_t tiles = grid.down * grid.across;
    if (m_trace)
        Trace(task, tiles == 1 ? ", one thread" : Concat(", ", tiles, " tiles for the threads"));
    if (tiles == 1)
    {
        RunTile(task, m_pool.Caller());
        return;
    }
    m_pool.Run(tiles,
               [&](size_t tile, size_t thread)
               {
                   const size_t row = tile % grid.down * grid.rows;
                   const size_t column = tile / grid.down * grid.columns;
                   RunTile(PartOf(task, row, std::min(grid.rows, task.m - row), column,
                                  std::min(grid.columns, task.n - column)),
                           thread);
               });
}

// Of one b, and so alone on a thread all of them where the first one is. False: nothing was done.
template <class T>
bool GemmContext::MultiplyWithOneB(std::span<const GemmTask<T>> tasks)
{
    const GemmTask<T>& first = tasks.front();
    const bool isScaled =
        std::any_of(tasks.begin(), tasks.end(), [](const GemmTask<T>& task) { return task.alpha == 0; });
    const Grid grid = Split(first.m, first.n, first.k);
    if (tasks.size() < 2 || m_engine != GemmEngine::Own || grid.down * grid.across > 1 || Work(first) == 0 || isScaled)
        return false;
    const size_t thread = m_pool.Caller();
    m_kernels.Of<T>().multiply(tasks.data(), tasks.size(), reinterpret_cast<T*>(m_scratchA[thread].get()),
                               reinterpret_cast<T*>(m_scratchB[thread].get()));
    return true;
}

template <class T>
void GemmContext::MultiplyOnThread(const GemmTask<T>& task, size_t thread)
{
    if (task.m == 0 || task.n == 0)
        return;
    if (task.k == 0 || task.alpha == 0)
        ScaleOnly(task);
    else
        RunTile(task, thread);
}

// Not where a single product has enough work for all threads, who then share its packed panels.
bool GemmContext::IsWorthSharing(double most, double work) const
{
    return m_pool.Threads() > 1 && work >= 2 * c_workPerThread && most < c_workForAllThreads;
}

template <class T>
size_t GemmContext::StretchesOf(const GemmTask<T>& task, double workEach) const
{
    const size_t panels = (task.n + m_kernels.Of<T>().tileColumns - 1) / m_kernels.Of<T>().tileColumns;
    const size_t wanted = size_t(std::clamp(Work(task) / std::max(workEach, c_workPerThread) + 0.5, 1.0, 64.0));
    return std::clamp<size_t>(panels, 1, wanted);
}

template <class T>
void GemmContext::MultiplyStretch(const GemmTask<T>& task, size_t stretch, size_t stretches, size_t thread)
{
    const size_t width = m_kernels.Of<T>().tileColumns;
    const size_t panels = (task.n + width - 1) / width;
    const size_t begin = panels * stretch / stretches * width;
    const size_t end = std::min(task.n, panels * (stretch + 1) / stretches * width);
    MultiplyOnThread(PartOf(task, 0, task.m, begin, end - begin), thread);
}

template <class T>
void GemmContext::Trace(const GemmTask<T>& task, const std::string& how)
{
    if (!m_traced.insert({task.m, task.n, task.k, task.transA, task.transB, sizeof(T)}).second)
        return;
    m_trace(Concat("Product ", task.m, " x ", task.k, task.transA ? " (transposed)" : "", " * ", task.k, " x ", task.n,
                   task.transB ? " (transposed)" : "",
                   sizeof(T) == sizeof(float) ? ", float: " : ", double: ", Describe(), how));
}

template void GemmContext::Multiply<float>(const GemmTask<float>&);
template void GemmContext::Multiply<double>(const GemmTask<double>&);
template bool GemmContext::IsShared<float>(const GemmTask<float>&) const;
template bool GemmContext::IsShared<double>(const GemmTask<double>&) const;
template void GemmContext::Trace<float>(const GemmTask<float>&, const std::string&);
template void GemmContext::Trace<double>(const GemmTask<double>&, const std::string&);
template size_t GemmContext::StretchesOf<float>(const GemmTask<float>&, double) const;
template size_t GemmContext::StretchesOf<double>(const GemmTask<double>&, double) const;
template void GemmContext::MultiplyStretch<float>(const GemmTask<float>&, size_t, size_t, size_t);
template void GemmContext::MultiplyStretch<double>(const GemmTask<double>&, size_t, size_t, size_t);
template bool GemmContext::MultiplyWithOneB<float>(std::span<const GemmTask<float>>);
template bool GemmContext::MultiplyWithOneB<double>(std::span<const GemmTask<double>>);
template void GemmContext::MultiplyOnThread<float>(const GemmTask<float>&, size_t);
template void GemmContext::MultiplyOnThread<double>(const GemmTask<double>&, size_t);

std::string GemmContext::Describe() const
{
    return DescribeEngine(m_engine);
}

} // namespace cntk
