// One epoch: minibatch after minibatch forward, backward, update. The steady state allocates nothing.
#pragma once

#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/GradientCheck.h"
#include "SGD/Criteria.h"
#include "SGD/Minibatches/MinibatchSource.h"
#include "SGD/NodeTracing.h"
#include "SGD/Parallel/GradientExchange.h"
#include "SGD/Parallel/ModelAverage.h"
#include "SGD/Progress.h"
#include "SGD/Update/Learner.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

class Error;

// How far an epoch has come; what its averages are made of so far.
struct EpochPosition
{
    size_t minibatches = 0;
    size_t samples = 0;
    std::vector<double> sums; // criterion and evaluations; empty: zeros
};

struct EpochSettings
{
    size_t epoch = 0; // 0-based
    size_t minibatchSize = 256;
    size_t epochSize = c_wholeDataSet;
    double learningRatePerSample = 0;
    double momentumPerSample = 0;
    int gradientCheckDigits = 0;  // gradientcheck=true: every minibatch's gradients must agree to so many digits
    bool goesOnFromTrial = false; // the epoch is what the run before, a trial, has done
    // By workers, each of which computes its share of a minibatch: all update together (SetExchange), or each for
    // itself, and means are made of the models (SetAverage).
    bool isShared = false;
    bool isAveraged = false;
    size_t syncPerfStats = 0;          // minibatches between two lines on the exchange; 0: none
    bool readsShare = false;           // the reader delivers no more than the share
    EpochPosition from;                // an epoch that is taken up again: what was read before is skipped
    std::function<void()> beforeFirst; // called once the reader stands there; may be empty
    // Called after each minibatch: false ends the epoch there. May be empty.
    std::function<bool()> goesOn;
    // Called with the error where the data behind a minibatch cannot be read, or the network cannot take them: the
    // state is still that behind it (but for what the forward pass of data that were read has drawn and counted: masks
    // of dropout, averages of batch normalization), and the epoch may go on there another time. May be empty.
    std::function<void(Error&)> dataFail;
};

struct EpochResult
{
    CriterionAverages averages; // criterion and evaluations per sample
    double seconds = 0;
    double secondsWaited = 0;
    std::optional<double> secondsExchanged; // where the epoch was shared
    size_t ownMinibatches = 0; // of which this worker had data, since the epoch began or was taken up again
    // The minibatch (from 1) at which the criterion was not finite: neither it nor what came after has updated
    // anything. Where the device's memory is the host's the epoch ends there, else where it was next asked for.
    std::optional<size_t> notFiniteAt;
    bool wentOn = false;  // behind that minibatch, whose data the network then no longer holds
    bool stopped = false; // goesOn said no, and the criterion was finite until then
    std::optional<GradientComparison> worstGradient; // where gradients were checked
};

class EpochLoop
{
public:
    // All must outlive the loop. evaluator: made for training, with roots nodes.Roots(). source: bound to the same
    // roots.
    EpochLoop(const TrainingNodes& nodes, Evaluator& evaluator, MinibatchSource& source, Learner& learner,
              Progress& progress);

    // Prints values after each forward pass from now on; must outlive the loop.
    void SetTracer(NodeTracer* tracer) { m_tracer = tracer; }

    // For epochs that are shared, or averaged; must outlive the loop.
    void SetExchange(GradientExchange* exchange) { m_exchange = exchange; }
    void SetAverage(ModelAverage* average) { m_average = average; }

    EpochResult Run(const EpochSettings& settings);
    // Of the epoch that runs, or ran last. Only of use where the criterion was finite so far. Where models are
    // averaged, collective: minibatches are this worker's, all else is of all.
    EpochPosition Position();
    // Where the device's memory is not the host's, asks the device.
    bool IsFiniteSoFar() { return FirstNotFinite() == 0; }
    // Whether the network holds the minibatch that ran last: a worker's share of it may be empty.
    bool HoldsMinibatch() const { return m_source.Columns() > 0; }
    // Has the reader deliver a minibatch (from 1) of the epoch that ran last again, into the network. False where it
    // has none of this number, or no data in it.
    bool ReadAgain(size_t minibatch);

private:
    void Begin(const EpochSettings& settings);
    bool RunPart(const EpochSettings& settings, size_t minibatch, size_t part, bool backward);
    bool MayUpdateInBackward() const;
    void Trace(size_t minibatch, size_t part);
    bool RunMinibatch(const EpochSettings& settings, size_t minibatch);
    bool RunParts(const EpochSettings& settings, size_t minibatch, bool backward);
    bool ShareSums();
    void AddShared();
    bool ReadShared();
    void RunAveraged(const EpochSettings& settings, EpochResult& result);
    ModelAverage::News RunToMeeting(const EpochSettings& settings, EpochResult& result);
    void TakeTotals();
    void Update(const EpochSettings& settings, size_t columns);
    void UpdateTogether(const EpochSettings& settings, size_t minibatch);
    bool ShowMinibatch(size_t minibatch);
    void EndUpdates(const EpochSettings& settings);
    bool ReadNext(const EpochSettings& settings);
    void Forward(const EpochSettings& settings, size_t part);
    void TellOfKept(const EpochSettings& settings, Error& error);
    void RunMinibatches(const EpochSettings& settings, EpochResult& result);
    CriterionAverages Averages();
    void SetWindow(const SequenceWindow& window);
    void SkipTo(const EpochSettings& settings);
    size_t FirstNotFinite();
    void CheckMinibatchGradients(int digits, size_t minibatch);

    const TrainingNodes& m_nodes;
    Evaluator& m_evaluator;
    MinibatchSource& m_source;
    Learner& m_learner;
    Progress& m_progress;
    NodeTracer* m_tracer = nullptr; // null: nothing is traced
    std::vector<std::shared_ptr<RecurrentState>> m_states;
    CriterionSums m_sums;
    GradientExchange* m_exchange = nullptr;
    bool m_isShared = false; // the epoch
    ModelAverage* m_average = nullptr;
    bool m_isAveraged = false;     // the epoch, and sums are this worker's
    CriterionSums m_own;           // of the share of a minibatch
    bool m_hasOwn = false;         // a share that is not empty
    size_t m_columns = 0;          // of the minibatch, all shares together
    std::vector<double> m_shared;  // what is told of a minibatch
    std::vector<double> m_running; // what progress lines are made of
    size_t m_minibatches = 0;
    size_t m_ownMinibatches = 0;
    size_t m_skipped = 0; // minibatches that an epoch taken up again does not count in m_sums
    EpochRequest m_epoch;
    std::optional<GradientComparison> m_worstGradient;
    // Of the last run, for an epoch that goes on from it.
    bool m_isAtEnd = false; // the reader has no more
    double m_seconds = 0;
    double m_secondsWaited = 0;
    double m_secondsExchanged = 0; // of the epoch
};

} // namespace cntk
