// What the commands of a run will have written when the turn of a later one comes, as far as cntk --check can follow
// them: names are resolved in these models, not in files that are missing yet or of an earlier run.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "SGD/Files/TrainingFiles.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cntk
{

struct PlannedModel
{
    std::string command;                        // that writes it
    std::shared_ptr<const std::string> outline; // null: only its run will show what is in it

    bool IsKnown() const { return outline != nullptr; }
    // "model 'm.dnn' is not known before command 'Train' has run"
    std::string WhyUnknown(const std::string& path) const;
    std::unique_ptr<ComputationNetwork> Load(const std::string& path, DataType dataType,
                                             std::shared_ptr<Device> device) const;
};

class PlannedModels
{
public:
    // What is written from here on is this command's.
    void BeginCommand(const std::string& name) { m_command = name; }

    void Save(const std::string& path, const ComputationNetwork& network);
    // A model that cannot be followed, or a file of another kind.
    void SaveUnknown(const std::string& path);
    // SaveUnknown of a file that a list names.
    void SaveListed(const std::string& path);
    // The models of the epochs from firstEpoch on, and the final one. network: null if it cannot be followed.
    void SaveTrained(const TrainingFiles& files, size_t firstEpoch, const ComputationNetwork* network);

    // Null if no command so far writes it.
    const PlannedModel* Find(const std::string& path) const;
    bool HasListed() const { return !m_listed.empty(); }
    // The command that SaveListed such a file, which is not there yet; empty: none. Lists may be long.
    std::string CommandOfListed(const std::string& path) const;
    // Find, or a file that is there.
    bool WillExist(const std::string& path) const;
    // Where a training of these files will begin: TrainingFiles::FindResumePoint, with the planned models among the
    // others and newer than those. Nothing: with a new network.
    std::optional<size_t> FindResumePoint(const TrainingFiles& files) const;

private:
    // modelPath.N for N in [first, last): there may be a billion epochs.
    struct Epochs
    {
        size_t first = 0;
        size_t last = 0;
        PlannedModel model;
    };

    PlannedModel Make(const ComputationNetwork* network) const;

    std::string m_command;
    std::map<std::string, PlannedModel> m_models; // by canonical path
    std::map<std::string, Epochs> m_epochs;       // by the canonical path of the final model
    std::set<std::string, std::less<>> m_listed;  // file names, without folders
};

} // namespace cntk
