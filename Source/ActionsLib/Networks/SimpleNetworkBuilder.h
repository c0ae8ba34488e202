// SimpleNetworkBuilder (book 3.2.1): standard networks from a list of layer sizes, with the original's names, order of
// creation and random seeds.
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
    SeedStream startValueSeeds; // of the command; no option
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
    // accepted without effect
    std::string deviceId = "auto";
    std::string word2cls;
    std::string cls2index;
    int labelEmbeddingSize = 10;

    static const OptionTable<SimpleNetworkOptions>& Options();
};

// Fails (Config) for unknown networks, layer types and criteria, with place and near names.
SimpleNetworkOptions ReadSimpleNetworkOptions(const ConfigParameters& block);
// The same for a converted network, whose layer sizes come from a file.
SimpleNetworkOptions ReadConvertedNetworkOptions(const ConfigParameters& block);

// Warnings, with places, about options without effect: numbers in recurrentLayer that make no layer recurrent.
std::vector<std::string> WarningsOf(const SimpleNetworkOptions& options, const ConfigParameters& block);

// Returns the validated network with random start values. encoderOutput: the node of another network from which a
// decoder takes values.
std::unique_ptr<ComputationNetwork> BuildSimpleNetwork(const SimpleNetworkOptions& options, DataType dataType,
                                                       std::shared_ptr<Device> device,
                                                       const ComputationNode* encoderOutput = nullptr);

} // namespace cntk
