// The commands of a run as jobs in their order: preparing, checking, running.
#pragma once

#include "ActionsLib/Action.h"
#include "CNTK/Mistakes.h"
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
    std::string word; // the action as the config spells it, which the log repeats: "eval" for "test"
    std::string command;
    std::unique_ptr<Job> job;
};

// Prepares each action of each command. Errors carry notes about misspelt names that may be the reason. mistakes:
// collects the errors instead, for --check; null: the first error is thrown.
std::vector<PlannedJob> PrepareJobs(const LoadedConfig& config, const std::vector<std::string>& commands,
                                    ProgramContext& program, Mistakes* mistakes = nullptr);
// For a config with mistakes: warns of keys that nothing reads, which may be other mistakes.
void WarnOfUnusedKeys(const ConfigParameters& root, const std::vector<std::string>& commands, Log& log);
// Chooses the device of commands with deviceId=auto: the GPU that another command names, else the best device.
void ChooseDevice(const ConfigParameters& root, ProgramContext& program);
// The actions with the names of their commands.
std::vector<std::pair<std::string, const Action*>> ActionsOf(const std::vector<PlannedJob>& jobs);

// cntk --check
void CheckJobs(const std::vector<PlannedJob>& jobs, const ConfigParameters& root, ProgramContext& program,
               Mistakes& mistakes);
// Prints the lines from which scripts know models and epochs. Returns the epochs of all trainings.
size_t PrintTrainInfo(const std::vector<PlannedJob>& jobs, Log& log);
// Interrupted between two commands, it reports how to resume.
void RunJobs(const std::vector<PlannedJob>& jobs, ProgramContext& program, Log& log);

} // namespace cntk
