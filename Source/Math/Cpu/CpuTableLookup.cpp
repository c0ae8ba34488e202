// Embeddings: columns of a table by sparse one-hot words.
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/PickedColumns.h"
#include "Math/Cpu/ThreadPool.h"

#include <algorithm>

namespace cntk
{

namespace
{

// Columns that are asked for ahead: the memory of a value of before is no longer near.
constexpr size_t c_columnsAhead = 4;

template <class T>
void AskToWrite(T* column, size_t rows)
{
    constexpr size_t line = 64 / sizeof(T);
    for (size_t i = 0; i < rows; i += line)
        __builtin_prefetch(column + i, 1);
}

} // namespace

// A block with one value is written once; that is every block of real data.
void CpuKernels::LookUpColumns(const MatrixView& table, const SparseView& s, const MatrixView& output)
{
    Visit(output.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              const T* values = static_cast<const T*>(s.values);
              const size_t words = s.rows / table.columns;
              const auto lookUp = [&](size_t sample)
              {
                  int32_t at = s.columnStarts[sample];
                  const int32_t end = s.columnStarts[sample + 1];
                  T* target = output.As<T>() + sample * output.stride;
                  if (sample + c_columnsAhead < s.columns)
                      AskToWrite(target + c_columnsAhead * output.stride, output.rows);
                  for (size_t word = 0; word < words; ++word, target += table.rows)
                  {
                      const size_t firstRow = word * table.columns;
                      const auto isInBlock = [&]
                      { return at < end && size_t(s.rowIndices[at]) < firstRow + table.columns; };
                      const int32_t first = at;
                      while (isInBlock())
                          ++at;
                      if (at == first + 1 && values[first] == T(1))
                          std::copy_n(table.As<T>() + (size_t(s.rowIndices[first]) - firstRow) * table.stride,
                                      table.rows, target);
                      else
                          AddPicked<T>(kernels, {table.As<T>(), table.stride, firstRow}, s, first, at, T(1), table.rows,
                                       target, true);
                  }
              };
              ForEachPart(m_pool, s.columns, 1, UsefulThreads(output.Elements(), m_pool),
                          [&](int, size_t begin, size_t end)
                          {
                              for (size_t sample = begin; sample < end; ++sample)
                                  lookUp(sample);
                          });
          });
}

void CpuKernels::LookUpColumnsGradient(const MatrixView& gradient, const SparseView& s, const MatrixView& tableGradient,
                                       TouchedColumns& touched)
{
    const size_t vocabulary = tableGradient.columns;
    const size_t nonZeros = size_t(s.columnStarts[s.columns] - s.columnStarts[0]);
    Visit(gradient.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              const T* values = static_cast<const T*>(s.values);
              // Threads share out the rows: samples with the same word then stay in order.
              ForEachPart(m_pool, tableGradient.rows, 16, UsefulThreads(nonZeros * tableGradient.rows, m_pool),
                          [&](int, size_t begin, size_t end)
                          {
                              for (size_t sample = 0; sample < s.columns; ++sample)
                              {
                                  const T* source = gradient.As<T>() + sample * gradient.stride;
                                  for (int32_t at = s.columnStarts[sample]; at < s.columnStarts[sample + 1]; ++at)
                                  {
                                      const size_t row = size_t(s.rowIndices[at]);
                                      const size_t block = row / vocabulary * tableGradient.rows;
                                      T* target = tableGradient.As<T>() + row % vocabulary * tableGradient.stride;
                                      kernels.addScaled(values[at], source + block + begin, target + begin,
                                                        end - begin);
                                  }
                              }
                          });
          });
    if (touched.all)
        return;
    std::transform(s.rowIndices + s.columnStarts[0], s.rowIndices + s.columnStarts[s.columns],
                   std::back_inserter(touched.columns), [&](int32_t row) { return int32_t(size_t(row) % vocabulary); });
    touched.Order(vocabulary);
}

} // namespace cntk
