// Clipping, regularization and noise by whole-matrix operations, so that every backend can run them.
#include "SGD/GradientTransforms.h"

#include "Math/Operations.h"

#include <cmath>

namespace cntk
{

GradientTransforms::GradientTransforms(const SgdOptions& options, DataType type, Device& device)
    : m_clips(std::isfinite(options.clippingThresholdPerSample)),
      m_clipsElements(options.gradientClippingWithTruncation), m_clippingThreshold(options.clippingThresholdPerSample),
      m_l2Weight(options.l2RegWeight), m_l1Weight(options.l1RegWeight),
      m_noiseDeviation(options.gaussianNoiseInjectStd), m_low(1, 1, type, device), m_high(1, 1, type, device),
      m_threshold(1, 1, type, device)
{
    if (m_noiseDeviation > 0)
        m_noise = Matrix(0, 0, type, device);
}

void GradientTransforms::Clip(const MatrixView& gradient, double limit)
{
    if (!m_clipsElements)
    {
        const double norm = Ops::FrobeniusNorm(gradient);
        if (norm > limit)
            Ops::Scale(gradient, limit / norm);
        return;
    }
    if (limit != m_limit)
    {
        Ops::Fill(m_low, -limit);
        Ops::Fill(m_high, limit);
        m_limit = limit;
    }
    Ops::Elementwise(ElementwiseOp::Clip, TensorView(gradient), TensorView(m_low.View()), TensorView(m_high.View()),
                     TensorView(gradient));
}

void GradientTransforms::BeforeUpdate(const MatrixView& parameter, const MatrixView& gradient, size_t columns,
                                      bool sparse)
{
    if (m_clips)
        Clip(gradient, m_clippingThreshold * double(columns));
    if (m_l2Weight > 0 && !sparse)
        Ops::Elementwise(ElementwiseOp::Copy, TensorView(parameter), TensorView(gradient), m_l2Weight * double(columns),
                         1);
}

void GradientTransforms::AfterUpdate(const MatrixView& parameter, double rate, size_t columns)
{
    if (m_noiseDeviation > 0)
    {
        m_noise.Resize(parameter.rows, parameter.columns);
        Ops::FillGaussian(m_noise, 0, m_noiseDeviation, m_noiseSeed++);
        Ops::Elementwise(ElementwiseOp::Copy, TensorView(m_noise.View()), TensorView(parameter), 1, 1);
    }
    if (m_l1Weight > 0)
    {
        Ops::Fill(m_threshold, rate * m_l1Weight * double(columns));
        Ops::Elementwise(ElementwiseOp::SoftThreshold, TensorView(parameter), TensorView(m_threshold.View()),
                         TensorView(parameter));
    }
}

} // namespace cntk
