// From the command line to the root block: layered config files, includes, overrides (book 3.9.2, 3.9.3).
#pragma once

#include "Common/Config/ConfigParameters.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

struct LoadedConfig
{
    std::unique_ptr<ConfigParameters> root; // its name is that of the last config file, without folders
    std::vector<std::string> files;         // config files as spelled, in the order of reading; includes not counted
    // For the log, in order: "Changed current directory to dir", "Warning: Config file included multiple times. ..."
    std::vector<std::string> notices;
};

// The arguments without the program's name and without the program's own options (--help, --check, ...):
//   configFile=a[+b...]  the files' lines are put here; may be given several times
//   currentDirectory=dir changes the directory at once; also stays a parameter
//   anything else        one more line of the config, overriding what stands before it
// A config may consist of arguments alone. Fails (Usage) on malformed arguments, (Config) on missing or malformed
// files.
LoadedConfig LoadConfig(const std::vector<std::string>& arguments);

} // namespace cntk
