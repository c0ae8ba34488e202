// Products whose left operand is packed in advance: in the time steps of a recurrent loop, packing a weight each time
// would take as long as the product.
#pragma once

#include "Math/Cpu/AlignedMemory.h"
#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/Matrix.h"

#include <cstddef>
#include <span>
#include <vector>

namespace cntk
{

// Belongs to a device; allocates only when it is created.
class GemmPrepacked
{
public:
    GemmPrepacked(ThreadPool& pool, const ProductKernels& kernels);

    // The number of elements of the panels of op(a), m x k.
    template <class T>
    size_t PanelElements(size_t m, size_t k) const;
    // Packs op(a), where a is a stack of matrices with the same number of columns.
    template <class T>
    void Pack(std::span<const MatrixView> parts, bool transposed, T* panels);
    // m, n and k are not 0. The result has the bits of an unpacked product on one thread.
    template <class T>
    void Multiply(const GemmTask<T>& task, const T* panels);

private:
    // Steps [step, step + depth) of a product.
    struct Slab
    {
        size_t step = 0;
        size_t depth = 0;
    };
    template <class T>
    void PackDown(std::span<const MatrixView> parts, const Slab& slab, size_t row, size_t rows, T* to) const;
    template <class T>
    void PackPiecewise(std::span<const MatrixView> parts, const Slab& slab, size_t row, size_t rows, T* to) const;
    template <class T>
    void PackAcross(std::span<const MatrixView> parts, const Slab& slab, size_t row, size_t rows, T* to) const;
    template <class T>
    void MultiplyRows(const GemmTask<T>& task, const T* panels, size_t firstRow, size_t rows, size_t thread);
    template <class T>
    size_t DepthEach(size_t k) const;
    template <class T>
    size_t PaddedRows(size_t m) const;

    ThreadPool& m_pool;
    const ProductKernels& m_kernels;
    std::vector<AlignedMemory> m_panelsB; // one for each thread
};

} // namespace cntk
