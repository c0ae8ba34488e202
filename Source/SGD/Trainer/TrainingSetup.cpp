#include "SGD/Trainer/TrainingSetup.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/SequenceCriterionNode.h"
#include "SGD/Parallel/WorkerAgreement.h"
#include "SGD/Schedules/Schedules.h"
#include "SGD/Trainer/TrainingDescription.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace cntk
{

namespace
{

EvaluatorOptions TrainingEvaluatorOptions(const TrainingNodes& nodes, const NodeTracer& tracer)
{
    EvaluatorOptions options;
    options.training = true;
    options.backwardRoot = nodes.criterion;
    options.keepValues = tracer.Nodes();
    return options;
}

ProgressSettings ProgressSettingsOf(const SgdOptions& options, bool isDecoder, RunListener* listener)
{
    ProgressSettings settings;
    settings.traceLevel = options.traceLevel;
    settings.numMBsToShowResult = options.numMBsToShowResult;
    settings.firstMBsToShowResult = options.firstMBsToShowResult;
    settings.maxEpochs = options.maxEpochs;
    settings.ofDecoder = isDecoder;
    settings.listener = listener;
    return settings;
}

} // namespace

TrainingSetup::TrainingSetup(const TrainingRequest& trainingRequest, const TrainingFiles& trainingFiles,
                             TrainedNetworks trained, const TrainingNodes& trainingNodes,
                             MinibatchSource& trainingSource, MinibatchSource* validationSource, Log& trainingLog)
    : request(trainingRequest), options(request.options), files(trainingFiles), log(trainingLog),
      networks(std::move(trained)), nodes(trainingNodes), source(trainingSource), cvSource(validationSource),
      tracer(Network(), options, log),
      evaluator(Network(), tracer.AddTo(nodes.Roots()), TrainingEvaluatorOptions(nodes, tracer)),
      learner(evaluator.Parameters(), options, Network().GetDataType(), Network().GetDevice(), request.trainingSeed,
              request.fsAdagradColumns != nullptr ? *request.fsAdagradColumns : 0),
      dropout(nodes.criterion, request.trainingSeed), batchNormalization(evaluator.Plan()),
      progress(log, ProgressSettingsOf(options, files.Networks() > 1, request.listener)),
      loop(nodes, evaluator, source, learner, progress)
{
    if (request.workers != nullptr)
        JoinWorkers(*request.workers);
    log.Print("\nAllocating matrices for forward and/or backward propagation.\n");
    LimitConvolutionMemory(evaluator.Plan(), options.maxTempMemSizeInSamplesForCNN, log);
    SetUpSequenceCriteria();
    BindSources();
    if (evaluator.Parameters().empty())
        log.Warn(Concat("no parameter below criterion '", nodes.criterion->Name(),
                        "' is trained; the network will not change"));
}

void TrainingSetup::BindSources()
{
    const std::vector<ComputationNodePtr> toRead = NodesToRead(Network(), tracer.AddTo(nodes.Roots()));
    source.BindTo(toRead);
    if (cvSource)
        WithNote([&] { cvSource->BindTo(toRead); }, [] { return "in the data to validate with (cvReader)"; });
    for (const MinibatchSource* bound : {&source, cvSource})
        if (bound != nullptr)
            for (const NodeWarning& warning : bound->Warnings())
                log.Warn((request.placeOf ? request.placeOf(*warning.node) : "") + warning.text);
    if (!tracer.Nodes().empty())
    {
        tracer.UseLabels(source.Streams());
        loop.SetTracer(&tracer);
    }
}

void TrainingSetup::SetUpSequenceCriteria()
{
    const SequenceTrainingSettings settings{
        .smoothing = options.hSmoothingWeight,
        .frameDropThreshold = options.frameDropThresh,
        .usesMbr = options.seqGammarUsesMBR,
        .acousticFactor = options.seqGammarAMF,
        .languageFactor = options.seqGammarLMF,
        .boost = options.seqGammarBMMIFactor,
        .wordPenalty = options.seqGammarWordPen,
    };
    for (const ComputationNodePtr& node : evaluator.Plan().NodesInOrder())
        if (const auto criterion = std::dynamic_pointer_cast<SequenceCriterionNode>(node))
        {
            if (options.doReferenceAlign)
                Fail(ErrorKind::Config, "doReferenceAlign=true is not supported: ", criterion->TypeName(), " '",
                     criterion->Name(),
                     "' takes the labels for the reference; expected false, with labels that were "
                     "aligned before");
            if (AdaptsByKL(options))
                Fail(ErrorKind::Config, "adaptationRegType=KL mixes the labels with what the network said before, but ",
                     criterion->TypeName(), " '", criterion->Name(),
                     "' takes them for the reference, one state a frame; expected adaptationRegType=none");
            criterion->SetSettings(settings);
        }
}

void TrainingSetup::JoinWorkers(Workers& workers)
{
    const ParallelTrainOptions& how = options.parallelTrain;
    if (how.parallelizationMethod == ParallelizationMethod::DataParallelSGD)
    {
        std::optional<QuantizerSettings> quantizer;
        if (const size_t bits = GradientBits(options, request.dataType); bits < 8 * SizeOf(request.dataType))
            quantizer = QuantizerSettings{bits, how.dataParallel.useZeroThresholdFor1BitQuantization};
        exchange.emplace(workers, evaluator.Parameters(), quantizer,
                         how.dataParallel.useBufferedAsyncGradientAggregation);
        loop.SetExchange(&*exchange);
    }
    else if (how.parallelizationMethod == ParallelizationMethod::ModelAveragingSGD)
        average = std::make_unique<ModelAverage>(workers, evaluator.Parameters(), learner,
                                                 how.modelAveraging.syncFrequencyInFrames);
    else if (how.parallelizationMethod == ParallelizationMethod::BlockMomentumSGD)
    {
        const BlockMomentumSettings settings = SettingsOfBlocks(how.blockMomentum, workers.Count());
        average = std::make_unique<BlockMomentum>(workers, evaluator.Parameters(), learner, settings);
        log.Print("BlockMomentumSGD: %zu workers, blocks of %zu samples per worker, block momentum %.6g (time constant "
                  "per worker: %.6g samples), block learning rate %.6g%s%s\n",
                  workers.Count(), settings.periodPerWorker, settings.momentum, settings.TimeConstantPerWorker(),
                  settings.learningRate, settings.isNesterov ? ", Nesterov's momentum" : "",
                  settings.resetsMomentum ? ", smoothed gradients are reset after each block" : "");
    }
    if (average)
        loop.SetAverage(average.get());
}

bool TrainingSetup::IsParallel(size_t epoch) const
{
    return (exchange || average) && epoch >= FirstSharedEpoch(options.parallelTrain);
}

EpochResult TrainingSetup::RunLoop(const EpochSettings& settings)
{
    EpochResult result = loop.Run(settings);
    if (request.workers != nullptr && !settings.isShared && !settings.isAveraged && !result.stopped)
        AnyWorkerStops(*request.workers, WorkerState::HasEnded);
    return result;
}

bool TrainingSetup::Agrees(bool own) const
{
    if (request.workers != nullptr)
        request.workers->TakeFirst(std::as_writable_bytes(std::span(&own, 1)));
    return own;
}

void TrainingSetup::WarnOfIdleWorkers(size_t epoch, size_t idle)
{
    if (idle == 0 || std::exchange(hasWarnedOfIdle, true))
        return;
    log.Warn(Concat(Counted(idle, "worker"), " of ", request.workers->Count(), " had no data in epoch ", epoch + 1,
                    ": ",
                    options.parallelTrain.distributedMBReading
                        ? "with distributedMBReading=true readers deal out what they have, which was too little"
                        : "minibatches have fewer parallel sequences than there are workers"));
}

void TrainingSetup::EqualizeStatistics(size_t epoch, size_t minibatches)
{
    if (request.workers == nullptr)
        return;
    const std::vector<double> all = request.workers->Gather(double(minibatches));
    const size_t idle = size_t(std::count(all.begin(), all.end(), 0.0));
    if (idle == all.size())
        return;
    if (*std::max_element(all.begin(), all.end()) > 1) // after resuming, one short minibatch may be left
        WarnOfIdleWorkers(epoch, idle);
    const auto first = std::find_if(all.begin(), all.end(), [](double count) { return count > 0; });
    const size_t source = size_t(first - all.begin());
    const auto& trained = evaluator.Parameters();
    for (const ComputationNodePtr& node : evaluator.Plan().NodesInOrder())
    {
        const auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(node);
        if (!parameter || std::find(trained.begin(), trained.end(), parameter) != trained.end())
            continue;
        Matrix& values = parameter->Values();
        std::vector<std::byte> bytes(values.Rows() * values.Columns() * SizeOf(values.Type()));
        values.CopyToHost(bytes.data());
        request.workers->Take(source, bytes);
        values.CopyFromHost(bytes.data());
    }
    batchNormalization.TakeCounts(*request.workers, source);
}

size_t TrainingSetup::NominalSize(size_t epoch, size_t minibatchSize) const
{
    return NominalMinibatchSize(options, minibatchSize, source.ParallelSequences(epoch));
}

EpochSettings SettingsOf(const TrainingSetup& setup, const TrainingState& state, size_t epoch, size_t listedSize)
{
    EpochSettings settings;
    settings.epoch = epoch;
    settings.minibatchSize = state.minibatchSize;
    settings.epochSize = setup.options.EpochSamples();
    settings.learningRatePerSample = state.rate.learningRatePerSample;
    settings.momentumPerSample = MomentumPerSample(setup.options, epoch, setup.NominalSize(epoch, listedSize));
    const bool isParallel = setup.IsParallel(epoch);
    settings.isShared = isParallel && setup.exchange;
    settings.syncPerfStats = setup.options.parallelTrain.syncPerfStats;
    settings.isAveraged = isParallel && setup.average;
    settings.readsShare =
        (settings.isShared || settings.isAveraged) && setup.options.parallelTrain.distributedMBReading;
    return settings;
}

void TrainingSetup::SaveModelsAs(const std::string& path) const
{
    SaveModels(networks, files, path);
    if (request.listener == nullptr)
        return;
    for (size_t i = 0; i < networks.size(); ++i)
    {
        std::error_code ignored;
        const std::string file = files.OfNetwork(i, path);
        request.listener->ModelIsSaved(
            {file, size_t(std::filesystem::file_size(file, ignored)), ParametersOf(*networks[i])});
    }
}

EpochStart StartOf(const TrainingSetup& setup, const TrainingState& state, const EpochSettings& settings)
{
    const SgdOptions& options = setup.options;
    EpochStart start;
    start.epoch = settings.epoch;
    start.learningRatePerSample = settings.learningRatePerSample;
    // settings.minibatchSize is the searched size, if there was a search.
    start.effectiveMomentum =
        MomentumOfMinibatch(settings.momentumPerSample, setup.NominalSize(settings.epoch, settings.minibatchSize));
    start.momentumTimeConstant = MomentumTimeConstant(settings.momentumPerSample);
    start.minibatchSize = settings.minibatchSize;
    start.expectedSamples = options.epochSize != 0 ? options.epochSize : state.epochSamples;
    if (SearchesMinibatchSize(options, settings.epoch))
        start.searchedMinibatchSize = settings.minibatchSize;
    if (settings.isShared || settings.isAveraged)
        start.workers = {NameOf(options.parallelTrain.parallelizationMethod),
                         setup.request.workers->Rank(),
                         setup.request.workers->Count(),
                         settings.isShared ? GradientBits(options, setup.request.dataType) : 0,
                         settings.isShared && options.parallelTrain.dataParallel.useBufferedAsyncGradientAggregation,
                         settings.readsShare};
    start.parts = {options.numSubminibatches, options.maxSamplesInRAM};
    return start;
}

void FailNotFinite(TrainingSetup& setup, const std::string& where, double rate, const EpochResult& result)
{
    const size_t minibatch = *result.notFiniteAt;
    // Nothing has updated the parameters since that minibatch.
    std::string first;
    if (result.wentOn ? setup.loop.ReadAgain(minibatch) : setup.loop.HoldsMinibatch())
        first = FindNotFinite(setup.Network(), setup.nodes, setup.source.Streams());
    // The value may occur in the data of one worker only.
    if (setup.request.workers != nullptr)
        for (const std::string& found : setup.request.workers->Gather(first))
            if (first.empty())
                first = found;
    Fail(ErrorKind::Model, "the training criterion '", setup.nodes.criterion->Name(), "' is not a finite number in ",
         where, ", minibatch ", minibatch, " (learning rate per sample ", rate, ")",
         first.empty() ? "" : "; the first node that is not finite: " + first);
}

} // namespace cntk
