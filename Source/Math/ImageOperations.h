// Convolution and pooling over windows of any number of axes: their geometry, the backend's interface and the checked
// operations.
#pragma once

#include "Math/ElementwiseOps.h"
#include "Math/Matrix.h"
#include "Math/TensorView.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cntk
{

// One axis of a sample, in the order of memory (first axis fastest). Window w covers the input's elements from
// start + w*stride on; those outside the input count as zero, or are skipped by pooling.
struct WindowAxis
{
    size_t input = 1;
    size_t kernel = 1;
    size_t stride = 1;
    ptrdiff_t start = 0; // of the first window; negative: padding
    size_t windows = 1;
    // Convolution: output = windows * maps, the window fastest. Without sharing each window has a kernel of its own.
    size_t maps = 1;
    bool isShared = true;

    size_t Output() const { return windows * maps; }
    size_t Kernels() const { return maps * (isShared ? 1 : windows); }
};

struct WindowGeometry
{
    std::array<WindowAxis, TensorShape::c_maxRank> axes{};
    size_t rank = 0;

    size_t InputElements() const;
    size_t OutputElements() const;
    size_t KernelElements() const; // of one kernel
    size_t KernelCount() const;
    std::string ToString() const; // "5 x 5 over 28 x 28 gives 24 x 24"
};

struct ConvolutionGeometry : WindowGeometry
{
    // How the kernels lie in memory. Kernels are numbered with the first axis fastest, windows (where they are not
    // shared) before maps; elements of a kernel with the first axis fastest.
    enum class Weights : uint8_t
    {
        // One kernel after another.
        KernelByKernel,
        // The book's matrix for images with the channels first (axes: channel, row, column): [kernels x elements],
        // column-major, with the elements in the order row, column, channel.
        OutputsFastest
    };
    Weights weights = Weights::KernelByKernel;
    size_t mostSamplesAtOnce = 0; // in temporary memory (maxTempMemSizeInSamples); 0: as many as are useful
};

enum class PoolKind : uint8_t
{
    Max,
    Average
};

// Applied to each value of a convolution: f(value + bias of its map). A bias without data is 0.
struct ConvolutionEnding
{
    MatrixView bias;
    ElementwiseOp activation = ElementwiseOp::Copy;
};

// Values and gradients hold one sample a column.
class ImageKernels
{
public:
    virtual ~ImageKernels() = default;

    virtual void Convolve(const ConvolutionGeometry& geometry, const MatrixView& weights, const MatrixView& input,
                          const MatrixView& output, const ConvolutionEnding& ending) = 0;
    // inputGradient = beta * inputGradient + ..., beta 0 or 1
    virtual void ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights,
                                       const MatrixView& gradient, const MatrixView& inputGradient, double beta) = 0;
    virtual void ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient,
                                        const MatrixView& input, const MatrixView& weightGradient, double beta) = 0;

    virtual void Pool(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                      const MatrixView& output) = 0;
    // Max: each element of a window that equals its maximum gets the whole gradient.
    virtual void PoolGradient(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                              const MatrixView& output, const MatrixView& gradient, const MatrixView& inputGradient,
                              double beta) = 0;
};

} // namespace cntk

// Checked operations (book 2.5). Views are contiguous: inputs are InputElements() x samples and outputs
// OutputElements() x samples, one sample in each column; weights have KernelCount() * KernelElements() elements in the
// order of ConvolutionGeometry::weights. Gradients have the shapes of their values.
namespace cntk::Ops
{

// output = convolution of the input with the weights, and the ending applied to it. The bias of an ending is one column
// with a value for each map; only where one axis alone has maps.
void Convolve(const ConvolutionGeometry& geometry, const MatrixView& weights, const MatrixView& input,
              const MatrixView& output, const ConvolutionEnding& ending = {});
// accumulate: adds to the gradients instead of replacing them.
void ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights, const MatrixView& gradient,
                           const MatrixView& inputGradient, bool accumulate);
void ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient, const MatrixView& input,
                            const MatrixView& weightGradient, bool accumulate);

// Average: of the elements inside the input.
void Pool(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input, const MatrixView& output);
void PoolGradient(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input, const MatrixView& output,
                  const MatrixView& gradient, const MatrixView& inputGradient, bool accumulate);

} // namespace cntk::Ops
