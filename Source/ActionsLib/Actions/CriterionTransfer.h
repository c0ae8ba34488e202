// For action trainSequence: gives a trained model the training criterion of another network.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <string>
#include <vector>

namespace cntk
{

// Replaces the model's first training criterion by the first criterion of `described`. Its inputs are the model's nodes
// of the same names. Nodes and features that the model lacks are copied with their values. The caller must validate the
// model before use. Returns the names of the copied nodes, sorted.
std::vector<std::string> TakeCriterion(ComputationNetwork& model, const ComputationNetwork& described);

} // namespace cntk
