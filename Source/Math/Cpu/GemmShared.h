// A large product whose packed panels the threads share: each panel of A and B is packed once, by whoever is free, and
// the tiles of C are drawn one by one, so that nobody waits for a thread that lost its core before it began a tile.
#pragma once

#include "Math/Cpu/AlignedMemory.h"
#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/ThreadPool.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cntk
{

class SharedGemm
{
public:
    SharedGemm(ThreadPool& pool, const ProductKernels& kernels);

    // m, n and k are not 0. The result is bit for bit that of one thread.
    template <class T>
    void Multiply(const GemmTask<T>& task);

private:
    static constexpr size_t c_mostRows = 2048; // of A's panels, and columns of B's, at a time
    static constexpr size_t c_mostTiles = 1024;

    template <class T>
    struct Job;
    template <class T>
    void MultiplyBlock(const GemmTask<T>& task);

    ThreadPool& m_pool;
    const ProductKernels& m_kernels;
    // Panels of two slabs (ranges of steps): the next is packed while this one is multiplied.
    std::array<AlignedMemory, 2> m_panelsA;
    std::array<AlignedMemory, 2> m_panelsB;
    // Tasks done so far, of all even slabs and of all odd ones.
    struct alignas(64) Counter
    {
        std::atomic<size_t> done{0};
    };
    std::array<Counter, 2> m_packed;
    std::array<Counter, 2> m_multiplied;
    std::array<std::atomic<uint32_t>, c_mostTiles> m_slabsOfTile; // that are added already
};

} // namespace cntk
