// What happens to a parameter's gradient before the update, and to the parameter after it: clipping, L2, noise, L1
// (book 3.3.1.3). The update itself does it in its pass over memory.
#pragma once

#include "Common/Random.h"
#include "Math/Matrix.h"
#include "SGD/TrainingOptions.h"
#include "SGD/Update/UpdateRule.h"

#include <cstdint>

namespace cntk
{

constexpr uint64_t c_firstNoise = 1; // number of a training's first draw of noise

class GradientTransforms
{
public:
    explicit GradientTransforms(const SgdOptions& options, uint64_t trainingSeed = 0);

    // Before UpdateRule::Step: tells the step what else it has to do in its pass over memory. touched: as Step has it.
    // With touched columns the step only clips; L2 is left out, and the rest is done by Finish.
    void Prepare(UpdateStep& step, const TouchedColumns* touched) const;
    // After UpdateRule::Step, with what Prepare was given. Noise and L1 change all columns of the parameter, of which a
    // step with touched columns passes over most.
    void Finish(const MatrixView& parameter, const UpdateStep& step, const TouchedColumns* touched);

    // Number of the next draw of noise; checkpoints keep it.
    uint64_t NoiseNumber() const { return m_noise.number; }
    void SetNoiseNumber(uint64_t number) { m_noise.number = number; }

private:
    double Shrinkage(const UpdateStep& step) const { return step.rate * m_l1Weight * double(step.columns); }

    bool m_clips;
    bool m_clipsElements;
    double m_clippingThreshold;
    double m_l2Weight;
    double m_l1Weight;
    double m_noiseDeviation;
    NoiseDraw m_noise; // the next one
};

} // namespace cntk
