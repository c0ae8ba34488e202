// Images on the CPU. Convolutions over one or two axes with all channels run without unfolding the image, sample by
// sample in the cache; any others (more axes, kernels that are not shared) over a walk along the windows.
#pragma once

#include "Math/Cpu/ImageIsa.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/Cpu/VectorKernels.h"
#include "Math/ImageKernels.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace cntk
{

class CpuImageKernels final : public ImageKernels
{
public:
    CpuImageKernels(ThreadPool& pool, InstructionSet instructionSet);

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
    // Memory that grows and is kept: a steady state allocates nothing.
    class Scratch
    {
    public:
        template <class T>
        T* Of(size_t elements)
        {
            return static_cast<T*>(Reserve(elements * sizeof(T)));
        }

    private:
        struct Release
        {
            void operator()(std::byte* memory) const;
        };
        void* Reserve(size_t bytes);

        std::unique_ptr<std::byte, Release> m_memory;
        size_t m_bytes = 0;
    };
    // Of one thread.
    struct ThreadMemory
    {
        Scratch image;
        Scratch pixels;
        Scratch planes;
    };

    template <class T>
    const ImageIsa<T>& Isa() const
    {
        if constexpr (sizeof(T) == sizeof(float))
            return *m_isa.floats;
        else
            return *m_isa.doubles;
    }
    template <class T>
    const VectorKernels<T>& Vector() const
    {
        return VectorKernelsFor<T>(m_instructionSet);
    }

    struct PlanarForm;
    static bool IsPlanar(const ConvolutionGeometry& geometry, PlanarForm& form);
    size_t Tasks(const ConvolutionGeometry& geometry, size_t samples, size_t mostPerThread) const;

    // Memory for each thread before the threads start: a job must not fail.
    template <class T>
    void ReserveThreads(size_t imageElements, size_t pixelElements, size_t planeElements);
    template <class T>
    const T* PackWeights(const ConvolutionGeometry& geometry, const PlanarForm& form, const MatrixView& weights);
    template <class T>
    const T* PackTurnedWeights(const ConvolutionGeometry& geometry, const PlanarForm& form, const MatrixView& weights);
    template <class T>
    const T* PaddedImage(const PlanarForm& form, const T* image, ThreadMemory& memory) const;
    template <class T>
    const T* SpreadGradient(const PlanarForm& form, const T* gradient, ThreadMemory& memory) const;
    template <class T>
    const T* PixelsOfGradient(const PlanarForm& form, const T* gradient, size_t stride, ThreadMemory& memory) const;

    template <class T>
    void ConvolvePlanar(const ConvolutionGeometry& geometry, const PlanarForm& form, const MatrixView& weights,
                        const MatrixView& input, const MatrixView& output, const ConvolutionEnding& ending);
    template <class T>
    void PlanarInputGradient(const ConvolutionGeometry& geometry, const PlanarForm& form, const MatrixView& weights,
                             const MatrixView& gradient, const MatrixView& inputGradient, T beta);
    template <class T>
    void PlanarWeightGradient(const ConvolutionGeometry& geometry, const PlanarForm& form, const MatrixView& gradient,
                              const MatrixView& input, const MatrixView& weightGradient, T beta);

    ThreadPool& m_pool;
    InstructionSet m_instructionSet;
    ImageIsaSet m_isa;
    std::vector<ThreadMemory> m_memory;
    Scratch m_weights; // packed
    Scratch m_bias;
    Scratch m_partial; // gradients of weights, one for each task
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
