// Element-wise calls, copies, fills and sums over whole matrices.
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/ElementwiseRunner.h"
#include "Math/Cpu/Threads.h"

#include <algorithm>
#include <cstring>

namespace cntk
{

CpuKernels::CpuKernels(ThreadPool& pool, InstructionSet instructionSet)
    : m_pool(pool), m_gemm(pool), m_floats(VectorKernelsFor<float>(instructionSet)),
      m_doubles(VectorKernelsFor<double>(instructionSet))
{
}

namespace
{

// Calls body(first element, count) for contiguous stretches that cover the view, on several threads where it is large.
template <class T, class Body>
void ForEachStretch(const MatrixView& view, ThreadPool& pool, Body&& body)
{
    const bool isContiguous = view.IsContiguous();
    const size_t stretches = isContiguous ? view.Elements() : view.columns;
    const int parts = UsefulThreads(view.Elements(), pool);
    ForEachPart(pool, stretches, isContiguous ? 64 : 1, parts,
                [&](int, size_t begin, size_t end)
                {
                    if (isContiguous)
                    {
                        if (begin < end)
                            body(begin, begin, end - begin);
                        return;
                    }
                    for (size_t column = begin; column < end; ++column)
                        body(column * view.stride, column * view.rows, view.rows);
                });
}

} // namespace

void CpuKernels::Elementwise(const ElementwiseCall& call, const TensorView& output)
{
    if (output.type == DataType::Float32)
        ElementwiseRunner<float>(m_floats, m_pool, call, output).Run();
    else
        ElementwiseRunner<double>(m_doubles, m_pool, call, output).Run();
}

void CpuKernels::Fill(const MatrixView& output, double value)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  ForEachStretch<T>(output, m_pool,
                                    [&](size_t at, size_t, size_t count)
                                    { std::fill_n(output.As<T>() + at, count, T(value)); });
              });
}

void CpuKernels::Copy(const MatrixView& source, const MatrixView& output)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  if (source.IsContiguous() && output.IsContiguous())
                  {
                      ForEachStretch<T>(output, m_pool,
                                        [&](size_t at, size_t, size_t count)
                                        { std::memmove(output.As<T>() + at, source.As<T>() + at, count * sizeof(T)); });
                      return;
                  }
                  for (size_t column = 0; column < output.columns; ++column)
                  {
                      std::memmove(output.As<T>() + column * output.stride, source.As<T>() + column * source.stride,
                                   output.rows * sizeof(T));
                  }
              });
}

void CpuKernels::Scale(const MatrixView& output, double factor)
{
    const TensorView view(output);
    const TensorView* inputs[] = {&view};
    Elementwise({ElementwiseOp::Copy, ReduceOp::Sum, factor, 0, inputs}, view);
}

void CpuKernels::MaskColumns(const MatrixView& output, std::span<const uint8_t> mask, double value)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  for (size_t column = 0; column < output.columns; ++column)
                      if (mask[column] == 0)
                          std::fill_n(output.As<T>() + column * output.stride, output.rows, T(value));
              });
}

void CpuKernels::SumAll(const MatrixView& input, const MatrixView& output, double alpha, double beta)
{
    const TensorView view(input);
    const TensorView* inputs[] = {&view};
    Elementwise({ElementwiseOp::Copy, ReduceOp::Sum, alpha, beta, inputs}, TensorView(output));
}

double CpuKernels::SumOfSquares(const MatrixView& value)
{
    return Visit(value.type,
                 [&]<class T>(const VectorKernels<T>& kernels)
                 {
                     double sums[c_mostParts] = {};
                     const int parts = UsefulThreads(value.Elements(), m_pool);
                     const bool isContiguous = value.IsContiguous();
                     ForEachPart(m_pool, isContiguous ? value.Elements() : value.columns, isContiguous ? 64 : 1, parts,
                                 [&](int part, size_t begin, size_t end)
                                 {
                                     if (isContiguous)
                                     {
                                         sums[part] = kernels.sumOfSquares(value.As<T>() + begin, end - begin);
                                         return;
                                     }
                                     for (size_t column = begin; column < end; ++column)
                                     {
                                         sums[part] +=
                                             kernels.sumOfSquares(value.As<T>() + column * value.stride, value.rows);
                                     }
                                 });
                     double sum = 0;
                     for (int part = 0; part < parts; ++part)
                         sum += sums[part];
                     return sum;
                 });
}

bool CpuKernels::HasNotFinite(const MatrixView& value)
{
    return Visit(value.type,
                 [&]<class T>(const VectorKernels<T>& kernels)
                 {
                     if (value.IsContiguous())
                         return kernels.hasNotFinite(value.As<T>(), value.Elements());
                     for (size_t column = 0; column < value.columns; ++column)
                         if (kernels.hasNotFinite(value.As<T>() + column * value.stride, value.rows))
                             return true;
                     return false;
                 });
}

} // namespace cntk
