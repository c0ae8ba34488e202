// Images on the CPU. Convolutions over one or two axes with all channels go to PlanarConvolution; any others (more
// axes, kernels that are not shared) over a walk along the windows.
#pragma once

#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/PlanarConvolution.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/ImageOperations.h"

namespace cntk
{

class CpuImageKernels final : public ImageKernels
{
public:
    CpuImageKernels(ThreadPool& pool, const CpuKernelTable& kernels);

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
    ThreadPool& m_pool;
    const CpuKernelTable& m_kernels;
    PlanarConvolution m_planar;
};

// ---- any geometry (CpuWindows.cpp) ----------------------------------------------------------------------------------

// Kernel by kernel; output, gradients and weights of one element type. beta is 0 or 1.
void ConvolveWindows(ThreadPool& pool, const ConvolutionGeometry& geometry, const MatrixView& weights,
                     const MatrixView& input, const MatrixView& output, const MatrixView& bias);
void WindowsInputGradient(ThreadPool& pool, const ConvolutionGeometry& geometry, const MatrixView& weights,
                          const MatrixView& gradient, const MatrixView& inputGradient, double beta);
void WindowsWeightGradient(ThreadPool& pool, const ConvolutionGeometry& geometry, const MatrixView& gradient,
                           const MatrixView& input, const MatrixView& weightGradient, double beta);
void PoolWindows(ThreadPool& pool, PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                 const MatrixView& output);
void PoolWindowsGradient(ThreadPool& pool, PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
                         const MatrixView& output, const MatrixView& gradient, const MatrixView& inputGradient,
                         double beta);

} // namespace cntk
