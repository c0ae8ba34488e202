// Clipping, regularization and noise: what the update is told, and what is left to do behind it.
#include "SGD/GradientTransforms.h"

#include "Math/Operations.h"
#include "Math/UpdateRules.h"

#include <cmath>
#include <span>

namespace cntk
{

GradientTransforms::GradientTransforms(const SgdOptions& options, DataType type, Device& device, uint64_t trainingSeed)
    : m_clips(std::isfinite(options.clippingThresholdPerSample)),
      m_clipsElements(options.gradientClippingWithTruncation), m_clippingThreshold(options.clippingThresholdPerSample),
      m_l2Weight(options.l2RegWeight), m_l1Weight(options.l1RegWeight),
      m_noiseDeviation(options.gaussianNoiseInjectStd), m_noiseSeeds(trainingSeed, "noise"),
      m_shrinkage(1, 1, type, device), m_threshold(1, 1, type, device)
{
    if (m_noiseDeviation > 0)
        m_noise = Matrix(0, 0, type, device);
}

void GradientTransforms::Prepare(UpdateStep& step, bool sparse) const
{
    step.extras = {};
    step.normLimit = c_noLimit;
    const double limit = m_clippingThreshold * double(step.columns);
    if (m_clips && m_clipsElements)
        step.extras.gradientLimit = limit;
    else if (m_clips)
        step.normLimit = limit;
    if (!sparse)
        step.extras.decay = m_l2Weight * double(step.columns);
    // Noise comes before L1, and L1 is about all columns.
    if (!sparse && m_noiseDeviation <= 0)
        step.extras.shrinkage = Shrinkage(step);
}

// Both are steps along what is at hand, so that they are not taken either where the update is not.
void GradientTransforms::Finish(const MatrixView& parameter, const UpdateStep& step)
{
    UpdateCall call;
    call.rate = -1;
    call.stop = step.stop;
    if (m_noiseDeviation > 0)
    {
        m_noise.Resize(parameter.rows, parameter.columns);
        Ops::FillGaussian(m_noise, 0, m_noiseDeviation, m_noiseSeeds(m_noiseSeed++));
        const MatrixView noise = m_noise;
        Ops::UpdateParameter(call, parameter, std::span(&noise, 1), noise);
    }
    if (const double shrinkage = Shrinkage(step); shrinkage > 0 && step.extras.shrinkage == 0)
    {
        Ops::Fill(m_shrinkage, shrinkage);
        Ops::Fill(m_threshold, 0);
        const MatrixView amount = m_shrinkage;
        Ops::UpdateParameter(call, m_threshold, std::span(&amount, 1), amount);
        Ops::Elementwise(ElementwiseOp::SoftThreshold, TensorView(parameter), TensorView(m_threshold.View()),
                         TensorView(parameter));
    }
}

} // namespace cntk
