// Convolution and pooling: by cuDNN if it has the shape, otherwise by kernels that compute each element of a result by
// itself, for any number of axes and any sharing of kernels.
#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/Gpu/GpuKernels.h"

#include <cstdint>

namespace cntk
{

namespace
{

// ---- windows over any number of axes --------------------------------------------------------------------------------

constexpr int c_maxAxes = int(TensorShape::c_maxRank);
// Loops over this many axes, enough for images, are unrolled by the compiler, so that arrays over axes stay in
// registers.
constexpr int c_fewAxes = 3;

struct DeviceAxis
{
    int32_t input;
    int32_t kernel;
    int32_t stride;
    int32_t start;
    int32_t windows;
    int32_t maps;
    bool isShared;
};

// A geometry as kernels take it, with room for `most` axes (c_fewAxes or c_maxAxes).
template <int most>
struct DeviceGeometry
{
    static constexpr int c_most = most;

    DeviceAxis axes[most];
    int rank;
    size_t inputs;
    size_t outputs;
    size_t kernelElements;
    size_t kernels;
    bool outputsFastest;

    explicit DeviceGeometry(const WindowGeometry& geometry)
        : rank(0), inputs(geometry.InputElements()), outputs(geometry.OutputElements()),
          kernelElements(geometry.KernelElements()), kernels(geometry.KernelCount()), outputsFastest(false)
    {
        for (size_t i = 0; i < geometry.rank; ++i)
            Append(geometry.axes[i]);
        // Missing axes have one element.
        while (most == c_fewAxes && rank < most)
            Append(WindowAxis());
    }
    explicit DeviceGeometry(const ConvolutionGeometry& geometry)
        : DeviceGeometry(static_cast<const WindowGeometry&>(geometry))
    {
        outputsFastest = geometry.weights == ConvolutionGeometry::Weights::OutputsFastest;
    }
    __device__ int Rank() const { return most == c_fewAxes ? most : rank; }

private:
    void Append(const WindowAxis& a)
    {
        axes[rank++] = {int32_t(a.input),   int32_t(a.kernel), int32_t(a.stride), int32_t(a.start),
                        int32_t(a.windows), int32_t(a.maps),   a.isShared};
    }
};

// Calls body(T(), DeviceGeometry) with the type and the smallest geometry that has room for all axes.
template <class Geometry, class Body>
void VisitTypeAndGeometry(DataType type, const Geometry& geometry, const Body& body)
{
    VisitType(type,
              [&](auto tag)
              {
                  if (geometry.rank <= size_t(c_fewAxes))
                      body(tag, DeviceGeometry<c_fewAxes>(geometry));
                  else
                      body(tag, DeviceGeometry<c_maxAxes>(geometry));
              });
}

// The index of a cell among the elements of its kernel. With outputs fastest in memory, the first axis is the slowest.
template <int most>
__device__ inline size_t ElementIndex(const DeviceGeometry<most>& g, const int32_t* cell)
{
    size_t index = g.outputsFastest ? size_t(cell[0]) : 0;
    for (int axis = g.Rank() - 1; axis >= 1; --axis)
        index = index * size_t(g.axes[axis].kernel) + size_t(cell[axis]);
    return g.outputsFastest ? index : index * size_t(g.axes[0].kernel) + size_t(cell[0]);
}

template <int most>
__device__ inline size_t WeightIndex(const DeviceGeometry<most>& g, size_t kernel, size_t element)
{
    return g.outputsFastest ? element * g.kernels + kernel : kernel * g.kernelElements + element;
}

// The inverse of ElementIndex.
template <int most>
__device__ inline void CellOf(const DeviceGeometry<most>& g, size_t element, int32_t* cell)
{
    const auto take = [&](int axis)
    {
        cell[axis] = int32_t(element % size_t(g.axes[axis].kernel));
        element /= size_t(g.axes[axis].kernel);
    };
    if (!g.outputsFastest)
        take(0);
    for (int axis = 1; axis < g.Rank(); ++axis)
        take(axis);
    if (g.outputsFastest)
        take(0);
}

// The windows and the kernel that an output element belongs to.
template <int most>
struct OutputPlace
{
    int32_t window[most];
    size_t kernel;
    size_t map; // index of the bias

