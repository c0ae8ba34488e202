// Windows written out, and the products with them.
#include "Math/Device.h"
#include "Math/Gpu/GpuWindowProducts.h"
#include "Math/Gpu/WindowFunctions.cuh"

#include <algorithm>
#include <cstddef>

namespace cntk
{

namespace
{

// columns(element, window of a sample) = the input there, 0 outside of it. The geometry has no maps.
template <class T, int most>
__global__ void WriteWindowColumns(const DeviceGeometry<most> g, const DeviceMatrix<T> input, T* columns)
{
    const size_t windows = g.outputs;
    const size_t count = g.kernelElements * windows * input.columns;
    for (size_t index = FirstElement(); index < count; index += ElementStep())
    {
        int32_t cell[most];
        CellOf(g, index % g.kernelElements, cell);
        size_t window = index / g.kernelElements;
        const size_t sample = window / windows;
        window %= windows;
        size_t at = 0;
        size_t inputs = 1;
        bool isInside = true;
        for (int axis = 0; axis < g.Rank(); ++axis)
        {
            const DeviceAxis& a = g.axes[axis];
            const int32_t position = a.start + int32_t(window % size_t(a.windows)) * a.stride + cell[axis];
            window /= size_t(a.windows);
            isInside = isInside && position >= 0 && position < a.input;
            at += size_t(position) * inputs;
            inputs *= size_t(a.input);
        }
        columns[index] = isInside ? input.Column(sample)[at] : T(0);
    }
}

// Each element of the input from all windows that it is in.
template <class T, int most>
__global__ void SumWindowColumns(const DeviceGeometry<most> g, const T* columns, const DeviceMatrix<T> inputGradient,
                                 T beta)
{
    for (size_t index = FirstElement(); index < inputGradient.Elements(); index += ElementStep())
    {
        const T* const ofSample = columns + index / inputGradient.rows * g.outputs * g.kernelElements;
        T sum = 0;
        ForEachOutput(g, index % inputGradient.rows,
                      [&](const int32_t* cell, size_t, size_t window)
                      { sum += ofSample[window * g.kernelElements + ElementIndex(g, cell)]; });
        T& target = inputGradient.At(index);
        target = beta == T(0) ? sum : beta * target + sum;
    }
}

// Where a number of the output is when the maps of a window lie one after another.
template <int most>
__device__ inline size_t PlaceAmongMaps(const DeviceGeometry<most>& g, size_t output)
{
    const OutputPlace<most> place(g, output);
    size_t window = 0;
    for (int axis = g.Rank() - 1; axis >= 0; --axis)
        window = window * size_t(g.axes[axis].windows) + size_t(place.window[axis]);
    return window * g.kernels + place.kernel;
}

template <class T, int most>
__global__ void GatherMapsOfWindows(const DeviceGeometry<most> g, const DeviceMatrix<T> output, T* maps)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
        maps[index / output.rows * output.rows + PlaceAmongMaps(g, index % output.rows)] = output.At(index);
}

template <class T, int most>
__global__ void SpreadMapsOfWindows(const DeviceGeometry<most> g, const T* maps, const DeviceMatrix<T> output)
{
    for (size_t index = FirstElement(); index < output.Elements(); index += ElementStep())
        output.At(index) = maps[index / output.rows * output.rows + PlaceAmongMaps(g, index % output.rows)];
}

ConvolutionGeometry WithoutMaps(ConvolutionGeometry geometry)
{
    for (size_t axis = 0; axis < geometry.rank; ++axis)
        geometry.axes[axis].maps = 1;
    return geometry;
}

bool IsShared(const ConvolutionGeometry& geometry)
{
    for (size_t axis = 0; axis < geometry.rank; ++axis)
        if (!geometry.axes[axis].isShared && geometry.axes[axis].windows > 1)
            return false;
    return true;
}

// The output lies as the product has it.
bool HasMapsFastest(const ConvolutionGeometry& geometry, const MatrixView& output)
{
    for (size_t axis = 1; axis < geometry.rank; ++axis)
        if (geometry.axes[axis].maps > 1)
            return false;
    return (geometry.axes[0].windows == 1 || geometry.axes[0].maps == 1) && output.stride == output.rows;
}

} // namespace

