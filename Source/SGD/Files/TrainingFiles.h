// The files of a training: names of models and checkpoints, where make mode resumes, what
// is deleted.
#pragma once

#include "Common/Workers.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

// A model within an epoch, "m.dnn.2.at500" with "m.dnn.2.at500.ckp": after 2 epochs and 500 minibatches; or within a
// search before an epoch, "m.dnn.2.trial3.at500": after 500 minibatches of its third trial.
struct WithinEpochPoint
{
    size_t epochsDone = 0;
    size_t minibatches = 0;
    size_t trial = 0; // from 1; 0: in the epoch itself

    bool operator==(const WithinEpochPoint&) const = default;
};

// M(e) is the model after e epochs: modelPath.0, modelPath.1, ..., and modelPath itself after the last.
class TrainingFiles
{
public:
    TrainingFiles(std::string modelPath, size_t maxEpochs)
        : m_modelPath(std::move(modelPath)), m_checkpointPath(m_modelPath), m_maxEpochs(maxEpochs)
    {
    }
    // Of several networks that are trained as one, numbered from 0: modelPath.<number>.<epoch> and modelPath.<number>,
    // with one checkpoint for all, modelPath.<epoch>.ckp. All names of models are those of the last network; the others
    // have the same without its number.
    static TrainingFiles OfNetworks(const std::string& modelPath, size_t maxEpochs, size_t networks);
    size_t Networks() const { return m_networks; }
    // The files are those of several workers, of which the first writes; null: of this process alone.
    void ShareWith(Workers* workers) { m_workers = workers; }
    bool AreWrittenHere() const { return m_workers == nullptr || m_workers->IsFirst(); }
    // Behind what the first one writes, and before what it removes: all have come here.
    void WaitForWorkers() const
    {
        if (m_workers != nullptr)
            m_workers->Wait();
    }
    std::string OfNetwork(size_t number, const std::string& model) const;

    const std::string& FinalModel() const { return m_modelPath; }
    size_t MaxEpochs() const { return m_maxEpochs; }
    std::string BestModel() const { return m_modelPath + ".best"; } // with early stopping
    // All networks of the model are there.
    bool HasAll(const std::string& model) const;
    std::string Model(size_t epochsDone) const;
    std::string Checkpoint(size_t epochsDone) const { return CheckpointOf(Model(epochsDone)); }

    std::string Model(const WithinEpochPoint& point) const;
    std::string Checkpoint(const WithinEpochPoint& point) const { return CheckpointOf(Model(point)); }

    // All points within epochs of which there is a file, the most advanced first.
    std::vector<WithinEpochPoint> WithinEpochPoints() const;
    // The files of the point are whole and no older than the model that its epoch began with.
    bool IsUsable(const WithinEpochPoint& point) const { return WhyUnusable(point).empty(); }
    // Said of the model; "" where it is usable.
    std::string WhyUnusable(const WithinEpochPoint& point) const;
    // A training that goes on from start (after epochsDone, or from the point within) is past this point, or the
    // point's files are not a whole pair. Nothing is lost with it.
    bool IsOutlived(const WithinEpochPoint& point, std::optional<size_t> epochsDone,
                    const std::optional<WithinEpochPoint>& within) const;
    // Renames model and checkpoint; returns the model's new name.
    std::string MoveAside(const WithinEpochPoint& point) const;

    // The most epochs e for which M(e) exists and is at least as new as M(e-1) (which may be missing), not above
    // atMost; nothing when there is no such model.
    std::optional<size_t> FindResumePoint(size_t atMost) const;
    std::optional<size_t> FindResumePoint() const { return FindResumePoint(m_maxEpochs); }
    // Why M(e) is not where to resume, said of the model; "" where it is usable.
    std::string WhyUnusable(size_t epochsDone) const;
    // Returns a text that changes whenever a network of M(e) is written again; empty if the model is missing.
    std::string StampOf(size_t epochsDone) const;
    // The file is there, and newer than M(e).
    bool IsNewer(const std::string& path, size_t epochsDone) const;
    // The numbers of epochs above `behind` (all without one) of which there is a model, the most first.
    std::vector<size_t> ModelsBehind(std::optional<size_t> behind) const;

    // The checkpoints that are of no more use once model and checkpoint of epochsDone are written. The one before stays
    // until the training is over: should the newest files be damaged, it is where to resume. interval: of
    // AdjustAfterEpoch with loadBestModel, which may go back to the last look; 1 without. Goes back far enough to find
    // what a killed training left.
    std::vector<std::string> ObsoleteCheckpoints(size_t epochsDone, size_t interval, bool isOver) const;
    // Of an ended training: after how many epochs the newest checkpoint that is there was made. It may have ended
    // before its last epoch.
    std::optional<size_t> NewestCheckpoint() const;
    // After how many epochs a training that came to its last one made the final model, as the models of its epochs
    // show.
    std::optional<size_t> EpochsOfFinalModel() const;
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

} // namespace cntk
