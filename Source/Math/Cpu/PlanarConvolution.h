// Convolutions over one or two axes with all channels (PlanarForm): without unfolding the image, sample by sample in
// the cache.
#pragma once

#include "Math/Cpu/AlignedMemory.h"
#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/PlanarForm.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/ImageOperations.h"

#include <cstddef>
#include <vector>

namespace cntk
{

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