struct GpuWindowProducts::Sizes
{
    DataType type;
    size_t elements; // of a kernel
    size_t kernels;
    size_t windows; // of a sample
    size_t samples; // at a time
    bool kernelsFastest;
    bool needsMaps; // in memory of their own

    Sizes(const ConvolutionGeometry& geometry, const MatrixView& output, size_t mostBytes)
        : type(output.type), elements(geometry.KernelElements()), kernels(geometry.KernelCount()),
          windows(geometry.OutputElements() / geometry.KernelCount()), samples(output.columns),
          kernelsFastest(geometry.weights == ConvolutionGeometry::Weights::OutputsFastest),
          needsMaps(!HasMapsFastest(geometry, output))
    {
        if (geometry.mostSamplesAtOnce > 0)
            samples = std::min(samples, geometry.mostSamplesAtOnce);
        samples = std::clamp<size_t>(mostBytes / ((elements + (needsMaps ? kernels : 0)) * windows * SizeOf(type)), 1,
                                     samples);
    }
    // Maps begin where memory of their own would.
    size_t ColumnBytes() const { return (elements * windows * samples * SizeOf(type) + 511) / 512 * 512; }
    size_t Bytes() const { return ColumnBytes() + (needsMaps ? kernels * windows * samples * SizeOf(type) : 0); }
    // Of the weights, and of their gradient.
    size_t WeightStride() const { return kernelsFastest ? kernels : elements; }
    // The weights as the left factor: [kernels x elements], or transposed.
    GpuGemm ProductWith(const MatrixView& weights, bool transposed) const
    {
        GpuGemm product;
        product.type = type;
        product.a = weights.data;
        product.strideA = WeightStride();
        product.transposeA = transposed == kernelsFastest;
        return product;
    }
};

struct GpuWindowProducts::Share
{
    const Sizes& sizes;
    size_t first;
    size_t count;
    void* columns;
    void* maps; // null: the output lies as the product has it

    size_t Windows() const { return sizes.windows * count; }
    MatrixView Of(const MatrixView& view) const { return view.Columns(first, count); }
};

template <class Body>
bool GpuWindowProducts::ForSomeSamples(const ConvolutionGeometry& geometry, const MatrixView& output, const Body& body)
{
    if (!IsShared(geometry))
        return false;
    for (;;)
    {
        const Sizes sizes(geometry, output, m_mostBytes);
        if (sizes.Bytes() >= m_tooManyBytes)
            return false;
        try
        {
            const GpuArray<std::byte> memory(m_context, sizes.Bytes());
            void* const maps = sizes.needsMaps ? memory.Data() + sizes.ColumnBytes() : nullptr;
            for (size_t first = 0; first < output.columns; first += sizes.samples)
                body(Share{sizes, first, std::min(sizes.samples, output.columns - first), memory.Data(), maps});
            return true;
        }
        catch (const OutOfMemory&) // what runs with the memory takes no other
        {
            m_tooManyBytes = sizes.Bytes();
            m_mostBytes = sizes.Bytes() / 2;
        }
    }
}

void GpuWindowProducts::Multiply(GpuGemm product, double beta)
{
    const GpuScalars::Factors factors = m_scalars.Of(product.type, 1, beta);
    product.alpha = factors.alpha;
    product.beta = factors.beta;
    m_blas.Multiply(product, m_context.Stream());
}

// ---- forms ----------------------------------------------------------------------------------------------------------

void GpuWindowProducts::WriteWindows(const ConvolutionGeometry& geometry, const MatrixView& input, void* columns)
{
    VisitTypeAndGeometry(input.type, WithoutMaps(geometry),
                         [&](auto tag, const auto g)
                         {
                             using T = decltype(tag);
                             Launch("WriteWindows", m_context.Stream(),
                                    BlocksFor(g.kernelElements * g.outputs * input.columns, c_threads), c_threads,
                                    WriteWindowColumns<T, g.c_most>, g, DeviceMatrix<T>(input),
                                    static_cast<T*>(columns));
                         });
}

void GpuWindowProducts::SumWindows(const ConvolutionGeometry& geometry, const void* columns,
                                   const MatrixView& inputGradient, double beta)
{
    VisitTypeAndGeometry(inputGradient.type, WithoutMaps(geometry),
                         [&](auto tag, const auto g)
                         {
                             using T = decltype(tag);
                             Launch("SumWindows", m_context.Stream(), BlocksFor(inputGradient.Elements(), c_threads),
                                    c_threads, SumWindowColumns<T, g.c_most>, g, static_cast<const T*>(columns),
                                    DeviceMatrix<T>(inputGradient), T(beta));
                         });
}

