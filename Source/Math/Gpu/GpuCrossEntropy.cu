// Cross entropy of softmax outputs and of probabilities, with dense and sparse labels. Each column has a sum of its
// own; these are then added up in one order.
#include "Math/Gpu/GpuKernels.h"
#include "Math/Gpu/SoftmaxFunctions.cuh"

namespace cntk
{

namespace
{

__device__ inline bool IsData(const uint8_t* mask, size_t column)
{
    return mask == nullptr || mask[column] != 0;
}

// values = exp(logs); columnSums = -sum(labels * logs)
template <class T, bool isBlock>
__global__ void CrossEntropyColumns(const DeviceMatrix<T> labels, const DeviceMatrix<T> logs,
                                    const DeviceMatrix<T> values, const uint8_t* mask, T* columnSums)
{
    const ColumnTeam<isBlock> team;
    if (team.column >= logs.columns)
        return;
    const bool isData = IsData(mask, team.column);
    T sum = 0;
    for (size_t row = team.lane; row < logs.rows; row += team.size)
    {
        const T log = logs.Column(team.column)[row];
        values.Column(team.column)[row] = Exponential(log);
        const T label = isData ? labels.Column(team.column)[row] : T(0);
        sum -= label == T(0) ? T(0) : label * log; // 0 * -infinity is no contribution
    }
    sum = team.Reduce(sum, T(0), Adding());
    if (team.lane == 0)
        columnSums[team.column] = sum;
}

// columnSums = -sum(labels * logs); values may be the probabilities themselves, whose logarithm is taken first.
template <class T>
__global__ void SparseCrossEntropyColumns(const DeviceSparse<T> labels, const DeviceMatrix<T> values, bool areLogs,
                                          const uint8_t* mask, T* columnSums)
{
    for (size_t column = FirstElement(); column < labels.columns; column += ElementStep())
    {
        T sum = 0;
        if (IsData(mask, column))
        {
            for (int32_t at = labels.columnStarts[column]; at < labels.columnStarts[column + 1]; ++at)
            {
                const T value = values.Column(column)[labels.rowIndices[at]];
                const T label = labels.values[at];
                sum -= label == T(0) ? T(0) : label * (areLogs ? value : ClippedLog(value));
            }
        }
        columnSums[column] = sum;
    }
}

// values = softmax(prediction), which they may replace; columnSums = -sum(labels * log values)
template <class T, bool isBlock>
__global__ void SparseCrossEntropyOfSoftmax(const DeviceSparse<T> labels, const DeviceMatrix<T> prediction,
                                            const uint8_t* mask, const DeviceMatrix<T> values, T* columnSums)
{
    const ColumnTeam<isBlock> team;
    if (team.column >= prediction.columns)
        return;
    const T* const from = prediction.Column(team.column);
    T* const to = values.Column(team.column);
    const T logSum = LogSumOf(team, from, prediction.rows);
    T sum = 0;
    if (IsData(mask, team.column))
    {
        const int32_t end = labels.columnStarts[team.column + 1];
        for (int32_t at = labels.columnStarts[team.column] + int32_t(team.lane); at < end; at += int32_t(team.size))
        {
            const T label = labels.values[at];
            sum -= label == T(0) ? T(0) : label * (from[labels.rowIndices[at]] - logSum);
        }
    }
    sum = team.Reduce(sum, T(0), Adding());
    team.Wait(); // the labels' scores have been read
    for (size_t row = team.lane; row < prediction.rows; row += team.size)
        to[row] = Exponential(from[row] - logSum);
    if (team.lane == 0)
        columnSums[team.column] = sum;
}

// predictionGradient = beta * predictionGradient + scale * (softmax - labels); of beta = 0 nothing is read
template <class T>
__global__ void AddSoftmaxError(const DeviceMatrix<T> labels, const DeviceMatrix<T> softmax, const uint8_t* mask,
                                const T* scale, const DeviceMatrix<T> predictionGradient, T beta)
{
    for (size_t index = FirstElement(); index < softmax.Elements(); index += ElementStep())
    {
        const T before = beta == T(0) ? T(0) : predictionGradient.At(index);
        if (IsData(mask, index / softmax.rows))
            predictionGradient.At(index) = before + *scale * (softmax.At(index) - labels.At(index));
        else
            predictionGradient.At(index) = before;
    }
}

// Of a sparse label the whole column's error: the label is looked for among the few that the column has.
template <class T>
__global__ void AddSparseSoftmaxError(const DeviceSparse<T> labels, const DeviceMatrix<T> softmax, const uint8_t* mask,
                                      const T* scale, const DeviceMatrix<T> predictionGradient, T beta)
{
    for (size_t index = FirstElement(); index < softmax.Elements(); index += ElementStep())
    {
        const size_t column = index / softmax.rows;
        const T before = beta == T(0) ? T(0) : predictionGradient.At(index);
        if (!IsData(mask, column))
        {
            predictionGradient.At(index) = before;
            continue;
        }
        const size_t row = index % softmax.rows;
        int32_t low = labels.columnStarts[column];
        int32_t high = labels.columnStarts[column + 1];
        while (low < high)
        {
            const int32_t middle = low + (high - low) / 2;
            if (size_t(labels.rowIndices[middle]) < row)
                low = middle + 1;
            else
                high = middle;
        }
        const bool isLabel = low < labels.columnStarts[column + 1] && size_t(labels.rowIndices[low]) == row;
        predictionGradient.At(index) = before + *scale * (softmax.At(index) - (isLabel ? labels.values[low] : T(0)));
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

} // namespace

void GpuKernels::CrossEntropyWithSoftmax(const MatrixView& labels, const MatrixView& prediction,
                                         std::span<const uint8_t> mask, const MatrixView& logSoftmax,
                                         const MatrixView& softmax, const MatrixView& output)
{
    if (prediction.Elements() == 0)
    {
        Fill(output, 0);
        return;
    }
    LogSoftmax(prediction, logSoftmax);
    const uint8_t* const maskThere = m_context.MaskThere(mask);
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const GpuArray<T> columnSums(m_context, prediction.columns);
                  LaunchTeams("CrossEntropyWithSoftmax", m_context.Stream(),
                              TeamShape(prediction.rows, prediction.columns), CrossEntropyColumns<T, true>,
                              CrossEntropyColumns<T, false>, DeviceMatrix<T>(labels), DeviceMatrix<T>(logSoftmax),
                              DeviceMatrix<T>(softmax), maskThere, columnSums.Data());
                  SumOf(columnSums.Data(), prediction.columns, output);
              });
}

void GpuKernels::CrossEntropyWithSoftmax(const SparseView& labels, const MatrixView& prediction,
                                         std::span<const uint8_t> mask, const MatrixView& logSoftmax,
                                         const MatrixView& softmax, const MatrixView& output)
{
    if (prediction.Elements() == 0)
    {
        Fill(output, 0);
        return;
    }
    PutSoftmax("CrossEntropyWithSoftmax", prediction, logSoftmax, softmax);
    const uint8_t* const maskThere = m_context.MaskThere(mask);
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const GpuArray<T> columnSums(m_context, prediction.columns);
                  Launch("CrossEntropyWithSoftmax", m_context.Stream(), BlocksFor(labels.columns, c_threads), c_threads,
                         SparseCrossEntropyColumns<T>, DeviceSparse<T>(labels), DeviceMatrix<T>(logSoftmax), true,
                         maskThere, columnSums.Data());
                  SumOf(columnSums.Data(), prediction.columns, output);
              });
}

