// Executes scripts of the model editing language (book 4.2).
#pragma once

#include "ActionsLib/Mel/MelCommands.h"
#include "ActionsLib/Mel/MelModels.h"
#include "ActionsLib/Mel/NodeCopy.h"
#include "Common/FileClashes.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class Log;

// Parses a script and checks its commands: names, numbers of arguments, properties. Touches no files.
MelScript PrepareMel(ScriptText text);
inline MelScript PrepareMel(std::shared_ptr<const SourceText> text)
{
    return PrepareMel(ScriptText(std::move(text)));
}

class MelEditor
{
public:
    // Check executes scripts without writing files.
    enum class Mode
    {
        Run,
        Check
    };
    MelEditor(DataType dataType, std::shared_ptr<Device> device, NdlContext& context, Log& log, Mode mode = Mode::Run);

    // For in-line NDL and snippets of all models.
    void DefineMacros(const NdlScript& macros) { m_models.DefineMacros(macros); }
    // A file of the command that no statement may overwrite.
    void Protect(NamedFile file) { m_texts.push_back(std::move(file)); }
    void Run(const MelScript& script);

    MelModels& Models() { return m_models; } // for tests

private:
    bool IsCheck() const { return m_mode == Mode::Check; }
    void Execute(const MelScript& script, const MelStatement& statement);
    void ExecuteCommand(const MelStatement& statement);
    void ExecuteOnNodes(MelCommand command, const std::vector<const MelArgument*>& arguments,
                        const MelStatement& statement);
    void FinishNdl();
    void RunSnippet(const std::string& name, const NdlScript& script);
    void LoadFile(const std::string& name, const MelArgument& file, const MelStatement& statement);
    void LoadSnippet(const MelStatement& statement);
    void RequireValid(const MelModel& model, const MelArgument& file, const MelStatement& statement);
    void TakeFile(MelModel& model, const std::string& path, const MelArgument& file);
    void SaveTo(MelModel& model, const MelArgument& file, const MelStatement& statement);
    void Dump(const std::vector<ComputationNodePtr>& nodes, const MelStatement& statement);
    void Copy(const MelStatement& statement);
    void CopySubTree(const MelStatement& statement);
    void CopyInputs(const MelStatement& statement);
    void CopyPairs(const std::vector<NodeCopyPair>& pairs, ComputationNetwork& target, const MelStatement& statement);
    void SetInput(const MelStatement& statement);
    void SetInputs(const MelStatement& statement);
    void SetProperty(MelCommand command, const MelStatement& statement);
    void Delete(const MelStatement& statement);
    void Rename(const MelStatement& statement);
    void Revise(const MelStatement& statement);

    // Source nodes with the names that the target pattern gives them.
    std::vector<NodeCopyPair> Pair(const MelPattern& from, const MelPattern& to) const;

    Log& m_log;
    Mode m_mode;
    MelModels m_models;
    const MelScript* m_script = nullptr; // that is executed,
    size_t m_next = 0;                   // and its statement behind the one that is
    std::vector<NamedFile> m_texts;      // that are read
    std::vector<NamedFile> m_loaded;     // models; a model may be saved onto them
    std::vector<NamedFile> m_saved;      // models by statements so far; likewise
    std::vector<NamedFile> m_dumped;
};

} // namespace cntk
