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

UpdateCall CallOf(UpdateFormula formula, const UpdateStep& step)
{
    UpdateCall call;
    call.formula = formula;
    call.rate = step.rate;
    call.extras = step.extras;
    call.normLimit = step.normLimit;
    call.noiseDeviation = step.noiseDeviation;
    call.noise = step.noise;
    call.stop = step.stop;
    return call;
}

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

void Update(const UpdateCall& call, const MatrixView& parameter, const Matrix& state, const MatrixView& gradient)
{
    const size_t states = StatesOf(call.formula);
    if (parameter.columns == 0)
        return;
    const auto blocks = BlocksOf(state, parameter.columns);
    Ops::UpdateParameter(call, parameter, std::span(blocks.data(), states), gradient);
}

// S = m S + (1-m) rate G;  W -= S. For sparse gradients:  S = m S + (1-m) G;  W -= rate S.
class MomentumRule final : public UpdateRule
{
public:
    const char* Name() const override { return "none"; }
    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns* touched,
              const UpdateStep& step) override
    {
        if (!step.HasExtras())
            return Ops::MomentumUpdate(parameter, state, gradient, step.rate, step.momentum, touched);
        UpdateCall call = CallOf(UpdateFormula::Momentum, step);
        call.constants.momentum = step.momentum;
        call.constants.gain = 1 - step.momentum;
        call.touched = touched;
        if (!touched || touched->all)
        {
            call.constants.gain *= step.rate;
            call.rate = 1;
        }
        Update(call, parameter, state, gradient);
    }
};

// S = m S + (1-m) rate G;  W -= m S + (1-m) rate G
class NesterovRule final : public UpdateRule
{
public:
    const char* Name() const override { return "none"; }
    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns*,
              const UpdateStep& step) override
    {
        UpdateCall call = CallOf(UpdateFormula::Nesterov, step);
        call.constants.momentum = step.momentum;
        call.constants.gain = (1 - step.momentum) * step.rate;
        call.rate = 1;
        Update(call, parameter, state, gradient);
    }
};

// S += G^2;  q = 1 / sqrt(S + 1e-16);  W -= (rate / mean(q)) q G. For sparse gradients, only the touched columns are
// updated and counted in the mean of q: the huge q of words not seen yet would make all other steps vanish.
class AdaGradRule final : public UpdateRule
{
public:
    explicit AdaGradRule(bool normalizes) : m_normalizes(normalizes) {}

    const char* Name() const override { return "adagrad"; }
    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns* touched,
              const UpdateStep& step) override
    {
        UpdateCall call = CallOf(UpdateFormula::AdaGrad, step);
        call.constants.floor = 1e-16;
        call.normalizes = m_normalizes;
        call.touched = touched;
        Update(call, parameter, state, gradient);
    }

private:
    bool m_normalizes;
};

// The state holds variance V, sign Z and step P. P grows while the sign of the gradient remains the same, else shrinks;
// q = P / sqrt(V + 1e-6);  W -= (rate / mean(q)) q G. The first V is G^2. AdaGrad updates sparse gradients, same as in
// CNTK v1.1.
class RmsPropRule final : public UpdateRule
{
public:
    explicit RmsPropRule(const SgdOptions& options)
        : m_ofSparse(options.normWithAveMultiplier), m_gamma(options.rmsGamma),
          m_normalizes(options.normWithAveMultiplier)
    {
        m_constants.floor = double(1e-6f);
        m_constants.most = options.rmsWgtMax;
        m_constants.least = options.rmsWgtMin;
        m_constants.grow = options.rmsWgtInc;
        m_constants.shrink = options.rmsWgtDec;
    }

    const char* Name() const override { return "rmsProp"; }
    size_t StateColumns(size_t parameterColumns) const override { return 3 * parameterColumns; }
    bool LeavesSparseToAdaGrad() const override { return true; }

    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns* touched,
              const UpdateStep& step) override
    {
        if (touched)
        {
            GrowState(state, parameter, 1); // a checkpoint may hold the state of dense updates
            return m_ofSparse.Step(parameter, state, gradient, touched, step);
        }
        const bool isFirst = GrowState(state, parameter, 3);
        if (isFirst)
            Ops::Fill(state.View().Columns(2 * parameter.columns, parameter.columns), 0.02);
        UpdateCall call = CallOf(UpdateFormula::RmsProp, step);
        call.constants = m_constants;
        call.constants.keep = isFirst ? 0 : m_gamma;
        call.constants.squareGain = 1 - call.constants.keep;
        call.normalizes = m_normalizes;
        Update(call, parameter, state, gradient);
    }

private:
    AdaGradRule m_ofSparse;
    UpdateConstants<double> m_constants;
    double m_gamma;
    bool m_normalizes;
};

