// Products with the columns that samples select, as naive loops.
#include "Math/SampledProducts.h"
#include "ReferenceBackend/MatrixElements.h"
#include "ReferenceBackend/ReferenceKernels.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cntk
{

namespace
{

template <class T>
double InnerProduct(const MatrixView& a, size_t aColumn, const MatrixView& b, size_t bColumn)
{
    long double sum = 0;
    for (size_t row = 0; row < a.rows; ++row)
        sum += double(At<T>(a, row, aColumn)) * double(At<T>(b, row, bColumn));
    return double(sum);
}

// body(member, its sample, column of the weights, place among the errors) for each element of all groups.
template <class Body>
void ForEachElement(const ColumnSlices& slices, Body&& body)
{
    for (const ColumnSlices::Group& group : slices.groups)
        for (size_t member = 0; member < group.memberCount; ++member)
            for (size_t column = 0; column < group.columnCount; ++column)
                body(group.firstMember + member, size_t(slices.requests[group.firstMember + member].sample),
                     group.firstColumn + column, group.firstElement + member * group.columnCount + column);
}

} // namespace

void ReferenceKernels::SliceSoftmax(const ColumnSlices& slices, const MatrixView& weights, const MatrixView& inputs,
                                    const MatrixView& gathered, const MatrixView& errors, const MatrixView& losses,
                                    bool, const MatrixView&)
{
    VisitType(weights.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  ForEachElement(slices, [&](size_t, size_t sample, size_t column, size_t at)
                                 { At<T>(errors, 0, at) = T(InnerProduct<T>(weights, column, inputs, sample)); });
                  for (const ColumnSlices::Group& group : slices.groups)
                      for (size_t i = 0; i < group.memberCount; ++i)
                      {
                          const size_t member = group.firstMember + i;
                          const ColumnSlices::Request& request = slices.requests[member];
                          for (size_t row = 0; row < inputs.rows; ++row)
                              At<T>(gathered, row, member) = At<T>(inputs, row, size_t(request.sample));
                          T* scores = errors.As<T>() + group.firstElement + i * group.columnCount;
                          const double largest = double(*std::max_element(scores, scores + group.columnCount));
                          long double sum = 0;
                          for (size_t k = 0; k < group.columnCount; ++k)
                              sum += std::exp(double(scores[k]) - largest);
                          const double logSum = largest + double(std::log(sum));
                          const size_t target = size_t(request.target - request.firstColumn);
                          At<T>(losses, 0, member) = T(logSum - double(scores[target]));
                          for (size_t k = 0; k < group.columnCount; ++k)
                              scores[k] = T(std::exp(double(scores[k]) - logSum));
                          scores[target] -= T(1);
                      }
              });
}

void ReferenceKernels::SliceSoftmaxInputGradient(const ColumnSlices& slices, const MatrixView& weights,
                                                 const MatrixView& errors, const MatrixView& scale,
                                                 const MatrixView& work, const MatrixView& inputGradient)
{
    VisitType(weights.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  for (size_t row = 0; row < weights.rows; ++row)
                  {
                      for (size_t member = 0; member < slices.Members(); ++member)
                          At<T>(work, row, member) = T(0);
                      ForEachElement(slices, [&](size_t member, size_t, size_t column, size_t at)
                                     { At<T>(work, row, member) += At<T>(weights, row, column) * errors.As<T>()[at]; });
                      for (size_t member = 0; member < slices.Members(); ++member)
                          At<T>(inputGradient, row, size_t(slices.requests[member].sample)) +=
                              *scale.As<T>() * At<T>(work, row, member);
                  }
              });
}

void ReferenceKernels::SliceSoftmaxWeightGradient(const ColumnSlices& slices, const MatrixView& gathered,
                                                  const MatrixView& errors, const MatrixView& scale,
                                                  const MatrixView& weightGradient, double beta)
{
    VisitType(gathered.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  for (const ColumnSlices::Group& group : slices.groups)
                      for (size_t column = group.firstColumn; column < group.firstColumn + group.columnCount; ++column)
                          for (size_t row = 0; row < gathered.rows && beta == 0; ++row)
                              At<T>(weightGradient, row, column) = T(0);
                  ForEachElement(slices,
                                 [&](size_t member, size_t, size_t column, size_t at)
                                 {
                                     for (size_t row = 0; row < gathered.rows; ++row)
                                         At<T>(weightGradient, row, column) +=
                                             *scale.As<T>() * At<T>(gathered, row, member) * errors.As<T>()[at];
                                 });
              });
}

void ReferenceKernels::SampledInnerProducts(const MatrixView& weights, const MatrixView& inputs,
                                            const SparseView& pattern, const MatrixView& output)
{
    VisitType(weights.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  size_t place = 0;
                  for (size_t column = 0; column < pattern.columns; ++column)
                      for (int32_t at = pattern.columnStarts[column]; at < pattern.columnStarts[column + 1]; ++at)
                          At<T>(output, 0, place++) =
                              T(InnerProduct<T>(weights, size_t(pattern.rowIndices[at]), inputs, column));
              });
}

} // namespace cntk
