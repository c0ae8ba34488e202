// The interface for convolution and pooling by a library, which computes some shapes.
#pragma once

#include "Math/Device.h"
#include "Math/Gpu/GpuContext.h"
#include "Math/ImageOperations.h"

#include <functional>
#include <memory>
#include <string>

namespace cntk
{

// This class computes nothing. Each function does the same as in ImageKernels, except for the ending of a convolution,
// and returns true; or it does nothing and returns false, and our own kernels compute. There is at least one sample.
class GpuDnn
{
public:
    explicit GpuDnn(std::string description) : m_description(std::move(description)) {}
    virtual ~GpuDnn() = default;
    GpuDnn(const GpuDnn&) = delete;
    GpuDnn& operator=(const GpuDnn&) = delete;

    const std::string& Describe() const { return m_description; } // "cuDNN 9.19"

    virtual bool Convolve(const ConvolutionGeometry&, const MatrixView& /*weights*/, const MatrixView& /*input*/,
                          const MatrixView& /*output*/)
    {
        return false;
    }
    virtual bool ConvolveInputGradient(const ConvolutionGeometry&, const MatrixView& /*weights*/,
                                       const MatrixView& /*gradient*/, const MatrixView& /*inputGradient*/,
                                       double /*beta*/)
    {
        return false;
    }
    virtual bool ConvolveWeightGradient(const ConvolutionGeometry&, const MatrixView& /*gradient*/,
                                        const MatrixView& /*input*/, const MatrixView& /*weightGradient*/,
                                        double /*beta*/)
    {
        return false;
    }
    virtual bool Pool(PoolKind, const WindowGeometry&, const MatrixView& /*input*/, const MatrixView& /*output*/)
    {
        return false;
    }
    virtual bool PoolGradient(PoolKind, const WindowGeometry&, const MatrixView& /*gradient*/,
                              const MatrixView& /*inputGradient*/, double /*beta*/)
    {
        return false;
    }

private:
    std::string m_description;
};

using DnnMaker = std::function<std::unique_ptr<GpuDnn>(GpuContext&)>;

// cuDNN, if it was found by this build and is found at run time.
std::unique_ptr<GpuDnn> MakeCuDnn(GpuContext& context, GpuMatrixMath math);

} // namespace cntk
