// Statements, models and files. Commands on nodes: MelNodeCommands.cpp.
#include "ActionsLib/Mel/MelEditor.h"

#include "ActionsLib/JobParts/NetworkSource.h"
#include "ActionsLib/Mel/MelParser.h"
#include "ActionsLib/Mel/MelUse.h"
#include "ActionsLib/Mel/MelValues.h"
#include "ActionsLib/Ndl/NdlParser.h"
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

// Only the macros of a script.
NdlScript MacrosOf(const NdlScript& script)
{
    NdlScript macros;
    for (const NdlStatement& statement : script.statements)
        if (statement.kind == NdlStatement::Kind::Macro)
            macros.statements.push_back(statement);
    return macros;
}

// An NDL file by its parts.
struct NdlFileParts
{
    std::string path;
    std::vector<const NdlStatement*> sections; // of the file, which lives longer
    std::vector<std::string> load;             // load=
    SourcePos loadWhere;
    std::string run; // run=; "" where it is not there
    SourcePos runWhere;
    NdlScript rest; // what stands in no section

    explicit NdlFileParts(const NdlScript& file, std::string path) : path(std::move(path))
    {
        for (const NdlStatement& statement : file.statements)
        {
            const bool isAssignment = statement.kind == NdlStatement::Kind::Assignment;
            if (statement.kind == NdlStatement::Kind::Section)
                sections.push_back(&statement);
            else if (EqualsIgnoreCase(statement.name, "run") && statement.value.kind == NdlExpression::Kind::Name)
            {
                run = statement.value.text;
                runWhere = statement.where;
            }
            else if (isAssignment && EqualsIgnoreCase(statement.name, "load"))
            {
                load = statement.value.Names();
                loadWhere = statement.where;
            }
            else
                rest.statements.push_back(statement);
        }
    }

    // Fails at `where` if there is no such section.
    const NdlScript& BodyOf(const std::string& name, const SourcePos& where) const
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

    // The first section that load= does not name; null: there is none.
    const NdlStatement* FirstNotLoaded() const
    {
        for (const NdlStatement* section : sections)
            if (std::none_of(load.begin(), load.end(),
                             [&](const std::string& name) { return EqualsIgnoreCase(name, section->name); }))
                return section;
        return nullptr;
    }

    bool HasNodesOutsideSections() const
    {
        return std::any_of(rest.statements.begin(), rest.statements.end(),
                           [](const NdlStatement& each) { return each.kind != NdlStatement::Kind::Macro; });
    }
};

// The snippet in a file: the section asked for, the one that run= names, the first, or the whole file. The sections
// that load= names come before it, with their macros and constants.
NdlScript SnippetOf(const NdlScript& file, const MelArgument* section, const MelArgument& path)
{
    const NdlFileParts parts(file, path.text);
    const std::string& wanted = section == nullptr ? parts.run : section->text;
    const NdlStatement* const first = parts.FirstNotLoaded();
    NdlScript snippet;
    for (const std::string& name : parts.load)
        snippet.Append(parts.BodyOf(name, parts.loadWhere));
    if (wanted.empty() && (first == nullptr || parts.HasNodesOutsideSections()))
    {
        snippet.Append(parts.rest);
        return snippet;
    }
    snippet.Append(MacrosOf(parts.rest));
    snippet.Append(wanted.empty() ? *first->body
                                  : parts.BodyOf(wanted, section == nullptr ? parts.runWhere : section->where));
    return snippet;
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
            ParseNdl(script.text, statement.begin, statement.end); // syntax
            continue;
        }
        const MelCommandInfo& info = RequireMelCommand(statement);
        CheckMelArguments(info, statement);
        std::stable_partition(statement.arguments.begin(), statement.arguments.end(),
                              [](const MelArgument& argument) { return argument.name.empty(); });
        CheckMelValues(info, statement);
    }
    return script;
}

MelEditor::MelEditor(DataType dataType, std::shared_ptr<Device> device, NdlContext& context, Log& log, Mode mode)
    : m_log(log), m_mode(mode), m_models(dataType, std::move(device), context, log)
{
}

