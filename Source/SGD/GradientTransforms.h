// What happens to a parameter's gradient before the update, and to the parameter after it: clipping, L2, noise, L1
// (spec engine-and-sgd.md 6, steps 1-3 and 5-6).
#pragma once

#include "Math/Matrix.h"
#include "SGD/TrainingOptions.h"

#include <cstdint>

namespace cntk
{

class GradientTransforms
{
public:
    GradientTransforms(const SgdOptions& options, DataType type, Device& device);

    // columns: of the minibatch, gaps included. sparse: only some columns of the gradient are touched; L2 leaves it
    // alone.
    void BeforeUpdate(const MatrixView& parameter, const MatrixView& gradient, size_t columns, bool sparse);
    // rate: per sample, the parameter's multiplier included.
    void AfterUpdate(const MatrixView& parameter, double rate, size_t columns);

    // Of the next noise matrix; checkpoints keep it.
    uint64_t NoiseSeed() const { return m_noiseSeed; }
    void SetNoiseSeed(uint64_t seed) { m_noiseSeed = seed; }

private:
    void Clip(const MatrixView& gradient, double limit);

    bool m_clips;
    bool m_clipsElements;
    double m_clippingThreshold;
    double m_l2Weight;
    double m_l1Weight;
    double m_noiseDeviation;
    uint64_t m_noiseSeed = 1;
    double m_limit = 0; // what m_low and m_high hold
    Matrix m_low;       // 1x1 operands of broadcasting operations
    Matrix m_high;
    Matrix m_threshold;
    Matrix m_noise;
};

} // namespace cntk
