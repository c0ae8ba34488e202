// A large product whose threads each keep packed panels of some rows of A - in their own second-level cache - and draw
// the columns that they multiply them with. No thread reads what another one has packed, and a thread that has lost its
// core holds up no more than the columns that it has drawn.
#pragma once

#include "Math/Cpu/AlignedMemory.h"
#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/ThreadPool.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <vector>

namespace cntk
{

class GemmInRows
{
public:
    // scratchA, scratchB: for each thread as much memory as a product on one thread needs.
    GemmInRows(ThreadPool& pool, const ProductKernels& kernels, const std::vector<AlignedMemory>& scratchA,
               const std::vector<AlignedMemory>& scratchB);

    // Whether the processor's caches and the product's rows allow for it.
    template <class T>
    bool IsPossible(const GemmTask<T>& task) const
    {
        return m_kernels.Of<T>().keepsRows && CutOf(task).groups > 0;
    }

    // Where it is possible; m, n and k are not 0. The result is bit for bit that of one thread.
    template <class T>
    void Multiply(const GemmTask<T>& task);

private:
    static constexpr size_t c_mostGroups = 256;

    struct Cut
    {
        size_t rows = 0; // of a group, which a thread keeps
        size_t groups = 0;
        size_t steps = 0; // of a chunk, that it keeps at a time
    };
    template <class T>
    Cut CutOf(const GemmTask<T>& task) const;
    template <class T>
    struct Job;

    ThreadPool& m_pool;
    const ProductKernels& m_kernels;
    const std::vector<AlignedMemory>& m_scratchA;
    const std::vector<AlignedMemory>& m_scratchB;
    // Panels of columns of each group of rows that are drawn and done already, of all chunks of steps so far.
    struct alignas(64) Counter
    {
        std::atomic<size_t> drawn{0};
        std::atomic<size_t> done{0};
    };
    std::array<Counter, c_mostGroups> m_counters;
};

} // namespace cntk
