// The objects that a training creates once its networks exist. The trainer, its searches, its checkpoints and the best
// model share them.
#pragma once

#include "SGD/EpochLoop.h"
#include "SGD/Files/TrainingFiles.h"
#include "SGD/Schedules/Schedules.h"
#include "SGD/Trainer/TrainingRequest.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

struct TrainingSetup
{
    // nodes: of the last network. cvSource: data to validate with after each epoch; null: none. All arguments must
    // outlive this.
    TrainingSetup(const TrainingRequest& request, const TrainingFiles& files, TrainedNetworks networks,
                  const TrainingNodes& nodes, MinibatchSource& source, MinibatchSource* cvSource, Log& log);
    TrainingSetup(const TrainingSetup&) = delete;
    TrainingSetup& operator=(const TrainingSetup&) = delete;

    // The network that has the criterion.
    ComputationNetwork& Network() const { return *networks.back(); }
    // Rank of this worker; 0 for a single process.
    size_t Rank() const { return request.workers != nullptr ? request.workers->Rank() : 0; }
    // True if the workers share the epoch.
    bool IsParallel(size_t epoch) const;
    // Columns of a whole minibatch, for which rates and momenta per minibatch are given.
    size_t NominalSize(size_t epoch, size_t minibatchSize) const;
    // Runs the loop. Workers that do not share the epoch each run the same one.
    EpochResult RunLoop(const EpochSettings& settings);
    // Returns the value of the first worker in all workers.
    bool Agrees(bool own) const;
    // Saves the models of all networks below this path.
    void SaveModelsAs(const std::string& path) const;
    // Copies what forward passes have changed, statistics of batch normalization, from the first worker that has had
    // data in the epoch to all others. minibatches: of this worker. Warns of workers without data.
    void EqualizeStatistics(size_t epoch, size_t minibatches);
    // Returns the node whose value decides on the rate and on the best model after an epoch
    // (useEvalCriterionControlLR): the criterion, or the first evaluation node.
    const ComputationNode& DecisiveNode() const
    {
        return options.autoAdjust.useEvalCriterionControlLR && !nodes.evaluations.empty() ? *nodes.evaluations.front()
                                                                                          : *nodes.criterion;
    }
    // Negates criteria that are maximised, so that lower is always better. Its own inverse.
    static double ToBeLowered(const ComputationNode& node, double value)
    {
        return node.Type().traits.isMaximised ? -value : value;
    }
    double ToBeLowered(double criterion) const { return ToBeLowered(*nodes.criterion, criterion); }
    bool StopRequested() const { return request.stopRequested && request.stopRequested(); }

private:
    void JoinWorkers(Workers& workers);
    void WarnOfIdleWorkers(size_t epoch, size_t idle);
    void SetUpSequenceCriteria();
    void BindSources();

public:
    const TrainingRequest& request;
    const SgdOptions& options;
    const TrainingFiles& files;
    Log& log;
    TrainedNetworks networks;
    const TrainingNodes& nodes;
    MinibatchSource& source;
    MinibatchSource* cvSource;
    NodeTracer tracer;
    Evaluator evaluator;
    Learner learner;
    std::optional<GradientExchange> exchange; // if workers share minibatches
    std::unique_ptr<ModelAverage> average;    // if each worker trains a model of its own
    DropoutSchedule dropout;
    BatchNormalizationSchedule batchNormalization;
    Progress progress;
    EpochLoop loop;
    bool hasWarnedOfIdle = false;
};

// State that passes from epoch to epoch. Checkpoints hold it, with the states of learner, dropout and batch
// normalization.
struct TrainingState
{
    explicit TrainingState(const SgdOptions& options)
        : earlyStopping(options.earlyStopPatience, options.earlyStopMinImprovement, options.keepModels.best)
    {
    }

    RateState rate;
    EarlyStopping earlyStopping;
    size_t samplesSeen = 0;
    size_t epochSamples = 0;           // of a whole epoch; 0: none is finished
    size_t minibatchSize = 0;          // from the list or a search
    std::vector<double> searchedRates; // the last ones
    double firstRate = 0;              // of the first epoch
};

// Returns the settings of an epoch, or of a trial before it. listedSize: minibatch size for which momenta per minibatch
// are given.
EpochSettings SettingsOf(const TrainingSetup& setup, const TrainingState& state, size_t epoch, size_t listedSize);
EpochStart StartOf(const TrainingSetup& setup, const TrainingState& state, const EpochSettings& settings);

// Throws the Error of a criterion that is NaN or infinite; the message has minibatch and first such node. where: names
// the epoch or search. result: of the run that ended with it.
[[noreturn]] void FailNotFinite(TrainingSetup& setup, const std::string& where, double rate, const EpochResult& result);

} // namespace cntk