// V = k V + (1-k) G^2, k = exp(-n / 720000);  w = min(0.0025 sqrt(A) / sqrt(V), 10), 0 where V = 0;
// S = m S + (1-m) w G;  W -= rate S. With m = 0 W -= rate w G, and S stays as it was. A is the running mean of n over
// all updates of all parameters, earlier trainings of the process included. The state holds V and S. AdaGrad updates
// sparse gradients, same as in CNTK v1.1, and A does not count them.
class FSAdaGradRule final : public UpdateRule
{
public:
    FSAdaGradRule(const SgdOptions& options, double firstColumns)
        : m_ofSparse(options.normWithAveMultiplier), m_firstColumns(firstColumns)
    {
        counters = FirstCounters();
    }

    const char* Name() const override { return c_fsAdagradName.data(); }
    size_t StateColumns(size_t parameterColumns) const override { return 2 * parameterColumns; }
    std::array<double, 2> FirstCounters() const override { return {m_firstColumns, 0}; }
    bool LeavesSparseToAdaGrad() const override { return true; }

    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns* touched,
              const UpdateStep& step) override
    {
        if (touched)
        {
            GrowState(state, parameter, 1); // a checkpoint may hold the state of dense updates
            return m_ofSparse.Step(parameter, state, gradient, touched, step);
        }
        GrowState(state, parameter, 2);
        const double keep = std::exp(-double(step.columns) / 720000);
        double& meanColumns = counters[0];
        meanColumns = keep * meanColumns + (1 - keep) * double(step.columns);
        UpdateCall call = CallOf(UpdateFormula::FSAdaGrad, step);
        call.constants.momentum = step.momentum;
        call.constants.gain = 1 - step.momentum;
        call.constants.keep = keep;
        call.constants.squareGain = 1 - keep;
        call.constants.scale = 0.0025 * std::sqrt(meanColumns);
        call.constants.most = 10;
        Update(call, parameter, state, gradient);
    }

private:
    AdaGradRule m_ofSparse;
    double m_firstColumns;
};

// With the mean gradient g = G / n: S = m S + (1-m) g;  V = b V + (1-b) g^2;
// W -= rate n (S / s) / (sqrt(V / v) + epsilon), where s and v are the sums of the weights of all gradients in S and V.
// The state holds S and V, the counters s and v. rate n is the rate per minibatch: it is the size of a step, whatever
// the size of the gradient.
class AdamRule final : public UpdateRule
{
public:
    explicit AdamRule(const SgdOptions& options) : m_keep(options.adamBeta2), m_epsilon(options.adamEpsilon) {}

    const char* Name() const override { return "adam"; }
    size_t StateColumns(size_t parameterColumns) const override { return 2 * parameterColumns; }

    void BeginUpdate(double momentum) override
    {
        counters[0] = momentum * counters[0] + (1 - momentum);
        counters[1] = m_keep * counters[1] + (1 - m_keep);
    }

    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns*,
              const UpdateStep& step) override
    {
        GrowState(state, parameter, 2);
        const auto samples = double(step.columns);
        const double rootOfWeight = std::sqrt(counters[1]);
        UpdateCall call = CallOf(UpdateFormula::Adam, step);
        call.constants.momentum = step.momentum;
        call.constants.gain = (1 - step.momentum) / samples;
        call.constants.keep = m_keep;
        call.constants.squareGain = (1 - m_keep) / samples / samples;
        call.constants.floor = m_epsilon * rootOfWeight;
        call.rate = step.rate * samples * rootOfWeight / counters[0];
        Update(call, parameter, state, gradient);
    }

private:
    double m_keep;
    double m_epsilon;
};

} // namespace

bool UpdateStep::HasExtras() const
{
    return stop.data != nullptr || noiseDeviation != 0 || std::isfinite(normLimit) || extras.gradientScale != 1 ||
           std::isfinite(extras.gradientLimit) || extras.decay != 0 || extras.shrinkage != 0;
}

std::unique_ptr<UpdateRule> MakeUpdateRule(const SgdOptions& options, double fsAdagradColumns)
{
    const auto kind = options.useAdagrad ? GradientUpdateType::AdaGrad : options.gradUpdateType;
    switch (kind)
    {
    case GradientUpdateType::AdaGrad:
        return std::make_unique<AdaGradRule>(options.normWithAveMultiplier);
    case GradientUpdateType::RmsProp:
        return std::make_unique<RmsPropRule>(options);
    case GradientUpdateType::FSAdaGrad:
        return std::make_unique<FSAdaGradRule>(options, fsAdagradColumns);
    case GradientUpdateType::Adam:
        return std::make_unique<AdamRule>(options);
    case GradientUpdateType::None:
        break;
    }
    if (options.useNAG)
        return std::make_unique<NesterovRule>();
    return std::make_unique<MomentumRule>();
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
