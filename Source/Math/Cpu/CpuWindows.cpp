// Convolution and pooling over any number of axes, with shared kernels or not. The loops walk along the windows, whose
// elements along the first axis are contiguous.
#include "Math/Cpu/CpuImageKernels.h"
#include "Math/Cpu/ThreadPool.h"

#include <algorithm>
#include <array>

namespace cntk
{

namespace
{

using Index = std::array<size_t, TensorShape::c_maxRank>;

// Elements of a window along the first axis.
struct WindowLine
{
    size_t cell;  // the first one's place in the kernel
    size_t input; // and in the input
    size_t count;
};

// Visits one window after another, and the lines of each that are inside the input.
class WindowWalk
{
public:
    explicit WindowWalk(const WindowGeometry& geometry)
        : m_geometry(geometry), m_outputs(geometry.OutputElements()), m_elements(geometry.KernelElements())
    {
    }

    size_t Outputs() const { return m_outputs; }
    size_t KernelElements() const { return m_elements; }

    // Calls body(output, kernel, line) for each line of each window, in the order of the outputs.
    template <class Body>
    void ForEachLine(Body&& body) const
    {
        for (size_t output = 0; output < m_outputs; ++output)
        {
            const Placed window = Place(output);
            ForEachLineOf(window, [&](const WindowLine& line) { body(output, window.kernel, line); });
        }
    }

    // The number of elements of the window that are inside the input.
    size_t CountOf(size_t output) const
    {
        const Placed window = Place(output);
        size_t count = 1;
        for (size_t axis = 0; axis < m_geometry.rank; ++axis)
            count *= window.ends[axis] - window.begins[axis];
        return count;
    }

private:
    struct Placed
    {
        size_t kernel = 0;
        Index begins{}; // of the kernel's elements that are inside the input
        Index ends{};
        std::array<ptrdiff_t, TensorShape::c_maxRank> origins{};
    };

    Placed Place(size_t output) const
    {
        Placed placed;
        size_t kernels = 1;
        for (size_t axis = 0; axis < m_geometry.rank; ++axis)
        {
            const WindowAxis& a = m_geometry.axes[axis];
            const size_t at = output % a.Output();
            output /= a.Output();
            const size_t window = at % a.windows;
            if (!a.isShared)
            {
                placed.kernel += window * kernels;
                kernels *= a.windows;
            }
            placed.kernel += at / a.windows * kernels;
            kernels *= a.maps;
            const ptrdiff_t origin = a.start + ptrdiff_t(window * a.stride);
            placed.origins[axis] = origin;
            const ptrdiff_t kernel = ptrdiff_t(a.kernel);
            placed.begins[axis] = size_t(std::clamp<ptrdiff_t>(-origin, 0, kernel));
            placed.ends[axis] =
                std::max(placed.begins[axis], size_t(std::clamp<ptrdiff_t>(ptrdiff_t(a.input) - origin, 0, kernel)));
        }
        return placed;
    }

    template <class Body>
    void ForEachLineOf(const Placed& window, Body&& body) const
    {
        const size_t rank = m_geometry.rank;
        for (size_t axis = 0; axis < rank; ++axis)
            if (window.begins[axis] == window.ends[axis])
                return;
        Index cell = window.begins;
        for (;;)
        {
            WindowLine line{0, 0, window.ends[0] - window.begins[0]};
            for (size_t axis = rank; axis-- > 0;)
            {
                const WindowAxis& a = m_geometry.axes[axis];
                line.cell = line.cell * a.kernel + cell[axis];
                line.input = line.input * a.input + size_t(window.origins[axis] + ptrdiff_t(cell[axis]));
            }
            body(line);
            size_t axis = 1;
            for (; axis < rank; ++axis)
            {
                if (++cell[axis] < window.ends[axis])
                    break;
                cell[axis] = window.begins[axis];
            }
            if (axis >= rank)
                return;
        }
    }

