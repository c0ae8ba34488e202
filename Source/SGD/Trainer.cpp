// The epochs of a training and what happens between them.
#include "SGD/Trainer.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "ComputationNetwork/ModelFile.h"
#include "SGD/DropoutSchedule.h"
#include "SGD/EarlyStopping.h"
#include "SGD/EpochLoop.h"
#include "SGD/Evaluation.h"
#include "SGD/ImageSettings.h"
#include "SGD/LearningRateControl.h"
#include "SGD/Precompute.h"
#include "SGD/ResumePoint.h"
#include "SGD/Schedules.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>

namespace cntk
{

namespace
{

constexpr double c_notANumber = std::numeric_limits<double>::quiet_NaN();

EvaluatorOptions TrainingEvaluatorOptions(const TrainingNodes& nodes)
{
    EvaluatorOptions options;
    options.training = true;
    options.backwardRoot = nodes.criterion;
    return options;
}

ProgressSettings ProgressSettingsOf(const SgdOptions& options)
{
    ProgressSettings settings;
    settings.traceLevel = options.traceLevel;
    settings.numMBsToShowResult = options.numMBsToShowResult;
    settings.firstMBsToShowResult = options.firstMBsToShowResult;
    settings.maxEpochs = options.maxEpochs;
    return settings;
}

void PrintNodes(Log& log, const char* title, const std::vector<ComputationNodePtr>& nodes)
{
    log.Print("\n%s criterion node(s):\n", title);
    for (const ComputationNodePtr& node : nodes)
        log.Print("\t%s = %s\n", node->Name().c_str(), node->TypeName().c_str());
    if (nodes.empty())
        log.Print("\t(none)\n");
}

void RemoveObsolete(const TrainingFiles& files, const SgdOptions& options, size_t epochsDone, bool isOver)
{
    if (options.keepCheckPointFiles)
        return;
    const LearningRateControl control(options.autoAdjust, LearningRateCount(options));
    const size_t interval = control.MayRollBack() ? options.autoAdjust.learnRateAdjustInterval : 1;
    for (const std::string& obsolete : files.ObsoleteCheckpoints(epochsDone, interval, isOver))
        RemoveFile(obsolete);
}

// What a training that was killed left behind. A folder that cannot be written is no matter here.
void CleanUp(const TrainingFiles& files, const SgdOptions& options, std::optional<size_t> newest, Log& log)
{
    try
    {
        for (const std::string& stale : files.StaleTemporaries())
            RemoveFile(stale);
        if (newest)
            RemoveObsolete(files, options, *newest, *newest == options.maxEpochs);
    }
    catch (const Error& error)
    {
        log.Warn(error.Message());
    }
}

// A training whose network stands: state and parts of the loop over epochs.
class Training
{
public:
    Training(const TrainingRequest& request, const TrainingFiles& files, ComputationNetwork& network,
             const TrainingNodes& nodes, MinibatchSource& source, MinibatchSource* cvSource, Log& log);

    void Restore(Checkpoint checkpoint, const std::string& path);
    void Run(size_t firstEpoch);

private:
    bool SetLearningRate(size_t epoch);
    EpochResult TrainEpoch(size_t epoch);
    [[noreturn]] void FailNotFinite(size_t epoch, size_t minibatch);
    double ControlValue(const EpochResult& result, size_t epoch);
    bool RollBack(size_t epoch);
    bool AdjustRate(size_t epoch, double controlValue);
    void Save(size_t epochsDone);
    bool StopsEarly(size_t epochsDone, double controlValue);
    void TakeBestModel(size_t epochsDone);

