// Update rules: how a gradient changes a parameter (book 2.3; gradUpdateType of 3.3.1.3).
#pragma once

#include "Common/SeedStream.h"
#include "Math/Matrix.h"
#include "Math/UpdateFormulas.h"
#include "SGD/TrainingOptions.h"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

namespace cntk
{

constexpr double c_noLimit = std::numeric_limits<double>::infinity();

// Numbers for one update of one parameter.
struct UpdateStep
{
    double rate = 0;     // per sample, the parameter's multiplier included
    double momentum = 0; // for the columns of this minibatch
    size_t columns = 0;  // of the minibatch, gaps included
    // Clipping, L2, noise and L1, in the same pass over memory. Fields have the meanings of UpdateCall's.
    UpdateExtras<double> extras = {};
    double normLimit = c_noLimit;
    double noiseDeviation = 0;
    NoiseDraw noise = {};
    MatrixView stop = {};

    bool HasExtras() const;
};

inline constexpr std::string_view c_fsAdagradName = "fsAdagrad"; // name of the rule in checkpoints

// One rule serves all parameters of a training. The rule keeps a state for each parameter, a matrix that checkpoints
// store.
class UpdateRule
{
public:
    virtual ~UpdateRule() = default;

    // Updates the parameter and its state. state: zeros of the parameter's shape at first, or as loaded from a
    // checkpoint. touched: the columns of the gradient that are not zero; null: all. The gradient's memory is undefined
    // afterwards.
    virtual void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient,
                      const TouchedColumns* touched, const UpdateStep& step) = 0;

    // The value of gradUpdateType, which checkpoints store with the states.
    virtual const char* Name() const = 0;

    // Returns the columns of the state of a parameter with so many columns after the first update.
    virtual size_t StateColumns(size_t parameterColumns) const { return parameterColumns; }

    // True if AdaGrad updates parameters with touched columns, with AdaGrad's state.
    virtual bool LeavesSparseToAdaGrad() const { return false; }

    // Called before the steps of a minibatch.
    virtual void BeginUpdate(double /*momentum*/) {}

    // Running statistics besides the states; checkpoints store them.
    std::array<double, 2> counters = {};
    virtual std::array<double, 2> FirstCounters() const { return {}; }
};

// fsAdagradColumns: initial mean size of a minibatch for FSAdaGrad.
std::unique_ptr<UpdateRule> MakeUpdateRule(const SgdOptions& options, double fsAdagradColumns = 0);

constexpr uint64_t c_firstNoise = 1; // number of the first noise draw of a training

// Clipping and L2 of the gradient before the update, noise and L1 of the parameter after it (book 3.3.1.3).
class GradientTransforms
{
public:
    explicit GradientTransforms(const SgdOptions& options, uint64_t trainingSeed = 0);

    // Before UpdateRule::Step: adds the transforms to the step. With touched columns, adds clipping only: L2 is left
    // out, and Finish does the rest.
    void Prepare(UpdateStep& step, const TouchedColumns* touched) const;
    // After UpdateRule::Step, with the same arguments. Applies noise and L1 to all columns if the step updated touched
    // columns only.
    void Finish(const MatrixView& parameter, const UpdateStep& step, const TouchedColumns* touched);

    // Number of the next noise draw; checkpoints store it.
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
    NoiseDraw m_noise; // the next draw
};

} // namespace cntk
