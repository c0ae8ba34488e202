#include "ActionsLib/Decoding/FeatureFiles.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <filesystem>

namespace cntk
{

FeatureFiles::FeatureFiles(const std::string& list, const std::string& prefix) : m_list(ReadScpFile(list, prefix))
{
    if (!prefix.empty())
        return;
    const std::filesystem::path folder = std::filesystem::path(list).parent_path();
    for (std::string& path : m_list.paths)
        if (const std::string inFolder = (folder / path).string(); FileExists(inFolder) || !FileExists(path))
            path = inFolder;
}

std::string FeatureFiles::NameOf(size_t utterance) const
{
    return std::string(LastComponent(m_list.entries[utterance].key));
}

HtkFile& FeatureFiles::Open(uint32_t path)
{
    if (!m_file || m_path != path)
    {
        m_file.reset();
        m_file = std::make_unique<HtkFile>(m_list.paths[path]);
        m_path = path;
    }
    return *m_file;
}

void FeatureFiles::Read(size_t utterance, Frames& frames)
{
    const ScpEntry& entry = m_list.entries[utterance];
    WithNote(
        [&]
        {
            HtkFile& file = Open(entry.path);
            const size_t first = entry.hasRange ? entry.first : 0;
            frames.rows = file.Kind().dimension;
            frames.count = entry.hasRange ? size_t(entry.last) - entry.first + 1 : file.Frames();
            if (file.Kind().period > 0)
                frames.period = file.Kind().period;
            if (first + frames.count > file.Frames())
                Fail(ErrorKind::Data, file.Path(), ": the list asks for the frames ", first, " to ",
                     first + frames.count - 1, ", but the file has ", Counted(file.Frames(), "frame"));
            frames.values.resize(frames.rows * frames.count);
            if (frames.count > 0)
                file.Read(first, frames.count, frames.values.data());
        },
        [&] { return "named at " + m_list.Location(utterance); });
}

size_t FeatureFiles::FindRows()
{
    for (const ScpEntry& entry : m_list.entries)
    {
        try
        {
            return Open(entry.path).Kind().dimension;
        }
        catch (const Error& error)
        {
            if (error.Kind() != ErrorKind::Data)
                throw;
        }
    }
    return 0;
}

} // namespace cntk
