// Finds where a training begins: at the newest usable model and checkpoint, or with a newly built network.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Files/CheckpointFile.h"
#include "SGD/Files/TrainingFiles.h"
#include "SGD/TrainingOptions.h"

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
    // Trial at which the search before the epoch resumes; this checkpoint holds the search's results so far.
    std::optional<WithinEpochPoint> inTrial;
    std::optional<Checkpoint> trialCheckpoint;
};

// Loads the newest model below the final one, with its checkpoint. A point within the following epoch takes precedence;
// a point within a trial before that epoch is loaded in addition. Reports a damaged model and uses the previous one.
// For a damaged checkpoint it does the same if an older one exists; otherwise the training continues from the model
// without a checkpoint.
ResumePoint LoadResumePoint(const TrainingFiles& files, size_t newest, DataType dataType,
                            const std::shared_ptr<Device>& device, const NodeRegistry& registry, Log& log);

// Warns if the resumed model is not the network that is described now: the description has changed, but the training
// resumes the old network (NetworkComparison.h). Builds nothing if the model is very large. With a trainingSeed it also
// reports different values, for a model that has not been trained yet.
void WarnOfOtherNetwork(const ComputationNetwork& loaded, const std::string& path,
                        const std::function<std::unique_ptr<ComputationNetwork>()>& build, Log& log,
                        uint64_t trainingSeed = 0);

// Warns if the final model of a finished training is not the network that `build` describes.
void WarnOfOtherFinished(const ComputationNetwork& loaded, const std::string& path,
                         const std::function<std::unique_ptr<ComputationNetwork>()>& build, Log& log);

// If the final model has fewer epochs than maxEpochs has now, reports which file to rename to train it further.
void TellOfFewerEpochs(const TrainingFiles& files, DataType dataType, Device& device, Log& log);

// Warns if the model after epochsDone (resumed or final) is older than the start of its training, which was written
// again since: modelPath.0, or the original model of an adaptation ("": none).
void WarnOfNewerStart(const TrainingFiles& files, size_t epochsDone, const std::string& original, Log& log);

// If maxEpochs was lowered, reports that the model of so many epochs exists already. newest: the model that is resumed.
void TellOfLongerTraining(const TrainingFiles& files, size_t newest, Log& log);

// Reports models with more epochs than newest that are not resumed, and the reason: they are older than the models of
// earlier epochs, or makeMode=false restarts the training.
void WarnOfPassedOver(const TrainingFiles& files, bool makeMode, std::optional<size_t> newest, Log& log);

// Key of the number of epochs in the extra part of checkpoints written after epochs.
constexpr const char* c_epochsDoneKey = "epochsDone";

// Key of the training's seed in the extra part of checkpoints; absent if it is 0.
constexpr const char* c_trainingSeedKey = "trainingSeed";

// Warns if the resumed training had another seed.
void WarnOfOtherSeed(const Checkpoint& checkpoint, const std::string& path, uint64_t trainingSeed, Log& log);

// Warns if a finished training had another seed than the config gives.
void WarnOfOtherFinishedSeed(const Checkpoint& checkpoint, const std::string& path, uint64_t trainingSeed, Log& log);

// Once AutoAdjust has taken over from the list of rates, the extra part of checkpoints holds the last rate of the list,
// under the list's own name. A resumed training then warns if the config has changed that rate, which no longer has an
// effect. epoch: the next one, from 0.
void SaveListedRate(const SgdOptions& options, std::map<std::string, std::string>& extra);
void WarnOfOtherListedRate(const Checkpoint& checkpoint, const std::string& path, const SgdOptions& options,
                           size_t epoch, Log& log);

} // namespace cntk
