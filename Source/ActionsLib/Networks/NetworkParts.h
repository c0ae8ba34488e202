// Parts of the networks of SimpleNetworkBuilder: parameters with the next seed, layers, criteria.
#pragma once

#include "ActionsLib/Networks/SimpleNetworkBuilder.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// A word of trainingCriterion or evalCriterion, compared in any case.
struct CriterionWord
{
    enum class Inputs
    {
        Product, // labels and the output layer's product
        Classes, // labels, last hidden layer, weights, class scores
        Noise,   // labels, last hidden layer, weights, bias
        Sequence // labels, scores, transitions
    };
    const char* word;
    const char* nodeType;
    const char* nodeName;
    bool forTraining;
    Inputs inputs;
};
const CriterionWord* FindCriterion(std::string_view word); // null for an unknown word
std::vector<std::string> CriterionWords(bool forTraining);

// The node type of a layer's word ("" for a linear layer); null for an unknown word.
const char* FindLayerType(std::string_view word);

// The form in which a reader delivers the data of an input.
enum class InputForm
{
    Dense,
    Sparse
};

class NetworkParts
{
public:
    // encoderOutput: the node of another network from which a decoder takes values; null for other networks.
    NetworkParts(const SimpleNetworkOptions& options, ComputationNetwork& network,
                 const ComputationNode* encoderOutput = nullptr)
        : m_options(options), m_network(network), m_encoderOutput(encoderOutput)
    {
    }

    const SimpleNetworkOptions& Options() const { return m_options; }
    ComputationNetwork& Network() { return m_network; }
    const ComputationNode* EncoderOutput() const { return m_encoderOutput; }
    ComputationNodePtr Add(std::string_view type, std::string name, std::vector<ComputationNodePtr> inputs)
    {
        return m_network.Add(type, std::move(name), std::move(inputs));
    }

    ComputationNodePtr AddRandom(const std::string& name, size_t rows, size_t columns); // uses the next seed
    ComputationNodePtr AddFixed(const std::string& name, size_t rows, size_t columns, double value);
    ComputationNodePtr AddFeatures(const std::string& name, size_t size, InputForm form);
    ComputationNodePtr AddLabels(size_t size, InputForm form = InputForm::Dense);
    // A PastValue whose input is set later, to close a loop.
    ComputationNodePtr AddDelay(size_t rows, size_t timeStep = 1, const std::string& name = "");

    // The layerTypes entry of the number (the last one repeats); the input itself for a linear layer.
    ComputationNodePtr AddNonlinearity(size_t number, const ComputationNodePtr& input, const std::string& name = "");
    ComputationNodePtr AddDropout(const ComputationNodePtr& input, const std::string& name = "");

    // Inputs of criteria besides the labels. The first criterion that needs the product adds it.
    struct Output
    {
        ComputationNodePtr hidden;
        ComputationNodePtr weights; // null: hidden is the output of the network
        ComputationNodePtr extra;   // class scores or bias
        ComputationNodePtr product;
        ComputationNodePtr transitions = nullptr; // of sequences of labels
    };
    // Adds the training and the evaluation criterion; one node if both are the same. An empty name stands for the name
    // of the criterion's word. Returns the evaluation node.
    ComputationNodePtr AddCriteria(const ComputationNodePtr& labels, Output& output,
                                   const std::string& trainingName = "", const std::string& evaluationName = "");

private:
    ComputationNodePtr AddCriterion(const CriterionWord& word, const std::string& name,
                                    const ComputationNodePtr& labels, Output& output);

    const SimpleNetworkOptions& m_options;
    ComputationNetwork& m_network;
    const ComputationNode* m_encoderOutput;
    uint64_t m_seeds = 0;
};

// The rnnType words of all networks except SIMPLENET, in the order in which the original searches.
std::vector<std::string> RecurrentNetworkKinds();
void BuildRecurrentNetwork(const std::string& kind, NetworkParts& parts);

} // namespace cntk
