// Make mode's search for usable files.
#include "SGD/Trainer/ResumePoint.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/Nodes/ConvolutionNode.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "SGD/CheckpointExtra.h"

#include <algorithm>
#include <set>
#include <utility>

namespace cntk
{

namespace
{

constexpr size_t c_largestCompared = 100'000'000; // elements: a network of this size takes a second to build

bool IsParameter(const ComputationNode& node)
{
    return As<LearnableParameterNode>(&node) != nullptr;
}

// Returns the parameters whose names are not generated. Networks that a run builds one after another continue the
// numbering of generated names.
std::vector<ComputationNodePtr> NamedParametersOf(const ComputationNetwork& network)
{
    std::vector<ComputationNodePtr> parameters = network.Nodes();
    std::erase_if(parameters,
                  [](const ComputationNodePtr& node) { return !IsParameter(*node) || IsGeneratedName(node->Name()); });
    return parameters;
}

std::string DifferenceOfParameters(const ComputationNetwork& loaded, const ComputationNetwork& described)
{
    for (const ComputationNodePtr& parameter : NamedParametersOf(described))
    {
        const ComputationNodePtr other = loaded.Find(parameter->Name());
        if (!other)
            return Concat("it has no parameter '", parameter->Name(), "' (", parameter->SampleLayout().ToString(), ")");
        if (other->SampleLayout() != parameter->SampleLayout())
            return Concat("its '", other->Name(), "' is ", other->SampleLayout().ToString(), ", but ",
                          parameter->SampleLayout().ToString(), " in the description");
    }
    for (const ComputationNodePtr& parameter : NamedParametersOf(loaded))
    {
        if (!described.Find(parameter->Name()))
            return Concat("its parameter '", parameter->Name(), "' (", parameter->SampleLayout().ToString(),
                          ") is not in the description");
    }
    return {};
}

// Returns the arguments of a node as a model file stores them. Empty if training changes them: statistics, counts, the
// memory limit of a convolution.
std::string ArgumentsOf(ComputationNode& node)
{
    std::string bytes;
    auto* const state = Interface<StepState>(node);
    if (node.InputCount() == 0 || node.IsPrecomputed() || (state != nullptr && state->StepCounter() != nullptr) ||
        As<ConvolutionNode>(&node) != nullptr)
        return bytes;
    ByteWriter out(&bytes);
    ModelArchive archive(out);
    archive.SetElementType(node.GetDataType());
    node.SerializeFields(archive);
    return bytes;
}

// Compares parameters and inputs by name; if neither has a name of its own, by their position.
std::string DifferenceOfLeaves(const ComputationNode& loaded, const ComputationNode& described)
{
    if (!IsGeneratedName(loaded.Name()) || !IsGeneratedName(described.Name()))
        return EqualsIgnoreCase(loaded.Name(), described.Name())
                   ? ""
                   : Concat("it has '", loaded.Name(), "' where '", described.Name(), "' stands in the description");
    if (!IsParameter(loaded) || loaded.SampleLayout() == described.SampleLayout())
        return {};
    return Concat("its '", loaded.Name(), "' is ", loaded.SampleLayout().ToString(), ", but ",
                  described.SampleLayout().ToString(), " in the description");
}

std::string DifferenceOf(ComputationNode& loaded, ComputationNode& described)
{
    if (loaded.TypeName() != described.TypeName())
        return Concat("its '", loaded.Name(), "' is ", loaded.TypeName(), ", but ", described.TypeName(),
                      " in the description");
    if (loaded.InputCount() != described.InputCount())
        return Concat("its '", loaded.Name(), "' (", loaded.TypeName(), ") has ", Counted(loaded.InputCount(), "input"),
                      ", but ", described.InputCount(), " in the description");
    if (loaded.InputCount() == 0)
        return DifferenceOfLeaves(loaded, described);
    if (ArgumentsOf(loaded) != ArgumentsOf(described))
        return Concat("its '", loaded.Name(), "' (", loaded.TypeName(), ") has other arguments in the description");
    return {};
}

// Searches depth first, inputs left to right. Each pair is compared once, so loops end.
std::string DifferenceBelow(const ComputationNodePtr& loaded, const ComputationNodePtr& described)
{
    using Pair = std::pair<ComputationNode*, ComputationNode*>;
    std::set<Pair> seen;
    std::vector<Pair> waiting{{loaded.get(), described.get()}};
    while (!waiting.empty())
    {
        const Pair pair = waiting.back();
        waiting.pop_back();
        if (!seen.insert(pair).second)
            continue;
        if (std::string difference = DifferenceOf(*pair.first, *pair.second); !difference.empty())
            return difference;
        for (size_t i = pair.first->InputCount(); i-- > 0;)
            waiting.emplace_back(pair.first->Input(i).get(), pair.second->Input(i).get());
    }
    return {};
}

std::string DifferenceOfCriteria(const ComputationNetwork& loaded, const ComputationNetwork& described)
{
    for (const auto& [group, noun] :
         {std::pair(NodeGroup::Criterion, "criterion node"), std::pair(NodeGroup::Evaluation, "evaluation node")})
    {
        const auto& ours = loaded.Group(group);
        const auto& theirs = described.Group(group);
        if (ours.size() != theirs.size())
            return Concat("it has ", Counted(ours.size(), noun), ", but ", theirs.size(), " in the description");
        for (size_t i = 0; i < ours.size(); ++i)
            if (std::string difference = DifferenceBelow(ours[i], theirs[i]); !difference.empty())
                return difference;
    }
    return {};
}

bool IsTooLargeToCompare(const ComputationNetwork& network)
{
    size_t elements = 0;
    for (const ComputationNodePtr& parameter : NamedParametersOf(network))
        elements += parameter->SampleElements();
    return elements > c_largestCompared;
}

} // namespace

std::string FirstDifference(const ComputationNetwork& loaded, const ComputationNetwork& described)
{
    std::string difference = DifferenceOfParameters(loaded, described);
    return difference.empty() ? DifferenceOfCriteria(loaded, described) : difference;
}

void WarnOfOtherNetwork(const ComputationNetwork& loaded, const std::string& path, bool isFinished,
                        const std::function<std::unique_ptr<ComputationNetwork>()>& build, Log& log)
{
    if (IsTooLargeToCompare(loaded))
        return;
    std::string difference;
    try
    {
        difference = FirstDifference(loaded, *build());
    }
    catch (const Error& error)
    {
        difference = Concat("the description cannot be built: ", error.Message());
    }
    if (difference.empty())
        return;
    const char* const subject = isFinished ? "the final model '" : "the model '";
    log.Warn(Concat(subject, path, isFinished ? "'" : "' that is continued",
                    " is not the network described now: ", difference,
                    isFinished ? "; nothing is trained: give makeMode=false or another modelPath to train the network "
                                 "described now"
                               : "; the model's network is trained on; to start afresh give makeMode=false or another "
                                 "modelPath"));
}

namespace
{

std::string SeedOf(const Checkpoint& checkpoint)
{
    const auto found = checkpoint.info.extra.find(c_trainingSeedKey);
    return found == checkpoint.info.extra.end() ? "0" : found->second;
}

const char* ListOfRates(const SgdOptions& options)
{
    return options.learningRatesPerMB.empty() ? "learningRatesPerSample" : "learningRatesPerMB";
}

const Schedule<float>& RatesOf(const SgdOptions& options)
{
    return options.learningRatesPerMB.empty() ? options.learningRatesPerSample : options.learningRatesPerMB;
}

} // namespace

void WarnOfOtherSeed(const Checkpoint& checkpoint, const std::string& path, bool isFinished, uint64_t trainingSeed,
                     Log& log)
{
    const std::string before = SeedOf(checkpoint);
    const std::string now = std::to_string(trainingSeed);
    if (before == now)
        return;
    const std::string training = Concat("'", path, "' is of a training with trainingSeed=", before);
    if (isFinished)
        log.Warn(Concat(training, ", but the config has trainingSeed=", now,
                        "; nothing is trained: give makeMode=false or another modelPath to train with it"));
    else
        log.Warn(Concat(training, ", which continues with trainingSeed=", now,
                        ": from here on other random numbers are drawn; the models are those of neither seed"));
}

void SaveListedRate(const SgdOptions& options, std::map<std::string, std::string>& extra)
{
    if (options.autoAdjust.autoAdjustLR != LearningRateSearch::None && LearningRateCount(options) > 0)
        extra[ListOfRates(options)] = ExactText(double(RatesOf(options).values.back()));
}

void WarnOfOtherListedRate(const Checkpoint& checkpoint, const std::string& path, const SgdOptions& options,
                           size_t epoch, Log& log)
{
    const size_t count = LearningRateCount(options);
    const LearningRateSearch mode = options.autoAdjust.autoAdjustLR;
    if (mode == LearningRateSearch::None || count == 0 || epoch < count)
        return;
    const std::string list = ListOfRates(options);
    const float now = RatesOf(options).values.back();
    const double before = NumberOf(checkpoint.info.extra, list, double(now));
    if (before == double(now))
        return;
    log.Warn(Concat(list, " ends with ", PrintNumber(now), ", and ended with ", PrintNumber(float(before)), " when '",
                    path, "' was saved: that has no effect on epoch ", epoch + 1, ", whose rate ",
                    mode == LearningRateSearch::SearchBeforeEpoch
                        ? "autoAdjustLR=searchBeforeEpoch looks for"
                        : Concat("is what autoAdjustLR=adjustAfterEpoch has come to (",
                                 checkpoint.info.learningRatePerSample, " per sample)"),
                    "; a list of at least ", epoch + 1, " rates says that epoch's own"));
}

void WarnOfPassedOver(const TrainingFiles& files, bool makeMode, std::optional<size_t> newest, Log& log)
{
    constexpr size_t c_mostNamed = 4;
    const std::vector<size_t> models = files.LaterModels(newest);
    if (models.empty())
        return;
    std::string named;
    for (size_t i = 0; i < std::min(models.size(), c_mostNamed); ++i)
    {
        const std::string why = makeMode ? " " + files.WhyUnusable(models[i]) : "";
        named += Concat(i == 0 ? "" : ", ", "'", files.Model(models[i]), "'", why);
    }
    if (models.size() > c_mostNamed)
        named += Concat(" and ", models.size() - c_mostNamed, " more");
    if (makeMode)
        log.Warn(Concat("models of more epochs are passed over: ", named, "; the training ",
                        newest ? Concat("continues from '", files.Model(*newest), "'") : "restarts",
                        " and writes over them (where a copy changed the files' times, stop it, and touch the models "
                        "in the order of their epochs)"));
    else
        log.Print("makeMode=false: the training restarts; models of an earlier one are overwritten as its epochs "
                  "end: %s\n",
                  named.c_str());
}

namespace
{

// "'m.0' to 'm.0.3' and 'm.1' to 'm.1.3'"
std::string RenamingOfNetworks(const TrainingFiles& files, const std::string& from, const std::string& to)
{
    std::vector<std::string> parts;
    for (size_t number = 0; number < files.Networks(); ++number)
        parts.push_back(Concat("'", files.OfNetwork(number, from), "' to '", files.OfNetwork(number, to), "'"));
    return Join(parts, " and ");
}

} // namespace

std::optional<size_t> FindRaisedEpochs(const TrainingFiles& files, const Checkpoint& finalCheckpoint)
{
    const auto epochs = size_t(NumberOf(finalCheckpoint.info.extra, c_epochsDoneKey, double(files.MaxEpochs())));
    return epochs > 0 && epochs < files.MaxEpochs() ? std::optional<size_t>(epochs) : std::nullopt;
}

// The checkpoint is renamed first: if the process is killed between the two, the final model is still there.
void ContinueFinalModel(const TrainingFiles& files, size_t epochs, Log& log)
{
    log.Print("'%s' was trained for %s, and maxEpochs is %zu now: the training continues from it, as '%s'.\n",
              files.FinalModel().c_str(), Counted(epochs, "epoch").c_str(), files.MaxEpochs(),
              files.Model(epochs).c_str());
    files.WaitForWorkers(); // all workers have checked the files
    if (files.AreWrittenHere())
        files.MoveFinalModel(epochs);
    files.WaitForWorkers();
}

void ReportLongerTraining(const TrainingFiles& files, size_t newest, Log& log)
{
    const std::string& final = files.FinalModel();
    const std::string numbered = Concat(final, ".", files.MaxEpochs());
    if (newest >= files.MaxEpochs() || !files.HasAll(numbered))
        return;
    log.Print(
        "'%s' is of a training with more epochs than maxEpochs=%zu: epoch %zu is trained now, again; to take that "
        "model as it is, stop, and rename %s.\n",
        numbered.c_str(), files.MaxEpochs(), newest + 1, RenamingOfNetworks(files, numbered, final).c_str());
}

namespace
{

// Loads the newest usable models and checkpoints.
class ResumePointLoader
{
public:
    ResumePointLoader(const TrainingFiles& files, DataType dataType, const std::shared_ptr<Device>& device,
                      const NodeRegistry& registry, Log& log)
        : m_files(files), m_dataType(dataType), m_device(device), m_registry(registry), m_log(log)
    {
    }
    ResumePoint Load(size_t newest) const;

private:
    template <class LoadFile>
    auto LoadUnlessDamaged(const std::string& path, const char* consequence, LoadFile&& load) const -> decltype(load());
    void LoadNetworks(const std::string& modelPath, const char* consequence, ResumePoint& point) const;
    std::optional<Checkpoint> LoadCheckpointOf(const std::string& path, const char* consequence) const;
    ResumePoint LoadWithinEpoch(size_t epochsDone) const;

