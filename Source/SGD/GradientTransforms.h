// What happens to a parameter's gradient before the update, and to the parameter after it: clipping, L2, noise, L1.
// Most of it is done by the update itself, in its pass over memory.
#pragma once

#include "Common/SeedStream.h"
#include "Math/Matrix.h"
#include "SGD/TrainingOptions.h"
#include "SGD/UpdateRule.h"

#include <cstdint>

namespace cntk
{

class GradientTransforms
{
public:
    GradientTransforms(const SgdOptions& options, DataType type, Device& device, uint64_t trainingSeed = 0);

    // Tells the step what it has to do on its way. sparse: only some columns of the gradient are touched; L2 leaves it
    // alone.
    void Prepare(UpdateStep& step, bool sparse) const;
    // After the step: noise, and L1 where it could not be a part of the step.
    void Finish(const MatrixView& parameter, const UpdateStep& step);

    // Number of the next noise matrix's seed; checkpoints keep it.
    uint64_t NoiseSeed() const { return m_noiseSeed; }
    void SetNoiseSeed(uint64_t seed) { m_noiseSeed = seed; }

private:
    double Shrinkage(const UpdateStep& step) const { return step.rate * m_l1Weight * double(step.columns); }

    bool m_clips;
    bool m_clipsElements;
    double m_clippingThreshold;
    double m_l2Weight;
    double m_l1Weight;
    double m_noiseDeviation;
    SeedStream m_noiseSeeds;
    uint64_t m_noiseSeed = 1;
    Matrix m_shrinkage; // 1x1: how far L1 goes,
    Matrix m_threshold; // and, as an operand, how far it may go
    Matrix m_noise;
};

} // namespace cntk
