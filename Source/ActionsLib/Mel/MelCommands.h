// The commands of the language: names, abbreviations, numbers of arguments, properties.
#pragma once

#include "ActionsLib/Mel/MelSyntax.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

enum class MelCommand
{
    CreateModel,
    CreateModelWithName,
    LoadModel,
    LoadModelWithName,
    LoadNdlSnippet,
    SaveDefaultModel,
    SaveModel,
    SetDefaultModel,
    UnloadModel,
    DumpModel,
    DumpNode,
    CopyNode,
    CopySubTree,
    CopyNodeInputs,
    SetNodeInput,
    SetNodeInputs,
    SetProperty,
    SetPropertyForSubTree,
    RemoveNode,
    DeleteNode,
    Rename,
    ReviseParameter
};

// Of a model that LoadModel or CreateModel makes without a name.
constexpr const char* c_defaultModelName = "default";

struct MelCommandInfo
{
    MelCommand command;
    std::vector<std::string> names; // the first is the one that messages use
    size_t fewest = 0;              // positional arguments
    size_t most = 0;
    std::vector<std::string> options; // optional arguments by name
    std::string usage;
    std::string doc;
};

// In the order in which abbreviations are looked for.
std::span<const MelCommandInfo> MelCommands();
// By a name in any case, or by its beginning, at least half of it. Null if there is none.
const MelCommandInfo* FindMelCommand(std::string_view name);
const MelCommandInfo& RequireMelCommand(const MelStatement& statement);
// Fails (Config) for a wrong number of arguments and for unknown optional ones.
void CheckMelArguments(const MelCommandInfo& info, const MelStatement& statement);

enum class MelProperty
{
    NeedsGradient,
    LearningRateMultiplier,
    Feature,
    Label,
    Criterion,
    Evaluation,
    Output,
    None // accepted without effect
};
// For help: the names of properties that have an effect.
std::vector<std::string> MelPropertyNames();
MelProperty RequireMelProperty(const MelArgument& argument);

// Whether `text` is `full` or its beginning, at least half of it; any case.
bool IsAbbreviationOf(std::string_view text, std::string_view full);
// The optional argument of that name, possibly abbreviated; null if it is not given.
const MelArgument* FindMelOption(const MelStatement& statement, std::string_view name);

} // namespace cntk
