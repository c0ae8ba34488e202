// Flags, numbers and words of the commands.
#include "ActionsLib/Mel/MelValues.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <limits>

namespace cntk
{

std::vector<const MelArgument*> PositionalArguments(const MelStatement& statement)
{
    std::vector<const MelArgument*> arguments;
    for (const MelArgument& argument : statement.arguments)
        if (argument.name.empty())
            arguments.push_back(&argument);
    return arguments;
}

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
            RequirePropertyOfSubTree(*arguments[1]);
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

bool IsOfParameters(MelProperty property)
{
    return property == MelProperty::NeedsGradient || property == MelProperty::LearningRateMultiplier;
}

void RequirePropertyOfSubTree(const MelArgument& property)
{
    if (!IsOfParameters(RequireMelProperty(property)))
        FailAt(property.where, ErrorKind::Config, "property '", property.text,
               "' is not supported for a sub-tree, expected ComputeGradient, NeedsGradient or "
               "LearningRateMultiplier");
}

} // namespace cntk
