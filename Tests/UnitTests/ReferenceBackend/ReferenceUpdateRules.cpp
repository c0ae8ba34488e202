// Update rules element by element, in double precision.
#include "Math/UpdateRules.h"
#include "ReferenceBackend/MatrixElements.h"
#include "ReferenceBackend/ReferenceKernels.h"

#include <cmath>

namespace cntk
{

namespace
{

struct StandardFunctions
{
    static double SquareRoot(double x) { return std::sqrt(x); }
    static double LogOf(double x) { return std::log(x); }
    static double SineOf(double x) { return std::sin(x); }
    static double CosineOf(double x) { return std::cos(x); }
    static double ToNumber(uint64_t whole) { return double(whole); }
};

double Direction(UpdateFormula formula, const UpdateConstants<double>& constants, double gradient, double* states,
                 double& multiplier)
{
    switch (formula)
    {
#define CNTK_CASE_ROW(name, count, multiplies)                                                                         \
    case UpdateFormula::name:                                                                                          \
        return name##UpdateRule::Direction<StandardFunctions, double>(constants, gradient, states[0], states[1],       \
                                                                      states[2], multiplier);
        CNTK_UPDATE_RULES(CNTK_CASE_ROW)
#undef CNTK_CASE_ROW
    }
    return 0;
}

template <class Body>
void ForEachElement(const UpdateCall& call, const MatrixView& parameter, const Body& body)
{
    const size_t columns = call.touched ? call.touched->columns.size() : parameter.columns;
    for (size_t i = 0; i < columns; ++i)
        for (size_t row = 0; row < parameter.rows; ++row)
            body(row, call.touched ? size_t(call.touched->columns[i]) : i);
}

// The gradient becomes the direction, then the parameter moves along it.
template <class T>
void Update(const UpdateCall& call, const MatrixView& parameter, std::span<const MatrixView> states,
            const MatrixView& gradient)
{
    double sum = 0;
    size_t elements = 0;
    const auto directionAt = [&](size_t row, size_t column)
    {
        double state[c_mostUpdateStates] = {};
        for (size_t i = 0; i < states.size(); ++i)
            state[i] = double(At<T>(states[i], row, column));
        double multiplier = 0;
        const double direction =
            Direction(call.formula, call.constants,
                      UpdateExtrasOf::Gradient<double>(call.extras, double(At<T>(gradient, row, column)),
                                                       double(At<T>(parameter, row, column))),
                      state, multiplier);
        for (size_t i = 0; i < states.size(); ++i)
            At<T>(states[i], row, column) = T(state[i]);
        sum += multiplier;
        ++elements;
        return direction;
    };
    const auto step = [&](size_t row, size_t column, double change)
    {
        T& value = At<T>(parameter, row, column);
        double stepped = double(value) - change;
        if (call.noiseDeviation != 0)
            stepped += double(
                Noise::At<StandardFunctions, T>(call.noise, column * parameter.rows + row, T(call.noiseDeviation)));
        value = T(UpdateExtrasOf::Parameter<double>(call.extras, stepped));
    };
    if (!call.normalizes)
        return ForEachElement(call, parameter,
                              [&](size_t row, size_t column)
                              { step(row, column, call.rate * directionAt(row, column)); });
    ForEachElement(call, parameter,
                   [&](size_t row, size_t column) { At<T>(gradient, row, column) = T(directionAt(row, column)); });
    const double rate = call.rate * double(elements) / sum;
    ForEachElement(call, parameter,
                   [&](size_t row, size_t column) { step(row, column, rate * double(At<T>(gradient, row, column))); });
}

} // namespace

void ReferenceKernels::UpdateParameter(const UpdateCall& call, const MatrixView& parameter,
                                       std::span<const MatrixView> states, const MatrixView& gradient)
{
    UpdateCall resolved = call;
    if (ResolveOnHost(resolved, *this, gradient))
        VisitType(parameter.type, [&](auto tag) { Update<decltype(tag)>(resolved, parameter, states, gradient); });
}

} // namespace cntk
