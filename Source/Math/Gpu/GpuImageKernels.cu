// Convolution and pooling as their definition has them: a thread gathers each number of a result (a block each weight's
// gradient), whatever the number of axes, which windows there are and how they are shared.
#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/Gpu/GpuImageKernels.h"

#include <cstdint>

namespace cntk
{

namespace
{

constexpr int c_maxAxes = int(TensorShape::c_maxRank);

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

// A geometry as kernels take it.
struct DeviceGeometry
{
    DeviceAxis axes[c_maxAxes];
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
        {
            const WindowAxis& a = geometry.axes[i];
            axes[rank++] = {int32_t(a.input),   int32_t(a.kernel), int32_t(a.stride), int32_t(a.start),
                            int32_t(a.windows), int32_t(a.maps),   a.isShared};
        }
    }
    explicit DeviceGeometry(const ConvolutionGeometry& geometry)
        : DeviceGeometry(static_cast<const WindowGeometry&>(geometry))
    {
        outputsFastest = geometry.weights == ConvolutionGeometry::Weights::OutputsFastest;
    }
};

// Where an element of a kernel lies among its elements: the first axis is the last one where outputs are fastest.
__device__ inline size_t ElementIndex(const DeviceGeometry& g, const int32_t* cell)
{
    size_t index = g.outputsFastest ? size_t(cell[0]) : 0;
    for (int axis = g.rank - 1; axis >= (g.outputsFastest ? 1 : 0); --axis)
        index = index * size_t(g.axes[axis].kernel) + size_t(cell[axis]);
    return index;
}

__device__ inline size_t WeightIndex(const DeviceGeometry& g, size_t kernel, size_t element)
{
    return g.outputsFastest ? element * g.kernels + kernel : kernel * g.kernelElements + element;
}

// Which windows and which map an output element is of.
struct OutputPlace
{
    int32_t window[c_maxAxes];
    size_t kernel;
    size_t map; // of a bias

