// action=train (book 3.5.1): builds or continues a network and trains it.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Actions/CriterionTransfer.h"
#include "ActionsLib/Commands/CommandDevice.h"
#include "ActionsLib/Commands/CommandKeys.h"
#include "ActionsLib/Commands/CommandModels.h"
#include "ActionsLib/Commands/ErrorPlaces.h"
#include "ActionsLib/Commands/LookAhead.h"
#include "ActionsLib/Commands/MadeModels.h"
#include "ActionsLib/Commands/NetworkLog.h"
#include "ActionsLib/Commands/NetworkSource.h"
#include "ActionsLib/Commands/ReaderSource.h"
#include "ActionsLib/Commands/SourceCheck.h"
#include "ActionsLib/Commands/TracedTraining.h"
#include "ActionsLib/Commands/TrainingPlan.h"
#include "Common/Counted.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Interruption.h"
#include "Common/Text.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/NodeError.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "SGD/Evaluation/Criteria.h"
#include "SGD/Evaluation/Evaluation.h"

#include <algorithm>

namespace cntk
{

namespace
{

struct TrainOptions
{
    bool makeMode = true;

    static OptionTable<TrainOptions> Options()
    {
        using S = TrainOptions;
        return {Opt("makeMode", &S::makeMode,
                    "true: continue from the newest usable model, do nothing if the final model is there; false: start "
                    "afresh")};
    }
};

// Of trainSequence: a trained model goes on with another criterion.
struct TrainSequenceOptions
{
    std::string origModelFileName;

    static OptionTable<TrainSequenceOptions> Options()
    {
        using S = TrainSequenceOptions;
        return {Opt("origModelFileName", &S::origModelFileName,
                    "the trained model, whose first criterion is replaced by that of the network described here; the "
                    "criterion's inputs are its nodes of the same names",
                    {"originalModelFileName"})
                    .Required()};
    }
};

class TrainJob final : public Job
{
public:
    explicit TrainJob(const CommandContext& command, std::string original = {})
        : m_command(command), m_traceLevel(TraceLevelOf(command)), m_builder(NetworkBuilder::Require(command)),
          m_reader(RequireReader(command, "reader")), m_cvReader(FindReader(command, "cvReader")),
          m_original(std::move(original))
    {
        AskForDevice(command);
        m_sgd = &RequireSgdBlock(command);
        m_request.options = ReadSgdOptions(command, *m_sgd);
        RequireNoAdaptation(m_request.options, *m_sgd);
        m_request.modelPath = RequireTrainedModelPath(command);
        for (const ConfigParameters* block :
             {m_reader.block, m_cvReader.block, command.block.FindBlock(m_builder->BlockName())})
            if (block != nullptr)
                RequireNotRead({"modelPath", m_request.modelPath}, FilesNamedIn(*block), PlaceOfTrainedModel(command));
        if (!m_original.empty())
            RequireNotRead({"modelPath", m_request.modelPath}, {{OriginalKey(), m_original}},
                           PlaceOfTrainedModel(command));
        m_request.makeMode = ReadOptions<TrainOptions>(command.block).makeMode;
        if (!m_original.empty() && !m_request.makeMode)
            RequireNoEpochOf(Files(), std::nullopt, {OriginalKey(), m_original}, PlaceOfTrainedModel(command));
        m_request.dataType = command.program.dataType;
        m_request.trainingSeed = TrainingSeedOf(command);
        m_request.fsAdagradColumns = &command.program.fsAdagradColumns;
    }

    size_t Epochs() const override { return m_request.options.maxEpochs; }
    std::vector<std::string> Produces() const override { return {m_request.modelPath}; }

    void Run() override
    {
        Log& log = m_command.program.log;
        const std::shared_ptr<Device> device = DeviceOf(m_command);
        bool isBuilt = false;
        m_request.device = device;
        log.Print("%s Using %s\n", m_builder->LogName(), DeviceWords(*device).c_str());
        m_request.buildNetwork = [&]
        {
            log.Print("\nCreating virgin network.\n");
            isBuilt = true;
            std::unique_ptr<ComputationNetwork> network = Build(device);
            ChooseNodes(*network);
            return network;
        };
        if (m_original.empty() && !IsModelMade(m_command, m_request.modelPath) &&
            !WasModelMade(m_command, m_request.modelPath))
            m_request.buildForComparison = [&] { return BuildAside(m_command, *m_builder, device); };
        m_request.openReader = [this] { return OpenReader(m_reader); };
        if (m_cvReader)
            m_request.openCvReader = [this] { return OpenReader(m_cvReader); };
        m_request.networkReady = [&](const ComputationNetwork& network, bool isLoaded)
        {
            LogNetwork(log, network, m_traceLevel);
            log.Print("\n%s model with %d nodes on %s.\n", isLoaded ? "Loaded" : "Created", int(network.size()),
                      DeviceWords(*device).c_str());
        };
        m_request.placeOf = [this](const ComputationNode& node) { return PlacePrefix(m_command.program.ndl, node); };
        if (!m_original.empty() && m_request.makeMode)
            RequireNoEpochOf(Files(), Files().FindResumePoint(), {OriginalKey(), m_original},
                             PlaceOfTrainedModel(m_command));
        const GracefulStop graceful;
        m_request.stopRequested = StopRequested;
        m_request.workers = m_command.program.workers;
        TrainTraced(m_command, m_request);
        if (!isBuilt)
            TakeSeeds();
    }

