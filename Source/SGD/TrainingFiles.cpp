// Names and ages of files; nothing is opened here.
#include "SGD/TrainingFiles.h"

#include "Common/File.h"

#include <filesystem>
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

std::vector<std::string> TrainingFiles::ObsoleteCheckpoints(size_t epochsDone, size_t interval) const
{
    std::vector<std::string> obsolete;
    // The one of the last look stays until the next look.
    if (epochsDone > 1 && (epochsDone - 1) % interval != 0)
        obsolete.push_back(Checkpoint(epochsDone - 1));
    if (epochsDone % interval == 0 && epochsDone > interval)
        obsolete.push_back(Checkpoint(epochsDone - interval));
    return obsolete;
}

} // namespace cntk
