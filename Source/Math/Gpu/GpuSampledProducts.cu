// Class-based softmax: products with the columns that samples request. Each request has a block.
#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/Gpu/GpuKernels.h"
#include "Math/SampledProducts.h"

#include <vector>

namespace cntk
{

namespace
{

// A request, and where its errors begin.
struct Member
{
    int32_t sample;
    int32_t firstColumn;
    int32_t columnCount;
    int32_t target; // relative to firstColumn
    size_t firstElement;
};

std::vector<Member> MembersOf(const ColumnSlices& slices)
{
    std::vector<Member> members;
    members.reserve(slices.Members());
    for (const ColumnSlices::Group& group : slices.groups)
        for (size_t i = 0; i < group.memberCount; ++i)
        {
            const ColumnSlices::Request& request = slices.requests[group.firstMember + i];
            members.push_back({request.sample, request.firstColumn, int32_t(group.columnCount),
                               request.target - request.firstColumn, group.firstElement + i * group.columnCount});
        }
    return members;
}

// The inner product of two columns, computed by one warp. All its threads get the result.
template <class T>
__device__ T InnerProduct(const T* a, const T* b, size_t rows)
{
    T sum = 0;
    for (size_t row = threadIdx.x % c_warp; row < rows; row += c_warp)
        sum += a[row] * b[row];
    return ReduceWarp(sum, Adding());
}

template <class T>
__global__ void SliceSoftmaxOfMembers(const Member* members, const DeviceMatrix<T> weights,
                                      const DeviceMatrix<T> inputs, const DeviceMatrix<T> gathered, T* errors,
                                      T* losses)
{
    const Member member = members[blockIdx.x];
    const size_t count = size_t(member.columnCount);
    const T* const input = inputs.Column(size_t(member.sample));
    T* const scores = errors + member.firstElement;
    for (size_t row = threadIdx.x; row < inputs.rows; row += blockDim.x)
        gathered.Column(blockIdx.x)[row] = input[row];

    for (size_t column = threadIdx.x / c_warp; column < count; column += blockDim.x / c_warp)
    {
        const T score = InnerProduct(weights.Column(size_t(member.firstColumn) + column), input, inputs.rows);
        if (threadIdx.x % c_warp == 0)
            scores[column] = score;
    }
    __syncthreads();

    T largest = -T(INFINITY);
    for (size_t column = threadIdx.x; column < count; column += blockDim.x)
        largest = scores[column] > largest ? scores[column] : largest;
    largest = ReduceBlock(largest, -T(INFINITY), TakingLarger());
    T sum = 0;
    for (size_t column = threadIdx.x; column < count; column += blockDim.x)
        sum += Exponential(scores[column] - largest);
    const T logSum = largest + std::log(ReduceBlock(sum, T(0), Adding()));
    if (threadIdx.x == 0)
        losses[blockIdx.x] = logSum - scores[member.target];
    __syncthreads(); // after the score of the target was read
    for (size_t column = threadIdx.x; column < count; column += blockDim.x)
    {
        const T probability = Exponential(scores[column] - logSum);
        scores[column] = column == size_t(member.target) ? probability - T(1) : probability;
    }
}

// Adds atomically, because a sample may have several requests.
template <class T>
__global__ void AddSliceErrors(const Member* members, const DeviceMatrix<T> weights, const T* errors, const T* scale,
                               const DeviceMatrix<T> work, const DeviceMatrix<T> inputGradient)
{
    const Member member = members[blockIdx.x];
    const T* const own = errors + member.firstElement;
    for (size_t row = threadIdx.x; row < weights.rows; row += blockDim.x)
    {
        T sum = 0;
        for (size_t column = 0; column < size_t(member.columnCount); ++column)
            sum += weights.Column(size_t(member.firstColumn) + column)[row] * own[column];
        work.Column(blockIdx.x)[row] = sum;
        atomicAdd(inputGradient.Column(size_t(member.sample)) + row, *scale * sum);
    }
}

// A column of a group. Each has a block.
struct SliceColumn
{
    size_t column; // of the weights
    size_t firstMember;
    size_t memberCount;
    size_t firstError; // error of the first member
    size_t errorStep;  // from one member to the next
};

template <class T>
__global__ void AddSliceColumns(const SliceColumn* columns, const DeviceMatrix<T> gathered, const T* errors,
                                const T* scale, const DeviceMatrix<T> weightGradient, const bool isNew)
{
    const SliceColumn column = columns[blockIdx.x];
    T* const target = weightGradient.Column(column.column);
    for (size_t row = threadIdx.x; row < gathered.rows; row += blockDim.x)
    {
        T sum = 0;
        for (size_t i = 0; i < column.memberCount; ++i)
            sum += gathered.Column(column.firstMember + i)[row] * errors[column.firstError + i * column.errorStep];
        target[row] = *scale * sum + (isNew ? T(0) : target[row]);
    }
}

// Each column of the pattern has a block, each of its elements a warp.
template <class T>
__global__ void InnerProductsOfPattern(const DeviceMatrix<T> weights, const DeviceMatrix<T> inputs,
                                       const DeviceSparse<T> pattern, T* output)
{
    const int32_t begin = pattern.columnStarts[blockIdx.x];
    const int32_t end = pattern.columnStarts[blockIdx.x + 1];
    const int32_t first = pattern.columnStarts[0];
    for (int32_t at = begin + int32_t(threadIdx.x / c_warp); at < end; at += int32_t(blockDim.x / c_warp))
    {
        const T product =
            InnerProduct(weights.Column(size_t(pattern.rowIndices[at])), inputs.Column(blockIdx.x), weights.rows);
        if (threadIdx.x % c_warp == 0)
            output[at - first] = product;
    }
}

constexpr unsigned c_sliceThreads = 128;

} // namespace

void GpuKernels::SliceSoftmax(const ColumnSlices& slices, const MatrixView& weights, const MatrixView& inputs,
                              const MatrixView& gathered, const MatrixView& errors, const MatrixView& losses, bool,
                              const MatrixView&)
{
    const std::vector<Member> members = MembersOf(slices);
    const GpuArray<Member> deviceMembers(m_context, std::span<const Member>(members));
    VisitType(weights.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("SliceSoftmax", m_context.Stream(), unsigned(members.size()), c_sliceThreads,
                         SliceSoftmaxOfMembers<T>, deviceMembers.Data(), DeviceMatrix<T>(weights),
                         DeviceMatrix<T>(inputs), DeviceMatrix<T>(gathered), errors.As<T>(), losses.As<T>());
              });
}

