// Decides how many rows and steps a thread keeps, and which columns it multiplies: first those of its own rows, many at
// a time while many are left, then those of other threads' rows.
#include "Math/Cpu/GemmInRows.h"

#include "Math/Cpu/AlignedMemory.h"

#include <algorithm>
#include <limits>

namespace cntk
{

namespace
{

// Costs in multiply-adds per value: of packing, of reading B in place, of adding sums to C.
constexpr double c_packingCost = 6;
constexpr double c_readingCost = 3;
constexpr double c_addingCost = 4;

constexpr size_t c_mostPanels = 8; // of B in one draw

} // namespace

GemmInRows::GemmInRows(ThreadPool& pool, const ProductKernels& kernels, const std::vector<AlignedMemory>& scratchA,
                       const std::vector<AlignedMemory>& scratchB)
    : m_pool(pool), m_kernels(kernels), m_scratchA(scratchA), m_scratchB(scratchB)
{
}

// Returns the cheapest cut. With fewer steps a thread keeps more rows, so that B is read less often but C more often.
// Without a possible cut, groups is 0.
template <class T>
GemmInRows::Cut GemmInRows::CutOf(const GemmTask<T>& task) const
{
    const GemmFunctions<T>& functions = m_kernels.Of<T>();
    const size_t threads = size_t(m_pool.Threads());
    const double costOfB = functions.canReadB(task) ? c_readingCost : c_packingCost;
    const size_t depth = functions.depthEach(task.k);
    const size_t slabs = PartsOf(task.k, depth);
    Cut best;
    double bestCost = std::numeric_limits<double>::infinity();
    for (size_t chunks = 1; chunks <= slabs; ++chunks)
    {
        const size_t steps = std::min(task.k, PartsOf(slabs, chunks) * depth);
        const size_t mostRows = functions.scratchA / steps / functions.tileRows * functions.tileRows;
        if (mostRows == 0)
            continue;
        const size_t least = PartsOf(task.m, mostRows);
        for (size_t wanted = least; wanted < least + threads && wanted <= c_mostGroups; ++wanted)
        {
            const size_t rows = RoundUp(PartsOf(task.m, wanted), functions.tileRows);
            const size_t groups = PartsOf(task.m, rows);
            // Rows that a thread packs. If groups do not divide evenly, some are packed by a second thread.
            const bool isEven = groups % threads == 0 || threads % groups == 0;
            const double packed = double(PartsOf(groups, threads) + (isEven ? 0 : 1)) * double(rows);
            const double ofA = c_packingCost * packed * double(task.k);
            const double ofB = costOfB * double(groups) * double(task.n) * double(task.k);
            const double ofC = c_addingCost * double(task.m) * double(task.n) * double(PartsOf(task.k, steps));
            const double cost = ofA + (ofB + ofC) / double(threads);
            if (cost < bestCost)
            {
                bestCost = cost;
                best = {rows, groups, steps};
            }
        }
    }
    return best;
}

template <class T>
struct GemmInRows::Job
{
    GemmInRows& owner;
    const GemmTask<T>& task;
    const GemmFunctions<T>& functions;
    const Cut cut;
    const size_t depth;  // steps that are packed at a time
    const size_t panels; // of columns
    const size_t chunks;
    const size_t threads;

    // A group's rows for the steps of a chunk.
    struct Rows
    {
        size_t group = 0;
        size_t chunk = 0;
    };

    void Run(size_t index, size_t thread) const
    {
        owner.m_pool.NoteShare(thread, 0);
        for (Rows rows; AwaitRows(index, rows, thread);)
            WorkOn(rows, thread);
    }

    // Returns false if nothing is left that is worth starting.
    bool AwaitRows(size_t index, Rows& rows, size_t thread) const
    {
        bool isFound = false, isOver = false;
        owner.m_pool.WaitInTask(thread,
                                [&]
                                {
                                    isOver = true;
                                    isFound = ChooseRows(index, rows, isOver);
                                    return isFound || isOver;
                                });
        return isFound;
    }

