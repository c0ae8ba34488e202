// Model files: reads versions 1 to 14 and both version-2 dialects, writes version 8. A file of another kind is an error
// that names the kind and the file to give instead.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <memory>
#include <string>
#include <string_view>

namespace cntk
{

// Loads and validates a network. Fails (Model) if the file is no model, naming the kind of file (a checkpoint, a DBN, a
// newer version, text) and the file to give instead. The network has the requested element type if the file's records
// name none (before version 7). A file of the other precision is converted.
std::unique_ptr<ComputationNetwork> LoadModel(const std::string& path, DataType dataType,
                                              std::shared_ptr<Device> device,
                                              const NodeRegistry& registry = NodeRegistry::Standard());
// Like LoadModel, but the network has the precision of the file's records: double if any of them is, else float. Before
// version 7, the first matrix decides.
std::unique_ptr<ComputationNetwork> LoadModelAsStored(const std::string& path, std::shared_ptr<Device> device,
                                                      const NodeRegistry& registry = NodeRegistry::Standard());
// Writes the file completely or not at all (temporary name, fsync, rename).
void SaveModel(const ComputationNetwork& network, const std::string& path);
// Like SaveModel, but leaves a file with the same bytes and its time unchanged, and returns false.
bool SaveModelIfChanged(const ComputationNetwork& network, const std::string& path);
// Replaces the values of parameters and precomputed nodes by those of the nodes of the same names in the file.
void ReloadParameters(ComputationNetwork& network, const std::string& path);

// Always fails (Model). content: the file's bytes, which do not begin like a model.
[[noreturn]] void FailNotAModel(std::string_view content, const std::string& path);

} // namespace cntk
