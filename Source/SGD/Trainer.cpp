// Where a training begins: options, files, network, reader.
#include "SGD/Trainer.h"

#include "Common/Counted.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileLock.h"
#include "Common/Log.h"
#include "ComputationNetwork/ModelFile.h"
#include "SGD/Precompute.h"
#include "SGD/ResumePoint.h"
#include "SGD/Training.h"

#include <filesystem>
#include <system_error>

namespace cntk
{

namespace
{

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
            RemoveFile(files.Checkpoint(point));
            for (size_t network = 0; network < files.Networks(); ++network)
                RemoveFile(files.OfNetwork(network, files.Model(point)));
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
}

struct Encoders
{
    std::vector<ComputationNetwork*> networks;
    std::vector<std::vector<ComputationNodePtr>> roots; // of each: what the next network takes values from
};

// Each network's values come from the one before it from now on.
Encoders PairAll(const TrainingRequest& request, ResumePoint& start)
{
    Encoders encoders;
    for (size_t i = 0; i < start.encoders.size(); ++i)
    {
        ComputationNetwork& encoder = *start.encoders[i];
        ComputationNetwork& next = i + 1 < start.encoders.size() ? *start.encoders[i + 1] : *start.network;
        encoders.networks.push_back(&encoder);
        encoders.roots.push_back(request.pairNetworks(encoder, next));
        next.Validate();
    }
    return encoders;
}

// The readers of the encoders come along with the trained network's; without those of statistics.
void AddSources(const TrainingRequest& request, const Encoders& encoders, MinibatchSource& source,
                std::vector<std::unique_ptr<MinibatchSource>> others)
{
    for (size_t i = 0; i < others.size(); ++i)
        source.Accompany(std::move(others[i]), encoders.roots[i], request.encoders[i].readerName, request.readerName);
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

} // namespace

void Train(const TrainingRequest& request, Log& log)
{
    const SgdOptions& options = request.options;
    if (const auto problem = FindProblem(options, request.dataType))
        Fail(ErrorKind::Config, "block 'SGD': ", problem->message);
    if (options.adaptationRegType == AdaptationRegularization::KL && options.adaptationRegWeight > 0 &&
        !request.openReference)
        Fail(ErrorKind::Config, "adaptationRegType=KL needs an original model to stay near; expected action=adapt with "
                                "originalModelFileName and refNodeName");
    const std::string& modelPath = request.modelPath.empty() ? options.modelPath : request.modelPath;
    if (modelPath.empty())
        Fail(ErrorKind::Config, "modelPath is missing; expected the name of the model to write, in the SGD block or "
                                "around it");

    const TrainingFiles files =
        TrainingFiles::OfNetworks(ResolveOutputPath(modelPath), options.maxEpochs, 1 + request.encoders.size());
    std::error_code ignored;
    if (std::filesystem::is_directory(files.FinalModel(), ignored))
        RequireWritable(files.FinalModel());
    const auto newest = request.makeMode ? files.FindResumePoint() : std::nullopt;
    const std::string lockPath = files.FinalModel() + ".lock";
    FileLock lock;
    if (newest == options.maxEpochs)
    {
        if (FileExists(lockPath))
            lock.Take(lockPath); // left by a training that was killed; goes with the lock
        CleanUp(files, options, request.makeMode, newest, std::nullopt, log);
        PassOnColumns(request, files.Checkpoint(options.maxEpochs));
        log.Print("Final model exists: %s\nNo further training is necessary.\n", files.FinalModel().c_str());
        const auto epochs = files.EpochsOfFinalModel();
        if (epochs && *epochs < options.maxEpochs && files.Networks() == 1)
            log.Print("It was trained for %s, but maxEpochs is %zu: to train it further, rename it to %s.%zu and its "
                      "checkpoint to %s.%zu.ckp.\n",
                      Counted(*epochs, "epoch").c_str(), options.maxEpochs, files.FinalModel().c_str(), *epochs,
                      files.FinalModel().c_str(), *epochs);
        return;
    }
    RequireWritable(files.FinalModel());
    if (!lock.Take(lockPath))
        Fail(ErrorKind::Device, FileLock::HolderOf(lockPath), " trains the model '", files.FinalModel(),
             "' (it holds '", lockPath, "'); wait until it ends, or give another modelPath");
    WarnOfPassedOver(files, request.makeMode, newest, log);
    ResumePoint start;
    if (newest)
        start = LoadResumePoint(files, *newest, request.dataType, request.device,
                                request.registry ? *request.registry : NodeRegistry::Standard(), log);
    const bool isLoaded = start.network != nullptr;
    CleanUp(files, options, request.makeMode, isLoaded ? std::optional<size_t>(start.epochsDone) : std::nullopt,
            start.within ? start.within : start.inTrial, log);
    if (!isLoaded)
    {
        start.encoders.clear();
        for (const EncoderRequest& encoder : request.encoders)
            start.encoders.push_back(encoder.buildNetwork());
        start.network = request.buildNetwork();
    }
    else if (request.buildForComparison)
        WarnOfOtherNetwork(*start.network, files.Model(start.epochsDone), request.buildForComparison, log,
                           start.epochsDone == 0 && !start.within ? request.trainingSeed : 0);
    ComputationNetwork& network = *start.network;
    const Encoders encoders = PairAll(request, start);
    if (request.trainingSeed != 0)
        log.Print("Training seed: %zu\n", size_t(request.trainingSeed));
    if (request.networkReady)
        request.networkReady(network, isLoaded);

    const TrainingNodes nodes =
        SelectTrainingNodes(network, options.trainCriterionNodeName, options.evalCriterionNodeName);
    NodeTracer(network, options, log); // an unknown name is told before data are read
    PrintNodes(log, "Training", {nodes.criterion});
    if (const std::string untrained = DescribeUntrainedCriteria(network, options.trainCriterionNodeName);
        !untrained.empty())
        log.Warn(untrained);
    PrintNodes(log, "Evaluation", nodes.evaluations);

    const auto source = request.openReader();
    const auto cvSource = request.openCvReader ? request.openCvReader() : nullptr;
    const size_t precomputeSamples = options.useAllDataForPreComputedNode ? c_wholeDataSet : options.EpochSamples();
    bool precomputed =
        Precompute(network, *source, options.minibatchSize[0], precomputeSamples, log, request.stopRequested);
    std::vector<std::unique_ptr<MinibatchSource>> sources, cvSources;
    for (size_t i = 0; i < request.encoders.size(); ++i)
    {
        sources.push_back(request.encoders[i].openReader());
        if (cvSource)
            cvSources.push_back(request.encoders[i].openCvReader());
        precomputed |= Precompute(*start.encoders[i], *sources[i], options.minibatchSize[0], precomputeSamples, log,
                                  request.stopRequested);
    }
    AddSources(request, encoders, *source, std::move(sources));
    if (cvSource)
        AddSources(request, encoders, *cvSource, std::move(cvSources));

    if (options.adaptationRegType == AdaptationRegularization::KL && options.adaptationRegWeight > 0)
        source->MixLabels(std::make_unique<LabelMixer>(request.openReference(), request.referenceNode, network,
                                                       source->Streams(), options.adaptationRegWeight));
    source->CutMinibatches({options.numSubminibatches, options.maxSamplesInRAM});
    Training training(request, files, network, nodes, *source, cvSource.get(), log);
    training.SetEncoders(encoders.networks);
    // Now that network and readers are known to fit: a model that is there is continued by the next run.
    if ((precomputed || !isLoaded) && !start.within)
    {
        for (size_t i = 0; i < start.encoders.size(); ++i)
            SaveModel(*start.encoders[i], files.OfNetwork(i, files.Model(start.epochsDone)));
        SaveModel(network, files.Model(start.epochsDone));
    }
    if (start.checkpoint)
    {
        const std::string path = start.within ? files.Checkpoint(*start.within) : files.Checkpoint(start.epochsDone);
        WarnOfOtherSeed(*start.checkpoint, path, request.trainingSeed, log);
        training.Restore(std::move(*start.checkpoint), path);
    }
    if (start.within)
        training.GoOnWithin(*start.within);
    if (start.inTrial)
        training.GoOnInTrial(*start.inTrial, std::move(*start.trialCheckpoint));
    training.Run(start.epochsDone);
    if (request.fsAdagradColumns != nullptr)
        *request.fsAdagradColumns = training.FsAdagradColumns(*request.fsAdagradColumns);
}

} // namespace cntk
