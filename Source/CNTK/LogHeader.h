// The log's header and the text of --version.
#pragma once

#include "ActionsLib/Action.h"

#include <string>
#include <vector>

namespace cntk
{

// The original's header lines: build info, host, command line, config before and after substitution, commands,
// precision.
void PrintHeader(Log& log, const std::string& program, const std::vector<std::string>& arguments,
                 const ConfigParameters& root, const std::vector<std::string>& commands, const ProgramContext& context);

// Version, compiler, engines of matrix products, instruction sets, CUDA, MPI, readers found.
std::string VersionText();

const char* VersionName();
const char* CompilerName();

// numCPUThreads=n: for n > 0, n threads, at most the hardware's; else all allowed threads minus |n|, at least 1.
int ThreadsFrom(int numCpuThreads);

extern const char* const c_timeFormat; // of strftime: "2026/11/20 23:59:04"
std::string HostName();

} // namespace cntk
