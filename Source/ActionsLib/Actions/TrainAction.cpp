// Actions that train one network: train (book 3.5.1), trainSequence, adapt (3.5.2).
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Actions/CriterionTransfer.h"
#include "ActionsLib/Actions/TrainingJob.h"
#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/ErrorPlaces.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "ActionsLib/JobParts/ReaderSource.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"
#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"
#include "SGD/Evaluation/Criteria.h"
#include "SGD/Minibatches/MinibatchSource.h"

#include <algorithm>
#include <filesystem>

namespace cntk
{

namespace
{

struct OriginalModelOptions
{
    std::string originalModelFileName;

    static OptionTable<OriginalModelOptions> Options()
    {
        return {
            Opt("originalModelFileName", &OriginalModelOptions::originalModelFileName,
                "the trained model to start from; trainSequence replaces its first criterion by the criterion of the "
                "described network, whose inputs are nodes of the model with the same names",
                {"origModelFileName"})
                .Required()};
    }
};

struct AdaptOptions
{
    std::string refNodeName;

    static OptionTable<AdaptOptions> Options()
    {
        return {Opt("refNodeName", &AdaptOptions::refNodeName,
                    "node of the original model whose values are mixed into the labels (adaptationRegType=KL)")};
    }
};

// A network with one reader, perhaps one for cross-validation, and perhaps an original model.
class OneNetworkJob : public TrainingJob
{
protected:
    OneNetworkJob(const CommandContext& command, std::string original)
        : TrainingJob(command), m_reader(RequireReader(command, "reader")), m_cvReader(FindReader(command, "cvReader")),
          m_original(std::move(original))
    {
        for (const ReaderSource* reader : {&m_reader, &m_cvReader})
            if (*reader)
                RequireNotRead({"modelPath", m_request.modelPath}, FilesNamedIn(*reader->block), m_modelPlace);
        if (m_original.empty())
            return;
        RequireNotRead({"modelPath", m_request.modelPath}, {Original()}, m_modelPlace);
        if (!m_request.makeMode)
            RequireKept(Original());
    }

    // The key as the user spells it.
    const char* OriginalKey() const
    {
        return m_command.block.Exists("originalModelFileName") ? "originalModelFileName" : "origModelFileName";
    }
    NamedFile Original() const { return {OriginalKey(), m_original}; }
    std::unique_ptr<ComputationNetwork> LoadOriginal(const std::shared_ptr<Device>& device) const
    {
        m_command.program.log.Print("Load Network From the original model file %s.\n", m_original.c_str());
        return LoadModelOf(m_command, m_original, device, OriginalKey());
    }

    std::unique_ptr<MinibatchSource> OpenReader(const ReaderSource& reader) const
    {
        return reader.OpenFor({"modelPath", ResolveOutputPath(m_request.modelPath)}, m_modelPlace);
    }

    void RunOneNetwork()
    {
        m_request.openReader = [this] { return OpenReader(m_reader); };
        if (m_cvReader)
            m_request.openCvReader = [this] { return OpenReader(m_cvReader); };
        m_request.networkReady = [this](const ComputationNetwork& network, bool isLoaded)
        { LogReady(network, isLoaded); };
        if (!m_original.empty())
            RequireKept(Original());
        RunTraining();
    }

    // For --check: reports if the network comes from another command of the run.
    bool IsCheckedLater() const
    {
        if (m_startWriter.empty())
            return false;
        LogUncheckedModel(m_command, m_request.modelPath, m_startWriter);
        return true;
    }
    // beforeReading: checks the first reader further.
    void CheckReaders(ComputationNetwork& network, const TrainingNodes& nodes,
                      const std::function<void(const MinibatchSource&)>& beforeReading = nullptr) const
    {
        Log& log = m_command.program.log;
        const NodeTracer tracer(network, m_request.options, log);
        for (const ReaderSource* reader : {&m_reader, &m_cvReader})
        {
            if (!*reader || !reader->CanBeChecked())
                continue;
            const std::unique_ptr<MinibatchSource> source = OpenReader(*reader);
            if (beforeReading && reader == &m_reader)
                beforeReading(*source);
            CheckSource(log, network, tracer.AddTo(nodes.Roots()), *source, m_request.options.minibatchSize[0],
                        CheckFor::Training, &m_command.program.ndl);
        }
    }

