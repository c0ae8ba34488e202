// The update rules. Plain descent is one fused operation; the others are written with the element-wise operations that
// every backend has.
#include "SGD/UpdateRule.h"

#include "Math/Operations.h"

#include <cmath>

namespace cntk
{

namespace
{

void Apply(ElementwiseOp op, const MatrixView& a, const MatrixView& output, double alpha = 1, double beta = 0)
{
    Ops::Elementwise(op, TensorView(a), TensorView(output), alpha, beta);
}

void Apply(ElementwiseOp op, const MatrixView& a, const MatrixView& b, const MatrixView& output, double alpha = 1,
           double beta = 0)
{
    Ops::Elementwise(op, TensorView(a), TensorView(b), TensorView(output), alpha, beta);
}

Matrix Constant(double value, DataType type, Device& device)
{
    Matrix matrix(1, 1, type, device);
    Ops::Fill(matrix, value);
    return matrix;
}

// S = m S + (1-m) rate G;  W -= S
class MomentumRule final : public UpdateRule
{
public:
    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns* touched,
              const UpdateStep& step) override
    {
        Ops::MomentumUpdate(parameter, state, gradient, step.rate, step.momentum, touched);
    }
};

// S as above;  W -= m S + (1-m) rate G
class NesterovRule final : public UpdateRule
{
public:
    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns*,
              const UpdateStep& step) override
    {
        const double gain = (1 - step.momentum) * step.rate;
        Apply(ElementwiseOp::Copy, gradient, state, gain, step.momentum);
        Apply(ElementwiseOp::Copy, state, parameter, -step.momentum, 1);
        Apply(ElementwiseOp::Copy, gradient, parameter, -gain, 1);
    }
};

// What adagrad and rmsprop share: multipliers q per element, W -= (rate / mean(q)) q G.
class MultiplierRule : public UpdateRule
{
protected:
    MultiplierRule(bool normalize, DataType type, Device& device)
        : m_multipliers(0, 0, type, device), m_sum(1, 1, type, device), m_normalize(normalize)
    {
    }

    // Grows at the first update of the largest parameter only.
    MatrixView MultipliersFor(const MatrixView& parameter, size_t columns)
    {
        m_multipliers.Resize(parameter.rows, columns);
        return m_multipliers;
    }
    MatrixView MultipliersFor(const MatrixView& parameter) { return MultipliersFor(parameter, parameter.columns); }

    // The rate by which multipliers times gradient are subtracted.
    double RateOver(double rate)
    {
        if (!m_normalize)
            return rate;
        Ops::SumAll(m_multipliers, m_sum);
        return rate * double(m_multipliers.Elements()) / Ops::ScalarOf(m_sum);
    }

    void Descend(const MatrixView& parameter, const MatrixView& gradient, double rate)
    {
        Apply(ElementwiseOp::Product, m_multipliers, gradient, parameter, -RateOver(rate), 1);
    }

private:
    Matrix m_multipliers;
    Matrix m_sum;
    bool m_normalize;
};

// Calls visit(first column, columns, how many touched ones came before) for each run of touched columns.
template <class Visit>
void ForRuns(const TouchedColumns& touched, const Visit& visit)
{
    const std::vector<int32_t>& columns = touched.columns;
    for (size_t begin = 0, end = 0; begin < columns.size(); begin = end)
    {
        end = begin + 1;
        while (end < columns.size() && columns[end] == columns[end - 1] + 1)
            ++end;
        visit(size_t(columns[begin]), end - begin, begin);
    }
}

// S += G^2;  q = 1 / sqrt(S + 1e-16). Of a sparse gradient the touched columns alone take part, in the mean of q as
// well: the huge multipliers of words not seen yet would make all others vanish.
class AdaGradRule final : public MultiplierRule
{
public:
    AdaGradRule(bool normalize, DataType type, Device& device)
        : MultiplierRule(normalize, type, device), m_floor(Constant(1e-16, type, device))
    {
    }

    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns* touched,
              const UpdateStep& step) override
    {
        if (touched)
            return StepOfColumns(parameter, state, gradient, *touched, step.rate);
        const MatrixView multipliers = MultipliersFor(parameter);
        Apply(ElementwiseOp::Square, gradient, state, 1, 1);
        Apply(ElementwiseOp::Sum, state, m_floor, multipliers);
        Invert(multipliers);
        Descend(parameter, gradient, step.rate);
    }

