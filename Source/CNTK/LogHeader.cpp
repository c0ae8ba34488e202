// The header has the lines of the original, because scripts read some of them.
#include "CNTK/LogHeader.h"

#include "Common/AllowedCores.h"
#include "Common/Config/PrintConfig.h"
#include "Common/Error.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"
#include "Common/Workers.h"
#include "Math/Cpu/GemmEngines.h"
#include "Math/Device.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <thread>
#include <unistd.h>

namespace cntk
{

namespace
{

constexpr const char* c_version = CNTK_VERSION;
const std::string c_rule(67, '-');

#if defined(__clang__)
constexpr const char* c_compiler = "clang " __clang_version__;
#else
constexpr const char* c_compiler = "g++ " __VERSION__;
#endif

// Names the engine of matrixEngine=auto, then the installed libraries.
std::string EnginesText()
{
    std::string text = DescribeEngine(MatrixEngine::Auto);
    for (const MatrixEngine engine : {MatrixEngine::OpenBlas, MatrixEngine::OneDnn})
    {
        const std::string found = DescribeEngine(engine);
        text += "; " + (found.empty() ? std::string(NameOf(engine)) + " not found" : found + " found");
    }
    return text;
}

} // namespace

const char* const c_timeFormat = "%Y/%m/%d %H:%M:%S";

std::string HostName()
{
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

int ThreadsFrom(int numCpuThreads)
{
    if (numCpuThreads < 0)
        return std::max(AllowedCores() + numCpuThreads, 1);
    return std::min(numCpuThreads, std::max(int(std::thread::hardware_concurrency()), 1));
}

void PrintHeader(Log& log, const std::string& program, const std::vector<std::string>& arguments,
                 const ConfigParameters& root, const std::vector<std::string>& commands, const ProgramContext& context)
{
    log.Print("%s\nBuild info: \n\n\t\tVersion: %s\n\t\tCompiler: %s\n%s\n\n", c_rule.c_str(), c_version, c_compiler,
              c_rule.c_str());
    log.Print("Running on %s at %s\nCommand line: \n%s", HostName().c_str(), TimeStamp(c_timeFormat).c_str(),
              program.c_str());
    for (const std::string& argument : arguments)
        log.Print("  %s", argument.c_str());
    log.Print("\n\n");
    // The lines of the config get no time stamps.
    const auto dump = [&](const char* title, const char* end, const std::string& text)
    {
        log.Write(std::string(">>>>>>>>>>>>>>>>>>>> ") + title + " >>>>>>>>>>>>>>>>>>>>\n");
        log.SetTimestamping(false);
        log.Write(text + "\n");
        log.SetTimestamping(context.timestamping);
        log.Write(std::string("<<<<<<<<<<<<<<<<<<<< ") + title + end + "<<<<<<<<<<<<<<<<<<<<\n\n");
    };
    dump("RAW CONFIG (VARIABLES NOT RESOLVED)", "  ", RawConfigText(root));
    dump("RAW CONFIG WITH ALL VARIABLES RESOLVED", " ", ResolvedConfigText(root));
    dump("PROCESSED CONFIG WITH ALL VARIABLES RESOLVED", " ", ProcessedConfigText(root));
    log.Print("Commands:");
    for (const std::string& command : commands)
        log.Print(" %s", command.c_str());
    log.Print("\nPrecision = \"%s\"\n", NameOf(context.dataType));
    if (context.cpu.threads > 0)
        log.Print("Using %d CPU threads.\n", context.cpu.threads);
}

const char* VersionName()
{
    return c_version;
}

const char* CompilerName()
{
    return c_compiler;
}

std::string VersionText()
{
    std::string text = std::string("CNTK Classic ") + c_version + "\ncompiler: " + c_compiler + "\n";
    text += "CPU: " + MakeCpuDevice()->Describe() + "\n";
    text += "matrix products: " + EnginesText() + "\n";
    text += "CUDA: ";
    try
    {
        text += MakeGpuDevice(0)->Describe() + "\n";
    }
    catch (const Error& error)
    {
        text += "none (" + error.Message() + ")\n";
    }
    text += "MPI: " + DescribeWorkersLibrary() + "\n";
    std::string readers;
    std::string writers;
    for (const PluginRecord& plugin : ListPlugins())
    {
        if (!plugin.problem.empty())
            readers += (readers.empty() ? "" : ", ") + plugin.name + " (does not load: " + plugin.problem + ")";
        else if (plugin.reads)
            readers += (readers.empty() ? "" : ", ") + plugin.name;
        if (plugin.writes)
            writers += (writers.empty() ? "" : ", ") + plugin.name;
    }
    text += "readers: " + (readers.empty() ? "none found" : readers) + "\n";
    if (!writers.empty())
        text += "writers: " + writers + "\n";
    return text;
}

} // namespace cntk
