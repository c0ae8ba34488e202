// Convolution and pooling on a GPU: by a library what it takes; the rest by kernels of our own, each of whose threads
// gathers one number, so that no two write to the same.
#pragma once

#include "Math/Gpu/GpuContext.h"
#include "Math/Gpu/GpuDnn.h"
#include "Math/ImageKernels.h"

namespace cntk
{

class GpuImageKernels final : public ImageKernels
{
public:
    GpuImageKernels(GpuContext& context, GpuDnn& dnn) : m_context(context), m_dnn(dnn) {}

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
    void End(const ConvolutionGeometry& geometry, const MatrixView& output, const ConvolutionEnding& ending);

    GpuContext& m_context;
    GpuDnn& m_dnn;
};

} // namespace cntk
