// Regular expressions of reader tests: here alone, since they take longer to compile than most tests.
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
