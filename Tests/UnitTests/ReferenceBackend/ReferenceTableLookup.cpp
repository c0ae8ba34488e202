// Embeddings as naive loops.
#include "ReferenceBackend/ReferenceKernels.h"

namespace cntk
{

void ReferenceKernels::LookUpColumns(const MatrixView& table, const SparseView& s, const MatrixView& output)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  for (size_t sample = 0; sample < s.columns; ++sample)
                  {
                      for (size_t row = 0; row < output.rows; ++row)
                      {
                          double sum = 0;
                          for (int32_t at = s.columnStarts[sample]; at < s.columnStarts[sample + 1]; ++at)
                          {
                              const size_t word = size_t(s.rowIndices[at]) / table.columns;
                              const size_t column = size_t(s.rowIndices[at]) % table.columns;
                              if (word == row / table.rows)
                                  sum += double(static_cast<const T*>(s.values)[at]) *
                                         double(table.As<T>()[column * table.stride + row % table.rows]);
                          }
                          output.As<T>()[sample * output.stride + row] = T(sum);
                      }
                  }
              });
}

void ReferenceKernels::LookUpColumnsGradient(const MatrixView& gradient, const SparseView& s,
                                             const MatrixView& tableGradient, TouchedColumns& touched)
{
    VisitType(gradient.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  for (size_t sample = 0; sample < s.columns; ++sample)
                  {
                      for (int32_t at = s.columnStarts[sample]; at < s.columnStarts[sample + 1]; ++at)
                      {
                          const size_t word = size_t(s.rowIndices[at]) / tableGradient.columns;
                          const size_t column = size_t(s.rowIndices[at]) % tableGradient.columns;
                          for (size_t row = 0; row < tableGradient.rows; ++row)
                              tableGradient.As<T>()[column * tableGradient.stride + row] +=
                                  static_cast<const T*>(s.values)[at] *
                                  gradient.As<T>()[sample * gradient.stride + word * tableGradient.rows + row];
                          touched.columns.push_back(int32_t(column));
                      }
                  }
              });
    touched.Order(tableGradient.columns);
}

} // namespace cntk
