// Models that a command loads, and those that it will find there when its turn comes.
#pragma once

#include "ActionsLib/Action.h"
#include "ComputationNetwork/ComputationNetwork.h"

#include <memory>
#include <string>
#include <string_view>

namespace cntk
{

// Loads a model for a command. What is wrong with the file is told with the place of the key that names it.
std::unique_ptr<ComputationNetwork> LoadModelOf(const CommandContext& command, const std::string& path,
                                                std::shared_ptr<Device> device, std::string_view key = "modelPath");
// For checks: the model as it will be when the command's turn comes. Null, with a line in the log, where an earlier
// command writes it and only its run will show what is in it.
std::unique_ptr<ComputationNetwork> LoadModelToCheck(const CommandContext& command, const std::string& path,
                                                     std::shared_ptr<Device> device,
                                                     std::string_view key = "modelPath");
// Saves a model that a command made. A file that has it already stays as it is, with its time, and the log says so: a
// training that began with it, as where layers are added and trained one by one, then goes on from where it was when
// all commands are run again, instead of beginning anew with a model that is newer than those of its epochs.
void SaveMadeModel(const ComputationNetwork& network, const std::string& path, Log& log);
// The same as LoadModelOf on the command's device.
std::unique_ptr<ComputationNetwork> LoadModelOf(const CommandContext& command, const std::string& path);

} // namespace cntk
