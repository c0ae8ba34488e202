// Convolution and pooling by their definitions, one element at a time.
#pragma once

#include "Math/ImageOperations.h"

namespace cntk
{

class ReferenceImageKernels final : public ImageKernels
{
public:
    void Convolve(const ConvolutionGeometry& geometry, const MatrixView& weights, const MatrixView& input,
                  const MatrixView& output, const ConvolutionEnding& ending) override;
    void ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights,
                               const MatrixView& gradient, const MatrixView& inputGradient, double beta) override;
    void ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient,
                                const MatrixView& input, const MatrixView& weightGradient, double beta) override;

    void Pool(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
              const MatrixView& output) override;
    void PoolGradient(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input, const MatrixView& output,
                      const MatrixView& gradient, const MatrixView& inputGradient, double beta) override;
};

} // namespace cntk
