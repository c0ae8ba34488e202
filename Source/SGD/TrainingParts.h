// What a training consists of while its networks stand: made once, and shared by its epochs (Training), the searches in
// front of them (Search/TrainingSearch.h) and what it keeps on disk (Files/TrainingCheckpoints.h, Files/BestModel.h).
#pragma once

#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "SGD/EpochLoop.h"
#include "SGD/Files/TrainedNetworks.h"
#include "SGD/Files/TrainingFiles.h"
#include "SGD/Minibatches/MinibatchSource.h"
#include "SGD/NodeTracing.h"
#include "SGD/Parallel/GradientExchange.h"
#include "SGD/Parallel/ModelAveraging.h"
#include "SGD/Progress.h"
#include "SGD/Schedules/Schedules.h"
#include "SGD/Trainer.h"
#include "SGD/Update/Learner.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

// What computes and what it computes with.
struct TrainingParts
{
    // nodes: of the last network. cvSource: data to validate with after each epoch; null: none. All must outlive this.
    TrainingParts(const TrainingRequest& request, const TrainingFiles& files, TrainedNetworks networks,
                  const TrainingNodes& nodes, MinibatchSource& source, MinibatchSource* cvSource, Log& log);
    TrainingParts(const TrainingParts&) = delete;
    TrainingParts& operator=(const TrainingParts&) = delete;

    // The one that has the criterion.
    ComputationNetwork& Network() const { return *networks.back(); }
    // Of this worker; 0 where there is no other.
    size_t Rank() const { return request.workers != nullptr ? request.workers->Rank() : 0; }
    // Whether the workers share the epoch.
    bool IsParallel(size_t epoch) const;
    // The loop's Run. Of an epoch that the workers do not share each runs the same one.
    EpochResult RunLoop(const EpochSettings& settings);
    // Whether the first of the workers says so: the same in all of them.
    bool Agrees(bool own) const;
    // What minibatches have changed besides the parameters that are trained, statistics of batch normalization: of
    // several workers, each of which has seen other data, all take those of the first one that has had any in the
    // epoch. minibatches: of this worker. Tells of workers that have had none.
    void EqualizeStatistics(size_t epoch, size_t minibatches);
    // What decides after an epoch on its rate and on the best model (useEvalCriterionControlLR): the criterion, or the
    // first evaluation node.
    const ComputationNode& DecisiveNode() const
    {
        return options.autoAdjust.useEvalCriterionControlLR && !nodes.evaluations.empty() ? *nodes.evaluations.front()
                                                                                          : *nodes.criterion;
    }
    // What controls of the learning rate and of the best model compare: it falls as the node's value gets better. Twice
    // it is the value again.
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
    std::optional<GradientExchange> exchange; // where workers share minibatches
    std::unique_ptr<ModelAverage> average;    // where each worker trains a model of its own
    DropoutSchedule dropout;
    BatchNormalizationSchedule batchNormalization;
    Progress progress;
    EpochLoop loop;
    bool hasWarnedOfIdle = false;
};

// What epochs hand on to those after them. Checkpoints hold it, and what learner, dropout and batchNormalization hand
// on.
struct TrainingState
{
    explicit TrainingState(const SgdOptions& options)
        : earlyStopping(options.earlyStopPatience, options.earlyStopMinImprovement)
    {
    }

    RateState rate;
    EarlyStopping earlyStopping;
    size_t samplesSeen = 0;
    size_t epochSamples = 0;           // counted in a whole epoch; 0: none was finished yet
    size_t minibatchSize = 0;          // of the list, or searched
    std::vector<double> searchedRates; // the last of them
    double firstRate = 0;              // of the first epoch
};

// What rates and momenta per minibatch are meant for: a size of minibatches, of parallel sequences together.
size_t NominalSizeOf(const TrainingParts& parts, size_t epoch, size_t minibatchSize);
// Of an epoch, or a trial in front of it. listedSize: of minibatches, that momenta of the list are meant for.
EpochSettings SettingsOf(const TrainingParts& parts, const TrainingState& state, size_t epoch, size_t listedSize);
EpochStart StartOf(const TrainingParts& parts, const TrainingState& state, const EpochSettings& settings);

// The Error of a criterion that is not finite: where (said of the epoch or the search), minibatch and the first node
// that shows it. result: of the run that ended so.
[[noreturn]] void FailNotFinite(TrainingParts& parts, const std::string& where, double rate, const EpochResult& result);

} // namespace cntk
