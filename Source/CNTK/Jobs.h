// The commands of a run, prepared, in their order: checked, looked ahead to, run.
#pragma once

#include "ActionsLib/Action.h"
#include "Common/Config/ConfigFiles.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

struct PlannedJob
{
    const Action* action;
    std::string word; // the action as the config spells it, which the log repeats: "eval" is "test"
    std::string command;
    std::unique_ptr<Job> job;
};

// Each action of each command. What is wrong with a block is told with the misspelt names that may be the reason.
std::vector<PlannedJob> PrepareJobs(const LoadedConfig& config, const std::vector<std::string>& commands,
                                    ProgramContext& program);
// Where no command names a GPU, one is chosen now; where one does, those that take any device take that one.
void ChooseDevice(const ConfigParameters& root, ProgramContext& program);
// With the names of their commands.
std::vector<std::pair<std::string, const Action*>> ActionsOf(const std::vector<PlannedJob>& jobs);

// --check
void CheckJobs(const std::vector<PlannedJob>& jobs, ProgramContext& program, Log& log);
// The lines from which scripts know models and epochs. Returns the epochs of all trainings.
size_t PrintTrainInfo(const std::vector<PlannedJob>& jobs, Log& log);
// What would end a command hours from now is told before the first one runs, which tells such things by itself.
void LookAhead(const std::vector<PlannedJob>& jobs, const ConfigParameters& root, ProgramContext& program);
// Interrupted between two commands says how to go on.
void RunJobs(const std::vector<PlannedJob>& jobs, ProgramContext& program, Log& log);

} // namespace cntk
