// Where a training begins: at the newest usable model and checkpoint, or with a network built anew.
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
    std::vector<std::unique_ptr<ComputationNetwork>> encoders; // of a training of several networks, all but the last
    std::unique_ptr<ComputationNetwork> network;               // null: nothing to continue from
    size_t epochsDone = 0;
    std::optional<WithinEpochPoint> within; // behind so many minibatches of the epoch; the checkpoint has the rest
    std::optional<Checkpoint> checkpoint;   // none: rates and smoothed gradients begin with their defaults
    // The search in front of the epoch goes on within a trial; this checkpoint has what it found so far.
    std::optional<WithinEpochPoint> inTrial;
    std::optional<Checkpoint> trialCheckpoint;
};

// The newest model below the final one with its checkpoint; one made within the epoch after it is taken before it, one
// made within a trial in front of that epoch comes with it. A damaged model is reported and the one before is taken; a
// damaged checkpoint likewise where there is an older one, else its model is continued without.
ResumePoint LoadResumePoint(const TrainingFiles& files, size_t newest, DataType dataType,
                            const std::shared_ptr<Device>& device, const NodeRegistry& registry, Log& log);

// Warns when the model that is continued is not the network as it is described now: the description was changed, but
// the old network goes on (NetworkComparison.h). Builds nothing where the model is very large. With a trainingSeed it
// also says when the values differ, for a model that nothing has trained yet.
void WarnOfOtherNetwork(const ComputationNetwork& loaded, const std::string& path,
                        const std::function<std::unique_ptr<ComputationNetwork>()>& build, Log& log,
                        uint64_t trainingSeed = 0);

// Warns that the final model, with which nothing is left to train, is not the network that `build` describes.
void WarnOfOtherFinished(const ComputationNetwork& loaded, const std::string& path,
                         const std::function<std::unique_ptr<ComputationNetwork>()>& build, Log& log);

// Of a final model that fewer epochs have made than maxEpochs has now: tells what to rename to train it further.
void TellOfFewerEpochs(const TrainingFiles& files, DataType dataType, Device& device, Log& log);

// Warns where the model after epochsDone, which is gone on from or final, is older than what its training begins with:
// modelPath.0, or the original model of an adaptation ("": none), which were made anew since.
void WarnOfNewerStart(const TrainingFiles& files, size_t epochsDone, const std::string& original, Log& log);

// maxEpochs was lowered: tells that the model of so many epochs is there already. newest: what is gone on from.
void TellOfLongerTraining(const TrainingFiles& files, size_t newest, Log& log);

// Tells which models are not gone on from though they are of more epochs than newest, and why: they are older than
// those before them, or makeMode=false begins anew.
void WarnOfPassedOver(const TrainingFiles& files, bool makeMode, std::optional<size_t> newest, Log& log);

// The name of the number of epochs in the extra part of checkpoints behind epochs.
constexpr const char* c_epochsDoneKey = "epochsDone";

// The name of the training's seed in the extra part of checkpoints; absent where it is 0.
constexpr const char* c_trainingSeedKey = "trainingSeed";

// Warns when the training that is continued had another seed.
void WarnOfOtherSeed(const Checkpoint& checkpoint, const std::string& path, uint64_t trainingSeed, Log& log);

// Warns when a finished training had another seed than the config gives.
void WarnOfOtherFinishedSeed(const Checkpoint& checkpoint, const std::string& path, uint64_t trainingSeed, Log& log);

// In the extra part of checkpoints the last rate of the list, under the list's own name, where AutoAdjust goes on
// behind the list. With it a training that is continued warns when that rate was changed in the config, which has no
// effect any more. epoch: the one that comes, from 0.
void SaveListedRate(const SgdOptions& options, std::map<std::string, std::string>& extra);
void WarnOfOtherListedRate(const Checkpoint& checkpoint, const std::string& path, const SgdOptions& options,
                           size_t epoch, Log& log);

} // namespace cntk
