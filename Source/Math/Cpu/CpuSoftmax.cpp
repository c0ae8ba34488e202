// The softmax family, column by column, and the criterion built on it.
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/ThreadPool.h"

#include <algorithm>

namespace cntk
{

namespace
{

// Two exponentials an element.
constexpr size_t c_operationsPerElement = 16;
// With fewer rows columns are too short for passes of their own.
constexpr size_t c_rowsForColumns = 64;
// The search for the largest element looks at one after the other: as much time as four additions.
constexpr size_t c_operationsOfSearch = 4;

template <class T>
ColumnBlock<T> BlockOf(const MatrixView& view, size_t firstColumn)
{
    return {view.data ? view.As<T>() + firstColumn * view.stride : nullptr, view.stride};
}

template <class T>
const T* ColumnOf(const MatrixView& view, size_t column)
{
    return view.As<T>() + column * view.stride;
}

// Splits the columns of a matrix; body(part, begin, end).
template <class Body>
void ForEachColumnRange(const MatrixView& view, size_t operationsPerElement, ThreadPool& pool, Body&& body)
{
    ForEachPart(pool, view.columns, 16, UsefulThreads(view.Elements() * operationsPerElement, pool), body);
}

template <class T>
void LogSoftmaxOf(const VectorKernels<T>& kernels, ThreadPool& pool, const MatrixView& input,
                  const MatrixView& logSoftmax, const MatrixView& softmax)
{
    ForEachColumnRange(input, c_operationsPerElement, pool,
                       [&](int, size_t begin, size_t end)
                       {
                           if (begin < end)
                           {
                               kernels.logSoftmax(BlockOf<const T>(input, begin), BlockOf<T>(logSoftmax, begin),
                                                  BlockOf<T>(softmax, begin), input.rows, end - begin);
                           }
                       });
}

bool IsData(std::span<const uint8_t> mask, size_t column)
{
    return mask.empty() || mask[column] != 0;
}

// -sum labels * logSoftmax over some columns without gaps.
template <class T>
double CrossEntropyOf(const VectorKernels<T>& kernels, const MatrixView& labels, const MatrixView& logSoftmax,
                      size_t begin, size_t end)
{
    if (labels.IsContiguous() && logSoftmax.IsContiguous())
    {
        return kernels.crossEntropy(ColumnOf<T>(labels, begin), ColumnOf<T>(logSoftmax, begin),
                                    (end - begin) * labels.rows);
    }
    double sum = 0;
    for (size_t column = begin; column < end; ++column)
        sum += kernels.crossEntropy(ColumnOf<T>(labels, column), ColumnOf<T>(logSoftmax, column), labels.rows);
    return sum;
}

template <class T>
double CrossEntropyOf(const VectorKernels<T>&, const SparseView& labels, const MatrixView& logSoftmax, size_t begin,
                      size_t end)
{
    const T* values = static_cast<const T*>(labels.values);
    double sum = 0;
    for (size_t column = begin; column < end; ++column)
    {
        const T* logs = ColumnOf<T>(logSoftmax, column);
        for (int32_t at = labels.columnStarts[column]; at < labels.columnStarts[column + 1]; ++at)
        {
            if (values[at] != T(0))
                sum -= double(values[at]) * double(logs[labels.rowIndices[at]]);
        }
    }
    return sum;
}

template <class T, class Labels>
void CrossEntropyWithSoftmaxOf(const VectorKernels<T>& kernels, ThreadPool& pool, const Labels& labels,
                               const MatrixView& prediction, std::span<const uint8_t> mask,
                               const MatrixView& logSoftmax, const MatrixView& softmax, const MatrixView& output)
{
    // These columns stay in the cache from one step to the next.
    constexpr size_t columnsAtATime = 32;
    double sums[c_mostParts];
    const int parts = UsefulThreads(prediction.Elements() * c_operationsPerElement, pool, c_operationsPerSum);
    std::fill_n(sums, parts, 0.0);
    const auto computeColumns = [&](size_t begin, size_t end)
    {
        kernels.logSoftmax(BlockOf<const T>(prediction, begin), BlockOf<T>(logSoftmax, begin),
                           BlockOf<T>(softmax, begin), prediction.rows, end - begin);
        if (mask.empty())
            return CrossEntropyOf(kernels, labels, logSoftmax, begin, end);
        double sum = 0;
        for (size_t column = begin; column < end; ++column)
            if (mask[column] != 0)
                sum += CrossEntropyOf(kernels, labels, logSoftmax, column, column + 1);
        return sum;
    };
    if (prediction.rows > 0)
    {
        ForEachPart(pool, prediction.columns, columnsAtATime, parts,
                    [&](int part, size_t begin, size_t end)
                    {
                        for (size_t column = begin; column < end; column += columnsAtATime)
                            sums[part] += computeColumns(column, std::min(end, column + columnsAtATime));
                    });
    }
    double sum = 0;
    for (int part = 0; part < parts; ++part)
        sum += sums[part];
    *output.As<T>() = T(sum);
}

template <class T>
void SubtractLabels(const SparseView& labels, size_t column, T* from)
{
    for (int32_t at = labels.columnStarts[column]; at < labels.columnStarts[column + 1]; ++at)
        from[labels.rowIndices[at]] -= static_cast<const T*>(labels.values)[at];
}

template <class T, class Subtract>
void SoftmaxMinusLabels(ThreadPool& pool, const MatrixView& softmax, std::span<const uint8_t> mask,
                        const MatrixView& gradient, double beta, Subtract&& subtract)
{
    ForEachColumnRange(softmax, 1, pool,
                       [&](int, size_t begin, size_t end)
                       {
                           for (size_t column = begin; column < end; ++column)
                           {
                               T* own = gradient.As<T>() + column * gradient.stride;
                               if (IsData(mask, column))
                                   subtract(column, own);
                               else if (beta == 0)
                                   std::fill_n(own, softmax.rows, T(0));
                           }
                       });
}

} // namespace

void CpuKernels::LogSoftmax(const MatrixView& input, const MatrixView& output)
{
    Visit(input.type, [&]<class T>(const VectorKernels<T>& kernels)
          { LogSoftmaxOf(kernels, m_pool, input, output, MatrixView{}); });
}

void CpuKernels::Softmax(const MatrixView& input, const MatrixView& output)
{
    Visit(input.type,
          [&]<class T>(const VectorKernels<T>& kernels) { LogSoftmaxOf(kernels, m_pool, input, output, output); });
}

void CpuKernels::SoftmaxGradient(const MatrixView& gradient, const MatrixView& value, const MatrixView& inputGradient)
{
    Visit(value.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              ForEachColumnRange(value, 2, m_pool,
                                 [&](int, size_t begin, size_t end)
                                 {
                                     for (size_t column = begin; column < end; ++column)
                                     {
                                         kernels.softmaxGradient(
                                             ColumnOf<T>(gradient, column), ColumnOf<T>(value, column),
                                             inputGradient.As<T>() + column * inputGradient.stride, value.rows);
                                     }
                                 });
          });
}

