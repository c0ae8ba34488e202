// Convolutions over one or two axes with all channels (PlanarForm): without unfolding the image, sample by sample in
// the cache.
#pragma once

#include "Math/Cpu/AlignedMemory.h"
#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/ImageFunctions.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/ImageOperations.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace cntk
{

// All channels in each kernel and at most two more axes.
struct PlanarForm
{
    // Nothing where the geometry is another.
    static std::optional<PlanarForm> Of(const ConvolutionGeometry& geometry);

    bool channelsFirst = true; // of pixels; in the weights the maps are fastest then
    size_t channels = 1;
    size_t maps = 1;
    WindowAxis a;
    WindowAxis b;

    size_t Elements() const { return a.kernel * b.kernel * channels; } // of a kernel
    size_t InputPixels() const { return a.input * b.input; }
    size_t OutputPixels() const { return a.windows * b.windows; }
    // Elements of the input that the windows cover, padding included.
    static size_t Covered(const WindowAxis& axis) { return (axis.windows - 1) * axis.stride + axis.kernel; }
    bool IsPadded() const { return a.start != 0 || b.start != 0 || Covered(a) > a.input || Covered(b) > b.input; }
    // Elements of an image with its padding; 0 if the image is used unchanged.
    size_t PaddedElements() const { return channelsFirst && !IsPadded() ? 0 : Covered(a) * Covered(b) * channels; }
    // Returns the position of an element within the weights.
    size_t WeightIndex(size_t map, size_t channel, size_t ka, size_t kb) const
    {
        const size_t element = ka + a.kernel * (kb + b.kernel * channel);
        return channelsFirst ? map + maps * element : map * Elements() + element;
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

// In which one thread brings one sample into form.
struct PlanarMemory
{
    GrowingMemory image;
    GrowingMemory pixels;
    GrowingMemory planes;
};

// The functions are there for float and double. The results lie in the given memory, or is the operand itself.

// The weights in panels of maps.
template <class T>
const T* PackWeights(const ImageFunctions<T>& functions, const PlanarForm& form, const T* weights,
                     GrowingMemory& memory);
// The kernels turned around, with maps and channels exchanged.
template <class T>
const T* PackTurnedWeights(const ImageFunctions<T>& functions, const PlanarForm& form, const T* weights,
                           GrowingMemory& memory);
// A gradient of the form of PackWeights, added to the weights' gradient or, with beta 0, written there.
template <class T>
void UnpackWeights(const ImageFunctions<T>& functions, const PlanarForm& form, const T* packed, T beta,
                   T* weightGradient);
// The input with its padding, channels fastest; Covered(a) pixels a line.
template <class T>
const T* PaddedImage(const ImageFunctions<T>& functions, const PlanarForm& form, const T* image, PlanarMemory& memory);
// The output's gradient as an image whose convolution with the turned kernels is the input's gradient.
template <class T>
const T* SpreadGradient(const ImageFunctions<T>& functions, const PlanarForm& form, const T* gradient,
                        PlanarMemory& memory);
// The output's gradient with the maps fastest, filled up with zeros to stride maps a pixel.
template <class T>
const T* PixelsOfGradient(const ImageFunctions<T>& functions, const PlanarForm& form, const T* gradient, size_t stride,
                          PlanarMemory& memory);

class PlanarConvolution
{
public:
    PlanarConvolution(ThreadPool& pool, const CpuKernelTable& kernels);

    // For float and double, as the functions of ImageKernels; form is that of the geometry.
    template <class T>
    void Convolve(const ConvolutionGeometry& geometry, const PlanarForm& form, const MatrixView& weights,
                  const MatrixView& input, const MatrixView& output, const ConvolutionEnding& ending);
    template <class T>
    void InputGradient(const ConvolutionGeometry& geometry, const PlanarForm& form, const MatrixView& weights,
                       const MatrixView& gradient, const MatrixView& inputGradient, T beta);
    template <class T>
    void WeightGradient(const ConvolutionGeometry& geometry, const PlanarForm& form, const MatrixView& gradient,
                        const MatrixView& input, const MatrixView& weightGradient, T beta);

private:
    size_t Tasks(const ConvolutionGeometry& geometry, size_t samples, size_t mostPerThread) const;
    template <class Body>
    void ForEachSample(size_t samples, size_t tasks, const Body& body);
    // Allocates memory for each thread before the threads start, since a job must not fail.
    template <class T>
    void ReserveThreads(size_t imageElements, size_t pixelElements, size_t planeElements);

    ThreadPool& m_pool;
    const CpuKernelTable& m_kernels;
    std::vector<PlanarMemory> m_memory; // one a thread
    GrowingMemory m_weights;            // packed
    GrowingMemory m_bias;
    GrowingMemory m_partial; // gradients of weights, one for each task
};

} // namespace cntk
