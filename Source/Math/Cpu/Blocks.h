// Cutting sizes into blocks.
#pragma once

#include <cstddef>

namespace cntk
{

// Blocks of a size that cover the value.
constexpr size_t PartsOf(size_t value, size_t part)
{
    return (value + part - 1) / part;
}

// The least multiple of the unit that is not below the value.
constexpr size_t RoundUp(size_t value, size_t unit)
{
    return PartsOf(value, unit) * unit;
}

} // namespace cntk
