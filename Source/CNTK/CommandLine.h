// The program's own options, apart from what belongs to the config.
#pragma once

#include <string>
#include <vector>

namespace cntk
{

struct CommandLine
{
    std::string program;
    std::vector<std::string> configArguments; // configFile=..., name=value
    bool help = false;
    std::string helpTopic;
    bool version = false;
    bool check = false;
    bool printConfig = false;
    std::string writeDocs; // folder; empty: no
};

// Fails (Usage) for an unknown option, with near names.
CommandLine ParseCommandLine(const std::vector<std::string>& arguments);

} // namespace cntk