    ReaderSource m_reader;
    ReaderSource m_cvReader;
    std::string m_original; // of trainSequence and adapt; else empty
};

class TrainJob final : public OneNetworkJob
{
public:
    explicit TrainJob(const CommandContext& command, std::string original = {})
        : TrainJob(command, std::move(original), NetworkBuilder::Require(command))
    {
        RequireNoAdaptation(m_request.options, m_sgd);
        if (const ConfigParameters* const block = command.block.FindBlock(m_builder->BlockName()))
            RequireNotRead({"modelPath", m_request.modelPath}, FilesNamedIn(*block), m_modelPlace);
    }

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
        const bool isEdited = !m_command.program.outputs.WriterOfEpochModel(m_request.modelPath).empty();
        if (m_original.empty() && !isEdited && !IsStartNamedElsewhere())
            m_request.buildForComparison = [&] { return m_builder->BuildForCheck(m_command.program, device); };
        m_request.placeOf = [this](const ComputationNode& node) { return PlacePrefix(m_command.program.ndl, node); };
        RunOneNetwork();
        if (!isBuilt)
            AdvanceSeeds();
    }

    void Validate() const override
    {
        if (!OpensData() || !BeginsNew())
            return;
        if (!m_original.empty())
            RequireModel(m_command, m_original, OriginalKey());
        if (!m_startWriter.empty())
            return;
        m_builder->Validate(m_command.program,
                            [this](const ComputationNetwork& network)
                            {
                                if (m_original.empty())
                                    ChooseNodes(network);
                            });
    }

    void Check() override
    {
        Log& log = m_command.program.log;
        if (!m_original.empty())
            RequireKept(Original());
        if (IsCheckedLater())
            return;
        const std::string writer = m_original.empty() ? "" : m_command.program.outputs.WriterOf(m_original);
        if (!writer.empty())
        {
            m_builder->Build(DeviceOf(m_command));
            return LogUncheckedModel(m_command, m_original, writer);
        }
        const std::unique_ptr<ComputationNetwork> network = Build(DeviceOf(m_command));
        const TrainingNodes nodes = ChooseNodes(*network);
        LogNetwork(log, *network, 1);
        WarnOfCriteria(*network, *nodes.criterion, m_request.options.trainCriterionNodeName, log);
        CheckReaders(*network, nodes);
        log.Print("Command '%s' (action %s): %s into %s\n", m_command.name.c_str(),
                  m_original.empty() ? "train" : "trainSequence", Counted(Epochs(), "epoch").c_str(),
                  m_request.modelPath.c_str());
        m_request.device = DeviceOf(m_command);
        log.Tell("In a run, command '%s': %s\n", m_command.name.c_str(), DescribeStart(m_request).c_str());
    }

private:
    TrainJob(const CommandContext& command, std::string original, std::unique_ptr<NetworkBuilder> builder)
        : OneNetworkJob(command, std::move(original)), m_builder(std::move(builder))
    {
    }

    std::unique_ptr<ComputationNetwork> Build(const std::shared_ptr<Device>& device) const
    {
        std::unique_ptr<ComputationNetwork> described = m_builder->Build(device);
        if (m_original.empty())
            return described;
        Log& log = m_command.program.log;
        std::unique_ptr<ComputationNetwork> network = LoadOriginal(device);
        const std::vector<std::string> copied = TakeCriterion(*network, *described);
        for (const std::string& name : copied)
            log.Print("%s does not have node '%s'; it is copied from the described network with its start values.\n",
                      m_original.c_str(), name.c_str());
        WarnOfOmitted(*network, *described);
        const std::vector<ComputationNodePtr> below =
            ComputationNetwork::Below({network->Group(NodeGroup::Criterion).front()});
        const auto isTrained = [&](const ComputationNodePtr& node)
        { return IsParameter(*node) && std::find(copied.begin(), copied.end(), node->Name()) == copied.end(); };
        if (std::none_of(below.begin(), below.end(), isTrained))
            log.Warn(Concat("trainSequence: the new criterion has no parameter of ", m_original,
                            "; the nodes below the criterion have other names there"));
        network->Validate();
        return network;
    }

    static bool IsParameter(const ComputationNode& node)
    {
        return StoredValues(node) != nullptr && !node.IsPrecomputed();
    }

