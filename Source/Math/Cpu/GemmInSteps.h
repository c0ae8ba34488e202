// A product of many steps and a small C, whose threads share out the steps: each of them would else pack or read the
// whole of an operand for its few rows or columns.
#pragma once

#include "Math/Cpu/AlignedMemory.h"
#include "Math/Cpu/Blocks.h"
#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/Cpu/Threads.h"

#include <algorithm>
#include <cstddef>

namespace cntk
{

class GemmInSteps
{
public:
    GemmInSteps(ThreadPool& pool, const ProductKernels& kernels);

    template <class T>
    bool IsWorthIt(const GemmTask<T>& task) const
    {
        const size_t slabs = SlabsOf(task);
        return m_pool.Threads() > 1 && slabs >= c_slabsPerThread * size_t(m_pool.Threads()) &&
               (slabs - 1) * ColumnStride(task) * task.n * sizeof(T) <= c_mostBytes;
    }

    // Where it is worth it. multiply(task, thread) computes a product on the calling thread. Bit for bit what one
    // thread gives: the sums of a slab of steps are added to C when those of the slabs before it have been.
    template <class T, class Multiply>
    void Run(const GemmTask<T>& task, Multiply&& multiply)
    {
        const size_t slabs = SlabsOf(task);
        const size_t depth = m_kernels.Of<T>().depthEach(task.k);
        const size_t stride = ColumnStride(task);
        T* const sums = reinterpret_cast<T*>(m_sums.get()); // of all slabs but the first, which goes to C itself
        m_pool.Run(slabs,
                   [&](size_t slab, size_t thread)
                   {
                       GemmTask<T> part = task;
                       part.k = std::min(depth, task.k - slab * depth);
                       part.a += slab * depth * (task.transA ? 1 : task.lda);
                       part.b += slab * depth * (task.transB ? task.ldb : 1);
                       if (slab > 0)
                       {
                           part.c = sums + (slab - 1) * stride * task.n;
                           part.ldc = stride;
                           part.beta = 0;
                       }
                       multiply(part, thread);
                   });
        const VectorKernels<T>& kernels = KernelsFor(BestInstructionSet()).vectors.Of<T>();
        ForEachPart(m_pool, task.n, 1, UsefulThreads(slabs * task.m * task.n, m_pool),
                    [&](int, size_t begin, size_t end)
                    {
                        for (size_t column = begin; column < end; ++column)
                            for (size_t slab = 1; slab < slabs; ++slab)
                                kernels.addScaled(1, sums + ((slab - 1) * task.n + column) * stride,
                                                  task.c + column * task.ldc, task.m);
                    });
    }

private:
    static constexpr size_t c_slabsPerThread = 2;
    static constexpr size_t c_mostBytes = size_t(4) << 20; // of the slabs' sums

    template <class T>
    size_t SlabsOf(const GemmTask<T>& task) const
    {
        return PartsOf(task.k, m_kernels.Of<T>().depthEach(task.k));
    }
    // Whole lines of the cache.
    template <class T>
    static size_t ColumnStride(const GemmTask<T>& task)
    {
        return RoundUp(task.m, 64 / sizeof(T));
    }

    ThreadPool& m_pool;
    const ProductKernels& m_kernels;
    AlignedMemory m_sums; // touched where it is used
};

} // namespace cntk
