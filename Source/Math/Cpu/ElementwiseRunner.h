// Runs element-wise calls on the inner loops of one instruction set and element type.
#pragma once

#include "Math/Cpu/LoopNest.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/Cpu/VectorKernels.h"

namespace cntk
{

// The cost of one element in additions, which decides how many threads are useful.
size_t OperationsOf(ElementwiseOp op);

template <class T>
class ElementwiseRunner
{
public:
    ElementwiseRunner(const VectorKernels<T>& kernels, ThreadPool& pool, const ElementwiseCall& call,
                      const TensorView& output);

    void Run();

private:
    // Elements that are worked on at a time where they must be gathered first.
    static constexpr size_t c_tile = 256;
    struct Tile
    {
        alignas(64) T inputs[3][c_tile];
        alignas(64) T output[c_tile];
    };

    struct Pointers
    {
        const T* inputs[3] = {};
        T* output = nullptr;
    };

    bool HasPattern(const LoopAxis& axis, size_t& pattern) const;
    Pointers StartOf(size_t axis, size_t begin) const;

    // Without reduction
    void Map(const LoopNest& nest, const Pointers& start) const;
    void MapGathered(const LoopNest& nest, const Pointers& start) const;

    // With reduction
    void Reduce(const LoopNest& nest, const Pointers& start) const;
    void SumEachColumn(const LoopNest& nest, const Pointers& start) const;
    void ReduceIntoRow(const LoopNest& nest, const Pointers& start) const;
    // The result of all reduced axes for one element of the output, without alpha and beta.
    double ReduceToOne(const LoopNest& nest, const Pointers& start) const;
    void ReduceToOneInParts();
    double Identity() const;
    double Combine(double a, double b) const;
    void Store(T& target, double value) const;

    // Values of the formula for count elements along an axis from the pointers on: where they lie already, or in the
    // tile.
    const T* Values(const LoopAxis& axis, const Pointers& at, size_t count, Tile& tile) const;
    const T* Gather(const T* source, ptrdiff_t step, size_t count, T* tile) const;

    const VectorKernels<T>& m_kernels;
    ThreadPool& m_pool;
    const ElementwiseCall& m_call;
    LoopNest m_nest;
    size_t m_arity;
    Pointers m_start;
    T m_alpha;
    T m_beta;
};

} // namespace cntk
