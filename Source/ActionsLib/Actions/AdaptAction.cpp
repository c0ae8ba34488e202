// action=adapt (book 3.5.2): trains a model further on other data.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Commands/CommandDevice.h"
#include "ActionsLib/Commands/CommandKeys.h"
#include "ActionsLib/Commands/CommandModels.h"
#include "ActionsLib/Commands/ErrorPlaces.h"
#include "ActionsLib/Commands/LookAhead.h"
#include "ActionsLib/Commands/NetworkLog.h"
#include "ActionsLib/Commands/ReaderSource.h"
#include "ActionsLib/Commands/SourceCheck.h"
#include "ActionsLib/Commands/TracedTraining.h"
#include "ActionsLib/Commands/TrainingPlan.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Interruption.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "SGD/Evaluation/Criteria.h"
#include "SGD/Minibatches/MinibatchSource.h"

namespace cntk
{
namespace
{

struct AdaptOptions
{
    std::string originalModelFileName;
    std::string refNodeName;
    bool makeMode = true;

    static OptionTable<AdaptOptions> Options()
    {
        using S = AdaptOptions;
        return {
            Opt("originalModelFileName", &S::originalModelFileName, "the model to begin with", {"origModelFileName"})
                .Required(),
            Opt("refNodeName", &S::refNodeName,
                "node of the original model whose values are mixed into the labels under adaptationRegType=KL"),
            Opt("makeMode", &S::makeMode,
                "true: continue from the newest usable model, do nothing if the final model is there; false: start "
                "afresh"),
        };
    }
};

class AdaptJob final : public Job
{
public:
    explicit AdaptJob(const CommandContext& command)
        : m_command(command), m_options(ReadOptions<AdaptOptions>(command.block)),
          m_reader(RequireReader(command, "reader")), m_cvReader(FindReader(command, "cvReader"))
    {
        AskForDevice(command);
        m_request.options = ReadSgdOptions(command, RequireSgdBlock(command));
        m_request.modelPath = RequireTrainedModelPath(command);
        m_request.makeMode = m_options.makeMode;
        std::vector<NamedFile> read{{OriginalKey(), m_options.originalModelFileName}};
        for (const ReaderSource* reader : {&m_reader, &m_cvReader})
            if (*reader)
                for (NamedFile& file : FilesNamedIn(*reader->block))
                    read.push_back(std::move(file));
        RequireNotRead({"modelPath", m_request.modelPath}, read, PlaceOfTrainedModel(command));
        if (!m_request.makeMode)
            RequireNoEpochOf(Files(), std::nullopt, Original(), PlaceOfTrainedModel(command));
        m_request.dataType = command.program.dataType;
        m_request.trainingSeed = TrainingSeedOf(command);
        m_request.fsAdagradColumns = &command.program.fsAdagradColumns;
        if (AdaptsByKL(m_request.options) && m_options.refNodeName.empty())
            FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name,
                   "': refNodeName is missing; adaptationRegType=KL needs the name of the original model's output node "
                   "(its posteriors)");
    }

    size_t Epochs() const override { return m_request.options.maxEpochs; }
    std::vector<std::string> Produces() const override { return {m_request.modelPath}; }

    void Run() override
    {
        Log& log = m_command.program.log;
        const std::shared_ptr<Device> device = DeviceOf(m_command);
        m_request.device = device;
        m_request.buildNetwork = [&]
        {
            log.Print("Load Network From the original model file %s.\n", m_options.originalModelFileName.c_str());
            return LoadOriginal(device);
        };
        m_request.openReader = [this] { return OpenReader(m_reader); };
        if (m_cvReader)
            m_request.openCvReader = [this] { return OpenReader(m_cvReader); };
        m_request.networkReady = [&](const ComputationNetwork& network, bool isLoaded)
        {
            LogNetwork(log, network, TraceLevelOf(m_command));
            log.Print("\n%s model with %d nodes on %s.\n", isLoaded ? "Loaded" : "Created", int(network.size()),
                      DeviceWords(*device).c_str());
        };
        m_request.referenceNode = m_options.refNodeName;
        m_request.openReference = [&]
        {
            log.Print("Load reference Network From the original model file %s.\nChecking refNodeName %s.\n",
                      m_options.originalModelFileName.c_str(), m_options.refNodeName.c_str());
            std::unique_ptr<ComputationNetwork> reference = LoadOriginal(device);
            CheckReference(*reference);
            return reference;
        };
        if (m_request.makeMode)
            RequireNoEpochOf(Files(), Files().FindResumePoint(), Original(), PlaceOfTrainedModel(m_command));
        const GracefulStop graceful;
        m_request.stopRequested = StopRequested;
        m_request.workers = m_command.program.workers;
        TrainTraced(m_command, m_request);
    }

