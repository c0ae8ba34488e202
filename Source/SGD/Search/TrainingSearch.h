// The trial runs before an epoch that find its learning rate or minibatch size (book 3.3.1.2): what TrialSearch.h
// decides, done with the training's network, and taken up again where it was stopped.
#pragma once

#include "ComputationNetwork/Files/CheckpointFile.h"
#include "SGD/Files/TrainingCheckpoints.h"
#include "SGD/Search/KnownTrials.h"
#include "SGD/Search/TrialSearch.h"
#include "SGD/Search/TrialStart.h"
#include "SGD/TrainingParts.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace cntk
{

class TrainingSearch
{
public:
    // All must outlive this.
    TrainingSearch(TrainingParts& parts, TrainingState& state, TrainingCheckpoints& checkpoints);

    // The search in front of the first epoch goes on within a trial. checkpoint: the point's.
    void GoOnIn(const WithinEpochPoint& point, Checkpoint checkpoint);
    // Set the state's learning rate and minibatch size, for an epoch that searches it.
    void FindRate(size_t epoch);
    void FindMinibatchSize(size_t epoch);
    // The searches before the epoch are over: what was found of them is forgotten. True: the last trial was the epoch
    // itself, and the network's state is that behind it.
    bool BeginEpoch();
    // How many samples an epoch has is known now.
    void EndEpoch(size_t epoch);

private:
    // A trial that goes on where it was stopped.
    struct BegunTrial
    {
        Trial trial;
        WithinEpochPoint point;
        Checkpoint checkpoint;
    };
    struct TrialResult
    {
        double criterion = 0;  // per sample; NaN: it was not finite
        bool wasKnown = false; // from before the training was stopped: nothing was computed
    };

    size_t TrialSamples(size_t epoch) const;
    TrialStart KeepStart();
    void WarnOfLongTrials(size_t epoch);
    bool BeginsWithTrial(size_t epoch) const;
    RateSearchSettings RateSettings(size_t epoch) const;
    double RateRatio(size_t epoch) const;
    bool TrialsInheritSteps(size_t epoch) const;
    void ExplainMomentum(size_t epoch);
    void WarnOfNoRate(size_t epoch);
    void KeepRate(double rate);
    std::string WhyUnusable(const WithinEpochPoint& point, const Checkpoint& checkpoint, size_t trials) const;
    TrialResult RunTrial(const TrialStart& start, size_t epoch, const char* prefix, double rate, size_t minibatchSize);
    bool IsKnown(const Trial& trial, size_t epoch);
    void TakeUp(const TrialStart& start, const Trial& trial, EpochSettings& settings);
    void Save(size_t epoch, const Trial& trial);
    void Forget(size_t count);
    void BeginAnew(const std::string& why, size_t trial);

    TrainingParts& m_parts;
    const SgdOptions& m_options;
    Log& m_log;
    TrainingState& m_state;
    TrainingCheckpoints& m_checkpoints;
    KnownTrials m_trials; // of the searches before the epoch
    std::optional<BegunTrial> m_begun;
    bool m_endedInEpoch = false; // the state is that behind the last trial, which was the epoch itself
    bool m_hasSearched = false;
    bool m_hasWarnedOfTrials = false;
    bool m_hasExplainedMomentum = false;
};

} // namespace cntk
