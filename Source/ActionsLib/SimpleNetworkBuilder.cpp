// SIMPLENET: the feed-forward network of book 3.2.1. The names look odd in places ("W1*H0" for the output product)
// because people's MEL scripts and models know the original's names.
#include "ActionsLib/SimpleNetworkBuilder.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <optional>

namespace cntk
{

namespace
{

struct CriterionWord
{
    const char* word;
    const char* nodeType;
    const char* nodeName;
    bool forTraining;
};

// The words of trainingCriterion and evalCriterion, compared in any case.
constexpr CriterionWord c_criteria[] = {
    {"CrossEntropyWithSoftmax", "CrossEntropyWithSoftmax", "CrossEntropyWithSoftmax", true},
    {"SquareError", "SquareError", "SquareError", true},
    {"Logistic", "Logistic", "Logistic", true},
    {"ErrorPrediction", "ErrorPrediction", "EvalErrorPrediction", false},
};

// Layer types by their word; an empty node type is a linear layer.
struct LayerWord
{
    const char* word;
    const char* nodeType;
};
constexpr LayerWord c_layers[] = {
    {"Sigmoid", "Sigmoid"}, {"RectifiedLinear", "RectifiedLinear"}, {"Tanh", "Tanh"}, {"None", ""}, {"", ""}};

const CriterionWord* FindCriterion(std::string_view word)
{
    for (const CriterionWord& criterion : c_criteria)
        if (EqualsIgnoreCase(criterion.word, word))
            return &criterion;
    return nullptr;
}

const LayerWord* FindLayer(std::string_view word)
{
    for (const LayerWord& layer : c_layers)
        if (EqualsIgnoreCase(layer.word, word))
            return &layer;
    return nullptr;
}

SourcePos PositionOf(const ConfigParameters& block, std::string_view key)
{
    const auto value = block.Find(key);
    return value ? value->Where() : block.Where();
}

void CheckCriterion(const ConfigParameters& block, const char* key, const std::string& word, bool forTraining)
{
    std::vector<std::string> accepted;
    for (const CriterionWord& criterion : c_criteria)
        if (criterion.forTraining || !forTraining)
            accepted.emplace_back(criterion.word);
    const CriterionWord* found = FindCriterion(word);
    if (found != nullptr && (found->forTraining || !forTraining))
        return;
    FailAt(PositionOf(block, key), ErrorKind::Config, "unknown ", key, " '", word,
           "'; accepted: ", Join(accepted, ", "), DidYouMean(word, accepted));
}

// Builds one network; holds what the steps share.
class SimpleNetBuilder
{
public:
    SimpleNetBuilder(const SimpleNetworkOptions& options, ComputationNetwork& network)
        : m_options(options), m_network(network)
    {
    }

    void Build()
    {
        const std::vector<size_t>& sizes = m_options.layerSizes;
        const size_t hiddenLayers = sizes.size() - 2;

        ComputationNodePtr current = m_network.AddInput("features", TensorShape{sizes[0]});
        m_network.AddToGroup(NodeGroup::Feature, current);
        if (m_options.applyMeanVarNorm)
            current = AddNormalization(current);

        for (size_t layer = 0; layer < hiddenLayers; ++layer)
            current = AddHiddenLayer(layer, current);

        const std::string last = std::to_string(hiddenLayers);
        // One too low on purpose: "W1*H0" with one hidden layer, "W0*H-1" with none.
        const std::string productName = "W" + last + "*H" + std::to_string(ptrdiff_t(hiddenLayers) - 1);
        const ComputationNodePtr output = AddAffine(hiddenLayers, current, productName, "HLast");

        const ComputationNodePtr labels = m_network.AddInput("labels", TensorShape{sizes.back()});
        m_network.AddToGroup(NodeGroup::Label, labels);
        AddCriteria(labels, output);

        ComputationNodePtr result = output;
        if (m_options.needPrior)
        {
            const ComputationNodePtr prior = m_network.Add("Mean", "Prior", {labels});
            const ComputationNodePtr logOfPrior = m_network.Add("Log", "LogOfPrior", {prior});
            result = m_network.Add("Minus", "ScaledLogLikelihood", {output, logOfPrior});
        }
        m_network.AddToGroup(NodeGroup::Output, result);
        m_network.Add("Softmax", "PosteriorProb", {output});
    }

private:
    ComputationNodePtr AddNormalization(const ComputationNodePtr& features)
    {
        const ComputationNodePtr mean = m_network.Add("Mean", "MeanOfFeatures", {features});
        const ComputationNodePtr deviation = m_network.Add("InvStdDev", "InvStdOfFeatures", {features});
        return m_network.Add("PerDimMeanVarNormalization", "MVNormalizedFeatures", {features, mean, deviation});
    }

    ComputationNodePtr AddHiddenLayer(size_t layer, const ComputationNodePtr& input)
    {
        const std::string number = std::to_string(layer);
        const std::string hiddenName = "H" + std::to_string(layer + 1);
        // The first product is named after the features even when they are normalised.
        const std::string productName = "W" + number + "*" + (layer == 0 ? "features" : "H" + number);
        const std::vector<std::string>& types = m_options.layerTypes;
        const std::string& word = types[std::min(layer, types.size() - 1)];
        const std::string nodeType = FindLayer(word)->nodeType;

        ComputationNodePtr hidden =
            AddAffine(layer, input, productName, nodeType.empty() ? hiddenName : productName + "+B" + number);
        if (!nodeType.empty())
            hidden = m_network.Add(nodeType, hiddenName, {hidden});
        if (m_options.addDropoutNodes)
            hidden = m_network.Add("Dropout", "Drop" + hiddenName, {hidden});
        return hidden;
    }

