// Whether a model that is there is the network that a config describes.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <string>
#include <vector>

namespace cntk
{

std::vector<ComputationNodePtr> ParametersOf(const ComputationNetwork& network);

// Of networks with the same parameters; those without a name of their own are passed over.
bool HaveSameValues(const ComputationNetwork& loaded, const ComputationNetwork& described);

// The first difference, as what follows "it is another one: "; empty where there is none. Looked at are the parameters,
// and what training and evaluation criteria are made of: types, arguments and inputs of the nodes below them. Not
// looked at are the names of nodes with inputs, since those without a name of their own are numbered in other ways by
// other versions, and what training and edits set: values, statistics, counts, learning rate multipliers.
std::string FirstDifference(const ComputationNetwork& loaded, const ComputationNetwork& described);

} // namespace cntk
