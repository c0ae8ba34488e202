// Values that change from epoch to epoch: learning rates and momenta (book 3.3.1.2), the settings of dropout and batch
// normalization nodes, and the decision when a training ends.
#pragma once

#include "ComputationNetwork/Nodes/BatchNormalizationNode.h"
#include "ComputationNetwork/Nodes/DropoutNode.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "SGD/TrainingOptions.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class Log;
class Workers;

// A rate per sample below this ends the training. A single precision constant in CNTK v1.1.
constexpr double c_minLearningRate = double(1e-9f);
// A minibatch with a rate below this runs neither backward pass nor update.
constexpr double c_noUpdateLearningRate = 0.01 * c_minLearningRate;

// Returns the columns of a whole minibatch, for which rates and momenta per minibatch were given. Truncated: `size` is
// the number of time steps of each parallel sequence.
size_t NominalMinibatchSize(const SgdOptions& options, size_t size, size_t parallelSequences = 1);

// Returns how many epochs the list of learning rates covers; 0: no list.
size_t LearningRateCount(const SgdOptions& options);
// The rate per sample without a list of learning rates.
inline double DefaultLearningRate(size_t minibatchSize)
{
    return 0.5 / double(minibatchSize);
}
double LearningRatePerSample(const SgdOptions& options, size_t epoch, size_t nominalSize);

double MomentumPerSample(const SgdOptions& options, size_t epoch, size_t nominalSize);
// Returns the momentum of an update over so many columns, gaps included: a short minibatch gets a larger one.
double MomentumOfMinibatch(double momentumPerSample, size_t columns);
// In samples, for the log; 0: no momentum.
double MomentumTimeConstant(double momentumPerSample);

// True if trials before the epoch choose its rate or minibatch size, because its list has ended.
bool SearchesLearningRate(const SgdOptions& options, size_t epoch);
bool SearchesMinibatchSize(const SgdOptions& options, size_t epoch);

// State of LearningRateControl; saved in checkpoints.
struct RateState
{
    double learningRatePerSample = 0;                                   // of the next epoch
    double previousCriterion = std::numeric_limits<double>::infinity(); // average at the last decision
    double averageCriterion = 0;                                        // over the epochs since the last decision
    size_t epochsMissing = 0;   // epochs since the last decision that the average does not include
    bool isAverageKnown = true; // false: the average does not include any earlier epoch
    bool reducing = false;      // continueReduce has begun
};

enum class RateChange
{
    None,
    Reduced,
    Increased,
    Stop // the second insufficient improvement under continueReduce
};

// Decides the next learning rate for autoAdjustLR=AdjustAfterEpoch (book 3.3.1.2). The trainer reloads models and
// prints. Call the functions Observe, WantsRollBack, Adjust and EndDecision in this order after each epoch.
class LearningRateControl
{
public:
    // ratesInList: epochs whose rate the config lists; they are not adjusted. isMaximised: training raises the
    // criterion, so control values may be negative and improvements are shares of their magnitude.
    LearningRateControl(const AutoAdjustOptions& options, size_t ratesInList, bool isMaximised = false)
        : m_options(options), m_ratesInList(ratesInList), m_isMaximised(isMaximised)
    {
    }

    bool Adjusts(size_t epoch) const
    {
        return m_options.autoAdjustLR == LearningRateSearch::AdjustAfterEpoch && IsDecisionDue(epoch) &&
               epoch >= m_ratesInList;
    }
    bool MayRollBack() const
    {
        return m_options.autoAdjustLR == LearningRateSearch::AdjustAfterEpoch && m_options.loadBestModel;
    }

    // Adds the control value to the running average.
    void Observe(RateState& state, size_t epoch, double controlValue) const;
    // True if the criterion got worse, so that the model of the last decision should be loaded.
    bool WantsRollBack(const RateState& state, size_t epoch) const;
    // Changes the rate. After a roll-back, state is that of the older checkpoint with the average of this epoch.
    RateChange Adjust(RateState& state, size_t epoch) const;
    // Makes the average the criterion to improve on, unless an older model was loaded.
    void EndDecision(RateState& state, size_t epoch, bool rolledBack) const;

private:
    bool IsDecisionDue(size_t epoch) const { return (epoch + 1) % m_options.learnRateAdjustInterval == 0; }

