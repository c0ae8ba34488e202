// Products whose left operand was packed before: the steps of a recurrent loop, where the panels of a weight are read
// at each time step and packing them would cost as much as the product.
#pragma once

#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/GemmShared.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/Matrix.h"

#include <cstddef>
#include <span>
#include <vector>

namespace cntk
{

// Belongs to a device; allocates only when made.
class GemmPrepacked
{
public:
    GemmPrepacked(ThreadPool& pool, const ProductKernels& kernels);

    // Elements of the panels of op(a), m x k.
    template <class T>
    size_t PanelElements(size_t m, size_t k) const;
    // op(a), where a are matrices one above another, of as many columns each.
    template <class T>
    void Pack(std::span<const MatrixView> parts, bool transposed, T* panels);
    // The same of matrices that are not transposed, and c = a * b on the way: of one column, which is then no pass of
    // its own over panels that may be more than a cache holds. Bit for bit what Multiply gives.
    template <class T>
    void PackAndMultiply(std::span<const MatrixView> parts, const T* b, T* panels, T* c);
    // m, n and k are not 0. Bit for bit what the product on one thread gives.
    template <class T>
    void Multiply(const GemmTask<T>& task, const T* panels);

private:
    // Steps [step, step + depth) of a product.
    struct Slab
    {
        size_t step = 0;
        size_t depth = 0;
    };
    // A product of one column that is made on the way; no b: none.
    template <class T>
    struct Column
    {
        const T* b = nullptr;
        T* c = nullptr;
    };
    template <class T>
    void PackInTasks(std::span<const MatrixView> parts, bool transposed, T* panels, const Column<T>& product);
    template <class T>
    void PackDown(std::span<const MatrixView> parts, const Slab& slab, size_t row, size_t rows, T* to,
                  const Column<T>& product) const;
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
    std::vector<AlignedMemory> m_panelsB; // one a thread
};

} // namespace cntk
