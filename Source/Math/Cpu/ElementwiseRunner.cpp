// Element-wise calls: contiguous stretches go to the vectorised inner loops as they are, others by way of small tiles.
#include "Math/Cpu/ElementwiseRunner.h"

#include "Math/Cpu/ThreadPool.h"

#include <algorithm>
#include <limits>

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

size_t OperationsOf(ElementwiseOp op)
{
    switch (op)
    {
    case ElementwiseOp::Exp:
    case ElementwiseOp::Log:
    case ElementwiseOp::Sigmoid:
    case ElementwiseOp::Tanh:
    case ElementwiseOp::LogGradient:
        return 8;
    case ElementwiseOp::Cosine:
    case ElementwiseOp::Sine:
    case ElementwiseOp::CosineGradientFromInput:
    case ElementwiseOp::SineGradientFromInput:
        return 32;
    default:
        return 1;
    }
}

template <class T>
ElementwiseRunner<T>::ElementwiseRunner(const VectorKernels<T>& kernels, ThreadPool& pool, const ElementwiseCall& call,
                                        const TensorView& output)
    : m_kernels(kernels), m_pool(pool), m_call(call), m_nest(call, output), m_arity(call.inputs.size()),
      m_alpha(T(call.alpha)), m_beta(T(call.beta))
{
    for (size_t i = 0; i < m_arity; ++i)
        m_start.inputs[i] = static_cast<const T*>(call.inputs[i]->data);
    m_start.output = static_cast<T*>(output.data);
}

template <class T>
typename ElementwiseRunner<T>::Pointers ElementwiseRunner<T>::StartOf(size_t axis, size_t begin) const
{
    Pointers start = m_start;
    for (size_t i = 0; i < m_arity; ++i)
        start.inputs[i] += ptrdiff_t(begin) * m_nest[axis].inputs[i];
    start.output += ptrdiff_t(begin) * m_nest[axis].output;
    return start;
}

template <class T>
void ElementwiseRunner<T>::Run()
{
    const size_t elements = m_nest.Elements();
    if (elements == 0 && !m_nest.IsReduction())
        return;
    const int parts = UsefulThreads(elements * OperationsOf(m_call.op), m_pool);
    // Threads share out the longest axis of the output; its elements are independent of one another.
    const size_t axis = parts > 1 ? m_nest.LongestAxis(LoopAxes::Kept) : m_nest.Axes();
    if (parts > 1 && (axis == m_nest.Axes() || m_nest[axis].extent < size_t(parts)) && m_nest.IsReduction() &&
        m_nest.LongestAxis(LoopAxes::Kept) == m_nest.Axes())
    {
        ReduceToOneInParts();
        return;
    }
    if (axis == m_nest.Axes())
    {
        m_nest.IsReduction() ? Reduce(m_nest, m_start) : Map(m_nest, m_start);
        return;
    }
    const size_t granule = axis == 0 && m_nest[axis].extent >= 64 * size_t(parts) ? 64 : 1;
    ForEachPart(m_pool, m_nest[axis].extent, granule, int(std::min(size_t(parts), m_nest[axis].extent)),
                [&](int, size_t begin, size_t end)
                {
                    if (begin == end)
                        return;
                    LoopNest nest = m_nest;
                    nest[axis].extent = end - begin;
                    const Pointers start = StartOf(axis, begin);
                    nest.IsReduction() ? Reduce(nest, start) : Map(nest, start);
                });
}

// ---- without reduction ----------------------------------------------------------------------------------------------

template <class T>
bool ElementwiseRunner<T>::HasPattern(const LoopAxis& axis, size_t& pattern) const
{
    if (axis.output != 1 && axis.extent != 1)
        return false;
    size_t repeated = 0;
    for (size_t i = 0; i < m_arity; ++i)
    {
        if (axis.extent == 1 || axis.inputs[i] == 1)
            continue;
        if (axis.inputs[i] != 0 || m_arity != 2)
            return false;
        ++repeated;
        pattern = i + 1;
    }
    return repeated <= 1;
}