    AutoAdjustOptions m_options;
    size_t m_ratesInList;
    bool m_isMaximised;
};

// Ends a training before maxEpochs after some epochs without improvement, and knows the best epoch.
class EarlyStopping
{
public:
    // patience: epochs without an improvement after which to stop; 0: off.
    // keepsBest: the best epoch is of interest even if nothing is stopped.
    EarlyStopping(size_t patience, double minImprovement, bool keepsBest = false)
        : m_patience(patience), m_minImprovement(minImprovement), m_keepsBest(keepsBest)
    {
    }

    bool IsOn() const { return m_patience > 0 || m_keepsBest; }
    bool MayStop() const { return m_patience > 0; }
    // Takes the criterion of an epoch. Returns true if it is the best so far; NaN never is.
    bool Observe(size_t epochsDone, double value);
    bool ShouldStop(size_t epochsDone) const
    {
        return MayStop() && epochsDone >= m_lastImprovement && epochsDone - m_lastImprovement >= m_patience;
    }

    size_t BestEpoch() const { return m_bestEpoch; } // number of epochs done; 0: none yet
    double Best() const { return m_best; }

    void SaveExtra(std::map<std::string, std::string>& extra) const;
    void RestoreExtra(const std::map<std::string, std::string>& extra);

private:
    size_t m_patience;
    double m_minImprovement;
    bool m_keepsBest;
    double m_best = std::numeric_limits<double>::infinity();
    size_t m_bestEpoch = 0;
    // The criterion at the last improvement of at least m_minImprovement. Smaller improvements update the best model
    // only, and count here when their sum reaches it.
    double m_progress = std::numeric_limits<double>::infinity();
    size_t m_lastImprovement = 0;
};

// Sets rates and seeds of the dropout nodes below the criterion. In epochs whose rate differs from the previous one,
// the nodes get new seeds 1, 2, 3, ... in the evaluation order of the criterion alone.
class DropoutSchedule
{
public:
    explicit DropoutSchedule(const ComputationNodePtr& criterion, uint64_t trainingSeed = 0);

    // At the beginning of an epoch.
    void SetRate(double rate, Log& log);
    // Gives each worker that shares the epoch masks of its own; 0: the masks of a single process.
    void DrawAsWorker(size_t rank);
    // True if each forward pass draws random numbers.
    bool DrawsMasks() const { return m_rate > 0 && !m_nodes.empty(); }

    // Save and restore the states of all random streams exactly. SaveExtra is collective with workers: a worker whose
    // share of a minibatch was empty or divided differently has drawn another number of masks.
    void SaveExtra(std::map<std::string, std::string>& extra, Workers* workers = nullptr) const;
    void RestoreExtra(const std::map<std::string, std::string>& extra, size_t rank = 0);

private:
    std::vector<std::shared_ptr<DropoutNode>> m_nodes;
    double m_rate = 0;
    uint64_t m_nextSeed = 1;
};

// Key of BatchNormalizationSchedule's constants in the extra part of checkpoints.
constexpr const char* c_timeConstantsKey = "batchNormalizationConstants";

// Sets the time constants of batch normalization nodes.
class BatchNormalizationSchedule
{
public:
    explicit BatchNormalizationSchedule(const EvaluationPlan& plan);

    // At the beginning of an epoch. Changes the nodes only if a constant differs from the previous epoch's, at first 0.
    void SetTimeConstants(double normalization, double blend, Log& log);
    // Save and restore the constants of the last epoch, so that a resumed training notices a change to 0.
    void SaveExtra(std::map<std::string, std::string>& extra) const;
    void RestoreExtra(const std::map<std::string, std::string>& extra);
    // Collective: all workers take the number of minibatches in the statistics from the worker of this rank.
    void TakeCounts(Workers& workers, size_t rank);

private:
    std::vector<std::shared_ptr<BatchNormalizationNode>> m_nodes;
    double m_normalization = 0;
    double m_blend = 0;
};

// Sets maxTempMemSizeInSamples of all convolution nodes; 0: keeps the limit of each node.
void LimitConvolutionMemory(const EvaluationPlan& plan, uint64_t samples, Log& log);

} // namespace cntk
