#include "Common/WrappedText.h"

#include <sstream>

namespace cntk
{

std::string Wrapped(std::string_view text, size_t indent, size_t firstColumn, size_t columns)
{
    std::string result;
    size_t column = firstColumn;
    bool isLineStart = true;
    std::istringstream words{std::string(text)};
    for (std::string word; words >> word;)
    {
        if (!isLineStart && column + 1 + word.size() > columns)
        {
            result += "\n" + std::string(indent, ' ');
            column = indent;
        }
        else if (!isLineStart)
        {
            result += ' ';
            ++column;
        }
        result += word;
        column += word.size();
        isLineStart = false;
    }
    return result;
}

} // namespace cntk
