// Executes scripts of the model editing language.
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
// The files that the script's commands write models to.
std::vector<std::string> MelModelFiles(const MelScript& script);

class MelEditor
{
public:
    enum class Mode
    {
        Run,
        Check // everything but writing
    };
    MelEditor(DataType dataType, std::shared_ptr<Device> device, NdlContext& context, Log& log, Mode mode);

    // For in-line NDL and snippets of all models.
    void DefineMacros(const NdlScript& macros) { m_models.DefineMacros(macros); }
    // A file of the command that no statement may overwrite.
    void Protect(NamedFile file) { m_texts.push_back(std::move(file)); }
    // False when only checking, and a model is not there yet.
    bool Run(const MelScript& script);

    MelModels& Models() { return m_models; } // for tests

private:
    bool Execute(const MelScript& script, const MelStatement& statement);
    bool ExecuteCommand(const MelStatement& statement);
    void FinishNdl();
    void RunSnippet(const std::string& name, const NdlScript& script);
    bool LoadFile(const std::string& name, const MelArgument& file, const MelStatement& statement);
    void LoadSnippet(const MelStatement& statement);
    void SaveTo(const MelModel& model, const MelArgument& file, const MelStatement& statement);
    void Dump(const std::vector<ComputationNodePtr>& nodes, const MelStatement& statement);
    void Copy(const MelStatement& statement);
    void CopySubTree(const MelStatement& statement);
    void CopyInputs(const MelStatement& statement);
    void CopyPairs(const std::vector<NodeCopyPair>& pairs, ComputationNetwork& target, const MelStatement& statement);
    void SetInput(const MelStatement& statement);
    void SetInputs(const MelStatement& statement);
    void SetProperty(const MelStatement& statement, bool forSubTree);
    void Delete(const MelStatement& statement);
    void Rename(const MelStatement& statement);
    void Revise(const MelStatement& statement);

    // Source nodes with the names that the target pattern gives them.
    std::vector<NodeCopyPair> Pair(const MelPattern& from, const MelPattern& to) const;

    Log& m_log;
    Mode m_mode;
    MelModels m_models;
    std::vector<NamedFile> m_texts;  // that are read
    std::vector<NamedFile> m_loaded; // models; a model may be saved onto them
    std::vector<NamedFile> m_saved;  // models by statements so far; likewise
    std::vector<NamedFile> m_dumped;
};

} // namespace cntk
