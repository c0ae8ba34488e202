// The networks that one training trains, and their model files, which are written and read together.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "SGD/Files/TrainingFiles.h"

#include <string>
#include <vector>

namespace cntk
{

// Networks in the order in which values flow: the encoders, if any, then the network with the criterion. A network's
// index is its number in TrainingFiles. Not owned.
using TrainedNetworks = std::vector<ComputationNetwork*>;

// Writes the models. With several workers the first one writes while the others wait. path: the model's name as
// TrainingFiles gives it, which is the last network's. That network is written last: if its file exists, all others do.
void SaveModels(const TrainedNetworks& networks, const TrainingFiles& files, const std::string& path);

// Copies parameter values from the models into the networks.
void ReloadModels(const TrainedNetworks& networks, const TrainingFiles& files, const std::string& path);

} // namespace cntk
