// Opening data files; lines, line numbers and tokens.
#include "Common/DataFile.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <cstring>

namespace cntk
{
namespace
{

constexpr size_t c_pieceBytes = size_t(256) << 10;

std::string FirstBytes(const PiecewiseFile& file)
{
    constexpr size_t c_checkedBytes = size_t(64) << 10;
    std::string bytes(std::min(file.Size(), c_checkedBytes), '\0');
    file.Read(0, bytes.data(), bytes.size());
    return bytes;
}

size_t BytesOfMark(std::string_view text)
{
    return text.starts_with(c_byteOrderMark) ? c_byteOrderMark.size() : 0;
}

size_t BeginOfList(const PiecewiseFile& file, const char* what)
{
    const std::string head = FirstBytes(file);
    RequirePlainText(head, Concat(what, " '", file.Path(), "'"));
    RequireNoZeroBytes(head, Concat(what, " '", file.Path(), "'"));
    return BytesOfMark(head);
}

} // namespace

const std::string& RequireDataFile(const std::string& path, const char* what)
{
    if (!FileExists(path))
        Fail(ErrorKind::Data, what, " '", path, "' does not exist", NearFilesHint(path));
    return path;
}

DataFile::DataFile(const std::string& path) : PiecewiseFile(RequireDataFile(path))
{
    if (Size() == 0)
        Fail(ErrorKind::Data, "data file '", path, "' is empty");
}

size_t BeginOfText(const PiecewiseFile& file, ZeroBytes zeroBytes)
{
    const std::string head = FirstBytes(file);
    const std::string name = Concat("data file '", file.Path(), "'");
    RequirePlainText(head, name);
    if (zeroBytes == ZeroBytes::Refused)
        RequireNoZeroBytes(head, name);
    RequireNewlines(head, name);
    return BytesOfMark(head);
}

size_t LineCounter::LineOf(const PiecewiseFile& file, size_t offset)
{
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

LineReader::LineReader(const std::string& path) : m_file(RequireDataFile(path)), m_endsAtReturn(false)
{
    if (m_file.Size() == 0)
        Fail(ErrorKind::Data, "data file '", path, "' is empty");
    m_textBegin = BeginOfText(m_file, ZeroBytes::Refused);
    Rewind();
}

LineReader::LineReader(const std::string& path, const char* what)
    : m_file(RequireDataFile(ResolveInputPath(path), what)), m_endsAtReturn(true),
      m_textBegin(BeginOfList(m_file, what))
{
    Rewind();
}

void LineReader::Rewind()
{
    m_begin = m_end = 0;
    m_newline = c_unknown;
    m_offset = m_textBegin;
    m_lineNumber = 0;
}

// Moves the unread text to the front of the buffer and reads the next piece after it.
void LineReader::ReadPiece()
{
    const size_t rest = m_end - m_begin;
    const size_t bytes = std::min(c_pieceBytes, m_file.Size() - m_offset);
    if (rest + bytes > m_capacity)
    {
        m_capacity = std::max(rest + bytes, 2 * m_capacity);
        auto buffer = std::make_unique_for_overwrite<char[]>(m_capacity);
        if (rest > 0)
            std::memcpy(buffer.get(), m_buffer.get() + m_begin, rest);
        m_buffer = std::move(buffer);
    }
    else if (rest > 0)
    {
        std::memmove(m_buffer.get(), m_buffer.get() + m_begin, rest);
    }
    m_file.Read(m_offset, m_buffer.get() + rest, bytes);
    m_offset += bytes;
    m_begin = 0;
    m_end = rest + bytes;
}

void LineReader::FindNewline()
{
    for (size_t searched = 0;;)
    {
        const char* const from = m_buffer.get() + m_begin + searched;
        const size_t left = m_end - m_begin - searched;
        if (const void* const newline = left == 0 ? nullptr : std::memchr(from, '\n', left))
        {
            m_newline = size_t(static_cast<const char*>(newline) - m_buffer.get());
            return;
        }
        if (m_offset == m_file.Size())
        {
            m_newline = m_end;
            return;
        }
        searched = m_end - m_begin;
        ReadPiece();
    }
}

bool LineReader::Next(std::string_view& line)
{
    if (m_newline == c_unknown)
        FindNewline();
    if (m_begin == m_end)
        return false;
    size_t end = m_newline;
    if (m_endsAtReturn)
    {
        const size_t found = std::string_view(m_buffer.get() + m_begin, end - m_begin).find('\r');
        if (found != std::string_view::npos && m_begin + found + 1 < end) // not the CR of CR LF
            end = m_begin + found;
    }
    line = {m_buffer.get() + m_begin, end - m_begin};
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    if (end == m_newline)
        m_newline = c_unknown;
    m_begin = std::min(end + 1, m_end);
    ++m_lineNumber;
    m_line = line;
    return true;
}

std::string LineReader::Location() const
{
    return Concat(Path(), ":", m_lineNumber);
}

std::string LineReader::Location(std::string_view part) const
{
    return Concat(Location(), ":", size_t(part.data() - m_line.data()) + 1);
}

void SplitTokens(std::string_view line, std::vector<std::string_view>& tokens)
{
    tokens.clear();
    for (size_t at = 0; at < line.size();)
    {
        if (IsBlank(line[at]))
        {
            ++at;
            continue;
        }
        size_t end = at + 1;
        while (end < line.size() && !IsBlank(line[end]))
            ++end;
        tokens.push_back(line.substr(at, end - at));
        at = end;
    }
}

} // namespace cntk
