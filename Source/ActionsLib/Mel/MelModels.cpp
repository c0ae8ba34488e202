// Models by name, and nodes by name or wildcard.
#include "ActionsLib/Mel/MelEditor.h"
#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ModelFile.h"

#include <algorithm>

namespace cntk
{

std::string JoinSome(const std::vector<std::string>& parts)
{
    constexpr size_t c_most = 10;
    if (parts.size() <= c_most)
        return Join(parts, ", ");
    return Concat(Join(std::vector<std::string>(parts.begin(), parts.begin() + c_most), ", "), " and ",
                  parts.size() - c_most, " more");
}

MelModels::MelModels(DataType dataType, std::shared_ptr<Device> device, NdlContext& context, Log& log)
    : m_dataType(dataType), m_device(std::move(device)), m_context(context), m_log(log)
{
}

std::unique_ptr<ComputationNetwork> MelModels::MakeNetwork() const
{
    return std::make_unique<ComputationNetwork>(m_dataType, m_device);
}

std::unique_ptr<ComputationNetwork> MelModels::LoadNetwork(const std::string& path) const
{
    return LoadModel(path, m_dataType, m_device);
}

void MelModels::FinishNdl()
{
    for (const std::unique_ptr<MelModel>& model : m_models)
        model->ndl->Finish();
}

MelModel& MelModels::Add(const std::string& name, std::unique_ptr<ComputationNetwork> network)
{
    if (const MelModel* old = Find(name))
    {
        m_log.Print("WARNING: conflicting model name %s. Deleting the old model with the same name.\n", name.c_str());
        const bool wasDefault = old == m_default;
        Remove(*old);
        if (wasDefault)
            m_default = nullptr;
    }
    auto model = std::make_unique<MelModel>();
    model->name = name;
    model->network = std::move(network);
    model->ndl = std::make_unique<NdlBuilder>(*model->network, m_context);
    for (const NdlScript& macros : m_macros)
        model->ndl->DefineMacros(macros);
    m_models.push_back(std::move(model));
    if (m_default == nullptr)
        m_default = m_models.back().get();
    return *m_models.back();
}

void MelModels::Remove(const MelModel& model)
{
    if (m_default == &model)
        m_default = nullptr;
    std::erase_if(m_models, [&](const std::unique_ptr<MelModel>& each) { return each.get() == &model; });
}

std::vector<std::string> MelModels::Names() const
{
    std::vector<std::string> names;
    for (const std::unique_ptr<MelModel>& model : m_models)
        names.push_back(model->name);
    return names;
}

MelModel* MelModels::Find(std::string_view name) const
{
    for (const std::unique_ptr<MelModel>& model : m_models)
        if (EqualsIgnoreCase(model->name, name))
            return model.get();
    return nullptr;
}

MelModel& MelModels::Require(const MelArgument& argument) const
{
    if (MelModel* const model = Find(argument.text))
        return *model;
    FailAt(argument.where, ErrorKind::Config, "there is no model '", argument.text,
           m_models.empty() ? "'; none has been loaded" : "'; models: " + Join(Names(), ", "),
           DidYouMean(argument.text, Names()));
}

MelModel& MelModels::Default(const SourcePos& where, const std::string& function) const
{
    if (m_default == nullptr)
        FailAt(where, ErrorKind::Config,
               "there is no default model; load one with LoadModel, or choose one with SetDefaultModel",
               DidYouMean(function, {"CreateModel", "LoadModel"}));
    return *m_default;
}

void MelModels::DefineMacros(const NdlScript& macros)
{
    for (const std::unique_ptr<MelModel>& model : m_models)
        model->ndl->DefineMacros(macros);
    m_macros.push_back(macros);
}

MelPattern MelModels::ParsePattern(const MelArgument& argument) const
{
    RequirePattern(argument);
    MelPattern pattern;
    pattern.where = argument.where;
    pattern.written = argument.text;
    pattern.text = argument.text;
    // The model is the shortest beginning of the text before a '.', a '*' or the end that names one.
    for (size_t end = argument.text.find_first_of(".*"); pattern.model == nullptr;
         end = argument.text.find_first_of(".*", end + 1))
    {
        pattern.model = Find(argument.text.substr(0, end));
        if (pattern.model != nullptr && end != std::string::npos)
            pattern.text.erase(0, end + (argument.text[end] == '.' ? 1 : 0));
        else if (pattern.model != nullptr)
            pattern.text.clear();
        else if (end == std::string::npos || argument.text[end] == '*')
            pattern.model = &Default(argument.where);
    }
    if (pattern.text.empty())
        pattern.text.push_back('*');
    return pattern;
}

std::vector<ComputationNodePtr> MelModels::FindNodes(const MelPattern& pattern) const
{
    std::vector<ComputationNodePtr> nodes;
    ComputationNetwork& network = *pattern.model->network;
    if (pattern.HasWildcard())
        nodes = network.FindPattern(pattern.text);
    else if (const ComputationNodePtr node = network.Find(pattern.text))
        nodes = {node};
    else if (const ComputationNodePtr symbol = pattern.model->ndl->FindNode(pattern.text))
        nodes = {symbol};
    if (nodes.empty())
        FailAt(pattern.where, ErrorKind::Config, "FindSymbols could not find a symbol for ", pattern.written,
               ": model '", pattern.model->name, "' has no such node",
               pattern.HasWildcard() ? "" : DidYouMean(pattern.text, network.NearestNames(pattern.text)));
    return nodes;
}

ComputationNodePtr MelModels::FindSingle(const MelArgument& argument, const MelPattern& pattern) const
{
    const std::vector<ComputationNodePtr> nodes = FindNodes(pattern);
    if (nodes.size() > 1)
        FailAt(argument.where, ErrorKind::Config, "'", argument.text, "' names ", nodes.size(), " nodes ('",
               nodes[0]->Name(), "', '", nodes[1]->Name(), "', ...), expected a single one");
    return nodes[0];
}

} // namespace cntk
