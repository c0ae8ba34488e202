// Names and ages of files; nothing is opened or removed here.
#include "SGD/TrainingFiles.h"

#include "Common/File.h"

#include <filesystem>
#include <string_view>
#include <system_error>

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

// m.dnn.tmp, m.dnn.ckp.tmp, m.dnn.3.tmp, m.dnn.3.ckp.tmp: names that a training of m.dnn writes, and no others.
bool IsTemporaryOf(std::string_view file, std::string_view model)
{
    if (!file.starts_with(model) || !TakeSuffix(file, ".tmp"))
        return false;
    if (file.size() < model.size())
        return false;
    file.remove_prefix(model.size());
    TakeSuffix(file, ".ckp");
    if (file.empty())
        return true;
    return file.size() > 1 && file.size() < 20 && file[0] == '.' && (file[1] != '0' || file.size() == 2) &&
           file.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

} // namespace

std::string TrainingFiles::Model(size_t epochsDone) const
{
    return epochsDone >= m_maxEpochs ? m_modelPath : m_modelPath + "." + std::to_string(epochsDone);
}

std::optional<size_t> TrainingFiles::FindResumePoint(size_t atMost) const
{
    for (size_t epochs = atMost + 1; epochs-- > 0;)
    {
        const auto time = TimeOf(Model(epochs));
        if (!time)
            continue;
        const auto before = epochs == 0 ? std::nullopt : TimeOf(Model(epochs - 1));
        if (!before || *time >= *before)
            return epochs;
    }
    return std::nullopt;
}

std::vector<std::string> TrainingFiles::ObsoleteCheckpoints(size_t epochsDone, size_t interval, bool isOver) const
{
    const auto isNeeded = [&](size_t epochs)
    {
        const auto lookBefore = [&](size_t from) { return from / interval * interval; };
        // After the last epoch of an interval the training resumed there looks back by a whole interval.
        return (!isOver && epochs + 1 == epochsDone) || (interval > 1 && epochs == lookBefore(epochsDone)) ||
               (!isOver && interval > 1 && epochs == lookBefore(epochsDone - 1));
    };
    std::vector<std::string> obsolete;
    const size_t reach = 2 * interval + 1;
    for (size_t epochs = epochsDone > reach ? epochsDone - reach : 1; epochs < epochsDone; ++epochs)
    {
        if (!isNeeded(epochs))
            obsolete.push_back(Checkpoint(epochs));
    }
    return obsolete;
}

std::vector<std::string> TrainingFiles::StaleTemporaries() const
{
    const std::filesystem::path model(m_modelPath);
    const std::filesystem::path folder = model.parent_path().empty() ? "." : model.parent_path();
    const std::string name = model.filename().string();
    std::vector<std::string> stale;
    std::error_code error;
    for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    {
        std::error_code ignored;
        if (IsTemporaryOf(it->path().filename().string(), name) && it->is_regular_file(ignored))
            stale.push_back(it->path().string());
    }
    return stale;
}

} // namespace cntk
