// What happens to a parameter's gradient before the update, and to the parameter after it: clipping, L2, noise, L1
// (book 3.3.1.3). The update itself does it in its pass over memory.
#pragma once

#include "Common/SeedStream.h"
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

    // Tells the step what it has to do on its way. sparse: only some columns of the gradient are touched; L2 leaves it
    // alone.
    void Prepare(UpdateStep& step, bool sparse) const;
    // After the step: noise and L1 are about all columns, which a sparse step leaves alone.
    void Finish(const MatrixView& parameter, const UpdateStep& step, bool sparse);

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
