// Softmax of columns, its gradients, the row of the largest element.
#include "Math/Gpu/GpuKernels.h"
#include "Math/Gpu/SoftmaxFunctions.cuh"

namespace cntk
{

namespace
{

// Writes the logarithms, the values, or both (null: not this one).
template <class T, bool isBlock>
__global__ void SoftmaxColumns(const DeviceMatrix<T> input, T* logs, size_t logStride, T* values, size_t valueStride)
{
    const ColumnTeam<isBlock> team;
    if (team.column >= input.columns)
        return;
    const T* const from = input.Column(team.column);
    const T logSum = LogSumOf(team, from, input.rows);
    for (size_t row = team.lane; row < input.rows; row += team.size)
    {
        const T value = from[row] - logSum;
        if (logs != nullptr)
            logs[team.column * logStride + row] = value;
        if (values != nullptr)
            values[team.column * valueStride + row] = Exponential(value);
    }
}

// inputGradient += value * (gradient - sum(gradient * value))
template <class T, bool isBlock>
__global__ void SoftmaxGradientColumns(const DeviceMatrix<T> gradient, const DeviceMatrix<T> value,
                                       const DeviceMatrix<T> inputGradient)
{
    const ColumnTeam<isBlock> team;
    if (team.column >= value.columns)
        return;
    const T* const g = gradient.Column(team.column);
    const T* const y = value.Column(team.column);
    T* const target = inputGradient.Column(team.column);
    T inner = 0;
    for (size_t row = team.lane; row < value.rows; row += team.size)
        inner += g[row] * y[row];
    inner = team.Reduce(inner, T(0), Adding());
    for (size_t row = team.lane; row < value.rows; row += team.size)
        target[row] += y[row] * (g[row] - inner);
}

// inputGradient += gradient - exp(value) * sum(gradient)
template <class T, bool isBlock>
__global__ void LogSoftmaxGradientColumns(const DeviceMatrix<T> gradient, const DeviceMatrix<T> value,
                                          const DeviceMatrix<T> inputGradient)
{
    const ColumnTeam<isBlock> team;
    if (team.column >= value.columns)
        return;
    const T* const g = gradient.Column(team.column);
    const T* const y = value.Column(team.column);
    T* const target = inputGradient.Column(team.column);
    T sum = 0;
    for (size_t row = team.lane; row < value.rows; row += team.size)
        sum += g[row];
    sum = team.Reduce(sum, T(0), Adding());
    for (size_t row = team.lane; row < value.rows; row += team.size)
        target[row] += g[row] - Exponential(y[row]) * sum;
}

// Of equal elements the first.
template <class T, bool isBlock>
__global__ void ArgMaxColumns(const DeviceMatrix<T> input, const DeviceMatrix<T> output)
{
    const ColumnTeam<isBlock> team;
    if (team.column >= input.columns)
        return;
    const T* const from = input.Column(team.column);
    T largest = from[0];
    size_t best = 0;
    for (size_t row = team.lane; row < input.rows; row += team.size)
    {
        if (from[row] > largest)
        {
            largest = from[row];
            best = row;
        }
    }
    const T all = team.Reduce(largest, from[0], TakingLarger());
    // Rows are whole numbers that the negative of the larger one makes the smaller one.
    const double row = largest == all ? -double(best) : -double(input.rows);
    const double first = -team.Reduce(row, -double(input.rows), TakingLarger());
    if (team.lane == 0)
        *output.Column(team.column) = first < double(input.rows) ? T(first) : T(0);
}

// What is not stored is 0.
template <class T>
__global__ void ArgMaxSparse(const DeviceSparse<T> input, const DeviceMatrix<T> output)
{
    for (size_t column = FirstElement(); column < input.columns; column += ElementStep())
    {
        const int32_t begin = input.columnStarts[column];
        const int32_t end = input.columnStarts[column + 1];
        size_t firstZero = 0; // the first row that is not stored
        for (int32_t at = begin; at < end && size_t(input.rowIndices[at]) == firstZero; ++at)
            ++firstZero;
        const bool hasZero = firstZero < input.rows;
        size_t best = hasZero ? firstZero : 0;
        T largest = hasZero || begin == end ? T(0) : input.values[begin];
        for (int32_t at = begin; at < end; ++at)
        {
            const size_t row = size_t(input.rowIndices[at]);
            const T value = input.values[at];
            if (value > largest || (value == largest && row < best))
            {
                largest = value;
                best = row;
            }
        }
        *output.Column(column) = T(best);
    }
}

} // namespace

void GpuKernels::PutSoftmax(const char* name, const MatrixView& input, const MatrixView& logs, const MatrixView& values)
{
    VisitType(input.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  LaunchTeams(name, m_context.Stream(), TeamShape(input.rows, input.columns), SoftmaxColumns<T, true>,
                              SoftmaxColumns<T, false>, DeviceMatrix<T>(input), logs.As<T>(), logs.stride,
                              values.As<T>(), values.stride);
              });
}

void GpuKernels::LogSoftmax(const MatrixView& input, const MatrixView& output)
{
    PutSoftmax("LogSoftmax", input, output, {});
}

void GpuKernels::Softmax(const MatrixView& input, const MatrixView& output)
{
    PutSoftmax("Softmax", input, {}, output);
}

void GpuKernels::SoftmaxGradient(const MatrixView& gradient, const MatrixView& value, const MatrixView& inputGradient)
{
    VisitType(value.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  LaunchTeams("SoftmaxGradient", m_context.Stream(), TeamShape(value.rows, value.columns),
                              SoftmaxGradientColumns<T, true>, SoftmaxGradientColumns<T, false>,
                              DeviceMatrix<T>(gradient), DeviceMatrix<T>(value), DeviceMatrix<T>(inputGradient));
              });
}

void GpuKernels::LogSoftmaxGradient(const MatrixView& gradient, const MatrixView& value,
                                    const MatrixView& inputGradient)
{
    VisitType(value.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  LaunchTeams("LogSoftmaxGradient", m_context.Stream(), TeamShape(value.rows, value.columns),
                              LogSoftmaxGradientColumns<T, true>, LogSoftmaxGradientColumns<T, false>,
                              DeviceMatrix<T>(gradient), DeviceMatrix<T>(value), DeviceMatrix<T>(inputGradient));
              });
}

void GpuKernels::ArgMax(const MatrixView& input, const MatrixView& output)
{
    VisitType(input.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  LaunchTeams("ArgMax", m_context.Stream(), TeamShape(input.rows, input.columns),
                              ArgMaxColumns<T, true>, ArgMaxColumns<T, false>, DeviceMatrix<T>(input),
                              DeviceMatrix<T>(output));
              });
}

void GpuKernels::ArgMax(const SparseView& input, const MatrixView& output)
{
    VisitType(input.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("ArgMax", m_context.Stream(), BlocksFor(input.columns, c_threads), c_threads, ArgMaxSparse<T>,
                         DeviceSparse<T>(input), DeviceMatrix<T>(output));
              });
}

} // namespace cntk