    __device__ OutputPlace(const DeviceGeometry<most>& g, size_t output) : kernel(0), map(0)
    {
        size_t kernels = 1;
        size_t maps = 1;
        for (int axis = 0; axis < g.Rank(); ++axis)
        {
            const DeviceAxis& a = g.axes[axis];
            const size_t outputsOfAxis = size_t(a.windows) * size_t(a.maps);
            const size_t at = output % outputsOfAxis;
            output /= outputsOfAxis;
            window[axis] = int32_t(at % size_t(a.windows));
            const size_t mapOfAxis = at / size_t(a.windows);
            if (!a.isShared)
            {
                kernel += size_t(window[axis]) * kernels;
                kernels *= size_t(a.windows);
            }
            kernel += mapOfAxis * kernels;
            kernels *= size_t(a.maps);
            map += mapOfAxis * maps;
            maps *= size_t(a.maps);
        }
    }
};

// Calls body(position) for each position of a box, the first axis fastest.
template <int most, class Body>
__device__ void ForEachIn(const DeviceGeometry<most>& g, const int32_t* begin, const int32_t* end, Body&& body)
{
    int32_t at[most];
    for (int axis = 0; axis < g.Rank(); ++axis)
    {
        if (begin[axis] >= end[axis])
            return;
        at[axis] = begin[axis];
    }
    for (;;)
    {
        body(at);
        bool isInside = false;
        for (int axis = 0; axis < g.Rank() && !isInside; ++axis)
        {
            isInside = ++at[axis] < end[axis];
            if (!isInside)
                at[axis] = begin[axis];
        }
        if (!isInside)
            return;
    }
}

// Calls body(cell, index of the input) for the elements of an output's window that lie inside the input.
template <int most, class Body>
__device__ void ForEachInput(const DeviceGeometry<most>& g, const OutputPlace<most>& place, Body&& body)
{
    int32_t begin[most];
    int32_t end[most];
    int32_t origin[most];
    for (int axis = 0; axis < g.Rank(); ++axis)
    {
        const DeviceAxis& a = g.axes[axis];
        origin[axis] = a.start + place.window[axis] * a.stride;
        begin[axis] = origin[axis] < 0 ? -origin[axis] : 0;
        end[axis] = a.input - origin[axis] < a.kernel ? a.input - origin[axis] : a.kernel;
    }
    ForEachIn(g, begin, end,
              [&](const int32_t* cell)
              {
                  size_t input = 0;
                  for (int axis = g.Rank() - 1; axis >= 0; --axis)
                      input = input * size_t(g.axes[axis].input) + size_t(origin[axis] + cell[axis]);
                  body(cell, input);
              });
}

// Calls body(cell, kernel, index of the output) for each output whose window contains an input element.
template <int most, class Body>
__device__ void ForEachOutput(const DeviceGeometry<most>& g, size_t input, Body&& body)
{
    int32_t position[most];
    int32_t begin[most];
    int32_t end[most];
    int32_t firstWindow[most];
    int32_t windows[most];
    int32_t cell[most] = {};
    for (int axis = 0; axis < g.Rank(); ++axis)
    {
        const DeviceAxis& a = g.axes[axis];
        position[axis] = int32_t(input % size_t(a.input));
        input /= size_t(a.input);
        const int32_t offset = position[axis] - a.start; // from the first window's first element
        const int32_t before = offset - a.kernel;        // a window that starts here ends just before the element
        firstWindow[axis] = before < 0 ? 0 : before / a.stride + 1;
        const int32_t lastWindow = offset < 0 ? -1 : offset / a.stride;
        const int32_t endWindow = lastWindow + 1 < a.windows ? lastWindow + 1 : a.windows;
        windows[axis] = endWindow - firstWindow[axis];
        // A position along the axis is a pair of a window and a map.
        begin[axis] = 0;
        end[axis] = windows[axis] > 0 ? windows[axis] * a.maps : 0;
    }
    ForEachIn(g, begin, end,
              [&](const int32_t* at)
              {
                  size_t output = 0;
                  size_t outputs = 1;
                  size_t kernel = 0;
                  size_t kernels = 1;
                  for (int axis = 0; axis < g.Rank(); ++axis)
                  {
                      const DeviceAxis& a = g.axes[axis];
                      const int32_t window = firstWindow[axis] + at[axis] % windows[axis];
                      const int32_t map = at[axis] / windows[axis];
                      cell[axis] = position[axis] - a.start - window * a.stride;
                      output += size_t(map * a.windows + window) * outputs;
                      outputs *= size_t(a.windows) * size_t(a.maps);
                      if (!a.isShared)
                      {
                          kernel += size_t(window) * kernels;
                          kernels *= size_t(a.windows);
                      }
                      kernel += size_t(map) * kernels;
                      kernels *= size_t(a.maps);
                  }
                  body(cell, kernel, output);
              });
}

// ---- kernels --------------------------------------------------------------------------------------------------------

template <class T, int most>
__global__ void ConvolveOutputs(const DeviceGeometry<most> g, const T* weights, const DeviceMatrix<T> input,
                                const DeviceMatrix<T> output, const T* bias, ElementwiseOp activation)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
    {
        const OutputPlace<most> place(g, index % output.rows);
        const T* const x = input.Column(index / output.rows);
        T sum = bias != nullptr ? bias[place.map] : T(0);
        ForEachInput(g, place,
                     [&](const int32_t* cell, size_t at)
                     { sum += weights[WeightIndex(g, place.kernel, ElementIndex(g, cell))] * x[at]; });
        output.At(index) = EvaluateElementwise(activation, sum, T(0), T(0));
    }
}

template <class T, int most>
__global__ void ConvolveInputs(const DeviceGeometry<most> g, const T* weights, const DeviceMatrix<T> gradient,
                               const DeviceMatrix<T> inputGradient, T beta)
{
    for (size_t index = FirstElement(); index < inputGradient.Elements(); index += ElementStep())
    {
        const T* const y = gradient.Column(index / inputGradient.rows);
        T sum = 0;
        ForEachOutput(g, index % inputGradient.rows,
                      [&](const int32_t* cell, size_t kernel, size_t at)
                      { sum += weights[WeightIndex(g, kernel, ElementIndex(g, cell))] * y[at]; });
        T& target = inputGradient.At(index);
        target = beta == T(0) ? sum : beta * target + sum;
    }
}

// Each weight has a warp or a block, whose threads share the samples and the windows that use the weight.
template <class T, bool isBlock, int most>
__global__ void ConvolveWeights(const DeviceGeometry<most> g, const DeviceMatrix<T> gradient,
                                const DeviceMatrix<T> input, const DeviceMatrix<T> weightGradient, T beta)
{
    const ColumnTeam<isBlock> team;
    const size_t weight = team.column;
    if (weight >= g.kernels * g.kernelElements)
        return; // the same for all threads of the team, which reduce together
    size_t kernel = g.outputsFastest ? weight % g.kernels : weight / g.kernelElements;
    const size_t element = g.outputsFastest ? weight / g.kernels : weight % g.kernelElements;
    int32_t cell[most];
    int32_t map[most];
    int32_t only[most]; // the only window of a kernel that is not shared, or -1
    CellOf(g, element, cell);
    size_t windows = 1;
    for (int axis = 0; axis < g.Rank(); ++axis)
    {
        const DeviceAxis& a = g.axes[axis];
        only[axis] = -1;
        if (a.isShared)
            windows *= size_t(a.windows);
        else
        {
            only[axis] = int32_t(kernel % size_t(a.windows));
            kernel /= size_t(a.windows);
        }
        map[axis] = int32_t(kernel % size_t(a.maps));
        kernel /= size_t(a.maps);
    }

    T sum = 0;
    for (size_t index = team.lane; index < windows * gradient.columns; index += team.size)
    {
        const size_t sample = index / windows;
        size_t rest = index % windows;
        size_t at = 0;
        size_t inputs = 1;
        size_t output = 0;
        size_t outputs = 1;
        bool isInside = true;
        for (int axis = 0; axis < g.Rank(); ++axis)
        {
            const DeviceAxis& a = g.axes[axis];
            int32_t window = only[axis];
            if (window < 0)
            {
                window = int32_t(rest % size_t(a.windows));
                rest /= size_t(a.windows);
            }
            const int32_t position = a.start + window * a.stride + cell[axis];
            isInside = isInside && position >= 0 && position < a.input;
            at += size_t(position) * inputs;
            inputs *= size_t(a.input);
            output += size_t(map[axis] * a.windows + window) * outputs;
            outputs *= size_t(a.windows) * size_t(a.maps);
        }
        if (isInside)
            sum += gradient.Column(sample)[output] * input.Column(sample)[at];
    }
    sum = team.Reduce(sum, T(0), Adding());
    if (team.lane == 0)
    {
        T& target = weightGradient.At(weight);
        target = beta == T(0) ? sum : beta * target + sum;
    }
}

template <class T, int most>
__global__ void PoolOutputs(const DeviceGeometry<most> g, PoolKind kind, const DeviceMatrix<T> input,
                            const DeviceMatrix<T> output)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
    {
        const OutputPlace<most> place(g, index % output.rows);
        const T* const x = input.Column(index / output.rows);
        T value = 0;
        int32_t count = 0;
        ForEachInput(g, place,
                     [&](const int32_t*, size_t at)
                     {
                         if (kind == PoolKind::Average)
                             value += x[at];
                         else if (count == 0 || x[at] > value)
                             value = x[at];
                         ++count;
                     });
        output.At(index) = kind == PoolKind::Average && count > 0 ? value / T(count) : value;
    }
}

