// The values that a model stores: parameters and computed statistics. Exports and imports of weights work on them.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cntk
{

class Log;

// Nodes whose values are exported, in the model's order, and their number of values.
struct ExportedValues
{
    std::vector<ComputationNodePtr> nodes;
    size_t numbers = 0;
};

// Selects parameters and computed statistics whose names match one of the patterns ("L1.*"). Warns about statistics
// that are not computed yet. Fails (Config) with near names for a pattern without any match.
ExportedValues SelectValues(const ComputationNetwork& network, const std::vector<std::string>& patterns, Log& log);

// Returns the values of StoredValues(node) in host memory and C order: the last dimension is the fastest. Elements have
// the matrix's type.
std::vector<std::byte> ValuesInCOrder(const ComputationNode& node);

// Reorders an array with these dimensions: the element order is reversed, so that the fastest dimension becomes the
// slowest. elementSize: 4 or 8 bytes.
void ReverseOrder(const std::byte* source, const TensorShape& dims, size_t elementSize, std::byte* target);

// Returns "7 parameters with 1234 values".
std::string DescribeCounts(size_t parameters, size_t numbers);

} // namespace cntk
