// The order of the tasks of a shared product: the panels of the first slab, then for each slab half of its tiles, the
// panels of the next slab, the other half. Tasks are drawn in this order, so a task waits only for tasks that others
// have begun already.
#include "Math/Cpu/GemmShared.h"

#include "Math/Cpu/Blocks.h"

#include <algorithm>

namespace cntk
{

namespace
{

// Rows of A or columns of B that a task of packing takes: some 5 microseconds.
constexpr size_t c_panelRowsTogether = 64;
// A tile's panels of B stay in the second-level cache beside what passes through.
constexpr size_t c_tileRows = 256;
constexpr size_t c_tileColumns = 192;
constexpr size_t c_leastTile = 64;
constexpr size_t c_tilesPerThread = 4;

struct Cut
{
    size_t size = 0; // of a part
    size_t parts = 0;

    // As even as whole registers allow.
    Cut(size_t value, size_t wanted, size_t unit)
        : size(RoundUp(PartsOf(value, std::max<size_t>(wanted, 1)), unit)), parts(PartsOf(value, size))
    {
    }
};

} // namespace

// One product, or a block of a very large one.
template <class T>
struct SharedGemm::Job
{
    SharedGemm& owner;
    const GemmTask<T>& task;
    const GemmFunctions<T>& functions;
    size_t depth; // of a slab
    size_t slabs;
    Cut packA;
    Cut packB; // no parts: B is read as it lies
    Cut down;
    Cut across;

    size_t PackTasks() const { return packA.parts + packB.parts; }
    size_t Tiles() const { return down.parts * across.parts; }
    size_t Tasks() const { return slabs * (PackTasks() + Tiles()); }

    void Run(size_t index, size_t thread) const
    {
        if (index < PackTasks())
            return Pack(0, index, thread);
        index -= PackTasks();
        const size_t ofSlab = PackTasks() + Tiles();
        const size_t slab = std::min(index / ofSlab, slabs - 1);
        index -= slab * ofSlab;
        const size_t before = Tiles() / 2;
        if (index < before || slab + 1 == slabs)
            MultiplyTile(slab, index, thread);
        else if (index < before + PackTasks())
            Pack(slab + 1, index - before, thread);
        else
            MultiplyTile(slab, index - PackTasks(), thread);
    }

    void Await(const Counter& counter, size_t wanted, size_t thread) const
    {
        owner.m_pool.WaitInTask(thread, [&] { return counter.done.load(std::memory_order_acquire) >= wanted; });
    }

    T* PanelsA(size_t slab) const { return reinterpret_cast<T*>(owner.m_panelsA[slab % 2].get()); }
    T* PanelsB(size_t slab) const { return reinterpret_cast<T*>(owner.m_panelsB[slab % 2].get()); }
    size_t StepsOf(size_t slab) const { return std::min(depth, task.k - slab * depth); }

    void Pack(size_t slab, size_t index, size_t thread) const
    {
        // The panels that are replaced have been read.
        if (slab >= 2)
            Await(owner.m_multiplied[slab % 2], Tiles() * (slab / 2), thread);
        const size_t steps = StepsOf(slab);
        if (index < packA.parts)
        {
            const size_t row = index * packA.size;
            functions.packA(task, row, std::min(packA.size, task.m - row), slab * depth, steps,
                            PanelsA(slab) + row * steps);
        }
        else
        {
            const size_t column = (index - packA.parts) * packB.size;
            functions.packB(task, column, std::min(packB.size, task.n - column), slab * depth, steps,
                            PanelsB(slab) + column * steps);
        }
        owner.m_packed[slab % 2].done.fetch_add(1, std::memory_order_acq_rel);
    }