void CpuKernels::LogSoftmaxGradient(const MatrixView& gradient, const MatrixView& value,
                                    const MatrixView& inputGradient)
{
    Visit(value.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              ForEachColumnRange(value, c_operationsPerElement / 2, m_pool,
                                 [&](int, size_t begin, size_t end)
                                 {
                                     for (size_t column = begin; column < end; ++column)
                                     {
                                         kernels.logSoftmaxGradient(
                                             ColumnOf<T>(gradient, column), ColumnOf<T>(value, column),
                                             inputGradient.As<T>() + column * inputGradient.stride, value.rows);
                                     }
                                 });
          });
}

void CpuKernels::ArgMax(const MatrixView& input, const MatrixView& output)
{
    Visit(input.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              ForEachColumnRange(input, c_operationsOfSearch, m_pool,
                                 [&](int, size_t begin, size_t end)
                                 {
                                     for (size_t column = begin; column < end; ++column)
                                     {
                                         output.As<T>()[column * output.stride] =
                                             T(kernels.argMax(ColumnOf<T>(input, column), input.rows));
                                     }
                                 });
          });
}

void CpuKernels::ArgMax(const SparseView& input, const MatrixView& output)
{
    VisitType(input.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const T* values = static_cast<const T*>(input.values);
                  for (size_t column = 0; column < input.columns; ++column)
                  {
                      // The rows that are not stored count as 0; the first of them comes in at its place.
                      size_t best = 0;
                      T largest = T(0);
                      bool isFirst = true;
                      size_t next = 0; // the row that follows the stored ones seen so far
                      const auto offer = [&](size_t row, T value)
                      {
                          if (isFirst || value > largest)
                          {
                              best = row;
                              largest = value;
                          }
                          isFirst = false;
                      };
                      for (int32_t at = input.columnStarts[column]; at < input.columnStarts[column + 1]; ++at)
                      {
                          const size_t row = size_t(input.rowIndices[at]);
                          if (next < row)
                              offer(next, T(0));
                          offer(row, values[at]);
                          next = row + 1;
                      }
                      if (next < input.rows)
                          offer(next, T(0));
                      output.As<T>()[column * output.stride] = T(best);
                  }
              });
}

void CpuKernels::CrossEntropyWithSoftmax(const MatrixView& labels, const MatrixView& prediction,
                                         std::span<const uint8_t> mask, const MatrixView& logSoftmax,
                                         const MatrixView& softmax, const MatrixView& output)
{
    Visit(prediction.type, [&](const auto& kernels)
          { CrossEntropyWithSoftmaxOf(kernels, m_pool, labels, prediction, mask, logSoftmax, softmax, output); });
}

void CpuKernels::CrossEntropyWithSoftmax(const SparseView& labels, const MatrixView& prediction,
                                         std::span<const uint8_t> mask, const MatrixView& logSoftmax,
                                         const MatrixView& softmax, const MatrixView& output)
{
    Visit(prediction.type, [&](const auto& kernels)
          { CrossEntropyWithSoftmaxOf(kernels, m_pool, labels, prediction, mask, logSoftmax, softmax, output); });
}

