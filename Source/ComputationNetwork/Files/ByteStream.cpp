// Reads and writes little-endian binary files. Every size is checked before it is used.
#include "ComputationNetwork/Files/ByteStream.h"

#include "Common/Error.h"

#include <bit>
#include <cstdio>

namespace cntk
{

static_assert(std::endian::native == std::endian::little, "the files are little-endian and are copied as they are");

namespace
{

constexpr char32_t c_replacement = 0xFFFD;

void AppendUtf8(std::string& text, char32_t code)
{
    if (code < 0x80)
        text += char(code);
    else if (code < 0x800)
    {
        text += char(0xC0 | (code >> 6));
        text += char(0x80 | (code & 0x3F));
    }
    else if (code < 0x10000)
    {
        text += char(0xE0 | (code >> 12));
        text += char(0x80 | ((code >> 6) & 0x3F));
        text += char(0x80 | (code & 0x3F));
    }
    else
    {
        text += char(0xF0 | (code >> 18));
        text += char(0x80 | ((code >> 12) & 0x3F));
        text += char(0x80 | ((code >> 6) & 0x3F));
        text += char(0x80 | (code & 0x3F));
    }
}

// Returns the character that begins at position and moves position past it.
char32_t NextUtf8(std::string_view text, size_t& position)
{
    const auto byteAt = [&](size_t index) { return uint8_t(text[index]); };
    const uint8_t first = byteAt(position++);
    if (first < 0x80)
        return first;
    const size_t more = first >= 0xF0 && first < 0xF8 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
    if (more == 0 || first >= 0xF8)
        return c_replacement;
    char32_t code = first & (0x3F >> more);
    for (size_t i = 0; i < more; i++)
    {
        if (position >= text.size() || (byteAt(position) & 0xC0) != 0x80)
            return c_replacement;
        code = (code << 6) | (byteAt(position++) & 0x3F);
    }
    return code;
}

char16_t UnitAt(std::string_view data, size_t position)
{
    char16_t unit;
    std::memcpy(&unit, data.data() + position, sizeof(unit));
    return unit;
}

} // namespace

std::u16string ToWide(std::string_view text)
{
    std::u16string wide;
    wide.reserve(text.size());
    for (size_t position = 0; position < text.size();)
    {
        const char32_t code = NextUtf8(text, position);
        if (code < 0x10000)
            wide += char16_t(code);
        else
        {
            wide += char16_t(0xD800 + ((code - 0x10000) >> 10));
            wide += char16_t(0xDC00 + ((code - 0x10000) & 0x3FF));
        }
    }
    return wide;
}

std::string FromWide(std::u16string_view wide)
{
    std::string text;
    text.reserve(wide.size());
    for (size_t i = 0; i < wide.size(); i++)
    {
        const char32_t unit = wide[i];
        const bool isHigh = unit >= 0xD800 && unit < 0xDC00;
        if (isHigh && i + 1 < wide.size() && wide[i + 1] >= 0xDC00 && wide[i + 1] < 0xE000)
            AppendUtf8(text, 0x10000 + ((unit - 0xD800) << 10) + (wide[++i] - 0xDC00));
        else if (unit >= 0xD800 && unit < 0xE000)
            AppendUtf8(text, c_replacement);
        else
            AppendUtf8(text, unit);
    }
    return text;
}

std::string_view ByteReader::Bytes(uint64_t count, std::string_view what)
{
    if (count > Left())
        Fail(ErrorKind::Model, m_kind, " '", m_path, "' ends at byte ", m_data.size(), ": expected ", what, " (", count,
             count == 1 ? " byte" : " bytes", ") at byte ", m_position);
    const std::string_view bytes = m_data.substr(m_position, size_t(count));
    m_position += size_t(count);
    return bytes;
}

bool ByteReader::ReadBool(std::string_view what)
{
    const size_t position = m_position;
    const auto value = Read<uint8_t>(what);
    if (value > 1)
        Damaged(position, Concat(what, " (0 or 1)"), std::to_string(value));
    return value == 1;
}

std::string ByteReader::WideText(std::string_view what)
{
    const size_t start = m_position;
    for (size_t position = start; position + 2 <= m_data.size(); position += 2)
        if (UnitAt(m_data, position) == 0)
        {
            std::u16string units((position - start) / 2, u'\0');
            std::memcpy(units.data(), m_data.data() + start, position - start);
            m_position = position + 2;
            return FromWide(units);
        }
    Fail(ErrorKind::Model, m_kind, " '", m_path, "' ends at byte ", m_data.size(), ": expected ", what,
         " (a 16-bit text) at byte ", start);
}

std::string ByteReader::NarrowText(std::string_view what)
{
    const size_t end = m_data.find('\0', m_position);
    if (end == std::string_view::npos)
        Fail(ErrorKind::Model, m_kind, " '", m_path, "' ends at byte ", m_data.size(), ": expected ", what,
             " (a text ended by a zero byte) at byte ", m_position);
    std::string text(m_data.substr(m_position, end - m_position));
    m_position = end + 1;
    return text;
}

size_t ByteReader::Count(std::string_view what, size_t bytesEach)
{
    const size_t position = m_position;
    const auto count = Read<uint64_t>(what);
    if (count > Left() / bytesEach)
        Damaged(position, Concat(what, " (at most ", Left() / bytesEach, " fit into the ", Left(), " bytes left)"),
                std::to_string(count));
    return size_t(count);
}

bool ByteReader::Peek(std::string_view mark) const
{
    if (Left() < 2 * (mark.size() + 1))
        return false;
    for (size_t i = 0; i < mark.size(); i++)
        if (UnitAt(m_data, m_position + 2 * i) != char16_t(uint8_t(mark[i])))
            return false;
    return UnitAt(m_data, m_position + 2 * mark.size()) == 0;
}

bool ByteReader::Mark(std::string_view mark)
{
    if (!Peek(mark))
        return false;
    m_position += 2 * (mark.size() + 1);
    return true;
}

void ByteReader::Expect(std::string_view mark)
{
    if (!Mark(mark))
        Damaged(m_position, Concat("the mark '", mark, "'"), Describe(m_position));
}

void ByteReader::Damaged(size_t position, std::string_view expected, std::string_view found) const
{
    Fail(ErrorKind::Model, m_kind, " '", m_path, "' is damaged at byte ", position, ": expected ", expected, ", found ",
         found);
}

std::string ByteReader::Describe(size_t position) const
{
    if (position >= m_data.size())
        return "the end of the file";
    constexpr size_t longest = 32;
    std::string text;
    bool isText = false;
    for (size_t at = position; at + 2 <= m_data.size() && text.size() <= longest; at += 2)
    {
        const char16_t unit = UnitAt(m_data, at);
        if (unit < 0x20 || unit > 0x7E)
        {
            isText = unit == 0;
            break;
        }
        text += char(unit);
    }
    if (isText && !text.empty())
        return Concat("'", text, "'");
    std::string hex = "the bytes";
    for (size_t at = position; at < m_data.size() && at < position + 8; at++)
    {
        char digits[4];
        std::snprintf(digits, sizeof(digits), " %02x", unsigned(uint8_t(m_data[at])));
        hex += digits;
    }
    return hex;
}

void ByteWriter::WideText(std::string_view text)
{
    const std::u16string wide = ToWide(text);
    Bytes(wide.c_str(), 2 * (wide.size() + 1));
}

void ByteWriter::NarrowText(std::string_view text)
{
    Bytes(text.data(), text.size());
    Bytes("", 1);
}

} // namespace cntk
