// Element-wise calls, copies, fills and sums over whole matrices.
#include "Math/Cpu/CpuKernels.h"
#include "Math/Cpu/ElementwiseRunner.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/Matrix.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cntk
{

CpuKernels::CpuKernels(ThreadPool& pool, const CpuKernelTable& kernels, MatrixEngine engine)
    : m_pool(pool), m_kernels(kernels), m_gemm(pool, kernels.products, engine), m_prepacked(pool, kernels.products),
      m_images(pool, kernels)
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

bool HasSameLayout(const TensorView& a, const TensorView& b)
{
    if (a.rank != b.rank)
        return false;
    for (size_t axis = 0; axis < a.rank; ++axis)
        if (a.dims[axis] != b.dims[axis] || a.strides[axis] != b.strides[axis])
            return false;
    return true;
}

// The commonest case without further ado: all operands contiguous and of one shape, too small for several threads.
template <class T>
bool RunSmallContiguous(const VectorKernels<T>& kernels, const ElementwiseCall& call, const TensorView& output)
{
    constexpr size_t most = 8 * 1024;
    const size_t elements = output.Elements();
    if (elements > most || !output.IsContiguous())
        return false;
    ElementwiseLoop<T> loop;
    for (size_t i = 0; i < call.inputs.size(); ++i)
    {
        if (!HasSameLayout(*call.inputs[i], output))
            return false;
        loop.inputs[i] = static_cast<const T*>(call.inputs[i]->data);
    }
    loop.inner = elements;
    loop.output = static_cast<T*>(output.data);
    loop.alpha = T(call.alpha);
    loop.beta = T(call.beta);
    kernels.elementwise[size_t(call.op)][0](loop);
    return true;
}

} // namespace

void CpuKernels::Elementwise(const ElementwiseCall& call, const TensorView& output)
{
    Visit(output.type,
          [&]<class T>(const VectorKernels<T>& kernels)
          {
              if (!RunSmallContiguous(kernels, call, output))
                  ElementwiseRunner<T>(kernels, m_pool, call, output).Run();
          });
}

// Adds range by range, after the output was multiplied by beta.
void CpuKernels::ElementwiseOverData(const ElementwiseCall& call, std::span<const uint8_t> mask,
                                     const TensorView& output)
{
    const size_t axis = call.LastAxis();
    std::array<TensorView, 3> parts;
    std::array<const TensorView*, 3> inputs{};
    if (call.beta != 1)
    {
        double zero = 0; // of either type: all bits are 0
        TensorView nothing = output;
        nothing.data = &zero;
        std::fill_n(nothing.dims.begin(), nothing.rank, size_t(1));
        const TensorView* const input[] = {&nothing};
        Elementwise({ElementwiseOp::Copy, ReduceOp::Sum, 1, call.beta, input}, output);
    }
    ForEachDataStretch(
        mask, mask.size(),
        [&](size_t first, size_t count)
        {
            for (size_t i = 0; i < call.inputs.size(); ++i)
            {
                parts[i] = call.inputs[i]->Entries(axis, first, count);
                inputs[i] = &parts[i];
            }
            Elementwise({call.op, call.reduce, call.alpha, 1, {inputs.data(), call.inputs.size()}}, output);
        });
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
                  ForEachPart(m_pool, output.columns, 1, UsefulThreads(output.Elements(), m_pool),
                              [&](int, size_t begin, size_t end)
                              {
                                  for (size_t column = begin; column < end; ++column)
                                      std::memmove(output.As<T>() + column * output.stride,
                                                   source.As<T>() + column * source.stride, output.rows * sizeof(T));
                              });
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
                     const int parts = UsefulThreads(value.Elements(), m_pool, c_operationsPerSum);
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