// Column by column, which stays in the cache from one pass to the next.
bool CpuKernels::CrossEntropyWithSoftmaxAlone(const SparseView& labels, const MatrixView& prediction,
                                              std::span<const uint8_t> mask, const MatrixView& softmax,
                                              const MatrixView& output)
{
    if (prediction.rows < c_rowsForColumns)
        return false;
    constexpr int32_t c_mostLabels = 16; // of a column, whose scores a thread keeps
    for (size_t column = 0; column < labels.columns; ++column)
        if (labels.columnStarts[column + 1] - labels.columnStarts[column] > c_mostLabels)
            return false;
    Visit(prediction.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              double sums[c_mostParts] = {};
              const int parts =
                  UsefulThreads(prediction.Elements() * c_operationsPerElement / 2, m_pool, c_operationsPerSum);
              const T* labelValues = static_cast<const T*>(labels.values);
              const auto computeColumn = [&](size_t column)
              {
                  const T* scores = ColumnOf<T>(prediction, column);
                  const int32_t first = labels.columnStarts[column];
                  const int32_t count = IsData(mask, column) ? labels.columnStarts[column + 1] - first : 0;
                  T ofLabels[c_mostLabels]; // which the softmax may replace
                  for (int32_t i = 0; i < count; ++i)
                      ofLabels[i] = scores[labels.rowIndices[first + i]];
                  const Normalizer<T> normalizer =
                      kernels.softmaxColumn(scores, softmax.As<T>() + column * softmax.stride, prediction.rows);
                  double sum = 0;
                  for (int32_t i = 0; i < count; ++i)
                      if (labelValues[first + i] != T(0))
                          sum -= double(labelValues[first + i]) *
                                 double((ofLabels[i] - normalizer.largest) - normalizer.logSum);
                  return sum;
              };
              ForEachPart(m_pool, prediction.columns, 1, parts,
                          [&](int part, size_t begin, size_t end)
                          {
                              for (size_t column = begin; column < end; ++column)
                                  sums[part] += computeColumn(column);
                          });
              double sum = 0;
              for (int part = 0; part < parts; ++part)
                  sum += sums[part];
              *output.As<T>() = T(sum);
          });
    return true;
}

void CpuKernels::CrossEntropyWithSoftmaxGradient(const MatrixView& labels, const MatrixView& softmax,
                                                 std::span<const uint8_t> mask, const MatrixView& scale,
                                                 const MatrixView& predictionGradient, double beta)
{
    Visit(softmax.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              const T factor = *scale.As<T>();
              const auto blend = beta == 0 ? kernels.setScaledDifference : kernels.addScaledDifference;
              if (mask.empty() && softmax.IsContiguous() && labels.IsContiguous() && predictionGradient.IsContiguous())
              {
                  ForEachPart(m_pool, softmax.Elements(), 64, UsefulThreads(softmax.Elements(), m_pool),
                              [&](int, size_t begin, size_t end) {
                                  blend(factor, softmax.As<T>() + begin, labels.As<T>() + begin,
                                        predictionGradient.As<T>() + begin, end - begin);
                              });
                  return;
              }
              SoftmaxMinusLabels<T>(m_pool, softmax, mask, predictionGradient, beta,
                                    [&](size_t column, T* gradient) {
                                        blend(factor, ColumnOf<T>(softmax, column), ColumnOf<T>(labels, column),
                                              gradient, softmax.rows);
                                    });
          });
}

void CpuKernels::CrossEntropyWithSoftmaxGradient(const SparseView& labels, const MatrixView& softmax,
                                                 std::span<const uint8_t> mask, const MatrixView& scale,
                                                 const MatrixView& predictionGradient, double beta)
{
    Visit(softmax.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              const T factor = *scale.As<T>();
              const T* values = static_cast<const T*>(labels.values);
              const auto blend = beta == 0 ? kernels.setScaled : kernels.addScaled;
              // Most of the gradient may be there already.
              const bool isInPlace = softmax.data == predictionGradient.data && factor == T(1);
              SoftmaxMinusLabels<T>(m_pool, softmax, mask, predictionGradient, beta,
                                    [&](size_t column, T* gradient)
                                    {
                                        const T* source = ColumnOf<T>(softmax, column);
                                        if (isInPlace)
                                            return SubtractLabels(labels, column, gradient);
                                        // The labels' rows take the difference, as in the dense form; the rest is 0.
                                        int32_t at = labels.columnStarts[column];
                                        const int32_t last = labels.columnStarts[column + 1];
                                        size_t row = 0;
                                        for (; at < last; ++at)
                                        {
                                            const size_t label = size_t(labels.rowIndices[at]);
                                            blend(factor, source + row, gradient + row, label - row);
                                            gradient[label] = (beta == 0 ? T(0) : gradient[label]) +
                                                              factor * (source[label] - values[at]);
                                            row = label + 1;
                                        }
                                        blend(factor, source + row, gradient + row, softmax.rows - row);
                                    });
          });
}

} // namespace cntk