    bool MayBeOver(const FilesToCome& files) const override
    {
        return cntk::MayBeOver(Files(), m_request.makeMode, files);
    }

    // A network that is made when its turn comes is made now, too, on the side. What data, memory or a device have to
    // do with it is told then.
    void LookAhead(const FilesToCome& files) const override
    {
        if (MayBeOver(files) || (m_request.makeMode && Files().FindResumePoint()))
            return;
        if (!m_original.empty())
            RequireModelToCome(m_command, m_original, files, OriginalKey());
        if (IsModelMade(m_command, m_request.modelPath) || files.WillBeMade(m_request.modelPath))
            return;
        try
        {
            const auto network = BuildAside(m_command, *m_builder, MakeCpuDevice({.threads = 1}));
            if (m_original.empty())
                ChooseNodes(*network);
        }
        catch (const Error& error)
        {
            if (error.Kind() == ErrorKind::Config)
                throw;
        }
        catch (const std::bad_alloc&)
        {
        }
    }

    void Check() override
    {
        Log& log = m_command.program.log;
        const std::shared_ptr<Device> device = DeviceOf(m_command);
        const auto loadOriginal = [&] { return LoadModelToCheck(m_command, m_original, device, OriginalKey()); };
        TrainingPlan plan(m_command, m_request);
        const std::unique_ptr<ComputationNetwork> described =
            plan.BeginsWithPlannedModel() ? nullptr : Build(device, loadOriginal);
        if (described != nullptr)
            ChooseNodes(*described);
        if (!m_original.empty())
            plan.RequireKept({OriginalKey(), m_original}, PlaceOfTrainedModel(m_command));
        ComputationNetwork* const network = plan.Start(described.get());
        if (network == nullptr)
            return plan.Finish();
        const TrainingNodes nodes = ChooseNodes(*network);
        LogNetwork(log, *network, 1);
        WarnOfCriteria(*network, *nodes.criterion, m_request.options.trainCriterionNodeName, log);
        const NodeTracer tracer(*network, m_request.options, log);
        for (const ReaderSource* reader : {&m_reader, &m_cvReader})
        {
            if (!*reader || !reader->CanBeChecked())
                continue;
            const std::unique_ptr<MinibatchSource> source = OpenReader(*reader);
            CheckSource(log, *network, tracer.AddTo(nodes.Roots()), *source, m_request.options.minibatchSize[0],
                        CheckFor::Training, &m_command.program.ndl);
        }
        log.Print("Command '%s' (action %s): %s into %s\n", m_command.name.c_str(),
                  m_original.empty() ? "train" : "trainSequence", Counted(Epochs(), "epoch").c_str(),
                  m_request.modelPath.c_str());
        plan.Finish();
    }

private:
    TrainingFiles Files() const
    {
        return TrainingFiles(ResolveOutputPath(m_request.modelPath), m_request.options.maxEpochs);
    }

    std::unique_ptr<MinibatchSource> OpenReader(const ReaderSource& reader) const
    {
        return reader.OpenFor({"modelPath", ResolveOutputPath(m_request.modelPath)}, PlaceOfTrainedModel(m_command));
    }

    std::unique_ptr<ComputationNetwork> Build(const std::shared_ptr<Device>& device) const
    {
        return Build(device, [&] { return LoadModelOf(m_command, m_original, device, OriginalKey()); });
    }

    // A decoder beside the new criterion, say: commands behind would miss it.
    void WarnOfNotTaken(const ComputationNetwork& network, const ComputationNetwork& described) const
    {
        for (const NodeGroup group : {NodeGroup::Evaluation, NodeGroup::Output})
            for (const ComputationNodePtr& node : described.Group(group))
                if (network.Find(node->Name()) == nullptr)
                    m_command.program.log.Warn(
                        Concat("trainSequence: '", node->Name(), "' (", node->TypeName(),
                               ") of the described network does not come into the model, which takes the criterion and "
                               "what is below it; an edit command can add it"));
    }

    // Null if loadOriginal, which is asked for trainSequence alone, gives none.
    std::unique_ptr<ComputationNetwork>
    Build(const std::shared_ptr<Device>& device,
          const std::function<std::unique_ptr<ComputationNetwork>()>& loadOriginal) const
    {
        std::unique_ptr<ComputationNetwork> described = m_builder->Build(device);
        if (m_original.empty())
            return described;
        Log& log = m_command.program.log;
        log.Print("Load Network From the original model file %s.\n", m_original.c_str());
        std::unique_ptr<ComputationNetwork> network = loadOriginal();
        if (network == nullptr)
            return nullptr;
        const std::vector<std::string> copied = TakeCriterion(*network, *described);
        for (const std::string& name : copied)
            log.Print("%s does not have node '%s'; it is the described one, with its start values.\n",
                      m_original.c_str(), name.c_str());
        WarnOfNotTaken(*network, *described);
        const std::vector<ComputationNodePtr> below =
            ComputationNetwork::Below({network->Group(NodeGroup::Criterion).front()});
        if (std::none_of(below.begin(), below.end(),
                         [&](const ComputationNodePtr& node)
                         {
                             return dynamic_cast<LearnableParameterNode*>(node.get()) != nullptr &&
                                    std::find(copied.begin(), copied.end(), node->Name()) == copied.end();
                         }))
            log.Warn(Concat("trainSequence: the new criterion has no parameter of ", m_original,
                            "; what it is computed from has other names there"));
        network->Validate();
        return network;
    }

