// Matrix products on several threads. Chooses the engine and the way in which the threads share out a product.
#pragma once

#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/GemmEngines.h"
#include "Math/Cpu/GemmInRows.h"
#include "Math/Cpu/ThreadPool.h"

#include <array>
#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

using GemmTrace = std::function<void(const std::string& text)>;

// Belongs to a device; allocates only when it is created. Our own kernels give the same bits with any number of
// threads.
class GemmContext
{
public:
    // Without the engine's library, our own kernels are used.
    GemmContext(ThreadPool& pool, const ProductKernels& kernels, MatrixEngine engine = MatrixEngine::Own);

    // c = beta * c + alpha * op(a) * op(b), and its epilogue; m, n and k may be 0.
    template <class T>
    void Multiply(const GemmTask<T>& task);

    // Computes products of which none writes what another one reads or writes. The threads share out small ones
    // together. The result has the bits of one product after another.
    template <class T>
    void MultiplyAll(std::span<const GemmTask<T>> tasks);

    // Multiply on the calling thread alone, inside a job of the pool. `thread` is the number that the job was given.
    template <class T>
    void MultiplyOnThread(const GemmTask<T>& task, size_t thread);

    std::string Describe() const { return DescribeEngine(m_engine); }

    // Calls `trace` once for each shape, when it is first multiplied.
    void TraceTo(GemmTrace trace) { m_trace = std::move(trace); }

private:
    struct Grid
    {
        size_t rows; // of a tile of C
        size_t columns;
        size_t down; // tiles
        size_t across;
    };
    Grid Split(size_t m, size_t n, size_t k) const;
    template <class T>
    bool IsForRows(const GemmTask<T>& task) const;
    template <class T>
    MatrixEngine EngineFor(const GemmTask<T>& task) const;
    template <class T>
    void MultiplyOneByOne(std::span<const GemmTask<T>> tasks);
    template <class T>
    size_t StretchesOf(const GemmTask<T>& task, double workEach) const;
    template <class T>
    GemmTask<T> Stretch(const GemmTask<T>& task, size_t stretch, size_t stretches) const;
    template <class T>
    void RunTile(const GemmTask<T>& task, LibraryProduct<T> library, size_t thread);
    template <class T>
    void Trace(const GemmTask<T>& task, const std::string& how);

    ThreadPool& m_pool;
    const ProductKernels& m_kernels;
    MatrixEngine m_engine;
    std::vector<AlignedMemory> m_scratchA; // one for each thread
    std::vector<AlignedMemory> m_scratchB;
    GemmInRows m_inRows;
    GemmTrace m_trace;
    std::set<std::array<size_t, 6>> m_traced; // m, n, k, transposes, size of an element
};

} // namespace cntk