template <class T>
void ElementwiseRunner<T>::Map(const LoopNest& nest, const Pointers& start) const
{
    size_t pattern = 0;
    if (!HasPattern(nest[0], pattern))
    {
        MapGathered(nest, start);
        return;
    }
    const auto function = m_kernels.elementwise[size_t(m_call.op)][pattern];
    ElementwiseLoop<T> loop;
    loop.alpha = m_alpha;
    loop.beta = m_beta;
    loop.inner = nest[0].extent;
    if (nest.Axes() > 1)
    {
        loop.outer = nest[1].extent;
        std::copy(std::begin(nest[1].inputs), std::end(nest[1].inputs), std::begin(loop.inputStrides));
        loop.outputStride = nest[1].output;
    }
    if (nest.Axes() <= 2)
    {
        std::copy(std::begin(start.inputs), std::end(start.inputs), std::begin(loop.inputs));
        loop.output = start.output;
        function(loop);
        return;
    }
    LoopPosition position(nest, 2, LoopAxes::Kept);
    do
    {
        for (size_t i = 0; i < m_arity; ++i)
            loop.inputs[i] = start.inputs[i] + position.Input(i);
        loop.output = start.output + position.Output();
        function(loop);
    } while (position.Next());
}

template <class T>
const T* ElementwiseRunner<T>::Gather(const T* source, ptrdiff_t step, size_t count, T* tile) const
{
    if (step == 1)
        return source;
    for (size_t i = 0; i < count; ++i)
        tile[i] = source[ptrdiff_t(i) * step];
    return tile;
}

template <class T>
const T* ElementwiseRunner<T>::Values(const LoopAxis& axis, const Pointers& at, size_t count, Tile& tile) const
{
    ElementwiseLoop<T> loop;
    for (size_t i = 0; i < m_arity; ++i)
        loop.inputs[i] = Gather(at.inputs[i], axis.inputs[i], count, tile.inputs[i]);
    if (m_call.op == ElementwiseOp::Copy)
        return loop.inputs[0];
    loop.inner = count;
    loop.output = tile.output;
    m_kernels.elementwise[size_t(m_call.op)][0](loop);
    return tile.output;
}

template <class T>
void ElementwiseRunner<T>::MapGathered(const LoopNest& nest, const Pointers& start) const
{
    Tile tile;
    const LoopAxis& axis = nest[0];
    LoopPosition position(nest, 1, LoopAxes::Kept);
    do
    {
        for (size_t begin = 0; begin < axis.extent; begin += c_tile)
        {
            const size_t count = std::min(c_tile, axis.extent - begin);
            Pointers at;
            for (size_t i = 0; i < m_arity; ++i)
                at.inputs[i] = start.inputs[i] + position.Input(i) + ptrdiff_t(begin) * axis.inputs[i];
            T* output = start.output + position.Output() + ptrdiff_t(begin) * axis.output;
            const T* values = Values(axis, at, count, tile);
            for (size_t i = 0; i < count; ++i)
            {
                T& target = output[ptrdiff_t(i) * axis.output];
                target = m_beta == T(0) ? m_alpha * values[i] : m_alpha * values[i] + m_beta * target;
            }
        }
    } while (position.Next());
}

// ---- with reduction -------------------------------------------------------------------------------------------------

template <class T>
double ElementwiseRunner<T>::Identity() const
{
    const double infinity = std::numeric_limits<double>::infinity();
    return m_call.reduce == ReduceOp::Sum ? 0 : m_call.reduce == ReduceOp::Max ? -infinity : infinity;
}

template <class T>
double ElementwiseRunner<T>::Combine(double a, double b) const
{
    switch (m_call.reduce)
    {
    case ReduceOp::Max:
        return b > a ? b : a;
    case ReduceOp::Min:
        return b < a ? b : a;
    case ReduceOp::Sum:
        break;
    }
    return a + b;
}