const void* GpuWindowProducts::MapsOf(const ConvolutionGeometry& geometry, const MatrixView& gradient, void* copy)
{
    if (copy == nullptr)
        return gradient.data;
    VisitTypeAndGeometry(gradient.type, geometry,
                         [&](auto tag, const auto g)
                         {
                             using T = decltype(tag);
                             Launch("GatherMaps", m_context.Stream(), BlocksFor(gradient.Elements(), c_threads),
                                    c_threads, GatherMapsOfWindows<T, g.c_most>, g, DeviceMatrix<T>(gradient),
                                    static_cast<T*>(copy));
                         });
    return copy;
}

void GpuWindowProducts::SpreadMaps(const ConvolutionGeometry& geometry, const void* maps, const MatrixView& output)
{
    VisitTypeAndGeometry(output.type, geometry,
                         [&](auto tag, const auto g)
                         {
                             using T = decltype(tag);
                             Launch("SpreadMaps", m_context.Stream(), BlocksFor(output.Elements(), c_threads),
                                    c_threads, SpreadMapsOfWindows<T, g.c_most>, g, static_cast<const T*>(maps),
                                    DeviceMatrix<T>(output));
                         });
}

// ---- convolutions ---------------------------------------------------------------------------------------------------

// [kernels x windows] = weights * [elements x windows]
bool GpuWindowProducts::Convolve(const ConvolutionGeometry& geometry, const MatrixView& weights,
                                 const MatrixView& input, const MatrixView& output)
{
    return ForSomeSamples(geometry, output,
                          [&](const Share& share)
                          {
                              const MatrixView target = share.Of(output);
                              WriteWindows(geometry, share.Of(input), share.columns);
                              GpuGemm product = share.sizes.ProductWith(weights, false);
                              product.m = share.sizes.kernels;
                              product.n = share.Windows();
                              product.k = share.sizes.elements;
                              product.b = share.columns;
                              product.strideB = share.sizes.elements;
                              product.c = share.maps != nullptr ? share.maps : target.data;
                              product.strideC = share.sizes.kernels;
                              Multiply(product, 0);
                              if (share.maps != nullptr)
                                  SpreadMaps(geometry, share.maps, target);
                          });
}

// [elements x windows] = weights' * [kernels x windows]
bool GpuWindowProducts::ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights,
                                              const MatrixView& gradient, const MatrixView& inputGradient, double beta)
{
    return ForSomeSamples(geometry, gradient,
                          [&](const Share& share)
                          {
                              GpuGemm product = share.sizes.ProductWith(weights, true);
                              product.m = share.sizes.elements;
                              product.n = share.Windows();
                              product.k = share.sizes.kernels;
                              product.b = MapsOf(geometry, share.Of(gradient), share.maps);
                              product.strideB = share.sizes.kernels;
                              product.c = share.columns;
                              product.strideC = share.sizes.elements;
                              Multiply(product, 0);
                              SumWindows(geometry, share.columns, share.Of(inputGradient), beta);
                          });
}

// [kernels x elements] = [kernels x windows] * [elements x windows]', or the transpose of it
bool GpuWindowProducts::ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient,
                                               const MatrixView& input, const MatrixView& weightGradient, double beta)
{
    return ForSomeSamples(geometry, gradient,
                          [&](const Share& share)
                          {
                              const Sizes& sizes = share.sizes;
                              WriteWindows(geometry, share.Of(input), share.columns);
                              const void* const maps = MapsOf(geometry, share.Of(gradient), share.maps);
                              GpuGemm product;
                              product.type = sizes.type;
                              product.transposeB = true;
                              product.m = sizes.WeightStride();
                              product.n = sizes.kernelsFastest ? sizes.elements : sizes.kernels;
                              product.k = share.Windows();
                              product.a = sizes.kernelsFastest ? maps : share.columns;
                              product.strideA = product.m;
                              product.b = sizes.kernelsFastest ? share.columns : maps;
                              product.strideB = product.n;
                              product.c = weightGradient.data;
                              product.strideC = product.m;
                              Multiply(product, share.first == 0 ? beta : 1);
                          });
}

} // namespace cntk
