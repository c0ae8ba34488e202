// The order in which the records of a block are delivered: the original's shuffle within a window, by glibc's rand().
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cntk
{

// Makes `order` a permutation of 0..count-1 in which no element moves further than range/2. seed: number of the block.
// Returns the draws that were refused because they would have left the window.
size_t ShuffleWithinWindow(std::vector<uint32_t>& order, size_t count, size_t range, uint32_t seed);

} // namespace cntk
