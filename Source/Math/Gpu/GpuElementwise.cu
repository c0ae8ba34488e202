// Element-wise operations with broadcasting and reductions; formulas come from ElementwiseOps.h. Axes that are
// contiguous for every operand are merged, so that nearly all calls have one or two.
#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/Gpu/GpuKernels.h"

#include <algorithm>
#include <array>

namespace cntk
{

namespace
{

constexpr size_t c_operands = 4; // three inputs and the output
constexpr size_t c_output = 3;

// Axes of a call with the stride of each operand.
struct AxisWalk
{
    unsigned rank;
    size_t elements;
    size_t dims[TensorShape::c_maxRank];
    ptrdiff_t strides[TensorShape::c_maxRank][c_operands];

    // Adds an axis, or merges it with the last one.
    void Append(size_t dim, const std::array<ptrdiff_t, c_operands>& steps)
    {
        elements *= dim;
        if (rank > 0)
        {
            const auto continues = [&](size_t operand)
            { return steps[operand] == strides[rank - 1][operand] * ptrdiff_t(dims[rank - 1]); };
            if (continues(0) && continues(1) && continues(2) && continues(3))
            {
                dims[rank - 1] *= dim;
                return;
            }
        }
        dims[rank] = dim;
        std::copy(steps.begin(), steps.end(), strides[rank]);
        ++rank;
    }
};

struct Offsets
{
    ptrdiff_t of[c_operands];
};

// Adds the place of element `index` of the axes to the offsets.
__device__ inline void Walk(const AxisWalk& walk, size_t index, Offsets& offsets)
{
    for (unsigned axis = 0; axis < walk.rank; ++axis)
    {
        size_t at = index;
        if (axis + 1 < walk.rank)
        {
            if (index <= 0xffffffffu && walk.dims[axis] <= 0xffffffffu) // 64-bit divisions take much longer
            {
                at = unsigned(index) % unsigned(walk.dims[axis]);
                index = unsigned(index) / unsigned(walk.dims[axis]);
            }
            else
            {
                at = index % walk.dims[axis];
                index /= walk.dims[axis];
            }
        }
        for (size_t operand = 0; operand < c_operands; ++operand)
            offsets.of[operand] += ptrdiff_t(at) * walk.strides[axis][operand];
    }
}

template <class T>
struct Task
{
    const T* inputs[3];
    T* output;
    T alpha;
    T beta;
    ElementwiseOp op;
    ReduceOp reduce;
    AxisWalk kept;    // of the output
    AxisWalk reduced; // of the inputs alone
    // Elements whose mask byte is 0 do not count. Null: all elements count.
    const uint8_t* mask;
    size_t elementsOfByte; // elements per mask byte
    // A long reduction is split into parts. Another kernel combines their results.
    size_t parts;
    size_t elementsOfPart;
    T* partResults; // parts x outputs

