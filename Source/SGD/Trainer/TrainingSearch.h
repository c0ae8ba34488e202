// The trial runs before an epoch that find its learning rate or minibatch size (book 3.3.1.2). TrialSearch.h decides
// which values to try; this class runs the trials with the training's network. A search that is stopped saves nothing:
// the resumed training repeats it.
#pragma once

#include "SGD/Schedules/TrialSearch.h"
#include "SGD/Trainer/TrainingCheckpoints.h"
#include "SGD/Trainer/TrainingSetup.h"

#include <cstddef>
#include <utility>

namespace cntk
{

class TrialStart;

class TrainingSearch
{
public:
    // All arguments must outlive this.
    TrainingSearch(TrainingSetup& setup, TrainingState& state, const TrainingCheckpoints& checkpoints);

    // Set the state's learning rate and minibatch size, for an epoch that searches it.
    void FindRate(size_t epoch);
    void FindMinibatchSize(size_t epoch);
    // Call at the beginning of each epoch. Returns true if the last trial was the epoch itself; the network then holds
    // the state after that trial.
    bool BeginEpoch() { return std::exchange(m_endedInEpoch, false); }
    // Call at the end of each epoch, when its number of samples is known.
    void EndEpoch(size_t epoch);

private:
    size_t TrialSamples(size_t epoch) const;
    void WarnOfLongTrials(size_t epoch);
    bool BeginsWithTrial(size_t epoch) const;
    RateSearchSettings RateSettings(size_t epoch) const;
    double RateRatio(size_t epoch) const;
    bool TrialsInheritSteps(size_t epoch) const;
    void ExplainMomentum(size_t epoch);
    void WarnOfNoRate(size_t epoch);
    void KeepRate(double rate);
    void ReportSizeSearch(size_t epoch, const SizeSearchResult& found);
    double RunTrial(const TrialStart& start, size_t epoch, const char* prefix, double rate, size_t minibatchSize);

    TrainingSetup& m_setup;
    const SgdOptions& m_options;
    Log& m_log;
    TrainingState& m_state;
    const TrainingCheckpoints& m_checkpoints;
    bool m_endedInEpoch = false; // the network holds the state after the last trial, which was the epoch itself
    bool m_hasSearched = false;
    bool m_hasWarnedOfTrials = false;
    bool m_hasExplainedMomentum = false;
};

} // namespace cntk