void MelEditor::Run(const MelScript& script)
{
    for (const MelSection& section : script.macroSections)
        m_models.DefineMacros(MacrosOf(ParseNdl(script.text, section.begin, section.end)));
    for (size_t i = 0; i < script.statements.size(); ++i)
    {
        const MelStatement& statement = script.statements[i];
        m_script = &script;
        m_next = i + 1;
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
    FinishNdl();
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

// In-line NDL is connected when a command needs it.
void MelEditor::FinishNdl()
{
    m_models.FinishNdl();
}

void MelEditor::RunSnippet(const std::string& name, const NdlScript& script)
{
    // Macros are for all models, this one included.
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
        FinishNdl();
        ExecuteOnNodes(command, arguments, statement);
        break;
    }
}

void MelEditor::ExecuteOnNodes(MelCommand command, const std::vector<const MelArgument*>& arguments,
                               const MelStatement& statement)
{
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
    m_loaded.push_back({"the model of " + file.where.Location(), ResolveInputPath(file.text)});
    try
    {
        MelModel& model = m_models.Add(name, m_models.LoadNetwork(file.text));
        model.files.push_back({MelModelFile::Kind::Loaded, ResolveInputPath(file.text), file.where});
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

// Fails with all that is wrong: a node mended is not followed by the next complaint.
void MelEditor::RequireValid(const MelModel& model, const MelArgument& file, const MelStatement& statement)
{
    std::vector<std::string> missing;
    std::vector<std::string> tooMany; // LoadModel would refuse them: the model that was there would be lost
    for (const ComputationNodePtr& node : model.network->Nodes())
    {
        const auto& expected = node->Type().inputs;
        const auto has = [&](const char* most, size_t number)
        {
            return Concat("'", node->Name(), "' (", node->TypeName(), ") has ", Counted(node->InputCount(), "input"),
                          ", expected ", number, most);
        };
        if (node->InputCount() > expected.max)
            tooMany.push_back(has(expected.min < expected.max ? " at most" : "", expected.max));
        if (node->InputCount() < expected.min)
            missing.push_back(has(expected.min < expected.max ? " at least" : "", expected.min));
        for (size_t i = 0; i < node->InputCount(); ++i)
            if (!node->Input(i))
                missing.push_back(Concat("input ", i, " of '", node->Name(), "' (", node->TypeName(), ")"));
    }
    std::vector<std::string> faults;
    if (!missing.empty())
        faults.push_back(Concat("not connected: ", JoinSome(missing), "; connect with SetInput or delete"));
    if (!tooMany.empty())
        faults.push_back(Concat("too many inputs: ", JoinSome(tooMany), "; set them with SetInputs"));
    const std::vector<ComputationNetwork::InvalidNode> invalid = model.network->FindInvalidNodes();
    if (faults.empty() && invalid.empty())
        return model.network->Validate();

    const std::string begin = Concat("model '", model.name, "' cannot be saved to '", file.text, "'");
    std::string message = Concat(begin, ", network is malformed: ", Join(faults, "; "));
    if (faults.empty()) // the first one is the message, the others are notes
        message = invalid.size() == 1 ? invalid[0].message
                                      : Concat(invalid[0].message, "; ", invalid.size() - 1, " more of the nodes ",
                                               invalid.size() == 2 ? "is" : "are", " invalid, see the notes");
    Error error(ErrorKind::Model, message, statement.where);
    constexpr size_t c_most = 10;
    for (size_t i = 0; i < std::min(invalid.size(), c_most); ++i)
        error.AddNote(Concat(i == 0 && faults.empty() ? "" : invalid[i].message + "; ", "while validating ",
                             model.network->Describe(*invalid[i].node)));
    if (invalid.size() > c_most)
        error.AddNote(Concat("and ", invalid.size() - c_most, " nodes more"));
    if (faults.empty())
        error.AddNote(begin);
    throw error;
}

// A model goes back to the file that it is from without a word; that of another model is gone then.
void MelEditor::TakeFile(MelModel& model, const std::string& path, const MelArgument& file)
{
    const auto isFile = [&path](const MelModelFile& each) { return IsSameFile(path, each.path); };
    const bool isOwn = std::any_of(model.files.begin(), model.files.end(), isFile);
    for (MelModel* const other : m_models.All())
    {
        const auto found = std::find_if(other->files.begin(), other->files.end(), isFile);
        if (found == other->files.end() || other == &model)
            continue;
        const bool isLoaded = found->kind == MelModelFile::Kind::Loaded;
        const std::string whose = Concat("'", file.text, "', the file that model '", other->name, "' was ",
                                         isLoaded ? "loaded from (" : "saved to (", found->where.Location(), ")");
        const auto use = isOwn || !isLoaded ? std::nullopt
                                            : NextUseOfModel(*m_script, m_next, other->name, m_models.IsDefault(*other),
                                                             m_models.Names());
        if (use)
            FailAt(file.where, ErrorKind::Config, "model '", model.name, "' would replace ", whose,
                   ", which is used again (", use->Location(), "); expected another file, or UnloadModel(", other->name,
                   ") in front of it where that model is not needed any more");
        if (!isOwn)
            m_log.Warn(Concat(file.where.Location(), ": model '", model.name, "' replaces ", whose));
        other->files.erase(found);
    }
    std::erase_if(model.files, isFile);
    model.files.push_back({MelModelFile::Kind::Saved, path, file.where});
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
    for (const std::vector<NamedFile>* other : {&m_texts, &m_dumped})
        RequireNotRead({"the model", path}, *other, file.where);
    TakeFile(model, path, file);
    m_saved.push_back({"the model saved at " + file.where.Location(), path});
    if (!IsCheck())
        SaveIfChanged(*model.network, path, m_log);
}

void MelEditor::Dump(const std::vector<ComputationNodePtr>& nodes, const MelStatement& statement)
{
    const bool printValues = DumpsValues(statement);
    const MelArgument& file = *PositionalArguments(statement)[1];
    const std::string path = ResolveOutputPath(file.text);
    for (const std::vector<NamedFile>* other : {&m_texts, &m_loaded, &m_saved})
        RequireNotRead({"the dump", path}, *other, file.where);
    m_dumped.push_back({"the dump of " + file.where.Location(), path});
    if (!IsCheck())
        DumpNodes(nodes, {.printValues = printValues, .printMetadata = true}, path);
}

} // namespace cntk
