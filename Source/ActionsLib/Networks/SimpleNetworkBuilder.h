// SimpleNetworkBuilder (book 3.2.1): standard networks from a list of layer sizes, node for node as the original builds
// them (names, order of creation, random seeds).
#pragma once

#include "Common/Config/Options.h"
#include "Common/Random.h"
#include "ComputationNetwork/ComputationNetwork.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

struct SimpleNetworkOptions
{
    std::vector<std::string> rnnType{"SIMPLENET"};
    std::vector<size_t> layerSizes{100};
    std::vector<std::string> layerTypes{"Sigmoid"};
    std::string trainingCriterion = "CrossEntropyWithSoftmax";
    std::string evalCriterion = "CrossEntropyWithSoftmax";
    bool uniformInit = true;
    double initValueScale = 1;
    bool applyMeanVarNorm = false;
    bool needPrior = false;
    bool addDropoutNodes = false;
    size_t randomSeedOffset = 0;
    SeedStream startValueSeeds; // the command's; no option of the block
    // recurrent networks
    std::vector<size_t> recurrentLayer;
    double defaultHiddenActivity = 0.1;
    size_t lookupTableOrder = 0;
    size_t maOrder = 0;
    int vocabSize = -1;
    int nbrClass = -1;
    int noise_number = -1;
    std::vector<size_t> directConnect;
    bool constInputGateValue = false;
    bool constForgetGateValue = false;
    bool constOutputGateValue = false;
    double inputGateInitVal = -1;
    double forgetGateInitVal = -1;
    double outputGateInitVal = -1;
    bool sparseinput = false;
    size_t auxfeatdim = 20;
    std::vector<size_t> streamSizes; // of a network with several streams
    std::vector<size_t> lookupTableOrderSizes;
    int outputLayerSize = -1; // of a converted network whose file has no output layer
    // accepted, without effect here: class files are the reader's business
    std::string deviceId = "auto"; // without effect here
    std::string word2cls;
    std::string cls2index;
    int labelEmbeddingSize = 10;

    static const OptionTable<SimpleNetworkOptions>& Options();
};

// Reads and checks the block; fails (Config) for an unknown network, layer type or criterion with position and near
// names.
SimpleNetworkOptions ReadSimpleNetworkOptions(const ConfigParameters& block);
// The same for a network whose layer sizes come from elsewhere.
SimpleNetworkOptions ReadConvertedNetworkOptions(const ConfigParameters& block);

// What the options of the block say in vain, with its place: numbers in recurrentLayer that make no layer recurrent.
std::vector<std::string> WarningsOf(const SimpleNetworkOptions& options, const ConfigParameters& block);

// The network, validated, with random start values. encoderOutput: what a decoder takes from another network.
std::unique_ptr<ComputationNetwork> BuildSimpleNetwork(const SimpleNetworkOptions& options, DataType dataType,
                                                       std::shared_ptr<Device> device,
                                                       const ComputationNode* encoderOutput = nullptr);

} // namespace cntk
