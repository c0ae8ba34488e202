#include "SGD/Update/UpdateRule.h"

#include "Math/Operations.h"
#include "Math/UpdateRules.h"

#include <array>
#include <cmath>
#include <span>

namespace cntk
{

namespace
{

// Returns the blocks of the parameter's shape that lie next to each other in the state.
std::array<MatrixView, c_mostUpdateStates> BlocksOf(const Matrix& state, size_t columns)
{
    std::array<MatrixView, c_mostUpdateStates> blocks;
    const MatrixView view = state.View();
    for (size_t i = 0; i < state.Columns() / columns; ++i)
        blocks[i] = view.Columns(i * columns, columns);
    return blocks;
}

// Gives the state its blocks at the first update, until when checkpoints hold one block. Returns true if it did so.
bool GrowState(Matrix& state, const MatrixView& parameter, size_t blocks)
{
    if (state.Columns() == blocks * parameter.columns)
        return false;
    state.Resize(parameter.rows, blocks * parameter.columns);
    state.SetZero();
    return true;
}

UpdateFormula FormulaOf(const SgdOptions& options)
{
    switch (options.useAdagrad ? GradientUpdateType::AdaGrad : options.gradUpdateType)
    {
    case GradientUpdateType::AdaGrad:
        return UpdateFormula::AdaGrad;
    case GradientUpdateType::RmsProp:
        return UpdateFormula::RmsProp;
    case GradientUpdateType::FSAdaGrad:
        return UpdateFormula::FSAdaGrad;
    case GradientUpdateType::Adam:
        return UpdateFormula::Adam;
    case GradientUpdateType::None:
        break;
    }
    return options.useNAG ? UpdateFormula::Nesterov : UpdateFormula::Momentum;
}

} // namespace

bool UpdateStep::HasExtras() const
{
    return stop.data != nullptr || noiseDeviation != 0 || std::isfinite(normLimit) || extras.gradientScale != 1 ||
           std::isfinite(extras.gradientLimit) || extras.decay != 0 || extras.shrinkage != 0;
}

UpdateRule::UpdateRule(const SgdOptions& options, double fsAdagradColumns)
    : m_formula(FormulaOf(options)), m_normalizes(options.normWithAveMultiplier),
      m_keep(m_formula == UpdateFormula::Adam ? options.adamBeta2 : options.rmsGamma), m_epsilon(options.adamEpsilon)
{
    m_rmsProp.floor = double(1e-6f);
    m_rmsProp.most = options.rmsWgtMax;
    m_rmsProp.least = options.rmsWgtMin;
    m_rmsProp.grow = options.rmsWgtInc;
    m_rmsProp.shrink = options.rmsWgtDec;
    if (m_formula == UpdateFormula::FSAdaGrad)
        m_firstColumns = fsAdagradColumns;
    counters = FirstCounters();
}

const char* UpdateRule::Name() const
{
    switch (m_formula)
    {
    case UpdateFormula::AdaGrad:
        return "adagrad";
    case UpdateFormula::RmsProp:
        return "rmsProp";
    case UpdateFormula::FSAdaGrad:
        return c_fsAdagradName.data();
    case UpdateFormula::Adam:
        return "adam";
    default:
        return "none";
    }
}

size_t UpdateRule::StateColumns(size_t parameterColumns) const
{
    return StatesOf(m_formula) * parameterColumns;
}

void UpdateRule::BeginUpdate(double momentum)
{
    if (m_formula != UpdateFormula::Adam)
        return;
    counters[0] = momentum * counters[0] + (1 - momentum);
    counters[1] = m_keep * counters[1] + (1 - m_keep);
}

void UpdateRule::Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient,
                      const TouchedColumns* touched, const UpdateStep& step)
{
    if (IsMomentum() && !step.HasExtras())
        return Ops::MomentumUpdate(parameter, state, gradient, step.rate, step.momentum, touched);
    UpdateCall call;
    call.formula = touched != nullptr && LeavesSparseToAdaGrad() ? UpdateFormula::AdaGrad : m_formula;
    call.rate = step.rate;
    call.extras = step.extras;
    call.normLimit = step.normLimit;
    call.noiseDeviation = step.noiseDeviation;
    call.noise = step.noise;
    call.stop = step.stop;
    if (IsMomentum() || call.formula == UpdateFormula::AdaGrad) // the other formulas change all columns
        call.touched = touched;
    // A checkpoint may hold a single block, or the state of another kind of updates.
    const bool isFirst = GrowState(state, parameter, StatesOf(call.formula));
    if (isFirst && call.formula == UpdateFormula::RmsProp)
        Ops::Fill(state.View().Columns(2 * parameter.columns, parameter.columns), 0.02);
    SetConstants(call, step, isFirst);
    if (parameter.columns == 0)
        return;
    const auto blocks = BlocksOf(state, parameter.columns);
    Ops::UpdateParameter(call, parameter, std::span(blocks.data(), StatesOf(call.formula)), gradient);
}