    // Later commands would miss such a node, for example a decoder next to the new criterion.
    void WarnOfOmitted(const ComputationNetwork& network, const ComputationNetwork& described) const
    {
        for (const NodeGroup group : {NodeGroup::Evaluation, NodeGroup::Output})
            for (const ComputationNodePtr& node : described.Group(group))
                if (network.Find(node->Name()) == nullptr)
                    m_command.program.log.Warn(
                        Concat("trainSequence: '", node->Name(), "' (", node->TypeName(),
                               ") of the described network does not come into the model, which takes the criterion and "
                               "the nodes below it; an edit command can add it"));
    }

    // True if an edit, SVD or convertdbn command of the config, which another run has executed, seems to have written
    // modelPath.0: a value of its block or its script names the file. The builder need not describe that model.
    bool IsStartNamedElsewhere() const
    {
        const std::string start = CanonicalPath(m_request.modelPath) + ".0";
        const std::string name = std::filesystem::path(start).filename().string();
        const ConfigParameters& root = *m_command.block.Parent();
        for (const NamedFile& file : FilesNamedIn(root))
        {
            const ConfigParameters* const block = root.FindBlock(file.key.substr(0, file.key.find(':')));
            const auto action = block != nullptr ? block->FindHere("action") : std::nullopt;
            const Action* const found = action ? FindAction(action->Text()) : nullptr;
            if (found == nullptr || (found->name != "edit" && found->name != "SVD" && found->name != "convertdbn"))
                continue;
            if (CanonicalPath(file.path) == start ||
                (ToLower(file.key).ends_with(":editpath") && ReadTextFile(file.path).find(name) != std::string::npos))
                return true;
        }
        return false;
    }

    // Random parameters of later commands, such as an edit that adds a layer, take the seeds after those of this
    // network. A resumed run must end with the same models, so it skips the seeds of a network that an earlier run has
    // built: then the model of epoch 0 has the values that building it again gives.
    void AdvanceSeeds()
    {
        NdlCounts& counts = m_command.program.ndl.counts;
        const NdlCounts before = counts;
        try
        {
            const std::shared_ptr<Device> device = DeviceForModels();
            const std::unique_ptr<ComputationNetwork> built = m_builder->Build(device);
            const std::string first = m_request.modelPath + ".0";
            if (!m_original.empty() || !FileExists(first) ||
                StartsAs(*LoadModel(first, m_request.dataType, device), *built))
                return;
        }
        catch (const Error&)
        {
            // The model exists, so its description may be missing.
        }
        counts = before;
    }

    static bool StartsAs(const ComputationNetwork& network, const ComputationNetwork& built)
    {
        const std::vector<ComputationNodePtr> nodes = built.Nodes();
        return std::all_of(nodes.begin(), nodes.end(),
                           [&](const ComputationNodePtr& node)
                           {
                               const ComputationNodePtr other = network.Find(node->Name());
                               return !IsParameter(*node) ||
                                      (other != nullptr && IsParameter(*other) &&
                                       StoredValues(*other)->ToHost() == StoredValues(*node)->ToHost());
                           });
    }

    // Errors get the place of the option that names the node, else of the node, else of the description.
    TrainingNodes ChooseNodes(const ComputationNetwork& network) const
    {
        const SgdOptions& options = m_request.options;
        const auto rethrow = [&](const Error& error, bool hasPlace)
        {
            for (const char* key : {"trainCriterionNodeName", "evalCriterionNodeName"})
                if (error.Message().starts_with(key))
                    throw error.At(m_sgd.WhereOf(key));
            if (!hasPlace && options.trainCriterionNodeName.empty())
                throw error.At(m_builder->Where());
        };
        try
        {
            return SelectTrainingNodes(network, options.trainCriterionNodeName, options.evalCriterionNodeName);
        }
        catch (const NodeError& error)
        {
            rethrow(error, m_command.program.ndl.FindPlace(error.Node()) != nullptr);
            throw;
        }
        catch (const Error& error)
        {
            rethrow(error, false);
            throw;
        }
    }

    std::unique_ptr<NetworkBuilder> m_builder;
};

class AdaptJob final : public OneNetworkJob
{
public:
    explicit AdaptJob(const CommandContext& command)
        : OneNetworkJob(command, ReadOptions<OriginalModelOptions>(command.block).originalModelFileName),
          m_refNodeName(ReadOptions<AdaptOptions>(command.block).refNodeName)
    {
        if (AdaptsByKL(m_request.options) && m_refNodeName.empty())
            FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name,
                   "': refNodeName is missing; adaptationRegType=KL needs the name of the original model's output node "
                   "(its posteriors)");
    }

