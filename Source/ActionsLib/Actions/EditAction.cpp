// action=edit (book 3.5.6): executes scripts in the model editing language.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "ActionsLib/Mel/MelEditor.h"
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{
namespace
{

struct EditOptions
{
    std::string editPath;
    std::string ndlMacros;

    static OptionTable<EditOptions> Options()
    {
        using S = EditOptions;
        return {
            Opt("editPath", &S::editPath,
                "the script in the model editing language; several files are separated by '+'. Its $names$ "
                "are looked up in this block first")
                .Required(),
            Opt("ndlMacros", &S::ndlMacros, "files with NDL macros for in-line NDL and snippets, separated by '+'"),
        };
    }
};

class EditJob final : public Job
{
public:
    explicit EditJob(const CommandContext& command) : m_command(command)
    {
        const auto options = ReadOptions<EditOptions>(command.block);
        for (const ScriptText& text : ReadFiles(options.ndlMacros, "ndlMacros"))
            m_macros.push_back(ParseNdl(text));
        for (const ScriptText& text : ReadFiles(options.editPath, "editPath"))
            m_scripts.push_back(PrepareMel(text));
        if (std::all_of(m_scripts.begin(), m_scripts.end(),
                        [](const MelScript& each) { return each.statements.empty(); }))
            command.program.log.Warn(Concat(command.block.WhereOf("editPath").Location(), ": the script '",
                                            options.editPath, "' has no statement; nothing is edited"));
        CheckNdlFunctions(m_scripts, m_macros);
    }

    std::vector<std::string> Outputs() const override
    {
        std::vector<std::string> files;
        VisitFiles([](const MelArgument&, MelCommand) {}, [&](const MelArgument& file) { files.push_back(file.text); });
        return files;
    }

    void Run() override
    {
        NdlContext& context = m_command.program.ndl;
        Execute(context, MelEditor::Mode::Run);
        for (const std::string& warning : context.warnings)
            m_command.program.log.Warn(warning);
        context.warnings.clear();
    }

    void Validate() const override
    {
        DeclaredOutputs outputs = m_command.program.outputs;
        VisitFiles(
            [&](const MelArgument& file, MelCommand command)
            {
                if (command != MelCommand::ReviseParameter && !outputs.WillExist(file.text))
                    FailAt(file.where, ErrorKind::Model, "model file '", file.text,
                           "' does not exist, and no earlier command writes it", NearFilesHint(file.text));
            },
            [&](const MelArgument& file) { outputs.Add(m_command.name, {file.text}); });
    }

    // Executes the scripts without writing. Scripts that read a file which an earlier command or statement writes are
    // checked when they run.
    void Check() override
    {
        DeclaredOutputs outputs = m_command.program.outputs;
        const MelArgument* later = nullptr;
        std::string writer;
        VisitFiles(
            [&](const MelArgument& file, MelCommand)
            {
                if (later == nullptr && !(writer = outputs.WriterOf(file.text)).empty())
                    later = &file;
            },
            [&](const MelArgument& file) { outputs.Add(m_command.name, {file.text}); });
        if (later != nullptr)
        {
            m_command.program.log.Print("%s: '%s' comes from command '%s'; the script is checked when it runs.\n",
                                        later->where.Location().c_str(), later->text.c_str(), writer.c_str());
            return;
        }
        NdlContext context = m_command.program.ndl; // a copy, so that seeds do not advance
        Execute(context, MelEditor::Mode::Check);
    }

private:
    std::vector<ScriptText> ReadFiles(const std::string& list, const char* key)
    {
        std::vector<ScriptText> texts;
        for (const std::string_view part : Split(list, '+'))
        {
            const std::string path(Trim(part));
            if (path.empty())
                continue;
            const auto raw = ReadScript(path, Concat(key, ": file"), m_command.block.WhereOf(key));
            m_files.push_back({key, ResolveInputPath(path)});
            texts.emplace_back(raw, 0, raw->Text().size(), m_command.block);
        }
        return texts;
    }

    // Calls read for each file that a statement reads, and written for each file that a statement writes, in order.
    template <class Read, class Written>
    void VisitFiles(const Read& read, const Written& written) const
    {
        for (const MelScript& script : m_scripts)
            for (const MelStatement& statement : script.statements)
            {
                if (statement.kind != MelStatement::Kind::Command)
                    continue;
                const MelCommand command = RequireMelCommand(statement).command;
                const std::vector<const MelArgument*> arguments = PositionalArguments(statement);
                if (command == MelCommand::SaveModel || command == MelCommand::SaveDefaultModel)
                    written(*arguments.back());
                else if (command == MelCommand::DumpNode || command == MelCommand::DumpModel)
                    written(*arguments[1]);
                else if (command == MelCommand::LoadModel || command == MelCommand::LoadModelWithName ||
                         command == MelCommand::ReviseParameter)
                    read(*arguments.back(), command);
            }
    }

    // Uses the CPU for any deviceId, because edits compute nothing.
    void Execute(NdlContext& context, MelEditor::Mode mode) const
    {
        ProgramContext& program = m_command.program;
        context.startValueSeeds = StartValueSeedsOf(m_command);
        MelEditor editor(program.dataType, DeviceForModels(), context, program.log, mode);
        for (const NamedFile& file : m_files)
            editor.Protect(file);
        for (const NdlScript& macros : m_macros)
            editor.DefineMacros(macros);
        for (const MelScript& script : m_scripts)
            editor.Run(script);
    }

    CommandContext m_command;
    std::vector<NamedFile> m_files; // the scripts
    std::vector<NdlScript> m_macros;
    std::vector<MelScript> m_scripts;
};

} // namespace

Action MakeEditAction()
{
    return {"edit",
            {},
            "Changes models with a script in the model editing language (MEL).",
            "3.5.6",
            DescribeOptions<EditOptions>(),
            {},
            PrepareJob<EditJob>};
}

} // namespace cntk
