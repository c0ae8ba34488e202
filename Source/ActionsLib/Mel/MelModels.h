// The models that a script works on, by name, and what names and patterns of commands stand for in them.
#pragma once

#include "ActionsLib/Mel/MelSyntax.h"
#include "ActionsLib/Ndl/NdlBuilder.h"
#include "ComputationNetwork/ComputationNetwork.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// "a, b and 40 more": the first ten of what a message lists.
std::string JoinSome(const std::vector<std::string>& parts);

class Log;

struct MelModelFile
{
    enum class Kind
    {
        Loaded,
        Saved
    };
    Kind kind;
    std::string path;
    SourcePos where; // in the statement
};

// A model with the in-line NDL that was given for it.
struct MelModel
{
    std::string name;
    std::vector<MelModelFile> files; // that hold it, as far as the script knows
    std::unique_ptr<ComputationNetwork> network;
    std::unique_ptr<NdlBuilder> ndl;
};

// "m1.L3.*" taken apart: the model, and the pattern in it.
struct MelPattern
{
    MelModel* model = nullptr;
    std::string text; // without the model; "*" for a model's name alone
    SourcePos where;
    std::string written;

    bool HasWildcard() const { return text.find('*') != std::string::npos; }
    std::string_view Head() const { return std::string_view(text).substr(0, text.find('*')); }
    std::string_view Tail() const { return std::string_view(text).substr(text.find('*') + 1); }
};

class MelModels
{
public:
    MelModels(DataType dataType, std::shared_ptr<Device> device, NdlContext& context, Log& log);

    // Takes the place of a model of the same name, with a warning. The first model is the default one.
    MelModel& Add(const std::string& name, std::unique_ptr<ComputationNetwork> network);
    std::unique_ptr<ComputationNetwork> MakeNetwork() const;
    std::unique_ptr<ComputationNetwork> LoadNetwork(const std::string& path) const;
    // Connects what in-line NDL has made so far.
    void FinishNdl();
    void Remove(const MelModel& model);
    void SetDefault(MelModel& model) { m_default = &model; }
    bool IsDefault(const MelModel& model) const { return m_default == &model; }
    std::vector<MelModel*> All() const;
    std::vector<std::string> Names() const;

    MelModel* Find(std::string_view name) const; // any case; null if there is none
    MelModel& Require(const MelArgument& argument) const;
    // function: what in-line NDL calls there.
    MelModel& Default(const SourcePos& where, const std::string& function = {}) const;

    // Macros can be used in all models.
    void DefineMacros(const NdlScript& macros);

    MelPattern ParsePattern(const MelArgument& argument) const;
    // "; there is no model 'm2'; models: m1" where a pattern's beginning is neither a model nor that of any node.
    std::string MissingModelHint(const MelPattern& pattern) const;
    // In name order; fails where there is none.
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

} // namespace cntk
