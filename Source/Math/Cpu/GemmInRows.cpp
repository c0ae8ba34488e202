// How many rows and steps a thread keeps, and who multiplies them with which columns: those of its own rows first, many
// at once as long as many are left, then those of others.
#include "Math/Cpu/GemmInRows.h"

#include "Math/Cpu/Blocks.h"

#include <algorithm>
#include <limits>

namespace cntk
{

namespace
{

// Multiply-adds that these cost for each value: packing it, reading one of B as it lies, adding a sum of some steps to
// C.
constexpr double c_packingCost = 6;
constexpr double c_readingCost = 3;
constexpr double c_addingCost = 4;

constexpr size_t c_mostPanels = 8; // of B, drawn at once

} // namespace

GemmInRows::GemmInRows(ThreadPool& pool, const GemmIsa& isa, const std::vector<AlignedMemory>& scratchA,
                       const std::vector<AlignedMemory>& scratchB)
    : m_pool(pool), m_isa(isa), m_scratchA(scratchA), m_scratchB(scratchB)
{
}

// The cheapest way: of fewer steps a thread can keep more rows, so that B passes by less often, but C more often. No
// groups: none.
template <class T>
GemmInRows::Cut GemmInRows::CutOf(const GemmTask<T>& task) const
{
    const GemmFunctions<T>& functions = m_isa.Of<T>();
    const size_t threads = size_t(m_pool.Threads());
    const double costOfB = functions.canTilesReadB(task) ? c_readingCost : c_packingCost;
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
            // How often a thread packs rows: once more where groups are not the same number for each.
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

// Some steps of a product.
template <class T>
struct GemmInRows::Job
{
    GemmInRows& owner;
    const GemmTask<T>& task;
    const GemmFunctions<T>& functions;
    const Cut cut;
    const size_t depth;  // of a slab of steps
    const size_t panels; // of columns
    const size_t threads;
    const size_t firstStep;
    const size_t endStep;

    void Run(size_t index, size_t thread) const
    {
        owner.m_pool.NoteShare(thread, 0);
        for (size_t group = index % cut.groups; group < cut.groups; group += threads)
            WorkOn(group, false, thread);
        for (size_t i = 1; i < cut.groups; ++i)
            WorkOn((index + i) % cut.groups, true, thread);
    }

    // As long as columns are left for these rows. isHelp: another thread has begun with them; with few columns left it
    // will end before they are packed once more.
    void WorkOn(size_t group, bool isHelp, size_t thread) const
    {
        const size_t row = group * cut.rows;
        const size_t rows = std::min(cut.rows, task.m - row);
        bool isPacked = false;
        size_t panel = 0;
        while (const size_t count = Draw(group, isHelp && !isPacked ? threads : 0, panel))
        {
            if (!isPacked)
                PackRows(row, rows, thread);
            isPacked = true;
            const size_t column = panel * functions.tileColumns;
            MultiplyColumns(row, rows, column, std::min(count * functions.tileColumns, task.n - column), thread);
            owner.m_pool.NoteShare(thread, double(rows * count) / double(task.m * panels));
        }
    }

    // Panels [panel, panel + count) of columns; 0: not more than so many are left. Few at the end, so that all threads
    // end together.
    size_t Draw(size_t group, size_t leave, size_t& panel) const
    {
        std::atomic<size_t>& drawn = owner.m_counters[group].drawn;
        panel = drawn.load(std::memory_order_relaxed);
        for (;;)
        {
            const size_t left = panels - panel;
            if (left <= leave)
                return 0;
            const size_t count = std::clamp<size_t>(left * cut.groups / (2 * threads), 1, std::min(left, c_mostPanels));
            if (drawn.compare_exchange_weak(panel, panel + count, std::memory_order_relaxed))
                return count;
        }
    }

    T* PanelsA(size_t step, size_t thread) const
    {
        return reinterpret_cast<T*>(owner.m_scratchA[thread].get()) + (step - firstStep) * cut.rows;
    }

    void PackRows(size_t row, size_t rows, size_t thread) const
    {
        for (size_t step = firstStep; step < endStep; step += depth)
            functions.packA(task, row, rows, step, std::min(depth, endStep - step), PanelsA(step, thread));
    }

    void MultiplyColumns(size_t row, size_t rows, size_t column, size_t columns, size_t thread) const
    {
        T* const scratchB = reinterpret_cast<T*>(owner.m_scratchB[thread].get());
        for (size_t step = firstStep; step < endStep; step += depth)
            functions.multiplyColumns(task, row, rows, column, columns, step, std::min(depth, endStep - step),
                                      PanelsA(step, thread), scratchB);
    }
};

template <class T>
void GemmInRows::Multiply(const GemmTask<T>& task)
{
    const GemmFunctions<T>& functions = m_isa.Of<T>();
    const Cut cut = CutOf(task);
    for (size_t step = 0; step < task.k; step += cut.steps)
    {
        const Job<T> job{*this,
                         task,
                         functions,
                         cut,
                         functions.depthEach(task.k),
                         PartsOf(task.n, functions.tileColumns),
                         size_t(m_pool.Threads()),
                         step,
                         std::min(task.k, step + cut.steps)};
        for (size_t group = 0; group < cut.groups; ++group)
            m_counters[group].drawn.store(0, std::memory_order_relaxed);
        m_pool.Run(job.threads, [&job](size_t index, size_t thread) { job.Run(index, thread); });
    }
}

template GemmInRows::Cut GemmInRows::CutOf<float>(const GemmTask<float>&) const;
template GemmInRows::Cut GemmInRows::CutOf<double>(const GemmTask<double>&) const;
template void GemmInRows::Multiply<float>(const GemmTask<float>&);
template void GemmInRows::Multiply<double>(const GemmTask<double>&);

} // namespace cntk
