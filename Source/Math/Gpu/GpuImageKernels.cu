// Who computes a convolution or a pooling: cuDNN, products of matrices, or kernels as the definition has them, in which
// a thread gathers each number of a result (a block each weight's gradient), whatever the number of axes, which windows
// there are and how they are shared.
#include "Math/Gpu/GpuImageKernels.h"
#include "Math/Gpu/WindowFunctions.cuh"

#include <cstdint>

namespace cntk
{

namespace
{

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

// A warp or a block for each weight: its threads share out samples and the windows that have the weight.
template <class T, bool isBlock, int most>
__global__ void ConvolveWeights(const DeviceGeometry<most> g, const DeviceMatrix<T> gradient,
                                const DeviceMatrix<T> input, const DeviceMatrix<T> weightGradient, T beta)
{
    // Which kernel, which element of it.
    const ColumnTeam<isBlock> team;
    const size_t weight = team.column;
    if (weight >= g.kernels * g.kernelElements)
        return; // whole warps, whole blocks
    size_t kernel = g.outputsFastest ? weight % g.kernels : weight / g.kernelElements;
    const size_t element = g.outputsFastest ? weight / g.kernels : weight % g.kernelElements;
    int32_t cell[most];
    int32_t map[most];
    int32_t only[most]; // the window of a kernel that is not shared, or -1
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

// What is left to do of a convolution.
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

// How many elements of an output's window lie inside the input.
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
    if (m_dnn.Convolve(geometry, weights, input, output) || m_products.Convolve(geometry, weights, input, output))
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
    if (m_context.Repeats())
        return;
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
    if (m_dnn.ConvolveInputGradient(geometry, weights, gradient, inputGradient, beta) ||
        m_products.ConvolveInputGradient(geometry, weights, gradient, inputGradient, beta))
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
    if (gradient.columns > 0 && (m_dnn.ConvolveWeightGradient(geometry, gradient, input, weightGradient, beta) ||
                                 m_products.ConvolveWeightGradient(geometry, gradient, input, weightGradient, beta)))
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