private:
    static void Invert(const MatrixView& multipliers)
    {
        Apply(ElementwiseOp::Sqrt, multipliers, multipliers);
        Apply(ElementwiseOp::Reciprocal, multipliers, multipliers);
    }

    void StepOfColumns(const MatrixView& parameter, const MatrixView& state, const MatrixView& gradient,
                       const TouchedColumns& touched, double rate)
    {
        if (touched.columns.empty())
            return;
        const MatrixView multipliers = MultipliersFor(parameter, touched.columns.size()); // side by side
        ForRuns(touched,
                [&](size_t first, size_t columns, size_t before)
                {
                    const MatrixView sums = state.Columns(first, columns);
                    Apply(ElementwiseOp::Square, gradient.Columns(first, columns), sums, 1, 1);
                    Apply(ElementwiseOp::Sum, sums, m_floor, multipliers.Columns(before, columns));
                });
        Invert(multipliers);
        const double scaled = RateOver(rate);
        ForRuns(touched,
                [&](size_t first, size_t columns, size_t before)
                {
                    Apply(ElementwiseOp::Product, multipliers.Columns(before, columns),
                          gradient.Columns(first, columns), parameter.Columns(first, columns), -scaled, 1);
                });
    }

    Matrix m_floor;
};

// Variance V, sign Z and step P side by side in the state. P grows while the sign of the gradient stays, else shrinks;
// q = P / sqrt(V + 1e-6).
class RmsPropRule final : public MultiplierRule
{
public:
    RmsPropRule(const SgdOptions& options, DataType type, Device& device)
        : MultiplierRule(options.normWithAveMultiplier, type, device), m_increase(options.rmsWgtInc),
          m_decrease(options.rmsWgtDec), m_gamma(options.rmsGamma), m_max(Constant(options.rmsWgtMax, type, device)),
          m_min(Constant(options.rmsWgtMin, type, device)), m_floor(Constant(double(1e-6f), type, device)),
          m_zero(Constant(0, type, device)), m_sign(0, 0, type, device), m_agrees(0, 0, type, device),
          m_shrunk(0, 0, type, device)
    {
    }

    size_t StateColumns(size_t parameterColumns) const override { return 3 * parameterColumns; }

    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns*,
              const UpdateStep& step) override
    {
        const size_t columns = parameter.columns;
        const bool first = state.Columns() != 3 * columns;
        if (first)
            state.Resize(parameter.rows, 3 * columns);
        const MatrixView variance = state.View().Columns(0, columns);
        const MatrixView lastSign = state.View().Columns(columns, columns);
        const MatrixView stepSize = state.View().Columns(2 * columns, columns);
        if (first)
        {
            Apply(ElementwiseOp::Square, gradient, variance);
            Ops::Fill(lastSign, 0);
            Ops::Fill(stepSize, 0.02);
        }
        for (Matrix* matrix : {&m_sign, &m_agrees, &m_shrunk})
            matrix->Resize(parameter.rows, columns);
        const MatrixView multipliers = MultipliersFor(parameter);

        Apply(ElementwiseOp::Square, gradient, variance, 1 - m_gamma, m_gamma);
        Apply(ElementwiseOp::Greater, gradient, m_zero, m_sign);
        Apply(ElementwiseOp::Greater, m_zero, gradient, m_sign, -1, 1);
        Apply(ElementwiseOp::Product, lastSign, m_sign, m_agrees);
        Apply(ElementwiseOp::Greater, m_agrees, m_zero, m_agrees);
        Ops::Copy(m_sign, lastSign);
        // P = shrunk + agrees * (grown - shrunk)
        Apply(ElementwiseOp::Copy, stepSize, m_shrunk, m_decrease);
        Apply(ElementwiseOp::Maximum, m_shrunk, m_min, m_shrunk);
        Apply(ElementwiseOp::Copy, stepSize, multipliers, m_increase);
        Apply(ElementwiseOp::Minimum, multipliers, m_max, multipliers);
        Apply(ElementwiseOp::Difference, multipliers, m_shrunk, multipliers);
        Ops::Copy(m_shrunk, stepSize);
        Apply(ElementwiseOp::Product, m_agrees, multipliers, stepSize, 1, 1);

        Apply(ElementwiseOp::Sum, variance, m_floor, multipliers);
        Apply(ElementwiseOp::Sqrt, multipliers, multipliers);
        Apply(ElementwiseOp::Reciprocal, multipliers, multipliers);
        Apply(ElementwiseOp::Product, multipliers, stepSize, multipliers);
        Descend(parameter, gradient, step.rate);
    }

private:
    double m_increase;
    double m_decrease;
    double m_gamma;
    Matrix m_max;
    Matrix m_min;
    Matrix m_floor;
    Matrix m_zero;
    Matrix m_sign;
    Matrix m_agrees;
    Matrix m_shrunk;
};

// V = k V + (1-k) G^2, k = exp(-n / 720000);  w = min(0.0025 sqrt(A) / sqrt(V), 10), 0 where V = 0;
// S = m S + (1-m) w G;  W -= rate S. A is the running mean of n over all updates; V and S lie side by side in the
// state.
class FSAdaGradRule final : public UpdateRule
{
public:
    FSAdaGradRule(DataType type, Device& device) : m_limit(Constant(10, type, device)), m_weights(0, 0, type, device) {}