void GpuKernels::SliceSoftmaxInputGradient(const ColumnSlices& slices, const MatrixView& weights,
                                           const MatrixView& errors, const MatrixView& scale, const MatrixView& work,
                                           const MatrixView& inputGradient)
{
    const std::vector<Member> members = MembersOf(slices);
    const GpuArray<Member> deviceMembers(m_context, std::span<const Member>(members));
    VisitType(weights.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("SliceSoftmaxInputGradient", m_context.Stream(), unsigned(members.size()), c_sliceThreads,
                         AddSliceErrors<T>, deviceMembers.Data(), DeviceMatrix<T>(weights), errors.As<const T>(),
                         scale.As<const T>(), DeviceMatrix<T>(work), DeviceMatrix<T>(inputGradient));
              });
}

void GpuKernels::SliceSoftmaxWeightGradient(const ColumnSlices& slices, const MatrixView& gathered,
                                            const MatrixView& errors, const MatrixView& scale,
                                            const MatrixView& weightGradient, double beta)
{
    std::vector<SliceColumn> columns;
    std::vector<size_t> ends; // the columns of each launch. Slices that overlap have separate launches
    for (const ColumnSlices::Group& group : slices.groups)
    {
        for (size_t i = 0; i < group.columnCount; ++i)
            columns.push_back({group.firstColumn + i, group.firstMember, group.memberCount, group.firstElement + i,
                               group.columnCount});
        if (!slices.areDisjoint || &group == &slices.groups.back())
            ends.push_back(columns.size());
    }
    const GpuArray<SliceColumn> deviceColumns(m_context, std::span<const SliceColumn>(columns));
    VisitType(gathered.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  size_t begin = 0;
                  for (const size_t end : ends)
                  {
                      Launch("SliceSoftmaxWeightGradient", m_context.Stream(), unsigned(end - begin), c_sliceThreads,
                             AddSliceColumns<T>, deviceColumns.Data() + begin, DeviceMatrix<T>(gathered),
                             errors.As<const T>(), scale.As<const T>(), DeviceMatrix<T>(weightGradient), beta == 0);
                      begin = end;
                  }
              });
}

void GpuKernels::SampledInnerProducts(const MatrixView& weights, const MatrixView& inputs, const SparseView& pattern,
                                      const MatrixView& output)
{
    VisitType(weights.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("SampledInnerProducts", m_context.Stream(), unsigned(pattern.columns), c_sliceThreads,
                         InnerProductsOfPattern<T>, DeviceMatrix<T>(weights), DeviceMatrix<T>(inputs),
                         DeviceSparse<T>(pattern), output.As<T>());
              });
}

} // namespace cntk
