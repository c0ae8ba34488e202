// The files of a training: their names, which models a training can resume from, and which files are obsolete.
#pragma once

#include "Common/Workers.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

class ComputationNetwork;

// Number of epochs and further minibatches after which a model was saved: "m.dnn.2.at500" with "m.dnn.2.at500.ckp".
struct WithinEpochPoint
{
    size_t epochsDone = 0;
    size_t minibatches = 0;

    auto operator<=>(const WithinEpochPoint&) const = default;
};

// M(e) is the model after e epochs: modelPath.0, modelPath.1, ..., and modelPath itself after the last epoch.
class TrainingFiles
{
public:
    TrainingFiles(std::string modelPath, size_t maxEpochs)
        : m_modelPath(std::move(modelPath)), m_checkpointPath(m_modelPath), m_maxEpochs(maxEpochs)
    {
    }
    // For several networks that are trained as one, numbered from 0: models modelPath.<number>.<epoch> and
    // modelPath.<number>, with one checkpoint for all, modelPath.<epoch>.ckp. All functions return names of the last
    // network's models; OfNetwork converts them to another network.
    static TrainingFiles OfNetworks(const std::string& modelPath, size_t maxEpochs, size_t networks);
    size_t Networks() const { return m_networks; }
    // Workers that share the files; the first one writes them. Null: a single process.
    void ShareWith(Workers* workers) { m_workers = workers; }
    bool AreWrittenHere() const { return m_workers == nullptr || m_workers->IsFirst(); }
    // Call after the first worker has written a file, and before it removes one.
    void WaitForWorkers() const
    {
        if (m_workers != nullptr)
            m_workers->Wait();
    }
    std::string OfNetwork(size_t number, const std::string& model) const;

    const std::string& FinalModel() const { return m_modelPath; }
    size_t MaxEpochs() const { return m_maxEpochs; }
    std::string BestModel() const { return m_modelPath + ".best"; } // with early stopping
    // True if the models of all networks exist.
    bool HasAll(const std::string& model) const;
    std::string Model(size_t epochsDone) const;
    std::string Checkpoint(size_t epochsDone) const { return CheckpointOf(Model(epochsDone)); }

    std::string Model(const WithinEpochPoint& point) const;
    std::string Checkpoint(const WithinEpochPoint& point) const { return CheckpointOf(Model(point)); }

    // Returns all points within epochs that have a file, the most advanced first.
    std::vector<WithinEpochPoint> WithinEpochPoints() const;
    // True if all files of the point exist and are not older than the model that its epoch began with.
    bool IsUsable(const WithinEpochPoint& point) const { return WhyUnusable(point).empty(); }
    // Returns a predicate of the model, for example "is missing"; "": the point is usable.
    std::string WhyUnusable(const WithinEpochPoint& point) const;
    // True if a training that resumes after epochsDone epochs, or at `within`, loses nothing without this point: the
    // training is past it, or files of the point are missing.
    bool IsOutlived(const WithinEpochPoint& point, std::optional<size_t> epochsDone,
                    const std::optional<WithinEpochPoint>& within) const;
    // Renames models and checkpoint; returns the model's new name.
    std::string MoveAside(const WithinEpochPoint& point) const;

    // Renames the final models and their checkpoint, which become those of so many epochs.
    void MoveFinalModel(size_t epochs) const;

    // Returns the largest e <= atMost for which M(e) exists and is not older than M(e-1), which may be missing. As in
    // CNTK v1.1.
    std::optional<size_t> FindResumePoint(size_t atMost) const;
    std::optional<size_t> FindResumePoint() const { return FindResumePoint(m_maxEpochs); }
    // Returns a predicate of the model M(e); "": the training can resume from M(e).
    std::string WhyUnusable(size_t epochsDone) const;
    // Returns a text that changes whenever a network of M(e) is written again; empty if the model is missing.
    std::string StampOf(size_t epochsDone) const;
    // Returns the numbers of epochs above `behind` (none: all) that have a model, in descending order.
    std::vector<size_t> LaterModels(std::optional<size_t> behind) const;

    // Returns the checkpoints that are obsolete when model and checkpoint of epochsDone exist. The previous checkpoint
    // is needed until the training is over, in case the newest files are damaged. interval: learnRateAdjustInterval of
    // AdjustAfterEpoch with loadBestModel, which may load the model of the last decision; otherwise 1. Includes what a
    // killed training left.
    std::vector<std::string> ObsoleteCheckpoints(size_t epochsDone, size_t interval, bool isOver) const;
    // Returns true for epochs whose model and checkpoint are still needed; parameters as for ObsoleteCheckpoints.
    static bool IsNeeded(size_t epochs, size_t epochsDone, size_t interval, bool isOver);
    // For a finished training: returns the number of epochs of its newest checkpoint.
    std::optional<size_t> NewestCheckpoint() const;
    // Temporary files of models and checkpoints that a killed training left.
    std::vector<std::string> StaleTemporaries() const;

private:
    std::string CheckpointOf(const std::string& model) const
    {
        return m_checkpointPath + model.substr(m_modelPath.size()) + ".ckp";
    }

    std::string m_modelPath;
    std::string m_checkpointPath;
    size_t m_maxEpochs;
    size_t m_networks = 1;
    Workers* m_workers = nullptr;
};

// The networks of one training in the order in which values flow: the encoders, if any, then the network with the
// criterion. A network's index is its number in TrainingFiles. Not owned.
using TrainedNetworks = std::vector<ComputationNetwork*>;

// Writes the models. With several workers the first one writes while the others wait. path: the last network's model.
// The last network's model is written last: if its file exists, all others do.
void SaveModels(const TrainedNetworks& networks, const TrainingFiles& files, const std::string& path);

// Copies parameter values from the models into the networks.
void ReloadModels(const TrainedNetworks& networks, const TrainingFiles& files, const std::string& path);

// Removes checkpoint and models of the point.
void RemovePoint(const TrainingFiles& files, const WithinEpochPoint& point);

} // namespace cntk
