// Functions that backends of host memory share.
#include "Math/Kernels.h"

#include "Math/ElementwiseFunctions.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

void Kernels::ZeroColumns(const MatrixView& output, std::span<const int32_t> columns)
{
    for (size_t i = 0; i < columns.size();)
    {
        size_t end = i + 1;
        while (end < columns.size() && columns[end] == columns[end - 1] + 1)
            end++;
        Fill(output.Columns(size_t(columns[i]), end - i), 0);
        i = end;
    }
}

bool Kernels::CrossEntropyWithSoftmaxAlone(const SparseView&, const MatrixView&, std::span<const uint8_t>,
                                           const MatrixView&, const MatrixView&)
{
    return false;
}

size_t ElementwiseCall::LastAxis() const
{
    size_t rank = 1;
    for (const TensorView* input : inputs)
        rank = std::max(rank, input->rank);
    return rank - 1;
}

void Kernels::RunApart(size_t tasks, void (*task)(const void* body, size_t index), const void* body)
{
    for (size_t index = 0; index < tasks; ++index)
        task(body, index);
}

void Kernels::ClearNotFinite(const MatrixView& output, std::span<const uint8_t> mask)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  for (size_t column = 0; column < output.columns; ++column)
                  {
                      if (mask[column] != 0)
                          continue;
                      T* const values = output.As<T>() + column * output.stride;
                      for (size_t row = 0; row < output.rows; ++row)
                          if (!std::isfinite(values[row]))
                              values[row] = 0;
                  }
              });
}

void Kernels::AddNumbers(std::span<const MatrixView> numbers, bool isNew, const MatrixView& totals)
{
    const auto number = [&](size_t i)
    { return VisitType(numbers[i].type, [&](auto tag) { return double(*numbers[i].As<decltype(tag)>()); }); };
    double* const all = totals.As<double>();
    for (size_t i = 0; i < numbers.size(); ++i)
        all[i] += number(i);
    double& count = all[numbers.size()];
    double& firstNotFinite = all[numbers.size() + 1];
    count += isNew ? 1 : 0;
    if (firstNotFinite == 0 && !std::isfinite(number(0)))
        firstNotFinite = count;
}

namespace
{

// body(place among the values, row, column) for each stored element outside of gaps.
template <class Body>
void ForEachLabel(const SparseView& labels, std::span<const uint8_t> mask, Body&& body)
{
    for (size_t column = 0; column < labels.columns; ++column)
        if (mask.empty() || mask[column] != 0)
            for (int32_t at = labels.columnStarts[column]; at < labels.columnStarts[column + 1]; ++at)
                body(size_t(at), size_t(labels.rowIndices[at]), column);
}

} // namespace

void Kernels::CrossEntropy(const SparseView& labels, const MatrixView& probabilities, std::span<const uint8_t> mask,
                           const MatrixView& output)
{
    VisitType(labels.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  double sum = 0;
                  ForEachLabel(labels, mask,
                               [&](size_t at, size_t row, size_t column)
                               {
                                   const double label = double(static_cast<const T*>(labels.values)[at]);
                                   const T p = probabilities.As<T>()[column * probabilities.stride + row];
                                   sum -= label * double(ClippedLog(p));
                               });
                  *output.As<T>() = T(sum);
              });
}

void Kernels::CrossEntropyGradient(const SparseView& labels, const MatrixView& probabilities,
                                   std::span<const uint8_t> mask, const MatrixView& scale,
                                   const MatrixView& probabilityGradient)
{
    VisitType(labels.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const T factor = *scale.As<T>();
                  ForEachLabel(labels, mask,
                               [&](size_t at, size_t row, size_t column)
                               {
                                   const T label = static_cast<const T*>(labels.values)[at];
                                   const T p = probabilities.As<T>()[column * probabilities.stride + row];
                                   probabilityGradient.As<T>()[column * probabilityGradient.stride + row] -=
                                       factor * label * ClippedInverse(p == T(0) ? T(c_divisorFloor) : p);
                               });
              });
}

} // namespace cntk
