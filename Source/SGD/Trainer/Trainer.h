// The flow of a training (book 3.3.1.1): epochs with validation, control of the learning rate, checkpoints and models.
#pragma once

#include "SGD/Evaluation/Evaluation.h"
#include "SGD/Trainer/BestModel.h"
#include "SGD/Trainer/TrainingSearch.h"

#include <cstddef>
#include <optional>
#include <string>

namespace cntk
{

// Trains a network from the newest usable model on: options, files, data, then the Trainer below. Writes modelPath.0,
// modelPath.1, ..., modelPath and their checkpoints. NaN or infinity in the criterion is an Error of kind Model with
// epoch, minibatch, rate and the first such node; the files of earlier epochs remain.
void Train(const TrainingRequest& request, Log& log);

// Describes what Train would do with the files that exist now: "trains 60 epochs", "resumes after epoch 12 of 60",
// "nothing to train: finished; makeMode=false trains anew". Changes nothing. The request has a device.
std::string DescribeStart(const TrainingRequest& request);

// Runs the epochs of a training whose networks and data exist.
class Trainer
{
public:
    // setup must outlive the trainer.
    explicit Trainer(TrainingSetup& setup);

    // Takes the state from a checkpoint.
    void Restore(Checkpoint checkpoint, const std::string& path) { m_checkpoints.Restore(std::move(checkpoint), path); }
    // Resumes the first epoch at this point. info: the checkpoint that was passed to Restore.
    void ResumeWithinEpoch(const WithinEpochPoint& point, const CheckpointInfo& info);
    void Run(size_t firstEpoch);

private:
    // The epoch that a resumed training continues.
    struct ResumedEpoch
    {
        WithinEpochPoint point;
        PositionWithin within;
    };
    // Values that decide after an epoch; lower is better.
    struct DecisiveValues
    {
        double forRate = 0; // for the learning rate
        double forBest = 0; // for the best model
    };

    void PrepareNodes(size_t epoch);
    bool IsResumedWithOtherSize(size_t epoch) const;
    size_t ListedSize(size_t epoch) const;
    void WarnOfOtherOptionsWithin(size_t epoch) const;
    void WarnOfUnmatchedData();
    void StopIfRequested(size_t epoch) const;
    bool SetLearningRate(size_t epoch);
    void SetMinibatchSize(size_t epoch);
    EpochSettings PrepareEpoch(size_t epoch);
    EpochResult TrainEpoch(size_t epoch);
    void EndEpoch(size_t epoch, EpochResult& result);
    void PrintEndOfEpoch(size_t epoch, const EpochResult& result);
    DecisiveValues FindDecisiveValues(const EpochResult& result, size_t epoch);
    void SaveWithinAfterError(size_t epoch, const CheckpointInfo& info, Error& error);
    CriterionAverages ValidateOrStop(const EpochResult& result, size_t epoch);
    CriterionAverages Validate(size_t epoch);
    EvaluationResult EvaluateTogether(const std::vector<ComputationNodePtr>& nodes, const EvaluationSettings& settings);
    void RollBack(size_t epoch);
    void RestoreEarlier(size_t epochsDone);
    bool AdjustRate(size_t epoch, double controlValue);
    void Save(size_t epochsDone);
    void EndEarly(size_t epochsDone, size_t savedEpochs);
    void EndByRate(size_t epochsDone);
    void Report(size_t epoch, double rate, const EpochResult& result) const;

    TrainingSetup& m_setup;
    const SgdOptions& m_options;
    Log& m_log;
    TrainingState m_state;
    LearningRateControl m_control;
    TrainingCheckpoints m_checkpoints;
    BestModel m_best;
    TrainingSearch m_search;
    std::optional<ResumedEpoch> m_resumed; // only before and during the first epoch
    bool m_hasCheckedUnmatched = false;    // encoder sequences that no decoder sequence refers to
    bool m_hasReportedSparseRule = false;  // AdaGrad updates sparse gradients
};

} // namespace cntk