    bool MayBeOver(const FilesToCome& files) const override
    {
        return cntk::MayBeOver(Files(), m_request.makeMode, files);
    }

    void LookAhead(const FilesToCome& files) const override
    {
        if (!MayBeOver(files) && (!m_request.makeMode || !Files().FindResumePoint()))
            RequireModelToCome(m_command, m_options.originalModelFileName, files, OriginalKey());
    }

    void Check() override
    {
        Log& log = m_command.program.log;
        const std::unique_ptr<ComputationNetwork> original =
            LoadModelToCheck(m_command, m_options.originalModelFileName, DeviceOf(m_command), OriginalKey());
        TrainingPlan plan(m_command, m_request);
        plan.RequireKept(Original(), PlaceOfTrainedModel(m_command));
        if (original != nullptr && AdaptsByKL(m_request.options))
            CheckReference(*original);
        ComputationNetwork* const network = plan.Start(original.get());
        if (network == nullptr)
            return plan.Finish();
        const TrainingNodes nodes = SelectTrainingNodes(*network, m_request.options.trainCriterionNodeName,
                                                        m_request.options.evalCriterionNodeName);
        const NodeTracer tracer(*network, m_request.options, log);
        for (const ReaderSource* reader : {&m_reader, &m_cvReader})
        {
            if (!*reader || !reader->CanBeChecked())
                continue;
            const std::unique_ptr<MinibatchSource> source = OpenReader(*reader);
            if (reader == &m_reader && original != nullptr &&
                AdaptsByKL(m_request.options)) // its outputs and the labels can be mixed
                LabelMixer(
                    LoadModelToCheck(m_command, m_options.originalModelFileName, DeviceOf(m_command), OriginalKey()),
                    m_options.refNodeName, *network, source->Streams(), m_request.options.adaptationRegWeight);
            CheckSource(log, *network, tracer.AddTo(nodes.Roots()), *source, m_request.options.minibatchSize[0],
                        CheckFor::Training);
        }
        plan.Finish();
    }

private:
    std::unique_ptr<MinibatchSource> OpenReader(const ReaderSource& reader) const
    {
        return reader.OpenFor({"modelPath", ResolveOutputPath(m_request.modelPath)}, PlaceOfTrainedModel(m_command));
    }

    // The original may be the model of an epoch of modelPath itself: the adaptation then goes on with it, but must not
    // write it anew.
    NamedFile Original() const { return {OriginalKey(), m_options.originalModelFileName}; }
    TrainingFiles Files() const
    {
        return TrainingFiles(ResolveOutputPath(m_request.modelPath), m_request.options.maxEpochs);
    }

    // The node is there. Labels mixed with numbers of any size are no targets of a cross entropy; the criterion falls
    // without end.
    void CheckReference(const ComputationNetwork& reference) const
    {
        const SgdOptions& options = m_request.options;
        const ComputationNodePtr node = AtPlace([&] { return RequireReferenceNode(reference, m_options.refNodeName); },
                                                PlaceOf(m_command, "refNodeName"));
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

    std::unique_ptr<ComputationNetwork> LoadOriginal(std::shared_ptr<Device> device) const
    {
        return LoadModelOf(m_command, m_options.originalModelFileName, std::move(device), OriginalKey());
    }

    // As the user spells it.
    const char* OriginalKey() const
    {
        return m_command.block.Exists("originalModelFileName") ? "originalModelFileName" : "origModelFileName";
    }

    CommandContext m_command;
    AdaptOptions m_options;
    ReaderSource m_reader;
    ReaderSource m_cvReader;
    TrainingRequest m_request;
};

} // namespace

Action MakeAdaptAction()
{
    return {"adapt",
            {},
            "Trains a model further on other data.",
            "3.5.2",
            WithModelPath("the adapted model; modelPath.N after epoch N", DescribeOptions<AdaptOptions>()),
            {"SGD", "reader", "cvReader"},
            [](const CommandContext& command) -> std::unique_ptr<Job> { return std::make_unique<AdaptJob>(command); }};
}

} // namespace cntk
