// Weights are packed once for each call; each sample is then brought into the form of the inner loops and computed. The
// gradient of the input is a convolution of the output's gradient, spread out by the strides, with the reversed
// kernels.
#include "Math/Cpu/PlanarConvolution.h"

#include "Math/Cpu/AlignedMemory.h"

#include <algorithm>
#include <cstring>

namespace cntk
{

std::optional<PlanarForm> PlanarForm::Of(const ConvolutionGeometry& geometry)
{
    PlanarForm form;
    if (geometry.rank == 0 || geometry.rank > 3)
        return std::nullopt;
    form.channelsFirst = geometry.weights == ConvolutionGeometry::Weights::OutputsFastest;
    const size_t channelAxis = form.channelsFirst ? 0 : geometry.rank - 1;
    WindowAxis* others[] = {&form.a, &form.b};
    size_t other = 0;
    for (size_t axis = 0; axis < geometry.rank; ++axis)
    {
        const WindowAxis& a = geometry.axes[axis];
        if (axis == channelAxis)
        {
            if (a.kernel != a.input || a.windows != 1 || a.start != 0)
                return std::nullopt;
            form.channels = a.input;
            form.maps = a.maps;
            continue;
        }
        if (a.maps != 1 || !a.isShared)
            return std::nullopt;
        *others[other++] = a;
    }
    return form;
}

template <class T>
const T* PackWeights(const ImageFunctions<T>& functions, const PlanarForm& form, const T* weights,
                     GrowingMemory& memory)
{
    const size_t panel = functions.panelMaps(form.maps);
    T* packed = memory.Of<T>(RoundUp(form.maps, panel) * form.Elements());
    T* to = packed;
    for (size_t first = 0; first < form.maps; first += panel)
        for (size_t kb = 0; kb < form.b.kernel; ++kb)
            for (size_t ka = 0; ka < form.a.kernel; ++ka)
                for (size_t channel = 0; channel < form.channels; ++channel, to += panel)
                    for (size_t i = 0; i < panel; ++i)
                        to[i] = first + i < form.maps ? weights[form.WeightIndex(first + i, channel, ka, kb)] : T(0);
    return packed;
}

template <class T>
const T* PackTurnedWeights(const ImageFunctions<T>& functions, const PlanarForm& form, const T* weights,
                           GrowingMemory& memory)
{
    const size_t panel = functions.panelMaps(form.channels);
    T* packed = memory.Of<T>(RoundUp(form.channels, panel) * form.a.kernel * form.b.kernel * form.maps);
    T* to = packed;
    for (size_t first = 0; first < form.channels; first += panel)
        for (size_t kb = form.b.kernel; kb-- > 0;)
            for (size_t ka = form.a.kernel; ka-- > 0;)
                for (size_t map = 0; map < form.maps; ++map, to += panel)
                    for (size_t i = 0; i < panel; ++i)
                        to[i] = first + i < form.channels ? weights[form.WeightIndex(map, first + i, ka, kb)] : T(0);
    return packed;
}

template <class T>
const T* PaddedImage(const ImageFunctions<T>& functions, const PlanarForm& form, const T* image, PlanarMemory& memory)
{
    if (form.channelsFirst && !form.IsPadded())
        return image;
    const size_t lengthA = PlanarForm::Covered(form.a);
    const size_t lengthB = PlanarForm::Covered(form.b);
    const size_t channels = form.channels;
    T* padded = memory.image.Of<T>(lengthA * lengthB * channels);
    // The stretch along A that there is.
    const ptrdiff_t skipped = std::max<ptrdiff_t>(0, -form.a.start);
    const ptrdiff_t first = std::max<ptrdiff_t>(0, form.a.start);
    const ptrdiff_t end = std::min(ptrdiff_t(form.a.input), form.a.start + ptrdiff_t(lengthA));
    const size_t count = size_t(std::max<ptrdiff_t>(0, end - first));
    for (size_t b = 0; b < lengthB; ++b)
    {
        T* line = padded + b * lengthA * channels;
        const ptrdiff_t from = form.b.start + ptrdiff_t(b);
        if (from < 0 || size_t(from) >= form.b.input || count == 0)
        {
            std::fill_n(line, lengthA * channels, T(0));
            continue;
        }
        const size_t before = size_t(skipped) * channels;
        std::fill_n(line, before, T(0));
        std::fill(line + before + count * channels, line + lengthA * channels, T(0));
        const size_t pixel = size_t(first) + size_t(from) * form.a.input;
        if (form.channelsFirst)
            std::memcpy(line + before, image + pixel * channels, count * channels * sizeof(T));
        else
            functions.transpose(image + pixel, form.InputPixels(), channels, count, line + before, channels);
    }
    return padded;
}

template <class T>
const T* SpreadGradient(const ImageFunctions<T>& functions, const PlanarForm& form, const T* gradient,
                        PlanarMemory& memory)
{
    const size_t maps = form.maps;
    const T* pixels = gradient;
    if (!form.channelsFirst)
    {
        T* turned = memory.pixels.Of<T>(form.OutputPixels() * maps);
        functions.transpose(gradient, form.OutputPixels(), maps, form.OutputPixels(), turned, maps);
        pixels = turned;
    }
    const size_t lengthA = form.a.input + form.a.kernel - 1;
    const size_t lengthB = form.b.input + form.b.kernel - 1;
    T* spread = memory.image.Of<T>(lengthA * lengthB * maps);
    std::fill_n(spread, lengthA * lengthB * maps, T(0));
    const auto place = [](const WindowAxis& axis, size_t window)
    { return axis.start + ptrdiff_t(window * axis.stride + axis.kernel) - 1; };
    for (size_t b = 0; b < form.b.windows; ++b)
    {
        const ptrdiff_t toB = place(form.b, b);
        if (toB < 0 || size_t(toB) >= lengthB)
            continue;
        for (size_t a = 0; a < form.a.windows; ++a)
        {
            const ptrdiff_t toA = place(form.a, a);
            if (toA >= 0 && size_t(toA) < lengthA)
                std::memcpy(spread + (size_t(toA) + size_t(toB) * lengthA) * maps,
                            pixels + (a + b * form.a.windows) * maps, maps * sizeof(T));
        }
    }
    return spread;
}

template <class T>
const T* PixelsOfGradient(const ImageFunctions<T>& functions, const PlanarForm& form, const T* gradient, size_t stride,
                          PlanarMemory& memory)
{
    const size_t count = form.OutputPixels();
    if (form.channelsFirst && stride == form.maps)
        return gradient;
    T* pixels = memory.pixels.Of<T>(count * stride);
    if (stride > form.maps)
        std::fill_n(pixels, count * stride, T(0));
    if (!form.channelsFirst)
        functions.transpose(gradient, count, form.maps, count, pixels, stride);
    else
        for (size_t pixel = 0; pixel < count; ++pixel)
            std::memcpy(pixels + pixel * stride, gradient + pixel * form.maps, form.maps * sizeof(T));
    return pixels;
}

template <class T>
void UnpackWeights(const ImageFunctions<T>& functions, const PlanarForm& form, const T* packed, T beta,
                   T* weightGradient)
{
    const size_t panel = functions.panelMaps(form.maps);
    const T* from = packed;
    for (size_t first = 0; first < form.maps; first += panel)
        for (size_t kb = 0; kb < form.b.kernel; ++kb)
            for (size_t ka = 0; ka < form.a.kernel; ++ka)
                for (size_t channel = 0; channel < form.channels; ++channel, from += panel)
                    for (size_t i = 0; i < panel && first + i < form.maps; ++i)
                    {
                        T& value = weightGradient[form.WeightIndex(first + i, channel, ka, kb)];
                        value = beta == T(0) ? from[i] : value + from[i];
                    }
}

#define CNTK_PLANAR_FORMS(T)                                                                                           \
    template const T* PackWeights<T>(const ImageFunctions<T>&, const PlanarForm&, const T*, GrowingMemory&);           \
    template const T* PackTurnedWeights<T>(const ImageFunctions<T>&, const PlanarForm&, const T*, GrowingMemory&);     \
    template void UnpackWeights<T>(const ImageFunctions<T>&, const PlanarForm&, const T*, T, T*);                      \
    template const T* PaddedImage<T>(const ImageFunctions<T>&, const PlanarForm&, const T*, PlanarMemory&);            \
    template const T* SpreadGradient<T>(const ImageFunctions<T>&, const PlanarForm&, const T*, PlanarMemory&);         \
    template const T* PixelsOfGradient<T>(const ImageFunctions<T>&, const PlanarForm&, const T*, size_t, PlanarMemory&);
CNTK_PLANAR_FORMS(float)
CNTK_PLANAR_FORMS(double)
#undef CNTK_PLANAR_FORMS

PlanarConvolution::PlanarConvolution(ThreadPool& pool, const CpuKernelTable& kernels)
    : m_pool(pool), m_kernels(kernels), m_memory(size_t(pool.Threads()))
{
}

// Returns the number of tasks that the samples are cut into.
size_t PlanarConvolution::Tasks(const ConvolutionGeometry& geometry, size_t samples, size_t mostPerThread) const
{
    const double work = double(samples) * double(geometry.OutputElements()) * double(geometry.KernelElements());
    const double threads = std::clamp(work / c_multiplyAddsPerThread, 1.0, double(m_pool.Threads()));
    size_t tasks = std::min(samples, threads < 2 ? 1 : size_t(threads) * mostPerThread);
    if (geometry.mostSamplesAtOnce > 0)
        tasks = std::min(tasks, geometry.mostSamplesAtOnce); // each task works on one sample at a time
    return std::max<size_t>(tasks, 1);
}

// Calls body(sample, the thread's memory) for each sample, in so many tasks.
template <class Body>
void PlanarConvolution::ForEachSample(size_t samples, size_t tasks, const Body& body)
{
    m_pool.Run(tasks,
               [&](size_t task, size_t thread)
               {
                   for (size_t sample = samples * task / tasks; sample < samples * (task + 1) / tasks; ++sample)
                       body(sample, m_memory[thread]);
               });
}

template <class T>
void PlanarConvolution::ReserveThreads(size_t imageElements, size_t pixelElements, size_t planeElements)
{
    for (PlanarMemory& memory : m_memory)
    {
        memory.image.Of<T>(imageElements);
        memory.pixels.Of<T>(pixelElements);
        memory.planes.Of<T>(planeElements);
    }
}

template <class T>
void PlanarConvolution::Convolve(const ConvolutionGeometry& geometry, const PlanarForm& form, const MatrixView& weights,
                                 const MatrixView& input, const MatrixView& output, const ConvolutionEnding& ending)
{
    const ImageFunctions<T>& functions = m_kernels.images.Of<T>();
    DirectConvolution<T> task = form.ForwardTask<T>();
    task.weights = PackWeights(functions, form, weights.As<T>(), m_weights);
    task.outputStride = form.maps;
    task.rectify = ending.activation == ElementwiseOp::RectifiedLinear;
    if (ending.bias.data)
    {
        const size_t whole = RoundUp(form.maps, functions.panelMaps(form.maps));
        T* bias = m_bias.Of<T>(whole);
        std::copy_n(ending.bias.As<T>(), form.maps, bias);
        std::fill(bias + form.maps, bias + whole, T(0));
        task.bias = bias;
    }
    const bool hasMore = ending.activation != ElementwiseOp::Copy && !task.rectify;
    const auto activate = m_kernels.vectors.Of<T>().elementwise[size_t(ending.activation)][0];
    const size_t pixels = form.OutputPixels();
    const size_t samples = input.columns;
    const size_t tasks = Tasks(geometry, samples, 4);
    ReserveThreads<T>(form.PaddedElements(), form.channelsFirst ? 0 : pixels * form.maps, 0);
    ForEachSample(samples, tasks,
                  [&](size_t sample, PlanarMemory& memory)
                  {
                      T* target = output.As<T>() + sample * output.stride;
                      DirectConvolution<T> one = task;
                      one.image = PaddedImage(functions, form, input.As<T>() + sample * input.stride, memory);
                      one.output = form.channelsFirst ? target : memory.pixels.Of<T>(pixels * form.maps);
                      functions.convolve(one);
                      if (!form.channelsFirst)
                          functions.transpose(one.output, form.maps, pixels, form.maps, target, pixels);
                      if (hasMore)
                          ApplyInPlace<T>(activate, target, output.rows);
                  });
}

template <class T>
void PlanarConvolution::InputGradient(const ConvolutionGeometry& geometry, const PlanarForm& form,
                                      const MatrixView& weights, const MatrixView& gradient,
                                      const MatrixView& inputGradient, T beta)
{
    const ImageFunctions<T>& functions = m_kernels.images.Of<T>();
    DirectConvolution<T> task;
    task.channels = form.maps;
    task.lineA = form.a.input + form.a.kernel - 1;
    task.kernelA = form.a.kernel;
    task.kernelB = form.b.kernel;
    task.windowsA = form.a.input;
    task.windowsB = form.b.input;
    task.maps = form.channels;
    task.weights = PackTurnedWeights(functions, form, weights.As<T>(), m_weights);
    task.outputStride = form.channels;
    task.beta = form.channelsFirst ? beta : T(0);
    const size_t pixels = form.InputPixels();
    const size_t samples = gradient.columns;
    const size_t tasks = Tasks(geometry, samples, 4);
    const size_t inputElements = form.channelsFirst ? 0 : pixels * form.channels;
    ReserveThreads<T>(task.lineA * (form.b.input + form.b.kernel - 1) * form.maps,
                      form.channelsFirst ? 0 : std::max(inputElements, form.OutputPixels() * form.maps),
                      beta == T(0) ? 0 : inputElements);
    ForEachSample(samples, tasks,
                  [&](size_t sample, PlanarMemory& memory)
                  {
                      T* target = inputGradient.As<T>() + sample * inputGradient.stride;
                      DirectConvolution<T> one = task;
                      one.image = SpreadGradient(functions, form, gradient.As<T>() + sample * gradient.stride, memory);
                      one.output = form.channelsFirst ? target : memory.pixels.Of<T>(pixels * form.channels);
                      functions.convolve(one);
                      if (form.channelsFirst)
                          return;
                      T* planes = beta == T(0) ? target : memory.planes.Of<T>(pixels * form.channels);
                      functions.transpose(one.output, form.channels, pixels, form.channels, planes, pixels);
                      if (planes != target)
                          m_kernels.vectors.Of<T>().addScaled(T(1), planes, target, inputGradient.rows);
                  });
}

template <class T>
void PlanarConvolution::WeightGradient(const ConvolutionGeometry& geometry, const PlanarForm& form,
                                       const MatrixView& gradient, const MatrixView& input,
                                       const MatrixView& weightGradient, T beta)
{
    const ImageFunctions<T>& functions = m_kernels.images.Of<T>();
    const size_t panel = functions.panelMaps(form.maps);
    const size_t whole = RoundUp(form.maps, panel);
    const size_t packedSize = RoundUp(whole * form.Elements(), c_cacheLine);
    DirectConvolution<T> task = form.ForwardTask<T>();
    task.outputStride = whole;
    const size_t samples = gradient.columns;
    const size_t tasks = Tasks(geometry, samples, 1);
    T* partial = m_partial.Of<T>(tasks * packedSize);
    ReserveThreads<T>(form.PaddedElements(), form.channelsFirst && whole == form.maps ? 0 : form.OutputPixels() * whole,
                      0);
    m_pool.Run(tasks,
               [&](size_t part, size_t thread)
               {
                   PlanarMemory& memory = m_memory[thread];
                   DirectConvolution<T> one = task;
                   one.weightGradient = partial + part * packedSize;
                   std::fill_n(one.weightGradient, packedSize, T(0));
                   for (size_t sample = samples * part / tasks; sample < samples * (part + 1) / tasks; ++sample)
                   {
                       one.image = PaddedImage(functions, form, input.As<T>() + sample * input.stride, memory);
                       one.gradient = PixelsOfGradient(functions, form, gradient.As<T>() + sample * gradient.stride,
                                                       whole, memory);
                       functions.addWeightGradient(one);
                   }
               });
    for (size_t part = 1; part < tasks; ++part)
        m_kernels.vectors.Of<T>().addScaled(T(1), partial + part * packedSize, partial, packedSize);
    UnpackWeights(functions, form, partial, beta, weightGradient.As<T>());
}

#define CNTK_PLANAR_CONVOLUTION(T)                                                                                     \
    template void PlanarConvolution::Convolve<T>(const ConvolutionGeometry&, const PlanarForm&, const MatrixView&,     \
                                                 const MatrixView&, const MatrixView&, const ConvolutionEnding&);      \
    template void PlanarConvolution::InputGradient<T>(const ConvolutionGeometry&, const PlanarForm&,                   \
                                                      const MatrixView&, const MatrixView&, const MatrixView&, T);     \
    template void PlanarConvolution::WeightGradient<T>(const ConvolutionGeometry&, const PlanarForm&,                  \
                                                       const MatrixView&, const MatrixView&, const MatrixView&, T);
CNTK_PLANAR_CONVOLUTION(float)
CNTK_PLANAR_CONVOLUTION(double)
#undef CNTK_PLANAR_CONVOLUTION

} // namespace cntk