    void MultiplyTile(size_t slab, size_t index, size_t thread) const
    {
        Await(owner.m_packed[slab % 2], PackTasks() * (slab / 2 + 1), thread);
        std::atomic<uint32_t>& slabsOfTile = owner.m_slabsOfTile[index];
        owner.m_pool.WaitInTask(thread, [&] { return slabsOfTile.load(std::memory_order_acquire) == uint32_t(slab); });
        const size_t row = index % down.parts * down.size;
        const size_t column = index / down.parts * across.size;
        const size_t rows = std::min(down.size, task.m - row);
        const size_t columns = std::min(across.size, task.n - column);
        const size_t steps = StepsOf(slab);
        functions.tile(task, row, rows, column, columns, slab * depth, steps, PanelsA(slab) + row * steps,
                       packB.parts > 0 ? PanelsB(slab) + column * steps : nullptr);
        slabsOfTile.store(uint32_t(slab + 1), std::memory_order_release);
        owner.m_multiplied[slab % 2].done.fetch_add(1, std::memory_order_acq_rel);
    }
};

SharedGemm::SharedGemm(ThreadPool& pool, const ProductKernels& kernels) : m_pool(pool), m_kernels(kernels)
{
    const size_t bytes = std::max(kernels.floats.depth * sizeof(float), kernels.doubles.depth * sizeof(double));
    // Panels are whole registers.
    const size_t unit = std::max({kernels.floats.tileRows, kernels.floats.tileColumns, kernels.doubles.tileRows});
    for (size_t slab = 0; slab < 2; ++slab)
    {
        m_panelsA[slab] = MakeAlignedMemory((c_mostRows + unit) * bytes);
        m_panelsB[slab] = MakeAlignedMemory((c_mostRows + unit) * bytes);
    }
}

template <class T>
void SharedGemm::Multiply(const GemmTask<T>& task)
{
    const GemmFunctions<T>& functions = m_kernels.Of<T>();
    const Cut down(task.m, PartsOf(task.m, c_mostRows), functions.tileRows);
    const Cut across(task.n, PartsOf(task.n, c_mostRows), functions.tileColumns);
    for (size_t column = 0; column < task.n; column += across.size)
        for (size_t row = 0; row < task.m; row += down.size)
            MultiplyBlock(
                PartOf(task, row, std::min(down.size, task.m - row), column, std::min(across.size, task.n - column)));
}

template <class T>
void SharedGemm::MultiplyBlock(const GemmTask<T>& task)
{
    const GemmFunctions<T>& functions = m_kernels.Of<T>();
    const size_t depth = functions.depthEach(task.k);
    const size_t slabs = PartsOf(task.k, depth);
    // Smaller tiles where there would be too few to go round.
    size_t downParts = PartsOf(task.m, c_tileRows);
    size_t acrossParts = PartsOf(task.n, c_tileColumns);
    const auto isSmall = [&] { return task.m / downParts <= c_leastTile && task.n / acrossParts <= c_leastTile; };
    while (downParts * acrossParts < c_tilesPerThread * size_t(m_pool.Threads()) && !isSmall())
        ++(task.m / downParts > task.n / acrossParts ? downParts : acrossParts);
    const Cut down(task.m, downParts, functions.tileRows);
    const Cut across(task.n, acrossParts, functions.tileColumns);
    for (Counter& counter : m_packed)
        counter.done.store(0, std::memory_order_relaxed);
    for (Counter& counter : m_multiplied)
        counter.done.store(0, std::memory_order_relaxed);
    for (size_t tile = 0; tile < down.parts * across.parts; ++tile)
        m_slabsOfTile[tile].store(0, std::memory_order_relaxed);
    const Cut packA(task.m, PartsOf(task.m, c_panelRowsTogether), functions.tileRows);
    Cut packB(task.n, PartsOf(task.n, c_panelRowsTogether), functions.tileColumns);
    if (functions.canTilesReadB(task))
        packB.parts = 0;
    const Job<T> job{*this, task, functions, depth, slabs, packA, packB, down, across};
    m_pool.Run(job.Tasks(), [&job](size_t index, size_t thread) { job.Run(index, thread); });
}

template void SharedGemm::Multiply<float>(const GemmTask<float>&);
template void SharedGemm::Multiply<double>(const GemmTask<double>&);

} // namespace cntk