    // W<layer> * input + B<layer>
    ComputationNodePtr AddAffine(size_t layer, const ComputationNodePtr& input, const std::string& productName,
                                 const std::string& sumName)
    {
        const std::string number = std::to_string(layer);
        const std::vector<size_t>& sizes = m_options.layerSizes;
        const auto weights = std::dynamic_pointer_cast<LearnableParameterNode>(
            m_network.AddParameter("W" + number, TensorShape{sizes[layer + 1], sizes[layer]}));
        const uint64_t seed = m_options.randomSeedOffset + ++m_seeds;
        if (m_options.uniformInit)
            weights->InitUniform(seed, m_options.initValueScale);
        else
            weights->InitGaussian(seed, m_options.initValueScale);
        const auto bias = std::dynamic_pointer_cast<LearnableParameterNode>(
            m_network.AddParameter("B" + number, TensorShape{sizes[layer + 1], 1}));
        bias->InitFixed(0);
        const ComputationNodePtr product = m_network.Add("Times", productName, {weights, input});
        return m_network.Add("Plus", sumName, {product, bias});
    }

    void AddCriteria(const ComputationNodePtr& labels, const ComputationNodePtr& output)
    {
        const CriterionWord* training = FindCriterion(m_options.trainingCriterion);
        const CriterionWord* evaluation = FindCriterion(m_options.evalCriterion);
        const ComputationNodePtr criterion = m_network.Add(training->nodeType, training->nodeName, {labels, output});
        m_network.AddToGroup(NodeGroup::Criterion, criterion);
        // The same word twice makes one node in both groups.
        const ComputationNodePtr evaluated =
            training == evaluation ? criterion
                                   : m_network.Add(evaluation->nodeType, evaluation->nodeName, {labels, output});
        m_network.AddToGroup(NodeGroup::Evaluation, evaluated);
    }

    const SimpleNetworkOptions& m_options;
    ComputationNetwork& m_network;
    uint64_t m_seeds = 0;
};

} // namespace

const OptionTable<SimpleNetworkOptions>& SimpleNetworkOptions::Options()
{
    using S = SimpleNetworkOptions;
    static const OptionTable<S> table = {
        Opt("rnnType", &S::rnnType, "kind of network: SIMPLENET (feed-forward)"),
        Opt("layerSizes", &S::layerSizes, "sizes of the input, the hidden layers and the output: 784:256:10"),
        Opt("layerTypes", &S::layerTypes,
            "non-linearity of each hidden layer: Sigmoid, RectifiedLinear, Tanh or None; the last one repeats"),
        Opt("trainingCriterion", &S::trainingCriterion,
            "criterion to minimise: CrossEntropyWithSoftmax, SquareError or Logistic"),
        Opt("evalCriterion", &S::evalCriterion,
            "criterion to report: ErrorPrediction, CrossEntropyWithSoftmax, SquareError or Logistic"),
        Opt("uniformInit", &S::uniformInit, "start values uniform (true) or Gaussian (false)"),
        Opt("initValueScale", &S::initValueScale, "factor on the range of the start values"),
        Opt("applyMeanVarNorm", &S::applyMeanVarNorm,
            "normalise the features with mean and deviation, computed in a pass over the data before training"),
        Opt("needPrior", &S::needPrior, "output scaled log likelihoods: the output minus the log of the labels' prior"),
        Opt("addDropoutNodes", &S::addDropoutNodes, "a Dropout node after each hidden layer"),
        Opt("randomSeedOffset", &S::randomSeedOffset, "added to the seeds of the start values"),
    };
    return table;
}

SimpleNetworkOptions ReadSimpleNetworkOptions(const ConfigParameters& block)
{
    SimpleNetworkOptions options = ReadOptions<SimpleNetworkOptions>(block);
    for (const std::string& kind : options.rnnType)
        if (!EqualsIgnoreCase(kind, "SIMPLENET"))
            FailAt(PositionOf(block, "rnnType"), ErrorKind::Config, "unknown rnnType '", kind, "'",
                   "; accepted: SIMPLENET", DidYouMean(kind, {"SIMPLENET"}));
    if (options.layerSizes.size() < 2)
        FailAt(PositionOf(block, "layerSizes"), ErrorKind::Config,
               "layerSizes needs at least two entries, the input and the output, as in 784:256:10; found ",
               options.layerSizes.size());
    for (const size_t size : options.layerSizes)
        if (size == 0)
            FailAt(PositionOf(block, "layerSizes"), ErrorKind::Config, "a layer of size 0 in layerSizes");
    if (options.layerTypes.empty())
        options.layerTypes.emplace_back("None");
    for (const std::string& type : options.layerTypes)
        if (FindLayer(type) == nullptr)
            FailAt(PositionOf(block, "layerTypes"), ErrorKind::Config, "unknown layer type '", type, "'",
                   "; accepted: Sigmoid, RectifiedLinear, Tanh, None",
                   DidYouMean(type, {"Sigmoid", "RectifiedLinear", "Tanh", "None"}));
    CheckCriterion(block, "trainingCriterion", options.trainingCriterion, true);
    CheckCriterion(block, "evalCriterion", options.evalCriterion, false);
    return options;
}

std::unique_ptr<ComputationNetwork> BuildSimpleNetwork(const SimpleNetworkOptions& options, DataType dataType,
                                                       std::shared_ptr<Device> device)
{
    auto network = std::make_unique<ComputationNetwork>(dataType, std::move(device));
    SimpleNetBuilder(options, *network).Build();
    network->Validate();
    return network;
}

} // namespace cntk
