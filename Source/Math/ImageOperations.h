// Checked operations on images, as Operations.h has them for matrices (book 2.5). Views are contiguous: inputs are
// InputElements() x samples and outputs OutputElements() x samples, one sample a column; weights have KernelCount() *
// KernelElements() elements in the order of ConvolutionGeometry::weights. Gradients are like what they belong to.
#pragma once

#include "Math/ImageKernels.h"

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
