// Lines out of pieces.
#include "Readers/HTKMLFReader/HtkLines.h"

#include "Common/Error.h"
#include "Readers/ReaderLib/DataFile.h"

#include <algorithm>

namespace cntk
{
namespace
{

constexpr size_t c_pieceBytes = size_t(1) << 20;

std::string ExistingPath(const std::string& path, const char* what)
{
    const std::string resolved = ResolveInputPath(path);
    if (!FileExists(resolved))
        Fail(ErrorKind::Data, what, " '", resolved, "' does not exist", NearFilesHint(resolved));
    return resolved;
}

} // namespace

HtkLines::HtkLines(const std::string& path, const char* what) : m_file(ExistingPath(path, what))
{
    Fill();
    RequirePlainText(m_buffer, Concat(what, " '", Path(), "'"));
    RequireNoZeroBytes(m_buffer, Concat(what, " '", Path(), "'"));
    if (m_buffer.starts_with(c_byteOrderMark))
        m_at = c_byteOrderMark.size();
}

std::string HtkLines::Location() const
{
    return Path() + ":" + std::to_string(m_number);
}

void HtkLines::Fill()
{
    m_buffer.erase(0, m_at);
    m_at = 0;
    const size_t bytes = std::min(c_pieceBytes, m_file.Size() - m_offset);
    const size_t kept = m_buffer.size();
    m_buffer.resize(kept + bytes);
    m_file.Read(m_offset, m_buffer.data() + kept, bytes);
    m_offset += bytes;
}

bool HtkLines::Next(std::string_view& line)
{
    size_t searched = m_at;
    for (;;)
    {
        const size_t end = m_buffer.find_first_of("\r\n", searched);
        const bool isLast = m_offset == m_file.Size();
        // A CR at the end of a piece may have its LF in the next one.
        if (end != std::string::npos && (end + 1 < m_buffer.size() || m_buffer[end] == '\n' || isLast))
        {
            line = std::string_view(m_buffer).substr(m_at, end - m_at);
            m_at = end + 1;
            if (m_buffer[end] == '\r' && m_at < m_buffer.size() && m_buffer[m_at] == '\n')
                ++m_at;
            break;
        }
        if (isLast)
        {
            if (m_at == m_buffer.size())
                return false;
            line = std::string_view(m_buffer).substr(m_at);
            m_at = m_buffer.size();
            break;
        }
        searched = (end != std::string::npos ? end : m_buffer.size()) - m_at;
        Fill();
    }
    ++m_number;
    return true;
}

} // namespace cntk
