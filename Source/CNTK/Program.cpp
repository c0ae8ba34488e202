// Every block of every command is read before the first command starts; then the jobs run in order, with the original's
// banners and lines around them.
#include "CNTK/Program.h"

#include "ActionsLib/Action.h"
#include "ActionsLib/Commands/ErrorPlaces.h"
#include "ActionsLib/Help/Help.h"
#include "ActionsLib/KnownBlocks.h"
#include "ActionsLib/RootOptions.h"
#include "CNTK/CommandLine.h"
#include "CNTK/Jobs.h"
#include "CNTK/LogHeader.h"
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

// Help and the like on standard output; a full disk is told.
void PutOut(const std::string& text)
{
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        Fail(ErrorKind::Device, "cannot write to standard output: ", std::strerror(errno));
}

// With parallelTrain=true each worker has a log of its own. No file system has names without end: of many commands the
// first ones are named.
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

// The log and the done file are written whatever the commands are: neither may be a file that the config names. A value
// at the root that is no parameter is a variable, perhaps the one that names the file.
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

// Unless the config says how many, the workers on a machine share its cores. mpiexec may have bound each to some.
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

// What was noticed when the config was read, and a key of the original that does nothing.
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

// Told now rather than behind a week of training.
void CheckDoneFile(const RootOptions& options, const LoadedConfig& config, const std::vector<PlannedJob>& jobs,
                   const Workers* workers)
{
    const NamedFile done{"doneFile", options.doneFile};
    RequireNotNamed(done, *config.root, config);
    std::vector<NamedFile> models;
    for (const PlannedJob& planned : jobs)
        for (const std::string& model : planned.job->Produces())
            models.push_back({"the model of command '" + planned.command + "'", model});
    if (!options.stderrPrefix.empty())
        models.push_back({"the log", LogFileName(options, workers)});
    RequireNotRead(done, models, config.root->WhereOf("doneFile"));
    RequireWritable(ResolveOutputPath(options.doneFile));
}

constexpr const char* c_success = "successfully finished at ";

// That of an earlier run would say that this one has succeeded, whatever becomes of it. Nothing else is removed.
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

// The log of a process goes to the file that stderr= names. Of several without one, the first one's is everybody's.
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
    log.Print("Redirecting stderr to file %s\n", file.c_str());
    AtPlace([&] { log.RedirectTo(file); }, config.root->WhereOf("stderr"));
}

void TellOfWorkers(bool parallelTrain, const Workers* workers, Log& log)
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

// Otherwise one would wait for another that has ended.
void RequireSameWork(Workers& workers, const std::vector<std::string>& commands, size_t epochs)
{
    const std::vector<std::string> all =
        workers.Gather(Concat("command=", Join(commands, ":"), " with ", Counted(epochs, "epoch")));
    for (size_t i = 1; i < all.size(); ++i)
        if (all[i] != all[0])
            Fail(ErrorKind::Config, "worker 0 is to run ", all[0], ", worker ", i, " ", all[i],
                 "; all workers need the same config");
}

void RunConfig(const CommandLine& line, std::unique_ptr<Workers>& workers, Log& log)
{
    if (line.configArguments.empty())
        Fail(ErrorKind::Usage,
             "no command-line argument given; usage: cntk configFile=<file> [name=value ...], or cntk "
             "--help");
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
        return; // the first one tells
    if (options.parallelTrain && !line.check)
        workers = MeetWorkers();
    if (!line.check)
    {
        OpenLog(options, config, workers.get(), log);
        TellOfWorkers(options.parallelTrain, workers.get(), log);
    }
    const bool isFirst = workers == nullptr || workers->IsFirst();
    if (!line.check && isFirst)
        RemoveDoneFile(ResolveOutputPath(options.doneFile));
    ProgramContext program = ContextOf(options, workers.get(), log);
    program.ndl.writesDumps = !line.check && isFirst;
    if (!line.check)
        PrintHeader(log, line.program, line.configArguments, root, commands, program);
    PrintNotices(config, log);
    const std::vector<PlannedJob> jobs = PrepareJobs(config, commands, program);
    ChooseDevice(root, program);
    CheckUnusedKeys(root, KnownBlocksOf(root, ActionsOf(jobs)), log);
    if (line.check)
        return CheckJobs(jobs, program, log);

    program.epochsTotal = PrintTrainInfo(jobs, log);
    if (workers != nullptr)
        RequireSameWork(*workers, commands, program.epochsTotal);
    if (!options.doneFile.empty())
        CheckDoneFile(options, config, jobs, workers.get());
    program.ndl.writesDumps = false;
    LookAhead(jobs, root, program);
    program.ndl.writesDumps = isFirst;
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
    // People look at the terminal, scripts at the log, which is standard error where no file has it.
    if (log.IsRedirected() || (isRun && !log.HasTerminal()))
        log.Write("\nEXCEPTION occurred: " + error.Message() + "\n");
    if (log.IsRedirected())
        log.Write(report + "\n");
    std::fwrite(report.data(), 1, report.size(), stderr); // the excerpt may hold any byte
    std::fputc('\n', stderr);
    return ExitCodeOf(error.Kind());
}

// Others wait for this worker: they end as well. Where all have met the same error, the first one tells it; what only
// another one has met, that one.
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

// No Error: nothing was wrong.
int ReportStop(const Interrupted& stop, Log& log)
{
    log.ClearProgress();
    if (log.IsRedirected())
        log.Write(Concat("\n", stop.what(), "\n"));
    std::fprintf(stderr, "%s\n", stop.what());
    return c_interruptedExitCode;
}

} // namespace

int RunProgram(const std::vector<std::string>& arguments)
{
    Log log;
    std::unique_ptr<Workers> workers;
    bool isRun = false; // one that has a log
    const auto end = [&](const Error& error) { return EndAll(workers.get(), error, isRun, log); };
    InstallSignalHandlers();
    try
    {
        const CommandLine line = ParseCommandLine(arguments);
        isRun = !line.check && !line.printConfig && !line.configArguments.empty();
        if (line.help)
            PutOut(HelpText(line.helpTopic));
        else if (line.version)
            PutOut(VersionText());
        else if (!line.writeDocs.empty())
            WriteReferencePages(line.writeDocs);
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

} // namespace cntk
