// Settings that several actions read: the model path, the SGD block, the device, trace level and seed. A key may stand
// in the command's block, in the blocks around it, or in its SGD block.
#pragma once

#include "ActionsLib/Action.h"
#include "SGD/TrainingOptions.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cntk
{

std::string RequireModelPath(const CommandContext& command);
// The model that the command trains: modelPath of the SGD block itself comes first.
std::string RequireTrainedModelPath(const CommandContext& command);
SourcePos PlaceOfTrainedModel(const CommandContext& command);
// Fails (Model) at the key's place if the model file neither exists nor is written by an earlier command.
void RequireModel(const CommandContext& command, const std::string& path, std::string_view key = "modelPath");

// The learner's block: SGD or, as v1.1 also calls it, optimizer.
const ConfigParameters& RequireSgdBlock(const CommandContext& command);
// Reads the options and warns about options without effect.
SgdOptions ReadSgdOptions(const CommandContext& command, const ConfigParameters& sgd);
// Fails (Config) if the options ask for the original network of an adaptation.
void RequireNoAdaptation(const SgdOptions& options, const ConfigParameters& sgd);

// The place of the key as the command sees it; without the key, the command's place.
SourcePos PlaceOf(const CommandContext& command, std::string_view key);
// Fails (Config) at the key's place if the text is no regular expression for node names.
void RequireRegex(const CommandContext& command, const char* key, const std::string& expression);
int TraceLevelOf(const CommandContext& command);
// trainingSeed, the source of all random streams of the command; 0: the original's streams.
uint64_t TrainingSeedOf(const CommandContext& command);

// Creates the device of a deviceId= that names one, so that a missing GPU is an error before any command runs. "auto"
// is decided after all commands are prepared, because a later command may name the GPU that "auto" then shares.
void RegisterDevice(const CommandContext& command);
// The command's device, created on first use and shared by all commands with the same deviceId. "auto" takes the GPU
// that another command names, else the choice of MakeDevice.
std::shared_ptr<Device> DeviceOf(const CommandContext& command);
// The device of the command's block; null if it has not been created.
std::shared_ptr<Device> FindDeviceOf(const ProgramContext& program, const ConfigParameters& command);
// "CPU" or "GPU 0", as in the original's log lines.
std::string DeviceWords(const Device& device);

} // namespace cntk
