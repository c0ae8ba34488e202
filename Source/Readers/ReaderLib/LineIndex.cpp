// Finding the lines of a mapped file.
#include "Readers/ReaderLib/LineIndex.h"

#include "Common/Error.h"

#include <algorithm>
#include <cstring>

namespace cntk
{
namespace
{

constexpr std::string_view c_byteOrderMark = "\xEF\xBB\xBF";

MappedFile OpenDataFile(const std::string& path)
{
    if (!FileExists(path))
        Fail(ErrorKind::Data, "data file '", path, "' does not exist", NearFilesHint(path));
    return MappedFile(path);
}

} // namespace

LineIndex::LineIndex(const std::string& path) : m_file(OpenDataFile(path))
{
    if (m_file.Size() == 0)
        Fail(ErrorKind::Data, "data file '", path, "' is empty");
    const bool marked = Text().substr(0, c_byteOrderMark.size()) == c_byteOrderMark;
    m_next = SkipBlankLines(marked ? c_byteOrderMark.size() : 0);
    if (IsComplete())
        Fail(ErrorKind::Data, "data file '", path, "' has blank lines only");
}

size_t LineIndex::NextLine(size_t offset) const
{
    const std::string_view text = Text();
    const void* newline = std::memchr(text.data() + offset, '\n', text.size() - offset);
    return newline == nullptr ? text.size() : size_t(static_cast<const char*>(newline) - text.data()) + 1;
}

size_t LineIndex::SkipBlankLines(size_t lineStart) const
{
    const std::string_view text = Text();
    for (size_t at = lineStart; at < text.size(); ++at)
    {
        const char c = text[at];
        if (c == '\n')
            lineStart = at + 1;
        else if (c != ' ' && c != '\t' && c != '\r')
            return lineStart;
    }
    return text.size();
}

size_t LineIndex::Extend(size_t wanted)
{
    while (m_known < wanted && m_next < m_file.Size())
    {
        if (m_known % c_stride == 0)
            m_offsets.push_back(m_next);
        ++m_known;
        m_next = SkipBlankLines(NextLine(m_next));
    }
    return m_known;
}

size_t LineIndex::OffsetOf(size_t record) const
{
    CNTK_ASSERT(record < m_known);
    size_t offset = m_offsets[record / c_stride];
    for (size_t i = record % c_stride; i > 0; --i)
        offset = SkipBlankLines(NextLine(offset));
    return offset;
}

size_t LineIndex::LineNumber(size_t offset) const
{
    const std::string_view before = Text().substr(0, offset);
    return size_t(std::count(before.begin(), before.end(), '\n')) + 1;
}

} // namespace cntk
