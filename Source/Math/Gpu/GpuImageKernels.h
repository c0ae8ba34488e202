// Convolution and pooling on a GPU: each thread gathers one number, so that no two write to the same.
#pragma once

#include "Math/Gpu/GpuContext.h"
#include "Math/ImageKernels.h"

namespace cntk
{

class GpuImageKernels final : public ImageKernels
{
public:
    explicit GpuImageKernels(GpuContext& context) : m_context(context) {}

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

private:
    GpuContext& m_context;
};

} // namespace cntk
