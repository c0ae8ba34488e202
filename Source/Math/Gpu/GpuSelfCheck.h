// Smoke test of a GPU: one product, one reduction, one convolution and one update before a run uses the card.
#pragma once

#include "Math/Device.h"

#include <string>

namespace cntk
{

// Describes the first wrong result: "the product of float gives 0.25 instead of 0.5 (element 17, tolerance 1e-06)".
// Empty if all results are right.
std::string CheckGpu(Device& gpu, GpuMatrixMath math);

} // namespace cntk
