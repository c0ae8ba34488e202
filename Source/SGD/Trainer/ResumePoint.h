// Finds where a training begins: at the newest usable model and checkpoint, or with a newly built network.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Files/CheckpointFile.h"
#include "SGD/Files/TrainingFiles.h"
#include "SGD/Schedules/Schedules.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace cntk
{

class Log;

struct ResumePoint
{
    std::vector<std::unique_ptr<ComputationNetwork>> encoders; // for a training of several networks: all but the last
    std::unique_ptr<ComputationNetwork> network;               // null: nothing to continue from
    size_t epochsDone = 0;
    std::optional<WithinEpochPoint> within; // minibatches done in the epoch; the checkpoint has the rest
    std::optional<Checkpoint> checkpoint;   // none: rates and smoothed gradients start with their defaults
};

// Loads the newest model below the final one, with its checkpoint. A point within the following epoch takes precedence.
// Reports a damaged model and uses the previous one. For a damaged checkpoint it does the same if an older one exists;
// otherwise the training continues from the model without a checkpoint.
ResumePoint LoadResumePoint(const TrainingFiles& files, size_t newest, DataType dataType,
                            const std::shared_ptr<Device>& device, const NodeRegistry& registry, Log& log);

// Returns the first difference of a loaded network from the described one, worded to follow "the network described now:
// "; empty if there is none. Compares the parameters, and the types, arguments and inputs of all nodes below training
// and evaluation criteria. Ignores generated names, and what training and edits set: values, statistics, counts,
// learning rate multipliers.
std::string FirstDifference(const ComputationNetwork& loaded, const ComputationNetwork& described);

// Warns if the loaded model is not the network that `build` describes. isFinished: the model is the final one of a
// finished training; otherwise the training resumes from it. Builds nothing if the model is very large.
void WarnOfOtherNetwork(const ComputationNetwork& loaded, const std::string& path, bool isFinished,
                        const std::function<std::unique_ptr<ComputationNetwork>()>& build, Log& log);

// Returns the epochs of the final model if maxEpochs was raised after its training had trained all epochs; its
// checkpoint says so. None: the final model stays the final one.
std::optional<size_t> FindRaisedEpochs(const TrainingFiles& files, const Checkpoint& finalCheckpoint);

// Makes the final model the model of so many epochs, from which the training continues.
void ContinueFinalModel(const TrainingFiles& files, size_t epochs, Log& log);

// If maxEpochs was lowered, reports that the model of so many epochs exists already. newest: the model that is resumed.
void ReportLongerTraining(const TrainingFiles& files, size_t newest, Log& log);

// Reports models with more epochs than newest that are not resumed, and the reason: they are older than the models of
// earlier epochs, or makeMode=false restarts the training.
void WarnOfPassedOver(const TrainingFiles& files, bool makeMode, std::optional<size_t> newest, Log& log);

// Key of the number of epochs in the extra part of checkpoints written after epochs.
constexpr const char* c_epochsDoneKey = "epochsDone";

// Key of the training's seed in the extra part of checkpoints; absent if it is 0.
constexpr const char* c_trainingSeedKey = "trainingSeed";

// Warns if the checkpoint's training had another seed. isFinished: as for WarnOfOtherNetwork.
void WarnOfOtherSeed(const Checkpoint& checkpoint, const std::string& path, bool isFinished, uint64_t trainingSeed,
                     Log& log);

// After the epochs of the list of rates, AutoAdjust decides. The extra part of checkpoints then holds the last rate of
// the list under the list's own name. A resumed training warns if the config has changed that rate, which no longer has
// an effect. epoch: the next one, from 0.
void SaveListedRate(const SgdOptions& options, std::map<std::string, std::string>& extra);
void WarnOfOtherListedRate(const Checkpoint& checkpoint, const std::string& path, const SgdOptions& options,
                           size_t epoch, Log& log);

} // namespace cntk