    __device__ OutputPlace(const DeviceGeometry& g, size_t output) : kernel(0), map(0)
    {
        size_t kernels = 1;
        size_t maps = 1;
        for (int axis = 0; axis < g.rank; ++axis)
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

// Steps through a box of positions, the first axis fastest.
template <class Body>
__device__ void ForEachIn(int rank, const int32_t* begin, const int32_t* end, Body&& body)
{
    int32_t at[c_maxAxes];
    for (int axis = 0; axis < rank; ++axis)
    {
        if (begin[axis] >= end[axis])
            return;
        at[axis] = begin[axis];
    }
    for (;;)
    {
        body(at);
        int axis = 0;
        for (; axis < rank; ++axis)
        {
            if (++at[axis] < end[axis])
                break;
            at[axis] = begin[axis];
        }
        if (axis == rank)
            return;
    }
}

// body(cell, index of the input) for the elements of an output's window that lie inside the input.
template <class Body>
__device__ void ForEachInput(const DeviceGeometry& g, const OutputPlace& place, Body&& body)
{
    int32_t begin[c_maxAxes];
    int32_t end[c_maxAxes];
    int32_t origin[c_maxAxes];
    for (int axis = 0; axis < g.rank; ++axis)
    {
        const DeviceAxis& a = g.axes[axis];
        origin[axis] = a.start + place.window[axis] * a.stride;
        begin[axis] = origin[axis] < 0 ? -origin[axis] : 0;
        end[axis] = a.input - origin[axis] < a.kernel ? a.input - origin[axis] : a.kernel;
    }
    ForEachIn(g.rank, begin, end,
              [&](const int32_t* cell)
              {
                  size_t input = 0;
                  for (int axis = g.rank - 1; axis >= 0; --axis)
                      input = input * size_t(g.axes[axis].input) + size_t(origin[axis] + cell[axis]);
                  body(cell, input);
              });
}

// body(cell, kernel, index of the output) for everything that an input element goes into.
template <class Body>
__device__ void ForEachOutput(const DeviceGeometry& g, size_t input, Body&& body)
{
    int32_t position[c_maxAxes];
    int32_t begin[c_maxAxes];
    int32_t end[c_maxAxes];
    int32_t firstWindow[c_maxAxes];
    int32_t windows[c_maxAxes];
    for (int axis = 0; axis < g.rank; ++axis)
    {
        const DeviceAxis& a = g.axes[axis];
        position[axis] = int32_t(input % size_t(a.input));
        input /= size_t(a.input);
        const int32_t behind = position[axis] - a.start; // of the first window's first element
        const int32_t tooFar = behind - a.kernel;        // windows that start here end just before
        firstWindow[axis] = tooFar < 0 ? 0 : tooFar / a.stride + 1;
        const int32_t lastWindow = behind < 0 ? -1 : behind / a.stride;
        const int32_t endWindow = lastWindow + 1 < a.windows ? lastWindow + 1 : a.windows;
        windows[axis] = endWindow - firstWindow[axis];
        // Positions along the axis are pairs of a window and a map.
        begin[axis] = 0;
        end[axis] = windows[axis] > 0 ? windows[axis] * a.maps : 0;
    }
    ForEachIn(g.rank, begin, end,
              [&](const int32_t* at)
              {
                  int32_t cell[c_maxAxes];
                  size_t output = 0;
                  size_t outputs = 1;
                  size_t kernel = 0;
                  size_t kernels = 1;
                  for (int axis = 0; axis < g.rank; ++axis)
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

template <class T>
__global__ void ConvolveOutputs(const DeviceGeometry g, const T* weights, const DeviceMatrix<T> input,
                                const DeviceMatrix<T> output, const T* bias, ElementwiseOp activation)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
    {
        const OutputPlace place(g, index % output.rows);
        const T* const x = input.Column(index / output.rows);
        T sum = bias != nullptr ? bias[place.map] : T(0);
        ForEachInput(g, place,
                     [&](const int32_t* cell, size_t at)
                     { sum += weights[WeightIndex(g, place.kernel, ElementIndex(g, cell))] * x[at]; });
        output.At(index) = EvaluateElementwise(activation, sum, T(0), T(0));
    }
}

template <class T>
__global__ void ConvolveInputs(const DeviceGeometry g, const T* weights, const DeviceMatrix<T> gradient,
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

// A warp or a block for each weight: its threads share out samples and the windows that have the weight.
template <class T, bool isBlock>
__global__ void ConvolveWeights(const DeviceGeometry g, const DeviceMatrix<T> gradient, const DeviceMatrix<T> input,
                                const DeviceMatrix<T> weightGradient, T beta)
{
    // Which kernel, which element of it.
    const ColumnTeam<isBlock> team;
    const size_t weight = team.column;
    if (weight >= g.kernels * g.kernelElements)
        return; // whole warps, whole blocks
    size_t kernel = g.outputsFastest ? weight % g.kernels : weight / g.kernelElements;
    size_t element = g.outputsFastest ? weight / g.kernels : weight % g.kernelElements;
    int32_t cell[c_maxAxes];
    int32_t map[c_maxAxes];
    int32_t only[c_maxAxes]; // the window of a kernel that is not shared, or -1
    for (int i = 0; i < g.rank; ++i)
    {
        const int axis = g.outputsFastest ? (i + 1) % g.rank : i;
        cell[axis] = int32_t(element % size_t(g.axes[axis].kernel));
        element /= size_t(g.axes[axis].kernel);
    }
    size_t windows = 1;
    for (int axis = 0; axis < g.rank; ++axis)
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
        for (int axis = 0; axis < g.rank; ++axis)
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

template <class T>
__global__ void PoolOutputs(const DeviceGeometry g, PoolKind kind, const DeviceMatrix<T> input,
                            const DeviceMatrix<T> output)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
    {
        const OutputPlace place(g, index % output.rows);
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

// What is left to do of a convolution.
template <class T>
__global__ void EndConvolution(const DeviceGeometry g, const DeviceMatrix<T> output, const T* bias,
                               ElementwiseOp activation)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
    {
        T& value = output.At(index);
        const T sum = bias != nullptr ? value + bias[OutputPlace(g, index % output.rows).map] : value;
        value = EvaluateElementwise(activation, sum, T(0), T(0));
    }
}

// How many elements of an output's window lie inside the input.
__device__ inline int32_t CountOf(const DeviceGeometry& g, size_t output)
{
    int32_t count = 1;
    for (int axis = 0; axis < g.rank; ++axis)
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

template <class T>
__global__ void PoolInputs(const DeviceGeometry g, PoolKind kind, const DeviceMatrix<T> input,
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
    if (m_dnn.Convolve(geometry, weights, input, output))
        return End(geometry, output, ending);
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("Convolve", m_context.Stream(), BlocksFor(output.Elements(), c_threads), c_threads,
                         ConvolveOutputs<T>, DeviceGeometry(geometry), weights.As<const T>(), DeviceMatrix<T>(input),
                         DeviceMatrix<T>(output), ending.bias.As<const T>(), ending.activation);
              });
}

void GpuImageKernels::End(const ConvolutionGeometry& geometry, const MatrixView& output,
                          const ConvolutionEnding& ending)
{
    if (ending.bias.data == nullptr && ending.activation == ElementwiseOp::Copy)
        return;
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("EndConvolution", m_context.Stream(), BlocksFor(output.Elements(), c_threads), c_threads,
                         EndConvolution<T>, DeviceGeometry(geometry), DeviceMatrix<T>(output),
                         ending.bias.As<const T>(), ending.activation);
              });
}

void GpuImageKernels::ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights,
                                            const MatrixView& gradient, const MatrixView& inputGradient, double beta)
{
    if (m_dnn.ConvolveInputGradient(geometry, weights, gradient, inputGradient, beta))
        return;
    VisitType(gradient.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("ConvolveInputGradient", m_context.Stream(), BlocksFor(inputGradient.Elements(), c_threads),
                         c_threads, ConvolveInputs<T>, DeviceGeometry(geometry), weights.As<const T>(),
                         DeviceMatrix<T>(gradient), DeviceMatrix<T>(inputGradient), T(beta));
              });
}

void GpuImageKernels::ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient,
                                             const MatrixView& input, const MatrixView& weightGradient, double beta)
{
    if (gradient.columns > 0 && m_dnn.ConvolveWeightGradient(geometry, gradient, input, weightGradient, beta))
        return;
    VisitType(gradient.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  const size_t products = gradient.columns * geometry.OutputElements() / geometry.KernelCount();
                  LaunchTeams("ConvolveWeightGradient", m_context.Stream(),
                              TeamShape(products, weightGradient.Elements()), ConvolveWeights<T, true>,
                              ConvolveWeights<T, false>, DeviceGeometry(geometry), DeviceMatrix<T>(gradient),
                              DeviceMatrix<T>(input), DeviceMatrix<T>(weightGradient), T(beta));
              });
}

void GpuImageKernels::Pool(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                           const MatrixView& output)
{
    if (m_dnn.Pool(kind, geometry, input, output))
        return;
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("Pool", m_context.Stream(), BlocksFor(output.Elements(), c_threads), c_threads, PoolOutputs<T>,
                         DeviceGeometry(geometry), kind, DeviceMatrix<T>(input), DeviceMatrix<T>(output));
              });
}

void GpuImageKernels::PoolGradient(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                                   const MatrixView& output, const MatrixView& gradient,
                                   const MatrixView& inputGradient, double beta)
{
    if (m_dnn.PoolGradient(kind, geometry, gradient, inputGradient, beta))
        return;
    VisitType(gradient.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  Launch("PoolGradient", m_context.Stream(), BlocksFor(inputGradient.Elements(), c_threads), c_threads,
                         PoolInputs<T>, DeviceGeometry(geometry), kind, DeviceMatrix<T>(input), DeviceMatrix<T>(output),
                         DeviceMatrix<T>(gradient), DeviceMatrix<T>(inputGradient), T(beta));
              });
}

} // namespace cntk
