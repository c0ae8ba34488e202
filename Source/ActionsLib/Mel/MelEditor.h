// Executes scripts of the model editing language (book 4.2).
#pragma once

#include "ActionsLib/Mel/MelCommands.h"
#include "ActionsLib/Mel/NodeCopy.h"
#include "ActionsLib/Ndl/NdlBuilder.h"
#include "Common/FileClashes.h"
#include "ComputationNetwork/ComputationNetwork.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class Log;

// Parses a script and checks its commands: names, argument counts, values, properties. Reads no other files.
MelScript PrepareMel(ScriptText text);
inline MelScript PrepareMel(std::shared_ptr<const SourceText> text)
{
    return PrepareMel(ScriptText(std::move(text)));
}
// Fails (Config) at the first call in NDL of the scripts whose function is neither a node type nor a macro. Checks
// nothing if a script loads NDL snippets from files, because those files may define macros.
void CheckNdlFunctions(const std::vector<MelScript>& scripts, const std::vector<NdlScript>& macros);

// A model and the builder for its in-line NDL.
struct MelModel
{
    std::string name;
    std::unique_ptr<ComputationNetwork> network;
    std::unique_ptr<NdlBuilder> ndl;
    std::string file = {}; // from which it was loaded; may be empty
};

// A parsed name or pattern such as "m1.L3.*": the model, and the pattern within the model.
struct MelPattern
{
    MelModel* model = nullptr;
    std::string text; // without the model's name; "*" if only the model is named
    SourcePos where;
    std::string written;

    bool HasWildcard() const { return text.find('*') != std::string::npos; }
    std::string_view Head() const { return std::string_view(text).substr(0, text.find('*')); }
    std::string_view Tail() const { return std::string_view(text).substr(text.find('*') + 1); }
};

// The models that a script has loaded or created, by name.
class MelModels
{
public:
    MelModels(DataType dataType, std::shared_ptr<Device> device, NdlContext& context, Log& log);

    // Replaces a model of the same name, with a warning. The first model becomes the default model.
    MelModel& Add(const std::string& name, std::unique_ptr<ComputationNetwork> network);
    std::unique_ptr<ComputationNetwork> MakeNetwork() const;
    std::unique_ptr<ComputationNetwork> LoadNetwork(const std::string& path) const;
    // Connects the nodes that in-line NDL has made so far.
    void FinishNdl();
    void Remove(const MelModel& model);
    void SetDefault(MelModel& model) { m_default = &model; }
    std::vector<std::string> Names() const;

    MelModel* Find(std::string_view name) const; // any case; null if unknown
    MelModel& Require(const MelArgument& argument) const;
    // Fails (Config) if there is no default model. function: the function that the in-line NDL calls, for the hint.
    MelModel& Default(const SourcePos& where, const std::string& function = {}) const;

    // Makes macros known to all models, present and later ones.
    void DefineMacros(const NdlScript& macros);

    MelPattern ParsePattern(const MelArgument& argument) const;
    // Nodes in name order; fails (Config) if none matches.
    std::vector<ComputationNodePtr> FindNodes(const MelPattern& pattern) const;
    ComputationNodePtr FindSingle(const MelArgument& argument, const MelPattern& pattern) const;

private:
    DataType m_dataType;
    std::shared_ptr<Device> m_device;
    NdlContext& m_context;
    Log& m_log;
    std::vector<std::unique_ptr<MelModel>> m_models;
    MelModel* m_default = nullptr;
    std::vector<NdlScript> m_macros;
};

// Returns "a, b and 40 more": the first ten items of a list in a message.
std::string JoinSome(const std::vector<std::string>& parts);

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

    // Defines macros for in-line NDL and snippets of all models.
    void DefineMacros(const NdlScript& macros) { m_models.DefineMacros(macros); }
    // Adds a file that the command reads; no statement may overwrite it.
    void Protect(NamedFile file) { m_filesRead.push_back(std::move(file)); }
    void Run(const MelScript& script);

    MelModels& Models() { return m_models; } // for tests

private:
    void Execute(const MelScript& script, const MelStatement& statement);
    void ExecuteCommand(const MelStatement& statement);
    void ExecuteOnNodes(MelCommand command, const MelStatement& statement);
    void RunSnippet(const std::string& name, const NdlScript& script);
    void LoadFile(const std::string& name, const MelArgument& file, const MelStatement& statement);
    void LoadSnippet(const MelStatement& statement);
    void RequireValid(const MelModel& model, const MelArgument& file, const MelStatement& statement);
    void SaveTo(MelModel& model, const MelArgument& file, const MelStatement& statement);
    void Dump(const std::vector<ComputationNodePtr>& nodes, const MelStatement& statement);
    void Copy(const MelStatement& statement);
    void CopySubTree(const MelStatement& statement);
    void CopyInputs(const MelStatement& statement);
    void CopyPairs(const std::vector<NodeCopyPair>& pairs, ComputationNetwork& target, const MelStatement& statement);
    void SetInput(const MelStatement& statement);
    void SetInputs(const MelStatement& statement);
    void SetProperty(MelCommand command, const MelStatement& statement);
    void SetParameterProperty(MelProperty property, const std::vector<ComputationNodePtr>& nodes,
                              const MelStatement& statement);
    void Delete(const MelStatement& statement);
    void Rename(const MelStatement& statement);
    void Revise(const MelStatement& statement);

    // Pairs source nodes with the names that the target pattern gives to their copies.
    std::vector<NodeCopyPair> Pair(const MelPattern& from, const MelPattern& to) const;

    Log& m_log;
    Mode m_mode;
    MelModels m_models;
    std::vector<NamedFile> m_filesRead;  // scripts, NDL and parameter files
    std::vector<NamedFile> m_modelFiles; // models loaded or saved so far; a model may replace them, a dump may not
    std::vector<NamedFile> m_dumpFiles;
};

} // namespace cntk
