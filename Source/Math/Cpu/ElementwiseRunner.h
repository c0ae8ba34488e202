// Runs element-wise calls on the inner loops of one instruction set and element type.
#pragma once

#include "Math/Cpu/ThreadPool.h"
#include "Math/Cpu/VectorKernels.h"
#include "Math/Kernels.h"

#include <array>
#include <cstddef>

namespace cntk
{

// Without initialisers, so that arrays of it cost nothing.
struct LoopAxis
{
    size_t extent;
    ptrdiff_t inputs[3]; // steps in elements
    ptrdiff_t output;
    bool reduced;
};

enum class LoopAxes
{
    Kept,
    Reduced
};

// Axis 0 is the innermost; there is always at least one.
class LoopNest
{
public:
    LoopNest(const ElementwiseCall& call, const TensorView& output);

    size_t Axes() const { return m_axes; }
    const LoopAxis& operator[](size_t axis) const { return m_axis[axis]; }
    LoopAxis& operator[](size_t axis) { return m_axis[axis]; }

    bool IsReduction() const { return m_isReduction; }
    size_t Elements() const; // of the loops; 0 where some axis is empty
    // The axis with the largest extent among those that are reduced, or those that are kept; Axes() if there is none.
    size_t LongestAxis(LoopAxes among) const;

private:
    void Add(const LoopAxis& axis, size_t inputs);

    std::array<LoopAxis, TensorShape::c_maxRank> m_axis;
    size_t m_axes = 0;
    bool m_isReduction = false;
};

// A position in some axes of a nest, and the offsets that go with it.
class LoopPosition
{
public:
    // Runs over those of the axes from first on.
    LoopPosition(const LoopNest& nest, size_t first, LoopAxes among);

    ptrdiff_t Input(size_t input) const { return m_inputs[input]; }
    ptrdiff_t Output() const { return m_output; }
    // False when all positions were visited.
    bool Next();

private:
    std::array<LoopAxis, TensorShape::c_maxRank> m_axis;
    std::array<size_t, TensorShape::c_maxRank> m_index;
    size_t m_axes = 0;
    ptrdiff_t m_inputs[3] = {};
    ptrdiff_t m_output = 0;
};

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
