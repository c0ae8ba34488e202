// The epochs of a training and what happens between them.
#include "SGD/Training.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Interruption.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "SGD/Evaluation.h"
#include "SGD/Schedules/Schedules.h"

#include <cmath>
#include <limits>
#include <utility>

namespace cntk
{

namespace
{

constexpr double c_notANumber = std::numeric_limits<double>::quiet_NaN();

EvaluatorOptions TrainingEvaluatorOptions(const TrainingNodes& nodes, const NodeTracer& tracer)
{
    EvaluatorOptions options;
    options.training = true;
    options.backwardRoot = nodes.criterion;
    options.keepValues = tracer.Nodes();
    return options;
}

ProgressSettings ProgressSettingsOf(const SgdOptions& options, bool ofDecoder)
{
    ProgressSettings settings;
    settings.traceLevel = options.traceLevel;
    settings.numMBsToShowResult = options.numMBsToShowResult;
    settings.firstMBsToShowResult = options.firstMBsToShowResult;
    settings.maxEpochs = options.maxEpochs;
    settings.ofDecoder = ofDecoder;
    return settings;
}

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

Training::Training(const TrainingRequest& request, const TrainingFiles& files, TrainedNetworks networks,
                   const TrainingNodes& nodes, MinibatchSource& source, MinibatchSource* cvSource, Log& log)
    : m_request(request), m_options(request.options), m_files(files), m_log(log), m_networks(std::move(networks)),
      m_nodes(nodes), m_source(source), m_cvSource(cvSource), m_tracer(Network(), m_options, log),
      m_evaluator(Network(), m_tracer.AddTo(nodes.Roots()), TrainingEvaluatorOptions(nodes, m_tracer)),
      m_learner(m_evaluator.Parameters(), m_options, Network().GetDataType(), Network().GetDevice(),
                request.trainingSeed, request.fsAdagradColumns != nullptr ? *request.fsAdagradColumns : 0),
      m_dropout(nodes.criterion, request.trainingSeed), m_images(m_evaluator.Plan()),
      m_progress(log, ProgressSettingsOf(m_options, files.Networks() > 1)),
      m_loop(nodes, m_evaluator, source, m_learner, m_progress),
      m_control(m_options.autoAdjust, LearningRateCount(m_options)),
      m_earlyStopping(m_options.earlyStopPatience, m_options.earlyStopMinImprovement),
      m_states(RecurrentStatesOf(m_evaluator.Plan().NodesInOrder()))
{
    log.Print("\nAllocating matrices for forward and/or backward propagation.\n");
    m_images.LimitTemporaryMemory(m_options.maxTempMemSizeInSamplesForCNN, log);
    const std::vector<ComputationNodePtr> toRead = NodesToRead(Network(), m_tracer.AddTo(nodes.Roots()));
    source.BindTo(toRead);
    if (cvSource)
        cvSource->BindTo(toRead);
    for (const MinibatchSource* bound : {&source, cvSource})
        if (bound != nullptr)
            for (const std::string& warning : bound->Warnings())
                log.Warn(warning);
    if (!m_tracer.Nodes().empty())
    {
        m_tracer.UseLabels(source.Streams());
        m_loop.SetTracer(&m_tracer);
    }
    if (m_evaluator.Parameters().empty())
        log.Warn(Concat("no parameter below criterion '", nodes.criterion->Name(),
                        "' is trained; the network will not change"));
}

// An epoch that goes on with a size of minibatches that the list no longer has. A searched size is not meant.
bool Training::HasOtherSizeThanList(size_t epoch) const
{
    return m_begunEpoch && m_minibatchSize != 0 && m_minibatchSize != m_options.minibatchSize[epoch] &&
           !(m_options.autoAdjust.autoAdjustMinibatch && epoch >= m_options.minibatchSize.size());
}

// What rates and momenta per minibatch are meant for: the list's size, of parallel sequences together.
size_t Training::NominalSize(size_t epoch) const
{
    const size_t parallelSequences = m_source.ParallelSequences(epoch);
    const size_t size = HasOtherSizeThanList(epoch) ? m_minibatchSize : m_options.minibatchSize[epoch];
    return NominalMinibatchSize(m_options, size, parallelSequences);
}

// The options of an epoch that goes on may be others than those it began with.
void Training::WarnOfOtherOptionsWithin(size_t epoch) const
{
    if (HasOtherSizeThanList(epoch))
        m_log.Warn(Concat("epoch ", epoch + 1, " was begun with minibatchSize=", m_minibatchSize,
                          " and goes on with it; minibatchSize=", m_options.minibatchSize[epoch],
                          " holds for the epochs after it"));
    const std::optional<size_t>& epochSizeBefore = m_begunEpoch->epochSize;
    if (epochSizeBefore && *epochSizeBefore != m_options.epochSize)
        m_log.Warn(Concat("epoch ", epoch + 1, " was begun with epochSize=", *epochSizeBefore,
                          " and goes on with epochSize=", m_options.epochSize,
                          ": where it ends, and which samples it consists of, is no longer what it was"));
}

// False when the rate is too small to go on.
bool Training::SetLearningRate(size_t epoch)
{
    const size_t nominalSize = NominalSize(epoch);
    if (m_options.autoAdjust.autoAdjustLR == LearningRateSearch::None || epoch < LearningRateCount(m_options))
        m_rate.learningRatePerSample = LearningRatePerSample(m_options, epoch, nominalSize);
    else if (m_begunEpoch)
        ; // the epoch's rate is known
    else if (m_options.autoAdjust.autoAdjustLR == LearningRateSearch::SearchBeforeEpoch)
        SearchRate(epoch);
    else if (m_rate.learningRatePerSample == 0) // neither a list nor a checkpoint said anything
        m_rate.learningRatePerSample = 0.5 / double(m_options.minibatchSize[epoch]); // whatever the parallel sequences
    if (epoch == 0 || m_firstRate == 0)
        m_firstRate = m_rate.learningRatePerSample;
    if (m_rate.learningRatePerSample >= c_minLearningRate)
        return true;
    m_log.Print("Learn Rate Per Sample for Epoch[%zu] = %.8g is less than minLearnRate %.8g. Training complete.\n",
                epoch + 1, m_rate.learningRatePerSample, c_minLearningRate);
    return false;
}

// The size of the list, or one that was searched; that of the begun epoch where one goes on.
void Training::SetMinibatchSize(size_t epoch)
{
    if (m_begunEpoch)
        return;
    if (m_options.autoAdjust.autoAdjustMinibatch && epoch >= m_options.minibatchSize.size())
        SearchSize(epoch);
    else
        m_minibatchSize = m_options.minibatchSize[epoch];
}

EpochSettings Training::SettingsOf(size_t epoch) const
{
    EpochSettings settings;
    settings.epoch = epoch;
    settings.minibatchSize = m_minibatchSize;
    settings.epochSize = m_options.EpochSamples();
    settings.learningRatePerSample = m_rate.learningRatePerSample;
    settings.momentumPerSample = MomentumPerSample(m_options, epoch, NominalSize(epoch));
    return settings;
}

EpochStart Training::StartOf(const EpochSettings& settings) const
{
    EpochStart start;
    start.epoch = settings.epoch;
    start.learningRatePerSample = settings.learningRatePerSample;
    // Of the size that was searched, if one was: that is what minibatches have.
    start.effectiveMomentum = MomentumOfMinibatch(
        settings.momentumPerSample,
        NominalMinibatchSize(m_options, settings.minibatchSize, m_source.ParallelSequences(settings.epoch)));
    start.momentumTimeConstant = MomentumTimeConstant(settings.momentumPerSample);
    start.expectedSamples = m_options.epochSize != 0 ? m_options.epochSize : m_epochSamples;
    if (m_options.autoAdjust.autoAdjustMinibatch && settings.epoch >= m_options.minibatchSize.size())
        start.searchedMinibatchSize = settings.minibatchSize;
    start.parts = {m_options.numSubminibatches, m_options.maxSamplesInRAM};
    return start;
}

EpochResult Training::TrainEpoch(size_t epoch)
{
    EpochSettings settings = SettingsOf(epoch);
    settings.gradientCheckDigits = m_options.gradientCheck ? int(m_options.sigFigs) : 0;
    settings.goesOn = [this, epoch]
    {
        if (StopRequested())
            return false;
        if (IsSaveDue())
            SaveWithin(epoch, InfoWithin());
        return true;
    };
    if (m_begunEpoch)
    {
        settings.from = m_begunEpoch->position;
        settings.beforeFirst = [this] { RestoreDelays(m_begunEpoch->delays); };
    }
    m_savedAt = std::chrono::steady_clock::now();
    m_progress.BeginEpoch(StartOf(settings));
    settings.goesOnFromTrial = std::exchange(m_goesOnFromTrial, false);
    if (settings.goesOnFromTrial)
        m_progress.RepeatTrial();
    if (m_begunEpoch)
    {
        WarnOfOtherOptionsWithin(epoch);
        m_log.Print("Going on behind minibatch %zu of the epoch.\n", m_begunEpoch->point.minibatches);
    }
    EpochResult result = m_loop.Run(settings);
    m_begunEpoch.reset();
    if (m_source.IsAccompanied() && !m_hasLookedForRest && !result.stopped && !result.notFiniteAt)
    {
        m_hasLookedForRest = true;
        if (const std::string rest = m_source.RestOfCompanions(); !rest.empty())
            m_log.Warn(rest + "; what only the encoder has is not used");
    }
    if (result.stopped)
    {
        m_log.ClearProgress();
        SaveWithin(epoch, InfoWithin());
        Stop(Concat("epoch ", epoch + 1, ", after minibatch ", m_savedWithin->minibatches),
             m_files.Model(*m_savedWithin));
    }
    EndEpoch(epoch, result);
    return result;
}

// Takes what the epoch gave into the state, and prints it.
void Training::EndEpoch(size_t epoch, EpochResult& result)
{
    m_samplesSeen += result.averages.samples;
    if (result.notFiniteAt)
    {
        // Going back to an older model is the only way on from here.
        if (!m_control.Adjusts(epoch) || !m_control.MayRollBack())
            FailNotFinite(Concat("epoch ", epoch + 1), m_rate.learningRatePerSample, result);
        m_log.Warn(Concat("the training criterion is not finite in epoch ", epoch + 1, ", minibatch ",
                          *result.notFiniteAt, "; going back to an earlier model"));
        result.averages.criterion = c_notANumber;
    }
    else
        m_epochSamples = result.averages.samples;
    if (m_hasSearched)
        WarnOfLongTrials(epoch);

    Progress::EpochEnd end;
    end.averages = result.averages;
    end.totalSamplesSeen = m_samplesSeen;
    end.learningRatePerSample = m_rate.learningRatePerSample;
    end.seconds = result.seconds;
    end.secondsWaited = result.secondsWaited;
    std::vector<std::string> names;
    for (const ComputationNodePtr& node : m_nodes.evaluations)
        names.push_back(node->Name());
    m_progress.EndEpoch(end, m_nodes.criterion->Name(), names);
    if (const auto names = m_learner.LeftToAdaGrad(); !names.empty() && !std::exchange(m_hasToldOfSparse, true))
        m_log.Print("Sparse gradients are updated by adagrad, not by %s: of %s.\n", m_learner.RuleName(),
                    Join(names, ", ").c_str());
    if (result.worstGradient)
        m_log.Print("Gradient check of epoch %zu: all gradients agree to %zu digits; at worst, %s.\n", epoch + 1,
                    m_options.sigFigs, result.worstGradient->Describe(*m_nodes.criterion).c_str());
}

void Training::Stop(const std::string& where, const std::string& model) const
{
    throw Interrupted(Concat("the training was stopped as asked in ", where, "; ", HowToGoOn(model)));
}

std::string Training::HowToGoOn(const std::string& model) const
{
    if (m_request.makeMode)
        return Concat("run the same command again to go on from '", model, "'");
    // Models that an earlier training left would be taken before this one's.
    const bool isWithin = m_savedWithin && model == m_files.Model(*m_savedWithin);
    const std::string begin = isWithin ? m_files.Model(m_savedWithin->epochsDone) : model;
    std::string inTheWay;
    for (const size_t epochs : m_files.ModelsBehind(std::nullopt))
    {
        if (m_files.Model(epochs) == begin)
            break;
        inTheWay += Concat(inTheWay.empty() ? "'" : ", '", m_files.Model(epochs), "'");
    }
    return Concat("to go on from '", model, "', ",
                  inTheWay.empty() ? "" : Concat("move away ", inTheWay, " of an earlier training and "),
                  "run it again with makeMode=true (with makeMode=false it begins anew)");
}

void Training::FailNotFinite(const std::string& where, double rate, const EpochResult& result)
{
    const size_t minibatch = *result.notFiniteAt;
    // Parameters are as they were then: nothing was updated since.
    std::string first;
    if (!result.wentOn || m_loop.ReadAgain(minibatch))
        first = FindNotFinite(Network(), m_nodes, m_source.Streams());
    Fail(ErrorKind::Model, "the training criterion '", m_nodes.criterion->Name(), "' is not a finite number in ", where,
         ", minibatch ", minibatch, " (learning rate per sample ", rate, ")",
         first.empty() ? "" : "; the first node that is not finite: " + first);
}

CriterionAverages Training::Validate(size_t epoch)
{
    std::vector<ComputationNodePtr> nodes{m_nodes.criterion};
    if (!m_nodes.evaluations.empty())
        nodes.push_back(m_nodes.evaluations.front());
    EvaluationSettings settings;
    settings.minibatchSize = m_options.minibatchSize[epoch];
    settings.numMBsToShowResult = 0;
    settings.stopRequested = m_request.stopRequested;
    settings.tracer = m_tracer.Nodes().empty() ? nullptr : &m_tracer;
    settings.tracedAs = "validation minibatch";
    const InferenceMode inference(m_evaluator);
    const auto validation = EvaluateCriteria(m_evaluator, nodes, *m_cvSource, settings, m_log);
    CriterionAverages averages;
    averages.criterion = validation.nodes[0].average;
    for (size_t i = 1; i < validation.nodes.size(); ++i)
        averages.evaluations.push_back(validation.nodes[i].average);
    m_progress.ShowValidation(averages);
    if (!std::isfinite(averages.criterion))
        m_log.Warn(Concat("the criterion '", m_nodes.criterion->Name(),
                          "' of the validation data is not finite after epoch ", epoch + 1,
                          "; what goes by it, as learning rates and the best model, cannot be relied on"));
    return averages;
}

// Evaluates the cross-validation set. The learning rate's control may look away from it, the best model's choice not.
Training::Decisive Training::FindDecisive(const EpochResult& result, size_t epoch)
{
    CriterionAverages averages = result.averages;
    if (m_cvSource)
    {
        // Stopped here, the training goes on at the end of the epoch; masks are drawn for the validation, too.
        m_samplesSeen -= result.averages.samples;
        const CheckpointInfo info = InfoWithin();
        m_samplesSeen += result.averages.samples;
        try
        {
            averages = Validate(epoch);
        }
        catch (const Interrupted&)
        {
            if (result.notFiniteAt)
                Stop(Concat("epoch ", epoch + 1), m_files.Model(epoch));
            SaveWithin(epoch, info);
            Stop(Concat("the validation after epoch ", epoch + 1), m_files.Model(*m_savedWithin));
        }
    }
    if (result.notFiniteAt)
        return {c_notANumber, c_notANumber};
    const auto valueOf = [this](const CriterionAverages& of)
    {
        return m_options.autoAdjust.useEvalCriterionControlLR && !of.evaluations.empty() ? of.evaluations.front()
                                                                                         : of.criterion;
    };
    const CriterionAverages& forRate = m_options.autoAdjust.useCVSetControlLRIfCVExists ? averages : result.averages;
    // Searches compare it with criteria of trials, with which an error rate has nothing to do.
    const bool isSearched = m_options.autoAdjust.autoAdjustLR == LearningRateSearch::SearchBeforeEpoch;
    return {isSearched ? forRate.criterion : valueOf(forRate), valueOf(averages)};
}

// Loads the model of the last look and, where there is one, its checkpoint.
void Training::RollBack(size_t epoch)
{
    const size_t interval = m_options.autoAdjust.learnRateAdjustInterval;
    const size_t epochsDone = epoch + 1 - interval;
    const std::string path = m_files.Model(epochsDone);
    m_log.Print("Loading (rolling back to) previous model with best training-criterion value: %s.\n", path.c_str());
    ReloadModels(m_networks, m_files, path);
    const RateState now = m_rate;
    const size_t minibatchSize = m_minibatchSize;
    const std::string checkpointPath = m_files.Checkpoint(epochsDone);
    if (epochsDone == 0 || !FileExists(checkpointPath))
    {
        m_learner.Reset();
        if (epochsDone == 0)
            m_samplesSeen = 0;
        else
            m_log.Warn(Concat("the checkpoint '", checkpointPath,
                              "' of the model gone back to is missing (was "
                              "learnRateAdjustInterval or loadBestModel changed?); smoothed gradients begin at 0"));
    }
    else
    {
        Checkpoint checkpoint = LoadCheckpoint(checkpointPath, Network().GetDataType(), Network().GetDevice());
        checkpoint.info.extra.erase("dropoutSeeds"); // masks go on
        for (const char* name : {"bestCriterion", "bestEpoch", "progressCriterion", "progressEpoch"})
            checkpoint.info.extra.erase(name); // and what was seen since is not forgotten
        Restore(std::move(checkpoint), checkpointPath);
        m_rate.reducing = now.reducing;
        // Searches go on from the size of that epoch; a size of the list is the epoch's own, as its checkpoint says.
        if (!m_options.autoAdjust.autoAdjustMinibatch)
            m_minibatchSize = minibatchSize;
    }
    m_rate.averageCriterion = now.averageCriterion;
    m_rate.epochsMissing = now.epochsMissing;
    m_rate.isAverageKnown = now.isAverageKnown;
}

// False when the training is to end.
bool Training::AdjustRate(size_t epoch, double controlValue)
{
    m_control.Observe(m_rate, epoch, controlValue);
    const bool rollsBack = m_control.WantsRollBack(m_rate, epoch);
    if (rollsBack)
        RollBack(epoch);
    switch (m_control.Adjust(m_rate, epoch))
    {
    case RateChange::Stop:
        m_log.Print("Finished training and saved final model\n\n");
        return false;
    case RateChange::Reduced:
        m_log.Print("learnRatePerSample reduced to %.8g\n", m_rate.learningRatePerSample);
        break;
    case RateChange::Increased:
        m_log.Print("learnRatePerSample increased to %.8g\n", m_rate.learningRatePerSample);
        break;
    case RateChange::None:
        break;
    }
    m_control.EndLook(m_rate, epoch, rollsBack);
    if (m_rate.learningRatePerSample < 1e-12)
        m_log.Print("learnRate per sample is reduced to %.8g which is below 1e-12. stop training.\n",
                    m_rate.learningRatePerSample);
    return true;
}

// Keeps the model if it is the best so far. True when nothing became better for too long.
bool Training::StopsEarly(size_t epochsDone, double value)
{
    if (!m_earlyStopping.IsOn())
        return false;
    const std::string path = m_files.BestModel();
    if (m_earlyStopping.Observe(epochsDone, value))
    {
        SaveModels(m_networks, m_files, path);
        m_log.Print("Early stopping: epoch %zu is the best so far (%.8g); its model is '%s'.\n", epochsDone, value,
                    path.c_str());
    }
    return m_earlyStopping.ShouldStop(epochsDone);
}

// The training is over: its model is the best one, not the last.
void Training::TakeBestModel(size_t epochsDone)
{
    const size_t best = m_earlyStopping.BestEpoch();
    if (!m_earlyStopping.IsOn() || best == 0)
        return;
    if (best != epochsDone || m_control.MayRollBack()) // the rate's control may have gone back in that very epoch
    {
        RequireBestModel();
        ReloadModels(m_networks, m_files, m_files.BestModel());
    }
    m_log.Print("Early stopping: the best of %zu epochs was epoch %zu (%.8g); '%s' is its model.\n", epochsDone, best,
                m_earlyStopping.Best(), m_files.FinalModel().c_str());
}

// Before the last epoch. savedEpochs: of which there is a model.
void Training::EndHere(size_t epochsDone, size_t savedEpochs)
{
    TakeBestModel(epochsDone);
    SaveModels(m_networks, m_files, m_files.FinalModel());
    RemoveWithin(); // of an epoch behind the last one that was saved
    RemoveObsolete(m_files, m_options, savedEpochs, true);
}

void Training::Run(size_t firstEpoch)
{
    if (m_earlyStopping.IsOn() && m_earlyStopping.BestEpoch() > 0)
        RequireBestModel();
    // It was killed between its last epoch and the final model.
    if (!m_begunEpoch && m_earlyStopping.BestEpoch() > 0 && m_earlyStopping.ShouldStop(firstEpoch))
        return EndHere(firstEpoch, firstEpoch);
    for (size_t epoch = firstEpoch; epoch < m_options.maxEpochs; ++epoch)
    {
        m_dropout.SetRate(m_options.dropoutRate[epoch], m_log);
        m_images.SetTimeConstants(m_options.batchNormalizationTimeConstant[epoch],
                                  m_options.batchNormalizationBlendTimeConstant[epoch], m_log);
        if (StopRequested())
            Stop(Concat("front of epoch ", epoch + 1),
                 m_savedWithin ? m_files.Model(*m_savedWithin) : m_files.Model(epoch));
        m_savedAt = std::chrono::steady_clock::now();
        if (!SetLearningRate(epoch))
        {
            // A list that ends so is taken for a training that is not over yet.
            if (m_options.autoAdjust.autoAdjustLR != LearningRateSearch::None)
                return EndHere(epoch, epoch);
            m_log.Warn(Concat("a rate of the list ends the training before epoch ", epoch + 1, " of ",
                              m_options.maxEpochs, ": '", m_files.Model(epoch), "' is the last model; a final one, '",
                              m_files.FinalModel(), "', is not written"));
            return RemoveObsolete(m_files, m_options, epoch, true);
        }
        SetMinibatchSize(epoch);
        ForgetTrials(0);
        EpochReport report;
        report.learningRatePerSample = m_rate.learningRatePerSample;
        const EpochResult result = TrainEpoch(epoch);
        const Decisive decisive = FindDecisive(result, epoch);
        const bool stops = StopsEarly(epoch + 1, decisive.forBest);
        if (!AdjustRate(epoch, decisive.forRate))
            return EndHere(epoch + 1, epoch);
        Save(epoch + 1);
        if (m_request.epochDone)
        {
            report.epoch = epoch;
            report.criterion = result.averages.criterion;
            report.evaluations = result.averages.evaluations;
            report.samples = result.averages.samples;
            m_request.epochDone(report);
        }
        if (stops && epoch + 1 < m_options.maxEpochs)
            return EndHere(epoch + 1, epoch + 1);
    }
}

} // namespace cntk
