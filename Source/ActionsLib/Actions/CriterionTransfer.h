// The trainSequence action: a trained model gets the training criterion of another network.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <string>
#include <vector>

namespace cntk
{

// The first training criterion of `described` takes the place of the model's first one. Its inputs are the model's
// nodes of the same names; what the model does not have is copied, with its values. Features that only `described` has
// are added, too. The model must be validated before it is used. Names of the copied nodes, in the order of their
// names.
std::vector<std::string> TakeCriterion(ComputationNetwork& model, const ComputationNetwork& described);

} // namespace cntk
