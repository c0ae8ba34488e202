// Lines that may cross the border of two pieces.
#include "Readers/ReaderLib/LineReader.h"

#include "Common/Characters.h"
#include "Common/Error.h"

#include <algorithm>
#include <cstring>

namespace cntk
{
namespace
{

constexpr size_t c_pieceBytes = size_t(256) << 10;

} // namespace

LineReader::LineReader(const std::string& path) : m_file(path), m_textBegin(BeginOfText(m_file, ZeroBytes::Refused))
{
    Rewind();
}

void LineReader::Rewind()
{
    m_begin = m_end = 0;
    m_offset = m_textBegin;
    m_lineNumber = 0;
}

bool LineReader::Next(std::string_view& line)
{
    size_t searched = m_begin;
    for (;;)
    {
        const void* newline =
            m_end == searched ? nullptr : std::memchr(m_buffer.get() + searched, '\n', m_end - searched);
        const bool isAtEnd = m_offset == m_file.Size();
        if (newline == nullptr && !isAtEnd)
        {
            // Moves the rest to the front and reads on behind it.
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
            searched = rest;
            continue;
        }
        if (newline == nullptr && m_begin == m_end)
            return false;
        const size_t end = newline == nullptr ? m_end : size_t(static_cast<const char*>(newline) - m_buffer.get());
        line = {m_buffer.get() + m_begin, end - m_begin};
        m_begin = newline == nullptr ? end : end + 1;
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        ++m_lineNumber;
        m_line = line;
        return true;
    }
}

std::string LineReader::Location(std::string_view part) const
{
    return Concat(Path(), ":", m_lineNumber, ":", size_t(part.data() - m_line.data()) + 1);
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
