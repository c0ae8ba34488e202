// The operations of the self-check, each with inputs that every device gets alike.
#pragma once

#include "Math/Gpu/GpuSelfCheckRun.h"

#include <vector>

namespace cntk
{

struct SelfCheckCase
{
    const char* operation;
    void (*run)(SelfCheckRun& run);
    bool isProduct = false; // by the library for products, whose rounding gpuMatrixMath says
};

const std::vector<SelfCheckCase>& SelfCheckCases();

} // namespace cntk
