// Convolution of images: weights are packed once a call, each sample is brought into the form of the inner loops
// (channels fastest, padding around it) and computed at once. The gradient of the input is a convolution of the
// output's gradient, spread out by the strides, with the kernels turned around.
#include "Math/Cpu/CpuImageKernels.h"

#include "Common/Error.h"
#include "Math/Cpu/Threads.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace cntk
{

namespace
{

constexpr size_t c_alignment = 64;
// Multiply-adds below which another thread costs more than it brings.
constexpr double c_workPerThread = 250e3;

ImageIsaSet IsaFor(InstructionSet set)
{
    switch (set)
    {
    case InstructionSet::Avx512:
        return ImageAvx512();
    case InstructionSet::Avx2:
        return ImageAvx2();
    case InstructionSet::Baseline:
        break;
    }
    return ImageBaseline();
}

size_t RoundUp(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

// Elements of the input that the windows cover, padding included.
size_t Covered(const WindowAxis& axis)
{
    return (axis.windows - 1) * axis.stride + axis.kernel;
}

} // namespace

// All channels in each kernel and at most two more axes.
struct CpuImageKernels::PlanarForm
{
    bool channelsFirst = true;
    size_t channels = 1;
    size_t maps = 1;
    WindowAxis a;
    WindowAxis b;

    size_t Elements() const { return a.kernel * b.kernel * channels; } // of a kernel
    size_t InputPixels() const { return a.input * b.input; }
    size_t OutputPixels() const { return a.windows * b.windows; }
    bool IsPadded() const { return a.start != 0 || b.start != 0 || Covered(a) > a.input || Covered(b) > b.input; }
    // Of an image with its padding; 0 where it is taken as it is.
    size_t PaddedElements() const { return channelsFirst && !IsPadded() ? 0 : Covered(a) * Covered(b) * channels; }
    // Where an element stands in the weights.
    size_t WeightIndex(const ConvolutionGeometry& geometry, size_t map, size_t channel, size_t ka, size_t kb) const
    {
        const size_t element = ka + a.kernel * (kb + b.kernel * channel);
        return geometry.weights == ConvolutionGeometry::Weights::OutputsFastest ? map + maps * element
                                                                                : map * Elements() + element;
    }

    // The sizes of a convolution of the input, one image of it at a time.
    template <class T>
    DirectConvolution<T> ForwardTask() const
    {
        DirectConvolution<T> task;
        task.channels = channels;
        task.lineA = channelsFirst && !IsPadded() ? a.input : Covered(a);
        task.kernelA = a.kernel;
        task.kernelB = b.kernel;
        task.strideA = a.stride;
        task.strideB = b.stride;
        task.windowsA = a.windows;
        task.windowsB = b.windows;
        task.maps = maps;
        return task;
    }
};

// ---- memory ----

void CpuImageKernels::Scratch::Release::operator()(std::byte* memory) const
{
    ::operator delete(memory, std::align_val_t(c_alignment));
}

void* CpuImageKernels::Scratch::Reserve(size_t bytes)
{
    if (bytes > m_bytes)
    {
        m_memory.reset();
        m_memory.reset(static_cast<std::byte*>(::operator new(bytes, std::align_val_t(c_alignment))));
        m_bytes = bytes;
    }
    return m_memory.get();
}

CpuImageKernels::CpuImageKernels(ThreadPool& pool, InstructionSet instructionSet)
    : m_pool(pool), m_instructionSet(instructionSet), m_isa(IsaFor(instructionSet)), m_memory(size_t(pool.Threads()))
{
}

bool CpuImageKernels::IsPlanar(const ConvolutionGeometry& geometry, PlanarForm& form)
{
    if (geometry.rank == 0 || geometry.rank > 3)
        return false;
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
                return false;
            form.channels = a.input;
            form.maps = a.maps;
            continue;
        }
        if (a.maps != 1 || !a.isShared)
            return false;
        *others[other++] = a;
    }
    return true;
}

