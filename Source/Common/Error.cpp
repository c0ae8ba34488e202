// Exit codes, and the report at the end of a failed run.
#include "Common/Error.h"

#include "Common/Text.h"

#include <cstdio>
#include <cstdlib>

namespace cntk
{

int ExitCodeOf(ErrorKind kind)
{
    switch (kind)
    {
    case ErrorKind::Usage:
        return 2;
    case ErrorKind::Config:
        return 3;
    case ErrorKind::Data:
        return 4;
    case ErrorKind::Model:
        return 5;
    case ErrorKind::Device:
        return 6;
    case ErrorKind::Internal:
        break;
    }
    return 70; // EX_SOFTWARE
}

const char* NameOf(ErrorKind kind)
{
    switch (kind)
    {
    case ErrorKind::Usage:
        return "usage";
    case ErrorKind::Config:
        return "config";
    case ErrorKind::Data:
        return "data";
    case ErrorKind::Model:
        return "model";
    case ErrorKind::Device:
        return "device";
    case ErrorKind::Internal:
        break;
    }
    return "internal";
}

Error::Error(ErrorKind kind, std::string message, SourcePos where)
    : std::runtime_error(message), m_kind(kind), m_message(std::move(message)), m_where(std::move(where))
{
}

Error Error::Retold(ErrorKind kind, std::string message, SourcePos where) const
{
    Error error(kind, std::move(message), std::move(where));
    error.m_notes = m_notes;
    return error;
}

namespace
{

// Malformed data in place of a file name may have a megabyte. Long texts are reduced to both ends.
constexpr size_t c_longestText = 4000;
constexpr size_t c_shownAtEnd = 1000;

std::string Shortened(const std::string& text)
{
    if (text.size() <= c_longestText)
        return text;
    const size_t first = BeginOfCharacter(text, c_longestText - c_shownAtEnd);
    const size_t last = BeginOfCharacter(text, text.size() - c_shownAtEnd);
    return Concat(std::string_view(text).substr(0, first), "[... ", last - first, " bytes ...]",
                  std::string_view(text).substr(last));
}

// Replaces control characters in quoted data by \x codes. A control character would be invisible or a command to the
// terminal, and other programs would take the log for a binary file. The message stays one line.
std::string WithVisibleCharacters(const std::string& text)
{
    std::string visible;
    for (const char c : Shortened(text))
    {
        const auto code = static_cast<unsigned char>(c);
        if ((code >= ' ' && code != 0x7f) || c == '\t')
            visible += c;
        else
        {
            char number[5];
            std::snprintf(number, sizeof number, "\\x%02x", unsigned(code));
            visible += number;
        }
    }
    return visible;
}

} // namespace

std::string Error::Report() const
{
    std::string report;
    for (const std::string& note : m_notes)
        report += "note: " + WithVisibleCharacters(note) + '\n';
    if (m_where)
        report += m_where.Excerpt() + '\n' + WithVisibleCharacters(m_where.Location()) + ": ";
    return report + "error: " + WithVisibleCharacters(m_message);
}

void FailWith(ErrorKind kind, std::initializer_list<MessagePart> parts, const SourcePos& where)
{
    throw Error(kind, ConcatParts(parts), where);
}

#ifndef NDEBUG
void AssertionFailed(const char* condition, const char* file, int line)
{
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    std::abort();
}
#endif

} // namespace cntk
