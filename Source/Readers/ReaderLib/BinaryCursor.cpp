// The window over the file, and error messages.
#include "Readers/ReaderLib/BinaryCursor.h"

#include "Common/Text.h"

#include <algorithm>
#include <bit>

namespace cntk
{

static_assert(std::endian::native == std::endian::little, "numbers are copied as they stand in the file");

void BinaryCursor::Enter(const char* unit, size_t number, size_t position)
{
    m_unit = unit;
    m_number = number;
    m_position = position;
}

void BinaryCursor::FailAtByte(size_t position, const std::string& text) const
{
    Fail(ErrorKind::Data, "'", m_file.Path(), "', ", m_unit == nullptr ? "" : Concat(m_unit, " ", m_number, ", "),
         "byte ", position, ": ", text, m_hint);
}

const char* BinaryCursor::Need(size_t bytes, const char* what)
{
    if (bytes > Left())
        FailAtByte(m_position, Concat("expected ", what, " (", bytes, bytes == 1 ? " byte" : " bytes",
                                      "), found the end of the file at byte ", m_file.Size()));
    const size_t windowEnd = m_windowBegin + m_windowBytes;
    if (m_position < m_windowBegin || m_position + bytes > windowEnd)
    {
        // A sequential read loads a large piece; a jump loads only a small one.
        constexpr size_t c_jump = 4096;
        const bool continues = m_position >= m_windowBegin && m_position <= windowEnd;
        const size_t wanted = std::min(std::max(bytes, continues ? c_piece : c_jump), Left());
        m_window.resize(std::max(m_window.size(), std::max(wanted, c_piece)));
        m_file.Read(m_position, m_window.data(), wanted);
        m_windowBegin = m_position;
        m_windowBytes = wanted;
    }
    const char* const begin = m_window.data() + (m_position - m_windowBegin);
    m_position += bytes;
    return begin;
}

void BinaryCursor::Skip(size_t count, size_t bytesEach, const char* what)
{
    if (count > Left() / bytesEach)
        FailAtByte(m_position, Concat("expected ", what, " (", count, " times ", bytesEach,
                                      " bytes), found the end of the file at byte ", m_file.Size()));
    m_position += count * bytesEach;
}

std::string BinaryCursor::TakeText(size_t bytes, const char* what)
{
    if (bytes > Left()) // fails before the memory is allocated
        Need(bytes, what);
    std::string text;
    while (text.size() < bytes)
    {
        const size_t some = std::min(bytes - text.size(), c_piece);
        text.append(Need(some, what), some);
    }
    return text;
}

} // namespace cntk
