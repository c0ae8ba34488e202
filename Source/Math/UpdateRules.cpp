// The list of rules, checks of arguments, then one call of the backend.
#include "Math/UpdateRules.h"

#include "Common/Error.h"
#include "Math/Kernels.h"

#include <cmath>

namespace cntk
{

namespace
{

struct FormulaRecord
{
    const char* name;
    size_t states;
    bool hasMultipliers;
};

constexpr FormulaRecord c_formulas[] = {
#define CNTK_RECORD_ROW(name, states, multiplies) {#name, states, multiplies},
    CNTK_UPDATE_RULES(CNTK_RECORD_ROW)
#undef CNTK_RECORD_ROW
};

void CheckMatrix(const char* name, const MatrixView& found, const MatrixView& parameter)
{
    if (found.device != parameter.device)
        Fail(ErrorKind::Internal, "UpdateParameter: ", name, " is on another device than the parameter");
    if (found.type != parameter.type)
        Fail(ErrorKind::Internal, "UpdateParameter: ", name, " is of another type than the parameter");
    if (found.rows != parameter.rows || found.columns != parameter.columns)
        Fail(ErrorKind::Internal, "UpdateParameter: ", name, " [", found.rows, " x ", found.columns,
             "] does not fit parameter [", parameter.rows, " x ", parameter.columns, "]");
}

} // namespace

size_t StatesOf(UpdateFormula formula)
{
    return c_formulas[size_t(formula)].states;
}

bool HasMultipliers(UpdateFormula formula)
{
    return c_formulas[size_t(formula)].hasMultipliers;
}

const char* NameOf(UpdateFormula formula)
{
    return c_formulas[size_t(formula)].name;
}

bool ResolveOnHost(UpdateCall& call, Kernels& kernels, const MatrixView& gradient)
{
    if (call.stop.data != nullptr && *call.stop.As<double>() != 0)
        return false;
    call.stop = {};
    if (!std::isfinite(call.normLimit))
        return true;
    const double norm = std::sqrt(kernels.SumOfSquares(gradient));
    if (norm > call.normLimit)
        call.extras.gradientScale *= call.normLimit / norm;
    call.normLimit = std::numeric_limits<double>::infinity();
    return true;
}

void Kernels::UpdateParameter(const UpdateCall& call, const MatrixView&, std::span<const MatrixView>, const MatrixView&)
{
    Fail(ErrorKind::Device, "this device has no kernel for update rule ", NameOf(call.formula));
}

namespace Ops
{

void UpdateParameter(const UpdateCall& call, const MatrixView& parameter, std::span<const MatrixView> states,
                     const MatrixView& gradient)
{
    if (!parameter.device)
        Fail(ErrorKind::Internal, "UpdateParameter: the parameter has no device");
    if (states.size() != StatesOf(call.formula))
        Fail(ErrorKind::Internal, "UpdateParameter: ", NameOf(call.formula), " has ", StatesOf(call.formula),
             " states, but was given ", states.size());
    if (call.normalizes && !HasMultipliers(call.formula))
        Fail(ErrorKind::Internal, "UpdateParameter: ", NameOf(call.formula), " has no multipliers to normalize with");
    CheckMatrix("gradient", gradient, parameter);
    for (const MatrixView& state : states)
        CheckMatrix("state", state, parameter);
    if (call.stop.data != nullptr &&
        (call.stop.device != parameter.device || call.stop.type != DataType::Float64 || call.stop.Elements() != 1))
        Fail(ErrorKind::Internal, "UpdateParameter: stop must be a number of double on the parameter's device");
    UpdateCall checked = call;
    if (call.touched && call.touched->all)
        checked.touched = nullptr;
    if (const TouchedColumns* touched = checked.touched)
    {
        if (touched->columns.empty())
            return;
        if (touched->columns.front() < 0 || size_t(touched->columns.back()) >= parameter.columns)
            Fail(ErrorKind::Internal, "UpdateParameter: touched columns ", touched->columns.front(), " to ",
                 touched->columns.back(), " do not fit parameter [", parameter.rows, " x ", parameter.columns, "]");
    }
    if (parameter.rows > 0 && parameter.columns > 0)
        parameter.device->GetKernels().UpdateParameter(checked, parameter, states, gradient);
}

} // namespace Ops

} // namespace cntk
