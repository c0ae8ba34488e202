// Model files: reads versions 1 to 14 and both version-2 dialects, writes version 8. A file of another kind is an error
// that names the kind and the file to give instead.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <memory>
#include <optional>
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
// Like LoadModel, in the precision of the file's values: double if any of them is, float if there are none.
std::unique_ptr<ComputationNetwork> LoadModelInItsPrecision(const std::string& path,
                                                            const std::shared_ptr<Device>& device,
                                                            const NodeRegistry& registry = NodeRegistry::Standard());
// Like LoadModel for the bytes of a model file, which are not needed afterwards. name: for messages. Without a dataType
// like LoadModelInItsPrecision.
std::unique_ptr<ComputationNetwork> LoadModelFromMemory(std::string_view bytes, const std::string& name,
                                                        std::optional<DataType> dataType,
                                                        const std::shared_ptr<Device>& device,
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
