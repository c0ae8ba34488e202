// action=edit (book 3.5.6): executes scripts of the model editing language.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Commands/LookAhead.h"
#include "ActionsLib/Commands/NetworkSource.h"
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

    std::vector<std::string> Produces() const override
    {
        std::vector<std::string> files;
        for (const MelScript& script : m_scripts)
            for (std::string& file : MelModelFiles(script))
                files.push_back(std::move(file));
        return files;
    }

    void Run() override
    {
        NdlContext& context = m_command.program.ndl;
        Execute(context);
        for (const std::string& warning : context.warnings)
            m_command.program.log.Warn(warning);
        context.warnings.clear();
    }

    void LookAhead(const FilesToCome& files) const override
    {
        FilesToCome known = files;
        VisitModelFiles([&](const MelArgument& file) { RequireModelToCome(file.where, file.text, known); },
                        [&](const MelArgument& file) { known.Add({ResolveOutputPath(file.text)}); });
    }

    void Check() override
    {
        PlannedModels& planned = m_command.program.planned;
        VisitModelFiles(
            [&](const MelArgument& file)
            {
                if (!planned.WillExist(file.text))
                    RequireModelToCome(file.where, file.text, FilesToCome());
            },
            [&](const MelArgument& file) { planned.SaveUnknown(ResolveOutputPath(file.text)); });
    }

private:
    // Calls load or save for each model file of the scripts, in order.
    template <class Load, class Save>
    void VisitModelFiles(Load&& load, Save&& save) const
    {
        for (const MelScript& script : m_scripts)
            for (const MelStatement& statement : script.statements)
            {
                if (statement.kind != MelStatement::Kind::Command)
                    continue;
                const MelCommand command = RequireMelCommand(statement).command;
                const std::vector<const MelArgument*> arguments = PositionalArguments(statement);
                if (command == MelCommand::SaveModel || command == MelCommand::SaveDefaultModel)
                    save(*arguments.back());
                else if (command == MelCommand::LoadModel || command == MelCommand::LoadModelWithName)
                    load(*arguments.back());
            }
    }

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

    // Uses the CPU for any deviceId, because edits compute nothing.
    void Execute(NdlContext& context) const
    {
        ProgramContext& program = m_command.program;
        context.startValueSeeds = StartValueSeedsOf(m_command);
        MelEditor editor(program.dataType, MakeCpuDevice({.threads = 1}), context, program.log);
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
            [](const CommandContext& command) -> std::unique_ptr<Job> { return std::make_unique<EditJob>(command); }};
}

} // namespace cntk