bool GpuKernels::CrossEntropyWithSoftmaxAlone(const SparseView& labels, const MatrixView& prediction,
                                              std::span<const uint8_t> mask, const MatrixView& softmax,
                                              const MatrixView& output)
{
    if (prediction.Elements() == 0)
        return false;
    const uint8_t* const maskThere = m_context.MaskThere(mask);
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const GpuArray<T> columnSums(m_context, prediction.columns);
                  LaunchTeams("CrossEntropyWithSoftmaxAlone", m_context.Stream(),
                              TeamShape(prediction.rows, prediction.columns), SparseCrossEntropyOfSoftmax<T, true>,
                              SparseCrossEntropyOfSoftmax<T, false>, DeviceSparse<T>(labels),
                              DeviceMatrix<T>(prediction), maskThere, DeviceMatrix<T>(softmax), columnSums.Data());
                  SumOf(columnSums.Data(), prediction.columns, output);
              });
    return true;
}

void GpuKernels::CrossEntropyWithSoftmaxGradient(const MatrixView& labels, const MatrixView& softmax,
                                                 std::span<const uint8_t> mask, const MatrixView& scale,
                                                 const MatrixView& predictionGradient, double beta)
{
    if (softmax.Elements() == 0)
        return;
    const uint8_t* const maskThere = m_context.MaskThere(mask);
    VisitType(softmax.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("CrossEntropyWithSoftmaxGradient", m_context.Stream(),
                         BlocksFor(softmax.Elements(), c_threads), c_threads, AddSoftmaxError<T>,
                         DeviceMatrix<T>(labels), DeviceMatrix<T>(softmax), maskThere, scale.As<const T>(),
                         DeviceMatrix<T>(predictionGradient), T(beta));
              });
}

