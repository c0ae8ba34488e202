// The networks that one training trains, and their model files, which are written and read together.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "SGD/Files/TrainingFiles.h"

#include <string>
#include <vector>

namespace cntk
{

// In the order in which values go from one to the next: the encoders, if there are any, then the network that has the
// criterion. A network's place is its number in TrainingFiles. Owned by somebody else.
using TrainedNetworks = std::vector<ComputationNetwork*>;

// Written by the first of several workers, while the others wait. path: the model's name as TrainingFiles gives it,
// which is the last network's. That network is written last: where its file is, the others are.
void SaveModels(const TrainedNetworks& networks, const TrainingFiles& files, const std::string& path);

// Takes the values of parameters from the models into the networks.
void ReloadModels(const TrainedNetworks& networks, const TrainingFiles& files, const std::string& path);

} // namespace cntk
