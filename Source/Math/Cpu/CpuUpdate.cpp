// Update rules: one pass over the parameter.
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/Threads.h"

namespace cntk
{

namespace
{

// Blocks of so many elements are visited from the last to the first: the end of a gradient that was just worked out is
// still in the cache, and the beginning of the parameter will be, which the next product begins with.
constexpr size_t c_block = 16 * 1024;

} // namespace

void CpuKernels::MomentumUpdate(const MatrixView& parameter, const MatrixView& smoothed, const MatrixView& gradient,
                                double rate, double momentum, const TouchedColumns* touched)
{
    Visit(parameter.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              // The sparse form keeps the rate out of the smoothed gradient.
              const T factor = touched ? T(1 - momentum) : T((1 - momentum) * rate);
              const T step = touched ? T(rate) : T(1);
              const auto updateColumn = [&](size_t column)
              {
                  kernels.momentumUpdate(
                      parameter.As<T>() + column * parameter.stride, smoothed.As<T>() + column * smoothed.stride,
                      gradient.As<T>() + column * gradient.stride, parameter.rows, T(momentum), factor, step);
              };
              if (touched)
              {
                  const size_t columns = touched->columns.size();
                  ForEachPart(m_pool, columns, 1, UsefulThreads(2 * columns * parameter.rows, m_pool),
                              [&](int, size_t begin, size_t end)
                              {
                                  for (size_t i = begin; i < end; ++i)
                                      updateColumn(size_t(touched->columns[i]));
                              });
                  return;
              }
              const int parts = UsefulThreads(2 * parameter.Elements(), m_pool);
              if (parameter.IsContiguous() && smoothed.IsContiguous() && gradient.IsContiguous())
              {
                  ForEachPart(m_pool, parameter.Elements(), 64, parts,
                              [&](int, size_t begin, size_t end)
                              {
                                  while (end > begin)
                                  {
                                      const size_t first = begin + (end - begin - 1) / c_block * c_block;
                                      kernels.momentumUpdate(parameter.As<T>() + first, smoothed.As<T>() + first,
                                                             gradient.As<T>() + first, end - first, T(momentum), factor,
                                                             step);
                                      end = first;
                                  }
                              });
                  return;
              }
              ForEachPart(m_pool, parameter.columns, 1, parts,
                          [&](int, size_t begin, size_t end)
                          {
                              for (size_t column = begin; column < end; ++column)
                                  updateColumn(column);
                          });
          });
}

} // namespace cntk
