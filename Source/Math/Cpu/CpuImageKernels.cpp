// Convolution and pooling: which way each geometry goes.
#include "Math/Cpu/CpuImageKernels.h"

#include "Math/Cpu/ThreadPool.h"

namespace cntk
{

CpuImageKernels::CpuImageKernels(ThreadPool& pool, const CpuKernelTable& kernels)
    : m_pool(pool), m_kernels(kernels), m_planar(pool, kernels)
{
}

void CpuImageKernels::Convolve(const ConvolutionGeometry& geometry, const MatrixView& weights, const MatrixView& input,
                               const MatrixView& output, const ConvolutionEnding& ending)
{
    const std::optional<PlanarForm> form = PlanarForm::Of(geometry);
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  if (form)
                      return m_planar.Convolve<T>(geometry, *form, weights, input, output, ending);
                  ConvolveWindows(m_pool, geometry, weights, input, output, ending.bias);
                  if (ending.activation == ElementwiseOp::Copy)
                      return;
                  const auto activate = m_kernels.vectors.Of<T>().elementwise[size_t(ending.activation)][0];
                  for (size_t sample = 0; sample < output.columns; ++sample)
                      ApplyInPlace<T>(activate, output.As<T>() + sample * output.stride, output.rows);
              });
}

void CpuImageKernels::ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights,
                                            const MatrixView& gradient, const MatrixView& inputGradient, double beta)
{
    const std::optional<PlanarForm> form = PlanarForm::Of(geometry);
    if (!form)
        return WindowsInputGradient(m_pool, geometry, weights, gradient, inputGradient, beta);
    VisitType(gradient.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  m_planar.InputGradient<T>(geometry, *form, weights, gradient, inputGradient, T(beta));
              });
}

void CpuImageKernels::ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient,
                                             const MatrixView& input, const MatrixView& weightGradient, double beta)
{
    const std::optional<PlanarForm> form = PlanarForm::Of(geometry);
    if (!form)
        return WindowsWeightGradient(m_pool, geometry, gradient, input, weightGradient, beta);
    VisitType(gradient.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  m_planar.WeightGradient<T>(geometry, *form, gradient, input, weightGradient, T(beta));
              });
}

namespace
{

// Axes without windows become part of the run of elements inside (before the first window axis) or of the planes
// (behind the last). False where more than two axes are left.
template <class T>
bool AsPlanes(const WindowGeometry& geometry, PoolPlanes<T>& task)
{
    const auto isPlain = [](const WindowAxis& axis)
    { return axis.kernel == 1 && axis.stride == 1 && axis.start == 0 && axis.windows == axis.input; };
    size_t begin = 0;
    while (begin < geometry.rank && isPlain(geometry.axes[begin]))
        task.inner *= geometry.axes[begin++].input;
    size_t end = geometry.rank;
    task.planes = 1;
    while (end > begin && isPlain(geometry.axes[end - 1]))
        task.planes *= geometry.axes[--end].input;
    if (end - begin > 2)
        return false;
    typename PoolPlanes<T>::Axis* axes[] = {&task.a, &task.b};
    for (size_t axis = begin; axis < end; ++axis)
    {
        const WindowAxis& a = geometry.axes[axis];
        *axes[axis - begin] = {a.input, a.kernel, a.stride, a.start, a.windows};
    }
    return true;
}

} // namespace

void CpuImageKernels::Pool(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                           const MatrixView& output)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  PoolPlanes<T> task;
                  if (!AsPlanes<T>(geometry, task))
                      return PoolWindows(m_pool, kind, geometry, input, output);
                  task.average = kind == PoolKind::Average;
                  ForEachPart(m_pool, output.columns, 1, UsefulThreads(input.Elements(), m_pool),
                              [&](int, size_t begin, size_t end)
                              {
                                  for (size_t sample = begin; sample < end; ++sample)
                                  {
                                      PoolPlanes<T> one = task;
                                      one.input = input.As<T>() + sample * input.stride;
                                      one.output = output.As<T>() + sample * output.stride;
                                      m_kernels.images.Of<T>().pool(one);
                                  }
                              });
              });
}

void CpuImageKernels::PoolGradient(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                                   const MatrixView& output, const MatrixView& gradient,
                                   const MatrixView& inputGradient, double beta)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  PoolPlanes<T> task;
                  if (!AsPlanes<T>(geometry, task))
                      return PoolWindowsGradient(m_pool, kind, geometry, input, output, gradient, inputGradient, beta);
                  task.average = kind == PoolKind::Average;
                  task.accumulate = beta != 0;
                  ForEachPart(m_pool, output.columns, 1, UsefulThreads(2 * input.Elements(), m_pool),
                              [&](int, size_t begin, size_t end)
                              {
                                  for (size_t sample = begin; sample < end; ++sample)
                                  {
                                      PoolPlanes<T> one = task;
                                      one.input = input.As<T>() + sample * input.stride;
                                      // Averages do not look at values, which may be gone.
                                      one.output = output.As<T>() + sample * output.stride;
                                      one.gradient = gradient.As<T>() + sample * gradient.stride;
                                      one.inputGradient = inputGradient.As<T>() + sample * inputGradient.stride;
                                      m_kernels.images.Of<T>().poolGradient(one);
                                  }
                              });
              });
}

} // namespace cntk
