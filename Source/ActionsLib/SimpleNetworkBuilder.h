// SimpleNetworkBuilder (book 3.2.1): standard networks from a list of layer sizes, node for node as the original builds
// them (names, order of creation, random seeds).
#pragma once

#include "Common/Config/Options.h"
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

    static const OptionTable<SimpleNetworkOptions>& Options();
};

// Reads and checks the block; fails (Config) for an unknown network, layer type or criterion with position and near
// names.
SimpleNetworkOptions ReadSimpleNetworkOptions(const ConfigParameters& block);

// The network, validated, with random start values.
std::unique_ptr<ComputationNetwork> BuildSimpleNetwork(const SimpleNetworkOptions& options, DataType dataType,
                                                       std::shared_ptr<Device> device);

} // namespace cntk