// Adds the bias and applies the activation where cuDNN has computed the convolution.
template <class T, int most>
__global__ void EndConvolution(const DeviceGeometry<most> g, const DeviceMatrix<T> output, const T* bias,
                               ElementwiseOp activation)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
    {
        T& value = output.At(index);
        const T sum = bias != nullptr ? value + bias[OutputPlace<most>(g, index % output.rows).map] : value;
        value = EvaluateElementwise(activation, sum, T(0), T(0));
    }
}

// The number of elements of an output's window that lie inside the input.
template <int most>
__device__ inline int32_t CountOf(const DeviceGeometry<most>& g, size_t output)
{
    int32_t count = 1;
    for (int axis = 0; axis < g.Rank(); ++axis)
    {
        const DeviceAxis& a = g.axes[axis];
        const int32_t first = a.start + int32_t(output % size_t(a.windows)) * a.stride;
        output /= size_t(a.windows);
        const int32_t begin = first < 0 ? 0 : first;
        const int32_t end = first + a.kernel < a.input ? first + a.kernel : a.input;
        count *= end > begin ? end - begin : 0;
    }
    return count;
}

template <class T, int most>
__global__ void PoolInputs(const DeviceGeometry<most> g, PoolKind kind, const DeviceMatrix<T> input,
                           const DeviceMatrix<T> output, const DeviceMatrix<T> gradient,
                           const DeviceMatrix<T> inputGradient, T beta)
{
    for (size_t index = FirstElement(); index < inputGradient.Elements(); index += ElementStep())
    {
        const size_t sample = index / inputGradient.rows;
        const T x = input.Column(sample)[index % inputGradient.rows];
        T sum = 0;
        ForEachOutput(g, index % inputGradient.rows,
                      [&](const int32_t*, size_t, size_t at)
                      {
                          if (kind == PoolKind::Average)
                              sum += gradient.Column(sample)[at] / T(CountOf(g, at));
                          else if (x == output.Column(sample)[at])
                              sum += gradient.Column(sample)[at];
                      });
        T& target = inputGradient.At(index);
        target = beta == T(0) ? sum : beta * target + sum;
    }
}

} // namespace

