// Updates of a parameter by any rule, with what happens to the gradient before and the parameter after: one pass over
// memory, two where the mean of all multipliers must be known before the first step.
#pragma once

#include "Math/Matrix.h"
#include "Math/UpdateFormulas.h"

#include <limits>
#include <span>

namespace cntk
{

struct UpdateCall
{
    UpdateFormula formula = UpdateFormula::Momentum;
    UpdateConstants<double> constants;
    double rate = 1;
    bool normalizes = false; // divides the rate by the mean of the multipliers
    UpdateExtras<double> extras;
    // Noise is added behind the step and before L1: of an element at row and column, the draw's number column * rows +
    // row. 0: none.
    double noiseDeviation = 0;
    NoiseDraw noise;
    // Clipping by norm: a gradient of a larger one is scaled down to it. Every gradient has its own norm, which only
    // the device need know.
    double normLimit = std::numeric_limits<double>::infinity();
    // A number (1x1, double) of the device, or nothing: where it is not 0, nothing changes.
    MatrixView stop{};
    const TouchedColumns* touched = nullptr; // null: all columns take part
};

size_t StatesOf(UpdateFormula formula);
bool HasMultipliers(UpdateFormula formula);
const char* NameOf(UpdateFormula formula);

class Kernels;
// For backends of host memory: reads normLimit and stop, which are none afterwards. False: nothing is to change.
bool ResolveOnHost(UpdateCall& call, Kernels& kernels, const MatrixView& gradient);

namespace Ops
{

// `states` has the number of states of the formula, each with the parameter's shape. With `normalizes`, the gradient's
// memory is overwritten by the directions.
void UpdateParameter(const UpdateCall& call, const MatrixView& parameter, std::span<const MatrixView> states,
                     const MatrixView& gradient);

} // namespace Ops

} // namespace cntk
