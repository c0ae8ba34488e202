// Fills, copies and masks of matrices, and sums and checks over all elements.
#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/Gpu/GpuKernels.h"

#include <algorithm>
#include <array>

namespace cntk
{

namespace
{

template <class T>
__global__ void FillMatrix(const DeviceMatrix<T> output, T value)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
        output.At(index) = value;
}

template <class T>
__global__ void ZeroListedColumns(const DeviceMatrix<T> output, const int32_t* columns, size_t count)
{
    for (size_t index = FirstElement(); index < count * output.rows; index += ElementStep())
        output.Column(size_t(columns[index / output.rows]))[index % output.rows] = 0;
}

template <class T>
__global__ void CopyMatrix(const DeviceMatrix<T> source, const DeviceMatrix<T> output)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
        output.At(index) = source.At(index);
}

template <class T>
__global__ void ScaleMatrix(const DeviceMatrix<T> output, T factor)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
        output.At(index) = factor * output.At(index);
}

template <class T>
__global__ void FillMaskedColumns(const DeviceMatrix<T> output, const uint8_t* mask, T value)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
        if (mask[index / output.rows] == 0)
            output.At(index) = value;
}

// Each block writes one sum.
template <class T>
__global__ void SumSquares(const DeviceMatrix<T> input, double* sums)
{
    double sum = 0;
    for (size_t index = FirstElement(); index < input.Elements(); index += ElementStep())
    {
        const double value = double(input.At(index));
        sum += value * value;
    }
    sum = ReduceBlock(sum, 0.0, Adding());
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

template <class T>
__global__ void ClearGaps(const DeviceMatrix<T> output, const uint8_t* mask)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
    {
        if (mask[index / output.rows] != 0)
            continue;
        const T value = output.At(index);
        if (!(value - value == T(0)))
            output.At(index) = 0;
    }
}

constexpr size_t c_mostNumbers = 16; // per launch

struct DeviceNumbers
{
    const void* data[c_mostNumbers];
    bool isFloat[c_mostNumbers];
    size_t count;

    __device__ double At(size_t i) const
    {
        return isFloat[i] ? double(*static_cast<const float*>(data[i])) : *static_cast<const double*>(data[i]);
    }
};

// counters[0] counts the calls with isNew; counters[1] is the number of the first such call whose first value was NaN
// or infinite. Null if these values do not include the first.
__global__ void AddToTotals(const DeviceNumbers numbers, bool isNew, double* totals, double* counters)
{
    if (threadIdx.x < numbers.count)
        totals[threadIdx.x] += numbers.At(threadIdx.x);
    if (threadIdx.x > 0 || counters == nullptr)
        return;
    counters[0] += isNew ? 1 : 0;
    const double first = numbers.At(0);
    if (counters[1] == 0 && !(first - first == 0))
        counters[1] = counters[0];
}

// All threads that write store the same value.
template <class T>
__global__ void FindNotFinite(const DeviceMatrix<T> input, int* isFound)
{
    for (size_t index = FirstElement(); index < input.Elements(); index += ElementStep())
    {
        const T value = input.At(index);
        if (!(value - value == T(0)))
            *isFound = 1;
    }
}

} // namespace

void GpuKernels::Fill(const MatrixView& output, double value)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("Fill", m_context.Stream(), BlocksFor(output.Elements(), c_threads), c_threads, FillMatrix<T>,
                         DeviceMatrix<T>(output), T(value));
              });
}

// One launch for all columns: the words of a minibatch are hundreds of scattered columns.
void GpuKernels::ZeroColumns(const MatrixView& output, std::span<const int32_t> columns)
{
    const GpuArray<int32_t> deviceColumns(m_context, columns);
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("ZeroColumns", m_context.Stream(), BlocksFor(columns.size() * output.rows, c_threads),
                         c_threads, ZeroListedColumns<T>, DeviceMatrix<T>(output), deviceColumns.Data(),
                         columns.size());
              });
}

void GpuKernels::Copy(const MatrixView& source, const MatrixView& output)
{
    if (source.IsContiguous() && output.IsContiguous())
    {
        m_context.Copy(output.data, source.data, output.Elements() * SizeOf(output.type));
        return;
    }
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("Copy", m_context.Stream(), BlocksFor(output.Elements(), c_threads), c_threads, CopyMatrix<T>,
                         DeviceMatrix<T>(source), DeviceMatrix<T>(output));
              });
}

void GpuKernels::Scale(const MatrixView& output, double factor)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("Scale", m_context.Stream(), BlocksFor(output.Elements(), c_threads), c_threads,
                         ScaleMatrix<T>, DeviceMatrix<T>(output), T(factor));
              });
}

void GpuKernels::MaskColumns(const MatrixView& output, std::span<const uint8_t> mask, double value)
{
    const uint8_t* const deviceMask = m_context.MaskOnDevice(mask);
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("MaskColumns", m_context.Stream(), BlocksFor(output.Elements(), c_threads), c_threads,
                         FillMaskedColumns<T>, DeviceMatrix<T>(output), deviceMask, T(value));
              });
}

unsigned GpuKernels::PutSumsOfSquares(const MatrixView& value, double* sums)
{
    const unsigned blocks = BlocksFor(value.Elements(), c_threads, c_mostSumBlocks);
    VisitType(value.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("SumOfSquares", m_context.Stream(), blocks, c_threads, SumSquares<T>, DeviceMatrix<T>(value),
                         sums);
              });
    return blocks;
}

double GpuKernels::SumOfSquares(const MatrixView& value)
{
    const GpuArray<double> sums(m_context, c_mostSumBlocks);
    const unsigned blocks = PutSumsOfSquares(value, sums.Data());
    std::array<double, c_mostSumBlocks> parts{};
    m_context.Download(parts.data(), sums.Data(), blocks * sizeof(double));
    double sum = 0;
    for (const double part : parts)
        sum += part;
    return sum;
}

bool GpuKernels::HasNotFinite(const MatrixView& value)
{
    const GpuArray<int> isFound(m_context, 1);
    m_context.Zero(isFound.Data(), sizeof(int));
    VisitType(value.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("HasNotFinite", m_context.Stream(), BlocksFor(value.Elements(), c_threads), c_threads,
                         FindNotFinite<T>, DeviceMatrix<T>(value), isFound.Data());
              });
    int found = 0;
    m_context.Download(&found, isFound.Data(), sizeof(found));
    return found != 0;
}

void GpuKernels::ClearNotFinite(const MatrixView& output, std::span<const uint8_t> mask)
{
    const uint8_t* const deviceMask = m_context.MaskOnDevice(mask);
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("ClearNotFinite", m_context.Stream(), BlocksFor(output.Elements(), c_threads), c_threads,
                         ClearGaps<T>, DeviceMatrix<T>(output), deviceMask);
              });
}

void GpuKernels::AddNumbers(std::span<const MatrixView> numbers, bool isNew, const MatrixView& totals)
{
    double* const all = totals.As<double>();
    for (size_t first = 0; first < numbers.size(); first += c_mostNumbers)
    {
        DeviceNumbers some{};
        some.count = std::min(c_mostNumbers, numbers.size() - first);
        for (size_t i = 0; i < some.count; ++i)
        {
            some.data[i] = numbers[first + i].data;
            some.isFloat[i] = numbers[first + i].type == DataType::Float32;
        }
        Launch("AddNumbers", m_context.Stream(), 1, c_warp, AddToTotals, some, isNew, all + first,
               first == 0 ? all + numbers.size() : nullptr);
    }
}

} // namespace cntk
