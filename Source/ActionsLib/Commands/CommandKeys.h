// Keys that several actions ask for: in the command's block, around it, or in its SGD block.
#pragma once

#include "ActionsLib/Action.h"
#include "SGD/TrainingOptions.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace cntk
{

// modelPath of a command: in its block, around it, or in its SGD block.
std::string RequireModelPath(const CommandContext& command);
// The model that the command trains: what the SGD block itself says comes first.
std::string RequireTrainedModelPath(const CommandContext& command);
SourcePos PlaceOfTrainedModel(const CommandContext& command);
// The learner's block, SGD or, as v1.1 also calls it, optimizer; its options. Warns of what has no effect in it.
const ConfigParameters& RequireSgdBlock(const CommandContext& command);
SgdOptions ReadSgdOptions(const CommandContext& command, const ConfigParameters& sgd);
// Fails (Config) where the options ask for the original network of an adaptation.
void RequireNoAdaptation(const SgdOptions& options, const ConfigParameters& sgd);

// Where the command says a key, in its block, around it, or in its SGD block; else the command's place.
SourcePos PlaceOf(const CommandContext& command, std::string_view key);
// Fails (Config) at the key's place if the expression for names of nodes is none.
void RequireRegex(const CommandContext& command, const char* key, const std::string& expression);
int TraceLevelOf(const CommandContext& command);
// trainingSeed, from which everything of the command that is drawn at random gets its seeds; 0: as the original has it.
uint64_t TrainingSeedOf(const CommandContext& command);

} // namespace cntk