void GpuImageKernels::Convolve(const ConvolutionGeometry& geometry, const MatrixView& weights, const MatrixView& input,
                               const MatrixView& output, const ConvolutionEnding& ending)
{
    if (m_context.Repeats())
        return;
    if (m_dnn.Convolve(geometry, weights, input, output))
        return End(geometry, output, ending);
    VisitTypeAndGeometry(output.type, geometry,
                         [&](auto tag, const auto g)
                         {
                             using T = decltype(tag);
                             Launch("Convolve", m_context.Stream(), BlocksFor(output.Elements(), c_threads), c_threads,
                                    ConvolveOutputs<T, g.c_most>, g, weights.As<const T>(), DeviceMatrix<T>(input),
                                    DeviceMatrix<T>(output), ending.bias.As<const T>(), ending.activation);
                         });
}

void GpuImageKernels::End(const ConvolutionGeometry& geometry, const MatrixView& output,
                          const ConvolutionEnding& ending)
{
    if (ending.bias.data == nullptr && ending.activation == ElementwiseOp::Copy)
        return;
    VisitTypeAndGeometry(output.type, geometry,
                         [&](auto tag, const auto g)
                         {
                             using T = decltype(tag);
                             Launch("EndConvolution", m_context.Stream(), BlocksFor(output.Elements(), c_threads),
                                    c_threads, EndConvolution<T, g.c_most>, g, DeviceMatrix<T>(output),
                                    ending.bias.As<const T>(), ending.activation);
                         });
}

