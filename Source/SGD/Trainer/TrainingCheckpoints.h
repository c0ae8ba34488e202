// Saves the state of a training after epochs and within them, and restores it.
#pragma once

#include "ComputationNetwork/Files/CheckpointFile.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "SGD/Trainer/TrainingSetup.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

// Removes obsolete checkpoints (with keepCheckPointFiles none), and models that keepModels does not keep.
void RemoveObsolete(const TrainingFiles& files, const SgdOptions& options, size_t epochsDone, bool isOver);

// Position of an epoch when its checkpoint was written.
struct PositionWithin
{
    EpochPosition position;
    std::vector<double> minibatchesOf; // of each worker, if workers average models; empty: the same for all
    std::optional<size_t> epochSize;   // the option's value; none: the checkpoint does not have it
    std::vector<std::string> delays;   // states of each worker, for RestoreDelays
};
PositionWithin PositionIn(const CheckpointInfo& info);

class TrainingCheckpoints
{
public:
    // Both must outlive this.
    TrainingCheckpoints(TrainingSetup& setup, TrainingState& state);

    // Takes the state from a checkpoint.
    void Restore(Checkpoint checkpoint, const std::string& path);
    void RestoreDelays(const std::vector<std::string>& ofWorkers) const;

    // Save an epoch in two steps: the checkpoint, then the models, after which older checkpoints are removed. A pair of
    // model and checkpoint is complete at any time. The best model may replace the last one between the two steps.
    void SaveCheckpointOf(size_t epochsDone);
    void SaveModelsOf(size_t epochsDone);

    // Returns the state between two minibatches of the current epoch. Collective with workers, as all functions that
    // save.
    CheckpointInfo InfoWithin(size_t epoch);
    // Saves models, then the checkpoint, which makes them usable, and removes the previous point. info gives the number
    // of minibatches.
    void SaveWithin(size_t epoch, const CheckpointInfo& info);
    // True if saveEveryMinutes have passed since the last point or BeginInterval.
    bool IsSaveDue() const;
    void BeginInterval();
    // The last point that was saved or resumed, if its files still exist.
    const std::optional<WithinEpochPoint>& LastWithin() const { return m_lastWithin; }
    // The training resumes at the point, which is removed when a newer one is saved.
    void ResumeAt(const WithinEpochPoint& point) { m_lastWithin = point; }
    void RemoveWithin();

    // End the training with Interrupted. The message says where it stopped and how to resume: from LastWithin, or from
    // the model of so many epochs.
    [[noreturn]] void StopWithin(const std::string& where) const;
    [[noreturn]] void StopAfter(size_t epochsDone, const std::string& where) const;
    // "run the same command again to continue from ...", for LastWithin.
    std::string HowToResumeWithin() const;

    // Returns the position at which this worker's loop resumes.
    EpochPosition OwnPosition(const PositionWithin& within) const;

private:
    CheckpointInfo Info();
    void ResetCriterionIfOther(const CheckpointInfo& info, const std::string& path);
    void RestoreBest(const CheckpointInfo& info, const std::string& path);
    void SaveHere(const std::string& path, const CheckpointInfo& info);
    [[noreturn]] void Stop(const std::string& where, const std::string& model) const;
    std::string HowToResume(const std::string& model) const;

    TrainingSetup& m_setup;
    TrainingState& m_state;
    std::vector<std::shared_ptr<RecurrentState>> m_delays;
    std::optional<WithinEpochPoint> m_lastWithin;
    std::chrono::steady_clock::time_point m_savedAt;
};

} // namespace cntk