    const TrainingRequest& m_request;
    const SgdOptions& m_options;
    const TrainingFiles& m_files;
    Log& m_log;
    ComputationNetwork& m_network;
    const TrainingNodes& m_nodes;
    MinibatchSource& m_source;
    MinibatchSource* m_cvSource;
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
};

Training::Training(const TrainingRequest& request, const TrainingFiles& files, ComputationNetwork& network,
                   const TrainingNodes& nodes, MinibatchSource& source, MinibatchSource* cvSource, Log& log)
    : m_request(request), m_options(request.options), m_files(files), m_log(log), m_network(network), m_nodes(nodes),
      m_source(source), m_cvSource(cvSource), m_evaluator(network, nodes.Roots(), TrainingEvaluatorOptions(nodes)),
      m_learner(m_evaluator.Parameters(), m_options, network.GetDataType(), network.GetDevice()),
      m_dropout(m_evaluator.Plan(), nodes.criterion), m_images(m_evaluator.Plan()),
      m_progress(log, ProgressSettingsOf(m_options)), m_loop(nodes, m_evaluator, source, m_learner, m_progress),
      m_control(m_options.autoAdjust, LearningRateCount(m_options)),
      m_earlyStopping(m_options.earlyStopPatience, m_options.earlyStopMinImprovement)
{
    log.Print("\nAllocating matrices for forward and/or backward propagation.\n");
    m_images.LimitTemporaryMemory(m_options.maxTempMemSizeInSamplesForCNN, log);
    source.BindTo(nodes.Roots());
    if (cvSource)
        cvSource->BindTo(nodes.Roots());
    if (m_evaluator.Parameters().empty())
        log.Warn(Concat("no parameter below criterion '", nodes.criterion->Name(),
                        "' is trained; the network will not change"));
}

void Training::Restore(Checkpoint checkpoint, const std::string& path)
{
    m_learner.Restore(std::move(checkpoint.smoothedGradients), path);
    const CheckpointInfo& info = checkpoint.info;
    m_learner.RestoreExtra(info.extra);
    m_samplesSeen = info.samplesSeen;
    m_minibatchSize = info.minibatchSize;
    m_rate.learningRatePerSample = info.learningRatePerSample;
    m_rate.previousCriterion = info.previousCriterion;
    m_rate.averageCriterion = NumberOf(info.extra, "averageCriterion", info.previousCriterion);
    m_rate.reducing = NumberOf(info.extra, "learnRateReduced", 0) != 0;
    m_epochSamples = size_t(NumberOf(info.extra, "epochSamples", double(m_epochSamples)));
    m_dropout.RestoreExtra(info.extra);
    m_earlyStopping.RestoreExtra(info.extra);
}

// False when the rate is too small to go on.
bool Training::SetLearningRate(size_t epoch)
{
    const size_t nominalSize = NominalMinibatchSize(m_options, epoch, m_source.ParallelSequences());
    if (m_options.autoAdjust.autoAdjustLR == LearningRateSearch::None || epoch < LearningRateCount(m_options))
        m_rate.learningRatePerSample = LearningRatePerSample(m_options, epoch, nominalSize);
    else if (m_rate.learningRatePerSample == 0) // neither a list nor a checkpoint said anything
        m_rate.learningRatePerSample = 0.5 / double(nominalSize);
    if (m_rate.learningRatePerSample >= c_minLearningRate)
        return true;
    m_log.Print("Learn Rate Per Sample for Epoch[%zu] = %.8g is less than minLearnRate %.8g. Training complete.\n",
                epoch + 1, m_rate.learningRatePerSample, c_minLearningRate);
    if (m_options.autoAdjust.autoAdjustLR != LearningRateSearch::None)
        SaveModel(m_network, m_files.FinalModel());
    return false;
}

EpochResult Training::TrainEpoch(size_t epoch)
{
    EpochSettings settings;
    settings.epoch = epoch;
    settings.minibatchSize = m_minibatchSize = m_options.minibatchSize[epoch];
    settings.epochSize = m_options.EpochSamples();
    settings.learningRatePerSample = m_rate.learningRatePerSample;
    const size_t nominalSize = NominalMinibatchSize(m_options, epoch, m_source.ParallelSequences());
    settings.momentumPerSample = MomentumPerSample(m_options, epoch, nominalSize);
    settings.gradientCheckDigits = m_options.gradientCheck ? int(m_options.sigFigs) : 0;

    EpochStart start;
    start.epoch = epoch;
    start.learningRatePerSample = settings.learningRatePerSample;
    start.effectiveMomentum = MomentumOfMinibatch(settings.momentumPerSample, nominalSize);
    start.momentumTimeConstant = MomentumTimeConstant(settings.momentumPerSample);
    start.expectedSamples = m_options.epochSize != 0 ? m_options.epochSize : m_epochSamples;
    m_progress.BeginEpoch(start);
    EpochResult result = m_loop.Run(settings);

    m_samplesSeen += result.averages.samples;
    if (result.notFiniteAt)
    {
        // Going back to an older model is the only way on from here.
        const size_t interval = m_options.autoAdjust.learnRateAdjustInterval;
        if (!m_control.Adjusts(epoch) || !m_control.MayRollBack() || epoch + 1 < interval)
            FailNotFinite(epoch, *result.notFiniteAt);
        m_log.Warn(Concat("the training criterion is not finite in epoch ", epoch + 1, ", minibatch ",
                          *result.notFiniteAt, "; going back to an earlier model"));
        result.averages.criterion = c_notANumber;
    }
    else
        m_epochSamples = result.averages.samples;

    Progress::EpochEnd end;
    end.averages = result.averages;
    end.totalSamplesSeen = m_samplesSeen;
    end.learningRatePerSample = settings.learningRatePerSample;
    end.seconds = result.seconds;
    end.secondsWaited = result.secondsWaited;
    std::vector<std::string> names;
    for (const ComputationNodePtr& node : m_nodes.evaluations)
        names.push_back(node->Name());
    m_progress.EndEpoch(end, m_nodes.criterion->Name(), names);
    if (result.worstGradient)
        m_log.Print("Gradient check of epoch %zu: all gradients agree to %zu digits; at worst, %s.\n", epoch + 1,
                    m_options.sigFigs, result.worstGradient->Describe(*m_nodes.criterion).c_str());
    return result;
}

void Training::FailNotFinite(size_t epoch, size_t minibatch)
{
    const std::string first = FindNotFinite(m_network, m_nodes);
    Fail(ErrorKind::Model, "the training criterion '", m_nodes.criterion->Name(), "' is not a finite number in epoch ",
         epoch + 1, ", minibatch ", minibatch, " (learning rate per sample ", m_rate.learningRatePerSample, ")",
         first.empty() ? "" : "; the first node that is not finite: " + first);
}

// Evaluates the cross-validation set; what AdjustAfterEpoch looks at.
double Training::ControlValue(const EpochResult& result, size_t epoch)
{
    CriterionAverages averages = result.averages;
    if (m_cvSource)
    {
        std::vector<ComputationNodePtr> nodes{m_nodes.criterion};
        if (!m_nodes.evaluations.empty())
            nodes.push_back(m_nodes.evaluations.front());
        EvaluationSettings settings;
        settings.minibatchSize = m_options.minibatchSize[epoch];
        settings.numMBsToShowResult = 0;
        const auto validation = EvaluateCriteria(m_evaluator, nodes, *m_cvSource, settings, m_log);
        CriterionAverages cv;
        cv.criterion = validation.nodes[0].average;
        for (size_t i = 1; i < validation.nodes.size(); ++i)
            cv.evaluations.push_back(validation.nodes[i].average);
        m_progress.ShowValidation(cv);
        if (m_options.autoAdjust.useCVSetControlLRIfCVExists)
            averages = cv;
    }
    if (result.notFiniteAt)
        return c_notANumber;
    return m_options.autoAdjust.useEvalCriterionControlLR && !averages.evaluations.empty()
               ? averages.evaluations.front()
               : averages.criterion;
}

// Loads the model of the last look and, where there is one, its checkpoint.
bool Training::RollBack(size_t epoch)
{
    const size_t interval = m_options.autoAdjust.learnRateAdjustInterval;
    const size_t epochsDone = epoch + 1 - interval;
    const std::string path = m_files.Model(epochsDone);
    m_log.Print("Loading (rolling back to) previous model with best training-criterion value: %s.\n", path.c_str());
    ReloadParameters(m_network, path);
    const RateState now = m_rate;
    const std::string checkpointPath = m_files.Checkpoint(epochsDone);
    if (epochsDone == 0 || !FileExists(checkpointPath))
    {
        m_learner.Reset();
        if (epochsDone == 0)
            m_samplesSeen = 0;
    }
    else
    {
        Checkpoint checkpoint = LoadCheckpoint(checkpointPath, m_network.GetDataType(), m_network.GetDevice());
        checkpoint.info.extra.erase("dropoutSeeds"); // masks go on
        for (const char* name : {"bestCriterion", "bestEpoch", "progressCriterion", "progressEpoch"})
            checkpoint.info.extra.erase(name); // and what was seen since is not forgotten
        Restore(std::move(checkpoint), checkpointPath);
        m_rate.reducing = now.reducing;
    }
    m_rate.averageCriterion = now.averageCriterion;
    return true;
}

// False when the training is to end.
bool Training::AdjustRate(size_t epoch, double controlValue)
{
    m_control.Observe(m_rate, epoch, controlValue);
    const bool rolledBack = m_control.WantsRollBack(m_rate, epoch) && RollBack(epoch);
    switch (m_control.Adjust(m_rate, epoch))
    {
    case RateChange::Stop:
        m_log.Print("Finished training and saved final model\n\n");
        SaveModel(m_network, m_files.FinalModel());
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
    m_control.EndLook(m_rate, epoch, rolledBack);
    if (m_rate.learningRatePerSample < 1e-12)
        m_log.Print("learnRate per sample is reduced to %.8g which is below 1e-12. stop training.\n",
                    m_rate.learningRatePerSample);
    return true;
}

// Checkpoint, then model, then the checkpoint before the last goes: even with the newest files damaged a pair is whole.
void Training::Save(size_t epochsDone)
{
    const std::string path = m_files.Model(epochsDone);
    m_log.Print("SGD: Saving checkpoint model '%s'\n", path.c_str());
    CheckpointInfo info;
    info.samplesSeen = m_samplesSeen;
    info.learningRatePerSample = m_rate.learningRatePerSample;
    info.previousCriterion = m_rate.previousCriterion;
    info.minibatchSize = m_minibatchSize;
    info.extra["averageCriterion"] = ExactText(m_rate.averageCriterion);
    info.extra["learnRateReduced"] = m_rate.reducing ? "1" : "0";
    info.extra["epochSamples"] = std::to_string(m_epochSamples);
    m_learner.SaveExtra(info.extra);
    m_dropout.SaveExtra(info.extra);
    m_earlyStopping.SaveExtra(info.extra);
    SaveCheckpoint(m_files.Checkpoint(epochsDone), info, m_learner.States());
    SaveModel(m_network, path);
    RemoveObsolete(m_files, m_options, epochsDone, epochsDone == m_options.maxEpochs);
}

// Keeps the model if it is the best so far. True when nothing became better for too long.
bool Training::StopsEarly(size_t epochsDone, double controlValue)
{
    if (!m_earlyStopping.IsOn())
        return false;
    const std::string path = m_files.BestModel();
    if (m_earlyStopping.Observe(epochsDone, controlValue))
    {
        SaveModel(m_network, path);
        m_log.Print("Early stopping: epoch %zu is the best so far (%.8g); its model is '%s'.\n", epochsDone,
                    controlValue, path.c_str());
    }
    return m_earlyStopping.ShouldStop(epochsDone);
}

// The training is over: its model is the best one, not the last.
void Training::TakeBestModel(size_t epochsDone)
{
    const size_t best = m_earlyStopping.BestEpoch();
    if (!m_earlyStopping.IsOn() || best == 0)
        return;
    m_log.Print("Early stopping: the best of %zu epochs was epoch %zu (%.8g); '%s' is its model.\n", epochsDone, best,
                m_earlyStopping.Best(), m_files.FinalModel().c_str());
    if (best == epochsDone && epochsDone == m_options.maxEpochs)
        return; // saved already
    ReloadParameters(m_network, m_files.BestModel());
    SaveModel(m_network, m_files.FinalModel());
}

void Training::Run(size_t firstEpoch)
{
    for (size_t epoch = firstEpoch; epoch < m_options.maxEpochs; ++epoch)
    {
        m_dropout.SetRate(m_options.dropoutRate[epoch], m_log);
        m_images.SetTimeConstants(m_options.batchNormalizationTimeConstant[epoch],
                                  m_options.batchNormalizationBlendTimeConstant[epoch], m_log);
        if (!SetLearningRate(epoch))
            return RemoveObsolete(m_files, m_options, epoch, true);
        EpochReport report;
        report.learningRatePerSample = m_rate.learningRatePerSample;
        const EpochResult result = TrainEpoch(epoch);
        const double controlValue = ControlValue(result, epoch);
        const bool stops = StopsEarly(epoch + 1, controlValue);
        if (!AdjustRate(epoch, controlValue))
        {
            TakeBestModel(epoch + 1);
            return RemoveObsolete(m_files, m_options, epoch, true);
        }
        Save(epoch + 1);
        if (stops || epoch + 1 == m_options.maxEpochs)
            TakeBestModel(epoch + 1);
        if (m_request.epochDone)
        {
            report.epoch = epoch;
            report.criterion = result.averages.criterion;
            report.evaluations = result.averages.evaluations;
            report.samples = result.averages.samples;
            m_request.epochDone(report);
        }
        if (stops)
            return RemoveObsolete(m_files, m_options, epoch + 1, true);
    }
}

} // namespace

void Train(const TrainingRequest& request, Log& log)
{
    const SgdOptions& options = request.options;
    if (const auto problem = FindProblem(options, request.dataType))
        Fail(ErrorKind::Config, "block 'SGD': ", problem->message);
    const std::string& modelPath = request.modelPath.empty() ? options.modelPath : request.modelPath;
    if (modelPath.empty())
        Fail(ErrorKind::Config, "modelPath is missing; expected the name of the model to write, in the SGD block or "
                                "around it");

    const TrainingFiles files(ResolveOutputPath(modelPath), options.maxEpochs);
    std::error_code ignored;
    if (std::filesystem::is_directory(files.FinalModel(), ignored))
        RequireWritable(files.FinalModel());
    const auto newest = request.makeMode ? files.FindResumePoint() : std::nullopt;
    if (newest == options.maxEpochs)
    {
        CleanUp(files, options, newest, log);
        log.Print("Final model exists: %s\nNo further training is necessary.\n", files.FinalModel().c_str());
        return;
    }
    RequireWritable(files.FinalModel());
    ResumePoint start;
    if (newest)
        start = LoadResumePoint(files, *newest, request.dataType, request.device,
                                request.registry ? *request.registry : NodeRegistry::Standard(), log);
    const bool isLoaded = start.network != nullptr;
    CleanUp(files, options, isLoaded ? std::optional<size_t>(start.epochsDone) : std::nullopt, log);
    if (!isLoaded)
        start.network = request.buildNetwork();
    else if (request.buildForComparison)
        WarnOfOtherNetwork(*start.network, files.Model(start.epochsDone), request.buildForComparison, log);
    ComputationNetwork& network = *start.network;
    if (request.networkReady)
        request.networkReady(network, isLoaded);

    const TrainingNodes nodes =
        SelectTrainingNodes(network, options.trainCriterionNodeName, options.evalCriterionNodeName);
    PrintNodes(log, "Training", {nodes.criterion});
    PrintNodes(log, "Evaluation", nodes.evaluations);

    const auto source = request.openReader();
    const auto cvSource = request.openCvReader ? request.openCvReader() : nullptr;
    const bool precomputed =
        Precompute(network, *source, options.minibatchSize[0],
                   options.useAllDataForPreComputedNode ? c_wholeDataSet : options.EpochSamples(), log);
    if (precomputed || !isLoaded)
        SaveModel(network, files.Model(start.epochsDone));

    Training training(request, files, network, nodes, *source, cvSource.get(), log);
    if (start.checkpoint)
        training.Restore(std::move(*start.checkpoint), files.Checkpoint(start.epochsDone));
    training.Run(start.epochsDone);
}

} // namespace cntk