// Momentum:  S = m S + (1-m) rate G;  W -= S. For sparse gradients:  S = m S + (1-m) G;  W -= rate S.
// Nesterov:  S = m S + (1-m) rate G;  W -= m S + (1-m) rate G
// AdaGrad:  S += G^2;  q = 1 / sqrt(S + 1e-16);  W -= (rate / mean(q)) q G. For sparse gradients, only the touched
// columns are updated and counted in the mean of q: the huge q of words not seen yet would make all other steps vanish.
// RmsProp:  the state holds variance V, sign Z and step P. P grows while the sign of the gradient remains the same,
// else it shrinks;  q = P / sqrt(V + 1e-6);  W -= (rate / mean(q)) q G. The first V is G^2.
void UpdateRule::SetConstants(UpdateCall& call, const UpdateStep& step, bool isFirst)
{
    call.constants.momentum = step.momentum;
    call.constants.gain = 1 - step.momentum;
    switch (call.formula)
    {
    case UpdateFormula::Momentum:
    case UpdateFormula::Nesterov:
        if (call.touched != nullptr && !call.touched->all)
            return;
        call.constants.gain *= step.rate;
        call.rate = 1;
        return;
    case UpdateFormula::AdaGrad:
        call.constants.floor = 1e-16;
        call.normalizes = m_normalizes;
        return;
    case UpdateFormula::RmsProp:
        call.constants = m_rmsProp;
        call.constants.keep = isFirst ? 0 : m_keep;
        call.constants.squareGain = 1 - call.constants.keep;
        call.normalizes = m_normalizes;
        return;
    case UpdateFormula::FSAdaGrad:
        return SetFSAdaGrad(call, step);
    case UpdateFormula::Adam:
        return SetAdam(call, step);
    default:
        return;
    }
}

// V = k V + (1-k) G^2, k = exp(-n / 720000);  w = min(0.0025 sqrt(A) / sqrt(V), 10), 0 where V = 0;
// S = m S + (1-m) w G;  W -= rate S. With m = 0 W -= rate w G, and S stays as it was. A is the running mean of n over
// all updates of all parameters with dense gradients, earlier trainings of the process included. The state holds V, S.
void UpdateRule::SetFSAdaGrad(UpdateCall& call, const UpdateStep& step)
{
    const double keep = std::exp(-double(step.columns) / 720000);
    double& meanColumns = counters[0];
    meanColumns = keep * meanColumns + (1 - keep) * double(step.columns);
    call.constants.keep = keep;
    call.constants.squareGain = 1 - keep;
    call.constants.scale = 0.0025 * std::sqrt(meanColumns);
    call.constants.most = 10;
}

// With the mean gradient g = G / n: S = m S + (1-m) g;  V = b V + (1-b) g^2;
// W -= rate n (S / s) / (sqrt(V / v) + epsilon), where s and v are the sums of the weights of all gradients in S and V.
// The state holds S and V. rate n is the rate per minibatch: it is the size of a step, whatever the size of the
// gradient.
void UpdateRule::SetAdam(UpdateCall& call, const UpdateStep& step) const
{
    const auto samples = double(step.columns);
    const double rootOfWeight = std::sqrt(counters[1]);
    call.constants.gain = (1 - step.momentum) / samples;
    call.constants.keep = m_keep;
    call.constants.squareGain = (1 - m_keep) / samples / samples;
    call.constants.floor = m_epsilon * rootOfWeight;
    call.rate = step.rate * samples * rootOfWeight / counters[0];
}

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
