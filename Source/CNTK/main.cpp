// The program from its arguments to its exit code: command line, config, jobs, log. The error report is the last text
// on standard error.
#include "ActionsLib/Action.h"
#include "ActionsLib/Help/Help.h"
#include "ActionsLib/JobParts/ErrorPlaces.h"
#include "ActionsLib/KnownBlocks.h"
#include "ActionsLib/NewConfig/NewConfig.h"
#include "ActionsLib/RootOptions.h"
#include "CNTK/ArgonCommand.h"
#include "CNTK/Jobs.h"
#include "CNTK/LogHeader.h"
#include "CNTK/RunOutputs.h"
#include "Common/AllowedCores.h"
#include "Common/Config/ConfigFiles.h"
#include "Common/Config/PrintConfig.h"
#include "Common/Config/UnusedKeys.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Interruption.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "Common/Workers.h"
#include "Math/Cpu/GemmEngines.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <thread>
#include <unistd.h>

namespace cntk
{

namespace
{

// Printed if there are no arguments.
constexpr const char* c_firstSteps = "error: no command-line argument given; to start:\n"
                                     "  cntk --new DATA          write a config for a table, a text or photos\n"
                                     "  cntk FILE.cntk --check   find the mistakes of a config, without training\n"
                                     "  cntk FILE.cntk           run a config; name=value after it changes a value\n"
                                     "  cntk --help [WORD]       explain an action, a block, a parameter, any word\n";

struct CommandLine
{
    std::string program;
    std::vector<std::string> configArguments; // configFile=..., name=value
    bool help = false;
    std::string helpTopic;
    bool version = false;
    bool check = false;
    bool printConfig = false;
    bool isArgon = false;       // a command line of the decoder, which needs no record of its config in the log
    std::string writeDocs;      // folder; empty: no
    std::string writeMan;       // the same
    NewConfigRequest newConfig; // no data: no
};

// The arguments after --new: data, perhaps the name of the config, perhaps label=<column>.
NewConfigRequest ParseNew(const std::vector<std::string>& arguments, size_t first)
{
    NewConfigRequest request;
    for (size_t i = first; i < arguments.size(); ++i)
    {
        constexpr std::string_view label = "label=";
        if (ToLower(arguments[i]).starts_with(label))
            request.label = arguments[i].substr(label.size());
        else if (request.data.empty())
            request.data = arguments[i];
        else if (request.config.empty() && ToLower(arguments[i]).ends_with(".cntk"))
            request.config = arguments[i];
        else
            Fail(ErrorKind::Usage, "--new: '", arguments[i],
                 "' is left over; expected cntk --new <data> [<name>.cntk] [label=<column>]");
    }
    if (request.data.empty())
        Fail(ErrorKind::Usage, "--new needs data: a table, a text, or a folder with one sub-folder of images a class; "
                               "expected cntk --new <data> [<name>.cntk] [label=<column>]");
    return request;
}

// Returns the arguments as those of a config. arguments: with the program's name.
std::vector<std::string> ArgumentsOf(const std::vector<std::string>& arguments)
{
    return IsArgonCommand(arguments) ? ConfigArgumentsOf(arguments) : arguments;
}

// Options begin with "--"; "-h" and "help" also ask for help. All other arguments belong to the config. Fails (Usage)
// for unknown options.
CommandLine ParseCommandLine(const std::vector<std::string>& arguments)
{
    CommandLine line;
    line.program = arguments.empty() ? "cntk" : arguments[0];
    for (size_t i = 1; i < arguments.size(); ++i)
    {
        const std::string& argument = arguments[i];
        const bool hasNext = i + 1 < arguments.size();
        if (argument == "--help" || argument == "-h" || argument == "-help" || argument == "-?" || argument == "help")
        {
            line.help = true;
            if (hasNext)
                line.helpTopic = arguments[++i];
            if (i + 1 < arguments.size())
                Fail(ErrorKind::Usage, "--help takes one topic; '", arguments[i + 1], "' is left over");
        }
        else if (argument == "--version")
            line.version = true;
        else if (argument == "--check")
            line.check = true;
        else if (argument == "--print-config")
            line.printConfig = true;
        else if (argument == "--new")
        {
            line.newConfig = ParseNew(arguments, i + 1);
            break;
        }
        else if (argument == "--write-docs")
        {
            if (!hasNext)
                Fail(ErrorKind::Usage, "--write-docs needs a folder");
            line.writeDocs = arguments[++i];
        }
        else if (argument == "--write-man")
        {
            if (!hasNext)
                Fail(ErrorKind::Usage, "--write-man needs a folder");
            line.writeMan = arguments[++i];
        }
        else if (ToLower(argument).starts_with("--configfile"))
            Fail(ErrorKind::Usage, "unknown option '", argument,
                 "'; config files are given without dashes: configFile=<file>");
        else if (argument.starts_with("--"))
        {
            std::vector<std::string> names;
            for (const ProgramOption& option : ProgramOptions())
                names.push_back(option.name);
            Fail(ErrorKind::Usage, "unknown option '", argument, "'", "; config parameters have no dashes: name=value",
                 DidYouMean(argument, names));
        }
        else
            line.configArguments.push_back(argument);
    }
    return line;
}

// Writes to standard output; fails (Device) if the disk is full.
void PutOut(const std::string& text)
{
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        Fail(ErrorKind::Device, "cannot write to standard output: ", std::strerror(errno));
}

// The name lists as many commands as fit into 255 bytes. With parallelTrain=true each worker has its own log.
std::string LogFileName(const RootOptions& options, const Workers* workers)
{
    constexpr size_t c_longestName = 255;
    const std::string prefix = ResolveOutputPath(options.stderrPrefix);
    const size_t begin = prefix.rfind('/') + 1; // of the name in its folder
    const std::string ending =
        options.parallelTrain ? Concat(".logrank", workers != nullptr ? workers->Rank() : 0) : std::string(".log");
    std::string all = prefix, first;
    for (size_t i = 0; i < options.command.size(); ++i)
    {
        const std::string shortened = Concat(all, "_and", options.command.size() - i, "more", ending);
        if (i > 0 && shortened.size() - begin <= c_longestName)
            first = shortened;
        all += "_" + options.command[i];
    }
    all += ending;
    return ResolveOutputPath(all.size() - begin <= c_longestName || first.empty() ? all : first);
}

bool IsOptionOfSomeBlock(const std::string& name)
{
    const auto has = [&](const auto& record)
    {
        return std::any_of(record.options.begin(), record.options.end(),
                           [&](const OptionInfo& option) { return EqualsIgnoreCase(option.name, name); });
    };
    return std::any_of(Actions().begin(), Actions().end(), has) || std::any_of(Blocks().begin(), Blocks().end(), has);
}

// Fails if the log or the done file would replace a file that the config names. Root values that are no parameters are
// variables, one of which may name the file itself.
void RequireNotNamed(const NamedFile& written, const ConfigParameters& root, const LoadedConfig& config)
{
    std::vector<NamedFile> named = FilesNamedIn(root);
    std::erase_if(named,
                  [&](const NamedFile& file)
                  {
                      return EqualsIgnoreCase(file.key, written.key) ||
                             (file.key.find(':') == std::string::npos && !IsOptionOfSomeBlock(file.key));
                  });
    for (const std::string& file : config.files)
        named.push_back({"configFile", file});
    RequireNotRead(written, named, root.WhereOf(written.key));
}

// Without numCPUThreads, the workers on a machine share its cores. mpiexec may have bound each worker to some cores.
int ThreadsOf(const RootOptions& options, const Workers* workers)
{
    if (options.numCPUThreads != 0)
        return ThreadsFrom(options.numCPUThreads);
    if (workers == nullptr || workers->CountOnThisMachine() == 1)
        return 0;
    const auto allowed = size_t(AllowedCores());
    const auto all = size_t(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
    const bool isBound = std::thread::hardware_concurrency() < all;
    const size_t share = (isBound ? all : allowed) / workers->CountOnThisMachine();
    return int(std::clamp<size_t>(share, 1, allowed));
}

void CheckMatrixEngine(const ConfigParameters& root, const RootOptions& options)
{
    if (options.matrixEngine != MatrixEngine::Auto && DescribeEngine(options.matrixEngine).empty())
        FailAt(root.Require("matrixEngine").Where(), ErrorKind::Config, "matrixEngine is ",
               NameOf(options.matrixEngine),
               ", but this library is not installed; install it, or write matrixEngine=auto or matrixEngine=own");
}

ProgramContext ContextOf(const RootOptions& options, Workers* workers, Log& log)
{
    ProgramContext program{.log = log,
                           .dataType = options.precision,
                           .progressTracing = options.progressTracing,
                           .timestamping = options.timestamping};
    const auto report = [&log](const std::string& text) { log.Print("%s\n", text.c_str()); };
    program.parallelTrain = options.parallelTrain;
    program.workers = workers;
    program.cpu.threads = ThreadsOf(options, workers);
    program.cpu.matrixEngine = options.matrixEngine;
    program.gpu.matrixMath = options.gpuMatrixMath;
    program.gpu.graphs = options.gpuGraphs;
    if (options.traceLevel >= 1)
        program.gpu.trace = report;
    program.gpu.isChecked = options.gpuSelfCheck;
    program.gpu.isLocked = options.lockGPU;
    program.gpu.excluded = options.excludedDevices;
    program.gpu.report = report;
    return program;
}

void PrintNotices(const LoadedConfig& config, Log& log)
{
    for (const std::string& notice : config.notices)
        log.Print("%s\n", notice.c_str());
    const ConfigParameters& root = *config.root;
    if (const auto ignored = root.FindHere("randomSeed"); ignored && !root.ExistsHere("trainingSeed"))
        log.Print("%s: randomSeed has no effect here, as in the original; trainingSeed=%s moves all that is drawn at "
                  "random\n",
                  ignored->Where().Location().c_str(), ignored->Text().c_str());
}

// Fails now rather than after a week of training.
void CheckDoneFile(const RootOptions& options, const LoadedConfig& config, const std::vector<PlannedJob>& jobs,
                   const Workers* workers)
{
    const NamedFile done{"doneFile", options.doneFile};
    RequireNotNamed(done, *config.root, config);
    std::vector<NamedFile> outputs;
    for (const PlannedJob& planned : jobs)
        for (const std::string& path : planned.job->Outputs())
            outputs.push_back({"an output of command '" + planned.command + "'", path});
    if (!options.stderrPrefix.empty())
        outputs.push_back({"the log", LogFileName(options, workers)});
    RequireNotRead(done, outputs, config.root->WhereOf("doneFile"));
    RequireWritable(ResolveOutputPath(options.doneFile));
}

constexpr const char* c_success = "successfully finished at ";

// Removes the done file of an earlier run, which would claim that this run has succeeded. Other files stay.
void RemoveDoneFile(const std::string& path)
{
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored))
        return;
    std::string begin(std::strlen(c_success), '\0');
    if (std::ifstream(path, std::ios::binary).read(begin.data(), std::streamsize(begin.size())) && begin == c_success)
        RemoveFile(path);
}

void WriteDoneFile(const std::string& path)
{
    AtomicFile file(path);
    file.Write(c_success + TimeStamp(c_timeFormat) + " on " + HostName() + "\n");
    file.Commit();
}

// Redirects the log to the file that stderr= names. Without stderr=, only the first worker prints a log.
void OpenLog(const RootOptions& options, const LoadedConfig& config, const Workers* workers, Log& log)
{
    if (options.stderrPrefix.empty())
    {
        if (workers != nullptr && !workers->IsFirst())
            log.RedirectTo("/dev/null");
        return;
    }
    const std::string file = LogFileName(options, workers);
    RequireNotNamed({"stderr", file}, *config.root, config);
    log.Tell("Redirecting stderr to file %s\n", file.c_str());
    AtPlace([&] { log.RedirectTo(file); }, config.root->WhereOf("stderr"));
}

LogStyle StyleOf(const RootOptions& options, const Log& log)
{
    using Choice = RootOptions::LogStyleChoice;
    constexpr int c_detailed = 2; // traceLevel
    const bool isForPeople = log.HasTerminal() && options.traceLevel < c_detailed;
    return options.logStyle == Choice::Short || (options.logStyle == Choice::Auto && isForPeople) ? LogStyle::Short
                                                                                                  : LogStyle::Classic;
}

void ReportWorkers(bool parallelTrain, const Workers* workers, Log& log)
{
    if (workers != nullptr)
        log.Print("Worker %zu of %zu, %zu on this machine (%s)\n", workers->Rank(), workers->Count(),
                  workers->CountOnThisMachine(), workers->Describe().c_str());
    else if (parallelTrain)
        log.Warn("parallelTrain=true, but this is the only process (start several as in: mpiexec -n 4 cntk ...); it "
                 "trains alone");
    else if (CountByLauncher() > 1 && RankByLauncher() == 0)
        log.Warn(Concat("mpiexec has started ", CountByLauncher(),
                        " processes, but without parallelTrain=true each of them does all of the work, and those with "
                        "one config write the same files"));
}

// Fails if the workers have different configs: one would wait for another that has ended.
void RequireSameWork(Workers& workers, const std::vector<std::string>& commands, size_t epochs)
{
    const std::vector<std::string> all =
        workers.Gather(Concat("command=", Join(commands, ":"), " with ", Counted(epochs, "epoch")));
    for (size_t i = 1; i < all.size(); ++i)
        if (all[i] != all[0])
            Fail(ErrorKind::Config, "worker 0 is to run ", all[0], ", worker ", i, " ", all[i],
                 "; all workers need the same config");
}

// cntk --check. Reports all mistakes that it finds; jobs are checked further only if none of them is in the way.
void CheckConfig(const LoadedConfig& config, const std::vector<std::string>& commands, ProgramContext& program)
{
    const ConfigParameters& root = *config.root;
    Mistakes mistakes;
    const std::vector<PlannedJob> jobs = PrepareJobs(config, commands, program, &mistakes);
    if (mistakes.Any())
    {
        WarnOfUnusedKeys(root, commands, program.log);
        mistakes.ThrowIfAny(program.log);
    }
    ChooseDevice(root, program);
    mistakes.Try([&] { CheckRunOutputs(ReadOptions<RootOptions>(root), config, jobs, OutputCheck::Names); });
    mistakes.Try([&] { CheckUnusedKeys(root, KnownBlocksOf(root, ActionsOf(jobs)), program.log); });
    CheckJobs(jobs, root, program, mistakes);
}

void RunConfig(const CommandLine& line, std::unique_ptr<Workers>& workers, Log& log)
{
    const LoadedConfig config = LoadConfig(line.configArguments);
    const ConfigParameters& root = *config.root;
    if (line.printConfig)
    {
        PutOut(PrintConfig(root));
        return;
    }

    const RootOptions options = ReadOptions<RootOptions>(root);
    CheckMatrixEngine(root, options);
    const std::vector<std::string>& commands = options.command;
    log.SetTimestamping(options.timestamping);
    if (line.check && options.parallelTrain && RankByLauncher() != 0)
        return; // the first worker checks
    if (options.parallelTrain && !line.check)
        workers = MeetWorkers();
    log.SetStyle(line.isArgon ? LogStyle::Classic : StyleOf(options, log));
    if (!line.check)
    {
        OpenLog(options, config, workers.get(), log);
        ReportWorkers(options.parallelTrain, workers.get(), log);
    }
    const bool isFirst = workers == nullptr || workers->IsFirst();
    if (!line.check && isFirst)
        RemoveDoneFile(ResolveOutputPath(options.doneFile));
    ProgramContext program = ContextOf(options, workers.get(), log);
    program.ndl.writesDumps = false; // until the jobs run
    if (!line.check && !line.isArgon)
        PrintHeader(log, line.program, line.configArguments, root, commands, program);
    PrintNotices(config, log);
    if (line.check)
        return CheckConfig(config, commands, program);
    const std::vector<PlannedJob> jobs = PrepareJobs(config, commands, program);
    ChooseDevice(root, program);
    CheckUnusedKeys(root, KnownBlocksOf(root, ActionsOf(jobs)), log);

    program.epochsTotal = PrintTrainInfo(jobs, log);
    if (workers != nullptr)
        RequireSameWork(*workers, commands, program.epochsTotal);
    if (!options.doneFile.empty())
        CheckDoneFile(options, config, jobs, workers.get());
    program.ndl.writesDumps = isFirst;
    if (isFirst)
    {
        RunOutputs outputs(options, config, line.configArguments, jobs, program, log);
        program.listener = outputs.Listener();
        outputs.During([&] { RunJobs(jobs, program, log); });
        program.listener = nullptr;
    }
    else
        RunJobs(jobs, program, log);
    if (!options.doneFile.empty() && isFirst)
        WriteDoneFile(ResolveOutputPath(options.doneFile));
    log.Print("__COMPLETED__\n");
    log.Finish();
}

int Report(const Error& error, bool isRun, Log& log)
{
    log.ClearProgress();
    const std::string report = error.Report();
    // People read the terminal; scripts read the log, which is standard error if no file is given.
    if (log.IsRedirected() || (isRun && !log.HasTerminal()))
        log.Write("\nEXCEPTION occurred: " + error.Message() + "\n");
    if (log.IsRedirected())
        log.Write(report + "\n");
    std::fwrite(report.data(), 1, report.size(), stderr); // the excerpt may hold any byte
    std::fputc('\n', stderr);
    return ExitCodeOf(error.Kind());
}

// Ends all workers, which would wait for this one. If all workers meet the same error, the first reports it.
int EndAll(Workers* workers, const Error& error, bool isRun, Log& log)
{
    const bool isFirst = workers != nullptr ? workers->IsFirst() : RankByLauncher() == 0;
    if (!isFirst)
        std::this_thread::sleep_for(std::chrono::seconds(2));
    const int exitCode = Report(error, isRun, log);
    if (workers == nullptr)
        return exitCode;
    if (!isFirst)
        std::fprintf(stderr, "(in worker %zu of %zu)\n", workers->Rank(), workers->Count());
    std::fflush(nullptr);
    workers->Abort(exitCode);
    return exitCode;
}

int ReportStop(const Interrupted& stop, Log& log)
{
    log.ClearProgress();
    if (log.IsRedirected())
        log.Write(Concat("\n", stop.what(), "\n"));
    std::fprintf(stderr, "%s\n", stop.what());
    return c_interruptedExitCode;
}

int PrintCompletions(const std::vector<std::string>& words)
{
    for (const std::string& candidate : CompletionsOf(words))
        std::printf("%s\n", candidate.c_str());
    return 0;
}

int RunProgram(const std::vector<std::string>& arguments)
{
    Log log;
    std::unique_ptr<Workers> workers;
    bool isRun = false; // the run has a log
    const auto end = [&](const Error& error) { return EndAll(workers.get(), error, isRun, log); };
    InstallSignalHandlers();
    try
    {
        CommandLine line = ParseCommandLine(ArgumentsOf(arguments));
        line.isArgon = IsArgonCommand(arguments);
        isRun = !line.check && !line.printConfig && !line.configArguments.empty();
        if (line.help)
            PutOut(HelpText(line.helpTopic));
        else if (line.version)
            PutOut(VersionText());
        else if (!line.newConfig.data.empty())
            PutOut(WriteNewConfig(line.newConfig));
        else if (!line.writeDocs.empty())
            WriteReferencePages(line.writeDocs);
        else if (!line.writeMan.empty())
            WriteManualPage(line.writeMan);
        else if (line.configArguments.empty())
        {
            std::fputs(c_firstSteps, stderr);
            return ExitCodeOf(ErrorKind::Usage);
        }
        else
            RunConfig(line, workers, log);
        return 0;
    }
    catch (const Error& error)
    {
        return end(error);
    }
    catch (const Interrupted& stop)
    {
        return workers == nullptr || workers->IsFirst() ? ReportStop(stop, log) : c_interruptedExitCode;
    }
    catch (const std::bad_alloc&)
    {
        return end(Error(ErrorKind::Device, "out of memory"));
    }
    catch (const std::exception& error)
    {
        return end(Error(ErrorKind::Internal, error.what()));
    }
}

} // namespace

} // namespace cntk

// cntk configFile=<file> [name=value ...]
int main(int argc, char** argv)
{
    const std::vector<std::string> arguments(argv, argv + argc);
    if (arguments.size() > 1 && arguments[1] == "--complete")
        return cntk::PrintCompletions({arguments.begin() + 2, arguments.end()});
    cntk::PrepareEngines();
    return cntk::RunProgram(arguments);
}