void GpuImageKernels::ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights,
                                            const MatrixView& gradient, const MatrixView& inputGradient, double beta)
{
    if (m_context.Repeats())
        return;
    if (m_dnn.ConvolveInputGradient(geometry, weights, gradient, inputGradient, beta))
        return;
    VisitTypeAndGeometry(gradient.type, geometry,
                         [&](auto tag, const auto g)
                         {
                             using T = decltype(tag);
                             Launch("ConvolveInputGradient", m_context.Stream(),
                                    BlocksFor(inputGradient.Elements(), c_threads), c_threads,
                                    ConvolveInputs<T, g.c_most>, g, weights.As<const T>(), DeviceMatrix<T>(gradient),
                                    DeviceMatrix<T>(inputGradient), T(beta));
                         });
}

void GpuImageKernels::ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient,
                                             const MatrixView& input, const MatrixView& weightGradient, double beta)
{
    if (m_context.Repeats())
        return;
    if (gradient.columns > 0 && m_dnn.ConvolveWeightGradient(geometry, gradient, input, weightGradient, beta))
        return;
    VisitTypeAndGeometry(
        gradient.type, geometry,
        [&](auto tag, const auto g)
        {
            using T = decltype(tag);
            const size_t products = gradient.columns * geometry.OutputElements() / geometry.KernelCount();
            LaunchTeams("ConvolveWeightGradient", m_context.Stream(), TeamShape(products, weightGradient.Elements()),
                        ConvolveWeights<T, true, g.c_most>, ConvolveWeights<T, false, g.c_most>, g,
                        DeviceMatrix<T>(gradient), DeviceMatrix<T>(input), DeviceMatrix<T>(weightGradient), T(beta));
        });
}

void GpuImageKernels::Pool(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                           const MatrixView& output)
{
    if (m_context.Repeats())
        return;
    if (m_dnn.Pool(kind, geometry, input, output))
        return;
    VisitTypeAndGeometry(output.type, geometry,
                         [&](auto tag, const auto g)
                         {
                             using T = decltype(tag);
                             Launch("Pool", m_context.Stream(), BlocksFor(output.Elements(), c_threads), c_threads,
                                    PoolOutputs<T, g.c_most>, g, kind, DeviceMatrix<T>(input), DeviceMatrix<T>(output));
                         });
}

void GpuImageKernels::PoolGradient(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                                   const MatrixView& output, const MatrixView& gradient,
                                   const MatrixView& inputGradient, double beta)
{
    if (m_context.Repeats())
        return;
    if (m_dnn.PoolGradient(kind, geometry, gradient, inputGradient, beta))
        return;
    VisitTypeAndGeometry(gradient.type, geometry,
                         [&](auto tag, const auto g)
                         {
                             using T = decltype(tag);
                             Launch("PoolGradient", m_context.Stream(), BlocksFor(inputGradient.Elements(), c_threads),
                                    c_threads, PoolInputs<T, g.c_most>, g, kind, DeviceMatrix<T>(input),
                                    DeviceMatrix<T>(output), DeviceMatrix<T>(gradient), DeviceMatrix<T>(inputGradient),
                                    T(beta));
                         });
}

} // namespace cntk
