// Lines, rows and cells of help.
#include "ActionsLib/Help/HelpLayout.h"

#include <algorithm>
#include <sstream>

namespace cntk
{

namespace
{

constexpr size_t c_lineWidth = 100;

} // namespace

std::string Wrapped(std::string_view text, size_t indent, size_t firstColumn)
{
    std::string result;
    size_t column = firstColumn;
    std::istringstream words{std::string(text)};
    for (std::string word; words >> word;)
    {
        if (column > indent && column + 1 + word.size() > c_lineWidth)
        {
            result += "\n" + std::string(indent, ' ');
            column = indent;
        }
        else if (column > indent)
        {
            result += ' ';
            ++column;
        }
        result += word;
        column += word.size();
    }
    return result;
}

std::string TerminalRow(const std::string& left, std::string_view doc)
{
    constexpr size_t c_docColumn = 34;
    std::string line = "  " + left;
    if (line.size() + 2 > c_docColumn)
        line += "\n" + std::string(c_docColumn, ' ');
    else
        line.resize(c_docColumn, ' ');
    return line + Wrapped(doc, c_docColumn, c_docColumn) + "\n";
}

const char* const c_generatedNote =
    "<!-- Made by `cntk --write-docs Documentation` from the program's own tables; edit those. -->\n\n";

std::string Cell(std::string text)
{
    for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
        text.replace(at, 1, "\\|");
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

std::string Code(const std::string& text)
{
    return text.empty() ? "" : "`" + Cell(text) + "`";
}

} // namespace cntk
