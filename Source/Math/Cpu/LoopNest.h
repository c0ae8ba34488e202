// An element-wise call as nested loops: axes without extent dropped, axes that step alike merged into one.
#pragma once

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

} // namespace cntk
