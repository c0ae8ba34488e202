// Follows names of models through the statements to come.
#include "ActionsLib/Mel/MelUse.h"

#include "ActionsLib/Mel/MelValues.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{
namespace
{

bool IsAmong(const std::string& name, const std::vector<std::string>& names)
{
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& each) { return EqualsIgnoreCase(each, name); });
}

// The model that the statement makes; empty: none.
std::string ModelMadeBy(const MelStatement& statement, MelCommand command)
{
    switch (command)
    {
    case MelCommand::CreateModel:
    case MelCommand::LoadModel:
        return statement.model.empty() ? c_defaultModelName : statement.model;
    case MelCommand::CreateModelWithName:
    case MelCommand::LoadModelWithName:
    case MelCommand::LoadNdlSnippet:
        return PositionalArguments(statement)[0]->text;
    default:
        return {};
    }
}

// The argument that must be the name of a model; null: there is none.
const MelArgument* ModelArgument(const MelStatement& statement, MelCommand command)
{
    const std::vector<const MelArgument*> arguments = PositionalArguments(statement);
    switch (command)
    {
    case MelCommand::SetDefaultModel:
    case MelCommand::DumpModel:
        return arguments[0];
    case MelCommand::SaveModel:
        return arguments.size() > 1 ? arguments[0] : nullptr;
    default:
        return nullptr;
    }
}

} // namespace

void FailNoModel(const MelArgument& argument, const std::vector<std::string>& names)
{
    FailAt(argument.where, ErrorKind::Config, "there is no model '", argument.text,
           names.empty() ? "'; none has been loaded" : "'; models: " + Join(names, ", "),
           DidYouMean(argument.text, names));
}

void FailNoDefaultModel(const SourcePos& where, const std::string& function)
{
    FailAt(where, ErrorKind::Config,
           "there is no default model; load one with LoadModel, or choose one with SetDefaultModel",
           DidYouMean(function, {"CreateModel", "LoadModel"}));
}

void CheckModelNames(const MelScript& script, std::vector<std::string>& names)
{
    for (const MelStatement& statement : script.statements)
    {
        const bool isCommand = statement.kind == MelStatement::Kind::Command;
        if (statement.kind == MelStatement::Kind::Ndl)
        {
            if (names.empty())
                FailNoDefaultModel(statement.where, statement.name);
            continue;
        }
        const MelCommandInfo* const info = isCommand ? &RequireMelCommand(statement) : nullptr;
        const std::string made = isCommand ? ModelMadeBy(statement, info->command) : statement.model;
        if (!made.empty() && !IsAmong(made, names))
            names.push_back(made);
        if (!isCommand)
            continue;
        if (const MelArgument* const model = ModelArgument(statement, info->command);
            model != nullptr && !IsAmong(model->text, names))
            FailNoModel(*model, names);
        if (info->command == MelCommand::UnloadModel)
            for (const MelArgument* unloaded : PositionalArguments(statement))
                std::erase_if(names, [&](const std::string& name) { return EqualsIgnoreCase(name, unloaded->text); });
    }
}

std::string ModelNamedBy(const std::string& text, const std::vector<std::string>& names)
{
    for (size_t end = text.find_first_of(".*");; end = text.find_first_of(".*", end + 1))
    {
        const std::string name = text.substr(0, end);
        if (IsAmong(name, names))
            return name;
        if (end == std::string::npos || text[end] == '*')
            return {};
    }
}

std::optional<SourcePos> NextUseOfModel(const MelScript& script, size_t first, const std::string& model, bool isDefault,
                                        std::vector<std::string> names)
{
    for (size_t i = first; i < script.statements.size(); ++i)
    {
        const MelStatement& statement = script.statements[i];
        if (statement.kind == MelStatement::Kind::Ndl)
        {
            if (isDefault)
                return statement.where;
            continue;
        }
        const bool isSnippet = statement.kind == MelStatement::Kind::Snippet;
        const MelCommandInfo* const info = isSnippet ? nullptr : &RequireMelCommand(statement);
        const std::string made = isSnippet ? statement.model : ModelMadeBy(statement, info->command);
        if (EqualsIgnoreCase(made, model))
            return std::nullopt;
        if (!made.empty())
        {
            names.push_back(made);
            continue;
        }
        const std::vector<const MelArgument*> arguments = PositionalArguments(statement);
        const auto isNamed = [&](const MelArgument* argument) { return EqualsIgnoreCase(argument->text, model); };
        if (info->command == MelCommand::UnloadModel)
        {
            if (std::any_of(arguments.begin(), arguments.end(), isNamed))
                return std::nullopt;
            continue;
        }
        if (info->command == MelCommand::SetDefaultModel)
        {
            if (isNamed(arguments[0]))
                return arguments[0]->where;
            isDefault = false;
            continue;
        }
        const std::vector<const MelArgument*> nodes = NodeArguments(*info, statement);
        if (nodes.empty() && isDefault) // SaveModel(file), SaveDefaultModel
            return statement.where;
        for (const MelArgument* node : nodes)
        {
            const std::string named = ModelNamedBy(node->text, names);
            if (named.empty() ? isDefault : EqualsIgnoreCase(named, model))
                return node->where;
        }
    }
    return std::nullopt;
}

} // namespace cntk
