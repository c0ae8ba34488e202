// Everything that a caller gives to a training, and the reports it gets.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "SGD/Minibatches/MinibatchSource.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class RunListener;
class Workers;

// Results of an epoch, for callers that follow a training.
struct EpochReport
{
    size_t epoch = 0; // 0-based
    double criterion = 0;
    std::vector<double> evaluations;
    size_t samples = 0;
    double learningRatePerSample = 0;
};

// An encoder: a network whose values the next network reads. It has a reader of its own.
struct EncoderRequest
{
    std::function<std::unique_ptr<ComputationNetwork>()> buildNetwork;
    std::function<std::unique_ptr<MinibatchSource>()> openReader;
    std::function<std::unique_ptr<MinibatchSource>()> openCvReader; // if the trained network has one
    std::string readerName, cvReaderName;                           // names of the blocks, for messages
};

struct TrainingRequest
{
    SgdOptions options;
    std::string modelPath; // empty: options.modelPath
    bool makeMode = true;  // continue from the newest usable model
    // Seed of dropout and noise; buildNetwork and openReader use it too. 0: the random streams of CNTK v1.1.
    uint64_t trainingSeed = 0;

    // FSAdaGrad's mean minibatch size, which passes from one training of a process to the next. Read at the beginning,
    // written at the end. Null: begins at 0.
    double* fsAdagradColumns = nullptr;

    // Processes that train the same network with the same request; null: none. The first one writes the files, and all
    // read them.
    Workers* workers = nullptr;

    DataType dataType = DataType::Float32;
    std::shared_ptr<Device> device;
    const NodeRegistry* registry = nullptr; // for loading models; null: the standard one

    // Builds and validates the network. Called only if no model is resumed.
    std::function<std::unique_ptr<ComputationNetwork>()> buildNetwork;
    // Builds the same network again if a model is resumed, to warn of differences. It must not log or advance seeds.
    // Empty: no comparison.
    std::function<std::unique_ptr<ComputationNetwork>()> buildForComparison;
    std::function<std::unique_ptr<MinibatchSource>()> openReader;
    std::function<std::unique_ptr<MinibatchSource>()> openCvReader; // empty: no cross-validation
    // Encoders that are trained together with the network. They are built first, in this order. pairNetworks connects a
    // network with the previous one, and returns the nodes of the previous one whose values it reads.
    std::vector<EncoderRequest> encoders;
    std::function<std::vector<ComputationNodePtr>(ComputationNetwork& encoder, ComputationNetwork& network)>
        pairNetworks;
    std::string readerName = "reader", cvReaderName; // of the last network's blocks, for messages
    // For adaptationRegType=KL: the original network, and the node whose outputs are mixed with the labels.
    std::function<std::unique_ptr<ComputationNetwork>()> openReference;
    std::string referenceNode;
    // Called once with the network to train, for printing; may be empty.
    std::function<void(const ComputationNetwork& network, bool isLoaded)> networkReady;
    // Returns "file:3:4: ", the place in the description that creates the node, for warnings; may be empty.
    std::function<std::string(const ComputationNode& node)> placeOf;
    // Called after the files of each epoch are written; may be empty.
    std::function<void(const EpochReport& report)> epochDone;
    // Called after each minibatch; true: the training saves its state and throws Interrupted. May be empty.
    std::function<bool()> stopRequested;
    RunListener* listener = nullptr; // receives all results; null: nobody
};

} // namespace cntk
