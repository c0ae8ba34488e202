// Convolution and pooling by a library, as the GPU backend asks for them: for some shapes, where there is such a
// library.
#pragma once

#include "Math/Gpu/GpuContext.h"
#include "Math/ImageOperations.h"

#include <functional>
#include <memory>
#include <string>

namespace cntk
{

// This class has none. The functions do what those of ImageKernels do (of a convolution all but its ending), or return
// false and have done nothing: then our own kernels do it. There is at least one sample.
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

} // namespace cntk
