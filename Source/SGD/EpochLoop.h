// One epoch: forward pass, backward pass and update of each minibatch. The steady state allocates nothing.
#pragma once

#include "ComputationNetwork/Evaluation/GradientCheck.h"
#include "SGD/Evaluation/Evaluation.h"
#include "SGD/Parallel/GradientExchange.h"
#include "SGD/Parallel/ModelAveraging.h"
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

// Position within an epoch, with the sums of its averages so far.
struct EpochPosition
{
    size_t minibatches = 0;
    size_t samples = 0;
    std::vector<double> sums; // criterion and evaluations; empty: zeros
    // Position of the last reported results, for Progress; none: unknown.
    std::optional<ReportedPosition> reported{};
};

struct EpochSettings
{
    size_t epoch = 0; // 0-based
    size_t minibatchSize = 256;
    size_t epochSize = c_wholeDataSet;
    double learningRatePerSample = 0;
    double momentumPerSample = 0;
    int gradientCheckDigits = 0; // gradientcheck=true: gradients of every minibatch must agree to so many digits
    bool continuesTrial = false; // the epoch continues the previous run, a trial with the same minibatches
    // With several workers, each computes its share of a minibatch. Shared: all update together (SetExchange).
    // Averaged: each updates its own model, and the models are averaged (SetAverage).
    bool isShared = false;
    bool isAveraged = false;
    size_t syncPerfStats = 0;          // minibatches between two log lines about the exchange; 0: none
    bool readsShare = false;           // the reader delivers the share only
    EpochPosition from;                // start of a resumed epoch: earlier data are skipped
    std::function<void()> beforeFirst; // called once the reader is in position; may be empty
    // Called after each minibatch; false ends the epoch. May be empty.
    std::function<bool()> continues;
    // Called with the error if the data after a minibatch cannot be read, or the network cannot take them. The state is
    // still that after the minibatch, and the epoch may resume there later. Exception: a forward pass of data that were
    // read has drawn dropout masks and updated averages of batch normalization. May be empty.
    std::function<void(Error&)> dataFail;
};

struct EpochResult
{
    CriterionAverages averages; // criterion and evaluations per sample
    double seconds = 0;
    double secondsWaited = 0;
    std::optional<double> secondsExchanged; // set if the epoch was shared
    size_t ownMinibatches = 0;              // minibatches with data for this worker, since the epoch began or resumed
    // The minibatch (from 1) at which the criterion was NaN or infinite: neither it nor later minibatches have updated
    // anything. If the host sees every value, the epoch ends there; otherwise at the next poll of the device.
    std::optional<size_t> notFiniteAt;
    bool wentOn = false;  // ran past that minibatch; the network no longer holds its data
    bool stopped = false; // continues returned false, and the criterion was finite until then
    std::optional<GradientComparison> worstGradient; // set if gradients were checked
};

class EpochLoop
{
public:
    // All arguments must outlive the loop. evaluator: created for training, with roots nodes.Roots(). source: bound to
    // the same roots.
    EpochLoop(const TrainingNodes& nodes, Evaluator& evaluator, MinibatchSource& source, Learner& learner,
              Progress& progress);

    // Prints values after each forward pass from now on. The tracer must outlive the loop.
    void SetTracer(NodeTracer* tracer) { m_tracer = tracer; }

    // Objects for shared and for averaged epochs; they must outlive the loop.
    void SetExchange(GradientExchange* exchange) { m_exchange = exchange; }
    void SetAverage(ModelAverage* average) { m_average = average; }

    EpochResult Run(const EpochSettings& settings);
    // Returns the position in the current or last epoch. Valid only if the criterion was finite so far. Collective if
    // models are averaged: minibatches are this worker's, all other numbers are totals.
    EpochPosition Position();
    // Polls the device if it has its own memory.
    bool IsFiniteSoFar() { return FirstNotFinite() == 0; }
    // True if the network holds the minibatch that ran last. A worker's share of it may be empty.
    bool HoldsMinibatch() const { return m_source.Columns() > 0; }
    // Reads a minibatch (from 1) of the last epoch into the network again. False if the minibatch does not exist or has
    // no data.
    bool ReadAgain(size_t minibatch);

private:
    EpochRequest Request() const;
    void Begin();
    void StartReader();
    void SkipTo();
    void RunMinibatches();
    bool ReadNext();
    bool ReadShared();
    bool RunMinibatch(size_t minibatch);
    bool RunParts(size_t minibatch, bool backward);
    bool RunPart(size_t minibatch, size_t part, bool backward);
    void Forward(size_t part);
    void Trace(size_t minibatch, size_t part);
    bool MayUpdateInBackward() const;
    void CheckMinibatchGradients(int digits, size_t minibatch);
    void Update(size_t columns);
    void UpdateTogether(size_t minibatch);
    void EndUpdates();
    bool ShareSums();
    void AddShared();
    void RunAveraged();
    ModelAverage::News RunToMeeting();
    void TakeTotals();
    bool ShowMinibatch(size_t minibatch);
    void ReportDataError(Error& error);
    CriterionAverages Averages();
    void SetWindow(const SequenceWindow& window);
    size_t FirstNotFinite();

    const TrainingNodes& m_nodes;
    Evaluator& m_evaluator;
    MinibatchSource& m_source;
    Learner& m_learner;
    Progress& m_progress;
    NodeTracer* m_tracer = nullptr;         // null: nothing is traced
    GradientExchange* m_exchange = nullptr; // for shared epochs
    ModelAverage* m_average = nullptr;      // for averaged epochs
    std::vector<std::shared_ptr<RecurrentState>> m_states;
    EpochSettings m_settings; // of the current epoch
    EpochResult m_result;     // of the current epoch, or of the trial that it continues
    CriterionSums m_sums;     // averaged epochs: of this worker until m_hasTotals
    bool m_hasTotals = false; // the epoch has ended, and m_sums are those of all workers
    size_t m_minibatches = 0;
    bool m_isAtEnd = false;        // the reader has no more data
    CriterionSums m_own;           // sums of this worker's share of a minibatch
    std::vector<double> m_running; // sums for progress lines
    bool m_hasOwn = false;         // the share is not empty
    size_t m_columns = 0;          // columns of the minibatch, all shares together
    std::vector<double> m_shared;  // counts of a minibatch that workers exchange
};

} // namespace cntk
