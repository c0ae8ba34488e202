// Products whose left operand was packed before: the steps of a recurrent loop, where the panels of a weight are read
// at each time step and packing them would cost as much as the product.
#pragma once

#include "Math/Cpu/GemmIsa.h"
#include "Math/Cpu/GemmShared.h"
#include "Math/Cpu/ThreadPool.h"

#include <cstddef>
#include <vector>

namespace cntk
{

// Belongs to a device; allocates only when made.
class GemmPrepacked
{
public:
    GemmPrepacked(ThreadPool& pool, const GemmIsa& isa);

    // Elements of the panels of op(a), m x k.
    template <class T>
    size_t PanelElements(size_t m, size_t k) const;
    // Of the task only op(a), m and k count.
    template <class T>
    void Pack(const GemmTask<T>& task, T* panels);
    // m, n and k are not 0. Bit for bit what the product on one thread gives.
    template <class T>
    void Multiply(const GemmTask<T>& task, const T* panels);

private:
    template <class T>
    void MultiplyRows(const GemmTask<T>& task, const T* panels, size_t firstRow, size_t rows, size_t thread);
    template <class T>
    size_t DepthEach(size_t k) const;
    template <class T>
    size_t PaddedRows(size_t m) const;

    ThreadPool& m_pool;
    const GemmIsa& m_isa;
    std::vector<AlignedMemory> m_panelsB; // one a thread
};

} // namespace cntk
