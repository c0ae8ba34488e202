// Axes of convolutions and poolings in tests.
#pragma once

#include "Math/ImageOperations.h"

namespace cntk
{

inline WindowAxis Axis(size_t input, size_t kernel, size_t stride, ptrdiff_t start, size_t windows)
{
    return {.input = input, .kernel = kernel, .stride = stride, .start = start, .windows = windows};
}

} // namespace cntk
