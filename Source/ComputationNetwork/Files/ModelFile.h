// Model files: reads versions 1 to 14 and both version-2 dialects, writes version 8.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <memory>
#include <string>
#include <string_view>

namespace cntk
{

// Fails (Model) saying what the file is when it is no model (a checkpoint, a DBN, a newer version, text) and what to
// give instead. The element type of the network is the requested one where the file's records do not name theirs
// (before version 7); a file of the other precision is converted. The network is validated.
std::unique_ptr<ComputationNetwork> LoadModel(const std::string& path, DataType dataType,
                                              std::shared_ptr<Device> device,
                                              const NodeRegistry& registry = NodeRegistry::Standard());
// Whole or not at all (temporary name, fsync, rename).
void SaveModel(const ComputationNetwork& network, const std::string& path);
// The same, but a file of the same bytes stays as it is, with its time; then false.
bool SaveModelIfChanged(const ComputationNetwork& network, const std::string& path);
// A model in memory, as its file but for the values of parameters that are trained (LearningRateMultiplier above 0),
// most of a model's bytes: for those who look at names, types and shapes. LoadOutline gives zeros in their place. path:
// for messages.
std::string OutlineOf(const ComputationNetwork& network);
std::unique_ptr<ComputationNetwork> LoadOutline(std::string_view outline, const std::string& path, DataType dataType,
                                                std::shared_ptr<Device> device);
// Takes the parameters' (and precomputed nodes') values from the file into the nodes of the same names.
void ReloadParameters(ComputationNetwork& network, const std::string& path);

} // namespace cntk