// Into how many tasks the samples are cut.
size_t CpuImageKernels::Tasks(const ConvolutionGeometry& geometry, size_t samples, size_t mostPerThread) const
{
    const double work = double(samples) * double(geometry.OutputElements()) * double(geometry.KernelElements());
    const double threads = std::clamp(work / c_workPerThread, 1.0, double(m_pool.Threads()));
    size_t tasks = std::min(samples, threads < 2 ? 1 : size_t(threads) * mostPerThread);
    if (geometry.mostSamplesAtOnce > 0)
        tasks = std::min(tasks, geometry.mostSamplesAtOnce); // each task has one sample in work at a time
    return std::max<size_t>(tasks, 1);
}

template <class T>
void CpuImageKernels::ReserveThreads(size_t imageElements, size_t pixelElements, size_t planeElements)
{
    for (ThreadMemory& memory : m_memory)
    {
        memory.image.Of<T>(imageElements);
        memory.pixels.Of<T>(pixelElements);
        memory.planes.Of<T>(planeElements);
    }
}

// ---- the forms that the inner loops take ----

template <class T>
const T* CpuImageKernels::PackWeights(const ConvolutionGeometry& geometry, const PlanarForm& form,
                                      const MatrixView& weights)
{
    const size_t panel = Isa<T>().panelMaps(form.maps);
    const T* from = weights.As<T>();
    T* packed = m_weights.Of<T>(RoundUp(form.maps, panel) * form.Elements());
    T* to = packed;
    for (size_t first = 0; first < form.maps; first += panel)
        for (size_t kb = 0; kb < form.b.kernel; ++kb)
            for (size_t ka = 0; ka < form.a.kernel; ++ka)
                for (size_t channel = 0; channel < form.channels; ++channel, to += panel)
                    for (size_t i = 0; i < panel; ++i)
                        to[i] =
                            first + i < form.maps ? from[form.WeightIndex(geometry, first + i, channel, ka, kb)] : T(0);
    return packed;
}

// The kernels turned around, with maps and channels exchanged.
template <class T>
const T* CpuImageKernels::PackTurnedWeights(const ConvolutionGeometry& geometry, const PlanarForm& form,
                                            const MatrixView& weights)
{
    const size_t panel = Isa<T>().panelMaps(form.channels);
    const T* from = weights.As<T>();
    T* packed = m_weights.Of<T>(RoundUp(form.channels, panel) * form.a.kernel * form.b.kernel * form.maps);
    T* to = packed;
    for (size_t first = 0; first < form.channels; first += panel)
        for (size_t kb = form.b.kernel; kb-- > 0;)
            for (size_t ka = form.a.kernel; ka-- > 0;)
                for (size_t map = 0; map < form.maps; ++map, to += panel)
                    for (size_t i = 0; i < panel; ++i)
                        to[i] =
                            first + i < form.channels ? from[form.WeightIndex(geometry, map, first + i, ka, kb)] : T(0);
    return packed;
}

// The input with its padding, channels fastest; Covered(a) pixels a line.
template <class T>
const T* CpuImageKernels::PaddedImage(const PlanarForm& form, const T* image, ThreadMemory& memory) const
{
    if (form.channelsFirst && !form.IsPadded())
        return image;
    const size_t lengthA = Covered(form.a);
    const size_t lengthB = Covered(form.b);
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
            Isa<T>().transpose(image + pixel, form.InputPixels(), channels, count, line + before, channels);
    }
    return padded;
}

