// Builds the root block from the command line: layered config files, includes, overrides (book 3.9.2, 3.9.3).
#pragma once

#include "Common/Config/ConfigParameters.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

struct LoadedConfig
{
    std::unique_ptr<ConfigParameters> root; // named after the last config file, without folders
    std::vector<std::string> files;         // config files as spelled, in the order of reading, without included files
    // Lines for the log, in order: "Changed current directory to dir", "Warning: Config file included multiple times.
    // ..."
    std::vector<std::string> notices;
};

// Takes the arguments without the program's name and its own options (--help, --check, ...):
//   configFile=a[+b...]  inserts the lines of the files; may be given several times
//   currentDirectory=dir changes the directory at once, and is a parameter, too
//   any other argument   one more line of the config, which overrides earlier lines
// A config may consist of arguments alone. Fails (Usage) for malformed arguments and (Config) for missing or malformed
// files.
LoadedConfig LoadConfig(const std::vector<std::string>& arguments);

} // namespace cntk