    const WindowGeometry& m_geometry;
    size_t m_outputs;
    size_t m_elements;
};

// Calls body(tag, sample) for each sample on as many threads as the work is worth, with a tag of the element type.
template <class Body>
void ForEachSample(ThreadPool& pool, const WindowWalk& walk, DataType type, size_t samples, Body&& body)
{
    const auto computePart = [&](int, size_t begin, size_t end)
    {
        for (size_t sample = begin; sample < end; ++sample)
            VisitType(type, [&](auto tag) { body(tag, sample); });
    };
    ForEachPart(pool, samples, 1, UsefulThreads(samples * walk.Outputs() * walk.KernelElements(), pool), computePart);
}

template <class T>
T* SampleOf(const MatrixView& view, size_t sample)
{
    return view.As<T>() + sample * view.stride;
}

size_t MapOf(const WindowGeometry& geometry, size_t output)
{
    size_t map = 0;
    size_t maps = 1;
    for (size_t axis = 0; axis < geometry.rank; ++axis)
    {
        const WindowAxis& a = geometry.axes[axis];
        map += output % a.Output() / a.windows * maps;
        output /= a.Output();
        maps *= a.maps;
    }
    return map;
}

} // namespace

void ConvolveWindows(ThreadPool& pool, const ConvolutionGeometry& geometry, const MatrixView& weights,
                     const MatrixView& input, const MatrixView& output, const MatrixView& bias)
{
    const WindowWalk walk(geometry);
    ForEachSample(pool, walk, output.type, output.columns,
                  [&](auto tag, size_t sample)
                  {
                      using T = decltype(tag);
                      const T* x = SampleOf<T>(input, sample);
                      T* y = SampleOf<T>(output, sample);
                      for (size_t i = 0; i < walk.Outputs(); ++i)
                          y[i] = bias.data ? bias.As<T>()[MapOf(geometry, i)] : T(0);
                      walk.ForEachLine(
                          [&](size_t at, size_t kernel, const WindowLine& line)
                          {
                              const T* w = weights.As<T>() + kernel * walk.KernelElements() + line.cell;
                              T sum = 0;
                              for (size_t i = 0; i < line.count; ++i)
                                  sum += w[i] * x[line.input + i];
                              y[at] += sum;
                          });
                  });
}

void WindowsInputGradient(ThreadPool& pool, const ConvolutionGeometry& geometry, const MatrixView& weights,
                          const MatrixView& gradient, const MatrixView& inputGradient, double beta)
{
    const WindowWalk walk(geometry);
    ForEachSample(pool, walk, gradient.type, gradient.columns,
                  [&](auto tag, size_t sample)
                  {
                      using T = decltype(tag);
                      const T* g = SampleOf<T>(gradient, sample);
                      T* target = SampleOf<T>(inputGradient, sample);
                      if (beta == 0)
                          std::fill_n(target, inputGradient.rows, T(0));
                      walk.ForEachLine(
                          [&](size_t at, size_t kernel, const WindowLine& line)
                          {
                              const T* w = weights.As<T>() + kernel * walk.KernelElements() + line.cell;
                              const T factor = g[at];
                              for (size_t i = 0; i < line.count; ++i)
                                  target[line.input + i] += w[i] * factor;
                          });
                  });
}

// Threads share out the kernels: samples that add to the same weight then stay in order.
void WindowsWeightGradient(ThreadPool& pool, const ConvolutionGeometry& geometry, const MatrixView& gradient,
                           const MatrixView& input, const MatrixView& weightGradient, double beta)
{
    const WindowWalk walk(geometry);
    const size_t work = gradient.columns * walk.Outputs() * walk.KernelElements();
    VisitType(gradient.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  T* target = weightGradient.As<T>();
                  if (beta == 0)
                      std::fill_n(target, weightGradient.Elements(), T(0));
                  ForEachPart(pool, geometry.KernelCount(), 1, UsefulThreads(work, pool),
                              [&](int, size_t begin, size_t end)
                              {
                                  for (size_t sample = 0; sample < gradient.columns; ++sample)
                                  {
                                      const T* g = SampleOf<T>(gradient, sample);
                                      const T* x = SampleOf<T>(input, sample);
                                      walk.ForEachLine(
                                          [&](size_t at, size_t kernel, const WindowLine& line)
                                          {
                                              if (kernel < begin || kernel >= end)
                                                  return;
                                              T* w = target + kernel * walk.KernelElements() + line.cell;
                                              for (size_t i = 0; i < line.count; ++i)
                                                  w[i] += g[at] * x[line.input + i];
                                          });
                                  }
                              });
              });
}

void PoolWindows(ThreadPool& pool, PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                 const MatrixView& output)
{
    const WindowWalk walk(geometry);
    ForEachSample(pool, walk, output.type, output.columns,
                  [&](auto tag, size_t sample)
                  {
                      using T = decltype(tag);
                      const T* x = SampleOf<T>(input, sample);
                      T* y = SampleOf<T>(output, sample);
                      std::fill_n(y, output.rows, T(0));
                      size_t last = walk.Outputs();
                      walk.ForEachLine(
                          [&](size_t at, size_t, const WindowLine& line)
                          {
                              if (at != last && kind == PoolKind::Max)
                                  y[at] = x[line.input];
                              last = at;
                              for (size_t i = 0; i < line.count; ++i)
                                  y[at] = kind == PoolKind::Average ? y[at] + x[line.input + i]
                                                                    : std::max(y[at], x[line.input + i]);
                          });
                      if (kind == PoolKind::Average)
                          for (size_t i = 0; i < walk.Outputs(); ++i)
                              if (const size_t count = walk.CountOf(i); count > 0)
                                  y[i] /= T(count);
                  });
}

void PoolWindowsGradient(ThreadPool& pool, PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                         const MatrixView& output, const MatrixView& gradient, const MatrixView& inputGradient,
                         double beta)
{
    const WindowWalk walk(geometry);
    ForEachSample(pool, walk, gradient.type, gradient.columns,
                  [&](auto tag, size_t sample)
                  {
                      using T = decltype(tag);
                      const T* x = SampleOf<T>(input, sample);
                      const T* y = SampleOf<T>(output, sample);
                      const T* g = SampleOf<T>(gradient, sample);
                      T* target = SampleOf<T>(inputGradient, sample);
                      if (beta == 0)
                          std::fill_n(target, inputGradient.rows, T(0));
                      walk.ForEachLine(
                          [&](size_t at, size_t, const WindowLine& line)
                          {
                              const T part = kind == PoolKind::Average ? g[at] / T(walk.CountOf(at)) : g[at];
                              for (size_t i = line.input; i < line.input + line.count; ++i)
                                  if (kind == PoolKind::Average || x[i] == y[at])
                                      target[i] += part;
                          });
                  });
}

} // namespace cntk
