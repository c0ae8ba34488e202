// A training whose network stands: its state, and the loop over epochs. Train (Trainer.h) makes one.
#pragma once

#include "ComputationNetwork/Files/CheckpointFile.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "SGD/EpochLoop.h"
#include "SGD/Files/TrainedNetworks.h"
#include "SGD/Files/TrainingFiles.h"
#include "SGD/NodeTracing.h"
#include "SGD/Schedules/DropoutSchedule.h"
#include "SGD/Schedules/EarlyStopping.h"
#include "SGD/Schedules/ImageSettings.h"
#include "SGD/Schedules/LearningRateControl.h"
#include "SGD/Search/KnownTrials.h"
#include "SGD/Search/TrialSearch.h"
#include "SGD/Search/TrialStart.h"
#include "SGD/Trainer.h"

#include <chrono>
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

class Training
{
public:
    // nodes: of the last network. cvSource: data to validate with after each epoch; null: none. All must outlive the
    // training.
    Training(const TrainingRequest& request, const TrainingFiles& files, TrainedNetworks networks,
             const TrainingNodes& nodes, MinibatchSource& source, MinibatchSource* cvSource, Log& log);

    void Restore(Checkpoint checkpoint, const std::string& path);
    // The first epoch goes on behind this point. info: of its checkpoint, which Restore gets as well.
    void GoOnWithin(const WithinEpochPoint& point, const CheckpointInfo& info);
    // After Restore: the search in front of the first epoch goes on within a trial. checkpoint: the point's.
    void GoOnInTrial(const WithinEpochPoint& point, Checkpoint checkpoint);
    void Run(size_t firstEpoch);
    // Learner's.
    double FsAdagradColumns(double before) const { return m_learner.FsAdagradColumns(before); }

private:
    // An epoch that goes on where it was stopped.
    struct BegunEpoch
    {
        WithinEpochPoint point;
        EpochPosition position;
        std::optional<size_t> epochSize; // of the option, when the point was saved
        std::string delays;              // states
    };

    // A trial that goes on where it was stopped.
    struct BegunTrial
    {
        Trial trial;
        WithinEpochPoint point;
        Checkpoint checkpoint;
    };

    // The one that has the criterion.
    ComputationNetwork& Network() const { return *m_networks.back(); }
    bool StopRequested() const { return m_request.stopRequested && m_request.stopRequested(); }
    [[noreturn]] void Stop(const std::string& where, const std::string& model) const;
    std::string HowToGoOn(const std::string& model) const;
    bool HasOtherSizeThanList(size_t epoch) const;
    size_t NominalSize(size_t epoch) const;
    void WarnOfOtherOptionsWithin(size_t epoch) const;
    bool SetLearningRate(size_t epoch);
    void SetMinibatchSize(size_t epoch);
    EpochSettings SettingsOf(size_t epoch) const;
    EpochStart StartOf(const EpochSettings& settings) const;
    EpochResult TrainEpoch(size_t epoch);
    void EndEpoch(size_t epoch, EpochResult& result);
    [[noreturn]] void FailNotFinite(const std::string& where, double rate, const EpochResult& result);
    // What decides after an epoch: for the learning rate, and for the best model.
    struct Decisive
    {
        double forRate = 0;
        double forBest = 0;
    };
    Decisive FindDecisive(const EpochResult& result, size_t epoch);
    CriterionAverages Validate(size_t epoch);
    void RollBack(size_t epoch);
    bool AdjustRate(size_t epoch, double controlValue);
    bool StopsEarly(size_t epochsDone, double value);
    void TakeBestModel(size_t epochsDone);
    void RequireBestModel();
    void EndHere(size_t epochsDone, size_t savedEpochs);

    // What is kept on disk (TrainingCheckpoints.cpp).
    CheckpointInfo InfoForCheckpoint();
    void Save(size_t epochsDone);
    CheckpointInfo InfoWithin();
    static EpochPosition PositionOf(const std::map<std::string, std::string>& extra);
    void RestoreDelays(const std::string& states) const;
    void SaveWithin(size_t epoch, const CheckpointInfo& info);
    void SavePoint(const WithinEpochPoint& point, const CheckpointInfo& info);
    bool IsSaveDue() const;
    void RemoveWithin();

    // Trials before an epoch (TrainingSearch.cpp).
    bool SearchesBefore(size_t epoch) const;
    RateSearchSettings RateSettings(size_t epoch) const;
    void SearchRate(size_t epoch);
    double RateRatio(size_t epoch) const;
    void SearchSize(size_t epoch);
    size_t TrialSamples(size_t epoch) const;
    TrialStart KeepStart();
    bool BeginsWithTrial(size_t epoch) const;
    struct TrialResult
    {
        double criterion = 0;  // per sample; NaN: it was not finite
        bool wasKnown = false; // from before the training was stopped: nothing was computed
    };
    TrialResult RunTrial(const TrialStart& start, size_t epoch, const char* prefix, double rate, size_t minibatchSize);
    void WarnOfLongTrials(size_t epoch);
    bool IsKnown(const Trial& trial, size_t epoch);
    void TakeUpTrial(const TrialStart& start, const Trial& trial, EpochSettings& settings);
    void SaveTrial(size_t epoch, const Trial& trial);
    void ForgetTrials(size_t count);
    void BeginTrialsAnew(const std::string& why, size_t trial);

    const TrainingRequest& m_request;
    const SgdOptions& m_options;
    const TrainingFiles& m_files;
    Log& m_log;
    TrainedNetworks m_networks;
    bool m_hasLookedForRest = false; // for data of an encoder that its decoder never asks for
    const TrainingNodes& m_nodes;
    MinibatchSource& m_source;
    MinibatchSource* m_cvSource;
    NodeTracer m_tracer;
    Evaluator m_evaluator;
    Learner m_learner;
    DropoutSchedule m_dropout;
    ImageSettings m_images;
    Progress m_progress;
    EpochLoop m_loop;
    LearningRateControl m_control;
    EarlyStopping m_earlyStopping;
    // What a checkpoint holds.
    RateState m_rate;
    size_t m_samplesSeen = 0;
    size_t m_epochSamples = 0; // counted in a whole epoch; 0: none was finished yet
    size_t m_minibatchSize = 0;
    std::vector<double> m_searchedRates; // the last of them
    double m_firstRate = 0;              // of the first epoch
    bool m_goesOnFromTrial = false;      // the state is that behind the last trial, which was the epoch itself
    KnownTrials m_trials;                // of the searches before the epoch
    bool m_hasSearched = false;
    bool m_hasWarnedOfTrials = false;
    bool m_hasToldOfSparse = false; // gradients that another rule updates
    // Where the first epoch, or the search in front of it, goes on.
    std::optional<BegunEpoch> m_begunEpoch;
    std::optional<BegunTrial> m_begunTrial;
    std::optional<WithinEpochPoint> m_savedWithin; // the last one
    std::chrono::steady_clock::time_point m_savedAt;
    std::vector<std::shared_ptr<RecurrentState>> m_states;
};

} // namespace cntk
