// Statements and files. Commands on nodes: MelNodeCommands.cpp. Models by name: MelModels.cpp.
#include "ActionsLib/Mel/MelEditor.h"

#include "ActionsLib/JobParts/NetworkSource.h"
#include "ActionsLib/Ndl/NdlFunctions.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/NetworkReport.h"

#include <algorithm>

namespace cntk
{
namespace
{

// Returns the macros of a script without its other statements.
NdlScript MacrosOf(const NdlScript& script)
{
    NdlScript macros;
    for (const NdlStatement& statement : script.statements)
        if (statement.kind == NdlStatement::Kind::Macro)
            macros.statements.push_back(statement);
    return macros;
}

const NdlScript& RequireSnippetSection(const std::vector<const NdlStatement*>& sections, const std::string& name,
                                       const std::string& path, const SourcePos& where)
{
    std::vector<std::string> names;
    for (const NdlStatement* section : sections)
    {
        if (EqualsIgnoreCase(section->name, name))
            return *section->body;
        names.push_back(section->name);
    }
    FailAt(where, ErrorKind::Config, "NDL file '", path, "' has no section '", name, "'", DidYouMean(name, names));
}

// Returns the snippet of an NDL file: the requested section, the section that run= names, the first section that load=
// does not name, or the nodes outside of sections. The sections of load= come before it with macros and constants.
NdlScript SnippetOf(const NdlScript& file, const MelArgument* section, const MelArgument& path)
{
    std::vector<const NdlStatement*> sections;
    NdlScript rest;
    std::vector<std::string> load;
    SourcePos loadWhere;
    std::string wanted = section == nullptr ? "" : section->text;
    SourcePos wantedWhere = section == nullptr ? SourcePos{} : section->where;
    for (const NdlStatement& statement : file.statements)
    {
        const bool isAssignment = statement.kind == NdlStatement::Kind::Assignment;
        if (statement.kind == NdlStatement::Kind::Section)
            sections.push_back(&statement);
        else if (EqualsIgnoreCase(statement.name, "run") && statement.value.kind == NdlExpression::Kind::Name)
        {
            if (section == nullptr)
            {
                wanted = statement.value.text;
                wantedWhere = statement.where;
            }
        }
        else if (isAssignment && EqualsIgnoreCase(statement.name, "load"))
        {
            load = statement.value.Names();
            loadWhere = statement.where;
        }
        else
            rest.statements.push_back(statement);
    }

    NdlScript snippet;
    for (const std::string& name : load)
        snippet.Append(RequireSnippetSection(sections, name, path.text, loadWhere));
    const auto isLoaded = [&](const NdlStatement* each)
    {
        return std::any_of(load.begin(), load.end(),
                           [&](const std::string& name) { return EqualsIgnoreCase(name, each->name); });
    };
    const auto first = std::find_if_not(sections.begin(), sections.end(), isLoaded);
    const bool hasNodesOutside =
        std::any_of(rest.statements.begin(), rest.statements.end(),
                    [](const NdlStatement& each) { return each.kind != NdlStatement::Kind::Macro; });
    if (wanted.empty() && (first == sections.end() || hasNodesOutside))
    {
        snippet.Append(rest);
        return snippet;
    }
    snippet.Append(MacrosOf(rest));
    snippet.Append(wanted.empty() ? *(*first)->body : RequireSnippetSection(sections, wanted, path.text, wantedWhere));
    return snippet;
}

void AddMacroNames(const NdlScript& script, std::vector<std::string>& names)
{
    for (const NdlStatement& statement : script.statements)
        if (statement.kind == NdlStatement::Kind::Macro)
            names.push_back(statement.name);
}

void RequireKnownCalls(const NdlExpression& expression, const std::vector<std::string>& macros)
{
    const NodeRegistry& registry = NodeRegistry::Standard();
    const auto isCalled = [&](const std::string& name) { return EqualsIgnoreCase(name, expression.text); };
    if (expression.kind == NdlExpression::Kind::Call && !FindNdlFunction(registry, expression.text).type &&
        std::none_of(macros.begin(), macros.end(), isCalled))
    {
        std::vector<std::string> names = NdlFunctionNames(registry);
        names.insert(names.end(), macros.begin(), macros.end());
        FailAt(expression.where, ErrorKind::Config, "unknown function or macro '", expression.text, "'",
               DidYouMean(expression.text, names));
    }
    for (const NdlArgument& argument : expression.arguments)
        RequireKnownCalls(argument.value, macros);
}

void RequireKnownCalls(const NdlScript& script, const std::vector<std::string>& macros)
{
    for (const NdlStatement& statement : script.statements)
    {
        RequireKnownCalls(statement.value, macros);
        if (statement.body)
            RequireKnownCalls(*statement.body, macros);
    }
}

} // namespace

MelScript PrepareMel(ScriptText text)
{
    const auto isModelCommand = [](std::string_view name)
    {
        const MelCommandInfo* const info = FindMelCommand(name);
        return info != nullptr && (info->command == MelCommand::CreateModel || info->command == MelCommand::LoadModel);
    };
    MelScript script = ParseMel(std::move(text), isModelCommand);
    for (MelStatement& statement : script.statements)
    {
        if (statement.kind != MelStatement::Kind::Command)
        {
            ParseNdl(script.text, statement.begin, statement.end); // reports syntax errors
            continue;
        }
        CheckMelArguments(RequireMelCommand(statement), statement);
        std::stable_partition(statement.arguments.begin(), statement.arguments.end(),
                              [](const MelArgument& argument) { return argument.name.empty(); });
    }
    return script;
}

void CheckNdlFunctions(const std::vector<MelScript>& scripts, const std::vector<NdlScript>& macros)
{
    std::vector<std::string> names;
    std::vector<NdlScript> parts;
    for (const NdlScript& script : macros)
        AddMacroNames(script, names);
    for (const MelScript& script : scripts)
    {
        for (const MelSection& section : script.macroSections)
            AddMacroNames(ParseNdl(script.text, section.begin, section.end), names);
        for (const MelStatement& statement : script.statements)
            if (statement.kind != MelStatement::Kind::Command)
            {
                parts.push_back(ParseNdl(script.text, statement.begin, statement.end));
                AddMacroNames(parts.back(), names);
            }
            else if (RequireMelCommand(statement).command == MelCommand::LoadNdlSnippet)
                return;
    }
    for (const NdlScript& part : parts)
        RequireKnownCalls(part, names);
}

MelEditor::MelEditor(DataType dataType, std::shared_ptr<Device> device, NdlContext& context, Log& log, Mode mode)
    : m_log(log), m_mode(mode), m_models(dataType, std::move(device), context, log)
{
}

void MelEditor::Run(const MelScript& script)
{
    for (const MelSection& section : script.macroSections)
        m_models.DefineMacros(MacrosOf(ParseNdl(script.text, section.begin, section.end)));
    for (const MelStatement& statement : script.statements)
    {
        try
        {
            Execute(script, statement);
        }
        catch (const Error& error)
        {
            if (error.Where())
                throw;
            throw error.At(statement.where);
        }
    }
    m_models.FinishNdl();
}

void MelEditor::Execute(const MelScript& script, const MelStatement& statement)
{
    switch (statement.kind)
    {
    case MelStatement::Kind::Ndl:
        m_models.Default(statement.where, statement.name)
            .ndl->Run(ParseNdl(script.text, statement.begin, statement.end));
        break;
    case MelStatement::Kind::Snippet:
        RunSnippet(statement.model, ParseNdl(script.text, statement.begin, statement.end));
        break;
    default:
        ExecuteCommand(statement);
    }
}

void MelEditor::RunSnippet(const std::string& name, const NdlScript& script)
{
    m_models.DefineMacros(MacrosOf(script));
    NdlScript nodes;
    for (const NdlStatement& statement : script.statements)
        if (statement.kind != NdlStatement::Kind::Macro)
            nodes.statements.push_back(statement);
    MelModel& model = m_models.Add(name, m_models.MakeNetwork());
    model.ndl->Run(std::move(nodes));
    model.ndl->Finish();
}

void MelEditor::ExecuteCommand(const MelStatement& statement)
{
    const std::vector<const MelArgument*> arguments = PositionalArguments(statement);
    const std::string ownName = statement.model.empty() ? c_defaultModelName : statement.model;
    const MelCommand command = RequireMelCommand(statement).command;
    switch (command)
    {
    case MelCommand::CreateModel:
        m_models.Add(ownName, m_models.MakeNetwork());
        break;
    case MelCommand::CreateModelWithName:
        m_models.Add(arguments[0]->text, m_models.MakeNetwork());
        break;
    case MelCommand::LoadModel:
        LoadFile(ownName, *arguments[0], statement);
        break;
    case MelCommand::LoadModelWithName:
        LoadFile(arguments[0]->text, *arguments[1], statement);
        break;
    case MelCommand::LoadNdlSnippet:
        LoadSnippet(statement);
        break;
    case MelCommand::SetDefaultModel:
        m_models.SetDefault(m_models.Require(*arguments[0]));
        break;
    case MelCommand::UnloadModel:
        for (const MelArgument* argument : arguments)
        {
            if (const MelModel* const model = m_models.Find(argument->text))
                m_models.Remove(*model);
            else
                m_log.Print("WARNING: model %s does not exist.\n", argument->text.c_str());
        }
        break;
    default:
        m_models.FinishNdl(); // other commands need connected nodes
        ExecuteOnNodes(command, statement);
    }
}

void MelEditor::ExecuteOnNodes(MelCommand command, const MelStatement& statement)
{
    const std::vector<const MelArgument*> arguments = PositionalArguments(statement);
    switch (command)
    {
    case MelCommand::SaveDefaultModel:
        SaveTo(m_models.Default(statement.where), *arguments[0], statement);
        break;
    case MelCommand::SaveModel:
        if (arguments.size() == 1 && m_models.Find(arguments[0]->text) != nullptr)
            m_log.Warn(Concat(statement.where.Location(), ": the default model is saved to the file '",
                              arguments[0]->text,
                              "', which is also the name of a model; SaveModel(name, file) names "
                              "both"));
        SaveTo(arguments.size() == 1 ? m_models.Default(statement.where) : m_models.Require(*arguments[0]),
               *arguments.back(), statement);
        break;
    case MelCommand::DumpModel:
        Dump(m_models.Require(*arguments[0]).network->Nodes(), statement);
        break;
    case MelCommand::DumpNode:
        Dump(m_models.FindNodes(m_models.ParsePattern(*arguments[0])), statement);
        break;
    case MelCommand::CopyNode:
        Copy(statement);
        break;
    case MelCommand::CopySubTree:
        CopySubTree(statement);
        break;
    case MelCommand::CopyNodeInputs:
        CopyInputs(statement);
        break;
    case MelCommand::SetNodeInput:
        SetInput(statement);
        break;
    case MelCommand::SetNodeInputs:
        SetInputs(statement);
        break;
    case MelCommand::SetProperty:
    case MelCommand::SetPropertyForSubTree:
        SetProperty(command, statement);
        break;
    case MelCommand::RemoveNode:
    case MelCommand::DeleteNode:
        Delete(statement);
        break;
    case MelCommand::Rename:
        Rename(statement);
        break;
    default:
        Revise(statement);
        break;
    }
}

void MelEditor::LoadFile(const std::string& name, const MelArgument& file, const MelStatement& statement)
{
    RequireModelFormat(statement);
    m_modelFiles.push_back({"the model of " + file.where.Location(), ResolveInputPath(file.text)});
    try
    {
        m_models.Add(name, m_models.LoadNetwork(file.text)).file = ResolveInputPath(file.text);
    }
    catch (const Error& error)
    {
        if (error.Where())
            throw;
        throw error.At(file.where);
    }
}

void MelEditor::LoadSnippet(const MelStatement& statement)
{
    const std::vector<const MelArgument*> arguments = PositionalArguments(statement);
    const MelArgument* section = FindMelOption(statement, "section");
    if (section != nullptr && arguments.size() == 3)
        FailAt(section->where, ErrorKind::Config, "'section' is given twice: '", arguments[2]->text, "' and '",
               section->text, "'");
    if (section == nullptr && arguments.size() == 3)
        section = arguments[2];
    const MelArgument& file = *arguments[1];
    const auto text = ReadScript(file.text, "NDL file", file.where);
    Protect({"the NDL file of " + file.where.Location(), ResolveInputPath(file.text)});
    RunSnippet(arguments[0]->text, SnippetOf(ParseNdl(text), section, file));
}

// Fails if inputs are missing, if a node has too many inputs, or if shapes do not fit.
void MelEditor::RequireValid(const MelModel& model, const MelArgument& file, const MelStatement& statement)
{
    std::vector<std::string> faults;
    for (const ComputationNodePtr& node : model.network->Nodes())
    {
        const auto& expected = node->Type().inputs;
        const auto has = [&](const char* limit, size_t number)
        {
            return Concat("'", node->Name(), "' (", node->TypeName(), ") has ", Counted(node->InputCount(), "input"),
                          ", expected ", number, expected.min < expected.max ? limit : "");
        };
        if (node->InputCount() > expected.max)
            faults.push_back(has(" at most", expected.max));
        if (node->InputCount() < expected.min)
            faults.push_back(has(" at least", expected.min));
        for (size_t i = 0; i < node->InputCount(); ++i)
            if (!node->Input(i))
                faults.push_back(
                    Concat("input ", i, " of '", node->Name(), "' (", node->TypeName(), ") is not connected"));
    }
    const std::string begin = Concat("model '", model.name, "' cannot be saved to '", file.text, "'");
    if (!faults.empty())
        FailAt(statement.where, ErrorKind::Model, begin, ", network is malformed: ", JoinSome(faults),
               "; connect nodes with SetInput or SetInputs, or delete them");
    WithNote([&] { model.network->Validate(); }, [&] { return begin; });
}

void MelEditor::SaveTo(MelModel& model, const MelArgument& file, const MelStatement& statement)
{
    RequireModelFormat(statement);
    if (model.network->size() == 0)
        FailAt(statement.where, ErrorKind::Model, "model '", model.name, "' cannot be saved to '", file.text,
               "': it has no nodes; expected some, copied from another model or described by NDL");
    RequireValid(model, file, statement);
    for (const ComputationNodePtr& criterion : model.network->Group(NodeGroup::Criterion))
        if (criterion->HasMBLayout() || criterion->SampleElements() != 1)
            m_log.Warn(Concat(statement.where.Location(), ": the criterion '", criterion->Name(), "' (",
                              criterion->TypeName(), ") of model '", model.name, "' is not a single number but [",
                              criterion->SampleLayout().ToString(), criterion->HasMBLayout() ? " x *" : "",
                              "]; training will refuse it"));
    const std::string path = ResolveOutputPath(file.text);
    for (const std::vector<NamedFile>* other : {&m_filesRead, &m_dumpFiles})
        RequireNotRead({"the model", path}, *other, file.where);
    for (const std::string& name : m_models.Names())
        if (const MelModel& loaded = *m_models.Find(name);
            &loaded != &model && !loaded.file.empty() && IsSameFile(loaded.file, path))
            m_log.Warn(Concat(file.where.Location(), ": '", file.text, "', the file of model '", name,
                              "', is replaced by model '", model.name, "'"));
    m_modelFiles.push_back({"the model saved at " + file.where.Location(), path});
    if (m_mode == Mode::Run)
        SaveIfChanged(*model.network, path, m_log);
}

void MelEditor::Dump(const std::vector<ComputationNodePtr>& nodes, const MelStatement& statement)
{
    const bool printValues = DumpsValues(statement);
    const MelArgument& file = *PositionalArguments(statement)[1];
    const std::string path = ResolveOutputPath(file.text);
    for (const std::vector<NamedFile>* other : {&m_filesRead, &m_modelFiles})
        RequireNotRead({"the dump", path}, *other, file.where);
    m_dumpFiles.push_back({"the dump of " + file.where.Location(), path});
    if (m_mode == Mode::Run)
        DumpNodes(nodes, {.printValues = printValues, .printMetadata = true}, path);
}

} // namespace cntk
