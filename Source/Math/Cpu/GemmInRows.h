// Large products on several threads. Each thread keeps packed panels of some rows of A in its own second-level cache
// and draws the columns of B to multiply them by. No thread reads what another thread has packed, and a thread that
// loses its core delays only the columns that it has drawn.
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
    // scratchA, scratchB: for each thread, the memory that a product on one thread needs.
    GemmInRows(ThreadPool& pool, const ProductKernels& kernels, const std::vector<AlignedMemory>& scratchA,
               const std::vector<AlignedMemory>& scratchB);

    // False if there would be too many groups of rows.
    template <class T>
    bool IsPossible(const GemmTask<T>& task) const
    {
        return CutOf(task).groups > 0;
    }

    // Requires IsPossible; m, n and k are not 0. The result has the bits of a product on one thread.
    template <class T>
    void Multiply(const GemmTask<T>& task);

private:
    static constexpr size_t c_mostGroups = 256;

    struct Cut
    {
        size_t rows = 0; // of a group
        size_t groups = 0;
        size_t steps = 0; // of a chunk: the steps of a group's rows that a thread keeps at a time
    };
    template <class T>
    Cut CutOf(const GemmTask<T>& task) const;
    template <class T>
    struct Job;

    ThreadPool& m_pool;
    const ProductKernels& m_kernels;
    const std::vector<AlignedMemory>& m_scratchA;
    const std::vector<AlignedMemory>& m_scratchB;
    // For each group: panels of columns that have been drawn and multiplied, over all chunks so far.
    struct alignas(64) Counter
    {
        std::atomic<size_t> drawn{0};
        std::atomic<size_t> done{0};
    };
    std::array<Counter, c_mostGroups> m_counters;
};

} // namespace cntk
