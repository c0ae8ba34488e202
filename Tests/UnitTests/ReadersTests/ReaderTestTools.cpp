// Regular expressions of reader tests, in one file because they take long to compile.
#include "ReadersTests/ReaderTestTools.h"

#include <regex>

namespace cntk
{

std::string OnLines(const std::string& parameters)
{
    return std::regex_replace(parameters, std::regex("([ \\[])(\\w+=)"), "$1\n$2");
}

std::string WithoutFolders(const std::string& message)
{
    return std::regex_replace(message, std::regex("'[^']*/"), "'");
}

} // namespace cntk
