// Softmax of columns, cross entropy with dense and sparse labels, their gradients, and the row of the largest element.
// Each column has a sum of its own; a reduction with a fixed order adds these up.
#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/Gpu/GpuKernels.h"

namespace cntk
{

namespace
{

// ---- softmax --------------------------------------------------------------------------------------------------------

// The logarithm of the sum of exp(input) over a column, for all threads of its team. Reads the column once and keeps
// the largest element so far, so that no exponential overflows.
template <class T, bool isBlock>
__device__ T LogSumOf(const ColumnTeam<isBlock>& team, const T* input, size_t rows)
{
    T largest = -T(INFINITY);
    T sum = 0;
    for (size_t row = team.lane; row < rows; row += team.size)
    {
        const T value = input[row];
        if (value > largest)
        {
            sum = sum * Exponential(largest - value) + T(1);
            largest = value;
        }
        else if (value != -T(INFINITY)) // -infinity minus itself is NaN
            sum += Exponential(value - largest);
    }
    const T all = team.Reduce(largest, -T(INFINITY), TakingLarger());
    // Threads without elements contribute 0. A column of -infinity gives NaN, as on the CPU.
    sum = team.lane < rows ? sum * Exponential(largest - all) : T(0);
    return all + std::log(team.Reduce(sum, T(0), Adding()));
}

// Writes the logarithms, the values, or both; a null pointer leaves one out.
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

void LaunchSoftmax(const char* name, GpuContext& context, const MatrixView& input, const MatrixView& logs,
                   const MatrixView& values)
{
    VisitType(input.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  LaunchTeams(name, context.Stream(), TeamShape(input.rows, input.columns), SoftmaxColumns<T, true>,
                              SoftmaxColumns<T, false>, DeviceMatrix<T>(input), logs.As<T>(), logs.stride,
                              values.As<T>(), values.stride);
              });
}

// Softmax: inputGradient += value * (gradient - sum(gradient * value)).
// Log softmax: inputGradient += gradient - exp(value) * sum(gradient).
template <class T, bool isBlock, bool isLog>
__global__ void SoftmaxGradientColumns(const DeviceMatrix<T> gradient, const DeviceMatrix<T> value,
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
        sum += isLog ? g[row] : g[row] * y[row];
    sum = team.Reduce(sum, T(0), Adding());
    for (size_t row = team.lane; row < value.rows; row += team.size)
        target[row] += isLog ? g[row] - Exponential(y[row]) * sum : y[row] * (g[row] - sum);
}

template <bool isLog>
void LaunchSoftmaxGradient(const char* name, GpuContext& context, const MatrixView& gradient, const MatrixView& value,
                           const MatrixView& inputGradient)
{
    VisitType(value.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  LaunchTeams(name, context.Stream(), TeamShape(value.rows, value.columns),
                              SoftmaxGradientColumns<T, true, isLog>, SoftmaxGradientColumns<T, false, isLog>,
                              DeviceMatrix<T>(gradient), DeviceMatrix<T>(value), DeviceMatrix<T>(inputGradient));
              });
}

// ---- largest element ------------------------------------------------------------------------------------------------

// Takes the first of equal elements.
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
    // The largest negated row is the first row.
    const double row = largest == all ? -double(best) : -double(input.rows);
    const double first = -team.Reduce(row, -double(input.rows), TakingLarger());
    if (team.lane == 0)
        *output.Column(team.column) = first < double(input.rows) ? T(first) : T(0);
}

// Elements that are not stored are 0.
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

// ---- cross entropy --------------------------------------------------------------------------------------------------

__device__ inline bool IsData(const uint8_t* mask, size_t column)
{
    return mask == nullptr || mask[column] != 0;
}

// Calls body(row, label) for this thread's share of a column's labels.
template <class T, bool isBlock, class Body>
__device__ void ForEachLabel(const ColumnTeam<isBlock>& team, const DeviceMatrix<T>& labels, const Body& body)
{
    for (size_t row = team.lane; row < labels.rows; row += team.size)
        body(row, labels.Column(team.column)[row]);
}
template <class T, bool isBlock, class Body>
__device__ void ForEachLabel(const ColumnTeam<isBlock>& team, const DeviceSparse<T>& labels, const Body& body)
{
    const int32_t end = labels.columnStarts[team.column + 1];
    for (int32_t at = labels.columnStarts[team.column] + int32_t(team.lane); at < end; at += int32_t(team.size))
        body(size_t(labels.rowIndices[at]), labels.values[at]);
}

