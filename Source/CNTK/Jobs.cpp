#include "CNTK/Jobs.h"

#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/ErrorPlaces.h"
#include "ActionsLib/JobParts/ReaderSource.h"
#include "ActionsLib/KnownBlocks.h"
#include "Common/Config/UnusedKeys.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Interruption.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "Common/Workers.h"
#include "SGD/RunListener.h"

#include <sstream>

namespace cntk
{

namespace
{

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

std::string BlocksHint(const ConfigParameters& root)
{
    const std::vector<std::string> names = root.BlockNames();
    return names.empty() ? std::string() : "; blocks in the config: " + Join(names, ", ");
}

// Fails for "Train Test" if both are blocks.
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

const ConfigParameters& RequireCommand(const LoadedConfig& config, const std::string& name)
{
    const ConfigParameters& root = *config.root;
    const SourcePos where = root.WhereOf("command");
    if (const ConfigParameters* const block = root.FindBlock(name))
        return *block;
    if (!root.Exists("command"))
        Fail(ErrorKind::Config, NameOf(config),
             " has no command=<block>[:<block>...] that says what to run, and no block 'train', which would be run "
             "without it",
             BlocksHint(root));
    if (root.ExistsHere(name))
        root.RequireBlock(name); // fails: the value is no block
    FailIfSeparatedByBlanks(root, name, where);
    FailAt(where, ErrorKind::Config, "command '", name, "' is listed but not defined", "; it needs a block ", name,
           "=[action=...]", DidYouMean(name, root.BlockNames()));
}

const Action& RequireAction(const ConfigParameters& block, const std::string& command, const std::string& word)
{
    if (const Action* const action = FindAction(word))
        return *action;
    if (const std::string why = WhyMissingAction(word); !why.empty())
        FailAt(block.WhereOf("action"), ErrorKind::Config, "action '", word, "' of command '", command,
               "' is not supported: ", why);
    std::vector<std::string> names;
    for (const Action& candidate : Actions())
        names.push_back(candidate.name);
    FailAt(block.WhereOf("action"), ErrorKind::Config, "unknown action '", word, "' in command '", command,
           "'; actions: ", Join(names, ", "), DidYouMean(word, names));
}

void DeclareOutputs(const PlannedJob& planned, const CommandContext& command)
{
    command.program.outputs.Add(planned.command, planned.job->Outputs());
    DeclareOutputsOfBlocks(command, *planned.action);
}

// Prepares one action of a command, and declares its outputs.
void PrepareOne(const CommandContext& command, const std::string& word, const Action& action,
                std::vector<PlannedJob>& jobs)
{
    ProgramContext& program = command.program;
    const auto prepare = [&]
    {
        jobs.push_back({&action, word, command.name, action.prepare(command)});
        if (jobs.size() == 1)
            return;
        const Job& job = *jobs.back().job;
        if (job.OpensData())
            RequireData(command, action);
        AtPlacesOfNodes(program.ndl, [&] { job.Validate(); });
    };
    WithNote(prepare, [&] { return "while preparing command '" + command.name + "' (action '" + action.name + "')"; });
    DeclareOutputs(jobs.back(), command);
}

void PrepareCommand(const LoadedConfig& config, const std::string& name, ProgramContext& program, Mistakes* mistakes,
                    std::vector<PlannedJob>& jobs)
{
    const ConfigParameters& block = RequireCommand(config, name);
    const CommandContext command{program, name, block};
    const std::vector<std::string> actions = TextsOf(block, "action", "train");
    if (actions.empty() || actions[0].empty())
        FailAt(block.Require("action").Where(), ErrorKind::Config, "action= of command '", name, "' names no action");
    for (const std::string& word : actions)
    {
        const Action& action = RequireAction(block, name, word);
        if (mistakes == nullptr)
            PrepareOne(command, word, action, jobs);
        else if (!mistakes->Try([&] { PrepareOne(command, word, action, jobs); }))
            FindFurtherMistakes(command, action, *mistakes);
    }
}

// Prepares the jobs in order. Each job is validated against the outputs that the jobs before it declare; the first job
// runs at once and reports its own errors.
std::vector<PlannedJob> PrepareAll(const LoadedConfig& config, const std::vector<std::string>& commands,
                                   ProgramContext& program, Mistakes* mistakes)
{
    std::vector<PlannedJob> jobs;
    if (commands.empty())
        FailAt(config.root->WhereOf("command"), ErrorKind::Config, "command= lists nothing to run",
               BlocksHint(*config.root));
    for (const std::string& name : commands)
        if (mistakes == nullptr)
            PrepareCommand(config, name, program, mistakes, jobs);
        else
            mistakes->Try([&] { PrepareCommand(config, name, program, mistakes, jobs); });
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

// Adds notes about misspelt names and lists with wrong separators, which are often why a block cannot be read.
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
        // The search met the same or another mistake; the first error is reported.
    }
}

// "command=Test:Write", the commands from the given job on.
std::string CommandsFrom(const std::vector<PlannedJob>& jobs, size_t first)
{
    std::string commands = "command=" + jobs[first].command;
    for (size_t i = first + 1; i < jobs.size(); ++i)
        if (jobs[i].command != jobs[i - 1].command)
            commands += ":" + jobs[i].command;
    return commands;
}

// In the short style, most actions show all of their lines. Only the lines of trainings, evaluations and outputs are
// too many.
class LinesOfAction
{
public:
    LinesOfAction(const PlannedJob& planned, Log& log) : m_log(log), m_style(log.Style())
    {
        const std::string& action = planned.action->name;
        if (planned.job->Epochs() == 0 && action != "test" && action != "cv" && action != "write")
            m_log.SetStyle(LogStyle::Classic);
    }
    ~LinesOfAction() { m_log.SetStyle(m_style); }
    LinesOfAction(const LinesOfAction&) = delete;
    LinesOfAction& operator=(const LinesOfAction&) = delete;

private:
    Log& m_log;
    LogStyle m_style;
};

void EndCommand(const PlannedJob& planned, RunListener& listener)
{
    if (planned.job->Epochs() == 0)
        for (const std::string& path : planned.job->Outputs())
            if (FileExists(path))
                listener.FileIsWritten(path);
    listener.CommandEnds();
}

} // namespace

