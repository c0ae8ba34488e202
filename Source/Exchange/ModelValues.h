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

// Rows of a tensor: its elements with the same first index. In C order (the last dimension is the fastest) a row is
// contiguous; the engine stores the first dimension as the fastest.
size_t ElementsOfRow(const TensorShape& dims);
// Returns the number of rows of about 4 MB, at least 1.
size_t RowsOfSlice(const TensorShape& dims, size_t elementSize);
// Copy the rows first, ..., end - 1 of a tensor in the engine's order to contiguous rows in C order, or back.
// elementSize: 4 or 8 bytes.
void CopyRowsToCOrder(const std::byte* tensor, const TensorShape& dims, size_t elementSize, size_t first, size_t end,
                      std::byte* rows);
void CopyRowsFromCOrder(const std::byte* rows, const TensorShape& dims, size_t elementSize, size_t first, size_t end,
                        std::byte* tensor);
// Returns "7 parameters with 1234 values".
std::string DescribeCounts(size_t parameters, size_t numbers);

} // namespace cntk
