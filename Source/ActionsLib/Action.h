// An action (train, test, write, ...: book 3.1) is a record with a function that reads a command's block into a job.
// The jobs of all commands are prepared before the first one runs, so that a mistake in the last command costs a
// second.
#pragma once

#include "ActionsLib/Ndl/NdlBuilder.h"
#include "Common/Config/ConfigParameters.h"
#include "Common/Config/Options.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "Math/DataType.h"
#include "Math/Device.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cntk
{

class RunListener; // SGD/RunListener.h
class Workers;     // Common/Workers.h

// Files that commands of the run will write. Jobs are prepared in order; each job may read the outputs that earlier
// jobs have declared, although these files do not exist yet.
class DeclaredOutputs
{
public:
    void Add(const std::string& command, const std::vector<std::string>& paths)
    {
        for (const std::string& path : paths)
            m_outputs.emplace_back(CanonicalPath(path), command);
    }
    // The command writes files whose names stand in a list that is not read here.
    void AddListed(const std::string& command) { m_writerOfLists = command; }

    // The command that writes the file; empty if none does. A declared path stands also for names that begin with the
    // path and a '.': the model of an epoch, the values of a node.
    std::string WriterOf(const std::string& path) const
    {
        const std::string canonical = CanonicalPath(path);
        std::string writer;
        for (const auto& [output, command] : m_outputs)
            if (canonical.starts_with(output) && (canonical.size() == output.size() || canonical[output.size()] == '.'))
                writer = command;
        return writer;
    }
    // The command that writes the model of an epoch, modelPath.N, under this very name: an edit that adds a layer.
    std::string WriterOfEpochModel(const std::string& modelPath) const
    {
        const std::string begin = CanonicalPath(modelPath) + ".";
        for (const auto& [output, command] : m_outputs)
            if (output.starts_with(begin) && ParseSize(std::string_view(output).substr(begin.size())))
                return command;
        return {};
    }
    const std::string& WriterOfLists() const { return m_writerOfLists; }

    bool WillExist(const std::string& path) const
    {
        return path == "-" || FileExists(ResolveInputPath(path)) || !WriterOf(path).empty();
    }

private:
    std::vector<std::pair<std::string, std::string>> m_outputs; // canonical path and command
    std::string m_writerOfLists;
};

// State that all jobs share; outlives them.
struct ProgramContext
{
    Log& log;
    DataType dataType = DataType::Float32;
    CpuOptions cpu{};
    NdlContext ndl{}; // its seeds and names continue from one command to the next
    bool progressTracing = false;
    size_t epochsTotal = 0; // of all train jobs, for progress tracing
    size_t epochsDone = 0;  // of train jobs that have ended
    GpuOptions gpu{};
    bool timestamping = false; // of the log
    // While a job is prepared or checked: the outputs of the jobs before it.
    DeclaredOutputs outputs{};
    // The CPU, a GPU, or both; created when the commands are prepared (JobParts/CommandSettings.h).
    std::vector<std::shared_ptr<Device>> devices{};
    std::shared_ptr<Device> anyDevice{};      // the choice for deviceId=auto, if no command names a GPU
    std::vector<std::string> takeAnyDevice{}; // commands with deviceId=auto
    bool parallelTrain = false;               // parallelTrain=true in the config
    Workers* workers = nullptr;               // processes that run the same commands; null: this process is alone
    RunListener* listener = nullptr;          // receives results; null: nobody
    double fsAdagradColumns = 0;              // FSAdaGrad's mean minibatch size, which continues across commands
};

// One command of `command=`: its name and its block at the root.
struct CommandContext
{
    ProgramContext& program;
    std::string name;              // as the user wrote it
    const ConfigParameters& block; // "Train=[...]"
};

// A prepared action. Its constructor reads and checks the options and touches no files.
class Job
{
public:
    virtual ~Job() = default;

    // Called for every job but the first when all earlier jobs are prepared. Fails if the job would end with an error
    // that can be found now: a missing model that no earlier job writes, a network that cannot be built. Changes
    // nothing.
    virtual void Validate() const {}
    // False if the job may end before it opens its readers: a training whose final model exists.
    virtual bool OpensData() const { return true; }
    // For cntk --check: builds or loads the network, opens the data, reads one minibatch, prints shapes and memory;
    // trains and writes nothing. Models and data from earlier jobs are checked when the job runs.
    virtual void Check() = 0;
    virtual void Run() = 0;
    // Epochs of a train action, for the log's header; else 0.
    virtual size_t Epochs() const { return 0; }
    // Files that the job will write: the models of a train action, or any files of other actions.
    virtual std::vector<std::string> Outputs() const { return {}; }
};

struct Action
{
    std::string name;
    std::vector<std::string> aliases;
    std::string doc;
    std::string bookSection;
    std::vector<OptionInfo> options; // of the action's own block
    std::vector<std::string> blocks; // blocks it reads: "SGD", "reader", "SimpleNetworkBuilder", ...
    std::unique_ptr<Job> (*prepare)(const CommandContext& command) = nullptr;
};

// True for the names of reader blocks: reader, cvReader, encoderReader, ...
bool IsReaderBlock(std::string_view name);

std::span<const Action> Actions();
const Action* FindAction(std::string_view name); // any case; null for an unknown name
// Why an action of the original is not supported, and what to use instead; empty for other names.
std::string WhyMissingAction(std::string_view name);

// The options of a block (SGD, AutoAdjust, SimpleNetworkBuilder, format, ...), for help, documentation and messages
// about misplaced keys.
struct BlockRecord
{
    std::string name;
    std::string doc;
    std::string parent; // the block or action in which it stands: "train", "SGD"
    std::vector<OptionInfo> options;
    void (*check)(const ConfigParameters& block) = nullptr; // reads all values; fails (Config) with every wrong one
};
std::span<const BlockRecord> Blocks();

} // namespace cntk
