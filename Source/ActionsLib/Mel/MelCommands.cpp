// Tables of commands and properties.
#include "ActionsLib/Mel/MelCommands.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>

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

// Accepted for the book's sake, but no name that anybody should learn.
bool IsRunTogether(std::string_view name)
{
    return name == "FinalCriterionCriteria" || name == "EvaluationEval";
}

} // namespace

std::span<const MelCommandInfo> MelCommands()
{
    using C = MelCommand;
    static const std::vector<MelCommandInfo> commands = {
        {C::CreateModel, {"CreateModel"}, 0, 0, {}, "m=CreateModel()", "An empty model."},
        {C::CreateModelWithName,
         {"CreateModelWithName"},
         1,
         1,
         {},
         "CreateModelWithName(name)",
         "An empty model of that name."},
        {C::LoadModel,
         {"LoadModel"},
         1,
         1,
         {"format"},
         "m=LoadModel(file, [format=cntk])",
         "The model of a file; without m= its name is default."},
        {C::LoadModelWithName,
         {"LoadModelWithName"},
         2,
         2,
         {"format"},
         "LoadModelWithName(name, file, [format=cntk])",
         "The model of a file, under a name."},
        {C::LoadNdlSnippet,
         {"LoadNDLSnippet"},
         2,
         3,
         {"section"},
         "LoadNDLSnippet(name, file, [section=name])",
         "A model from an NDL file: from that section, the one that run= names, or the first; or from the nodes "
         "outside "
         "of sections, if there are any."},
        {C::SaveDefaultModel,
         {"SaveDefaultModel"},
         1,
         1,
         {"format"},
         "SaveDefaultModel(file, [format=cntk])",
         "Checks the default model and saves it."},
        {C::SaveModel,
         {"SaveModel"},
         1,
         2,
         {"format"},
         "SaveModel([name,] file, [format=cntk])",
         "Checks a model, the default one without a name, and saves it. One with inputs that are not connected, or "
         "with shapes that do not fit, is refused with its nodes and inputs."},
        {C::SetDefaultModel,
         {"SetDefaultModel"},
         1,
         1,
         {},
         "SetDefaultModel(name)",
         "The model that node names without a model belong to from here on, and in-line NDL."},
        {C::UnloadModel, {"UnloadModel"}, 1, c_anyNumber, {}, "UnloadModel(name, ...)", "Forgets models; files stay."},
        {C::DumpModel,
         {"DumpModel", "Dump"},
         2,
         2,
         {"includeData"},
         "DumpModel(name, file, [includeData=false])",
         "The nodes of a model as text, as action=dumpnode writes them; with includeData=true also the values of "
         "parameters."},
        {C::DumpNode,
         {"DumpNode"},
         2,
         2,
         {"includeData"},
         "DumpNode(nodes, file, [includeData=false])",
         "Nodes as text, as action=dumpnode writes them."},
        {C::CopyNode,
         {"CopyNode", "Copy"},
         2,
         2,
         {"copy", "copyFlag"},
         "CopyNode(from, to, [copy=all|value])",
         "Nodes with their values and the links among them. Other inputs of a node that was there stay; of a new node "
         "they are missing and must be set. copy=value: the values only. With a star in both names the one of the "
         "target takes what that of the source matched."},
        {C::CopySubTree,
         {"CopySubTree"},
         2,
         3,
         {"copy", "copyFlag"},
         "CopySubTree(from, toModel, prefix, [copy=all|value]) or CopySubTree(from, to, [copy=all|value])",
         "A node and all below it, as prefix + name in another model; with two arguments the root becomes to, the "
         "others to. + name. With a star in both names that of the target takes what that of the source matched."},
        {C::CopyNodeInputs,
         {"CopyNodeInputs", "CopyInputs"},
         2,
         2,
         {},
         "CopyNodeInputs(from, to)",
         "The target gets the inputs of the source."},
        {C::SetNodeInput,
         {"SetNodeInput", "SetInput"},
         3,
         3,
         {},
         "SetNodeInput(nodes, index, input)",
         "Replaces one input of the nodes, counted from 0."},
        {C::SetNodeInputs,
         {"SetNodeInputs", "SetInputs"},
         2,
         c_anyNumber,
         {},
         "SetNodeInputs(node, input, ...)",
         "Replaces all inputs of one node."},
        {C::SetProperty,
         {"SetProperty"},
         3,
         3,
         {},
         "SetProperty(nodes, property, value)",
         "Whether and how fast a parameter is trained, and to which groups a node belongs: value is true or false, and "
         "a number for LearningRateMultiplier."},
        {C::SetPropertyForSubTree,
         {"SetPropertyForSubTree"},
         3,
         3,
         {},
         "SetPropertyForSubTree(nodes, property, value)",
         "ComputeGradient or LearningRateMultiplier of all parameters below the nodes."},
        {C::RemoveNode,
         {"RemoveNode", "Remove"},
         1,
         c_anyNumber,
         {},
         "RemoveNode(nodes, ...)",
         "Deletes nodes; what took them as input lacks it afterwards."},
        {C::DeleteNode,
         {"DeleteNode", "Delete"},
         1,
         c_anyNumber,
         {},
         "DeleteNode(nodes, ...)",
         "Deletes nodes; what took them as input lacks it afterwards."},
        {C::Rename,
         {"Rename"},
         2,
         2,
         {},
         "Rename(from, to)",
         "Other names for nodes; a star in both names stands for the same text."},
        {C::ReviseParameter,
         {"ReviseParameter"},
         2,
         2,
         {},
         "ReviseParameter(nodes, file)",
         "New values of parameters from a text file, one matrix row a line."},
    };
    return commands;
}

bool IsAbbreviationOf(std::string_view text, std::string_view full)
{
    // Half of an odd length is rounded down, so that Load and Save are enough.
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

} // namespace cntk