template <class T>
__device__ T LabelAt(const DeviceMatrix<T>& labels, size_t row, size_t column)
{
    return labels.Column(column)[row];
}
// Binary search among the column's rows.
template <class T>
__device__ T LabelAt(const DeviceSparse<T>& labels, size_t row, size_t column)
{
    const int32_t end = labels.columnStarts[column + 1];
    int32_t low = labels.columnStarts[column];
    int32_t high = end;
    while (low < high)
    {
        const int32_t middle = low + (high - low) / 2;
        if (size_t(labels.rowIndices[middle]) < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && size_t(labels.rowIndices[low]) == row ? labels.values[low] : T(0);
}

// values = softmax(prediction), in place if both are the same memory; logs likewise unless null;
// columnSums = -sum(labels * log softmax).
template <class T, bool isBlock, class Labels>
__global__ void CrossEntropyOfSoftmax(const Labels labels, const DeviceMatrix<T> prediction, const uint8_t* mask,
                                      T* logs, size_t logStride, const DeviceMatrix<T> values, T* columnSums)
{
    const ColumnTeam<isBlock> team;
    if (team.column >= prediction.columns)
        return;
    const T* const from = prediction.Column(team.column);
    const T logSum = LogSumOf(team, from, prediction.rows);
    T sum = 0;
    if (IsData(mask, team.column))
        ForEachLabel(team, labels,
                     [&](size_t row, T label)
                     { sum -= label == T(0) ? T(0) : label * (from[row] - logSum); }); // 0 * -infinity counts as 0
    sum = team.Reduce(sum, T(0), Adding());
    team.Wait(); // values may overwrite the predictions that labels refer to
    for (size_t row = team.lane; row < prediction.rows; row += team.size)
    {
        const T log = from[row] - logSum;
        if (logs != nullptr)
            logs[team.column * logStride + row] = log;
        values.Column(team.column)[row] = Exponential(log);
    }
    if (team.lane == 0)
        columnSums[team.column] = sum;
}

// columnSums = -sum(labels * log probabilities)
template <class T>
__global__ void CrossEntropyOfProbabilities(const DeviceSparse<T> labels, const DeviceMatrix<T> probabilities,
                                            const uint8_t* mask, T* columnSums)
{
    for (size_t column = FirstElement(); column < labels.columns; column += ElementStep())
    {
        T sum = 0;
        if (IsData(mask, column))
        {
            for (int32_t at = labels.columnStarts[column]; at < labels.columnStarts[column + 1]; ++at)
            {
                const T label = labels.values[at];
                sum -= label == T(0) ? T(0) : label * ClippedLog(probabilities.Column(column)[labels.rowIndices[at]]);
            }
        }
        columnSums[column] = sum;
    }
}

// predictionGradient = beta * predictionGradient + scale * (softmax - labels). With beta = 0 it is not read.
template <class T, class Labels>
__global__ void AddSoftmaxError(const Labels labels, const DeviceMatrix<T> softmax, const uint8_t* mask, const T* scale,
                                const DeviceMatrix<T> predictionGradient, T beta)
{
    for (size_t index = FirstElement(); index < softmax.Elements(); index += ElementStep())
    {
        const size_t column = index / softmax.rows;
        const T before = beta == T(0) ? T(0) : predictionGradient.At(index);
        if (IsData(mask, column))
            predictionGradient.At(index) =
                before + *scale * (softmax.At(index) - LabelAt(labels, index % softmax.rows, column));
        else
            predictionGradient.At(index) = before;
    }
}

// probabilityGradient -= scale * labels / probabilities
template <class T>
__global__ void AddCrossEntropyError(const DeviceSparse<T> labels, const DeviceMatrix<T> probabilities,
                                     const uint8_t* mask, const T* scale, const DeviceMatrix<T> probabilityGradient)
{
    for (size_t column = FirstElement(); column < labels.columns; column += ElementStep())
    {
        if (!IsData(mask, column))
            continue;
        for (int32_t at = labels.columnStarts[column]; at < labels.columnStarts[column + 1]; ++at)
        {
            const int32_t row = labels.rowIndices[at];
            const T p = probabilities.Column(column)[row];
            probabilityGradient.Column(column)[row] -=
                *scale * labels.values[at] * ClippedInverse(p == T(0) ? T(c_divisorFloor) : p);
        }
    }
}

// Labels as kernels take them.
template <class T>
DeviceMatrix<T> OnDevice(const MatrixView& labels)
{
    return DeviceMatrix<T>(labels);
}
template <class T>
DeviceSparse<T> OnDevice(const SparseView& labels)
{
    return DeviceSparse<T>(labels);
}

template <class Labels>
void LaunchSoftmaxError(GpuContext& context, const Labels& labels, const MatrixView& softmax,
                        std::span<const uint8_t> mask, const MatrixView& scale, const MatrixView& predictionGradient,
                        double beta)
{
    if (softmax.Elements() == 0)
        return;
    const uint8_t* const deviceMask = context.MaskOnDevice(mask);
    VisitType(softmax.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const auto deviceLabels = OnDevice<T>(labels);
                  Launch("CrossEntropyWithSoftmaxGradient", context.Stream(), BlocksFor(softmax.Elements(), c_threads),
                         c_threads, AddSoftmaxError<T, std::decay_t<decltype(deviceLabels)>>, deviceLabels,
                         DeviceMatrix<T>(softmax), deviceMask, scale.As<const T>(), DeviceMatrix<T>(predictionGradient),
                         T(beta));
              });
}

} // namespace

void GpuKernels::LogSoftmax(const MatrixView& input, const MatrixView& output)
{
    LaunchSoftmax("LogSoftmax", m_context, input, output, {});
}

