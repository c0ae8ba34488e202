// Merging axes, and stepping through those that remain.
#include "Math/Cpu/LoopNest.h"

#include <algorithm>

namespace cntk
{

LoopNest::LoopNest(const ElementwiseCall& call, const TensorView& output)
{
    size_t rank = output.rank;
    for (const TensorView* input : call.inputs)
        rank = std::max(rank, input->rank);
    for (size_t axis = 0; axis < rank; ++axis)
    {
        LoopAxis loop{};
        const size_t outputDim = axis < output.rank ? output.dims[axis] : 1;
        loop.extent = outputDim;
        for (size_t i = 0; i < call.inputs.size(); ++i)
        {
            const TensorView& input = *call.inputs[i];
            if (axis < input.rank && input.dims[axis] != 1)
            {
                loop.extent = input.dims[axis];
                loop.inputs[i] = input.strides[axis];
            }
        }
        if (loop.extent == 1)
            continue;
        loop.reduced = outputDim == 1;
        if (!loop.reduced)
            loop.output = output.strides[axis];
        Add(loop, call.inputs.size());
    }
    if (m_axes == 0)
    {
        m_axis[m_axes++] = {1, {1, 1, 1}, 1, false};
    }
}

void LoopNest::Add(const LoopAxis& axis, size_t inputs)
{
    m_isReduction |= axis.reduced;
    if (m_axes > 0)
    {
        LoopAxis& last = m_axis[m_axes - 1];
        const ptrdiff_t extent = ptrdiff_t(last.extent);
        bool mergeable = last.reduced == axis.reduced && last.output * extent == axis.output;
        for (size_t i = 0; i < inputs; ++i)
            mergeable = mergeable && last.inputs[i] * extent == axis.inputs[i];
        if (mergeable)
        {
            last.extent *= axis.extent;
            return;
        }
    }
    m_axis[m_axes++] = axis;
}

size_t LoopNest::Elements() const
{
    size_t elements = 1;
    for (size_t axis = 0; axis < m_axes; ++axis)
        elements *= m_axis[axis].extent;
    return elements;
}

size_t LoopNest::LongestAxis(LoopAxes among) const
{
    const bool reduced = among == LoopAxes::Reduced;
    size_t longest = m_axes;
    for (size_t axis = 0; axis < m_axes; ++axis)
    {
        if (m_axis[axis].reduced == reduced && (longest == m_axes || m_axis[axis].extent >= m_axis[longest].extent))
            longest = axis;
    }
    return longest;
}

LoopPosition::LoopPosition(const LoopNest& nest, size_t first, LoopAxes among)
{
    const bool reduced = among == LoopAxes::Reduced;
    for (size_t axis = first; axis < nest.Axes(); ++axis)
    {
        if (nest[axis].reduced == reduced)
        {
            m_index[m_axes] = 0;
            m_axis[m_axes++] = nest[axis];
        }
    }
}

bool LoopPosition::Next()
{
    for (size_t axis = 0; axis < m_axes; ++axis)
    {
        const LoopAxis& loop = m_axis[axis];
        const bool wraps = ++m_index[axis] == loop.extent;
        const ptrdiff_t steps = wraps ? 1 - ptrdiff_t(loop.extent) : 1;
        for (size_t i = 0; i < 3; ++i)
            m_inputs[i] += steps * loop.inputs[i];
        m_output += steps * loop.output;
        if (!wraps)
            return true;
        m_index[axis] = 0;
    }
    return false;
}

} // namespace cntk
