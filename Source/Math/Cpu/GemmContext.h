// Matrix products on several threads: splits C into tiles, one call a tile, and can end each block of C - with a bias
// and a non-linearity, or with the update of a parameter whose gradient it is - while it is in the cache.
#pragma once

#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/GemmEngines.h"
#include "Math/Cpu/GemmInRows.h"
#include "Math/Cpu/GemmInSteps.h"
#include "Math/Cpu/GemmShared.h"
#include "Math/Cpu/ThreadPool.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

using GemmTrace = std::function<void(const std::string& text)>;

// Belongs to a device; allocates only when made.
class GemmContext
{
public:
    GemmContext(ThreadPool& pool, const ProductKernels& kernels);

    // c = beta*c + alpha*op(a)*op(b), and its epilogue; m, n and k may be 0.
    template <class T>
    void Multiply(const GemmTask<T>& task);

    // Products taskOf(i), i in [0, count), of which none writes what another one reads or writes; bit for bit as one by
    // one. Small ones keep the threads busy together.
    template <class T, class TaskOf>
    void MultiplyAll(size_t count, TaskOf&& taskOf)
    {
        double most = 0, work = 0;
        for (size_t i = 0; i < count; ++i)
        {
            const double own = Work(taskOf(i));
            most = std::max(most, own);
            work += own;
        }
        if (count == 1 || !IsWorthSharing(most, work))
        {
            MultiplyOneByOne<T>(count, taskOf);
            return;
        }
        // Each is cut into stretches of columns, in all some for each thread.
        const double workEach = work / double(m_pool.Threads()) / c_stretchesPerThread;
        size_t stretches = 0;
        for (size_t i = 0; i < count; ++i)
        {
            const GemmTask<T> task = taskOf(i);
            stretches += StretchesOf(task, workEach);
            if (m_trace)
                Trace(task, ", beside others");
        }
        m_pool.Run(stretches,
                   [&](size_t stretch, size_t thread)
                   {
                       size_t i = 0;
                       GemmTask<T> task = taskOf(0);
                       for (size_t own = StretchesOf(task, workEach); stretch >= own; own = StretchesOf(task, workEach))
                       {
                           stretch -= own;
                           task = taskOf(++i);
                       }
                       MultiplyStretch(task, stretch, StretchesOf(task, workEach), thread);
                   });
    }

    // The same on the calling thread alone: inside of a job of the pool, with the number that the job was given.
    template <class T>
    void MultiplyOnThread(const GemmTask<T>& task, size_t thread);

    // For tests and benchmarks: every product on this engine where it is there. Our own kernels are as fast as any
    // (Documentation/Performance.md), and threads can keep or share their packed panels.
    void ForceEngine(GemmEngine engine) { m_engine = engine; }

    std::string Describe() const; // "own kernels AVX2"

    // Tells of each shape once, when it is first multiplied.
    void TraceTo(GemmTrace trace) { m_trace = std::move(trace); }

private:
    struct Grid
    {
        size_t rows; // of a tile of C
        size_t columns;
        size_t down; // tiles
        size_t across;
    };
    static constexpr double c_stretchesPerThread = 3;
    template <class T>
    static double Work(const GemmTask<T>& task)
    {
        return double(task.m) * double(task.n) * double(task.k);
    }
    bool IsWorthSharing(double most, double work) const;
    // Those of one b that follow one another as one where that is packed for a single thread.
    template <class T, class TaskOf>
    void MultiplyOneByOne(size_t count, TaskOf&& taskOf)
    {
        constexpr size_t c_mostTogether = 8;
        std::array<GemmTask<T>, c_mostTogether> together;
        for (size_t i = 0; i < count;)
        {
            size_t found = 0;
            do
                together[found] = taskOf(i + found);
            while (++found < std::min(c_mostTogether, count - i) && HaveOneB(together[0], taskOf(i + found)));
            if (m_trace || !MultiplyWithOneB<T>({together.data(), found}))
                for (size_t j = 0; j < found; ++j)
                    Multiply(together[j]);
            i += found;
        }
    }
    template <class T>
    bool MultiplyWithOneB(std::span<const GemmTask<T>> tasks);
    template <class T>
    size_t StretchesOf(const GemmTask<T>& task, double workEach) const;
    template <class T>
    void MultiplyStretch(const GemmTask<T>& task, size_t stretch, size_t stretches, size_t thread);
    Grid Split(size_t m, size_t n, size_t k) const;
    template <class T>
    bool IsShared(const GemmTask<T>& task) const;
    template <class T>
    void RunTile(const GemmTask<T>& task, size_t thread);

    template <class T>
    void Trace(const GemmTask<T>& task, const std::string& how);

    ThreadPool& m_pool;
    const ProductKernels& m_kernels;
    std::vector<AlignedMemory> m_scratchA; // one a thread
    std::vector<AlignedMemory> m_scratchB;
    SharedGemm m_shared;
    GemmInRows m_inRows;
    GemmInSteps m_inSteps;
    GemmEngine m_engine = GemmEngine::Own;
    GemmTrace m_trace;
    std::set<std::array<size_t, 6>> m_traced; // m, n, k, transposes, size of an element
};

} // namespace cntk
