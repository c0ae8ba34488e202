// Actions trainEncoderDecoder and trainBidirectionEncoderDecoder (book 2.7, 3.5.11): several networks, each with its
// own reader, trained as one.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Actions/EncoderDecoder.h"
#include "ActionsLib/Actions/TrainingJob.h"
#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "ActionsLib/JobParts/ReaderSource.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"
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

class TrainEncoderDecoderJob final : public TrainingJob
{
public:
    TrainEncoderDecoderJob(const CommandContext& command, size_t stages) : TrainingJob(command)
    {
        for (size_t i = 0; i < stages; i++)
        {
            Stage stage;
            stage.names = c_stages[i];
            stage.builder = NetworkBuilder::FindNamed(command, stage.names.builder);
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
        RequireNoAdaptation(m_request.options, m_sgd);
        m_pairs = ReadPairOptions(m_sgd);
        CheckOptions();
        RequireNotReadByAny();
        m_request.readerName = m_stages.back().reader.NameWithFiles();
        m_request.cvReaderName = m_stages.back().cvReader.NameWithFiles();
    }

    std::vector<std::string> Outputs() const override
    {
        std::vector<std::string> files;
        for (size_t i = 0; i < m_stages.size(); i++)
            files.push_back(m_request.modelPath + "." + std::to_string(i));
        return files;
    }

    void Run() override
    {
        Log& log = m_command.program.log;
        m_request.device = DeviceOf(m_command);
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
        m_request.networkReady = [this](const ComputationNetwork& network, bool isLoaded)
        { LogReady(network, isLoaded); };
        RunTraining();
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
    }

private:
    struct Stage
    {
        StageNames names{};
        std::unique_ptr<NetworkBuilder> builder;
        ReaderSource reader;
        ReaderSource cvReader;
    };

    TrainingFiles Files() const override
    {
        return TrainingFiles::OfNetworks(ResolveOutputPath(m_request.modelPath), Epochs(), m_stages.size());
    }

    // Fails if the model of one network would replace the data or the description of any network.
    void RequireNotReadByAny() const
    {
        for (const std::string& model : Outputs())
            for (const Stage& stage : m_stages)
                for (const ConfigParameters* block :
                     {stage.reader.block, stage.cvReader.block, m_command.block.FindBlock(stage.builder->BlockName())})
                    if (block != nullptr)
                        RequireNotRead({"modelPath", model}, FilesNamedIn(*block), m_modelPlace);
    }

    // Fails for options with which the sequences of two readers would no longer correspond.
    void CheckOptions() const
    {
        const SgdOptions& options = m_request.options;
        const auto refuse = [&](const char* key, const char* expected)
        {
            const auto value = m_sgd.Find(key);
            FailAt(m_sgd.WhereOf(key), ErrorKind::Config, "several networks are trained with ", key, "=",
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

    // The networks are built in order; each may take values from the network before it.
    std::unique_ptr<ComputationNetwork> Build(const Stage& stage)
    {
        ComputationNodePtr encoderOutput;
        if (m_before != nullptr)
            encoderOutput =
                m_pairs.encoderNodes.empty() ? OutputOfEncoder(*m_before) : RequireEncoderNode(*m_before, m_pairs, 0);
        std::unique_ptr<ComputationNetwork> network = stage.builder->Build(DeviceOf(m_command), encoderOutput.get());
        m_before = network.get();
        return network;
    }

    std::unique_ptr<ComputationNetwork> BuildVirgin(const Stage& stage)
    {
        m_command.program.log.Print("%s Using %s\n\nCreating virgin network.\n", stage.builder->LogName(),
                                    DeviceWords(*DeviceOf(m_command)).c_str());
        return Build(stage);
    }

    std::vector<Stage> m_stages;
    PairOptions m_pairs;
    const ComputationNetwork* m_before = nullptr; // the network that was built last
};

template <size_t stages>
Action MakeTraining(const char* name, const char* alias, const char* doc)
{
    std::vector<std::string> blocks{"SGD"};
    for (size_t i = 0; i < stages; i++)
        for (const char* block : {c_stages[i].builder, c_stages[i].reader, c_stages[i].cvReader})
            blocks.emplace_back(block);
    return {name,
            {alias},
            doc,
            "3.5.11",
            WithModelPath("the models to train: modelPath.0 of the encoder, modelPath.1 of the next network, ...",
                          DescribeBoth<TrainingJobOptions, PairOptions>()),
            std::move(blocks),
            [](const CommandContext& command) -> std::unique_ptr<Job>
            { return std::make_unique<TrainEncoderDecoderJob>(command, stages); }};
}

} // namespace

Action MakeTrainEncoderDecoderAction()
{
    return MakeTraining<2>(
        "trainEncoderDecoder", "doEncoderDecoder",
        "Trains an encoder and a decoder as one: the decoder's PairNetwork nodes take their values from "
        "the encoder. Each has a builder and a reader of its own.");
}

Action MakeTrainBidirectionEncoderDecoderAction()
{
    return MakeTraining<3>(
        "trainBidirectionEncoderDecoder", "bidirectionEncoderDecoder",
        "Trains three networks as one: an encoder, a forward decoder and a backward decoder, each paired "
        "with the network before it. Only the last has a criterion.");
}

} // namespace cntk