std::vector<PlannedJob> PrepareJobs(const LoadedConfig& config, const std::vector<std::string>& commands,
                                    ProgramContext& program, Mistakes* mistakes)
{
    try
    {
        return PrepareAll(config, commands, program, mistakes);
    }
    catch (Error& error)
    {
        AddLikelySlips(*config.root, commands, error);
        throw;
    }
}

void WarnOfUnusedKeys(const ConfigParameters& root, const std::vector<std::string>& commands, Log& log)
{
    try
    {
        const auto actions = ActionsNamedBy(root, commands);
        const std::vector<KnownBlock> known = KnownBlocksOf(root, actions);
        // The keys of a command with an unknown action are unknown.
        const bool knowsAll = actions.size() >= commands.size();
        for (const UnusedKey& key : knowsAll ? FindUnusedKeys(root, known) : FindLikelySlips(root, known))
            log.Warn(key.where.Location() + ": " + key.message);
    }
    catch (const Error&)
    {
        // The search met one of the mistakes.
    }
}

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

void CheckJobs(const std::vector<PlannedJob>& jobs, const ConfigParameters& root, ProgramContext& program,
               Mistakes& mistakes)
{
    program.outputs = {};
    for (const PlannedJob& planned : jobs)
    {
        const auto note = [&]
        { return "while checking command '" + planned.command + "' (action '" + planned.action->name + "')"; };
        program.log.Print("Checking command '%s', action '%s'\n", planned.command.c_str(),
                          planned.action->name.c_str());
        mistakes.Try([&] { WithNote([&] { AtPlacesOfNodes(program.ndl, [&] { planned.job->Check(); }); }, note); });
        DeclareOutputs(planned, {program, planned.command, root.RequireBlock(planned.command)});
    }
    mistakes.ThrowIfAny(program.log);
    program.log.Tell("__CHECKED__: %s, nothing was trained or written\n", Counted(jobs.size(), "command").c_str());
}

size_t PrintTrainInfo(const std::vector<PlannedJob>& jobs, Log& log)
{
    size_t epochs = 0;
    for (const PlannedJob& planned : jobs)
        if (planned.job->Epochs() > 0)
        {
            epochs += planned.job->Epochs();
            for (const std::string& model : planned.job->Outputs())
                log.Print("CNTKModelPath: %s\n", model.c_str());
            log.Print("CNTKCommandTrainInfo: %s : %d\n", planned.command.c_str(), int(planned.job->Epochs()));
        }
    if (epochs > 0)
        log.Print("CNTKCommandTrainInfo: CNTKNoMoreCommands_Total : %d\n", int(epochs));
    return epochs;
}

void RunJobs(const std::vector<PlannedJob>& jobs, ProgramContext& program, Log& log)
{
    Workers* const workers = program.workers;
    for (size_t i = 0; i < jobs.size(); ++i)
    {
        const PlannedJob& planned = jobs[i];
        if (workers != nullptr)
            workers->Wait(); // until the files of the previous command are written
        if (workers != nullptr ? workers->Any(StopRequested()) : StopRequested())
            throw Interrupted(Concat("stopped as asked before command '", planned.command,
                                     "'; to resume, run it again with ", CommandsFrom(jobs, i)));
        const std::string banner = "# Action \"" + planned.word + "\"";
        log.Print("\n%s\n#%*s#\n%-77s#\n#%*s#\n%s\n\n", std::string(78, '#').c_str(), 76, "", banner.c_str(), 76, "",
                  std::string(78, '#').c_str());
        const bool trains = planned.job->Epochs() > 0;
        if (!trains && workers != nullptr && !workers->IsFirst())
        {
            log.Print("The first worker does this alone.\n");
            continue;
        }
        if (trains)
            log.Print("CNTKCommandTrainBegin: %s\n", planned.command.c_str());
        if (program.listener != nullptr)
            program.listener->CommandBegins(planned.command, planned.action->name);
        const auto note = [&]
        { return "in command '" + planned.command + "' (action '" + planned.action->name + "')"; };
        {
            const LinesOfAction lines(planned, log);
            WithNote([&] { AtPlacesOfNodes(program.ndl, [&] { planned.job->Run(); }); }, note);
        }
        if (program.listener != nullptr)
            EndCommand(planned, *program.listener);
        if (trains)
            log.Print("CNTKCommandTrainEnd: %s\n", planned.command.c_str());
        log.Print("\nAction \"%s\" complete.\n\n", planned.word.c_str());
    }
    if (workers != nullptr)
        workers->Wait();
}

} // namespace cntk
