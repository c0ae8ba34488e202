// Make mode's search for usable files.
#include "SGD/Files/ResumePoint.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "SGD/CheckpointExtra.h"
#include "SGD/Files/NetworkComparison.h"
#include "SGD/Schedules/Schedules.h"

namespace cntk
{

namespace
{

constexpr size_t c_largestCompared = 100'000'000; // elements: a network of this size takes a second to build

bool IsTooLargeToCompare(const ComputationNetwork& network)
{
    size_t elements = 0;
    for (const ComputationNodePtr& parameter : ParametersOf(network))
        elements += parameter->SampleElements();
    return elements > c_largestCompared;
}

} // namespace

void WarnOfOtherFinished(const ComputationNetwork& loaded, const std::string& path,
                         const std::function<std::unique_ptr<ComputationNetwork>()>& build, Log& log)
{
    if (IsTooLargeToCompare(loaded))
        return;
    const std::string difference = FirstDifference(loaded, *build());
    if (!difference.empty())
        log.Warn(Concat("the final model '", path, "' is not the network described now: ", difference,
                        "; nothing is trained: give makeMode=false or another modelPath to train the network described "
                        "now"));
}

void WarnOfOtherNetwork(const ComputationNetwork& loaded, const std::string& path,
                        const std::function<std::unique_ptr<ComputationNetwork>()>& build, Log& log,
                        uint64_t trainingSeed)
{
    if (IsTooLargeToCompare(loaded))
        return;
    std::string difference;
    try
    {
        const std::unique_ptr<ComputationNetwork> built = build();
        difference = FirstDifference(loaded, *built);
        if (difference.empty() && trainingSeed != 0 && !HaveSameValues(loaded, *built))
            log.Print("The start values are those of '%s', not what trainingSeed=%zu gives.\n", path.c_str(),
                      size_t(trainingSeed));
    }
    catch (const Error& error)
    {
        difference = Concat("the description cannot be built: ", error.Message());
    }
    if (!difference.empty())
        log.Warn(Concat("the model '", path, "' that is continued is not the network described now: ", difference,
                        "; the model's network is trained on; to start afresh give makeMode=false or another "
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

void WarnOfOtherFinishedSeed(const Checkpoint& checkpoint, const std::string& path, uint64_t trainingSeed, Log& log)
{
    if (const std::string before = SeedOf(checkpoint); before != std::to_string(trainingSeed))
        log.Warn(Concat("'", path, "' is of a training with trainingSeed=", before,
                        ", but the config has trainingSeed=", trainingSeed,
                        "; nothing is trained: give makeMode=false or another modelPath to train with it"));
}

void WarnOfOtherSeed(const Checkpoint& checkpoint, const std::string& path, uint64_t trainingSeed, Log& log)
{
    const std::string before = SeedOf(checkpoint);
    const std::string now = std::to_string(trainingSeed);
    if (before != now)
        log.Warn(Concat("'", path, "' is of a training with trainingSeed=", before,
                        ", which goes on with trainingSeed=", now,
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
    const std::vector<size_t> models = files.ModelsBehind(newest);
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
                        newest ? Concat("goes on from '", files.Model(*newest), "'") : "begins anew",
                        " and writes over them (where a copy changed the files' times, stop it, and touch the models "
                        "in the order of their epochs)"));
    else
        log.Print("makeMode=false: the training begins anew; models of an earlier one are written over as its epochs "
                  "end: %s\n",
                  named.c_str());
}

namespace
{

// Returns the number of epochs of the final model if it is below maxEpochs. File times are no proof: those of a copied
// folder are in copying order. The checkpoint's own number decides if it has one.
std::optional<size_t> EpochsOfFinalModel(const TrainingFiles& files, DataType dataType, Device& device)
{
    const auto epochs = files.EpochsOfFinalModel();
    if (!epochs || *epochs >= files.MaxEpochs())
        return epochs;
    try
    {
        const Checkpoint checkpoint = LoadCheckpoint(files.Checkpoint(files.MaxEpochs()), dataType, device);
        return size_t(NumberOf(checkpoint.info.extra, c_epochsDoneKey, double(*epochs)));
    }
    catch (const Error&)
    {
        return std::nullopt; // without its checkpoint the training does not go on as it was
    }
}

// "'m.0' to 'm.0.3' and 'm.1' to 'm.1.3'"
std::string RenamingOfNetworks(const TrainingFiles& files, const std::string& from, const std::string& to)
{
    std::vector<std::string> parts;
    for (size_t number = 0; number < files.Networks(); ++number)
        parts.push_back(Concat("'", files.OfNetwork(number, from), "' to '", files.OfNetwork(number, to), "'"));
    return Join(parts, " and ");
}

} // namespace

void TellOfFewerEpochs(const TrainingFiles& files, DataType dataType, Device& device, Log& log)
{
    const auto epochs = EpochsOfFinalModel(files, dataType, device);
    if (!epochs || *epochs >= files.MaxEpochs())
        return;
    const std::string& final = files.FinalModel();
    const std::string numbered = Concat(final, ".", *epochs);
    log.Print("It was trained for %s, but maxEpochs is %zu: to train it further, rename %s, and its checkpoint '%s' to "
              "'%s'.\n",
              Counted(*epochs, "epoch").c_str(), files.MaxEpochs(), RenamingOfNetworks(files, final, numbered).c_str(),
              files.Checkpoint(files.MaxEpochs()).c_str(), files.Checkpoint(*epochs).c_str());
}

void WarnOfNewerStart(const TrainingFiles& files, size_t epochsDone, const std::string& original, Log& log)
{
    const std::string first = epochsDone > 0 ? files.Model(0) : "";
    for (const std::string& start : {first, original})
    {
        if (start.empty() || !files.IsNewer(start, epochsDone))
            continue;
        log.Warn(Concat("'", files.Model(epochsDone), "' is older than '", start,
                        "', which its training begins with: it knows nothing of what was changed there since; to begin "
                        "anew with that, remove the models of '",
                        files.FinalModel(), "' ", start == first ? "but that one" : "and its epochs"));
        return;
    }
}

void TellOfLongerTraining(const TrainingFiles& files, size_t newest, Log& log)
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
    ResumePoint LoadModelAndCheckpoint(size_t newest) const;
    void FindTrial(ResumePoint& point) const;

    const TrainingFiles& m_files;
    DataType m_dataType;
    const std::shared_ptr<Device>& m_device;
    const NodeRegistry& m_registry;
    Log& m_log;
};

ResumePoint ResumePointLoader::Load(size_t newest) const
{
    ResumePoint point = LoadModelAndCheckpoint(newest);
    // Trials began with the checkpoint's smoothed gradients; without the checkpoint they would differ.
    if (point.network && !point.within && (point.checkpoint || point.epochsDone == 0))
        FindTrial(point);
    return point;
}

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
        if (within.epochsDone != epochsDone || within.trial != 0 || !m_files.IsUsable(within))
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

ResumePoint ResumePointLoader::LoadModelAndCheckpoint(size_t newest) const
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

// Looks for a point within a trial of the next search.
void ResumePointLoader::FindTrial(ResumePoint& point) const
{
    for (const WithinEpochPoint& place : m_files.WithinEpochPoints())
    {
        if (place.epochsDone != point.epochsDone || place.trial == 0 || !m_files.IsUsable(place))
            continue;
        point.trialCheckpoint = LoadCheckpointOf(m_files.Checkpoint(place), "the search begins anew");
        if (point.trialCheckpoint)
        {
            point.inTrial = place;
            return;
        }
    }
}

} // namespace

ResumePoint LoadResumePoint(const TrainingFiles& files, size_t newest, DataType dataType,
                            const std::shared_ptr<Device>& device, const NodeRegistry& registry, Log& log)
{
    return ResumePointLoader(files, dataType, device, registry, log).Load(newest);
}

} // namespace cntk
