// Checks whether an existing model is the network that a config describes.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <string>
#include <vector>

namespace cntk
{

std::vector<ComputationNodePtr> ParametersOf(const ComputationNetwork& network);

// Compares networks with the same parameters. Skips parameters without a name of their own.
bool HaveSameValues(const ComputationNetwork& loaded, const ComputationNetwork& described);

// Returns the first difference, worded to follow "it is another one: "; empty if there is none. Compares the
// parameters, and the types, arguments and inputs of all nodes below training and evaluation criteria. Ignores names of
// nodes with inputs, since versions number generated names differently. Also ignores what training and edits set:
// values, statistics, counts, learning rate multipliers.
std::string FirstDifference(const ComputationNetwork& loaded, const ComputationNetwork& described);

} // namespace cntk
