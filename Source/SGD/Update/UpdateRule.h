// Update rules: how a gradient changes a parameter (book 2.3; gradUpdateType of 3.3.1.3).
#pragma once

#include "Common/Random.h"
#include "Math/Matrix.h"
#include "Math/UpdateRules.h"
#include "SGD/TrainingOptions.h"

#include <array>
#include <cstdint>
#include <limits>
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

// The rule of a training, the same for all parameters. It keeps a state for each parameter, a matrix that checkpoints
// store.
class UpdateRule
{
public:
    // fsAdagradColumns: initial mean size of a minibatch for FSAdaGrad.
    explicit UpdateRule(const SgdOptions& options, double fsAdagradColumns = 0);

    // Updates the parameter and its state. state: zeros of the parameter's shape at first, or as loaded from a
    // checkpoint. touched: the columns of the gradient that are not zero; null: all. The gradient's memory is undefined
    // afterwards.
    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns* touched,
              const UpdateStep& step);

    // True for gradUpdateType=None without Nesterov's momentum.
    bool IsMomentum() const { return m_formula == UpdateFormula::Momentum; }
    // The value of gradUpdateType, which checkpoints store with the states.
    const char* Name() const;

    // Returns the columns of the state of a parameter with so many columns after the first update.
    size_t StateColumns(size_t parameterColumns) const;

    // True if AdaGrad updates parameters with touched columns, with AdaGrad's state, same as in CNTK v1.1.
    bool LeavesSparseToAdaGrad() const
    {
        return m_formula == UpdateFormula::RmsProp || m_formula == UpdateFormula::FSAdaGrad;
    }

    // Called before the steps of a minibatch.
    void BeginUpdate(double momentum);

    // Running statistics besides the states, which checkpoints store. FSAdaGrad: mean size of a minibatch. Adam: sums
    // of the weights of all gradients in S and V.
    std::array<double, 2> counters = {};
    std::array<double, 2> FirstCounters() const { return {m_firstColumns, 0}; }

private:
    void SetConstants(UpdateCall& call, const UpdateStep& step, bool isFirst);
    void SetFSAdaGrad(UpdateCall& call, const UpdateStep& step);
    void SetAdam(UpdateCall& call, const UpdateStep& step) const;

    UpdateFormula m_formula;
    bool m_normalizes;                      // AdaGrad, RmsProp
    UpdateConstants<double> m_rmsProp = {}; // limits and factors of RmsProp
    double m_keep;                          // share of the old variance that RmsProp or Adam keeps
    double m_epsilon;                       // Adam
    double m_firstColumns = 0;              // FSAdaGrad
};

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
