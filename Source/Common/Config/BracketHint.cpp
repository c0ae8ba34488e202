// Compares the indentation of lines that end with an opening bracket with that of the lines that close it.
#include "Common/Config/BracketHint.h"

#include "Common/Error.h"

#include <algorithm>
#include <vector>

namespace cntk
{

namespace
{

bool IsOneOf(std::string_view characters, char c)
{
    return characters.find(c) != std::string_view::npos;
}

// What stands in front of the first character of a line.
std::string_view IndentationOf(std::string_view text, size_t at)
{
    const size_t lineBreak = text.rfind('\n', at);
    const size_t line = lineBreak == std::string_view::npos ? 0 : lineBreak + 1;
    return text.substr(line, std::min(text.find_first_not_of(" \t", line), text.size()) - line);
}

} // namespace

std::string HintAtIndentation(std::string_view text, const PositionOf& positionOf)
{
    std::vector<size_t> open;
    for (size_t at = 0; at < text.size(); ++at)
    {
        if (text[at] == '"')
            at = std::min(text.find('"', at + 1), text.size());
        else if (IsOneOf("([{", text[at]))
            open.push_back(at);
        else if (IsOneOf(")]}", text[at]) && !open.empty())
        {
            const size_t opening = open.back();
            open.pop_back();
            const std::string_view indentation = IndentationOf(text, at);
            const size_t behind = text.find_first_not_of(" \t\r", opening + 1);
            const bool beginsLine = indentation.data() + indentation.size() == text.data() + at;
            if (beginsLine && behind < at && text[behind] == '\n' && IndentationOf(text, opening) != indentation)
                return Concat("; the '", text[at], "' at ", positionOf(at, 1).Location(), " closes the '",
                              text[opening], "' at ", positionOf(opening, 1).Location(),
                              ", which is indented otherwise");
        }
    }
    return {};
}

} // namespace cntk