// The output's gradient as an image whose convolution with the turned kernels is the input's gradient.
template <class T>
const T* CpuImageKernels::SpreadGradient(const PlanarForm& form, const T* gradient, ThreadMemory& memory) const
{
    const size_t maps = form.maps;
    const T* pixels = gradient;
    if (!form.channelsFirst)
    {
        T* turned = memory.pixels.Of<T>(form.OutputPixels() * maps);
        Isa<T>().transpose(gradient, form.OutputPixels(), maps, form.OutputPixels(), turned, maps);
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

// The output's gradient with the maps fastest, filled up to whole panels.
template <class T>
const T* CpuImageKernels::PixelsOfGradient(const PlanarForm& form, const T* gradient, size_t stride,
                                           ThreadMemory& memory) const
{
    const size_t count = form.OutputPixels();
    if (form.channelsFirst && stride == form.maps)
        return gradient;
    T* pixels = memory.pixels.Of<T>(count * stride);
    if (stride > form.maps)
        std::fill_n(pixels, count * stride, T(0));
    if (!form.channelsFirst)
        Isa<T>().transpose(gradient, count, form.maps, count, pixels, stride);
    else
        for (size_t pixel = 0; pixel < count; ++pixel)
            std::memcpy(pixels + pixel * stride, gradient + pixel * form.maps, form.maps * sizeof(T));
    return pixels;
}

// ---- convolution ----

template <class T>
void CpuImageKernels::ConvolvePlanar(const ConvolutionGeometry& geometry, const PlanarForm& form,
                                     const MatrixView& weights, const MatrixView& input, const MatrixView& output,
                                     const ConvolutionEnding& ending)
{
    const ImageIsa<T>& isa = Isa<T>();
    DirectConvolution<T> task = form.ForwardTask<T>();
    task.weights = PackWeights<T>(geometry, form, weights);
    task.outputStride = form.maps;
    task.rectify = ending.activation == ElementwiseOp::RectifiedLinear;
    if (ending.bias.data)
    {
        const size_t whole = RoundUp(form.maps, isa.panelMaps(form.maps));
        T* bias = m_bias.Of<T>(whole);
        std::copy_n(ending.bias.As<T>(), form.maps, bias);
        std::fill(bias + form.maps, bias + whole, T(0));
        task.bias = bias;
    }
    const bool hasMore = ending.activation != ElementwiseOp::Copy && !task.rectify;
    const auto activate = Vector<T>().elementwise[size_t(ending.activation)][0];
    const size_t pixels = form.OutputPixels();
    const size_t samples = input.columns;
    const size_t tasks = Tasks(geometry, samples, 4);
    ReserveThreads<T>(form.PaddedElements(), form.channelsFirst ? 0 : pixels * form.maps, 0);
    m_pool.Run(tasks,
               [&](size_t part, size_t thread)
               {
                   ThreadMemory& memory = m_memory[thread];
                   for (size_t sample = samples * part / tasks; sample < samples * (part + 1) / tasks; ++sample)
                   {
                       T* target = output.As<T>() + sample * output.stride;
                       DirectConvolution<T> one = task;
                       one.image = PaddedImage<T>(form, input.As<T>() + sample * input.stride, memory);
                       one.output = form.channelsFirst ? target : memory.pixels.Of<T>(pixels * form.maps);
                       isa.convolve(one);
                       if (!form.channelsFirst)
                           isa.transpose(one.output, form.maps, pixels, form.maps, target, pixels);
                       if (hasMore)
                       {
                           ElementwiseLoop<T> loop;
                           loop.inner = output.rows;
                           loop.output = target;
                           loop.inputs[0] = target;
                           activate(loop);
                       }
                   }
               });
}

template <class T>
void CpuImageKernels::PlanarInputGradient(const ConvolutionGeometry& geometry, const PlanarForm& form,
                                          const MatrixView& weights, const MatrixView& gradient,
                                          const MatrixView& inputGradient, T beta)
{
    const ImageIsa<T>& isa = Isa<T>();
    DirectConvolution<T> task;
    task.channels = form.maps;
    task.lineA = form.a.input + form.a.kernel - 1;
    task.kernelA = form.a.kernel;
    task.kernelB = form.b.kernel;
    task.windowsA = form.a.input;
    task.windowsB = form.b.input;
    task.maps = form.channels;
    task.weights = PackTurnedWeights<T>(geometry, form, weights);
    task.outputStride = form.channels;
    task.beta = form.channelsFirst ? beta : T(0);
    const size_t pixels = form.InputPixels();
    const size_t samples = gradient.columns;
    const size_t tasks = Tasks(geometry, samples, 4);
    const size_t inputElements = form.channelsFirst ? 0 : pixels * form.channels;
    ReserveThreads<T>(task.lineA * (form.b.input + form.b.kernel - 1) * form.maps,
                      form.channelsFirst ? 0 : std::max(inputElements, form.OutputPixels() * form.maps),
                      beta == T(0) ? 0 : inputElements);
    m_pool.Run(tasks,
               [&](size_t part, size_t thread)
               {
                   ThreadMemory& memory = m_memory[thread];
                   for (size_t sample = samples * part / tasks; sample < samples * (part + 1) / tasks; ++sample)
                   {
                       T* target = inputGradient.As<T>() + sample * inputGradient.stride;
                       DirectConvolution<T> one = task;
                       one.image = SpreadGradient<T>(form, gradient.As<T>() + sample * gradient.stride, memory);
                       one.output = form.channelsFirst ? target : memory.pixels.Of<T>(pixels * form.channels);
                       isa.convolve(one);
                       if (form.channelsFirst)
                           continue;
                       T* planes = beta == T(0) ? target : memory.planes.Of<T>(pixels * form.channels);
                       isa.transpose(one.output, form.channels, pixels, form.channels, planes, pixels);
                       if (planes != target)
                           Vector<T>().addScaled(T(1), planes, target, inputGradient.rows);
                   }
               });
}

template <class T>
void CpuImageKernels::PlanarWeightGradient(const ConvolutionGeometry& geometry, const PlanarForm& form,
                                           const MatrixView& gradient, const MatrixView& input,
                                           const MatrixView& weightGradient, T beta)
{
    const ImageIsa<T>& isa = Isa<T>();
    const size_t panel = isa.panelMaps(form.maps);
    const size_t whole = RoundUp(form.maps, panel);
    const size_t packedSize = RoundUp(whole * form.Elements(), c_alignment);
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
                   ThreadMemory& memory = m_memory[thread];
                   DirectConvolution<T> one = task;
                   one.weightGradient = partial + part * packedSize;
                   std::fill_n(one.weightGradient, packedSize, T(0));
                   for (size_t sample = samples * part / tasks; sample < samples * (part + 1) / tasks; ++sample)
                   {
                       one.image = PaddedImage<T>(form, input.As<T>() + sample * input.stride, memory);
                       one.gradient =
                           PixelsOfGradient<T>(form, gradient.As<T>() + sample * gradient.stride, whole, memory);
                       isa.addWeightGradient(one);
                   }
               });
    for (size_t part = 1; part < tasks; ++part)
        Vector<T>().addScaled(T(1), partial + part * packedSize, partial, packedSize);
    T* target = weightGradient.As<T>();
    const T* from = partial;
    for (size_t first = 0; first < form.maps; first += panel)
        for (size_t kb = 0; kb < form.b.kernel; ++kb)
            for (size_t ka = 0; ka < form.a.kernel; ++ka)
                for (size_t channel = 0; channel < form.channels; ++channel, from += panel)
                    for (size_t i = 0; i < panel && first + i < form.maps; ++i)
                    {
                        T& value = target[form.WeightIndex(geometry, first + i, channel, ka, kb)];
                        value = beta == T(0) ? from[i] : value + from[i];
                    }
}