    // As the user spells it.
    const char* OriginalKey() const
    {
        return m_command.block.Exists("originalModelFileName") ? "originalModelFileName" : "origModelFileName";
    }

    // Random parameters of later commands, such as an edit that adds a layer, go on with the seeds behind this
    // network's. A run that continues an earlier one must end with that one's models, so the seeds are used up here if
    // the network was built by the earlier run: then the model of epoch 0 has the values that building it again gives.
    void TakeSeeds()
    {
        NdlCounts& counts = m_command.program.ndl.counts;
        const NdlCounts before = counts;
        try
        {
            const std::shared_ptr<Device> device = MakeCpuDevice({.threads = 1});
            const std::unique_ptr<ComputationNetwork> built = m_builder->Build(device);
            const std::string first = m_request.modelPath + ".0";
            if (!m_original.empty() || !FileExists(first) ||
                StartsAs(*LoadModel(first, m_request.dataType, device), *built))
                return;
        }
        catch (const Error&)
        {
            // The model is there, and its description need not be any more.
        }
        counts = before;
    }

    static bool StartsAs(const ComputationNetwork& network, const ComputationNetwork& built)
    {
        for (const ComputationNodePtr& node : built.Nodes())
        {
            const auto* parameter = dynamic_cast<const LearnableParameterNode*>(node.get());
            if (parameter == nullptr)
                continue;
            const ComputationNodePtr other = network.Find(node->Name());
            const auto* found = dynamic_cast<const LearnableParameterNode*>(other.get());
            if (found == nullptr || found->Values().ToHost() != parameter->Values().ToHost())
                return false;
        }
        return true;
    }

    // What is wrong with the description as a whole is told with the description's place.
    TrainingNodes ChooseNodes(const ComputationNetwork& network) const
    {
        const SgdOptions& options = m_request.options;
        try
        {
            return SelectTrainingNodes(network, options.trainCriterionNodeName, options.evalCriterionNodeName);
        }
        catch (const Error& error)
        {
            // The option that names the node, else the node, else the description.
            for (const char* key : {"trainCriterionNodeName", "evalCriterionNodeName"})
                if (error.Message().starts_with(key))
                    throw error.At(m_sgd->WhereOf(key));
            const auto* const ofNode = dynamic_cast<const NodeError*>(&error);
            if ((ofNode && m_command.program.ndl.FindPlace(ofNode->Node())) || !options.trainCriterionNodeName.empty())
                throw;
            throw error.At(m_builder->Where());
        }
    }

    CommandContext m_command;
    int m_traceLevel;
    std::unique_ptr<NetworkBuilder> m_builder;
    ReaderSource m_reader;
    ReaderSource m_cvReader;
    std::string m_original; // of trainSequence; else empty
    const ConfigParameters* m_sgd = nullptr;
    TrainingRequest m_request;
};

} // namespace

Action MakeTrainAction()
{
    return {"train",
            {"trainRNN"},
            "Builds a network from SimpleNetworkBuilder or NDLNetworkBuilder, or continues from the newest model, and "
            "trains it.",
            "3.5.1",
            WithModelPath("the model to train; modelPath.N after epoch N; may stand in SGD, too",
                          DescribeOptions<TrainOptions>()),
            {"SGD", "reader", "cvReader", "SimpleNetworkBuilder", "NDLNetworkBuilder"},
            [](const CommandContext& command) -> std::unique_ptr<Job> { return std::make_unique<TrainJob>(command); }};
}

Action MakeTrainSequenceAction()
{
    std::vector<OptionInfo> options = DescribeOptions<TrainSequenceOptions>();
    for (OptionInfo& option : DescribeOptions<TrainOptions>())
        options.push_back(std::move(option));
    return {"trainSequence",
            {"trainSequenceRNN"},
            "Trains a model further with the criterion of another network, such as one for whole sequences (CRF): the "
            "network that the builder describes has the new criterion, the parameters are those of the model.",
            "",
            WithModelPath("the model to train; modelPath.N after epoch N; may stand in SGD, too", std::move(options)),
            {"SGD", "reader", "cvReader", "SimpleNetworkBuilder", "NDLNetworkBuilder"},
            [](const CommandContext& command) -> std::unique_ptr<Job> {
                return std::make_unique<TrainJob>(command,
                                                  ReadOptions<TrainSequenceOptions>(command.block).origModelFileName);
            }};
}

} // namespace cntk