template <class T>
void ElementwiseRunner<T>::Store(T& target, double value) const
{
    target = m_call.beta == 0 ? T(m_call.alpha * value) : T(m_call.alpha * value + m_call.beta * double(target));
}

template <class T>
double ElementwiseRunner<T>::ReduceToOne(const LoopNest& nest, const Pointers& start) const
{
    // The innermost of the reduced axes runs through the tiles.
    size_t inner = 0;
    while (!nest[inner].reduced)
        ++inner;
    const LoopAxis& axis = nest[inner];
    const bool isPlain = m_call.op == ElementwiseOp::Copy && axis.inputs[0] == 1;
    const size_t step = isPlain ? axis.extent : c_tile;

    Tile tile;
    double result = Identity();
    LoopPosition position(nest, inner + 1, LoopAxes::Reduced);
    do
    {
        for (size_t begin = 0; begin < axis.extent; begin += step)
        {
            const size_t count = std::min(step, axis.extent - begin);
            Pointers at;
            for (size_t i = 0; i < m_arity; ++i)
                at.inputs[i] = start.inputs[i] + position.Input(i) + ptrdiff_t(begin) * axis.inputs[i];
            const T* values = Values(axis, at, count, tile);
            if (m_call.reduce == ReduceOp::Sum)
                result += m_kernels.sum(values, count);
            else if (m_call.reduce == ReduceOp::Max)
                result = double(m_kernels.maximum(values, count, T(result)));
            else
                result = double(m_kernels.minimum(values, count, T(result)));
        }
    } while (position.Next());
    return result;
}

template <class T>
void ElementwiseRunner<T>::Reduce(const LoopNest& nest, const Pointers& start) const
{
    if (!nest[0].reduced && nest[0].output == 1 && nest.Elements() > 0)
    {
        ReduceIntoRow(nest, start);
        return;
    }
    if (nest.Axes() == 2 && nest[0].reduced && !nest[1].reduced && nest[0].inputs[0] == 1 &&
        m_call.op == ElementwiseOp::Copy && m_call.reduce == ReduceOp::Sum)
    {
        SumEachColumn(nest, start);
        return;
    }
    bool isEmpty = false;
    for (size_t axis = 0; axis < nest.Axes(); ++axis)
    {
        if (nest[axis].extent == 0 && !nest[axis].reduced)
            return;
        isEmpty |= nest[axis].extent == 0;
    }
    LoopPosition position(nest, 0, LoopAxes::Kept);
    do
    {
        Pointers at;
        for (size_t i = 0; i < m_arity && !isEmpty; ++i) // inputs without elements have no memory to point into
            at.inputs[i] = start.inputs[i] + position.Input(i);
        Store(start.output[position.Output()], isEmpty ? Identity() : ReduceToOne(nest, at));
    } while (position.Next());
}

template <class T>
void ElementwiseRunner<T>::SumEachColumn(const LoopNest& nest, const Pointers& start) const
{
    double sums[c_tile];
    const LoopAxis& columns = nest[1];
    for (size_t begin = 0; begin < columns.extent; begin += c_tile)
    {
        const size_t count = std::min(c_tile, columns.extent - begin);
        const ptrdiff_t first = ptrdiff_t(begin);
        m_kernels.sumRows(start.inputs[0] + first * columns.inputs[0], columns.inputs[0], nest[0].extent, count, sums);
        for (size_t i = 0; i < count; ++i)
            Store(start.output[(first + ptrdiff_t(i)) * columns.output], sums[i]);
    }
}