    void Run() override
    {
        m_request.device = DeviceOf(m_command);
        m_request.buildNetwork = [this] { return LoadOriginal(m_request.device); };
        m_request.referenceNode = m_refNodeName;
        m_request.openReference = [this]
        {
            m_command.program.log.Print(
                "Load reference Network From the original model file %s.\nChecking refNodeName %s.\n",
                m_original.c_str(), m_refNodeName.c_str());
            std::unique_ptr<ComputationNetwork> reference =
                LoadModelOf(m_command, m_original, m_request.device, OriginalKey());
            CheckReference(*reference);
            return reference;
        };
        RunOneNetwork();
    }

    void Validate() const override
    {
        if (OpensData() && BeginsNew())
            RequireModel(m_command, m_original, OriginalKey());
    }

    void Check() override
    {
        RequireKept(Original());
        if (IsCheckedLater())
            return;
        const auto load = [this]
        { return LoadModelToCheck(m_command, m_original, DeviceOf(m_command), OriginalKey()); };
        const std::unique_ptr<ComputationNetwork> network = load();
        if (network == nullptr)
            return;
        const SgdOptions& options = m_request.options;
        if (AdaptsByKL(options))
            CheckReference(*network);
        CheckReaders(*network,
                     SelectTrainingNodes(*network, options.trainCriterionNodeName, options.evalCriterionNodeName),
                     [&](const MinibatchSource& source)
                     {
                         if (AdaptsByKL(options))
                             LabelMixer(load(), m_refNodeName, *network, source.Streams(), options.adaptationRegWeight);
                     });
    }

private:
    // Fails if the node is missing. Warns about values that are no posteriors: with labels outside of [0, 1] a cross
    // entropy falls without end.
    void CheckReference(const ComputationNetwork& reference) const
    {
        const SgdOptions& options = m_request.options;
        const ComputationNodePtr node =
            AtPlace([&] { return RequireReferenceNode(reference, m_refNodeName); }, PlaceOf(m_command, "refNodeName"));
        if (node->TypeName() == "Softmax" || node->TypeName() == "Exp")
            return;
        const TrainingNodes nodes =
            SelectTrainingNodes(reference, options.trainCriterionNodeName, options.evalCriterionNodeName);
        if (nodes.criterion->TypeName() == "CrossEntropyWithSoftmax")
            m_command.program.log.Warn(
                Concat(PlaceOf(m_command, "refNodeName").Location(), ": refNodeName '", node->Name(),
                       "' is a node of type ", node->TypeName(),
                       "; adaptationRegType=KL mixes the labels with posteriors, the values of a "
                       "Softmax node"));
    }

    std::string m_refNodeName;
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
                          DescribeOptions<TrainingJobOptions>()),
            {"SGD", "reader", "cvReader", "SimpleNetworkBuilder", "NDLNetworkBuilder"},
            PrepareJob<TrainJob>};
}

Action MakeTrainSequenceAction()
{
    return {"trainSequence",
            {"trainSequenceRNN"},
            "Trains a model further with the criterion of another network, such as one for whole sequences (CRF): the "
            "network that the builder describes has the new criterion, the parameters are those of the model.",
            "",
            WithModelPath("the model to train; modelPath.N after epoch N; may stand in SGD, too",
                          DescribeBoth<OriginalModelOptions, TrainingJobOptions>()),
            {"SGD", "reader", "cvReader", "SimpleNetworkBuilder", "NDLNetworkBuilder"},
            [](const CommandContext& command) -> std::unique_ptr<Job>
            {
                return std::make_unique<TrainJob>(
                    command, ReadOptions<OriginalModelOptions>(command.block).originalModelFileName);
            }};
}

Action MakeAdaptAction()
{
    std::vector<OptionInfo> options = DescribeBoth<OriginalModelOptions, AdaptOptions>();
    for (OptionInfo& option : DescribeOptions<TrainingJobOptions>())
        options.push_back(std::move(option));
    return {"adapt",
            {},
            "Trains a model further on other data.",
            "3.5.2",
            WithModelPath("the adapted model; modelPath.N after epoch N", std::move(options)),
            {"SGD", "reader", "cvReader"},
            PrepareJob<AdaptJob>};
}

} // namespace cntk
