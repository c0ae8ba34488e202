// Finding the lines of a file that is read in pieces.
#include "Readers/ReaderLib/LineIndex.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <cstring>

namespace cntk
{
size_t SkipBlankLines(std::string_view text, size_t lineStart)
{
    for (size_t at = lineStart; at < text.size(); ++at)
    {
        if (text[at] == '\n')
            lineStart = at + 1;
        else if (!IsBlank(text[at]))
            return lineStart;
    }
    return text.size();
}

size_t NextLine(std::string_view text, size_t offset)
{
    const void* newline = std::memchr(text.data() + offset, '\n', text.size() - offset);
    return newline == nullptr ? text.size() : size_t(static_cast<const char*>(newline) - text.data()) + 1;
}

LineIndex::LineIndex(const std::string& path) : m_file(path)
{
    m_next = SkipBlank(BeginOfText(m_file, ZeroBytes::LeftToTheParser));
    if (IsComplete())
        Fail(ErrorKind::Data, "data file '", path, "' has blank lines only");
}

void LineIndex::Load(size_t begin, size_t end)
{
    if (m_begin <= begin && end <= m_end)
        return;
    m_begin = m_end = 0; // the piece is empty if reading fails
    const size_t bytes = end - begin;
    if (bytes + c_padding > m_capacity)
    {
        m_capacity = std::max(bytes + bytes / 2, c_pieceBytes) + c_padding;
        m_buffer.reset(); // frees the old buffer first
        m_buffer = std::make_unique_for_overwrite<char[]>(m_capacity);
    }
    m_file.Read(begin, m_buffer.get(), bytes);
    m_buffer[bytes] = '\n';
    std::memset(m_buffer.get() + bytes + 1, 0, c_padding - 1);
    m_begin = begin;
    m_end = end;
}

// Returns the text in memory from the offset on; reads a piece if there is none. Empty at the end of the file.
std::string_view LineIndex::TextFrom(size_t offset)
{
    if (offset < m_begin || offset >= m_end)
        Load(offset, std::min(offset + c_pieceBytes, m_file.Size()));
    return {m_buffer.get() + (offset - m_begin), m_end - offset};
}

size_t LineIndex::SkipBlank(size_t lineStart)
{
    for (size_t at = lineStart; at < m_file.Size();)
    {
        for (const char c : TextFrom(at))
        {
            if (c == '\n')
                lineStart = at + 1;
            else if (!IsBlank(c))
                return lineStart;
            ++at;
        }
    }
    return m_file.Size();
}

// Returns the start of the record after the one that starts at recordStart.
size_t LineIndex::FindNext(size_t recordStart)
{
    for (size_t at = recordStart; at < m_file.Size();)
    {
        const std::string_view text = TextFrom(at);
        const size_t line = NextLine(text, 0);
        at += line;
        if (text[line - 1] != '\n')
            continue;
        const bool isRecord = line < text.size() && text[line] != '\n' && !IsBlank(text[line]);
        return isRecord ? at : SkipBlank(at);
    }
    return m_file.Size();
}

size_t LineIndex::Extend(size_t wanted)
{
    while (m_known < wanted && m_next < m_file.Size())
    {
        const size_t next = FindNext(m_next);
        if (m_known % c_stride == 0)
            m_offsets.push_back(m_next);
        ++m_known;
        m_next = next;
    }
    return m_known;
}

LineIndex::Piece LineIndex::Read(size_t first, size_t count)
{
    CNTK_ASSERT(count > 0 && first < m_known && count <= m_known - first);
    const size_t stride = first / c_stride;
    const size_t lastStride = (first + count - 1) / c_stride;
    const auto endOf = [&](size_t i) { return i + 1 < m_offsets.size() ? size_t(m_offsets[i + 1]) : m_next; };
    const size_t begin = m_offsets[stride];
    size_t last = stride;
    while (last < lastStride && endOf(last + 1) - begin <= c_pieceBytes)
        ++last;
    const size_t end = endOf(last);
    // A caller that continues where the last piece ended probably reads in order: loads more than it asked for.
    const bool inOrder = m_end > 0 && m_begin <= begin && begin <= m_end;
    Load(begin, inOrder && end > m_end ? std::max(end, std::min(begin + c_pieceBytes, m_next)) : end);

    const std::string_view text(m_buffer.get() + (begin - m_begin), end - begin);
    size_t at = 0;
    for (size_t i = first % c_stride; i > 0; --i)
        at = SkipBlankLines(text, NextLine(text, at));
    if (at == text.size())
        FailChanged();
    return {text.substr(at), begin + at, std::min(count, (last + 1) * c_stride - first)};
}

size_t LineIndex::LineNumber(size_t offset) const
{
    return LineCounter().LineOf(m_file, offset);
}

} // namespace cntk
