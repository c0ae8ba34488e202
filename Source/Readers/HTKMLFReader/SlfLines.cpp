// Pieces of the file, lines, fields.
#include "Readers/HTKMLFReader/SlfLines.h"

#include "Readers/ReaderLib/DataFile.h"

#include <algorithm>

namespace cntk
{
namespace
{

constexpr size_t c_slfPieceBytes = size_t(1) << 16;
constexpr size_t c_longestLine = size_t(1) << 24;

bool IsBlank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

bool IsOctal(char c)
{
    return c >= '0' && c <= '7';
}

} // namespace

SlfLines::SlfLines(const PiecewiseFile& file, size_t offset) : m_file(file), m_end(offset), m_lineOffset(offset)
{
    Fill();
    if (offset == 0 && m_buffer.starts_with(c_byteOrderMark))
        m_at = c_byteOrderMark.size();
}

bool SlfLines::Fill()
{
    const size_t bytes = std::min(c_slfPieceBytes, m_file.Size() - m_end);
    m_buffer.erase(0, m_at);
    m_at = 0;
    const size_t kept = m_buffer.size();
    m_buffer.resize(kept + bytes);
    m_file.Read(m_end, m_buffer.data() + kept, bytes);
    m_end += bytes;
    return bytes > 0;
}

bool SlfLines::NextOfAny(std::string_view& line)
{
    size_t length = 0;
    for (;;)
    {
        const size_t newline = m_buffer.find('\n', m_at + length);
        m_lineOffset = m_end - (m_buffer.size() - m_at);
        length = std::min(newline, m_buffer.size()) - m_at;
        if (newline != std::string::npos || length > c_longestLine || !Fill())
            break;
    }
    m_isTooLong = length > c_longestLine;
    if (m_at == m_buffer.size() || m_isTooLong)
        return false;
    line = std::string_view(m_buffer).substr(m_at, length);
    m_at = std::min(m_at + length + 1, m_buffer.size());
    return true;
}

bool SlfLines::Next(std::string_view& line)
{
    while (NextOfAny(line))
    {
        size_t begin = 0;
        while (begin < line.size() && IsBlank(line[begin]))
            ++begin;
        if (begin < line.size() && line[begin] != '#')
            return true;
    }
    return false;
}

bool SlfFields::Split(std::string_view line)
{
    m_fields.clear();
    m_texts.clear();
    for (size_t at = 0;;)
    {
        while (at < line.size() && IsBlank(line[at]))
            ++at;
        if (at == line.size())
            return true;
        SlfField& field = m_fields.emplace_back();
        const size_t name = at;
        while (at < line.size() && line[at] != '=' && !IsBlank(line[at]))
            ++at;
        field.name = line.substr(name, at - name);
        field.hasValue = at < line.size() && line[at] == '=';
        if (field.hasValue)
        {
            ++at;
            if (at < line.size() && (line[at] == '"' || line[at] == '\''))
            {
                if (!TakeQuoted(line, at, field.value))
                    return false;
            }
            else
            {
                const size_t value = at;
                while (at < line.size() && !IsBlank(line[at]))
                    ++at;
                field.value = line.substr(value, at - value);
            }
        }
    }
}

// As HTK writes texts: \" \' \\, and \ooo for a byte.
bool SlfFields::TakeQuoted(std::string_view line, size_t& at, std::string_view& value)
{
    const char quote = line[at++];
    const size_t begin = at;
    while (at < line.size() && line[at] != quote && line[at] != '\\')
        ++at;
    value = line.substr(begin, at - begin);
    if (at < line.size() && line[at] == '\\')
    {
        std::string& text = m_texts.emplace_back(value);
        for (; at < line.size() && line[at] != quote; ++at)
        {
            if (line[at] != '\\')
            {
                text += line[at];
                continue;
            }
            ++at;
            if (at + 2 < line.size() && IsOctal(line[at]) && IsOctal(line[at + 1]) && IsOctal(line[at + 2]))
            {
                text += char((line[at] - '0') * 64 + (line[at + 1] - '0') * 8 + (line[at + 2] - '0'));
                at += 2;
            }
            else if (at < line.size())
                text += line[at];
        }
        value = text;
    }
    if (at >= line.size())
        return false;
    ++at; // the quote
    return at == line.size() || IsBlank(line[at]);
}

} // namespace cntk
