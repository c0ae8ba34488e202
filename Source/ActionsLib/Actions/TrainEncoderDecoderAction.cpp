// action=trainEncoderDecoder and trainBidirectionEncoderDecoder (book 2.7, 3.5.11): networks trained as one, each with
// a reader of its own.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Actions/EncoderDecoder.h"
#include "ActionsLib/Commands/CommandDevice.h"
#include "ActionsLib/Commands/CommandKeys.h"
#include "ActionsLib/Commands/LookAhead.h"
#include "ActionsLib/Commands/NetworkLog.h"
#include "ActionsLib/Commands/NetworkSource.h"
#include "ActionsLib/Commands/ReaderSource.h"
#include "ActionsLib/Commands/SourceCheck.h"
#include "ActionsLib/Commands/TracedTraining.h"
#include "Common/Counted.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Interruption.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "SGD/Evaluation/Criteria.h"
#include "SGD/Evaluation/Evaluation.h"

#include <algorithm>
#include <limits>

namespace cntk
{

namespace
{

// The blocks of one network.
struct StageNames
{
    const char* builder;
    const char* reader;
    const char* cvReader;
};
constexpr StageNames c_stages[] = {
    {"EncoderNetworkBuilder", "encoderReader", "encoderCVReader"},
    {"DecoderNetworkBuilder", "decoderReader", "decoderCVReader"},
    {"BackwardDecoderNetworkBuilder", "backwardDecoderReader", "BackwardDecoderCVReader"},
};

struct TrainEncoderDecoderOptions
{
    bool makeMode = true;

    static OptionTable<TrainEncoderDecoderOptions> Options()
    {
        using S = TrainEncoderDecoderOptions;
        return {Opt("makeMode", &S::makeMode,
                    "true: continue from the newest usable models, do nothing if the final ones are there; false: "
                    "start afresh")};
    }
};

class TrainEncoderDecoderJob final : public Job
{
public:
    TrainEncoderDecoderJob(const CommandContext& command, size_t stages)
        : m_command(command), m_traceLevel(TraceLevelOf(command))
    {
        AskForDevice(command);
        for (size_t i = 0; i < stages; i++)
        {
            Stage stage;
            stage.names = c_stages[i];
            stage.builder = NetworkBuilder::OfBlock(command, stage.names.builder);
            if (!stage.builder)
                FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name, "' has no ",
                       stage.names.builder, " block; it needs ", stage.names.builder,
                       "=[rnnType=...; layerSizes=...], or one with networkDescription=...");
            stage.reader = RequireReader(command, stage.names.reader);
            stage.cvReader = FindReader(command, stage.names.cvReader);
            for (const ReaderSource& reader : {stage.reader, stage.cvReader})
                if (reader)
                    RequireSentences(*reader.block);
            m_stages.push_back(std::move(stage));
        }
        for (const Stage& stage : m_stages)
            if (bool(stage.cvReader) != bool(m_stages.front().cvReader))
                FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name, "' has ",
                       (stage.cvReader ? stage : m_stages.front()).names.cvReader, ", but no ",
                       (stage.cvReader ? m_stages.front() : stage).names.cvReader,
                       "; expected one for each network, or none");
        const ConfigParameters& sgd = RequireSgdBlock(command);
        m_request.options = ReadSgdOptions(command, sgd);
        RequireNoAdaptation(m_request.options, sgd);
        m_pairs = ReadPairOptions(sgd);
        CheckOptions(sgd);
        m_request.modelPath = RequireTrainedModelPath(command);
        RequireNotReadByAny();
        m_request.makeMode = ReadOptions<TrainEncoderDecoderOptions>(command.block).makeMode;
        m_request.dataType = command.program.dataType;
        m_request.trainingSeed = TrainingSeedOf(command);
        m_request.fsAdagradColumns = &command.program.fsAdagradColumns;
        m_request.readerName = m_stages.back().reader.NameWithFiles();
        m_request.cvReaderName = m_stages.back().cvReader.NameWithFiles();
    }

    size_t Epochs() const override { return m_request.options.maxEpochs; }
    std::vector<std::string> Produces() const override
    {
        std::vector<std::string> files;
        for (size_t i = 0; i < m_stages.size(); i++)
            files.push_back(m_request.modelPath + "." + std::to_string(i));
        return files;
    }

