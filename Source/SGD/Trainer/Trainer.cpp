// The epochs of a training, and the steps between them.
#include "SGD/Trainer/Trainer.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Interruption.h"
#include "Common/Log.h"
#include "Common/Text.h"

#include <cmath>
#include <limits>
#include <utility>

namespace cntk
{

namespace
{

constexpr double c_notANumber = std::numeric_limits<double>::quiet_NaN();

// Switches the evaluator to inference during its lifetime.
class InferenceMode
{
public:
    explicit InferenceMode(Evaluator& evaluator) : m_evaluator(evaluator) { m_evaluator.SetTraining(false); }
    ~InferenceMode() { m_evaluator.SetTraining(true); }
    InferenceMode(const InferenceMode&) = delete;
    InferenceMode& operator=(const InferenceMode&) = delete;

private:
    Evaluator& m_evaluator;
};

} // namespace

Trainer::Trainer(TrainingSetup& setup)
    : m_setup(setup), m_options(setup.options), m_log(setup.log), m_state(m_options),
      m_control(m_options.autoAdjust, LearningRateCount(m_options), setup.DecisiveNode().Type().traits.isMaximised),
      m_checkpoints(setup, m_state), m_best(setup, m_state, m_control.MayRollBack()),
      m_search(setup, m_state, m_checkpoints)
{
}

void Trainer::ResumeWithinEpoch(const WithinEpochPoint& point, const CheckpointInfo& info)
{
    m_resumed = ResumedEpoch{point, PositionIn(info)};
    m_checkpoints.ResumeAt(point);
}

// True if the resumed epoch began with a minibatch size that the list no longer has. Searched sizes do not count.
bool Trainer::IsResumedWithOtherSize(size_t epoch) const
{
    return m_resumed && m_state.minibatchSize != 0 && m_state.minibatchSize != m_options.minibatchSize[epoch] &&
           !SearchesMinibatchSize(m_options, epoch);
}

// Minibatch size for which the configured rates and momenta per minibatch were given.
size_t Trainer::ListedSize(size_t epoch) const
{
    return IsResumedWithOtherSize(epoch) ? m_state.minibatchSize : m_options.minibatchSize[epoch];
}

// Warns if options differ from those that the resumed epoch began with.
void Trainer::WarnOfOtherOptionsWithin(size_t epoch) const
{
    if (IsResumedWithOtherSize(epoch))
        m_log.Warn(Concat("epoch ", epoch + 1, " was begun with minibatchSize=", m_state.minibatchSize,
                          " and continues with it; minibatchSize=", m_options.minibatchSize[epoch],
                          " holds for the epochs after it"));
    const std::optional<size_t>& epochSizeBefore = m_resumed->within.epochSize;
    if (epochSizeBefore && *epochSizeBefore != m_options.epochSize)
        m_log.Warn(Concat("epoch ", epoch + 1, " was begun with epochSize=", *epochSizeBefore,
                          " and continues with epochSize=", m_options.epochSize,
                          ": where it ends, and which samples it consists of, is no longer what it was"));
}

// Returns false if the rate is too small to train.
bool Trainer::SetLearningRate(size_t epoch)
{
    double& rate = m_state.rate.learningRatePerSample;
    if (m_options.autoAdjust.autoAdjustLR == LearningRateSearch::None || epoch < LearningRateCount(m_options))
        rate = LearningRatePerSample(m_options, epoch, m_setup.NominalSize(epoch, ListedSize(epoch)));
    else if (m_resumed)
        ; // the epoch's checkpoint holds the rate
    else if (SearchesLearningRate(m_options, epoch))
        m_search.FindRate(epoch);
    else if (rate == 0) // neither a list nor a checkpoint has a rate
        rate = DefaultLearningRate(m_options.minibatchSize[epoch]);
    if (epoch == 0 || m_state.firstRate == 0)
        m_state.firstRate = rate;
    if (rate >= c_minLearningRate)
        return true;
    m_log.Print("Learn Rate Per Sample for Epoch[%zu] = %.8g is less than minLearnRate %.8g. Training complete.\n",
                epoch + 1, rate, c_minLearningRate);
    return false;
}

void Trainer::SetMinibatchSize(size_t epoch)
{
    if (m_resumed)
        return;
    if (SearchesMinibatchSize(m_options, epoch))
        m_search.FindMinibatchSize(epoch);
    else
        m_state.minibatchSize = m_options.minibatchSize[epoch];
}

// Sets rates and constants of nodes for the epoch.
void Trainer::PrepareNodes(size_t epoch)
{
    m_setup.dropout.SetRate(m_options.dropoutRate[epoch], m_log);
    m_setup.dropout.DrawAsWorker(m_setup.IsParallel(epoch) ? m_setup.Rank() : 0);
    m_setup.batchNormalization.SetTimeConstants(m_options.batchNormalizationTimeConstant[epoch],
                                                m_options.batchNormalizationBlendTimeConstant[epoch], m_log);
}

EpochSettings Trainer::PrepareEpoch(size_t epoch)
{
    EpochSettings settings = SettingsOf(m_setup, m_state, epoch, ListedSize(epoch));
    settings.gradientCheckDigits = m_options.gradientCheck ? int(m_options.sigFigs) : 0;
    settings.continues = [this, epoch]
    {
        if (m_setup.StopRequested())
            return false;
        if (m_checkpoints.IsSaveDue() && m_setup.loop.IsFiniteSoFar())
            m_checkpoints.SaveWithin(epoch, m_checkpoints.InfoWithin(epoch));
        return true;
    };
    // Saving is collective. In an epoch that workers do not share, one of them may fail alone.
    if (m_setup.request.workers == nullptr || m_setup.IsParallel(epoch))
        settings.dataFail = [this, epoch](Error& error)
        { SaveWithinAfterError(epoch, m_checkpoints.InfoWithin(epoch), error); };
    if (m_resumed)
    {
        settings.from = m_checkpoints.OwnPosition(m_resumed->within);
        settings.beforeFirst = [this] { m_checkpoints.RestoreDelays(m_resumed->within.delays); };
    }
    return settings;
}

EpochResult Trainer::TrainEpoch(size_t epoch)
{
    EpochSettings settings = PrepareEpoch(epoch);
    m_checkpoints.BeginInterval();
    m_setup.progress.BeginEpoch(StartOf(m_setup, m_state, settings));
    settings.continuesTrial = m_search.BeginEpoch();
    if (settings.continuesTrial)
        m_setup.progress.RepeatTrial();
    if (m_resumed)
    {
        WarnOfOtherOptionsWithin(epoch);
        m_log.Print("Resuming after minibatch %zu of the epoch.\n", m_resumed->point.minibatches);
    }
    EpochResult result = m_setup.RunLoop(settings);
    m_resumed.reset();
    m_setup.EqualizeStatistics(epoch, result.ownMinibatches);
    if (result.stopped)
    {
        m_log.ClearProgress();
        m_checkpoints.SaveWithin(epoch, m_checkpoints.InfoWithin(epoch));
        m_checkpoints.StopWithin(
            Concat("epoch ", epoch + 1, ", after minibatch ", m_checkpoints.LastWithin()->minibatches));
    }
    if (!result.notFiniteAt)
        WarnOfUnmatchedData();
    EndEpoch(epoch, result);
    return result;
}

// Warns once about encoder sequences that no decoder sequence refers to.
void Trainer::WarnOfUnmatchedData()
{
    if (!m_setup.source.HasCompanions() || std::exchange(m_hasCheckedUnmatched, true))
        return;
    if (const std::string rest = m_setup.source.DescribeUnmatched(); !rest.empty())
        m_log.Warn(rest + "; what only the encoder has is not used");
}

// Adds the epoch's results to the state, and prints them.
void Trainer::EndEpoch(size_t epoch, EpochResult& result)
{
    m_state.samplesSeen += result.averages.samples;
    if (result.notFiniteAt)
    {
        // The training can continue only with an earlier model.
        if (!m_control.Adjusts(epoch) || !m_control.MayRollBack())
            FailNotFinite(m_setup, Concat("epoch ", epoch + 1), m_state.rate.learningRatePerSample, result);
        m_log.Warn(Concat("the training criterion is not finite in epoch ", epoch + 1, ", minibatch ",
                          *result.notFiniteAt, "; going back to an earlier model"));
        result.averages.criterion = c_notANumber;
    }
    else
        m_state.epochSamples = result.averages.samples;
    m_search.EndEpoch(epoch);
    PrintEndOfEpoch(epoch, result);
}

void Trainer::PrintEndOfEpoch(size_t epoch, const EpochResult& result)
{
    Progress::EpochEnd end;
    end.averages = result.averages;
    end.totalSamplesSeen = m_state.samplesSeen;
    end.learningRatePerSample = m_state.rate.learningRatePerSample;
    end.seconds = result.seconds;
    end.secondsWaited = result.secondsWaited;
    end.secondsExchanged = result.secondsExchanged;
    end.bytes = m_setup.evaluator.BytesAllocated();
    std::vector<std::string> evaluations;
    for (const ComputationNodePtr& node : m_setup.nodes.evaluations)
        evaluations.push_back(node->Name());
    m_setup.progress.EndEpoch(end, m_setup.nodes.criterion->Name(), evaluations);
    if (const auto names = m_setup.learner.LeftToAdaGrad();
        !names.empty() && !std::exchange(m_hasReportedSparseRule, true))
        m_log.Print("Sparse gradients are updated by adagrad, not by %s: of %s.\n", m_setup.learner.RuleName(),
                    Join(names, ", ").c_str());
    if (result.worstGradient)
        m_log.Print("Gradient check of epoch %zu: all gradients agree to %zu digits; at worst, %s.\n", epoch + 1,
                    m_options.sigFigs, result.worstGradient->Describe(*m_setup.nodes.criterion).c_str());
}

// Each worker evaluates all validation data. An error in one worker ends the validation in all.
EvaluationResult Trainer::EvaluateTogether(const std::vector<ComputationNodePtr>& nodes,
                                           const EvaluationSettings& settings)
{
    const auto evaluate = [&]
    { return EvaluateCriteria(m_setup.evaluator, nodes, *m_setup.cvSource, settings, m_log); };
    Workers* const workers = m_setup.request.workers;
    if (workers == nullptr)
        return evaluate();
    EvaluationResult result;
    std::optional<Error> error;
    bool isStopped = false;
    try
    {
        result = evaluate();
        isStopped = AnyWorkerStops(*workers, WorkerState::HasEnded);
    }
    catch (const Interrupted&)
    {
        isStopped = true; // all workers know
    }
    catch (const DifferentData&)
    {
        throw; // all workers have it
    }
    catch (const Error& own)
    {
        error = own;
        isStopped = AnyWorkerStops(*workers, WorkerState::Fails);
    }
    if (!isStopped)
        return result;
    SumCounts(*workers, {}, error);
    throw Interrupted("the validation was stopped");
}

CriterionAverages Trainer::Validate(size_t epoch)
{
    std::vector<ComputationNodePtr> nodes{m_setup.nodes.criterion};
    if (!m_setup.nodes.evaluations.empty())
        nodes.push_back(m_setup.nodes.evaluations.front());
    EvaluationSettings settings;
    settings.minibatchSize = m_options.minibatchSize[epoch];
    settings.numMBsToShowResult = 0;
    settings.stopRequested = m_setup.request.stopRequested;
    settings.tracer = m_setup.tracer.Nodes().empty() ? nullptr : &m_setup.tracer;
    settings.tracedAs = "validation minibatch";
    const InferenceMode inference(m_setup.evaluator);
    const auto validation = EvaluateTogether(nodes, settings);
    // On GPUs the sums may differ in the last bits; decisions must be the same in all workers.
    std::vector<double> values;
    for (const auto& node : validation.nodes)
        values.push_back(node.average);
    if (m_setup.request.workers != nullptr)
        m_setup.request.workers->TakeFirst(std::as_writable_bytes(std::span(values)));
    CriterionAverages averages;
    averages.criterion = values[0];
    averages.samples = validation.samples;
    averages.evaluations.assign(values.begin() + 1, values.end());
    m_setup.progress.ShowValidation(averages);
    if (!std::isfinite(averages.criterion))
        m_log.Warn(Concat("the criterion '", m_setup.nodes.criterion->Name(),
                          "' of the validation data is not finite after epoch ", epoch + 1,
                          "; what goes by it, as learning rates and the best model, cannot be relied on"));
    return averages;
}

// Saves the minibatches before an error in the data: the user may correct the data and resume.
void Trainer::SaveWithinAfterError(size_t epoch, const CheckpointInfo& info, Error& error)
{
    try
    {
        m_checkpoints.SaveWithin(epoch, info);
        error.AddNote(
            Concat("what epoch ", epoch + 1, " has trained so far is kept; ", m_checkpoints.HowToResumeWithin()));
    }
    catch (const Error&)
    {
        // The caller throws the first error.
    }
}

// A training that is stopped here resumes at the end of the epoch. The checkpoint is prepared before the validation,
// which advances random streams.
CriterionAverages Trainer::ValidateOrStop(const EpochResult& result, size_t epoch)
{
    m_state.samplesSeen -= result.averages.samples;
    const CheckpointInfo info = m_checkpoints.InfoWithin(epoch);
    m_state.samplesSeen += result.averages.samples;
    try
    {
        return Validate(epoch);
    }
    catch (const Interrupted&)
    {
        if (result.notFiniteAt)
            m_checkpoints.StopAfter(epoch, Concat("epoch ", epoch + 1));
        m_checkpoints.SaveWithin(epoch, info);
        m_checkpoints.StopWithin(Concat("the validation after epoch ", epoch + 1));
    }
    catch (Error& error)
    {
        if (!result.notFiniteAt)
            SaveWithinAfterError(epoch, info, error);
        throw;
    }
}

// Evaluates the cross-validation set, if there is one. It always decides on the best model;
// useCVSetControlLRIfCVExists=false keeps it from deciding on the learning rate.
Trainer::DecisiveValues Trainer::FindDecisiveValues(const EpochResult& result, size_t epoch)
{
    const CriterionAverages averages = m_setup.cvSource != nullptr ? ValidateOrStop(result, epoch) : result.averages;
    if (result.notFiniteAt)
        return {c_notANumber, c_notANumber};
    const auto valueOf = [this](const CriterionAverages& of)
    {
        const ComputationNode& node = m_setup.DecisiveNode();
        return TrainingSetup::ToBeLowered(node, &node == m_setup.nodes.criterion.get() ? of.criterion
                                                                                       : of.evaluations.front());
    };
    const CriterionAverages& forRate = m_options.autoAdjust.useCVSetControlLRIfCVExists ? averages : result.averages;
    // A search compares the value with criteria of trials, never with error rates.
    const bool isSearched = m_options.autoAdjust.autoAdjustLR == LearningRateSearch::SearchBeforeEpoch;
    return {isSearched ? m_setup.ToBeLowered(forRate.criterion) : valueOf(forRate), valueOf(averages)};
}

// Loads the model of the last decision and, if it exists, its checkpoint.
void Trainer::RollBack(size_t epoch)
{
    const size_t epochsDone = epoch + 1 - m_options.autoAdjust.learnRateAdjustInterval;
    const std::string path = m_setup.files.Model(epochsDone);
    m_log.Print("Loading (rolling back to) previous model with best training-criterion value: %s.\n", path.c_str());
    ReloadModels(m_setup.networks, m_setup.files, path);
    const RateState now = m_state.rate;
    const std::string checkpointPath = m_setup.files.Checkpoint(epochsDone);
    if (epochsDone > 0 && FileExists(checkpointPath))
        RestoreEarlier(epochsDone);
    else
    {
        m_setup.learner.Reset();
        if (m_setup.average)
            m_setup.average->SetVelocities({});
        if (epochsDone == 0)
            m_state.samplesSeen = 0;
        else
            m_log.Warn(Concat("the checkpoint '", checkpointPath,
                              "' of the model gone back to is missing (was "
                              "learnRateAdjustInterval or loadBestModel changed?); smoothed gradients begin at 0"));
    }
    m_state.rate.averageCriterion = now.averageCriterion;
    m_state.rate.epochsMissing = now.epochsMissing;
    m_state.rate.isAverageKnown = now.isAverageKnown;
}

// Restores an earlier checkpoint without the random streams of dropout, the time constants of batch normalization and
// the state of early stopping, which all continue.
void Trainer::RestoreEarlier(size_t epochsDone)
{
    const bool reducing = m_state.rate.reducing;
    const size_t minibatchSize = m_state.minibatchSize;
    const std::string path = m_setup.files.Checkpoint(epochsDone);
    const ComputationNetwork& network = m_setup.Network();
    Checkpoint checkpoint = LoadCheckpoint(path, network.GetDataType(), network.GetDevice());
    for (const char* name :
         {"dropoutSeeds", c_timeConstantsKey, "bestCriterion", "bestEpoch", "progressCriterion", "progressEpoch"})
        checkpoint.info.extra.erase(name);
    Restore(std::move(checkpoint), path);
    m_state.rate.reducing = reducing;
    // A searched size becomes that of the earlier epoch; a listed size stays.
    if (!m_options.autoAdjust.autoAdjustMinibatch)
        m_state.minibatchSize = minibatchSize;
}

// Returns false if the training must end.
bool Trainer::AdjustRate(size_t epoch, double controlValue)
{
    m_control.Observe(m_state.rate, epoch, controlValue);
    const bool rollsBack = m_control.WantsRollBack(m_state.rate, epoch);
    if (rollsBack)
        RollBack(epoch);
    switch (m_control.Adjust(m_state.rate, epoch))
    {
    case RateChange::Stop:
        m_log.Print("Finished training and saved final model\n\n");
        return false;
    case RateChange::Reduced:
        m_log.Print("learnRatePerSample reduced to %.8g\n", m_state.rate.learningRatePerSample);
        break;
    case RateChange::Increased:
        m_log.Print("learnRatePerSample increased to %.8g\n", m_state.rate.learningRatePerSample);
        break;
    case RateChange::None:
        break;
    }
    m_control.EndDecision(m_state.rate, epoch, rollsBack);
    if (m_state.rate.learningRatePerSample < 1e-12)
        m_log.Print("learnRate per sample is reduced to %.8g which is below 1e-12. stop training.\n",
                    m_state.rate.learningRatePerSample);
    return true;
}

// The training may be killed at any moment, so the final name never holds any model but the intended one.
void Trainer::Save(size_t epochsDone)
{
    m_checkpoints.SaveCheckpointOf(epochsDone);
    if (epochsDone == m_options.maxEpochs)
        m_best.Take(epochsDone);
    m_checkpoints.SaveModelsOf(epochsDone);
}

// Ends the training before its last epoch. savedEpochs: epochs that have a model.
void Trainer::EndEarly(size_t epochsDone, size_t savedEpochs)
{
    m_best.Take(epochsDone);
    m_setup.SaveModelsAs(m_setup.files.FinalModel());
    m_checkpoints.RemoveWithin(); // of an epoch after the last saved one
    RemoveObsolete(m_setup.files, m_options, savedEpochs, true);
}

// A searched or adjusted rate that is too small ends the training. A too small rate of the list leaves it unfinished.
void Trainer::EndByRate(size_t epochsDone)
{
    if (m_options.autoAdjust.autoAdjustLR != LearningRateSearch::None)
        return EndEarly(epochsDone, epochsDone);
    m_log.Warn(Concat("a rate of the list ends the training before epoch ", epochsDone + 1, " of ", m_options.maxEpochs,
                      ": '", m_setup.files.Model(epochsDone), "' is the last model; a final one, '",
                      m_setup.files.FinalModel(), "', is not written"));
    RemoveObsolete(m_setup.files, m_options, epochsDone, true);
}

void Trainer::StopIfRequested(size_t epoch) const
{
    if (!m_setup.StopRequested())
        return;
    const std::string where = Concat("front of epoch ", epoch + 1);
    if (m_checkpoints.LastWithin())
        m_checkpoints.StopWithin(where);
    m_checkpoints.StopAfter(epoch, where);
}

// rate: of the epoch.
void Trainer::Report(size_t epoch, double rate, const EpochResult& result) const
{
    if (!m_setup.request.epochDone)
        return;
    EpochReport report;
    report.epoch = epoch;
    report.criterion = result.averages.criterion;
    report.evaluations = result.averages.evaluations;
    report.samples = result.averages.samples;
    report.learningRatePerSample = rate;
    m_setup.request.epochDone(report);
}

void Trainer::Run(size_t firstEpoch)
{
    m_best.Require();
    // Early stopping had ended the training, which was killed before it wrote the final model.
    if (!m_resumed && m_best.HasStoppedAfter(firstEpoch))
        return EndEarly(firstEpoch, firstEpoch);
    for (size_t epoch = firstEpoch; epoch < m_options.maxEpochs; ++epoch)
    {
        PrepareNodes(epoch);
        StopIfRequested(epoch);
        if (!SetLearningRate(epoch))
            return EndByRate(epoch);
        SetMinibatchSize(epoch);
        const double rate = m_state.rate.learningRatePerSample;
        const EpochResult result = TrainEpoch(epoch);
        const DecisiveValues values = FindDecisiveValues(result, epoch);
        const bool stops = m_best.StopsAfter(epoch + 1, values.forBest);
        if (!AdjustRate(epoch, values.forRate))
            return EndEarly(epoch + 1, epoch);
        Save(epoch + 1);
        Report(epoch, rate, result);
        if (stops && epoch + 1 < m_options.maxEpochs)
            return EndEarly(epoch + 1, epoch + 1);
    }
}

} // namespace cntk
