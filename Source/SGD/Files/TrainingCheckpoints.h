// What a training keeps on disk of its state and goes on from: after epochs, and within them or within a trial in front
// of one.
#pragma once

#include "ComputationNetwork/Files/CheckpointFile.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "SGD/EpochLoop.h"
#include "SGD/Files/TrainingFiles.h"
#include "SGD/TrainingParts.h"

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

// Removes the checkpoints that are of no more use; with keepCheckPointFiles none.
void RemoveObsolete(const TrainingFiles& files, const SgdOptions& options, size_t epochsDone, bool isOver);
// Removes checkpoint and models of the point.
void RemovePoint(const TrainingFiles& files, const WithinEpochPoint& point);

// Where an epoch, or a trial, stood when its checkpoint was made.
struct PositionWithin
{
    EpochPosition position;
    std::vector<double> minibatchesOf; // each worker's, where each has trained for itself; empty: all the same
    std::optional<size_t> epochSize;   // of the option, then; nothing: the checkpoint does not say
    std::vector<std::string> delays;   // states of each worker, for RestoreDelays
};
PositionWithin PositionIn(const CheckpointInfo& info);

class TrainingCheckpoints
{
public:
    // Both must outlive this.
    TrainingCheckpoints(TrainingParts& parts, TrainingState& state);

    // Takes the state from a checkpoint.
    void Restore(Checkpoint checkpoint, const std::string& path);
    void RestoreDelays(const std::vector<std::string>& ofWorkers) const;

    // An epoch is saved in two steps, since the best model may become the last one's between them. Checkpoint, then
    // model, then the checkpoint before the last goes: even with the newest files damaged a pair is whole.
    void SaveCheckpointOf(size_t epochsDone);
    void SaveModelsOf(size_t epochsDone);

    // The state between two minibatches of the epoch that runs. With workers, collective, as all that saves.
    CheckpointInfo InfoWithin(size_t epoch);
    // Of an epoch, or of trial number `trial` in front of it: model, then checkpoint, which makes the pair usable; then
    // the pair before goes. The minibatches are those of info.
    void SaveWithin(size_t epoch, const CheckpointInfo& info, size_t trial = 0);
    // saveEveryMinutes, since the last one or BeginInterval.
    bool IsSaveDue() const;
    void BeginInterval();
    // The last point that was saved, or taken up, and is still there.
    const std::optional<WithinEpochPoint>& LastWithin() const { return m_lastWithin; }
    // The training goes on from the point, which goes when there is a newer one.
    void TakeUp(const WithinEpochPoint& point) { m_lastWithin = point; }
    void RemoveWithin();

    // Ends the training with Interrupted, which says where it was and how it goes on: from LastWithin, or from the
    // model of so many epochs.
    [[noreturn]] void StopWithin(const std::string& where) const;
    [[noreturn]] void StopBehind(size_t epochsDone, const std::string& where) const;
    // "run the same command again to go on from ...", of LastWithin.
    std::string HowToGoOnWithin() const;

    // Where the loop of this worker goes on.
    EpochPosition OwnPosition(const PositionWithin& within) const;

private:
    CheckpointInfo Info();
    void BeginWithOtherRateNumber(const CheckpointInfo& info, const std::string& path);
    void RestoreBest(const CheckpointInfo& info, const std::string& path);
    void SaveHere(const std::string& path, const CheckpointInfo& info);
    [[noreturn]] void Stop(const std::string& where, const std::string& model) const;
    std::string HowToGoOn(const std::string& model) const;

    TrainingParts& m_parts;
    TrainingState& m_state;
    std::vector<std::shared_ptr<RecurrentState>> m_delays;
    std::optional<WithinEpochPoint> m_lastWithin;
    std::chrono::steady_clock::time_point m_savedAt;
};

} // namespace cntk
