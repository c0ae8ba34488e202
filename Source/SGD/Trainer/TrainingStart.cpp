// The start of a training: options, files, networks and data.
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileLock.h"
#include "Common/Interruption.h"
#include "Common/Log.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "SGD/Parallel/WorkerAgreement.h"
#include "SGD/Trainer/ResumePoint.h"
#include "SGD/Trainer/Trainer.h"
#include "SGD/Trainer/TrainingDescription.h"

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

// Removes points within epochs that the training is past. Other points may be of use to somebody; renames them. within:
// the point at which this training resumes.
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
        std::string why = makeMode ? files.WhyUnusable(point) : "makeMode=false restarts the training";
        if (!why.empty() && makeMode)
            why = "it " + why;
        if (why.empty() && newest && files.Model(*newest) == files.FinalModel())
            why = Concat("the final model '", files.FinalModel(), "' exists");
        else if (why.empty())
            why = newest ? Concat("it begins with '", within ? files.Model(*within) : files.Model(*newest), "'")
                         : "it restarts";
        const std::string path = files.Model(point);
        log.Warn(Concat("the training does not continue from '", path, "': ", why, "; the model is kept as '",
                        files.MoveAside(point), "', and so is its checkpoint"));
    }
}

// Removes what a killed training left. Only warns if the folder cannot be written.
void CleanUp(const TrainingFiles& files, const SgdOptions& options, bool makeMode, std::optional<size_t> newest,
             const std::optional<WithinEpochPoint>& within, Log& log)
{
    files.WaitForWorkers(); // all workers have read the files
    if (!files.AreWrittenHere())
        return files.WaitForWorkers();
    try
    {
        for (const std::string& stale : files.StaleTemporaries())
            RemoveFile(stale);
        ClearPoints(files, makeMode, newest, within, log);
        const bool isOver = newest == options.maxEpochs;
        if (isOver)
            newest = files.NewestCheckpoint(); // the training may have ended early
        if (newest)
            RemoveObsolete(files, options, *newest, isOver);
    }
    catch (const Error& error)
    {
        log.Warn(error.Message());
    }
    files.WaitForWorkers();
}

const NodeRegistry& RegistryOf(const TrainingRequest& request)
{
    return request.registry != nullptr ? *request.registry : NodeRegistry::Standard();
}

TrainedNetworks NetworksOf(const ResumePoint& start)
{
    TrainedNetworks networks;
    for (const auto& encoder : start.encoders)
        networks.push_back(encoder.get());
    networks.push_back(start.network.get());
    return networks;
}

// For each encoder, the nodes whose values the next network reads.
using EncoderRoots = std::vector<std::vector<ComputationNodePtr>>;

// Connects each network with the previous one.
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

