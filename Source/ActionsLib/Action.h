// An action (train, test, write, ...: book 3.1) is a record and a function that reads its block into a job. All jobs of
// all commands are prepared before the first one runs, so that a typo in the last command costs a second, not a night.
#pragma once

#include "ActionsLib/Commands/PlannedModels.h"
#include "ActionsLib/Ndl/NdlBuilder.h"
#include "Common/Config/ConfigParameters.h"
#include "Common/Config/Options.h"
#include "Common/Log.h"
#include "Math/DataType.h"
#include "Math/Device.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class FilesToCome; // Commands/LookAhead.h
class Workers;     // Common/Workers.h

// What every job shares; made in main, outlives all jobs.
struct ProgramContext
{
    Log& log;
    DataType dataType = DataType::Float32;
    CpuOptions cpu{};
    NdlContext ndl{}; // seeds and names of NDL networks go on counting from one command to the next
    bool progressTracing = false;
    size_t epochsTotal = 0; // of all train jobs, for progress tracing
    size_t epochsDone = 0;  // of those that are over
    GpuOptions gpu{};
    bool timestamping = false; // of the log
    PlannedModels planned{};   // of the commands checked so far; empty but for --check
    // Canonical paths of what the commands of this run make that are no trainings.
    std::vector<std::string> made{};
    // CommandDevice.h makes them when the commands are prepared: the CPU, a GPU, or both.
    std::vector<std::shared_ptr<Device>> devices{};
    std::shared_ptr<Device> anyDevice{};      // what deviceId=auto has taken, where it had the choice
    std::vector<std::string> takeAnyDevice{}; // commands with deviceId=auto
    bool parallelTrain = false;               // asked for
    Workers* workers = nullptr;               // the processes that run the same commands; null: there is no other
    double fsAdagradColumns = 0; // FSAdaGrad's mean size of a minibatch goes on from one command to the next
};

// One command of `command=`: its name and its block at the root.
struct CommandContext
{
    ProgramContext& program;
    std::string name;              // as the user wrote it
    const ConfigParameters& block; // "Train=[...]"
};

// A prepared action: options are read and checked, nothing has been touched yet.
class Job
{
public:
    virtual ~Job() = default;

    // cntk --check: builds or loads the network, opens the data, reads one minibatch, prints shapes and memory; trains
    // and writes nothing. What a run would write is put down in ProgramContext::planned, for the checks of later
    // commands.
    virtual void Check() = 0;
    virtual void Run() = 0;
    // Before any job runs, but the first: fails where its turn would end with an error that can be seen now, and soon:
    // a model that will not be there, a network that cannot be built. Leaves everything as it is.
    virtual void LookAhead(const FilesToCome& files) const { static_cast<void>(files); }
    // Whether its turn may end before it opens the data that its readers name: a training that is over.
    virtual bool MayBeOver(const FilesToCome& files) const
    {
        static_cast<void>(files);
        return false;
    }
    // For the log's header: epochs of a train action, else 0.
    virtual size_t Epochs() const { return 0; }
    // Files that this job will make, for the checks of later commands (a test of a model not yet trained).
    virtual std::vector<std::string> Produces() const { return {}; }
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

// Whether a block is one of readers: reader, cvReader, encoderReader, ...
bool IsReaderBlock(std::string_view name);

std::span<const Action> Actions();
const Action* FindAction(std::string_view name); // any case; null if there is none
// Of an action that the original has and this program does not: why, and what to use; else empty.
std::string WhyMissingAction(std::string_view name);

// The options of every block (SGD, AutoAdjust, SimpleNetworkBuilder, format, ...), for help, documentation, and for
// saying where a misplaced key belongs.
struct BlockRecord
{
    std::string name;
    std::string doc;
    std::string parent; // the block or action it stands in: "train", "SGD"
    std::vector<OptionInfo> options;
};
std::span<const BlockRecord> Blocks();

} // namespace cntk