    size_t StateColumns(size_t parameterColumns) const override { return 2 * parameterColumns; }
    double Counter() const override { return m_meanColumns; }
    void SetCounter(double value) override { m_meanColumns = value; }

    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns*,
              const UpdateStep& step) override
    {
        const size_t columns = parameter.columns;
        if (state.Columns() != 2 * columns)
        {
            state.Resize(parameter.rows, 2 * columns);
            state.SetZero();
        }
        const MatrixView variance = state.View().Columns(0, columns);
        const MatrixView smoothed = state.View().Columns(columns, columns);
        m_weights.Resize(parameter.rows, columns);

        const double keep = std::exp(-double(step.columns) / 720000);
        m_meanColumns = keep * m_meanColumns + (1 - keep) * double(step.columns);
        Apply(ElementwiseOp::Square, gradient, variance, 1 - keep, keep);
        Apply(ElementwiseOp::Sqrt, variance, m_weights);
        Apply(ElementwiseOp::Reciprocal, m_weights, m_weights, 0.0025 * std::sqrt(m_meanColumns)); // 0 stays 0
        Apply(ElementwiseOp::Minimum, m_weights, m_limit, m_weights);
        Apply(ElementwiseOp::Product, m_weights, gradient, smoothed, 1 - step.momentum, step.momentum);
        Apply(ElementwiseOp::Copy, smoothed, parameter, -step.rate, 1);
    }

private:
    double m_meanColumns = 0;
    Matrix m_limit;
    Matrix m_weights;
};

// With the mean gradient g = G / n: S = m S + (1-m) g;  V = b V + (1-b) g^2;
// W -= rate n (S / s) / (sqrt(V / v) + epsilon), where s and v are what the weights of all gradients in S and V add up
// to. S and V lie side by side in the state. rate n is the rate per minibatch: it is the size of a step, whatever the
// size of the gradient.
class AdamRule final : public UpdateRule
{
public:
    AdamRule(const SgdOptions& options, DataType type, Device& device)
        : m_keep(options.adamBeta2), m_epsilon(options.adamEpsilon), m_floor(1, 1, type, device),
          m_weights(0, 0, type, device)
    {
    }

    size_t StateColumns(size_t parameterColumns) const override { return 2 * parameterColumns; }
    double Counter() const override { return m_meanWeight; }
    void SetCounter(double value) override { m_meanWeight = value; }
    double SecondCounter() const override { return m_squareWeight; }
    void SetSecondCounter(double value) override { m_squareWeight = value; }

    void BeginUpdate(double momentum) override
    {
        m_meanWeight = momentum * m_meanWeight + (1 - momentum);
        m_squareWeight = m_keep * m_squareWeight + (1 - m_keep);
        Ops::Fill(m_floor, m_epsilon * std::sqrt(m_squareWeight));
    }

    void Step(const MatrixView& parameter, Matrix& state, const MatrixView& gradient, const TouchedColumns*,
              const UpdateStep& step) override
    {
        const size_t columns = parameter.columns;
        if (state.Columns() != 2 * columns)
        {
            state.Resize(parameter.rows, 2 * columns);
            state.SetZero();
        }
        const MatrixView smoothed = state.View().Columns(0, columns);
        const MatrixView squares = state.View().Columns(columns, columns);
        m_weights.Resize(parameter.rows, columns);

        const auto samples = double(step.columns);
        Apply(ElementwiseOp::Copy, gradient, smoothed, (1 - step.momentum) / samples, step.momentum);
        Apply(ElementwiseOp::Square, gradient, squares, (1 - m_keep) / samples / samples, m_keep);
        Apply(ElementwiseOp::Sqrt, squares, m_weights);
        Apply(ElementwiseOp::Sum, m_weights, m_floor, m_weights);
        Apply(ElementwiseOp::Reciprocal, m_weights, m_weights);
        Apply(ElementwiseOp::Product, m_weights, smoothed, parameter,
              -step.rate * samples * std::sqrt(m_squareWeight) / m_meanWeight, 1);
    }

private:
    double m_keep;
    double m_epsilon;
    Matrix m_floor;
    Matrix m_weights;
    double m_meanWeight = 0;
    double m_squareWeight = 0;
};

} // namespace

std::unique_ptr<UpdateRule> MakeUpdateRule(const SgdOptions& options, DataType type, Device& device)
{
    const auto kind = options.useAdagrad ? GradientUpdateType::AdaGrad : options.gradUpdateType;
    switch (kind)
    {
    case GradientUpdateType::AdaGrad:
        return std::make_unique<AdaGradRule>(options.normWithAveMultiplier, type, device);
    case GradientUpdateType::RmsProp:
        return std::make_unique<RmsPropRule>(options, type, device);
    case GradientUpdateType::FSAdaGrad:
        return std::make_unique<FSAdaGradRule>(type, device);
    case GradientUpdateType::Adam:
        return std::make_unique<AdamRule>(options, type, device);
    case GradientUpdateType::None:
        break;
    }
    if (options.useNAG)
        return std::make_unique<NesterovRule>();
    return std::make_unique<MomentumRule>();
}

} // namespace cntk
