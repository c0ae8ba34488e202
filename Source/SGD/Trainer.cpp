// Where a training begins: options, files, network, reader.
#include "SGD/Trainer.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileLock.h"
#include "Common/Interruption.h"
#include "Common/Log.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "SGD/Files/ResumePoint.h"
#include "SGD/Files/TrainingCheckpoints.h"
#include "SGD/Parallel/WorkerAgreement.h"
#include "SGD/Precompute.h"
#include "SGD/Training.h"

#include <filesystem>
#include <system_error>

namespace cntk
{

namespace
{

constexpr uintmax_t c_largestComparedFile = 1'000'000'000; // bytes: reading more takes longer than a second

void PrintNodes(Log& log, const char* title, const std::vector<ComputationNodePtr>& nodes)
{
    log.Print("\n%s criterion node(s):\n", title);
    for (const ComputationNodePtr& node : nodes)
        log.Print("\t%s = %s\n", node->Name().c_str(), node->TypeName().c_str());
    if (nodes.empty())
        log.Print("\t(none)\n");
}

// Points within epochs but the one from which this training goes on: those that it is past go, others may be somebody's
// work.
void ClearPoints(const TrainingFiles& files, bool makeMode, std::optional<size_t> newest,
                 const std::optional<WithinEpochPoint>& within, Log& log)
{
    for (const WithinEpochPoint& point : files.WithinEpochPoints())
    {
        if (point == within)
            continue;
        if (files.IsOutlived(point, newest, within))
        {
            RemovePoint(files, point);
            continue;
        }
        std::string why = makeMode ? files.WhyUnusable(point) : "makeMode=false begins anew";
        if (!why.empty() && makeMode)
            why = "it " + why;
        if (why.empty() && newest && files.Model(*newest) == files.FinalModel())
            why = Concat("the final model '", files.FinalModel(), "' is there");
        else if (why.empty())
            why = newest ? Concat("it begins with '", within ? files.Model(*within) : files.Model(*newest), "'")
                         : "it begins anew";
        const std::string path = files.Model(point);
        log.Warn(Concat("the training does not go on from '", path, "': ", why, "; the model is kept as '",
                        files.MoveAside(point), "', and so is its checkpoint"));
    }
}

// What a training that was killed left behind. A folder that cannot be written is no matter here.
void CleanUp(const TrainingFiles& files, const SgdOptions& options, bool makeMode, std::optional<size_t> newest,
             const std::optional<WithinEpochPoint>& within, Log& log)
{
    files.WaitForWorkers(); // who have read what is there
    if (!files.AreWrittenHere())
        return files.WaitForWorkers();
    try
    {
        for (const std::string& stale : files.StaleTemporaries())
            RemoveFile(stale);
        ClearPoints(files, makeMode, newest, within, log);
        const bool isOver = newest == options.maxEpochs;
        if (isOver)
            newest = files.NewestCheckpoint(); // of a training that may have ended early
        if (newest)
            RemoveObsolete(files, options, *newest, isOver);
    }
    catch (const Error& error)
    {
        log.Warn(error.Message());
    }
    files.WaitForWorkers();
}

TrainedNetworks NetworksOf(const ResumePoint& start)
{
    TrainedNetworks networks;
    for (const auto& encoder : start.encoders)
        networks.push_back(encoder.get());
    networks.push_back(start.network.get());
    return networks;
}

// Of each encoder the nodes that the next network takes values from.
using EncoderRoots = std::vector<std::vector<ComputationNodePtr>>;

// Each network's values come from the one before it from now on.
EncoderRoots PairAll(const TrainingRequest& request, const TrainedNetworks& networks)
{
    EncoderRoots roots;
    for (size_t i = 0; i + 1 < networks.size(); ++i)
    {
        roots.push_back(request.pairNetworks(*networks[i], *networks[i + 1]));
        networks[i + 1]->Validate();
    }
    return roots;
}

// The readers of the encoders come along with the trained network's; without those of statistics. name: the member
// that has a reader's, readerName or cvReaderName.
void AddSources(const TrainingRequest& request, const EncoderRoots& encoderRoots, MinibatchSource& source,
                std::vector<std::unique_ptr<MinibatchSource>> others, std::string EncoderRequest::*name,
                const std::string& leaderName)
{
    for (size_t i = 0; i < others.size(); ++i)
        source.AddCompanion(std::move(others[i]), encoderRoots[i], request.encoders[i].*name, leaderName);
}

// What a training that is finished has left, so that those behind it do the same as if it had run just now.
void PassOnColumns(const TrainingRequest& request, const std::string& checkpointPath)
{
    if (request.fsAdagradColumns == nullptr || request.options.gradUpdateType != GradientUpdateType::FSAdaGrad ||
        request.options.useAdagrad || !FileExists(checkpointPath))
        return;
    try
    {
        const Checkpoint checkpoint = LoadCheckpoint(checkpointPath, request.dataType, *request.device);
        *request.fsAdagradColumns = Learner::FsAdagradColumnsIn(checkpoint.info.extra, *request.fsAdagradColumns);
    }
    catch (const Error&)
    {
        // Nothing else of this checkpoint is wanted, since its training is over: a damaged one is as good as none.
    }
}

void CheckRequest(const TrainingRequest& request)
{
    if (const auto problem = FindProblem(request.options, request.dataType))
        Fail(ErrorKind::Config, "block 'SGD': ", problem->message);
    if (request.workers != nullptr && !request.encoders.empty())
        Fail(ErrorKind::Config,
             "encoders and decoders are trained by one process; run them without parallelTrain=true");
    if (AdaptsByKL(request.options) && !request.openReference)
        Fail(ErrorKind::Config, "adaptationRegType=KL needs an original model to stay near; expected action=adapt with "
                                "originalModelFileName and refNodeName");
}

const std::string& ModelPathOf(const TrainingRequest& request)
{
    const std::string& modelPath = request.modelPath.empty() ? request.options.modelPath : request.modelPath;
    if (modelPath.empty())
        Fail(ErrorKind::Config, "modelPath is missing; expected the name of the model to write, in the SGD block or "
                                "around it");
    return modelPath;
}

// Reports what the config says otherwise than the training that is finished.
void CompareWithFinished(const TrainingFiles& files, const TrainingRequest& request, Log& log)
{
    std::error_code error;
    const uintmax_t bytes = std::filesystem::file_size(ResolveInputPath(files.FinalModel()), error);
    const bool isSmall = !error && bytes <= c_largestComparedFile;
    try
    {
        if (request.buildForComparison && isSmall)
            WarnOfOtherFinished(*LoadModel(files.FinalModel(), request.dataType, request.device,
                                           request.registry ? *request.registry : NodeRegistry::Standard()),
                                files.FinalModel(), request.buildForComparison, log);
        const std::string checkpoint = files.Checkpoint(request.options.maxEpochs);
        if (FileExists(checkpoint) && isSmall)
            WarnOfOtherFinishedSeed(LoadCheckpoint(checkpoint, request.dataType, *request.device), checkpoint,
                                    request.trainingSeed, log);
    }
    catch (const Error&)
    {
        // Nothing is trained: commands that read a damaged model report it.
    }
    log.Print("The final model has no record of its data and SGD options: if they have changed, train again with "
              "makeMode=false or another modelPath.\n");
}

// Files that a training which is over has no use for, and what it passes on.
void EndFinished(const TrainingRequest& request, const TrainingFiles& files, const std::string& lockPath, Log& log)
{
    const SgdOptions& options = request.options;
    FileLock lock;
    if (files.AreWrittenHere() && FileExists(lockPath))
        lock.Take(lockPath); // left by a training that was killed; goes with the lock
    CleanUp(files, options, request.makeMode, options.maxEpochs, std::nullopt, log);
    PassOnColumns(request, files.Checkpoint(options.maxEpochs));
    log.Print("Final model exists: %s\nNo further training is necessary.\n", files.FinalModel().c_str());
    WarnOfNewerStart(files, options.maxEpochs, request.originalModel, log);
    if (files.AreWrittenHere())
        CompareWithFinished(files, request, log);
    TellOfFewerEpochs(files, request.dataType, *request.device, log);
}

// The note that a training leaves in its lock file after it has written the start model. If the training is killed, the
// file stays, and the next run knows that this start model is the training's own. The user's start models, and those of
// edit commands, have no such note.
std::string StartNote(const TrainingFiles& files)
{
    return Concat("start model of ", files.StampOf(0));
}

bool IsStartOfKilledTraining(const TrainingFiles& files, const std::string& lockPath)
{
    return files.WithinEpochPoints().empty() && FileLock::NoteIn(lockPath) == StartNote(files);
}

// A start model that a training wrote is of no use if the training saved nothing else: the next run may have another
// description.
void RemoveStart(const TrainingFiles& files, Log& log)
{
    if (!files.AreWrittenHere() || !files.ModelsBehind(0).empty() || !files.WithinEpochPoints().empty())
        return;
    try
    {
        for (size_t network = 0; network < files.Networks(); ++network)
            RemoveFile(files.OfNetwork(network, files.Model(0)));
    }
    catch (const Error& error)
    {
        log.Warn(error.Message());
        return;
    }
    log.Print("The training saved only its start model '%s', which is removed: the next training builds the network "
              "anew.\n",
              files.Model(0).c_str());
}

// newest: the epochs of the newest model, if one is gone on from. The network is null where none can be.
ResumePoint LoadStart(const TrainingRequest& request, const TrainingFiles& files, std::optional<size_t> newest,
                      Log& log)
{
    WarnOfPassedOver(files, request.makeMode, newest, log);
    ResumePoint start;
    if (newest)
    {
        WarnOfNewerStart(files, *newest, request.originalModel, log);
        TellOfLongerTraining(files, *newest, log);
        start = LoadResumePoint(files, *newest, request.dataType, request.device,
                                request.registry ? *request.registry : NodeRegistry::Standard(), log);
    }
    CleanUp(files, request.options, request.makeMode,
            start.network ? std::optional<size_t>(start.epochsDone) : std::nullopt,
            start.within ? start.within : start.inTrial, log);
    return start;
}

// All must go on from the same epoch, or their ways part.
void RequireSameStart(Workers& workers, std::optional<size_t> newest, const std::string& modelPath)
{
    const std::vector<double> all = workers.Gather(newest ? double(*newest) : -1.0);
    const auto text = [](double epochs) { return epochs < 0 ? std::string("none") : Concat("that of epoch ", epochs); };
    for (size_t i = 0; i < all.size(); ++i)
        if (all[i] != all[0])
            Fail(ErrorKind::Model, "of the models '", modelPath, ".*' worker 0 sees ", text(all[0]), ", worker ", i,
                 " ", text(all[i]), "; all workers need the same files, on a disk that they share");
}

void BuildNetworks(const TrainingRequest& request, ResumePoint& start)
{
    start.encoders.clear();
    for (const EncoderRequest& encoder : request.encoders)
        start.encoders.push_back(encoder.buildNetwork());
    start.network = request.buildNetwork();
}

TrainingNodes SelectNodes(const ComputationNetwork& network, const SgdOptions& options, Log& log)
{
    TrainingNodes nodes = SelectTrainingNodes(network, options.trainCriterionNodeName, options.evalCriterionNodeName);
    NodeTracer(network, options, log); // an unknown name is told before data are read
    PrintNodes(log, "Training", {nodes.criterion});
    WarnOfCriteria(network, *nodes.criterion, options.trainCriterionNodeName, log);
    PrintNodes(log, "Evaluation", nodes.evaluations);
    return nodes;
}

struct TrainingSources
{
    std::unique_ptr<MinibatchSource> training;
    std::unique_ptr<MinibatchSource> crossValidation; // null: none
    bool havePrecomputed = false;                     // nodes of the networks got their values of the data
};

// Opens all data, and makes the pass over them that nodes like Mean need before training.
TrainingSources OpenSources(const TrainingRequest& request, const TrainedNetworks& networks,
                            const EncoderRoots& encoderRoots, Log& log)
{
    const SgdOptions& options = request.options;
    ComputationNetwork& network = *networks.back();
    const size_t samples = options.useAllDataForPreComputedNode ? c_wholeDataSet : options.EpochSamples();
    const auto precompute = [&](ComputationNetwork& of, MinibatchSource& data)
    {
        const bool any = Precompute(of, data, options.minibatchSize[0], samples, log, request.stopRequested);
        if (any && request.workers != nullptr)
            AnyWorkerStops(*request.workers, WorkerState::HasEnded);
        return any;
    };

    TrainingSources sources;
    sources.training = request.openReader();
    if (request.openCvReader)
        sources.crossValidation = request.openCvReader();
    sources.havePrecomputed = precompute(network, *sources.training);
    std::vector<std::unique_ptr<MinibatchSource>> others, cvOthers;
    for (size_t i = 0; i < request.encoders.size(); ++i)
    {
        others.push_back(request.encoders[i].openReader());
        if (sources.crossValidation)
            cvOthers.push_back(request.encoders[i].openCvReader());
        sources.havePrecomputed |= precompute(*networks[i], *others[i]);
    }
    AddSources(request, encoderRoots, *sources.training, std::move(others), &EncoderRequest::readerName,
               request.readerName);
    if (sources.crossValidation)
        AddSources(request, encoderRoots, *sources.crossValidation, std::move(cvOthers), &EncoderRequest::cvReaderName,
                   request.cvReaderName);

    if (AdaptsByKL(options))
        sources.training->MixLabels(std::make_unique<LabelMixer>(request.openReference(), request.referenceNode,
                                                                 network, sources.training->Streams(),
                                                                 options.adaptationRegWeight));
    sources.training->CutMinibatches({options.numSubminibatches, options.maxSamplesInRAM});
    return sources;
}

void Restore(Training& training, ResumePoint& start, const TrainingFiles& files, const TrainingRequest& request,
             Log& log)
{
    if (start.checkpoint)
    {
        const std::string path = start.within ? files.Checkpoint(*start.within) : files.Checkpoint(start.epochsDone);
        WarnOfOtherSeed(*start.checkpoint, path, request.trainingSeed, log);
        WarnOfOtherListedRate(*start.checkpoint, path, request.options, start.epochsDone, log);
        if (start.within)
            training.GoOnWithin(*start.within, start.checkpoint->info);
        training.Restore(std::move(*start.checkpoint), path);
    }
    if (start.inTrial)
        training.GoOnInTrial(*start.inTrial, std::move(*start.trialCheckpoint));
}

void RunToEnd(Training& training, size_t epochsDone, bool isLoaded, const TrainingFiles& files, Log& log)
{
    try
    {
        training.Run(epochsDone);
    }
    catch (const Interrupted&)
    {
        throw; // its message names the model to resume from
    }
    catch (...)
    {
        if (!isLoaded)
            RemoveStart(files, log);
        throw;
    }
}

} // namespace

void Train(const TrainingRequest& given, Log& log)
{
    TrainingRequest request = given;
    CheckRequest(request);
    if (Workers* const workers = request.workers; workers != nullptr)
    {
        RequireSameOptions(*workers, request.options,
                           Concat("precision=", NameOf(request.dataType),
                                  request.makeMode ? "\nmakeMode=true" : "\nmakeMode=false",
                                  request.openCvReader ? "\na cvReader" : "\nno cvReader",
                                  "\ntrainingSeed=", request.trainingSeed, "\n"));
        // One that is asked to stop stops all.
        request.stopRequested = [workers, asked = given.stopRequested]
        { return AnyWorkerStops(*workers, asked && asked() ? WorkerState::Stops : WorkerState::Continues); };
    }
    const SgdOptions& options = request.options;
    TrainingFiles files = TrainingFiles::OfNetworks(ResolveOutputPath(ModelPathOf(request)), options.maxEpochs,
                                                    1 + request.encoders.size());
    files.ShareWith(request.workers);
    std::error_code ignored;
    if (std::filesystem::is_directory(files.FinalModel(), ignored))
        RequireWritable(files.FinalModel());
    auto newest = request.makeMode ? files.FindResumePoint() : std::nullopt;
    const std::string lockPath = files.FinalModel() + ".lock";
    const bool removesStart = newest == size_t(0) && IsStartOfKilledTraining(files, lockPath);
    if (removesStart)
        newest.reset();
    if (request.workers != nullptr)
        RequireSameStart(*request.workers, newest, files.FinalModel());
    if (newest == options.maxEpochs)
        return EndFinished(request, files, lockPath, log);
    FileLock lock;
    if (files.AreWrittenHere())
        RequireWritable(files.FinalModel());
    if (files.AreWrittenHere() && !lock.Take(lockPath))
        Fail(ErrorKind::Device, FileLock::HolderOf(lockPath), " trains the model '", files.FinalModel(),
             "' (it holds '", lockPath, "'); wait until it ends, or give another modelPath");

    if (removesStart)
    {
        RemoveStart(files, log);
        files.WaitForWorkers();
    }
    ResumePoint start = LoadStart(request, files, newest, log);
    const bool isLoaded = start.network != nullptr;
    if (!isLoaded)
        BuildNetworks(request, start);
    else if (request.buildForComparison)
        WarnOfOtherNetwork(*start.network, files.Model(start.epochsDone), request.buildForComparison, log,
                           start.epochsDone == 0 && !start.within ? request.trainingSeed : 0);
    ComputationNetwork& network = *start.network;
    const TrainedNetworks networks = NetworksOf(start);
    const EncoderRoots encoderRoots = PairAll(request, networks);
    if (request.trainingSeed != 0)
        log.Print("Training seed: %zu\n", size_t(request.trainingSeed));
    if (request.networkReady)
        request.networkReady(network, isLoaded);
    const TrainingNodes nodes = SelectNodes(network, options, log);
    if (request.workers != nullptr)
        RequireSameNetwork(*request.workers, network, nodes);
    const TrainingSources sources = OpenSources(request, networks, encoderRoots, log);

    TrainingParts parts(request, files, networks, nodes, *sources.training, sources.crossValidation.get(), log);
    Training training(parts);
    // Now that network and readers are known to fit: a model that is there is continued by the next run.
    if ((sources.havePrecomputed || !isLoaded) && !start.within)
        SaveModels(networks, files, files.Model(start.epochsDone));
    if (!isLoaded)
        lock.Note(StartNote(files));
    Restore(training, start, files, request, log);
    RunToEnd(training, start.epochsDone, isLoaded, files, log);
    if (request.fsAdagradColumns != nullptr)
        *request.fsAdagradColumns = parts.learner.FsAdagradColumns(*request.fsAdagradColumns);
}

} // namespace cntk
