// Chooses the number of threads and their parts of a product.
#include "Math/Cpu/GemmContext.h"

#include "Common/Error.h"
#include "Math/Cpu/AlignedMemory.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace cntk
{

namespace
{

// From this work per thread on, there are twice as many tiles as threads: a thread that loses its core then delays
// less.
constexpr double c_workForSpareTiles = 8e6;
// From this work per thread on, and from these sizes on, threads keep packed rows (GemmInRows).
constexpr double c_workForRows = 2e6;
constexpr size_t c_leastRowsAndSteps = 48;
constexpr size_t c_leastPanelsOfColumns = 10;
// With so many rows per thread and so small a B, tiles are faster: each packs B for itself, and A as it goes.
constexpr size_t c_tallRowsEach = 1024;
constexpr size_t c_tallBytesOfB = size_t(256) << 10;
// From this work on, a product in a list gets all threads for itself.
constexpr double c_workForAllThreads = 64e6;
constexpr double c_stretchesPerThread = 3;

template <class T>
double Work(const GemmTask<T>& task)
{
    return double(task.m) * double(task.n) * double(task.k);
}

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

} // namespace

GemmContext::GemmContext(ThreadPool& pool, const ProductKernels& kernels, MatrixEngine engine)
    : m_pool(pool), m_kernels(kernels), m_engine(engine), m_inRows(pool, kernels, m_scratchA, m_scratchB)
{
    const auto bytes = [](size_t floats, size_t doubles)
    { return std::max(floats * sizeof(float), doubles * sizeof(double)); };
    for (int thread = 0; thread < pool.Threads(); ++thread)
    {
        m_scratchA.push_back(MakeAlignedMemory(bytes(kernels.floats.scratchA, kernels.doubles.scratchA)));
        m_scratchB.push_back(MakeAlignedMemory(bytes(kernels.floats.scratchB, kernels.doubles.scratchB)));
    }
}

template <class T>
MatrixEngine GemmContext::EngineFor(const GemmTask<T>& task) const
{
    if (m_engine == MatrixEngine::Auto)
        return FastestEngine(task);
    return FindLibraryProduct<T>(m_engine) != nullptr ? m_engine : MatrixEngine::Own;
}

// Returns the cheapest way to cut C into tiles: the one with the least time of the slowest thread, including the
// packing that each tile does for itself.
GemmContext::Grid GemmContext::Split(size_t m, size_t n, size_t k) const
{
    const double work = double(m) * double(n) * double(k);
    const size_t threads = size_t(std::clamp(work / c_multiplyAddsPerThread, 1.0, double(m_pool.Threads())));
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

// True if each thread is to keep packed rows. Smaller products and those of few steps are faster in tiles, which pack
// less.
template <class T>
bool GemmContext::IsForRows(const GemmTask<T>& task) const
{
    const size_t threads = size_t(m_pool.Threads());
    const bool isTall = task.m >= c_tallRowsEach * threads && task.n * task.k * sizeof(T) <= c_tallBytesOfB;
    return threads > 1 && !isTall && task.m >= c_leastRowsAndSteps && task.k >= c_leastRowsAndSteps &&
           task.n >= c_leastPanelsOfColumns * m_kernels.Of<T>().tileColumns &&
           Work(task) >= c_workForRows * double(threads) && m_inRows.IsPossible(task);
}

template <class T>
void GemmContext::RunTile(const GemmTask<T>& task, LibraryProduct<T> library, size_t thread)
{
    if (library == nullptr)
        return m_kernels.Of<T>().multiply(&task, 1, reinterpret_cast<T*>(m_scratchA[thread].get()),
                                          reinterpret_cast<T*>(m_scratchB[thread].get()));
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
    const LibraryProduct<T> library = FindLibraryProduct<T>(EngineFor(task));
    if (library == nullptr && IsForRows(task))
    {
        if (m_trace)
            Trace(task, ", rows kept by each thread");
        return m_inRows.Multiply(task);
    }
    const Grid grid = Split(task.m, task.n, task.k);
    const size_t tiles = grid.down * grid.across;
    if (m_trace)
        Trace(task, tiles == 1 ? ", one thread" : Concat(", ", tiles, " tiles for the threads"));
    if (tiles == 1)
        return RunTile(task, library, m_pool.Caller());
    m_pool.Run(tiles,
               [&](size_t tile, size_t thread)
               {
                   const size_t row = tile % grid.down * grid.rows;
                   const size_t column = tile / grid.down * grid.columns;
                   RunTile(PartOf(task, row, std::min(grid.rows, task.m - row), column,
                                  std::min(grid.columns, task.n - column)),
                           library, thread);
               });
}

template <class T>
void GemmContext::MultiplyOnThread(const GemmTask<T>& task, size_t thread)
{
    if (task.m == 0 || task.n == 0)
        return;
    if (task.k == 0 || task.alpha == 0)
        ScaleOnly(task);
    else
        RunTile(task, FindLibraryProduct<T>(EngineFor(task)), thread);
}

template <class T>
void GemmContext::MultiplyAll(std::span<const GemmTask<T>> tasks)
{
    double most = 0, work = 0;
    for (const GemmTask<T>& task : tasks)
    {
        most = std::max(most, Work(task));
        work += Work(task);
    }
    if (tasks.size() == 1 || m_pool.Threads() == 1 || work < 2 * c_multiplyAddsPerThread || most >= c_workForAllThreads)
        return MultiplyOneByOne(tasks);
    // Each product is cut into stretches of columns.
    const double workEach = work / double(m_pool.Threads()) / c_stretchesPerThread;
    size_t stretches = 0;
    for (const GemmTask<T>& task : tasks)
    {
        stretches += StretchesOf(task, workEach);
        if (m_trace)
            Trace(task, ", together with others");
    }
    m_pool.Run(stretches,
               [&](size_t stretch, size_t thread)
               {
                   const GemmTask<T>* task = tasks.data();
                   size_t own = StretchesOf(*task, workEach);
                   for (; stretch >= own; own = StretchesOf(*task, workEach))
                   {
                       stretch -= own;
                       ++task;
                   }
                   MultiplyOnThread(Stretch(*task, stretch, own), thread);
               });
}

// Successive products of one b, each for a single thread, pack it once.
template <class T>
void GemmContext::MultiplyOneByOne(std::span<const GemmTask<T>> tasks)
{
    while (!tasks.empty())
    {
        const GemmTask<T>& first = tasks.front();
        const auto differs = [&](const GemmTask<T>& task) { return !HaveOneB(first, task) || task.alpha == 0; };
        const size_t count = size_t(std::find_if(tasks.begin() + 1, tasks.end(), differs) - tasks.begin());
        const Grid grid = Split(first.m, first.n, first.k);
        if (count > 1 && first.alpha != 0 && Work(first) > 0 && grid.down * grid.across == 1 && !m_trace &&
            EngineFor(first) == MatrixEngine::Own)
        {
            const size_t thread = m_pool.Caller();
            m_kernels.Of<T>().multiply(tasks.data(), count, reinterpret_cast<T*>(m_scratchA[thread].get()),
                                       reinterpret_cast<T*>(m_scratchB[thread].get()));
        }
        else
            for (const GemmTask<T>& task : tasks.first(count))
                Multiply(task);
        tasks = tasks.subspan(count);
    }
}

template <class T>
size_t GemmContext::StretchesOf(const GemmTask<T>& task, double workEach) const
{
    const size_t panels = PartsOf(task.n, m_kernels.Of<T>().tileColumns);
    const size_t wanted = size_t(std::clamp(Work(task) / std::max(workEach, c_multiplyAddsPerThread) + 0.5, 1.0, 64.0));
    return std::clamp<size_t>(panels, 1, wanted);
}

template <class T>
GemmTask<T> GemmContext::Stretch(const GemmTask<T>& task, size_t stretch, size_t stretches) const
{
    const size_t width = m_kernels.Of<T>().tileColumns;
    const size_t panels = PartsOf(task.n, width);
    const size_t begin = panels * stretch / stretches * width;
    const size_t end = std::min(task.n, panels * (stretch + 1) / stretches * width);
    return PartOf(task, 0, task.m, begin, end - begin);
}

template <class T>
void GemmContext::Trace(const GemmTask<T>& task, const std::string& how)
{
    if (!m_traced.insert({task.m, task.n, task.k, task.transA, task.transB, sizeof(T)}).second)
        return;
    m_trace(Concat("Product ", task.m, " x ", task.k, task.transA ? " (transposed)" : "", " * ", task.k, " x ", task.n,
                   task.transB ? " (transposed)" : "",
                   sizeof(T) == sizeof(float) ? ", float: " : ", double: ", DescribeEngine(EngineFor(task)), how));
}

template void GemmContext::Multiply(const GemmTask<float>&);
template void GemmContext::Multiply(const GemmTask<double>&);
template void GemmContext::MultiplyAll(std::span<const GemmTask<float>>);
template void GemmContext::MultiplyAll(std::span<const GemmTask<double>>);
template void GemmContext::MultiplyOnThread(const GemmTask<float>&, size_t);
template void GemmContext::MultiplyOnThread(const GemmTask<double>&, size_t);

} // namespace cntk
