// Models are kept as outlines, on the host whatever device they were checked on: what training will change has no
// values that anybody could rely on, and a run may write many models.
#include "ActionsLib/Commands/PlannedModels.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ModelFile.h"

#include <algorithm>
#include <filesystem>

namespace cntk
{

std::string PlannedModel::WhyUnknown(const std::string& path) const
{
    return Concat("model '", path, "' is not known before command '", command, "' has run");
}

std::unique_ptr<ComputationNetwork> PlannedModel::Load(const std::string& path, DataType dataType,
                                                       std::shared_ptr<Device> device) const
{
    return LoadOutline(*outline, path, dataType, std::move(device));
}

PlannedModel PlannedModels::Make(const ComputationNetwork* network) const
{
    return {m_command, network == nullptr ? nullptr : std::make_shared<const std::string>(OutlineOf(*network))};
}

void PlannedModels::Save(const std::string& path, const ComputationNetwork& network)
{
    m_models[CanonicalPath(path)] = Make(&network);
}

void PlannedModels::SaveUnknown(const std::string& path)
{
    m_models[CanonicalPath(path)] = Make(nullptr);
}

void PlannedModels::SaveListed(const std::string& path)
{
    SaveUnknown(path);
    m_listed.insert(std::filesystem::path(ResolveOutputPath(path)).filename().string());
}

std::string PlannedModels::CommandOfListed(const std::string& path) const
{
    if (!m_listed.contains(std::filesystem::path(ResolveOutputPath(path)).filename().string()))
        return "";
    const PlannedModel* const planned = Find(path);
    return planned == nullptr || FileExists(ResolveInputPath(path)) ? "" : planned->command;
}

void PlannedModels::SaveTrained(const TrainingFiles& files, size_t firstEpoch, const ComputationNetwork* network)
{
    const PlannedModel model = Make(network);
    const std::string path = CanonicalPath(files.FinalModel());
    m_models[path] = model;
    m_epochs[path] = {firstEpoch, files.MaxEpochs(), model};
    // What an earlier command wrote under those names is replaced.
    std::erase_if(m_models,
                  [&](const auto& each)
                  {
                      const std::string_view name = each.first;
                      const auto number =
                          name.starts_with(path + ".") ? ParseSize(name.substr(path.size() + 1)) : std::nullopt;
                      return number && *number >= firstEpoch && *number < files.MaxEpochs();
                  });
}

const PlannedModel* PlannedModels::Find(const std::string& path) const
{
    const std::string name = CanonicalPath(path);
    if (const auto model = m_models.find(name); model != m_models.end())
        return &model->second;
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos)
        return nullptr;
    const auto training = m_epochs.find(name.substr(0, dot));
    if (training == m_epochs.end())
        return nullptr;
    const Epochs& epochs = training->second;
    const auto number = ParseSize(name.substr(dot + 1));
    const bool isThere = number && *number >= epochs.first && *number < epochs.last;
    return isThere ? &epochs.model : nullptr;
}

bool PlannedModels::WillExist(const std::string& path) const
{
    return Find(path) != nullptr || FileExists(ResolveInputPath(path));
}

std::optional<size_t> PlannedModels::FindResumePoint(const TrainingFiles& files) const
{
    const std::string path = CanonicalPath(files.FinalModel());
    std::vector<size_t> candidates = files.ModelsBehind(std::nullopt);
    if (m_models.contains(path))
        candidates.push_back(files.MaxEpochs());
    if (const auto training = m_epochs.find(path); training != m_epochs.end() && training->second.last > 0)
        candidates.push_back(training->second.last - 1);
    for (const auto& [name, model] : m_models)
        if (const auto number =
                name.starts_with(path + ".") ? ParseSize(std::string_view(name).substr(path.size() + 1)) : std::nullopt)
            candidates.push_back(*number);
    std::sort(candidates.rbegin(), candidates.rend());
    for (const size_t epochs : candidates)
    {
        if (epochs > files.MaxEpochs())
            continue;
        if (Find(files.Model(epochs)) != nullptr)
            return epochs;
        const bool isOlder = epochs > 0 && Find(files.Model(epochs - 1)) != nullptr;
        if (!isOlder && files.WhyUnusable(epochs).empty())
            return epochs;
    }
    return std::nullopt;
}

} // namespace cntk
