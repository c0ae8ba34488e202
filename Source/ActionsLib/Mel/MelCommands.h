// Commands of the model editing language: names, abbreviations, argument counts, argument values, properties.
#pragma once

#include "ActionsLib/Mel/MelParser.h"

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

// Name of a model that LoadModel or CreateModel creates without a name.
constexpr const char* c_defaultModelName = "default";

struct MelCommandInfo
{
    MelCommand command;
    std::vector<std::string> names; // messages use the first name
    size_t fewest = 0;              // positional arguments
    size_t most = 0;
    std::vector<std::string> options; // names of optional arguments
    std::string usage;
    std::string doc;
};

// All commands. FindMelCommand resolves an abbreviation to the first match in this order.
std::span<const MelCommandInfo> MelCommands();
// Finds a command by its name in any case, or by an abbreviation of at least half its length. Null if unknown.
const MelCommandInfo* FindMelCommand(std::string_view name);
// Fails (Config) for an unknown command and names the nearest one.
const MelCommandInfo& RequireMelCommand(const MelStatement& statement);
// Fails (Config) for a wrong number of arguments, an unknown optional argument, or a malformed value.
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
// Names of the properties that have an effect; for help.
std::vector<std::string> MelPropertyNames();
MelProperty RequireMelProperty(const MelArgument& argument);

// True if `text` is `full` or its beginning, at least half its length, in any case.
bool IsAbbreviationOf(std::string_view text, std::string_view full);
// The optional argument with this name or an abbreviation of it; null if absent.
const MelArgument* FindMelOption(const MelStatement& statement, std::string_view name);

// ---- values of arguments ----
// CheckMelArguments reads all values before the first command of a run starts; the editor reads them again when it
// executes the statement. Each function fails (Config) at the argument.

std::vector<const MelArgument*> PositionalArguments(const MelStatement& statement);
void RequireModelFormat(const MelStatement& statement); // format=
bool CopiesValuesOnly(const MelStatement& statement);   // copy=
bool DumpsValues(const MelStatement& statement);        // includeData=
void RequirePattern(const MelArgument& name);           // node pattern: not empty, at most one star
size_t ParseInputNumber(const MelArgument& argument);   // counted from 0
bool ParseMelFlag(const MelArgument& argument);         // value of a property
double ParseMultiplier(const MelArgument& argument);    // value of LearningRateMultiplier
bool IsParameterProperty(MelProperty property);
// SetPropertyForSubTree takes properties of parameters only.
void RequireSubTreeProperty(const MelArgument& property);

} // namespace cntk