    void Run() override
    {
        Log& log = m_command.program.log;
        const std::shared_ptr<Device> device = DeviceOf(m_command);
        m_request.device = device;
        m_request.encoders.clear();
        m_before = nullptr;
        for (size_t i = 0; i + 1 < m_stages.size(); i++)
            m_request.encoders.push_back({[this, i] { return BuildVirgin(m_stages[i]); },
                                          [this, i] { return m_stages[i].reader.Open(); },
                                          [this, i] { return m_stages[i].cvReader.Open(); },
                                          m_stages[i].reader.NameWithFiles(), m_stages[i].cvReader.NameWithFiles()});
        Stage& last = m_stages.back();
        m_request.buildNetwork = [this, &last] { return BuildVirgin(last); };
        m_request.openReader = [&last] { return last.reader.Open(); };
        if (last.cvReader)
            m_request.openCvReader = [&last] { return last.cvReader.Open(); };
        m_request.pairNetworks = [this, &log](ComputationNetwork& encoder, ComputationNetwork& network)
        {
            LogNetwork(log, encoder, m_traceLevel);
            return PairNetworks(encoder, network, m_pairs, log);
        };
        m_request.networkReady = [&](const ComputationNetwork& network, bool isLoaded)
        {
            LogNetwork(log, network, m_traceLevel);
            log.Print("\n%s model with %d nodes on %s.\n", isLoaded ? "Loaded" : "Created", int(network.size()),
                      DeviceWords(*device).c_str());
        };
        const GracefulStop graceful;
        m_request.stopRequested = StopRequested;
        m_request.workers = m_command.program.workers;
        TrainTraced(m_command, m_request);
    }

    bool MayBeOver(const FilesToCome& files) const override
    {
        return cntk::MayBeOver(Files(), m_request.makeMode, files);
    }

    void Check() override
    {
        Log& log = m_command.program.log;
        const size_t minibatchSize = m_request.options.minibatchSize[0];
        m_before = nullptr;
        std::vector<std::unique_ptr<ComputationNetwork>> networks;
        std::vector<std::vector<ComputationNodePtr>> roots;
        for (Stage& stage : m_stages)
        {
            networks.push_back(Build(stage));
            if (networks.size() > 1)
                roots.push_back(PairNetworks(*networks[networks.size() - 2], *networks.back(), m_pairs, log));
        }
        const SgdOptions& options = m_request.options;
        const TrainingNodes nodes =
            SelectTrainingNodes(*networks.back(), options.trainCriterionNodeName, options.evalCriterionNodeName);
        for (const auto& network : networks)
            LogNetwork(log, *network, 1);
        for (const bool isCv : {false, true})
        {
            if (isCv && !m_stages.back().cvReader)
                continue;
            const auto readerOf = [&](const Stage& stage) { return isCv ? stage.cvReader : stage.reader; };
            if (!std::all_of(m_stages.begin(), m_stages.end(),
                             [&](const Stage& stage) { return readerOf(stage).CanBeChecked(); }))
                continue;
            const auto open = [&](const Stage& stage) { return readerOf(stage).Open(); };
            const std::unique_ptr<MinibatchSource> source = open(m_stages.back());
            for (size_t i = 0; i + 1 < m_stages.size(); i++)
            {
                std::unique_ptr<MinibatchSource> other = open(m_stages[i]);
                Precompute(*networks[i], *other, minibatchSize, minibatchSize, log);
                source->AddCompanion(std::move(other), roots[i], readerOf(m_stages[i]).NameWithFiles(),
                                     readerOf(m_stages.back()).NameWithFiles());
            }
            CheckSource(log, *networks.back(), nodes.Roots(), *source, minibatchSize, CheckFor::Training);
        }
        log.Print("Command '%s' (action trainEncoderDecoder): %s into %s.0 to %s.%d\n", m_command.name.c_str(),
                  Counted(Epochs(), "epoch").c_str(), m_request.modelPath.c_str(), m_request.modelPath.c_str(),
                  int(m_stages.size()) - 1);
        const TrainingFiles files = Files();
        if (m_request.makeMode && files.HasAll(files.FinalModel()))
            return;
        for (size_t i = 0; i < networks.size(); i++)
            m_command.program.planned.Save(Produces()[i], *networks[i]);
    }

private:
    struct Stage
    {
        StageNames names{};
        std::unique_ptr<NetworkBuilder> builder;
        ReaderSource reader;
        ReaderSource cvReader;
    };

    TrainingFiles Files() const
    {
        return TrainingFiles::OfNetworks(ResolveOutputPath(m_request.modelPath), Epochs(), m_stages.size());
    }

