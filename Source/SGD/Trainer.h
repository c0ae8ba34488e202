// The flow of a training (book 3.3.1.1): where to begin, precomputation, epochs with validation and rate control,
// checkpoints and models.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "SGD/Minibatches/MinibatchSource.h"
#include "SGD/TrainingOptions.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class Log;
class Workers;

// What happened in an epoch, for callers that follow a training (progress tracing, tests).
struct EpochReport
{
    size_t epoch = 0; // 0-based
    double criterion = 0;
    std::vector<double> evaluations;
    size_t samples = 0;
    double learningRatePerSample = 0;
};

// A network that another one takes values from: an encoder. Each has a reader of its own.
struct EncoderRequest
{
    std::function<std::unique_ptr<ComputationNetwork>()> buildNetwork;
    std::function<std::unique_ptr<MinibatchSource>()> openReader;
    std::function<std::unique_ptr<MinibatchSource>()> openCvReader; // where the trained network has one
    std::string readerName, cvReaderName;                           // of the blocks, for messages
};

struct TrainingRequest
{
    SgdOptions options;
    std::string modelPath; // empty: options.modelPath
    bool makeMode = true;  // continue from the newest usable model
    // Of dropout and noise; what builds networks and opens readers knows it, too. 0: the original's random streams.
    uint64_t trainingSeed = 0;

    // FSAdaGrad's mean size of a minibatch, which goes on from one training of a process to the next: what those before
    // have left, and afterwards what this one leaves. Null: begins at 0.
    double* fsAdagradColumns = nullptr;

    // Processes that train the same network, each with a request like this one; null: none. The first of them writes
    // the files, which all read.
    Workers* workers = nullptr;

    DataType dataType = DataType::Float32;
    std::shared_ptr<Device> device;
    const NodeRegistry* registry = nullptr; // of models that are loaded; null: the standard one

    // The network to begin with, validated; called only when no model is continued.
    std::function<std::unique_ptr<ComputationNetwork>()> buildNetwork;
    // The same network once more where a model is continued, to warn if it became another; must neither log nor move
    // on any seeds. Empty: no comparison.
    std::function<std::unique_ptr<ComputationNetwork>()> buildForComparison;
    std::function<std::unique_ptr<MinibatchSource>()> openReader;
    std::function<std::unique_ptr<MinibatchSource>()> openCvReader; // empty: no cross-validation
    // Networks that are trained as one with the network above, which comes last: encoders. They are built first, in
    // their order. pairNetworks connects each network with the one before it, and returns the nodes of the latter that
    // values are taken from.
    std::vector<EncoderRequest> encoders;
    std::function<std::vector<ComputationNodePtr>(ComputationNetwork& encoder, ComputationNetwork& network)>
        pairNetworks;
    std::string readerName = "reader", cvReaderName; // of the last network's blocks, for messages
    // The file that buildNetwork begins with, to warn where it is newer than a model that is continued; "": none.
    std::string originalModel;
    // The original of a network that is adapted, and the node whose outputs its labels are mixed with; for
    // adaptationRegType=KL.
    std::function<std::unique_ptr<ComputationNetwork>()> openReference;
    std::string referenceNode;
    // Called once with the network that will be trained (for printing it); may be empty.
    std::function<void(const ComputationNetwork& network, bool isLoaded)> networkReady;
    // "file:3:4: " where the user's description makes the node, for warnings; may be empty.
    std::function<std::string(const ComputationNode& node)> placeOf;
    // Called at the end of each epoch, after its files are written; may be empty.
    std::function<void(const EpochReport& report)> epochDone;
    // Asked after each minibatch; true: the state is saved and Interrupted is thrown. May be empty.
    std::function<bool()> stopRequested;
};

// Writes modelPath.0, modelPath.1, ..., modelPath and their checkpoints. NaN or infinity in the criterion is an Error
// of kind Model with epoch, minibatch, rate and the first node that shows it; the files of the epochs before stay.
void Train(const TrainingRequest& request, Log& log);

} // namespace cntk