void GpuKernels::Softmax(const MatrixView& input, const MatrixView& output)
{
    LaunchSoftmax("Softmax", m_context, input, {}, output);
}

void GpuKernels::SoftmaxGradient(const MatrixView& gradient, const MatrixView& value, const MatrixView& inputGradient)
{
    LaunchSoftmaxGradient<false>("SoftmaxGradient", m_context, gradient, value, inputGradient);
}

void GpuKernels::LogSoftmaxGradient(const MatrixView& gradient, const MatrixView& value,
                                    const MatrixView& inputGradient)
{
    LaunchSoftmaxGradient<true>("LogSoftmaxGradient", m_context, gradient, value, inputGradient);
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

template <class Labels>
void GpuKernels::CrossEntropyOf(const Labels& labels, const MatrixView& prediction, std::span<const uint8_t> mask,
                                const MatrixView& logSoftmax, const MatrixView& softmax, const MatrixView& output)
{
    if (prediction.Elements() == 0)
    {
        Fill(output, 0);
        return;
    }
    const uint8_t* const deviceMask = m_context.MaskOnDevice(mask);
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const GpuArray<T> columnSums(m_context, prediction.columns);
                  const auto deviceLabels = OnDevice<T>(labels);
                  using DeviceLabels = std::decay_t<decltype(deviceLabels)>;
                  LaunchTeams(
                      "CrossEntropyWithSoftmax", m_context.Stream(), TeamShape(prediction.rows, prediction.columns),
                      CrossEntropyOfSoftmax<T, true, DeviceLabels>, CrossEntropyOfSoftmax<T, false, DeviceLabels>,
                      deviceLabels, DeviceMatrix<T>(prediction), deviceMask, logSoftmax.As<T>(), logSoftmax.stride,
                      DeviceMatrix<T>(softmax), columnSums.Data());
                  SumOf(columnSums.Data(), prediction.columns, output);
              });
}

void GpuKernels::CrossEntropyWithSoftmax(const MatrixView& labels, const MatrixView& prediction,
                                         std::span<const uint8_t> mask, const MatrixView& logSoftmax,
                                         const MatrixView& softmax, const MatrixView& output)
{
    CrossEntropyOf(labels, prediction, mask, logSoftmax, softmax, output);
}

void GpuKernels::CrossEntropyWithSoftmax(const SparseView& labels, const MatrixView& prediction,
                                         std::span<const uint8_t> mask, const MatrixView& logSoftmax,
                                         const MatrixView& softmax, const MatrixView& output)
{
    CrossEntropyOf(labels, prediction, mask, logSoftmax, softmax, output);
}

bool GpuKernels::CrossEntropyWithSoftmaxAlone(const SparseView& labels, const MatrixView& prediction,
                                              std::span<const uint8_t> mask, const MatrixView& softmax,
                                              const MatrixView& output)
{
    CrossEntropyOf(labels, prediction, mask, {}, softmax, output);
    return true;
}

void GpuKernels::CrossEntropyWithSoftmaxGradient(const MatrixView& labels, const MatrixView& softmax,
                                                 std::span<const uint8_t> mask, const MatrixView& scale,
                                                 const MatrixView& predictionGradient, double beta)
{
    LaunchSoftmaxError(m_context, labels, softmax, mask, scale, predictionGradient, beta);
}

void GpuKernels::CrossEntropyWithSoftmaxGradient(const SparseView& labels, const MatrixView& softmax,
                                                 std::span<const uint8_t> mask, const MatrixView& scale,
                                                 const MatrixView& predictionGradient, double beta)
{
    LaunchSoftmaxError(m_context, labels, softmax, mask, scale, predictionGradient, beta);
}

void GpuKernels::CrossEntropy(const SparseView& labels, const MatrixView& probabilities, std::span<const uint8_t> mask,
                              const MatrixView& output)
{
    if (labels.columns == 0)
    {
        Fill(output, 0);
        return;
    }
    const uint8_t* const deviceMask = m_context.MaskOnDevice(mask);
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const GpuArray<T> columnSums(m_context, labels.columns);
                  Launch("CrossEntropy", m_context.Stream(), BlocksFor(labels.columns, c_threads), c_threads,
                         CrossEntropyOfProbabilities<T>, DeviceSparse<T>(labels), DeviceMatrix<T>(probabilities),
                         deviceMask, columnSums.Data());
                  SumOf(columnSums.Data(), labels.columns, output);
              });
}

void GpuKernels::CrossEntropyGradient(const SparseView& labels, const MatrixView& probabilities,
                                      std::span<const uint8_t> mask, const MatrixView& scale,
                                      const MatrixView& probabilityGradient)
{
    if (labels.columns == 0)
        return;
    const uint8_t* const deviceMask = m_context.MaskOnDevice(mask);
    VisitType(labels.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("CrossEntropyGradient", m_context.Stream(), BlocksFor(labels.columns, c_threads), c_threads,
                         AddCrossEntropyError<T>, DeviceSparse<T>(labels), DeviceMatrix<T>(probabilities), deviceMask,
                         scale.As<const T>(), DeviceMatrix<T>(probabilityGradient));
              });
}

} // namespace cntk
