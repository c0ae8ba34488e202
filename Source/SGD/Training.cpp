#include "SGD/Training.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Interruption.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "SGD/Parallel/WorkerAgreement.h"
#include "SGD/Schedules/Schedules.h"

#include <cmath>
#include <limits>
#include <utility>

namespace cntk
{

namespace
{

constexpr double c_notANumber = std::numeric_limits<double>::quiet_NaN();

// As long as it lives the evaluator computes as in a test.
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

Training::Training(TrainingParts& parts)
    : m_parts(parts), m_options(parts.options), m_log(parts.log), m_state(m_options),
      m_control(m_options.autoAdjust, LearningRateCount(m_options), parts.DecisiveNode().Type().traits.isMaximised),
      m_checkpoints(parts, m_state), m_best(parts, m_state, m_control.MayRollBack()),
      m_search(parts, m_state, m_checkpoints)
{
}

void Training::GoOnWithin(const WithinEpochPoint& point, const CheckpointInfo& info)
{
    m_begunEpoch = BegunEpoch{point, PositionIn(info)};
    m_checkpoints.TakeUp(point);
}

// An epoch that goes on with a size of minibatches that the list no longer has. A searched size is not meant.
bool Training::HasOtherSizeThanList(size_t epoch) const
{
    return m_begunEpoch && m_state.minibatchSize != 0 && m_state.minibatchSize != m_options.minibatchSize[epoch] &&
           !SearchesMinibatchSize(m_options, epoch);
}

// That momenta and rates per minibatch are meant for.
size_t Training::ListedSize(size_t epoch) const
{
    return HasOtherSizeThanList(epoch) ? m_state.minibatchSize : m_options.minibatchSize[epoch];
}

// The options of an epoch that goes on may be others than those it began with.
void Training::WarnOfOtherOptionsWithin(size_t epoch) const
{
    if (HasOtherSizeThanList(epoch))
        m_log.Warn(Concat("epoch ", epoch + 1, " was begun with minibatchSize=", m_state.minibatchSize,
                          " and goes on with it; minibatchSize=", m_options.minibatchSize[epoch],
                          " holds for the epochs after it"));
    const std::optional<size_t>& epochSizeBefore = m_begunEpoch->within.epochSize;
    if (epochSizeBefore && *epochSizeBefore != m_options.epochSize)
        m_log.Warn(Concat("epoch ", epoch + 1, " was begun with epochSize=", *epochSizeBefore,
                          " and goes on with epochSize=", m_options.epochSize,
                          ": where it ends, and which samples it consists of, is no longer what it was"));
}

// False when the rate is too small to go on.
bool Training::SetLearningRate(size_t epoch)
{
    double& rate = m_state.rate.learningRatePerSample;
    if (m_options.autoAdjust.autoAdjustLR == LearningRateSearch::None || epoch < LearningRateCount(m_options))
        rate = LearningRatePerSample(m_options, epoch, NominalSizeOf(m_parts, epoch, ListedSize(epoch)));
    else if (m_begunEpoch)
        ; // the epoch's rate is known
    else if (SearchesLearningRate(m_options, epoch))
        m_search.FindRate(epoch);
    else if (rate == 0)                                      // neither a list nor a checkpoint said anything
        rate = 0.5 / double(m_options.minibatchSize[epoch]); // whatever the parallel sequences
    if (epoch == 0 || m_state.firstRate == 0)
        m_state.firstRate = rate;
    if (rate >= c_minLearningRate)
        return true;
    m_log.Print("Learn Rate Per Sample for Epoch[%zu] = %.8g is less than minLearnRate %.8g. Training complete.\n",
                epoch + 1, rate, c_minLearningRate);
    return false;
}

// The size of the list, or one that was searched; that of the begun epoch where one goes on.
void Training::SetMinibatchSize(size_t epoch)
{
    if (m_begunEpoch)
        return;
    if (SearchesMinibatchSize(m_options, epoch))
        m_search.FindMinibatchSize(epoch);
    else
        m_state.minibatchSize = m_options.minibatchSize[epoch];
}

EpochResult Training::TrainEpoch(size_t epoch)
{
    EpochSettings settings = SettingsOf(m_parts, m_state, epoch, ListedSize(epoch));
    settings.gradientCheckDigits = m_options.gradientCheck ? int(m_options.sigFigs) : 0;
    settings.goesOn = [this, epoch]
    {
        if (m_parts.StopRequested())
            return false;
        if (m_checkpoints.IsSaveDue() && m_parts.loop.IsFiniteSoFar())
            m_checkpoints.SaveWithin(epoch, m_checkpoints.InfoWithin(epoch));
        return true;
    };
    if (m_parts.request.workers == nullptr || m_parts.IsParallel(epoch)) // else it may fail in one of them alone
        settings.dataFail = [this, epoch](Error& error) { KeepEpoch(epoch, m_checkpoints.InfoWithin(epoch), error); };
    if (m_begunEpoch)
    {
        settings.from = m_checkpoints.OwnPosition(m_begunEpoch->within);
        settings.beforeFirst = [this] { m_checkpoints.RestoreDelays(m_begunEpoch->within.delays); };
    }
    m_checkpoints.BeginInterval();
    m_parts.progress.BeginEpoch(StartOf(m_parts, m_state, settings));
    settings.goesOnFromTrial = m_search.BeginEpoch();
    if (settings.goesOnFromTrial)
        m_parts.progress.RepeatTrial();
    if (m_begunEpoch)
    {
        WarnOfOtherOptionsWithin(epoch);
        m_log.Print("Going on behind minibatch %zu of the epoch.\n", m_begunEpoch->point.minibatches);
    }
    EpochResult result = m_parts.RunLoop(settings);
    m_begunEpoch.reset();
    m_parts.EqualizeStatistics(epoch, result.ownMinibatches);
    if (result.stopped)
    {
        m_log.ClearProgress();
        m_checkpoints.SaveWithin(epoch, m_checkpoints.InfoWithin(epoch));
        m_checkpoints.StopWithin(
            Concat("epoch ", epoch + 1, ", after minibatch ", m_checkpoints.LastWithin()->minibatches));
    }
    if (!result.notFiniteAt)
        WarnOfRest();
    EndEpoch(epoch, result);
    return result;
}

// Once: of data of an encoder that its decoder has not asked for.
void Training::WarnOfRest()
{
    if (!m_parts.source.HasCompanions() || std::exchange(m_hasLookedForRest, true))
        return;
    if (const std::string rest = m_parts.source.DescribeUnmatched(); !rest.empty())
        m_log.Warn(rest + "; what only the encoder has is not used");
}

// Takes what the epoch gave into the state, and prints it.
void Training::EndEpoch(size_t epoch, EpochResult& result)
{
    m_state.samplesSeen += result.averages.samples;
    if (result.notFiniteAt)
    {
        // Going back to an older model is the only way on from here.
        if (!m_control.Adjusts(epoch) || !m_control.MayRollBack())
            FailNotFinite(m_parts, Concat("epoch ", epoch + 1), m_state.rate.learningRatePerSample, result);
        m_log.Warn(Concat("the training criterion is not finite in epoch ", epoch + 1, ", minibatch ",
                          *result.notFiniteAt, "; going back to an earlier model"));
        result.averages.criterion = c_notANumber;
    }
    else
        m_state.epochSamples = result.averages.samples;
    m_search.EndEpoch(epoch);

    Progress::EpochEnd end;
    end.averages = result.averages;
    end.totalSamplesSeen = m_state.samplesSeen;
    end.learningRatePerSample = m_state.rate.learningRatePerSample;
    end.seconds = result.seconds;
    end.secondsWaited = result.secondsWaited;
    end.secondsExchanged = result.secondsExchanged;
    std::vector<std::string> names;
    for (const ComputationNodePtr& node : m_parts.nodes.evaluations)
        names.push_back(node->Name());
    m_parts.progress.EndEpoch(end, m_parts.nodes.criterion->Name(), names);
    if (const auto names = m_parts.learner.LeftToAdaGrad(); !names.empty() && !std::exchange(m_hasToldOfSparse, true))
        m_log.Print("Sparse gradients are updated by adagrad, not by %s: of %s.\n", m_parts.learner.RuleName(),
                    Join(names, ", ").c_str());
    if (result.worstGradient)
        m_log.Print("Gradient check of epoch %zu: all gradients agree to %zu digits; at worst, %s.\n", epoch + 1,
                    m_options.sigFigs, result.worstGradient->Describe(*m_parts.nodes.criterion).c_str());
}

// Of several workers, all of whom read all of the validation data, what one cannot read ends the validation of all.
EvaluationResult Training::EvaluateTogether(const std::vector<ComputationNodePtr>& nodes,
                                            const EvaluationSettings& settings)
{
    const auto evaluate = [&]
    { return EvaluateCriteria(m_parts.evaluator, nodes, *m_parts.cvSource, settings, m_log); };
    Workers* const workers = m_parts.request.workers;
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
        isStopped = true; // as all have heard
    }
    catch (const DifferentData&)
    {
        throw; // likewise
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

CriterionAverages Training::Validate(size_t epoch)
{
    std::vector<ComputationNodePtr> nodes{m_parts.nodes.criterion};
    if (!m_parts.nodes.evaluations.empty())
        nodes.push_back(m_parts.nodes.evaluations.front());
    EvaluationSettings settings;
    settings.minibatchSize = m_options.minibatchSize[epoch];
    settings.numMBsToShowResult = 0;
    settings.stopRequested = m_parts.request.stopRequested;
    settings.tracer = m_parts.tracer.Nodes().empty() ? nullptr : &m_parts.tracer;
    settings.tracedAs = "validation minibatch";
    const InferenceMode inference(m_parts.evaluator);
    const auto validation = EvaluateTogether(nodes, settings);
    // All workers have made the same sums, but for the order in which a GPU adds: what follows must not differ.
    std::vector<double> values;
    for (const auto& node : validation.nodes)
        values.push_back(node.average);
    if (m_parts.request.workers != nullptr)
        m_parts.request.workers->TakeFirst(std::as_writable_bytes(std::span(values)));
    CriterionAverages averages;
    averages.criterion = values[0];
    averages.evaluations.assign(values.begin() + 1, values.end());
    m_parts.progress.ShowValidation(averages);
    if (!std::isfinite(averages.criterion))
        m_log.Warn(Concat("the criterion '", m_parts.nodes.criterion->Name(),
                          "' of the validation data is not finite after epoch ", epoch + 1,
                          "; what goes by it, as learning rates and the best model, cannot be relied on"));
    return averages;
}

// An error in the data is no reason to train the same again once it is mended.
void Training::KeepEpoch(size_t epoch, const CheckpointInfo& info, Error& error)
{
    try
    {
        m_checkpoints.SaveWithin(epoch, info);
        error.AddNote(
            Concat("what epoch ", epoch + 1, " has trained so far is kept; ", m_checkpoints.HowToGoOnWithin()));
    }
    catch (const Error&)
    {
        // The first error is told.
    }
}

// Stopped here, the training goes on at the end of the epoch; masks are drawn for the validation, too.
CriterionAverages Training::ValidateOrStop(const EpochResult& result, size_t epoch)
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
            m_checkpoints.StopBehind(epoch, Concat("epoch ", epoch + 1));
        m_checkpoints.SaveWithin(epoch, info);
        m_checkpoints.StopWithin(Concat("the validation after epoch ", epoch + 1));
    }
    catch (Error& error)
    {
        if (!result.notFiniteAt)
            KeepEpoch(epoch, info, error);
        throw;
    }
}

// Evaluates the cross-validation set. The learning rate's control may look away from it, the best model's choice not.
Training::Decisive Training::FindDecisive(const EpochResult& result, size_t epoch)
{
    const CriterionAverages averages = m_parts.cvSource != nullptr ? ValidateOrStop(result, epoch) : result.averages;
    if (result.notFiniteAt)
        return {c_notANumber, c_notANumber};
    const auto valueOf = [this](const CriterionAverages& of)
    {
        const ComputationNode& node = m_parts.DecisiveNode();
        return TrainingParts::ToBeLowered(node, &node == m_parts.nodes.criterion.get() ? of.criterion
                                                                                       : of.evaluations.front());
    };
    const CriterionAverages& forRate = m_options.autoAdjust.useCVSetControlLRIfCVExists ? averages : result.averages;
    // Searches compare it with criteria of trials, with which an error rate has nothing to do.
    const bool isSearched = m_options.autoAdjust.autoAdjustLR == LearningRateSearch::SearchBeforeEpoch;
    return {isSearched ? m_parts.ToBeLowered(forRate.criterion) : valueOf(forRate), valueOf(averages)};
}

// Loads the model of the last look and, where there is one, its checkpoint.
void Training::RollBack(size_t epoch)
{
    const size_t interval = m_options.autoAdjust.learnRateAdjustInterval;
    const size_t epochsDone = epoch + 1 - interval;
    const std::string path = m_parts.files.Model(epochsDone);
    m_log.Print("Loading (rolling back to) previous model with best training-criterion value: %s.\n", path.c_str());
    ReloadModels(m_parts.networks, m_parts.files, path);
    const RateState now = m_state.rate;
    const size_t minibatchSize = m_state.minibatchSize;
    const std::string checkpointPath = m_parts.files.Checkpoint(epochsDone);
    if (epochsDone == 0 || !FileExists(checkpointPath))
    {
        m_parts.learner.Reset();
        if (m_parts.average)
            m_parts.average->SetVelocities({});
        if (epochsDone == 0)
            m_state.samplesSeen = 0;
        else
            m_log.Warn(Concat("the checkpoint '", checkpointPath,
                              "' of the model gone back to is missing (was "
                              "learnRateAdjustInterval or loadBestModel changed?); smoothed gradients begin at 0"));
    }
    else
    {
        const ComputationNetwork& network = m_parts.Network();
        Checkpoint checkpoint = LoadCheckpoint(checkpointPath, network.GetDataType(), network.GetDevice());
        checkpoint.info.extra.erase("dropoutSeeds");     // masks go on
        checkpoint.info.extra.erase(c_timeConstantsKey); // nodes keep theirs
        for (const char* name : {"bestCriterion", "bestEpoch", "progressCriterion", "progressEpoch"})
            checkpoint.info.extra.erase(name); // and what was seen since is not forgotten
        Restore(std::move(checkpoint), checkpointPath);
        m_state.rate.reducing = now.reducing;
        // Searches go on from the size of that epoch; a size of the list is the epoch's own, as its checkpoint says.
        if (!m_options.autoAdjust.autoAdjustMinibatch)
            m_state.minibatchSize = minibatchSize;
    }
    m_state.rate.averageCriterion = now.averageCriterion;
    m_state.rate.epochsMissing = now.epochsMissing;
    m_state.rate.isAverageKnown = now.isAverageKnown;
}

// False when the training is to end.
bool Training::AdjustRate(size_t epoch, double controlValue)
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

// Never another model under the final name than the one that is meant, not even for a moment: the training may be
// killed in it.
void Training::Save(size_t epochsDone)
{
    m_checkpoints.SaveCheckpointOf(epochsDone);
    if (epochsDone == m_options.maxEpochs)
        m_best.Take(epochsDone);
    m_checkpoints.SaveModelsOf(epochsDone);
}

// Before the last epoch. savedEpochs: of which there is a model.
void Training::EndHere(size_t epochsDone, size_t savedEpochs)
{
    m_best.Take(epochsDone);
    SaveModels(m_parts.networks, m_parts.files, m_parts.files.FinalModel());
    m_checkpoints.RemoveWithin(); // of an epoch behind the last one that was saved
    RemoveObsolete(m_parts.files, m_options, savedEpochs, true);
}

// A list of rates that ends so is taken for a training that is not over yet; a search for one, or a rate that was
// adjusted, ends it.
void Training::EndByRate(size_t epochsDone)
{
    if (m_options.autoAdjust.autoAdjustLR != LearningRateSearch::None)
        return EndHere(epochsDone, epochsDone);
    m_log.Warn(Concat("a rate of the list ends the training before epoch ", epochsDone + 1, " of ", m_options.maxEpochs,
                      ": '", m_parts.files.Model(epochsDone), "' is the last model; a final one, '",
                      m_parts.files.FinalModel(), "', is not written"));
    RemoveObsolete(m_parts.files, m_options, epochsDone, true);
}

void Training::StopIfAsked(size_t epoch) const
{
    if (!m_parts.StopRequested())
        return;
    const std::string where = Concat("front of epoch ", epoch + 1);
    if (m_checkpoints.LastWithin())
        m_checkpoints.StopWithin(where);
    m_checkpoints.StopBehind(epoch, where);
}

// rate: that the epoch was trained with.
void Training::Report(size_t epoch, double rate, const EpochResult& result) const
{
    if (!m_parts.request.epochDone)
        return;
    EpochReport report;
    report.epoch = epoch;
    report.criterion = result.averages.criterion;
    report.evaluations = result.averages.evaluations;
    report.samples = result.averages.samples;
    report.learningRatePerSample = rate;
    m_parts.request.epochDone(report);
}

void Training::Run(size_t firstEpoch)
{
    m_best.Require();
    // It was killed between its last epoch and the final model.
    if (!m_begunEpoch && m_best.HasStoppedAfter(firstEpoch))
        return EndHere(firstEpoch, firstEpoch);
    for (size_t epoch = firstEpoch; epoch < m_options.maxEpochs; ++epoch)
    {
        m_parts.dropout.SetRate(m_options.dropoutRate[epoch], m_log);
        m_parts.dropout.DrawAsWorker(m_parts.IsParallel(epoch) ? m_parts.Rank() : 0);
        m_parts.batchNormalization.SetTimeConstants(m_options.batchNormalizationTimeConstant[epoch],
                                                    m_options.batchNormalizationBlendTimeConstant[epoch], m_log);
        StopIfAsked(epoch);
        m_checkpoints.BeginInterval();
        if (!SetLearningRate(epoch))
            return EndByRate(epoch);
        SetMinibatchSize(epoch);
        const double rate = m_state.rate.learningRatePerSample;
        const EpochResult result = TrainEpoch(epoch);
        const Decisive decisive = FindDecisive(result, epoch);
        const bool stops = m_best.StopsAfter(epoch + 1, decisive.forBest);
        if (!AdjustRate(epoch, decisive.forRate))
            return EndHere(epoch + 1, epoch);
        Save(epoch + 1);
        Report(epoch, rate, result);
        if (stops && epoch + 1 < m_options.maxEpochs)
            return EndHere(epoch + 1, epoch + 1);
    }
}

} // namespace cntk
