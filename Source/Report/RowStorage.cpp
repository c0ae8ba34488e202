#include "Report/RowStorage.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/Text.h"

#include <cerrno>
#include <cstring>

namespace cntk
{

RowStorage::RowStorage(std::string path) : m_path(std::move(path)) {}

RowStorage::~RowStorage()
{
    Close();
}

void RowStorage::Close()
{
    if (m_file != nullptr)
        std::fclose(m_file);
    m_file = nullptr;
}

std::string RowStorage::Read(Log& log) const
{
    if (!FileExists(m_path))
        return {};
    std::string text = ReadTextFile(m_path);
    if (text.empty() || text.ends_with('\n'))
        return text;
    const size_t end = text.rfind('\n') + 1; // 0 without a line end
    log.Warn(
        Concat("'", m_path, "': its last line has no end (the run that wrote it was killed); the line is dropped"));
    text.resize(end);
    return text;
}

void RowStorage::Replace(std::string_view text)
{
    Close();
    AtomicFile file(m_path);
    file.Write(text);
    file.Commit();
}

void RowStorage::Append(std::string_view text)
{
    if (m_file == nullptr)
    {
        MakeFoldersFor(m_path);
        m_file = std::fopen(m_path.c_str(), "ae");
    }
    if (m_file == nullptr || std::fwrite(text.data(), 1, text.size(), m_file) != text.size() ||
        std::fflush(m_file) != 0)
        Fail(ErrorKind::Device, "cannot write '", m_path, "': ", std::strerror(errno));
}

} // namespace cntk
