// A training whose network stands: the loop over epochs and what happens between them. Train (Trainer.h) makes one.
#pragma once

#include "ComputationNetwork/Files/CheckpointFile.h"
#include "SGD/Evaluation.h"
#include "SGD/Files/BestModel.h"
#include "SGD/Files/TrainingCheckpoints.h"
#include "SGD/Search/TrainingSearch.h"
#include "SGD/TrainingParts.h"

#include <cstddef>
#include <optional>
#include <string>

namespace cntk
{

class Error;

class Training
{
public:
    // Must outlive the training.
    explicit Training(TrainingParts& parts);

    // Takes the state from a checkpoint.
    void Restore(Checkpoint checkpoint, const std::string& path) { m_checkpoints.Restore(std::move(checkpoint), path); }
    // The first epoch goes on behind this point. info: of its checkpoint, which Restore gets as well.
    void GoOnWithin(const WithinEpochPoint& point, const CheckpointInfo& info);
    // After Restore: the search in front of the first epoch goes on within a trial. checkpoint: the point's.
    void GoOnInTrial(const WithinEpochPoint& point, Checkpoint checkpoint)
    {
        m_search.GoOnIn(point, std::move(checkpoint));
    }
    void Run(size_t firstEpoch);

private:
    // An epoch that goes on where it was stopped.
    struct BegunEpoch
    {
        WithinEpochPoint point;
        PositionWithin within;
    };
    // What decides after an epoch: for the learning rate, and for the best model.
    struct Decisive
    {
        double forRate = 0;
        double forBest = 0;
    };

    bool HasOtherSizeThanList(size_t epoch) const;
    size_t ListedSize(size_t epoch) const;
    void WarnOfOtherOptionsWithin(size_t epoch) const;
    void WarnOfRest();
    void StopIfAsked(size_t epoch) const;
    bool SetLearningRate(size_t epoch);
    void SetMinibatchSize(size_t epoch);
    EpochResult TrainEpoch(size_t epoch);
    void EndEpoch(size_t epoch, EpochResult& result);
    Decisive FindDecisive(const EpochResult& result, size_t epoch);
    void KeepEpoch(size_t epoch, const CheckpointInfo& info, Error& error);
    CriterionAverages ValidateOrStop(const EpochResult& result, size_t epoch);
    CriterionAverages Validate(size_t epoch);
    EvaluationResult EvaluateTogether(const std::vector<ComputationNodePtr>& nodes, const EvaluationSettings& settings);
    void RollBack(size_t epoch);
    bool AdjustRate(size_t epoch, double controlValue);
    void Save(size_t epochsDone);
    void EndHere(size_t epochsDone, size_t savedEpochs);
    void EndByRate(size_t epochsDone);
    void Report(size_t epoch, double rate, const EpochResult& result) const;

    TrainingParts& m_parts;
    const SgdOptions& m_options;
    Log& m_log;
    TrainingState m_state;
    LearningRateControl m_control;
    TrainingCheckpoints m_checkpoints;
    BestModel m_best;
    TrainingSearch m_search;
    std::optional<BegunEpoch> m_begunEpoch; // the first one
    bool m_hasLookedForRest = false;        // for data of an encoder that its decoder never asks for
    bool m_hasToldOfSparse = false;         // gradients that another rule updates
};

} // namespace cntk
