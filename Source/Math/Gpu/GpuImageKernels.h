// Convolution and pooling on a GPU.
#pragma once

#include "Math/Gpu/GpuContext.h"
#include "Math/Gpu/GpuDnn.h"
#include "Math/Gpu/GpuWindowProducts.h"
#include "Math/ImageOperations.h"

namespace cntk
{

class GpuImageKernels final : public ImageKernels
{
public:
    GpuImageKernels(GpuContext& context, GpuDnn& dnn, GpuBlas& blas, GpuScalars& scalars)
        : m_context(context), m_dnn(dnn), m_products(context, blas, scalars)
    {
    }

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
    GpuWindowProducts m_products;
};

} // namespace cntk
