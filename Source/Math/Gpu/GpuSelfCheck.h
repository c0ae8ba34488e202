// What a GPU must have shown before a run trusts it: each family of kernels computes, once and on little, what the
// reference computes.
#pragma once

#include "Math/Device.h"

#include <optional>
#include <string>

namespace cntk
{

// The first number that was wrong.
struct GpuDisagreement
{
    std::string operation; // "Softmax of float"
    size_t element = 0;    // of the operation's results
    double found = 0;
    double expected = 0;
    double tolerance = 0; // in the same units
    std::string problem;  // the operation failed, with these words; no numbers then

    // "Softmax of float gives 0.25 where the CPU gives 0.5 (result 17; they may differ by 1e-06)"
    std::string Describe() const;
};

// How far products of float may be off, as a part of the largest result; all else agrees to some rounding errors.
double ProductTolerance(GpuMatrixMath math);

std::optional<GpuDisagreement> CheckGpu(Device& gpu, GpuMatrixMath math);

} // namespace cntk
