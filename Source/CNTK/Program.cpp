// Every block of every command is read before the first command starts; then the jobs run in order, with the original's
// banners and lines around them.
#include "CNTK/Program.h"

#include "ActionsLib/Action.h"
#include "ActionsLib/Commands/CommandDevice.h"
#include "ActionsLib/Commands/ErrorPlaces.h"
#include "ActionsLib/Commands/LookAhead.h"
#include "ActionsLib/Help/Help.h"
#include "ActionsLib/KnownBlocks.h"
#include "ActionsLib/RootOptions.h"
#include "CNTK/CommandLine.h"
#include "CNTK/LogHeader.h"
#include "Common/Config/ConfigFiles.h"
#include "Common/Config/PrintConfig.h"
#include "Common/Config/UnusedKeys.h"
#include "Common/Counted.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Interruption.h"
#include "Common/Log.h"
#include "Common/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <sstream>

namespace cntk
{

namespace
{

struct PlannedJob
{
    const Action* action;
    std::string word; // the action as the config spells it, which the log repeats: "eval" is "test"
    std::string command;
    std::unique_ptr<Job> job;
};

std::vector<std::string> TextsOf(const ConfigParameters& block, std::string_view key, const std::string& defaultValue)
{
    const auto value = block.Find(key);
    if (!value)
        return {defaultValue};
    std::vector<std::string> texts;
    for (const ConfigValue& element : value->AsArray())
        texts.push_back(element.Text());
    return texts;
}

// Names of the blocks at the root that may be commands, for suggestions.
std::vector<std::string> CommandCandidates(const ConfigParameters& root)
{
    std::vector<std::string> names;
    for (const std::string& name : root.BlockNames())
        names.push_back(name);
    return names;
}

std::string BlocksHint(const ConfigParameters& root)
{
    const std::vector<std::string> names = CommandCandidates(root);
    return names.empty() ? std::string() : "; blocks in the config: " + Join(names, ", ");
}

// "Train Test", where both are blocks.
void FailIfSeparatedByBlanks(const ConfigParameters& root, const std::string& name, const SourcePos& where)
{
    std::string mended;
    std::istringstream words(name);
    for (std::string word; words >> word;)
    {
        if (root.FindBlock(word) == nullptr)
            return;
        mended += (mended.empty() ? "" : ":") + word;
    }
    if (mended.empty())
        return;
    FailAt(where, ErrorKind::Config, "there is no command '", name,
           "'; the commands of a list are separated by ':', write ", mended);
}

// "the config a.cntk+b.cntk"; "the command line" without files.
std::string NameOf(const LoadedConfig& config)
{
    return config.files.empty() ? "the command line" : "the config " + Join(config.files, "+");
}

std::vector<PlannedJob> PrepareJobs(const LoadedConfig& config, const std::vector<std::string>& commands,
                                    ProgramContext& program)
{
    const ConfigParameters& root = *config.root;
    const SourcePos where = root.WhereOf("command");
    std::vector<PlannedJob> jobs;
    if (commands.empty())
        FailAt(where, ErrorKind::Config, "command= lists nothing to run", BlocksHint(root));
    for (const std::string& name : commands)
    {
        const ConfigParameters* block = root.FindBlock(name);
        if (block == nullptr && !root.Exists("command"))
            Fail(ErrorKind::Config, NameOf(config),
                 " has no command=<block>[:<block>...] that says what to run, and no block 'train', which would be run "
                 "without it",
                 BlocksHint(root));
        if (block == nullptr && root.ExistsHere(name))
            root.RequireBlock(name);
        if (block == nullptr)
            FailIfSeparatedByBlanks(root, name, where);
        if (block == nullptr)
            FailAt(where, ErrorKind::Config, "command '", name, "' is listed but not defined", "; it needs a block ",
                   name, "=[action=...]", DidYouMean(name, CommandCandidates(root)));
        const std::vector<std::string> actions = TextsOf(*block, "action", "train");
        if (actions.empty() || actions[0].empty())
            FailAt(block->Require("action").Where(), ErrorKind::Config, "action= of command '", name,
                   "' names no action");
        for (const std::string& word : actions)
        {
            const Action* action = FindAction(word);
            if (action == nullptr)
            {
                std::vector<std::string> names;
                for (const Action& candidate : Actions())
                    names.push_back(candidate.name);
                if (const std::string why = WhyMissingAction(word); !why.empty())
                    FailAt(block->WhereOf("action"), ErrorKind::Config, "action '", word, "' of command '", name,
                           "' is not there: ", why);
                FailAt(block->WhereOf("action"), ErrorKind::Config, "unknown action '", word, "' in command '", name,
                       "'; actions: ", Join(names, ", "), DidYouMean(word, names));
            }
            const auto note = [&] { return "while preparing command '" + name + "' (action '" + action->name + "')"; };
            const auto prepare = [&] { return action->prepare({program, name, *block}); };
            jobs.push_back({action, word, name, WithNote(prepare, note)});
            if (jobs.back().job->Epochs() == 0)
                for (const std::string& file : jobs.back().job->Produces())
                    program.made.push_back(CanonicalPath(file));
        }
    }
    return jobs;
}

std::vector<std::pair<std::string, const Action*>> ActionsNamedBy(const ConfigParameters& root,
                                                                  const std::vector<std::string>& commands)
{
    std::vector<std::pair<std::string, const Action*>> actions;
    for (const std::string& name : commands)
        if (const ConfigParameters* const block = root.FindBlock(name))
            for (const std::string& word : TextsOf(*block, "action", "train"))
                if (const Action* const action = FindAction(word))
                    actions.emplace_back(name, action);
    return actions;
}

// A misspelt name, or a list that a wrong separator broke up, is often why a block cannot be read.
void AddLikelySlips(const ConfigParameters& root, const std::vector<std::string>& commands, Error& error)
{
    try
    {
        for (const UnusedKey& key : FindLikelySlips(root, KnownBlocksOf(root, ActionsNamedBy(root, commands))))
            if (key.where.Location() != error.Where().Location())
                error.AddNote(key.where.Location() + ": " + key.message);
    }
    catch (const Error&)
    {
        // Looking further met the same or another mistake: the first one is told.
    }
}

std::vector<PlannedJob> PrepareWithHints(const LoadedConfig& config, const std::vector<std::string>& commands,
                                         ProgramContext& program)
{
    try
    {
        return PrepareJobs(config, commands, program);
    }
    catch (Error& error)
    {
        AddLikelySlips(*config.root, commands, error);
        throw;
    }
}

// Where no command names a GPU, one is chosen now; where one does, those that take any device take that one.
void ChooseDevice(const ConfigParameters& root, ProgramContext& program)
{
    if (program.takeAnyDevice.empty())
        return;
    const std::string& name = program.takeAnyDevice.front();
    const std::shared_ptr<Device> device = DeviceOf({program, name, root.RequireBlock(name)});
    if (program.anyDevice == nullptr)
        program.log.Print("%s: deviceId=auto takes the %s that another command of this run names\n",
                          Join(program.takeAnyDevice, ", ").c_str(), DeviceWords(*device).c_str());
}

std::vector<std::pair<std::string, const Action*>> ActionsOf(const std::vector<PlannedJob>& jobs)
{
    std::vector<std::pair<std::string, const Action*>> actions;
    for (const PlannedJob& planned : jobs)
        actions.emplace_back(planned.command, planned.action);
    return actions;
}

// command= without the commands that are done.
std::string CommandsFrom(const std::vector<PlannedJob>& jobs, size_t first)
{
    std::string commands = "command=" + jobs[first].command;
    for (size_t i = first + 1; i < jobs.size(); ++i)
        if (jobs[i].command != jobs[i - 1].command) // not another action of the same
            commands += ":" + jobs[i].command;
    return commands;
}

// What would end a command hours from now is told before the first one runs, which tells such things by itself.
void LookAhead(const std::vector<PlannedJob>& jobs, const ConfigParameters& root, ProgramContext& program)
{
    FilesToCome files;
    for (const PlannedJob& planned : jobs)
    {
        const CommandContext command{program, planned.command, root.RequireBlock(planned.command)};
        const auto look = [&]
        {
            if (!planned.job->MayBeOver(files))
                RequireDataToCome(command, *planned.action, files);
            AtPlacesOfNodes(program.ndl, [&] { planned.job->LookAhead(files); });
        };
        if (&planned != jobs.data())
            WithNote(look,
                     [&] {
                         return Concat("while looking ahead to command '", planned.command, "' (action '",
                                       planned.action->name, "')");
                     });
        files.Add(planned.job->Produces());
    }
}

void RunJobs(const std::vector<PlannedJob>& jobs, const NdlContext& ndl, Log& log)
{
    for (size_t i = 0; i < jobs.size(); ++i)
    {
        const PlannedJob& planned = jobs[i];
        if (StopRequested())
            throw Interrupted(Concat("stopped as asked in front of command '", planned.command,
                                     "'; to go on, run it again with ", CommandsFrom(jobs, i)));
        const std::string banner = "# Action \"" + planned.word + "\"";
        log.Print("\n%s\n#%*s#\n%-77s#\n#%*s#\n%s\n\n", std::string(78, '#').c_str(), 76, "", banner.c_str(), 76, "",
                  std::string(78, '#').c_str());
        const bool trains = planned.job->Epochs() > 0;
        if (trains)
            log.Print("CNTKCommandTrainBegin: %s\n", planned.command.c_str());
        const auto note = [&]
        { return "in command '" + planned.command + "' (action '" + planned.action->name + "')"; };
        WithNote([&] { AtPlacesOfNodes(ndl, [&] { planned.job->Run(); }); }, note);
        if (trains)
            log.Print("CNTKCommandTrainEnd: %s\n", planned.command.c_str());
        log.Print("\nAction \"%s\" complete.\n\n", planned.word.c_str());
    }
}

// Help and the like on standard output; a full disk is told.
void PutOut(const std::string& text)
{
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        Fail(ErrorKind::Device, "cannot write to standard output: ", std::strerror(errno));
}

// With parallelTrain=true the original's first process writes the log that this one writes.
std::string LogFileName(const RootOptions& options)
{
    std::string name = options.stderrPrefix;
    for (const std::string& command : options.command)
        name += "_" + command;
    return ResolveOutputPath(name + ".log" + (options.parallelTrain ? "rank0" : ""));
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

ProgramContext ContextOf(const RootOptions& options, Log& log)
{
    ProgramContext program{.log = log,
                           .dataType = options.precision,
                           .progressTracing = options.progressTracing,
                           .timestamping = options.timestamping};
    const auto report = [&log](const std::string& text) { log.Print("%s\n", text.c_str()); };
    if (options.numCPUThreads != 0)
        program.cpu.threads = ThreadsFrom(options.numCPUThreads);
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

void CheckJobs(const std::vector<PlannedJob>& jobs, ProgramContext& program, Log& log)
{
    for (const PlannedJob& planned : jobs)
    {
        const auto note = [&]
        { return "while checking command '" + planned.command + "' (action '" + planned.action->name + "')"; };
        log.Print("Checking command '%s', action '%s'\n", planned.command.c_str(), planned.action->name.c_str());
        program.planned.BeginCommand(planned.command);
        WithNote([&] { AtPlacesOfNodes(program.ndl, [&] { planned.job->Check(); }); }, note);
    }
    log.Print("__CHECKED__: %s, nothing was trained or written\n", Counted(jobs.size(), "command").c_str());
}

// The lines from which scripts know models and epochs. Returns the epochs of all trainings.
size_t PrintTrainInfo(const std::vector<PlannedJob>& jobs, Log& log)
{
    size_t epochs = 0;
    for (const PlannedJob& planned : jobs)
        if (planned.job->Epochs() > 0)
        {
            epochs += planned.job->Epochs();
            for (const std::string& model : planned.job->Produces())
                log.Print("CNTKModelPath: %s\n", model.c_str());
            log.Print("CNTKCommandTrainInfo: %s : %d\n", planned.command.c_str(), int(planned.job->Epochs()));
        }
    if (epochs > 0)
        log.Print("CNTKCommandTrainInfo: CNTKNoMoreCommands_Total : %d\n", int(epochs));
    return epochs;
}

// Told now rather than behind a week of training.
void CheckDoneFile(const RootOptions& options, const LoadedConfig& config, const std::vector<PlannedJob>& jobs)
{
    const NamedFile done{"doneFile", options.doneFile};
    RequireNotNamed(done, *config.root, config);
    std::vector<NamedFile> models;
    for (const PlannedJob& planned : jobs)
        for (const std::string& model : planned.job->Produces())
            models.push_back({"the model of command '" + planned.command + "'", model});
    if (!options.stderrPrefix.empty())
        models.push_back({"the log", LogFileName(options)});
    RequireNotRead(done, models, config.root->WhereOf("doneFile"));
    RequireWritable(ResolveOutputPath(options.doneFile));
}

void WriteDoneFile(const std::string& path)
{
    AtomicFile file(path);
    file.Write("successfully finished at " + TimeStamp(c_timeFormat) + " on " + HostName() + "\n");
    file.Commit();
}

void RunConfig(const CommandLine& line, Log& log)
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
    const std::vector<std::string>& commands = options.command;
    log.SetTimestamping(options.timestamping);
    if (!options.stderrPrefix.empty() && !line.check)
    {
        const std::string file = LogFileName(options);
        RequireNotNamed({"stderr", file}, root, config);
        log.Print("Redirecting stderr to file %s\n", file.c_str());
        log.RedirectTo(file);
    }
    if (options.parallelTrain)
        log.Warn("parallelTrain=true, but this program trains in one process; it goes on alone");
    ProgramContext program = ContextOf(options, log);
    program.ndl.writesDumps = !line.check;
    if (!line.check)
        PrintHeader(log, line.program, line.configArguments, root, commands, program);
    PrintNotices(config, log);
    const std::vector<PlannedJob> jobs = PrepareWithHints(config, commands, program);
    ChooseDevice(root, program);
    CheckUnusedKeys(root, KnownBlocksOf(root, ActionsOf(jobs)), log);
    if (line.check)
        return CheckJobs(jobs, program, log);

    program.epochsTotal = PrintTrainInfo(jobs, log);
    if (!options.doneFile.empty())
        CheckDoneFile(options, config, jobs);
    program.ndl.writesDumps = false;
    LookAhead(jobs, root, program);
    program.ndl.writesDumps = true;
    RunJobs(jobs, program.ndl, log);
    if (!options.doneFile.empty())
        WriteDoneFile(ResolveOutputPath(options.doneFile));
    log.Print("__COMPLETED__\n");
    log.Finish();
}

int Report(const Error& error, Log& log)
{
    log.ClearProgress();
    const std::string report = error.Report();
    // People look at the terminal, scripts at the log file.
    if (log.IsRedirected())
        log.Write("\nEXCEPTION occurred: " + error.Message() + "\n" + report + "\n");
    std::fwrite(report.data(), 1, report.size(), stderr); // the excerpt may hold any byte
    std::fputc('\n', stderr);
    return ExitCodeOf(error.Kind());
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
    InstallSignalHandlers();
    try
    {
        const CommandLine line = ParseCommandLine(arguments);
        if (line.help)
            PutOut(HelpText(line.helpTopic));
        else if (line.version)
            PutOut(VersionText());
        else if (!line.writeDocs.empty())
            WriteReferencePages(line.writeDocs);
        else
            RunConfig(line, log);
        return 0;
    }
    catch (const Error& error)
    {
        return Report(error, log);
    }
    catch (const Interrupted& stop)
    {
        return ReportStop(stop, log);
    }
    catch (const std::bad_alloc&)
    {
        return Report(Error(ErrorKind::Device, "out of memory"), log);
    }
    catch (const std::exception& error)
    {
        return Report(Error(ErrorKind::Internal, error.what()), log);
    }
}

} // namespace cntk
