// Lines, columns and caret excerpts of user texts. Columns count bytes; excerpts of very long lines show a window.
#include "Common/SourceText.h"

#include "Common/Text.h"

#include <algorithm>
#include <cstring>

namespace cntk
{

namespace
{

// Longer lines are reduced to a window around the position, so that the caret stays on the screen.
constexpr size_t c_excerptWidth = 110;
constexpr size_t c_contextBefore = 60;

// True for control characters, which would be commands to the terminal or would shift the caret.
bool IsUnseen(char c)
{
    const auto code = static_cast<unsigned char>(c);
    return (code < ' ' && c != '\t') || code == 0x7f;
}

} // namespace

SourceText::SourceText(std::string name, std::string text) : m_name(std::move(name)), m_text(std::move(text))
{
    m_lineStarts.push_back(0);
    const char* const begin = m_text.data();
    const char* const end = begin + m_text.size();
    for (const char* at = begin; at < end;)
    {
        const void* newline = std::memchr(at, '\n', static_cast<size_t>(end - at));
        if (!newline)
            break;
        at = static_cast<const char*>(newline) + 1;
        m_lineStarts.push_back(static_cast<size_t>(at - begin));
    }
}

size_t SourceText::LineOf(size_t offset) const
{
    offset = std::min(offset, m_text.size());
    const auto after = std::upper_bound(m_lineStarts.begin(), m_lineStarts.end(), offset);
    return static_cast<size_t>(after - m_lineStarts.begin());
}

size_t SourceText::ColumnOf(size_t offset) const
{
    offset = std::min(offset, m_text.size());
    return offset - m_lineStarts[LineOf(offset) - 1] + 1;
}

std::string_view SourceText::LineAt(size_t offset) const
{
    const size_t begin = m_lineStarts[LineOf(offset) - 1];
    std::string_view line = Text().substr(begin);
    line = line.substr(0, line.find('\n'));
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    return line;
}

std::string SourcePos::Location() const
{
    if (!text)
        return {};
    return text->Name() + ':' + std::to_string(text->LineOf(offset)) + ':' + std::to_string(text->ColumnOf(offset));
}

std::string SourcePos::Excerpt() const
{
    if (!text)
        return {};
    std::string_view line = text->LineAt(offset);
    size_t column = std::min(text->ColumnOf(offset) - 1, line.size());
    std::string lead;
    if (line.size() > c_excerptWidth && column > c_contextBefore)
    {
        const size_t begin = BeginOfCharacter(line, column - c_contextBefore);
        line.remove_prefix(begin);
        column -= begin;
        lead = "...";
    }
    const bool isCut = line.size() > c_excerptWidth;
    line = line.substr(0, BeginOfCharacter(line, c_excerptWidth));

    std::string number = std::to_string(text->LineOf(offset));
    if (number.size() < 5)
        number.insert(0, 5 - number.size(), ' ');
    std::string shown(line);
    std::replace_if(shown.begin(), shown.end(), IsUnseen, '?');
    std::string result = number + " | " + lead + shown + (isCut ? "...\n" : "\n");
    result += std::string(number.size(), ' ') + " | " + std::string(lead.size(), ' ');
    // Repeats tabs, so that the caret stands under the word with any tab width.
    std::string_view before = line.substr(0, column);
    for (size_t tab = before.find('\t'); tab != std::string_view::npos; tab = before.find('\t'))
    {
        result += std::string(CellsOf(before.substr(0, tab)), ' ') + '\t';
        before.remove_prefix(tab + 1);
    }
    result += std::string(CellsOf(before), ' ') + '^';
    const size_t cells = CellsOf(line.substr(column, length));
    if (cells > 1)
        result.append(cells - 1, '~');
    return result;
}

} // namespace cntk
