// The options, and SIMPLENET, the feed-forward network of book 3.2.1. Some names look odd ("W1*H0" for the output
// product) because MEL scripts and models of users know the original's names.
#include "ActionsLib/Networks/SimpleNetworkBuilder.h"

#include "ActionsLib/Networks/NetworkParts.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>

namespace cntk
{

namespace
{

void CheckCriterion(const ConfigParameters& block, const char* key, const std::string& word, bool forTraining)
{
    const std::vector<std::string> accepted = CriterionWords(forTraining);
    const CriterionWord* found = FindCriterion(word);
    if (found != nullptr && (found->forTraining || !forTraining))
        return;
    if (EqualsIgnoreCase(word, "SequenceWithSoftmax"))
        FailAt(block.WhereOf(key), ErrorKind::Config, key,
               " 'SequenceWithSoftmax' takes log likelihoods, which "
               "SimpleNetworkBuilder does not make; train with CrossEntropyWithSoftmax, then add the node with MEL, or "
               "describe the network in NDL");
    FailAt(block.WhereOf(key), ErrorKind::Config, "unknown ", key, " '", word, "'; accepted: ", Join(accepted, ", "),
           DidYouMean(word, accepted));
}

void RequireFinite(const ConfigParameters& block, const SimpleNetworkOptions& options)
{
    const std::pair<const char*, double> numbers[] = {
        {"initValueScale", options.initValueScale},       {"defaultHiddenActivity", options.defaultHiddenActivity},
        {"inputGateInitVal", options.inputGateInitVal},   {"forgetGateInitVal", options.forgetGateInitVal},
        {"outputGateInitVal", options.outputGateInitVal},
    };
    for (const auto& [key, number] : numbers)
        if (!std::isfinite(float(number)))
            FailAt(block.WhereOf(key), ErrorKind::Config, key, " is ", PrintNumber(number),
                   "; expected a finite number, in single precision below 3.4e38");
}

constexpr const char* c_simpleNet = "SIMPLENET";

// The order in which the original searches.
std::vector<std::string> Kinds()
{
    std::vector<std::string> kinds = RecurrentNetworkKinds();
    kinds.insert(kinds.begin(), c_simpleNet);
    return kinds;
}

struct KindAlias
{
    const char* alias;
    const char* kind;
};
constexpr KindAlias c_kindAliases[] = {
    {"UNIDIRECTIONALLSTMWITHPASTPREDICTION", "TRANSDUCER"},
    {"BIDIRECTIONALLSTMWITHPASTPREDICTION", "JOINTCONDITIONALBILSTMSTREAMS"},
};

// A word that the original's version of 2015 accepted for the feed-forward network.
constexpr const char* c_deepRnn = "DEEPRNN";

bool IsKind(const std::string& word)
{
    const std::vector<std::string> kinds = Kinds();
    const auto isWord = [&](std::string_view known) { return EqualsIgnoreCase(word, known); };
    return isWord(c_deepRnn) || std::any_of(kinds.begin(), kinds.end(), isWord) ||
           std::any_of(std::begin(c_kindAliases), std::end(c_kindAliases),
                       [&](const KindAlias& alias) { return isWord(alias.alias); });
}

std::string KindOf(const SimpleNetworkOptions& options)
{
    for (const std::string& kind : Kinds())
        for (const std::string& word : options.rnnType)
            if (EqualsIgnoreCase(word, kind))
                return kind;
    for (const KindAlias& alias : c_kindAliases)
        for (const std::string& word : options.rnnType)
            if (EqualsIgnoreCase(word, alias.alias))
                return alias.kind;
    return c_simpleNet;
}

// Describes entries of recurrentLayer without effect. The builders use the entries in their order, layer by layer.
std::vector<std::string> UnusedRecurrentLayers(const std::string& kind, const SimpleNetworkOptions& options)
{
    if (kind == c_simpleNet)
        return {"recurrentLayer has no effect: rnnType SIMPLENET has no recurrent layers"};
    // The second layer is number 1 with LSTM and NCELSTM, and number 2 with other networks, as in the original.
    const bool countsFromSecond = kind == "LSTM" || kind == "NCELSTM";
    const bool countsLookup = kind == "LBLM" || kind == "CRF";
    if (!countsFromSecond && !countsLookup && kind != "SIMPLERNN" && kind != "CLASSLM" && kind != "NPLM")
        return {}; // all layers are recurrent
    const size_t hidden = options.layerSizes.size() - 2;
    const size_t lookup = options.lookupTableOrder > 0 && (countsFromSecond || countsLookup) ? 1 : 0;
    std::vector<std::string> problems;
    size_t before = 0;
    std::optional<size_t> stuck; // an entry for no layer, which hides later entries
    for (const size_t number : options.recurrentLayer)
    {
        const std::string text = "recurrentLayer: " + std::to_string(number);
        const bool isTaken = number > std::max(before, lookup) && number <= hidden - (countsFromSecond ? 1 : 0);
        if (number == 0 || number > hidden)
            problems.push_back(text + " names no layer; layerSizes has " + std::to_string(hidden) +
                               (hidden == 1 ? " hidden layer" : " hidden layers") + ", numbered from 1");
        else if (number <= before)
            problems.push_back(text + " behind " + std::to_string(before) + " has no effect; expected rising numbers");
        else if (countsLookup && number <= lookup)
            problems.push_back(text + " has no effect: layer 1 is the lookup table");
        else if (countsFromSecond && number == hidden && number > lookup + 1 && before + 1 != number)
            problems.push_back(text + " has no effect: rnnType " + kind +
                               " begins to count at the second layer; layer " + std::to_string(number) + " is " +
                               std::to_string(number - 1));
        else if (isTaken && stuck)
            problems.push_back(text + " has no effect behind " + std::to_string(*stuck) +
                               ": the numbers are used in order, and no layer uses this one; remove it");
        if (!isTaken && !stuck)
            stuck = number;
        before = std::max(before, number);
    }
    return problems;
}

// Describes options of language networks that have no effect in networks without embedding or sparse features.
std::vector<std::pair<const char*, std::string>> UnusedWordOptions(const std::string& kind,
                                                                   const SimpleNetworkOptions& options)
{
    const auto isOneOf = [&](std::initializer_list<const char*> kinds)
    { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
    std::vector<std::pair<const char*, std::string>> problems;
    if (options.lookupTableOrder > 0 && isOneOf({"SIMPLENET", "SIMPLERNN", "CLASSLM", "NPLM"}))
        problems.emplace_back("lookupTableOrder", "lookupTableOrder has no effect: rnnType " + kind +
                                                      " has no lookup table; the second of the layerSizes is its first "
                                                      "hidden layer");
    if (options.sparseinput && isOneOf({"SIMPLENET", "LBLM", "CRF"}))
        problems.emplace_back("sparseinput", "sparseinput has no effect: the features of rnnType " + kind +
                                                 " are dense; a network in NDL may have SparseInput");
    return problems;
}

class SimpleNetBuilder
{
public:
    explicit SimpleNetBuilder(NetworkParts& parts)
        : m_parts(parts), m_options(parts.Options()), m_network(parts.Network())
    {
    }

    void Build()
    {
        const std::vector<size_t>& sizes = m_options.layerSizes;
        const size_t hiddenLayers = sizes.size() - 2;

        ComputationNodePtr current = m_parts.AddFeatures("features", sizes[0], InputForm::Dense);
        if (m_options.applyMeanVarNorm)
            current = AddNormalization(current);

        for (size_t layer = 0; layer < hiddenLayers; ++layer)
            current = AddHiddenLayer(layer, current);

        const std::string last = std::to_string(hiddenLayers);
        // The second number is one too low, as in the original: "W1*H0" with one hidden layer, "W0*H-1" with none.
        const std::string productName = "W" + last + "*H" + std::to_string(ptrdiff_t(hiddenLayers) - 1);
        const ComputationNodePtr output = AddAffine(hiddenLayers, current, productName, "HLast");

        const ComputationNodePtr labels = m_parts.AddLabels(sizes.back());
        NetworkParts::Output parts{.hidden = output, .weights = nullptr, .extra = nullptr, .product = nullptr};
        m_parts.AddCriteria(labels, parts);

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
        const bool isLinear = *FindLayerType(types[std::min(layer, types.size() - 1)]) == '\0';
        const ComputationNodePtr sum =
            AddAffine(layer, input, productName, isLinear ? hiddenName : productName + "+B" + number);
        return m_parts.AddDropout(m_parts.AddNonlinearity(layer, sum, hiddenName), "Drop" + hiddenName);
    }

    // W<layer> * input + B<layer>
    ComputationNodePtr AddAffine(size_t layer, const ComputationNodePtr& input, const std::string& productName,
                                 const std::string& sumName)
    {
        const std::string number = std::to_string(layer);
        const std::vector<size_t>& sizes = m_options.layerSizes;
        const ComputationNodePtr weights = m_parts.AddRandom("W" + number, sizes[layer + 1], sizes[layer]);
        const ComputationNodePtr bias = m_parts.AddFixed("B" + number, sizes[layer + 1], 1, 0);
        const ComputationNodePtr product = m_network.Add("Times", productName, {weights, input});
        return m_network.Add("Plus", sumName, {product, bias});
    }

    NetworkParts& m_parts;
    const SimpleNetworkOptions& m_options;
    ComputationNetwork& m_network;
};

} // namespace

const OptionTable<SimpleNetworkOptions>& SimpleNetworkOptions::Options()
{
    using S = SimpleNetworkOptions;
    static const OptionTable<S> table = {
        Opt("rnnType", &S::rnnType,
            "network type: SIMPLENET (feed-forward), SIMPLERNN, LSTM, CLASSLM and CLASSLSTM (language models with "
            "word classes). CLSTM (the same with a second input), NCELSTM (noise contrastive estimation), LBLM "
            "(log-bilinear), NPLM (feed-forward language model), CRF (sequences of labels). For trainEncoderDecoder: "
            "LSTMENCODER, ALIGNMENTSIMILARITYGENERATOR (a decoder that attends to the encoder's outputs) or "
            "ALIGNMENTSIMILARITYGFORWARDDECODER (the same without a criterion). TRANSDUCER, also called "
            "UNIDIRECTIONALLSTMWITHPASTPREDICTION (LSTM over the last label and the letters of two streams). "
            "JOINTCONDITIONALBILSTMSTREAMS, also called BIDIRECTIONALLSTMWITHPASTPREDICTION (the same, with the "
            "letters read in both directions)"),
        Opt("layerSizes", &S::layerSizes, "sizes of the input, the hidden layers and the output: 784:256:10"),
        Opt("layerTypes", &S::layerTypes,
            "non-linearity of each hidden layer: Sigmoid, RectifiedLinear (ReLU), Tanh or None; the last one repeats",
            {"nodeType"}),
        Opt("trainingCriterion", &S::trainingCriterion,
            "criterion to minimise: CrossEntropyWithSoftmax, SquareError, Logistic, ClassCrossEntropyWithSoftmax, "
            "NoiseContrastiveEstimation or CRF"),
        Opt("evalCriterion", &S::evalCriterion,
            "criterion to report: ErrorPrediction, CrossEntropyWithSoftmax, SquareError, Logistic, "
            "ClassCrossEntropyWithSoftmax, NoiseContrastiveEstimation or CRF"),
        Opt("uniformInit", &S::uniformInit, "start values uniform (true) or Gaussian (false)"),
        Opt("initValueScale", &S::initValueScale, "factor on the range of the start values"),
        Opt("applyMeanVarNorm", &S::applyMeanVarNorm,
            "normalise the features with mean and deviation, computed in a pass over the data before training"),
        Opt("needPrior", &S::needPrior, "output scaled log likelihoods: the output minus the log of the labels' prior"),
        Opt("addDropoutNodes", &S::addDropoutNodes, "a Dropout node after each hidden layer"),
        Opt("randomSeedOffset", &S::randomSeedOffset, "added to the seeds of the start values; in this block only")
            .Here(),
        Opt("recurrentLayer", &S::recurrentLayer, "numbers of the hidden layers that are recurrent, ascending: 1:2"),
        Opt("defaultHiddenActivity", &S::defaultHiddenActivity,
            "recurrent networks: the value before a sequence starts"),
        Opt("lookupTableOrder", &S::lookupTableOrder,
            "above 0: number of words stacked in the input, each of which the first layer embeds with the same matrix"),
        Opt("maOrder", &S::maOrder, "LBLM: number of past words"),
        Opt("vocabSize", &S::vocabSize,
            "networks with word classes: vocabulary size, equal to the size of the output layer"),
        Opt("nbrClass", &S::nbrClass, "networks with word classes: number of classes"),
        Opt("noise_number", &S::noise_number, "NCELSTM: number of noise words for each word"),
        Opt("directConnect", &S::directConnect, "NCELSTM: layers connected directly to the last hidden layer"),
        Opt("constInputGateValue", &S::constInputGateValue, "LSTM: no input gate (it is 1)"),
        Opt("constForgetGateValue", &S::constForgetGateValue, "LSTM: no forget gate (it is 1)"),
        Opt("constOutputGateValue", &S::constOutputGateValue, "LSTM: no output gate (it is 1)"),
        Opt("inputGateInitVal", &S::inputGateInitVal, "LSTM: start value of the input gate's bias"),
        Opt("forgetGateInitVal", &S::forgetGateInitVal, "LSTM: start value of the forget gate's bias"),
        Opt("outputGateInitVal", &S::outputGateInitVal, "LSTM: start value of the output gate's bias"),
        Opt("sparseinput", &S::sparseinput, "LSTM: the features are sparse (words)"),
        Opt("auxfeatdim", &S::auxfeatdim, "CLSTM: size of the second input, binaryFeature"),
        Opt("streamSizes", &S::streamSizes,
            "TRANSDUCER, JOINTCONDITIONALBILSTMSTREAMS: sizes of the inputs, featurepastValueedTarget and ltrForward"),
        Opt("lookupTableOrderSizes", &S::lookupTableOrderSizes,
            "TRANSDUCER, JOINTCONDITIONALBILSTMSTREAMS: number of words stacked in each input"),
        Opt("labelEmbeddingSize", &S::labelEmbeddingSize, "").WithoutEffect(),
        Opt("deviceId", &S::deviceId, "deviceId of the command decides").WithoutEffect(),
        Opt("word2cls", &S::word2cls, "the reader reads the words' classes").WithoutEffect(),
        Opt("cls2index", &S::cls2index, "the reader reads the classes' words").WithoutEffect(),
        Opt("outputLayerSize", &S::outputLayerSize, "convertdbn: size of the output layer, if the file has none"),
    };
    return table;
}

SimpleNetworkOptions ReadConvertedNetworkOptions(const ConfigParameters& block)
{
    SimpleNetworkOptions options = ReadOptions<SimpleNetworkOptions>(block);
    const std::vector<std::string> kinds = Kinds();
    for (const std::string& kind : options.rnnType)
        if (!IsKind(kind))
            FailAt(block.WhereOf("rnnType"), ErrorKind::Config, "unknown rnnType '", kind,
                   "'; accepted: ", Join(kinds, ", "), DidYouMean(kind, kinds));
    if (options.layerTypes.empty())
        options.layerTypes.emplace_back("None");
    for (const std::string& type : options.layerTypes)
        if (FindLayerType(type) == nullptr)
            FailAt(block.WhereOf("layerTypes"), ErrorKind::Config, "unknown layer type '", type, "'",
                   "; accepted: Sigmoid, RectifiedLinear, Tanh, None",
                   DidYouMean(type, {"Sigmoid", "RectifiedLinear", "Tanh", "None"}));
    CheckCriterion(block, "trainingCriterion", options.trainingCriterion, true);
    CheckCriterion(block, "evalCriterion", options.evalCriterion, false);
    RequireFinite(block, options);
    return options;
}

SimpleNetworkOptions ReadSimpleNetworkOptions(const ConfigParameters& block)
{
    SimpleNetworkOptions options = ReadConvertedNetworkOptions(block);
    if (!block.Exists("layerSizes"))
        block.Require("layerSizes");
    if (options.layerSizes.size() < 2)
        FailAt(block.WhereOf("layerSizes"), ErrorKind::Config,
               "layerSizes needs at least two entries, the input and the output, as in 784:256:10; found ",
               options.layerSizes.size());
    for (const size_t size : options.layerSizes)
        if (size == 0)
            FailAt(block.WhereOf("layerSizes"), ErrorKind::Config, "a layer of size 0 in layerSizes");
    return options;
}

std::vector<std::string> WarningsOf(const SimpleNetworkOptions& options, const ConfigParameters& block)
{
    std::vector<std::string> warnings;
    const auto add = [&](const char* key, const std::string& text)
    { warnings.push_back(block.WhereOf(key).Location() + ": " + text); };
    const std::string kind = KindOf(options);
    if (kind == c_simpleNet)
        for (const std::string& word : options.rnnType)
            if (EqualsIgnoreCase(word, c_deepRnn))
                add("rnnType",
                    "rnnType DEEPRNN is a feed-forward network, as SIMPLENET; SIMPLERNN has recurrent layers");
    if (!options.recurrentLayer.empty())
        for (const std::string& problem : UnusedRecurrentLayers(kind, options))
            add("recurrentLayer", problem);
    else if ((kind == "SIMPLERNN" || kind == "CLASSLM") && options.layerSizes.size() > 2)
        add("rnnType", "no layer of this " + kind +
                           " is recurrent, since recurrentLayer is not given; recurrentLayer=1 makes the first hidden "
                           "layer recurrent");
    for (const auto& [key, problem] : UnusedWordOptions(kind, options))
        add(key, problem);
    return warnings;
}

std::unique_ptr<ComputationNetwork> BuildSimpleNetwork(const SimpleNetworkOptions& options, DataType dataType,
                                                       std::shared_ptr<Device> device,
                                                       const ComputationNode* encoderOutput)
{
    auto network = std::make_unique<ComputationNetwork>(dataType, std::move(device));
    NetworkParts parts(options, *network, encoderOutput);
    const std::string kind = KindOf(options);
    if (kind == "SIMPLENET")
        SimpleNetBuilder(parts).Build();
    else
        BuildRecurrentNetwork(kind, parts);
    network->Validate();
    return network;
}

} // namespace cntk
