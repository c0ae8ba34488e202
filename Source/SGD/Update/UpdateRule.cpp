// The update rules: what the numbers of each formula are, and what it remembers of a parameter.
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

// Blocks of the parameter's size, side by side in the state.
std::array<MatrixView, c_mostUpdateStates> BlocksOf(const Matrix& state, size_t columns)
{
    std::array<MatrixView, c_mostUpdateStates> blocks;
    const MatrixView view = state.View();
    for (size_t i = 0; i < state.Columns() / columns; ++i)
        blocks[i] = view.Columns(i * columns, columns);
    return blocks;
}

// The state has its blocks from the first update on; until then checkpoints hold one.
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

// S = m S + (1-m) rate G;  W -= S. Of a sparse gradient the rate stays out of S.
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

// S as above;  W -= m S + (1-m) rate G
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

// S += G^2;  q = 1 / sqrt(S + 1e-16);  W -= (rate / mean(q)) q G. Of a sparse gradient the touched columns alone take
// part, in the mean of q as well: the huge multipliers of words not seen yet would make all others vanish.
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

// Variance V, sign Z and step P side by side in the state. P grows while the sign of the gradient stays, else shrinks;
// q = P / sqrt(V + 1e-6);  W -= (rate / mean(q)) q G. The first V is G^2. Sparse gradients are AdaGrad's, as in the
// original: in the mean of q over all columns, those of words that are not in the minibatch would make the others
// vanish.
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
            GrowState(state, parameter, 1); // another size: of a program that updated them as dense ones
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
// all updates of all parameters, earlier trainings of the process included; V and S lie side by side in the state.
// AdaGrad updates sparse gradients, same as in CNTK v1.1, and they do not count in A.
class FSAdaGradRule final : public UpdateRule
{
public:
    FSAdaGradRule(const SgdOptions& options, double firstColumns)
        : m_ofSparse(options.normWithAveMultiplier), m_firstColumns(firstColumns), m_meanColumns(firstColumns)
    {
    }

    const char* Name() const override { return c_fsAdagradName.data(); }
    size_t StateColumns(size_t parameterColumns) const override { return 2 * parameterColumns; }
    double FirstCounter() const override { return m_firstColumns; }
    double Counter() const override { return m_meanColumns; }
    void SetCounter(double value) override { m_meanColumns = value; }
    bool LeavesSparseToAdaGrad() const override { return true; }

    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns* touched,
              const UpdateStep& step) override
    {
        if (touched)
        {
            GrowState(state, parameter, 1); // another size: of a program that updated them as dense ones
            return m_ofSparse.Step(parameter, state, gradient, touched, step);
        }
        GrowState(state, parameter, 2);
        const double keep = std::exp(-double(step.columns) / 720000);
        m_meanColumns = keep * m_meanColumns + (1 - keep) * double(step.columns);
        UpdateCall call = CallOf(UpdateFormula::FSAdaGrad, step);
        call.constants.momentum = step.momentum;
        call.constants.gain = 1 - step.momentum;
        call.constants.keep = keep;
        call.constants.squareGain = 1 - keep;
        call.constants.scale = 0.0025 * std::sqrt(m_meanColumns);
        call.constants.most = 10;
        Update(call, parameter, state, gradient);
    }

private:
    AdaGradRule m_ofSparse;
    double m_firstColumns;
    double m_meanColumns;
};

// With the mean gradient g = G / n: S = m S + (1-m) g;  V = b V + (1-b) g^2;
// W -= rate n (S / s) / (sqrt(V / v) + epsilon), where s and v are what the weights of all gradients in S and V add up
// to. S and V lie side by side in the state. rate n is the rate per minibatch: it is the size of a step, whatever the
// size of the gradient.
class AdamRule final : public UpdateRule
{
public:
    explicit AdamRule(const SgdOptions& options) : m_keep(options.adamBeta2), m_epsilon(options.adamEpsilon) {}

    const char* Name() const override { return "adam"; }
    size_t StateColumns(size_t parameterColumns) const override { return 2 * parameterColumns; }
    double Counter() const override { return m_meanWeight; }
    void SetCounter(double value) override { m_meanWeight = value; }
    double SecondCounter() const override { return m_squareWeight; }
    void SetSecondCounter(double value) override { m_squareWeight = value; }

    void BeginUpdate(double momentum) override
    {
        m_meanWeight = momentum * m_meanWeight + (1 - momentum);
        m_squareWeight = m_keep * m_squareWeight + (1 - m_keep);
    }

    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns*,
              const UpdateStep& step) override
    {
        GrowState(state, parameter, 2);
        const auto samples = double(step.columns);
        const double rootOfWeight = std::sqrt(m_squareWeight);
        UpdateCall call = CallOf(UpdateFormula::Adam, step);
        call.constants.momentum = step.momentum;
        call.constants.gain = (1 - step.momentum) / samples;
        call.constants.keep = m_keep;
        call.constants.squareGain = (1 - m_keep) / samples / samples;
        call.constants.floor = m_epsilon * rootOfWeight;
        call.rate = step.rate * samples * rootOfWeight / m_meanWeight;
        Update(call, parameter, state, gradient);
    }

private:
    double m_keep;
    double m_epsilon;
    double m_meanWeight = 0;
    double m_squareWeight = 0;
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

} // namespace cntk