    // Chooses the rows of this task that have progressed least, otherwise rows of another task. A group's next chunk is
    // ready when its previous chunk is done.
    bool ChooseRows(size_t index, Rows& rows, bool& isOver) const
    {
        bool isOwn = false;
        size_t least = chunks * panels;
        for (size_t i = 0; i < cut.groups; ++i)
        {
            const size_t group = (index + i) % cut.groups;
            const Counter& counter = owner.m_counters[group];
            const size_t drawn = counter.drawn.load(std::memory_order_relaxed);
            const size_t chunk = drawn / panels;
            if (chunk == chunks)
                continue;
            // The threads that work on them finish before this thread could pack the rows.
            const size_t left = (chunk + 1) * panels - drawn;
            if (left < panels && left <= threads && chunk + 1 == chunks)
                continue;
            isOver = false;
            const bool isReady = counter.done.load(std::memory_order_acquire) >= chunk * panels;
            if (!isReady || (left < panels && left <= threads))
                continue;
            const bool isOfThis = group % threads == index % std::min(threads, cut.groups);
            if (isOfThis > isOwn || (isOfThis == isOwn && drawn < least))
            {
                isOwn = isOfThis;
                least = drawn;
                rows = {group, chunk};
            }
        }
        return least < chunks * panels;
    }

    // Multiplies the rows until no columns are left for them.
    void WorkOn(const Rows& rows, size_t thread) const
    {
        const size_t row = rows.group * cut.rows;
        const size_t height = std::min(cut.rows, task.m - row);
        const size_t firstStep = rows.chunk * cut.steps;
        const size_t endStep = std::min(task.k, firstStep + cut.steps);
        T* const panelsA = reinterpret_cast<T*>(owner.m_scratchA[thread].get());
        T* const scratchB = reinterpret_cast<T*>(owner.m_scratchB[thread].get());
        bool isPacked = false;
        size_t panel = 0;
        while (const size_t count = Draw(rows, panel))
        {
            for (size_t step = firstStep; !isPacked && step < endStep; step += depth)
                functions.packA(task, row, height, step, std::min(depth, endStep - step),
                                panelsA + (step - firstStep) * cut.rows);
            isPacked = true;
            const size_t column = panel * functions.tileColumns;
            const size_t columns = std::min(count * functions.tileColumns, task.n - column);
            for (size_t step = firstStep; step < endStep; step += depth)
                functions.multiplyColumns(task, row, height, column, columns, step, std::min(depth, endStep - step),
                                          panelsA + (step - firstStep) * cut.rows, scratchB);
            owner.m_counters[rows.group].done.fetch_add(count, std::memory_order_release);
            owner.m_pool.NoteShare(thread, double(height * count) / double(task.m * panels * chunks));
        }
    }

    // Draws panels [panel, panel + count) of columns and returns count; 0: none is left. It draws few at the end, so
    // that all threads finish together.
    size_t Draw(const Rows& rows, size_t& panel) const
    {
        std::atomic<size_t>& drawn = owner.m_counters[rows.group].drawn;
        for (size_t before = drawn.load(std::memory_order_relaxed);;)
        {
            const size_t end = (rows.chunk + 1) * panels;
            if (before >= end)
                return 0;
            const size_t left = end - before;
            const size_t count = std::clamp<size_t>(left * cut.groups / (2 * threads), 1, std::min(left, c_mostPanels));
            if (!drawn.compare_exchange_weak(before, before + count, std::memory_order_relaxed))
                continue;
            panel = before - rows.chunk * panels;
            return count;
        }
    }
};

template <class T>
void GemmInRows::Multiply(const GemmTask<T>& task)
{
    const GemmFunctions<T>& functions = m_kernels.Of<T>();
    const Cut cut = CutOf(task);
    const Job<T> job{*this,
                     task,
                     functions,
                     cut,
                     functions.depthEach(task.k),
                     PartsOf(task.n, functions.tileColumns),
                     PartsOf(task.k, cut.steps),
                     size_t(m_pool.Threads())};
    for (size_t group = 0; group < cut.groups; ++group)
    {
        m_counters[group].drawn.store(0, std::memory_order_relaxed);
        m_counters[group].done.store(0, std::memory_order_relaxed);
    }
    m_pool.Run(job.threads, [&job](size_t index, size_t thread) { job.Run(index, thread); });
}

template GemmInRows::Cut GemmInRows::CutOf<float>(const GemmTask<float>&) const;
template GemmInRows::Cut GemmInRows::CutOf<double>(const GemmTask<double>&) const;
template void GemmInRows::Multiply<float>(const GemmTask<float>&);
template void GemmInRows::Multiply<double>(const GemmTask<double>&);

} // namespace cntk
