// Convolutions as products of matrices: windows are written out as columns, which cuBLAS multiplies with the kernels.
#pragma once

#include "Math/Gpu/GpuBlas.h"
#include "Math/Gpu/GpuContext.h"
#include "Math/Gpu/GpuScalars.h"
#include "Math/ImageOperations.h"

namespace cntk
{

// The functions do what those of ImageKernels do (of a convolution all but its ending), some samples at a time, or
// return false and have done nothing: where kernels are not shared, or memory is short. There is at least one sample.
class GpuWindowProducts
{
public:
    GpuWindowProducts(GpuContext& context, GpuBlas& blas, GpuScalars& scalars)
        : m_context(context), m_blas(blas), m_scalars(scalars)
    {
    }

    bool Convolve(const ConvolutionGeometry& geometry, const MatrixView& weights, const MatrixView& input,
                  const MatrixView& output);
    bool ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights,
                               const MatrixView& gradient, const MatrixView& inputGradient, double beta);
    bool ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient,
                                const MatrixView& input, const MatrixView& weightGradient, double beta);

private:
    struct Sizes;
    struct Share; // some of the samples

    // body(share) for some samples at a time: fewer where memory is short.
    template <class Body>
    bool ForSomeSamples(const ConvolutionGeometry& geometry, const MatrixView& output, const Body& body);
    void WriteWindows(const ConvolutionGeometry& geometry, const MatrixView& input, void* columns);
    // The output's gradient with the maps of a window one after another: itself, or a copy.
    const void* MapsOf(const ConvolutionGeometry& geometry, const MatrixView& gradient, void* copy);
    void SpreadMaps(const ConvolutionGeometry& geometry, const void* maps, const MatrixView& output);
    void SumWindows(const ConvolutionGeometry& geometry, const void* columns, const MatrixView& inputGradient,
                    double beta);
    void Multiply(GpuGemm product, double beta);

    static constexpr size_t c_mostBytes = size_t(64) << 20;

    size_t m_mostBytes = c_mostBytes;      // for some samples at a time, but for one
    size_t m_tooManyBytes = size_t(0) - 1; // so many were not there: they are not asked for again
    GpuContext& m_context;
    GpuBlas& m_blas;
    GpuScalars& m_scalars;
};

} // namespace cntk