// The innermost axis is kept: a row of results grows while the reduced axes run.
template <class T>
void ElementwiseRunner<T>::ReduceIntoRow(const LoopNest& nest, const Pointers& start) const
{
    Tile tile;
    // Sums of values that need no tile take longer stretches: memory is then read page by page.
    constexpr size_t longest = 2048;
    alignas(64) double sums[longest];
    alignas(64) T extremes[c_tile];
    const LoopAxis& row = nest[0];
    const bool isPlain = m_call.op == ElementwiseOp::Copy && row.inputs[0] == 1;
    const bool isNextReduced = nest.Axes() > 1 && nest[1].reduced;
    const bool isProduct = m_call.op == ElementwiseOp::Product && m_call.reduce == ReduceOp::Sum && isNextReduced &&
                           row.inputs[0] == 1 && row.inputs[1] == 1 && nest[1].inputs[0] >= 0 && nest[1].inputs[1] >= 0;
    const size_t most = (isPlain || isProduct) && m_call.reduce == ReduceOp::Sum ? longest : c_tile;
    // The next axis is stepped through inside the vectorised loop where it can be.
    const bool stepsInside = (isPlain || isProduct) && isNextReduced;
    const size_t steps = stepsInside ? nest[1].extent : 1;
    const ptrdiff_t stride = stepsInside ? nest[1].inputs[0] : 0;

    LoopPosition kept(nest, 1, LoopAxes::Kept);
    do
    {
        for (size_t begin = 0; begin < row.extent; begin += most)
        {
            const size_t count = std::min(most, row.extent - begin);
            if (m_call.reduce == ReduceOp::Sum)
                std::fill_n(sums, count, 0.0);
            else
                std::fill_n(extremes, count, T(Identity()));
            LoopPosition reduced(nest, stepsInside ? 2 : 1, LoopAxes::Reduced);
            do
            {
                Pointers at;
                for (size_t i = 0; i < m_arity; ++i)
                {
                    at.inputs[i] =
                        start.inputs[i] + kept.Input(i) + reduced.Input(i) + ptrdiff_t(begin) * row.inputs[i];
                }
                if (isProduct)
                {
                    m_kernels.sumProductColumns({at.inputs[0], size_t(nest[1].inputs[0])},
                                                {at.inputs[1], size_t(nest[1].inputs[1])}, count, steps, sums);
                    continue;
                }
                const T* values = Values(row, at, count, tile);
                if (m_call.reduce == ReduceOp::Sum)
                    m_kernels.sumColumns(values, stride, count, steps, sums);
                else if (m_call.reduce == ReduceOp::Max)
                    m_kernels.maximumOfColumns(values, stride, count, steps, extremes);
                else
                    m_kernels.minimumOfColumns(values, stride, count, steps, extremes);
            } while (reduced.Next());

            T* output = start.output + kept.Output() + begin;
            for (size_t i = 0; i < count; ++i)
                Store(output[i], m_call.reduce == ReduceOp::Sum ? sums[i] : double(extremes[i]));
        }
    } while (kept.Next());
}

// One element from very many: each thread reduces a part; the parts are combined in order.
template <class T>
void ElementwiseRunner<T>::ReduceToOneInParts()
{
    const size_t axis = m_nest.LongestAxis(LoopAxes::Reduced);
    const size_t extent = m_nest[axis].extent;
    const int useful = UsefulThreads(m_nest.Elements() * OperationsOf(m_call.op), m_pool, c_operationsPerSum);
    const int parts = int(std::min(size_t(useful), extent));
    double results[c_mostParts];
    std::fill_n(results, c_mostParts, Identity());
    ForEachPart(m_pool, extent, 1, parts,
                [&](int part, size_t begin, size_t end)
                {
                    if (begin == end)
                        return;
                    LoopNest nest = m_nest;
                    nest[axis].extent = end - begin;
                    results[part] = ReduceToOne(nest, StartOf(axis, begin));
                });
    double result = Identity();
    for (int part = 0; part < parts; ++part)
        result = Combine(result, results[part]);
    Store(*m_start.output, result);
}

template class ElementwiseRunner<float>;
template class ElementwiseRunner<double>;

} // namespace cntk
