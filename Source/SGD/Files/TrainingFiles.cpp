#include "SGD/Files/TrainingFiles.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ModelFile.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace cntk
{

namespace
{

using FileTime = std::filesystem::file_time_type;

std::optional<FileTime> TimeOf(const std::string& path)
{
    std::error_code error;
    const auto time = std::filesystem::last_write_time(ResolveInputPath(path), error);
    return error ? std::nullopt : std::optional<FileTime>(time);
}

bool TakeSuffix(std::string_view& text, std::string_view suffix)
{
    if (!text.ends_with(suffix))
        return false;
    text.remove_suffix(suffix.size());
    return true;
}

// Removes a number from the beginning of the text; accepts the form of std::to_string only.
std::optional<size_t> TakeNumber(std::string_view& text)
{
    size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || (text[0] == '0' && end != text.data() + 1))
        return std::nullopt;
    text.remove_prefix(size_t(end - text.data()));
    return value;
}

bool TakePrefix(std::string_view& text, std::string_view prefix)
{
    if (!text.starts_with(prefix))
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

// Reads ".2.at500", the text after the model's name.
std::optional<WithinEpochPoint> PointOf(std::string_view text)
{
    if (!TakePrefix(text, "."))
        return std::nullopt;
    const auto epochs = TakeNumber(text);
    if (!epochs || !TakePrefix(text, ".at"))
        return std::nullopt;
    const auto minibatches = TakeNumber(text);
    if (!minibatches || !text.empty())
        return std::nullopt;
    return WithinEpochPoint{*epochs, *minibatches};
}

// True for names that a training of m.dnn writes: m.dnn.tmp, m.dnn.ckp.tmp, m.dnn.3.tmp, m.dnn.3.ckp.tmp,
// m.dnn.3.at10.tmp, m.dnn.best.tmp.
bool IsTemporaryOf(std::string_view file, std::string_view model)
{
    if (!TakePrefix(file, model) || !TakeSuffix(file, ".tmp"))
        return false;
    if (file == ".best")
        return true;
    TakeSuffix(file, ".ckp");
    if (file.empty() || PointOf(file))
        return true;
    return TakePrefix(file, ".") && TakeNumber(file) && file.empty();
}

// Fails (Device) if the folder exists but cannot be read. Otherwise the training would miss its own models.
template <class Visit>
void VisitFiles(const std::string& modelPath, Visit&& visit)
{
    const std::filesystem::path model(modelPath);
    const std::filesystem::path folder = model.parent_path().empty() ? "." : model.parent_path();
    std::error_code error;
    for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    {
        std::error_code ignored;
        if (it->is_regular_file(ignored))
            visit(it->path(), model.filename().string());
    }
    if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
        Fail(ErrorKind::Device, "cannot list folder '", folder.string(), "', which has the models of '", modelPath,
             "': ", error.message());
}

// Returns the numbers of epochs for which a file modelPath.<epochs><suffix> exists, in descending order.
std::vector<size_t> NumbersOfFiles(const std::string& modelPath, std::string_view suffix)
{
    std::vector<size_t> numbers;
    VisitFiles(modelPath,
               [&](const std::filesystem::path& path, const std::string& model)
               {
                   const std::string name = path.filename().string();
                   std::string_view rest = name;
                   if (!TakePrefix(rest, model + ".") || !TakeSuffix(rest, suffix))
                       return;
                   const auto epochs = TakeNumber(rest);
                   if (epochs && rest.empty())
                       numbers.push_back(*epochs);
               });
    std::sort(numbers.rbegin(), numbers.rend());
    return numbers;
}

void Rename(const std::string& from, const std::string& to)
{
    std::error_code error;
    std::filesystem::rename(from, to, error);
    if (error)
        Fail(ErrorKind::Device, "cannot rename file '", from, "' to '", to, "': ", error.message());
}

} // namespace

TrainingFiles TrainingFiles::OfNetworks(const std::string& modelPath, size_t maxEpochs, size_t networks)
{
    TrainingFiles files(modelPath, maxEpochs);
    if (networks > 1)
        files.m_modelPath += "." + std::to_string(networks - 1);
    files.m_networks = networks;
    return files;
}

std::string TrainingFiles::OfNetwork(size_t number, const std::string& model) const
{
    if (m_networks == 1)
        return model;
    return m_checkpointPath + "." + std::to_string(number) + model.substr(m_modelPath.size());
}

// The last network's model is written after the others'.
bool TrainingFiles::HasAll(const std::string& model) const
{
    for (size_t number = 0; number < m_networks; ++number)
        if (!TimeOf(OfNetwork(number, model)))
            return false;
    return true;
}

std::string TrainingFiles::Model(size_t epochsDone) const
{
    return epochsDone >= m_maxEpochs ? m_modelPath : m_modelPath + "." + std::to_string(epochsDone);
}

std::optional<size_t> TrainingFiles::NewestCheckpoint() const
{
    if (FileExists(Checkpoint(m_maxEpochs)))
        return m_maxEpochs;
    const std::vector<size_t> numbers = NumbersOfFiles(m_checkpointPath, ".ckp");
    return numbers.empty() ? std::nullopt : std::optional<size_t>(numbers[0]);
}

std::optional<size_t> TrainingFiles::FindResumePoint(size_t atMost) const
{
    // Checks only epochs that have files: maxEpochs may be a billion.
    for (const size_t epochs : LaterModels(std::nullopt))
        if (epochs <= atMost && WhyUnusable(epochs).empty())
            return epochs;
    return std::nullopt;
}

std::string TrainingFiles::WhyUnusable(size_t epochsDone) const
{
    const auto time = TimeOf(Model(epochsDone));
    if (!time)
        return "is missing";
    if (!HasAll(Model(epochsDone)))
        return "lacks the model of another network of that epoch";
    const auto before = epochsDone == 0 ? std::nullopt : TimeOf(Model(epochsDone - 1));
    return !before || *time >= *before ? "" : Concat("is older than '", Model(epochsDone - 1), "'");
}

std::string TrainingFiles::StampOf(size_t epochsDone) const
{
    std::string stamp;
    for (size_t number = 0; number < m_networks; ++number)
    {
        const auto time = TimeOf(OfNetwork(number, Model(epochsDone)));
        if (!time)
            return "";
        stamp += Concat(number == 0 ? "" : " ", time->time_since_epoch().count());
    }
    return stamp;
}

std::vector<size_t> TrainingFiles::LaterModels(std::optional<size_t> behind) const
{
    std::vector<size_t> numbers = NumbersOfFiles(m_modelPath, "");
    std::erase_if(numbers, [&](size_t epochs) { return epochs >= m_maxEpochs || (behind && epochs <= *behind); });
    if (FileExists(FinalModel()) && (!behind || *behind < m_maxEpochs))
        numbers.insert(numbers.begin(), m_maxEpochs);
    return numbers;
}

bool TrainingFiles::IsNeeded(size_t epochs, size_t epochsDone, size_t interval, bool isOver)
{
    const auto lookBefore = [&](size_t from) { return from / interval * interval; };
    // A training resumed after the last epoch of an interval may roll back by a whole interval.
    return (!isOver && epochs + 1 == epochsDone) || (interval > 1 && epochs == lookBefore(epochsDone)) ||
           (!isOver && interval > 1 && epochs == lookBefore(epochsDone - 1));
}

std::vector<std::string> TrainingFiles::ObsoleteCheckpoints(size_t epochsDone, size_t interval, bool isOver) const
{
    std::vector<std::string> obsolete;
    const size_t reach = 2 * interval + 1;
    for (size_t epochs = epochsDone > reach ? epochsDone - reach : 1; epochs < epochsDone; ++epochs)
    {
        if (!IsNeeded(epochs, epochsDone, interval, isOver))
            obsolete.push_back(Checkpoint(epochs));
    }
    return obsolete;
}

std::vector<std::string> TrainingFiles::StaleTemporaries() const
{
    std::vector<std::string> stale;
    const auto visit = [&](const std::filesystem::path& path, const std::string& model)
    {
        if (IsTemporaryOf(path.filename().string(), model))
            stale.push_back(path.string());
    };
    for (size_t number = 0; number < m_networks; ++number)
        VisitFiles(OfNetwork(number, m_modelPath), visit);
    if (m_networks > 1)
        VisitFiles(m_checkpointPath, visit);
    return stale;
}

std::string TrainingFiles::Model(const WithinEpochPoint& point) const
{
    return m_modelPath + "." + std::to_string(point.epochsDone) + ".at" + std::to_string(point.minibatches);
}

std::vector<WithinEpochPoint> TrainingFiles::WithinEpochPoints() const
{
    std::vector<WithinEpochPoint> points;
    const auto visit = [&](const std::filesystem::path& path, const std::string& model)
    {
        const std::string name = path.filename().string();
        std::string_view rest = name;
        if (!TakePrefix(rest, model))
            return;
        TakeSuffix(rest, ".ckp");
        const auto point = PointOf(rest);
        if (point && std::find(points.begin(), points.end(), *point) == points.end())
            points.push_back(*point);
    };
    // A training of several networks may have been killed before it wrote the last network's model.
    for (size_t number = 0; number < m_networks; ++number)
        VisitFiles(OfNetwork(number, m_modelPath), visit);
    std::sort(points.rbegin(), points.rend());
    return points;
}

std::string TrainingFiles::WhyUnusable(const WithinEpochPoint& point) const
{
    const auto model = TimeOf(Model(point));
    const auto checkpoint = TimeOf(Checkpoint(point));
    const auto begin = TimeOf(Model(point.epochsDone));
    if (!model)
        return "is missing";
    if (!HasAll(Model(point)))
        return "lacks the model of another network";
    if (!checkpoint)
        return Concat("lacks its checkpoint '", Checkpoint(point), "'");
    if (!begin)
        return Concat("lacks '", Model(point.epochsDone), "', which its epoch began with");
    if (*model < *begin)
        return Concat("is older than '", Model(point.epochsDone), "', which its epoch began with");
    return *checkpoint >= *model ? "" : "is newer than its checkpoint, which is written after it";
}

bool TrainingFiles::IsOutlived(const WithinEpochPoint& point, std::optional<size_t> epochsDone,
                               const std::optional<WithinEpochPoint>& within) const
{
    const auto time = TimeOf(Checkpoint(point));
    if (!time || !TimeOf(Model(point)))
        return true;
    if (!epochsDone)
        return false;
    const WithinEpochPoint start = within.value_or(WithinEpochPoint{*epochsDone, 0});
    // A newer point of fewer epochs belongs to a training that was restarted.
    const auto startTime = TimeOf(within ? Checkpoint(*within) : Model(*epochsDone));
    return point <= start && startTime && *time <= *startTime;
}

std::string TrainingFiles::MoveAside(const WithinEpochPoint& point) const
{
    std::string suffix = ".old";
    for (size_t number = 2; FileExists(Model(point) + suffix) || FileExists(Checkpoint(point) + suffix); ++number)
        suffix = ".old" + std::to_string(number);
    Rename(Checkpoint(point), Checkpoint(point) + suffix);
    for (size_t network = 0; network < m_networks; ++network)
        if (const std::string model = OfNetwork(network, Model(point)); FileExists(model))
            Rename(model, model + suffix);
    return Model(point) + suffix;
}

void TrainingFiles::MoveFinalModel(size_t epochs) const
{
    Rename(Checkpoint(m_maxEpochs), Checkpoint(epochs));
    for (size_t network = 0; network < m_networks; ++network)
        Rename(OfNetwork(network, FinalModel()), OfNetwork(network, Model(epochs)));
}

void SaveModels(const TrainedNetworks& networks, const TrainingFiles& files, const std::string& path)
{
    for (size_t i = 0; i < networks.size() && files.AreWrittenHere(); ++i)
        SaveModel(*networks[i], files.OfNetwork(i, path));
    files.WaitForWorkers();
}

void ReloadModels(const TrainedNetworks& networks, const TrainingFiles& files, const std::string& path)
{
    for (size_t i = 0; i < networks.size(); ++i)
        ReloadParameters(*networks[i], files.OfNetwork(i, path));
}

void RemovePoint(const TrainingFiles& files, const WithinEpochPoint& point)
{
    if (!files.AreWrittenHere())
        return;
    RemoveFile(files.Checkpoint(point));
    for (size_t network = 0; network < files.Networks(); ++network)
        RemoveFile(files.OfNetwork(network, files.Model(point)));
}

} // namespace cntk
