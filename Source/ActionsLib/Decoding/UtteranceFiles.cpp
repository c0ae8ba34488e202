// Reading of listed files.
#include "ActionsLib/Decoding/UtteranceFiles.h"

#include "Common/Error.h"
#include "Common/File.h"

#include <filesystem>

namespace cntk
{

namespace
{

// "test-kal1-u0529" for the key "features/test-kal1-u0529".
std::string NameOfKey(const std::string& key)
{
    return std::string(LastComponent(key));
}

} // namespace

UtteranceFiles::UtteranceFiles(const DecodeOptions& options)
    : m_list(ReadScpFile(options.infiles, options.prefixPathInScp))
{
    const std::filesystem::path folder = std::filesystem::path(m_list.path).parent_path();
    if (options.prefixPathInScp.empty())
        for (std::string& path : m_list.paths)
        {
            const std::string resolved = ResolveInputPath(path);
            const std::filesystem::path inFolder = folder / ResolveOutputPath(path);
            if (std::filesystem::path(resolved).is_relative() &&
                (FileExists(inFolder.string()) || !FileExists(resolved)))
                path = inFolder.string();
            else
                path = resolved;
        }
}

std::string UtteranceFiles::Name(size_t utterance) const
{
    return NameOfKey(m_list.entries[utterance].key);
}

size_t UtteranceFiles::DimensionOfFirst() const
{
    for (size_t i = 0; i < Count(); ++i)
        try
        {
            return HtkFile(PathOf(i)).Kind().dimension;
        }
        catch (const Error&)
        {
            // Read reports the file when its turn comes.
        }
    return 0;
}

void UtteranceFiles::Read(size_t utterance, UtteranceScores& frames)
{
    const ScpEntry& entry = m_list.entries[utterance];
    frames.name = Name(utterance);
    frames.rows = frames.frames = 0;
    frames.values.clear();
    frames.problem.clear();
    try
    {
        if (m_file == nullptr || m_file->Path() != PathOf(utterance))
            m_file = std::make_unique<HtkFile>(PathOf(utterance));
        const size_t first = entry.hasRange ? entry.first : 0;
        const size_t count = entry.hasRange ? size_t(entry.last) - entry.first + 1 : m_file->Frames();
        if (entry.hasRange && entry.last >= m_file->Frames())
            Fail(ErrorKind::Data, Location(utterance), ": the range [", entry.first, ",", entry.last,
                 "] reaches beyond the file '", PathOf(utterance), "', which has ", m_file->Frames(), " frames");
        frames.rows = m_file->Kind().dimension;
        frames.values.resize(count * frames.rows);
        if (count > 0)
            m_file->Read(first, count, frames.values.data());
        frames.frames = count;
        frames.framePeriod = m_file->Kind().period;
    }
    catch (const Error& error)
    {
        m_file.reset();
        frames.values.clear();
        frames.problem = error.Message();
    }
}

ScoreFileSource::ScoreFileSource(const DecodeOptions& options) : m_files(options), m_rows(m_files.DimensionOfFirst()) {}

bool ScoreFileSource::Next(UtteranceScores& scores)
{
    if (m_next == m_files.Count())
        return false;
    m_files.Read(m_next++, scores);
    return true;
}

} // namespace cntk
