// Clipping, regularization and noise: what the update is told, and what is left to do behind it.
#include "SGD/Update/GradientTransforms.h"

#include "Math/UpdateRules.h"

#include <cmath>

namespace cntk
{

GradientTransforms::GradientTransforms(const SgdOptions& options, uint64_t trainingSeed)
    : m_clips(std::isfinite(options.clippingThresholdPerSample)),
      m_clipsElements(options.gradientClippingWithTruncation), m_clippingThreshold(options.clippingThresholdPerSample),
      m_l2Weight(options.l2RegWeight), m_l1Weight(options.l1RegWeight),
      m_noiseDeviation(options.gaussianNoiseInjectStd), m_noise{SeedStream(trainingSeed, "noise")(1), c_firstNoise}
{
}

void GradientTransforms::Prepare(UpdateStep& step, const TouchedColumns* touched) const
{
    step.extras = {};
    step.normLimit = c_noLimit;
    step.noiseDeviation = 0;
    const double limit = m_clippingThreshold * double(step.columns);
    if (m_clips && m_clipsElements)
        step.extras.gradientLimit = limit;
    else if (m_clips)
        step.normLimit = limit;
    if (touched != nullptr)
        return;
    step.extras.decay = m_l2Weight * double(step.columns);
    step.extras.shrinkage = Shrinkage(step);
    step.noiseDeviation = m_noiseDeviation;
    step.noise = m_noise;
}

void GradientTransforms::Finish(const MatrixView& parameter, const UpdateStep& step, const TouchedColumns* touched)
{
    if (touched != nullptr)
    {
        UpdateCall call;
        call.formula = UpdateFormula::Extras;
        call.extras.shrinkage = Shrinkage(step);
        call.noiseDeviation = m_noiseDeviation;
        call.noise = m_noise;
        call.stop = step.stop;
        if (call.extras.shrinkage != 0 || call.noiseDeviation != 0)
            Ops::UpdateParameter(call, parameter, {}, parameter);
    }
    if (m_noiseDeviation != 0)
        ++m_noise.number;
}

} // namespace cntk