// Adds the readers of the encoders to that of the trained network. name: readerName or cvReaderName.
void AddSources(const TrainingRequest& request, const EncoderRoots& encoderRoots, MinibatchSource& source,
                std::vector<std::unique_ptr<MinibatchSource>> others, std::string EncoderRequest::*name,
                const std::string& leaderName)
{
    for (size_t i = 0; i < others.size(); ++i)
        source.AddCompanion(std::move(others[i]), encoderRoots[i], request.encoders[i].*name, leaderName);
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

// Loads the final model's checkpoint; none if it is missing, very large or damaged. Nothing else depends on it.
std::optional<Checkpoint> LoadFinalCheckpoint(const TrainingRequest& request, const TrainingFiles& files)
{
    const std::string path = files.Checkpoint(files.MaxEpochs());
    std::error_code error;
    if (!FileExists(path) || std::filesystem::file_size(ResolveInputPath(path), error) > c_largestComparedFile)
        return std::nullopt;
    try
    {
        return LoadCheckpoint(path, request.dataType, *request.device);
    }
    catch (const Error&)
    {
        return std::nullopt;
    }
}

// Warns if the config's network differs from the final model.
void CompareWithFinalModel(const TrainingRequest& request, const TrainingFiles& files, Log& log)
{
    std::error_code error;
    const uintmax_t bytes = std::filesystem::file_size(ResolveInputPath(files.FinalModel()), error);
    if (!request.buildForComparison || error || bytes > c_largestComparedFile)
        return;
    try
    {
        WarnOfOtherNetwork(*LoadModel(files.FinalModel(), request.dataType, request.device, RegistryOf(request)),
                           files.FinalModel(), true, request.buildForComparison, log);
    }
    catch (const Error&)
    {
        // Commands that use a damaged model report it.
    }
}

// Ends a training whose final model exists: removes obsolete files, and reports differences to the config.
void EndFinished(const TrainingRequest& request, const TrainingFiles& files, const std::string& lockPath, Log& log)
{
    const SgdOptions& options = request.options;
    FileLock lock;
    if (files.AreWrittenHere() && FileExists(lockPath))
        lock.Take(lockPath); // a killed training left the file; it is removed with the lock
    CleanUp(files, options, request.makeMode, options.maxEpochs, std::nullopt, log);
    const std::optional<Checkpoint> checkpoint = LoadFinalCheckpoint(request, files);
    // The next training of this process continues as if this one had run just now.
    if (checkpoint && request.fsAdagradColumns != nullptr && options.gradUpdateType == GradientUpdateType::FSAdaGrad &&
        !options.useAdagrad)
        *request.fsAdagradColumns = Learner::FsAdagradColumnsIn(checkpoint->info.extra, *request.fsAdagradColumns);
    if (request.listener != nullptr)
        request.listener->TrainingIsDone(files.FinalModel());
    log.Print("Final model exists: %s\nNo further training is necessary.\n", files.FinalModel().c_str());
    if (files.AreWrittenHere())
    {
        CompareWithFinalModel(request, files, log);
        if (checkpoint)
            WarnOfOtherSeed(*checkpoint, files.Checkpoint(options.maxEpochs), true, request.trainingSeed, log);
        log.Print("The final model has no record of its data and SGD options: if they have changed, train again with "
                  "makeMode=false or another modelPath.\n");
    }
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

// Removes a start model that a training wrote if the training saved nothing else: the next run may describe another
// network.
void RemoveStart(const TrainingFiles& files, Log& log)
{
    if (!files.AreWrittenHere())
        return;
    try
    {
        if (!files.LaterModels(0).empty() || !files.WithinEpochPoints().empty())
            return;
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

// Loads the newest usable model; the network is null if there is none. newest: its number of epochs.
ResumePoint LoadStart(const TrainingRequest& request, const TrainingFiles& files, std::optional<size_t> newest,
                      Log& log)
{
    WarnOfPassedOver(files, request.makeMode, newest, log);
    ResumePoint start;
    if (newest)
    {
        ReportLongerTraining(files, *newest, log);
        start = LoadResumePoint(files, *newest, request.dataType, request.device, RegistryOf(request), log);
    }
    CleanUp(files, request.options, request.makeMode,
            start.network ? std::optional<size_t>(start.epochsDone) : std::nullopt, start.within, log);
    return start;
}

// Fails unless all workers resume from the same epoch.
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
    NodeTracer(network, options, log); // fails for an unknown name before data are read
    PrintNodes(log, "Training", {nodes.criterion});
    WarnOfCriteria(network, *nodes.criterion, options.trainCriterionNodeName, log);
    PrintNodes(log, "Evaluation", nodes.evaluations);
    return nodes;
}

struct TrainingSources
{
    std::unique_ptr<MinibatchSource> training;
    std::unique_ptr<MinibatchSource> crossValidation; // may be null
    bool havePrecomputed = false;                     // nodes of the networks have computed their values from the data
};

// Opens all data, and computes nodes like Mean, which need a pass over the data before training.
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

void Restore(Trainer& trainer, ResumePoint& start, const TrainingFiles& files, const TrainingRequest& request, Log& log)
{
    if (!start.checkpoint)
        return;
    const std::string path = start.within ? files.Checkpoint(*start.within) : files.Checkpoint(start.epochsDone);
    WarnOfOtherSeed(*start.checkpoint, path, false, request.trainingSeed, log);
    WarnOfOtherListedRate(*start.checkpoint, path, request.options, start.epochsDone, log);
    if (start.within)
        trainer.ResumeWithinEpoch(*start.within, start.checkpoint->info);
    trainer.Restore(std::move(*start.checkpoint), path);
}

void RunToEnd(Trainer& trainer, size_t epochsDone, bool isLoaded, const TrainingFiles& files, Log& log)
{
    try
    {
        trainer.Run(epochsDone);
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

// Makes requests to stop collective: a request in one worker stops all. Fails if options differ.
void JoinWorkers(TrainingRequest& request)
{
    Workers* const workers = request.workers;
    RequireSameOptions(
        *workers, request.options,
        Concat("precision=", NameOf(request.dataType), request.makeMode ? "\nmakeMode=true" : "\nmakeMode=false",
               request.openCvReader ? "\na cvReader" : "\nno cvReader", "\ntrainingSeed=", request.trainingSeed, "\n"));
    request.stopRequested = [workers, own = request.stopRequested]
    { return AnyWorkerStops(*workers, own && own() ? WorkerState::Stops : WorkerState::Continues); };
}

TrainingFiles FilesOf(const TrainingRequest& request)
{
    TrainingFiles files = TrainingFiles::OfNetworks(ResolveOutputPath(ModelPathOf(request)), request.options.maxEpochs,
                                                    1 + request.encoders.size());
    files.ShareWith(request.workers);
    std::error_code ignored;
    if (std::filesystem::is_directory(files.FinalModel(), ignored))
        RequireWritable(files.FinalModel());
    return files;
}

// Keeps other processes from training the same model.
void TakeLock(FileLock& lock, const std::string& lockPath, const TrainingFiles& files)
{
    if (!files.AreWrittenHere())
        return;
    RequireWritable(files.FinalModel());
    if (!lock.Take(lockPath))
        Fail(ErrorKind::Device, FileLock::HolderOf(lockPath), " trains the model '", files.FinalModel(),
             "' (it holds '", lockPath, "'); wait until it ends, or give another modelPath");
}

// Trains from the start. The lock is held.
void TrainFrom(ResumePoint& start, const TrainingRequest& request, const TrainingFiles& files, FileLock& lock, Log& log)
{
    const bool isLoaded = start.network != nullptr;
    if (!isLoaded)
        BuildNetworks(request, start);
    else if (request.buildForComparison)
        WarnOfOtherNetwork(*start.network, files.Model(start.epochsDone), false, request.buildForComparison, log);
    ComputationNetwork& network = *start.network;
    const TrainedNetworks networks = NetworksOf(start);
    const EncoderRoots encoderRoots = PairAll(request, networks);
    if (request.trainingSeed != 0)
        log.Print("Training seed: %zu\n", size_t(request.trainingSeed));
    if (request.networkReady)
        request.networkReady(network, isLoaded);
    const TrainingNodes nodes = SelectNodes(network, request.options, log);
    if (request.workers != nullptr)
        RequireSameNetwork(*request.workers, network, nodes);
    const TrainingSources sources = OpenSources(request, networks, encoderRoots, log);

    TrainingSetup setup(request, files, networks, nodes, *sources.training, sources.crossValidation.get(), log);
    Trainer trainer(setup);
    if (request.listener != nullptr)
        request.listener->TrainingBegins(DescribeTraining(setup, start, isLoaded));
    // Saves the start model only now that network and readers are known to fit: the next run resumes from it.
    if ((sources.havePrecomputed || !isLoaded) && !start.within)
        setup.SaveModelsAs(files.Model(start.epochsDone));
    if (!isLoaded)
        lock.Note(StartNote(files));
    Restore(trainer, start, files, request, log);
    RunToEnd(trainer, start.epochsDone, isLoaded, files, log);
    if (request.fsAdagradColumns != nullptr)
        *request.fsAdagradColumns = setup.learner.FsAdagradColumns(*request.fsAdagradColumns);
}

} // namespace

void Train(const TrainingRequest& given, Log& log)
{
    TrainingRequest request = given;
    CheckRequest(request);
    if (request.workers != nullptr)
        JoinWorkers(request);
    const TrainingFiles files = FilesOf(request);
    auto newest = request.makeMode ? files.FindResumePoint() : std::nullopt;
    const std::string lockPath = files.FinalModel() + ".lock";
    const bool removesStart = newest == size_t(0) && IsStartOfKilledTraining(files, lockPath);
    if (removesStart)
        newest.reset();
    if (request.workers != nullptr)
        RequireSameStart(*request.workers, newest, files.FinalModel());
    std::optional<size_t> raised;
    if (newest == request.options.maxEpochs)
    {
        const std::optional<Checkpoint> checkpoint = LoadFinalCheckpoint(request, files);
        raised = checkpoint ? FindRaisedEpochs(files, *checkpoint) : std::nullopt;
        if (!raised)
            return EndFinished(request, files, lockPath, log);
    }
    FileLock lock;
    TakeLock(lock, lockPath, files);
    if (raised)
    {
        ContinueFinalModel(files, *raised, log);
        newest = raised;
    }
    if (removesStart)
    {
        RemoveStart(files, log);
        files.WaitForWorkers();
    }
    ResumePoint start = LoadStart(request, files, newest, log);
    TrainFrom(start, request, files, lock, log);
}

std::string DescribeStart(const TrainingRequest& request)
{
    const TrainingFiles files = FilesOf(request);
    const std::string all = Counted(files.MaxEpochs(), "epoch");
    if (!request.makeMode)
        return "trains " + all + " from the start (makeMode=false)";
    const std::optional<size_t> newest = files.FindResumePoint();
    if (!newest || *newest == 0)
        return "trains " + all;
    if (*newest < files.MaxEpochs())
        return Concat("resumes after epoch ", *newest, " of ", files.MaxEpochs());
    const std::optional<Checkpoint> checkpoint = LoadFinalCheckpoint(request, files);
    const std::optional<size_t> raised = checkpoint ? FindRaisedEpochs(files, *checkpoint) : std::nullopt;
    return raised ? Concat("continues the finished model of ", Counted(*raised, "epoch"), " to ", all)
                  : std::string("nothing to train: finished; makeMode=false trains anew");
}

} // namespace cntk