void GpuKernels::CrossEntropyWithSoftmaxGradient(const SparseView& labels, const MatrixView& softmax,
                                                 std::span<const uint8_t> mask, const MatrixView& scale,
                                                 const MatrixView& predictionGradient, double beta)
{
    if (softmax.Elements() == 0)
        return;
    const uint8_t* const maskThere = m_context.MaskThere(mask);
    VisitType(softmax.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("CrossEntropyWithSoftmaxGradient", m_context.Stream(),
                         BlocksFor(softmax.Elements(), c_threads), c_threads, AddSparseSoftmaxError<T>,
                         DeviceSparse<T>(labels), DeviceMatrix<T>(softmax), maskThere, scale.As<const T>(),
                         DeviceMatrix<T>(predictionGradient), T(beta));
              });
}

void GpuKernels::CrossEntropy(const SparseView& labels, const MatrixView& probabilities, std::span<const uint8_t> mask,
                              const MatrixView& output)
{
    if (labels.columns == 0)
    {
        Fill(output, 0);
        return;
    }
    const uint8_t* const maskThere = m_context.MaskThere(mask);
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const GpuArray<T> columnSums(m_context, labels.columns);
                  Launch("CrossEntropy", m_context.Stream(), BlocksFor(labels.columns, c_threads), c_threads,
                         SparseCrossEntropyColumns<T>, DeviceSparse<T>(labels), DeviceMatrix<T>(probabilities), false,
                         maskThere, columnSums.Data());
                  SumOf(columnSums.Data(), labels.columns, output);
              });
}

void GpuKernels::CrossEntropyGradient(const SparseView& labels, const MatrixView& probabilities,
                                      std::span<const uint8_t> mask, const MatrixView& scale,
                                      const MatrixView& probabilityGradient)
{
    if (labels.columns == 0)
        return;
    const uint8_t* const maskThere = m_context.MaskThere(mask);
    VisitType(labels.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("CrossEntropyGradient", m_context.Stream(), BlocksFor(labels.columns, c_threads), c_threads,
                         AddCrossEntropyError<T>, DeviceSparse<T>(labels), DeviceMatrix<T>(probabilities), maskThere,
                         scale.As<const T>(), DeviceMatrix<T>(probabilityGradient));
              });
}

} // namespace cntk