// ---- the interface ----

void CpuImageKernels::Convolve(const ConvolutionGeometry& geometry, const MatrixView& weights, const MatrixView& input,
                               const MatrixView& output, const ConvolutionEnding& ending)
{
    PlanarForm form;
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  if (IsPlanar(geometry, form))
                      return ConvolvePlanar<T>(geometry, form, weights, input, output, ending);
                  ConvolveWindows(m_pool, geometry, weights, input, output, ending.bias);
                  if (ending.activation == ElementwiseOp::Copy)
                      return;
                  for (size_t sample = 0; sample < output.columns; ++sample)
                  {
                      ElementwiseLoop<T> loop;
                      loop.inner = output.rows;
                      loop.output = output.As<T>() + sample * output.stride;
                      loop.inputs[0] = loop.output;
                      Vector<T>().elementwise[size_t(ending.activation)][0](loop);
                  }
              });
}

void CpuImageKernels::ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights,
                                            const MatrixView& gradient, const MatrixView& inputGradient, double beta)
{
    PlanarForm form;
    if (!IsPlanar(geometry, form))
        return WindowsInputGradient(m_pool, geometry, weights, gradient, inputGradient, beta);
    VisitType(gradient.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  PlanarInputGradient<T>(geometry, form, weights, gradient, inputGradient, T(beta));
              });
}

void CpuImageKernels::ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient,
                                             const MatrixView& input, const MatrixView& weightGradient, double beta)
{
    PlanarForm form;
    if (!IsPlanar(geometry, form))
        return WindowsWeightGradient(m_pool, geometry, gradient, input, weightGradient, beta);
    VisitType(gradient.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  PlanarWeightGradient<T>(geometry, form, gradient, input, weightGradient, T(beta));
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
                                      Isa<T>().pool(one);
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
                                      Isa<T>().poolGradient(one);
                                  }
                              });
              });
}

} // namespace cntk