    __device__ T Evaluate(const Offsets& at) const
    {
        return EvaluateElementwise(op, inputs[0][at.of[0]], inputs[1][at.of[1]], inputs[2][at.of[2]]);
    }
    // The value of one element of the reduced axes.
    __device__ T Term(size_t element, const Offsets& first) const
    {
        if (mask != nullptr && mask[element / elementsOfByte] == 0)
            return Identity();
        Offsets at = first;
        Walk(reduced, element, at);
        return Evaluate(at);
    }
    __device__ T Identity() const
    {
        const T infinity = T(INFINITY);
        return reduce == ReduceOp::Sum ? T(0) : reduce == ReduceOp::Max ? -infinity : infinity;
    }
    __device__ T Combine(T a, T b) const
    {
        return reduce == ReduceOp::Sum ? a + b : (reduce == ReduceOp::Max ? b > a : b < a) ? b : a;
    }
    __device__ void Store(ptrdiff_t at, T value) const
    {
        output[at] = beta == T(0) ? alpha * value : beta * output[at] + alpha * value;
    }
    __device__ void Finish(size_t index, size_t part, T value) const
    {
        if (parts > 1)
        {
            partResults[part * kept.elements + index] = value;
            return;
        }
        Offsets at{};
        Walk(kept, index, at);
        Store(at.of[c_output], value);
    }
};

template <class T>
struct Combining
{
    const Task<T>& task;
    __device__ T operator()(T a, T b) const { return task.Combine(a, b); }
};

// ---- without reduction ----------------------------------------------------------------------------------------------

#define CNTK_FORMULA_ROW(name, arity, expression)                                                                      \
    struct name##Formula                                                                                               \
    {                                                                                                                  \
        template <class T>                                                                                             \
        static __device__ T Of([[maybe_unused]] T a, [[maybe_unused]] T b, [[maybe_unused]] T c)                       \
        {                                                                                                              \
            return expression;                                                                                         \
        }                                                                                                              \
    };
CNTK_ELEMENTWISE_OPS(CNTK_FORMULA_ROW)
#undef CNTK_FORMULA_ROW

// Inputs beyond the arity repeat the first one; the formula ignores them.
template <class T, class Formula>
__global__ void MapElements(const Task<T> task)
{
    for (size_t index = FirstElement(); index < task.kept.elements; index += ElementStep())
    {
        Offsets at{};
        Walk(task.kept, index, at);
        task.Store(at.of[c_output], Formula::template Of<T>(task.inputs[0][at.of[0]], task.inputs[1][at.of[1]],
                                                            task.inputs[2][at.of[2]]));
    }
}

template <class T>
void LaunchMap(const Task<T>& task, GpuStream stream)
{
    const unsigned blocks = BlocksFor(task.kept.elements, c_threads);
    switch (task.op)
    {
#define CNTK_CASE_ROW(name, arity, expression)                                                                         \
    case ElementwiseOp::name:                                                                                          \
        Launch(#name, stream, blocks, c_threads, MapElements<T, name##Formula>, task);                                 \
        return;
        CNTK_ELEMENTWISE_OPS(CNTK_CASE_ROW)
#undef CNTK_CASE_ROW
    }
}

// ---- with reduction -------------------------------------------------------------------------------------------------

// Each output has a warp or a block. For reductions over contiguous elements.
template <class T, bool isBlock>
__global__ void ReduceByTeams(const Task<T> task)
{
    const ColumnTeam<isBlock> team;
    if (team.column >= task.kept.elements)
        return; // the same for all threads of the team, which reduce together
    const size_t begin = blockIdx.y * task.elementsOfPart;
    const size_t last = begin + task.elementsOfPart;
    const size_t end = last < task.reduced.elements ? last : task.reduced.elements;
    Offsets first{};
    Walk(task.kept, team.column, first);
    T result = task.Identity();
    for (size_t element = begin + team.lane; element < end; element += team.size)
        result = task.Combine(result, task.Term(element, first));
    result = team.Reduce(result, task.Identity(), Combining<T>{task});
    if (team.lane == 0)
        task.Finish(team.column, blockIdx.y, result);
}

constexpr unsigned c_reducers = 8; // threads per output

// Adjacent threads have adjacent outputs. For reductions over elements that are not contiguous.
template <class T>
__global__ void ReduceByThreads(const Task<T> task)
{
    __shared__ T results[c_reducers][c_warp + 1];
    const size_t begin = blockIdx.y * task.elementsOfPart;
    const size_t last = begin + task.elementsOfPart;
    const size_t end = last < task.reduced.elements ? last : task.reduced.elements;
    for (size_t group = blockIdx.x; group * c_warp < task.kept.elements; group += gridDim.x)
    {
        const size_t index = group * c_warp + threadIdx.x;
        const bool isInside = index < task.kept.elements;
        T result = task.Identity();
        if (isInside)
        {
            Offsets first{};
            Walk(task.kept, index, first);
            for (size_t element = begin + threadIdx.y; element < end; element += c_reducers)
                result = task.Combine(result, task.Term(element, first));
        }
        results[threadIdx.y][threadIdx.x] = result;
        __syncthreads();
        if (threadIdx.y == 0 && isInside)
        {
            for (unsigned reducer = 1; reducer < c_reducers; ++reducer)
                result = task.Combine(result, results[reducer][threadIdx.x]);
            task.Finish(index, blockIdx.y, result);
        }
        __syncthreads(); // before the next group overwrites the results
    }
}

// Each output has a warp, because a single thread would read the parts one by one.
template <class T>
__global__ void CombineParts(const Task<T> task)
{
    const ColumnTeam<false> team;
    if (team.column >= task.kept.elements)
        return; // the same for all threads of the warp
    T result = task.Identity();
    for (size_t part = team.lane; part < task.parts; part += team.size)
        result = task.Combine(result, task.partResults[part * task.kept.elements + team.column]);
    result = team.Reduce(result, task.Identity(), Combining<T>{task});
    if (team.lane > 0)
        return;
    Offsets at{};
    Walk(task.kept, team.column, at);
    task.Store(at.of[c_output], result);
}

template <class T>
void LaunchReduce(Task<T>& task, GpuContext& context)
{
    const size_t outputs = task.kept.elements;
    const auto isContiguous = [](const AxisWalk& walk)
    { return walk.rank > 0 && (walk.strides[0][0] == 1 || walk.strides[0][1] == 1 || walk.strides[0][2] == 1); };
    const bool byThreads = outputs >= c_warp && (!isContiguous(task.reduced) || task.reduced.elements < c_warp);
    const size_t groups = byThreads ? (outputs + c_warp - 1) / c_warp : outputs;

    // Enough parts to keep the device busy, each with enough elements per thread.
    const size_t least = 8 * (byThreads ? c_reducers : c_threads);
    const size_t wanted = 4 * context.Multiprocessors() / groups;
    task.parts = std::clamp<size_t>(task.reduced.elements / least, 1, std::clamp<size_t>(wanted, 1, 1024));
    task.elementsOfPart = (task.reduced.elements + task.parts - 1) / task.parts;
    const GpuArray<T> partResults(context, task.parts > 1 ? task.parts * outputs : 1);
    task.partResults = partResults.Data();

    if (byThreads)
        Launch("a reduction", context.Stream(), dim3(BlocksFor(groups, 1), unsigned(task.parts)),
               dim3(c_warp, c_reducers), ReduceByThreads<T>, task);
    else
        LaunchTeams("a reduction", context.Stream(), TeamShape(task.elementsOfPart, outputs, unsigned(task.parts)),
                    ReduceByTeams<T, true>, ReduceByTeams<T, false>, task);
    if (task.parts > 1)
        Launch("a reduction's end", context.Stream(), BlocksFor(outputs, c_teamWarps, outputs), c_teamWarps * c_warp,
               CombineParts<T>, task);
}

// ---- calls ----------------------------------------------------------------------------------------------------------

size_t DimOf(const TensorView& view, size_t axis)
{
    return axis < view.rank ? view.dims[axis] : 1;
}

ptrdiff_t StrideOf(const TensorView& view, size_t axis)
{
    return DimOf(view, axis) == 1 ? 0 : view.strides[axis];
}

// mask has a byte per entry of the last axis, which is then reduced. Empty: all entries count.
template <class T>
void Run(const ElementwiseCall& call, std::span<const uint8_t> mask, const TensorView& output, GpuContext& context)
{
    std::array<const TensorView*, c_operands> operands;
    for (size_t i = 0; i < c_output; ++i)
        operands[i] = call.inputs[i < call.inputs.size() ? i : 0];
    operands[c_output] = &output;

    Task<T> task{};
    for (size_t i = 0; i < c_output; ++i)
        task.inputs[i] = static_cast<const T*>(operands[i]->data);
    task.output = static_cast<T*>(output.data);
    task.alpha = T(call.alpha);
    task.beta = T(call.beta);
    task.op = call.op;
    task.reduce = call.reduce;
    task.kept.elements = 1;
    task.reduced.elements = 1;

    size_t rank = 0;
    for (const TensorView* operand : operands)
        rank = std::max(rank, operand->rank);
    bool reduces = false;
    for (size_t axis = 0; axis < rank; ++axis)
    {
        size_t dim = DimOf(output, axis);
        for (const TensorView* operand : operands)
            dim = dim == 1 ? DimOf(*operand, axis) : dim;
        if (dim == 1)
            continue;
        std::array<ptrdiff_t, c_operands> steps{};
        for (size_t i = 0; i < c_operands; ++i)
            steps[i] = StrideOf(*operands[i], axis);
        const bool isReduced = DimOf(output, axis) == 1;
        reduces |= isReduced;
        (isReduced ? task.reduced : task.kept).Append(dim, steps);
    }
    if (task.kept.elements == 0)
        return;
    if (!mask.empty())
    {
        task.mask = context.MaskOnDevice(mask);
        task.elementsOfByte = std::max<size_t>(task.reduced.elements / mask.size(), 1);
    }
    if (reduces || !mask.empty())
        LaunchReduce(task, context);
    else
        LaunchMap(task, context.Stream());
}

} // namespace

void GpuKernels::Elementwise(const ElementwiseCall& call, const TensorView& output)
{
    VisitType(output.type, [&](auto tag) { Run<decltype(tag)>(call, {}, output, m_context); });
}

void GpuKernels::ElementwiseOverData(const ElementwiseCall& call, std::span<const uint8_t> mask,
                                     const TensorView& output)
{
    VisitType(output.type, [&](auto tag) { Run<decltype(tag)>(call, mask, output, m_context); });
}

void GpuKernels::SumAll(const MatrixView& input, const MatrixView& output, double alpha, double beta)
{
    const TensorView tensor = input;
    const TensorView* const inputs[] = {&tensor};
    Elementwise({ElementwiseOp::Copy, ReduceOp::Sum, alpha, beta, inputs}, output);
}

void GpuKernels::SumOf(const void* values, size_t count, const MatrixView& output)
{
    MatrixView view = output;
    view.data = const_cast<void*>(values);
    view.rows = count;
    view.stride = count;
    SumAll(view, output, 1, 0);
}

} // namespace cntk