    const TrainingFiles& m_files;
    DataType m_dataType;
    const std::shared_ptr<Device>& m_device;
    const NodeRegistry& m_registry;
    Log& m_log;
};

// Returns null and warns if the file is damaged. Other errors (a file that cannot be opened, no memory) propagate:
// using an older model would hide them.
template <class LoadFile>
auto ResumePointLoader::LoadUnlessDamaged(const std::string& path, const char* consequence, LoadFile&& load) const
    -> decltype(load())
{
    try
    {
        return load();
    }
    catch (const Error& error)
    {
        if (error.Kind() != ErrorKind::Model)
            throw;
        m_log.Warn(Concat("'", path, "' cannot be used: ", error.Message(), "; ", consequence));
        return {};
    }
}

// Loads all networks of the model. The point's network stays null if one of them is damaged.
void ResumePointLoader::LoadNetworks(const std::string& modelPath, const char* consequence, ResumePoint& point) const
{
    for (size_t number = 0; number < m_files.Networks(); ++number)
    {
        const std::string path = m_files.OfNetwork(number, modelPath);
        m_log.Print("Starting from checkpoint. Loading network from '%s'.\n", path.c_str());
        auto network =
            LoadUnlessDamaged(path, consequence, [&] { return LoadModel(path, m_dataType, m_device, m_registry); });
        if (!network)
            return;
        if (number + 1 == m_files.Networks())
            point.network = std::move(network);
        else
            point.encoders.push_back(std::move(network));
    }
}

std::optional<Checkpoint> ResumePointLoader::LoadCheckpointOf(const std::string& path, const char* consequence) const
{
    return LoadUnlessDamaged(path, consequence,
                             [&] { return std::optional<Checkpoint>(LoadCheckpoint(path, m_dataType, *m_device)); });
}

// Loads a point within the next epoch; returns an empty one if there is none.
ResumePoint ResumePointLoader::LoadWithinEpoch(size_t epochsDone) const
{
    for (const WithinEpochPoint& within : m_files.WithinEpochPoints())
    {
        if (within.epochsDone != epochsDone || !m_files.IsUsable(within))
            continue;
        const char* consequence = "going back to the checkpoint before it";
        ResumePoint point;
        point.epochsDone = epochsDone;
        point.within = within;
        LoadNetworks(m_files.Model(within), consequence, point);
        if (!point.network)
            continue;
        point.checkpoint = LoadCheckpointOf(m_files.Checkpoint(within), consequence);
        if (point.checkpoint)
            return point;
    }
    return {};
}

ResumePoint ResumePointLoader::Load(size_t newest) const
{
    auto epochs = std::optional<size_t>(newest);
    while (epochs)
    {
        if (ResumePoint within = LoadWithinEpoch(*epochs); within.network)
            return within;
        ResumePoint point;
        point.epochsDone = *epochs;
        LoadNetworks(m_files.Model(*epochs), "going back to the model before it", point);
        if (!point.network)
        {
            epochs = *epochs == 0 ? std::nullopt : m_files.FindResumePoint(*epochs - 1);
            continue;
        }
        if (*epochs == 0)
            return point;

        const std::string checkpointPath = m_files.Checkpoint(*epochs);
        if (!FileExists(checkpointPath))
        {
            m_log.Print("Warning: Checkpoint file is missing. Learning parameters will be initialized from 0\n");
            return point;
        }
        const bool hasOlder = FileExists(m_files.Checkpoint(*epochs - 1)) && FileExists(m_files.Model(*epochs - 1));
        point.checkpoint = LoadCheckpointOf(
            checkpointPath,
            hasOlder ? "going back to the checkpoint before it"
                     : "there is no older checkpoint: continuing from the model, with smoothed gradients of 0");
        if (point.checkpoint || !hasOlder)
            return point;
        epochs = *epochs - 1;
    }
    return {};
}

} // namespace

ResumePoint LoadResumePoint(const TrainingFiles& files, size_t newest, DataType dataType,
                            const std::shared_ptr<Device>& device, const NodeRegistry& registry, Log& log)
{
    return ResumePointLoader(files, dataType, device, registry, log).Load(newest);
}

} // namespace cntk
