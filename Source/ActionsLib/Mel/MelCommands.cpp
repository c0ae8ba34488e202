// Tables of commands and properties, and checks of arguments.
#include "ActionsLib/Mel/MelCommands.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace cntk
{
namespace
{

constexpr size_t c_anyNumber = SIZE_MAX;

struct PropertyName
{
    const char* name;
    MelProperty property;
};
constexpr PropertyName c_properties[] = {
    {"ComputeGradient", MelProperty::NeedsGradient},
    {"NeedsGradient", MelProperty::NeedsGradient},
    {"NeedGradient", MelProperty::NeedsGradient},
    {"LearningRateMultiplier", MelProperty::LearningRateMultiplier},
    {"Feature", MelProperty::Feature},
    {"Label", MelProperty::Label},
    {"FinalCriterion", MelProperty::Criterion},
    {"Criterion", MelProperty::Criterion},
    {"Criteria", MelProperty::Criterion},
    {"FinalCriterionCriteria", MelProperty::Criterion}, // two names that ran together in the book
    {"Evaluation", MelProperty::Evaluation},
    {"Eval", MelProperty::Evaluation},
    {"EvaluationEval", MelProperty::Evaluation},
    {"Output", MelProperty::Output},
    {"MultiSeq", MelProperty::None},
    {"ReqMultiSeqHandling", MelProperty::None},
    {"Recurrent", MelProperty::None},
};

// Names that ran together in the book: accepted, but not listed in help.
bool IsRunTogether(std::string_view name)
{
    return name == "FinalCriterionCriteria" || name == "EvaluationEval";
}

// A row of the table of commands. Names and options are separated by blanks.
struct CommandRow
{
    MelCommand command;
    const char* names;
    size_t fewest;
    size_t most;
    const char* options;
    const char* usage;
    const char* doc;
};
using C = MelCommand;
constexpr CommandRow c_commandRows[] = {
    {C::CreateModel, "CreateModel", 0, 0, "", "m=CreateModel()", "An empty model."},
    {C::CreateModelWithName, "CreateModelWithName", 1, 1, "", "CreateModelWithName(name)",
     "An empty model of that name."},
    {C::LoadModel, "LoadModel", 1, 1, "format", "m=LoadModel(file, [format=cntk])",
     "The model of a file; without m= its name is default."},
    {C::LoadModelWithName, "LoadModelWithName", 2, 2, "format", "LoadModelWithName(name, file, [format=cntk])",
     "The model of a file, under a name."},
    {C::LoadNdlSnippet, "LoadNDLSnippet", 2, 3, "section", "LoadNDLSnippet(name, file, [section=name])",
     "A model from an NDL file: from the given section, the section that run= names, or the first section; from the "
     "nodes outside of sections, if any."},
    {C::SaveDefaultModel, "SaveDefaultModel", 1, 1, "format", "SaveDefaultModel(file, [format=cntk])",
     "Checks the default model and saves it."},
    {C::SaveModel, "SaveModel", 1, 2, "format", "SaveModel([name,] file, [format=cntk])",
     "Checks and saves a model; without a name the default model. Refuses models with unconnected inputs or with "
     "shapes that do not fit."},
    {C::SetDefaultModel, "SetDefaultModel", 1, 1, "", "SetDefaultModel(name)",
     "Later in-line NDL, and node names without a model, refer to this model."},
    {C::UnloadModel, "UnloadModel", 1, c_anyNumber, "", "UnloadModel(name, ...)", "Forgets models; files stay."},
    {C::DumpModel, "DumpModel Dump", 2, 2, "includeData", "DumpModel(name, file, [includeData=false])",
     "The nodes of a model as text, as action=dumpnode writes them; with includeData=true also the values of "
     "parameters."},
    {C::DumpNode, "DumpNode", 2, 2, "includeData", "DumpNode(nodes, file, [includeData=false])",
     "Nodes as text, as action=dumpnode writes them."},
    {C::CopyNode, "CopyNode Copy", 2, 2, "copy copyFlag", "CopyNode(from, to, [copy=all|value])",
     "Copies nodes with their values and the links among them. Other inputs stay in existing nodes and are missing in "
     "new nodes. copy=value copies values only. If both names have a star, the star of the target becomes the text "
     "that the star of the source matched."},
    {C::CopySubTree, "CopySubTree", 2, 3, "copy copyFlag",
     "CopySubTree(from, toModel, prefix, [copy=all|value]) or CopySubTree(from, to, [copy=all|value])",
     "Copies a node and all nodes below it, as prefix + name in another model. With two arguments the root becomes to "
     "and the other nodes to. + name. If both names have a star, the star of the target becomes the text that the star "
     "of the source matched."},
    {C::CopyNodeInputs, "CopyNodeInputs CopyInputs", 2, 2, "", "CopyNodeInputs(from, to)",
     "The target gets the inputs of the source."},
    {C::SetNodeInput, "SetNodeInput SetInput", 3, 3, "", "SetNodeInput(nodes, index, input)",
     "Replaces one input of the nodes, counted from 0."},
    {C::SetNodeInputs, "SetNodeInputs SetInputs", 2, c_anyNumber, "", "SetNodeInputs(node, input, ...)",
     "Replaces all inputs of one node."},
    {C::SetProperty, "SetProperty", 3, 3, "", "SetProperty(nodes, property, value)",
     "Sets whether and how fast a parameter is trained, or the groups of a node. value is true or false; a number for "
     "LearningRateMultiplier."},
    {C::SetPropertyForSubTree, "SetPropertyForSubTree", 3, 3, "", "SetPropertyForSubTree(nodes, property, value)",
     "Sets ComputeGradient or LearningRateMultiplier of all parameters below the nodes."},
    {C::RemoveNode, "RemoveNode Remove", 1, c_anyNumber, "", "RemoveNode(nodes, ...)",
     "Deletes nodes; nodes that used them as inputs lack these inputs afterwards."},
    {C::DeleteNode, "DeleteNode Delete", 1, c_anyNumber, "", "DeleteNode(nodes, ...)",
     "Deletes nodes; nodes that used them as inputs lack these inputs afterwards."},
    {C::Rename, "Rename", 2, 2, "", "Rename(from, to)",
     "Renames nodes; a star in both names stands for the same text."},
    {C::ReviseParameter, "ReviseParameter", 2, 2, "", "ReviseParameter(nodes, file)",
     "New values of parameters from a text file, one matrix row a line."},
};

std::vector<std::string> WordsOf(std::string_view text)
{
    std::vector<std::string> words;
    for (const std::string_view word : Split(text, ' '))
        if (!word.empty())
            words.emplace_back(word);
    return words;
}

std::vector<MelCommandInfo> MakeCommands()
{
    std::vector<MelCommandInfo> commands;
    for (const CommandRow& row : c_commandRows)
        commands.push_back(
            {row.command, WordsOf(row.names), row.fewest, row.most, WordsOf(row.options), row.usage, row.doc});
    return commands;
}

// Arguments that name nodes or models by a name or a pattern.
std::vector<const MelArgument*> NodeArguments(const MelCommandInfo& info, const MelStatement& statement)
{
    const std::vector<const MelArgument*> all = PositionalArguments(statement);
    switch (info.command)
    {
    case MelCommand::SaveModel:
        return all.size() == 1 ? std::vector<const MelArgument*>() : std::vector<const MelArgument*>{all[0]};
    case MelCommand::DumpModel:
    case MelCommand::DumpNode:
    case MelCommand::SetProperty:
    case MelCommand::SetPropertyForSubTree:
    case MelCommand::ReviseParameter:
        return {all[0]};
    case MelCommand::CopyNode:
    case MelCommand::CopySubTree:
    case MelCommand::CopyNodeInputs:
    case MelCommand::Rename:
        return {all[0], all[1]};
    case MelCommand::SetNodeInput:
        return {all[0], all[2]};
    case MelCommand::SetNodeInputs:
    case MelCommand::RemoveNode:
    case MelCommand::DeleteNode:
        return all;
    default:
        return {};
    }
}

void CheckMelValues(const MelCommandInfo& info, const MelStatement& statement)
{
    const std::vector<const MelArgument*> arguments = PositionalArguments(statement);
    for (const MelArgument* name : NodeArguments(info, statement))
        RequirePattern(*name);
    switch (info.command)
    {
    case MelCommand::LoadModel:
    case MelCommand::LoadModelWithName:
    case MelCommand::SaveModel:
    case MelCommand::SaveDefaultModel:
        return RequireModelFormat(statement);
    case MelCommand::DumpModel:
    case MelCommand::DumpNode:
        DumpsValues(statement);
        return;
    case MelCommand::CopyNode:
    case MelCommand::CopySubTree:
        CopiesValuesOnly(statement);
        return;
    case MelCommand::SetNodeInput:
        ParseInputNumber(*arguments[1]);
        return;
    case MelCommand::SetProperty:
    case MelCommand::SetPropertyForSubTree:
    {
        const MelProperty property = RequireMelProperty(*arguments[1]);
        if (info.command == MelCommand::SetPropertyForSubTree)
            RequireSubTreeProperty(*arguments[1]);
        if (property == MelProperty::LearningRateMultiplier)
            ParseMultiplier(*arguments[2]);
        else
            ParseMelFlag(*arguments[2]);
        return;
    }
    default:
        return;
    }
}

} // namespace

std::span<const MelCommandInfo> MelCommands()
{
    static const std::vector<MelCommandInfo> commands = MakeCommands();
    return commands;
}

bool IsAbbreviationOf(std::string_view text, std::string_view full)
{
    // Half of an odd length is rounded down, so that "Load" and "Save" are valid abbreviations.
    return text.size() <= full.size() && text.size() >= full.size() / 2 &&
           EqualsIgnoreCase(text, full.substr(0, text.size()));
}

const MelCommandInfo* FindMelCommand(std::string_view name)
{
    for (const MelCommandInfo& info : MelCommands())
        for (const std::string& full : info.names)
            if (EqualsIgnoreCase(name, full))
                return &info;
    for (const MelCommandInfo& info : MelCommands())
        for (const std::string& full : info.names)
            if (IsAbbreviationOf(name, full))
                return &info;
    return nullptr;
}

const MelCommandInfo& RequireMelCommand(const MelStatement& statement)
{
    if (const MelCommandInfo* info = FindMelCommand(statement.name))
        return *info;
    std::vector<std::string> names;
    for (const MelCommandInfo& info : MelCommands())
        names.insert(names.end(), info.names.begin(), info.names.end());
    FailAt(statement.where, ErrorKind::Config, "Unknown Editor function ", statement.name,
           DidYouMean(statement.name, names));
}

void CheckMelArguments(const MelCommandInfo& info, const MelStatement& statement)
{
    size_t count = 0;
    const MelArgument* option = nullptr; // no command has more than one
    for (const MelArgument& argument : statement.arguments)
    {
        if (argument.name.empty())
        {
            ++count;
            continue;
        }
        const bool isKnown =
            std::any_of(info.options.begin(), info.options.end(),
                        [&](const std::string& option) { return IsAbbreviationOf(argument.name, option); });
        if (!isKnown)
            FailAt(argument.where, ErrorKind::Config, info.names[0], " has no optional parameter '", argument.name,
                   "'. Valid parameters: ", info.usage, DidYouMean(argument.name, info.options));
        if (option != nullptr)
            FailAt(argument.where, ErrorKind::Config, "'", argument.name, "' is given twice: '", option->text,
                   "' and '", argument.text, "'. Valid parameters: ", info.usage);
        option = &argument;
    }
    if (count < info.fewest || count > info.most)
        FailAt(statement.where, ErrorKind::Config, "Invalid number of parameters (", count,
               "). Valid parameters: ", info.usage);
    if (!statement.model.empty() && info.command != MelCommand::CreateModel && info.command != MelCommand::LoadModel)
        FailAt(statement.where, ErrorKind::Config, info.names[0], " gives no model that '", statement.model,
               "' could name");
    CheckMelValues(info, statement);
}

std::vector<std::string> MelPropertyNames()
{
    std::vector<std::string> names;
    for (const PropertyName& known : c_properties)
        if (known.property != MelProperty::None && !IsRunTogether(known.name))
            names.emplace_back(known.name);
    return names;
}

MelProperty RequireMelProperty(const MelArgument& argument)
{
    for (const PropertyName& known : c_properties)
        if (EqualsIgnoreCase(known.name, argument.text))
            return known.property;
    for (const PropertyName& known : c_properties)
        if (IsAbbreviationOf(argument.text, known.name))
            return known.property;
    std::vector<std::string> names;
    for (const PropertyName& known : c_properties)
        names.emplace_back(known.name);
    const std::string hint = DidYouMean(argument.text, names);
    FailAt(argument.where, ErrorKind::Config, "Invalid property, ", argument.text, ", is not supported",
           hint.empty() ? "; expected one of " + Join(MelPropertyNames(), ", ") : hint);
}

const MelArgument* FindMelOption(const MelStatement& statement, std::string_view name)
{
    for (const MelArgument& argument : statement.arguments)
        if (!argument.name.empty() && IsAbbreviationOf(argument.name, name))
            return &argument;
    return nullptr;
}

std::vector<const MelArgument*> PositionalArguments(const MelStatement& statement)
{
    std::vector<const MelArgument*> arguments;
    for (const MelArgument& argument : statement.arguments)
        if (argument.name.empty())
            arguments.push_back(&argument);
    return arguments;
}

void RequireModelFormat(const MelStatement& statement)
{
    const MelArgument* const format = FindMelOption(statement, "format");
    if (format != nullptr && !IsAbbreviationOf(format->text, "cntk") &&
        !IsAbbreviationOf(format->text, "cntk_legacy_no_tensorlib"))
        FailAt(format->where, ErrorKind::Config, "the format of a model is '", format->text, "', expected cntk");
}

bool CopiesValuesOnly(const MelStatement& statement)
{
    const MelArgument* option = FindMelOption(statement, "copy");
    if (option == nullptr)
        option = FindMelOption(statement, "copyFlag");
    if (option == nullptr || IsAbbreviationOf(option->text, "all"))
        return false;
    if (IsAbbreviationOf(option->text, "value"))
        return true;
    FailAt(option->where, ErrorKind::Config, "copy is '", option->text, "', expected all or value");
}

bool DumpsValues(const MelStatement& statement)
{
    const MelArgument* const includeData = FindMelOption(statement, "includeData");
    const std::optional<bool> value = includeData == nullptr ? false : ParseBool(includeData->text);
    if (!value)
        FailAt(includeData->where, ErrorKind::Config, "includeData is '", includeData->text,
               "', expected true or false");
    return *value;
}

void RequirePattern(const MelArgument& name)
{
    if (name.text.empty())
        FailAt(name.where, ErrorKind::Config, "a name is empty, expected a node, a model, or a pattern with a '*'");
    if (std::count(name.text.begin(), name.text.end(), '*') > 1)
        FailAt(name.where, ErrorKind::Config, "'", name.text, "' has several '*', expected one at most");
}

size_t ParseInputNumber(const MelArgument& argument)
{
    const auto number = ParseSize(argument.text);
    if (!number)
        FailAt(argument.where, ErrorKind::Config, "'", argument.text, "' is no input, expected a whole number from 0");
    return *number;
}

bool ParseMelFlag(const MelArgument& argument)
{
    const std::optional<bool> value = ParseBool(argument.text);
    if (!value)
        FailAt(argument.where, ErrorKind::Config, "'", argument.text, "' is no property value, expected true or false");
    return *value;
}

double ParseMultiplier(const MelArgument& argument)
{
    const auto number = ParseDouble(argument.text);
    if (!number || !(*number >= 0 && *number <= std::numeric_limits<float>::max()))
        FailAt(argument.where, ErrorKind::Config, "'", argument.text,
               "' is no learning rate multiplier, expected a number that is not negative, of at most 3.4e38");
    return *number;
}

bool IsParameterProperty(MelProperty property)
{
    return property == MelProperty::NeedsGradient || property == MelProperty::LearningRateMultiplier;
}

void RequireSubTreeProperty(const MelArgument& property)
{
    if (!IsParameterProperty(RequireMelProperty(property)))
        FailAt(property.where, ErrorKind::Config, "property '", property.text,
               "' is not supported for a sub-tree, expected ComputeGradient, NeedsGradient or "
               "LearningRateMultiplier");
}

} // namespace cntk
