// The program from its arguments to its exit code: config, commands, jobs, log.
#pragma once

#include <string>
#include <vector>

namespace cntk
{

// Runs the program and gives its exit code (0, or that of the error's kind). The error's report is the last thing on
// standard error.
int RunProgram(const std::vector<std::string>& arguments);

} // namespace cntk