    // Any network's model would overwrite the data or the description of any other's.
    void RequireNotReadByAny() const
    {
        for (const std::string& model : Produces())
            for (const Stage& stage : m_stages)
                for (const ConfigParameters* block :
                     {stage.reader.block, stage.cvReader.block, m_command.block.FindBlock(stage.builder->BlockName())})
                    if (block != nullptr)
                        RequireNotRead({"modelPath", model}, FilesNamedIn(*block), PlaceOfTrainedModel(m_command));
    }

    // What would make the sequences of two readers part company.
    void CheckOptions(const ConfigParameters& sgd) const
    {
        const SgdOptions& options = m_request.options;
        const auto refuse = [&](const char* key, const char* expected)
        {
            const auto value = sgd.Find(key);
            FailAt(sgd.WhereOf(key), ErrorKind::Config, "several networks are trained with ", key, "=",
                   value ? value->Text() : "", "; expected ", expected);
        };
        if (!m_pairs.encoderNodes.empty() && m_stages.size() > 2)
            refuse("encoderNodes", "none: of three networks each takes the first output node of the one before it");
        if (options.epochSize != 0)
            refuse("epochSize", "0, the whole data set: the readers' samples are of sequences of different lengths");
        if (options.numSubminibatches > 1)
            refuse("numSubminibatches", "1: the minibatches of several readers are not cut");
        if (options.maxSamplesInRAM != std::numeric_limits<size_t>::max())
            refuse("maxSamplesInRAM", "none: the minibatches of several readers are not cut");
    }

    // Each is built with the one before it at hand.
    std::unique_ptr<ComputationNetwork> Build(const Stage& stage)
    {
        const ComputationNodePtr encoderOutput =
            m_before == nullptr || !m_pairs.encoderNodes.empty() ? nullptr : OutputOfEncoder(*m_before);
        const ComputationNodePtr named =
            m_before != nullptr && !m_pairs.encoderNodes.empty() ? RequireEncoderNode(*m_before, m_pairs, 0) : nullptr;
        std::unique_ptr<ComputationNetwork> network =
            stage.builder->Build(DeviceOf(m_command), (named ? named : encoderOutput).get());
        m_before = network.get();
        return network;
    }

    std::unique_ptr<ComputationNetwork> BuildVirgin(const Stage& stage)
    {
        m_command.program.log.Print("%s Using %s\n\nCreating virgin network.\n", stage.builder->LogName(),
                                    DeviceWords(*DeviceOf(m_command)).c_str());
        return Build(stage);
    }

    CommandContext m_command;
    int m_traceLevel;
    std::vector<Stage> m_stages;
    PairOptions m_pairs;
    const ComputationNetwork* m_before = nullptr; // built last
    TrainingRequest m_request;
};

Action MakeTraining(const char* name, const char* alias, const char* doc, size_t stages,
                    std::unique_ptr<Job> (*prepare)(const CommandContext& command))
{
    std::vector<OptionInfo> options = DescribeOptions<TrainEncoderDecoderOptions>();
    for (OptionInfo& option : DescribeOptions<PairOptions>())
        options.push_back(std::move(option));
    std::vector<std::string> blocks{"SGD"};
    for (size_t i = 0; i < stages; i++)
        for (const char* block : {c_stages[i].builder, c_stages[i].reader, c_stages[i].cvReader})
            blocks.emplace_back(block);
    return {name,
            {alias},
            doc,
            "3.5.11",
            WithModelPath("the models to train: modelPath.0 of the encoder, modelPath.1 of the next network, ...",
                          std::move(options)),
            std::move(blocks),
            prepare};
}

} // namespace

Action MakeTrainEncoderDecoderAction()
{
    return MakeTraining(
        "trainEncoderDecoder", "doEncoderDecoder",
        "Trains an encoder and a decoder as one: the decoder's PairNetwork nodes take their values from "
        "the encoder. Each has a builder and a reader of its own.",
        2,
        [](const CommandContext& command) -> std::unique_ptr<Job>
        { return std::make_unique<TrainEncoderDecoderJob>(command, 2); });
}

Action MakeTrainBidirectionEncoderDecoderAction()
{
    return MakeTraining("trainBidirectionEncoderDecoder", "bidirectionEncoderDecoder",
                        "The same with a third network: a chain of encoder, forward decoder and backward decoder, each "
                        "paired with the one before it. Only the last has a criterion.",
                        3,
                        [](const CommandContext& command) -> std::unique_ptr<Job>
                        { return std::make_unique<TrainEncoderDecoderJob>(command, 3); });
}

} // namespace cntk
