// Opening data files; lines of offsets.
#include "Readers/ReaderLib/DataFile.h"

#include "Common/Error.h"

#include <algorithm>

namespace cntk
{

const std::string& RequireDataFile(const std::string& path)
{
    if (!FileExists(path))
        Fail(ErrorKind::Data, "data file '", path, "' does not exist", NearFilesHint(path));
    return path;
}

DataFile::DataFile(const std::string& path) : PiecewiseFile(RequireDataFile(path))
{
    if (Size() == 0)
        Fail(ErrorKind::Data, "data file '", path, "' is empty");
}

size_t BeginOfText(const PiecewiseFile& file, ZeroBytes zeroBytes)
{
    constexpr size_t c_looksAt = size_t(64) << 10;
    std::string head(std::min(file.Size(), c_looksAt), '\0');
    file.Read(0, head.data(), head.size());
    RequirePlainText(head, Concat("data file '", file.Path(), "'"));
    if (zeroBytes == ZeroBytes::Refused)
        RequireNoZeroBytes(head, Concat("data file '", file.Path(), "'"));
    RequireNewlines(head, Concat("data file '", file.Path(), "'"));
    return head.starts_with(c_byteOrderMark) ? c_byteOrderMark.size() : 0;
}

size_t LineCounter::LineOf(const PiecewiseFile& file, size_t offset)
{
    constexpr size_t c_pieceBytes = size_t(256) << 10;
    if (offset < m_offset)
        m_offset = m_newlines = 0;
    std::string piece;
    while (m_offset < offset)
    {
        piece.resize(std::min(offset - m_offset, c_pieceBytes));
        file.Read(m_offset, piece.data(), piece.size());
        m_newlines += size_t(std::count(piece.begin(), piece.end(), '\n'));
        m_offset += piece.size();
    }
    return m_newlines + 1;
}

} // namespace cntk
