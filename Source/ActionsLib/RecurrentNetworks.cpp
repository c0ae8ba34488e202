// SIMPLERNN, LSTM, CLASSLM, CLASSLSTM, CLSTM, NCELSTM, LBLM, NPLM, CRF, TRANSDUCER, node for node in the original's
// order of creation: scripts know the names, and the order gives each parameter its seed.
#include "ActionsLib/NetworkParts.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

namespace
{

using Output = NetworkParts::Output;

class RecurrentBuilder
{
public:
    explicit RecurrentBuilder(NetworkParts& parts)
        : m_parts(parts), m_options(parts.Options()), m_sizes(m_options.layerSizes),
          m_hiddenLayers(m_options.layerSizes.size() - 2)
    {
    }

    void BuildSimpleRnn();
    void BuildClassLm();
    void BuildLstm();
    void BuildClassLstm(bool isConditional);
    void BuildNceLstm();
    void BuildLogBilinear();
    void BuildNplm();
    void BuildCrf();
    void BuildLstmEncoder();
    void BuildAlignmentDecoder(bool hasCriteria);
    void BuildTransducer();

private:
    ComputationNodePtr Add(std::string_view type, std::vector<ComputationNodePtr> inputs, std::string name = "")
    {
        return m_parts.Add(type, std::move(name), std::move(inputs));
    }
    size_t Size(size_t layer) const { return m_sizes[layer]; }
    static std::string Numbered(const char* name, size_t number) { return name + std::to_string(number); }

    // Entries of recurrentLayer are taken in their order.
    bool IsNextRecurrent(size_t number)
    {
        const std::vector<size_t>& layers = m_options.recurrentLayer;
        if (m_nextRecurrent >= layers.size() || layers[m_nextRecurrent] != number)
            return false;
        m_nextRecurrent++;
        return true;
    }

    void RequireHiddenLayer(const char* kind) const
    {
        if (m_hiddenLayers == 0)
            Fail(ErrorKind::Config, "rnnType ", kind,
                 " needs at least one hidden layer in layerSizes, as in 1000:200:1000");
    }

    ComputationNodePtr AddNormalized(const ComputationNodePtr& features);
    ComputationNodePtr AddLookupTable(const ComputationNodePtr& features, const char* name,
                                      const char* embeddingName = "E0");
    ComputationNodePtr AddPairNetwork(const char* kind);
    ComputationNodePtr AddAlignedLayer(const ComputationNodePtr& input, const ComputationNodePtr& encoded);
    ComputationNodePtr AddRecurrentLayer(size_t layer, const ComputationNodePtr& product);
    ComputationNodePtr AddRnnLayers(ComputationNodePtr hidden, size_t first);
    ComputationNodePtr AddGate(const char* gate, const std::string& number, const ComputationNodePtr& input,
                               const ComputationNodePtr& pastHidden, const ComputationNodePtr& cell,
                               ComputationNodePtr peephole);
    ComputationNodePtr AddLstm(size_t block, const ComputationNodePtr& input, size_t inputSize, size_t size);
    ComputationNodePtr AddLstmNode(size_t block, const ComputationNodePtr& input, size_t inputSize, size_t size);
    ComputationNodePtr AddStreams(size_t& rows);
    ComputationNodePtr AddLstmLayers(ComputationNodePtr hidden, size_t offset, bool all,
                                     std::vector<ComputationNodePtr>* layers = nullptr);
    void AddClassOutput(const ComputationNodePtr& hidden, Output& output, ComputationNodePtr& evaluation);
    void RequireClasses() const;
    ComputationNodePtr AddClassCriteria(Output& output);
    void AddUnusedPrior(const ComputationNodePtr& labels)
    {
        if (m_options.needPrior)
            Add("Mean", {labels});
    }
    void AddPosterior(const ComputationNodePtr& outputs) { Add("Softmax", {outputs}, "PosteriorProb"); }
    void SetOutput(const ComputationNodePtr& node) { m_parts.Network().AddToGroup(NodeGroup::Output, node); }

    NetworkParts& m_parts;
    const SimpleNetworkOptions& m_options;
    const std::vector<size_t>& m_sizes;
    size_t m_hiddenLayers;
    size_t m_nextRecurrent = 0;
};

// ---- parts ----

ComputationNodePtr RecurrentBuilder::AddNormalized(const ComputationNodePtr& features)
{
    if (!m_options.applyMeanVarNorm)
        return features;
    const ComputationNodePtr mean = Add("Mean", {features});
    const ComputationNodePtr deviation = Add("InvStdDev", {features});
    return Add("PerDimMeanVarNormalization", {features, mean, deviation});
}

// The input of the first layer and its size: words embedded one by one where lookupTableOrder says so.
ComputationNodePtr RecurrentBuilder::AddLookupTable(const ComputationNodePtr& features, const char* name,
                                                    const char* embeddingName)
{
    const size_t order = m_options.lookupTableOrder;
    if (order == 0)
        return features;
    if (m_hiddenLayers < 1)
        Fail(ErrorKind::Config, "lookupTableOrder needs the embedding's size in layerSizes, as in 1000:100:200:1000");
    if (Size(0) % order != 0)
        Fail(ErrorKind::Config, "lookupTableOrder is ", order, ", but the first of the layerSizes, ", Size(0),
             ", is not a multiple of it");
    const ComputationNodePtr embedding = m_parts.AddRandom(embeddingName, Size(1), Size(0) / order);
    return m_parts.AddDropout(Add("LookupTable", {embedding, features}, name));
}

// nonlinearity(product + W<layer> * past)
ComputationNodePtr RecurrentBuilder::AddRecurrentLayer(size_t layer, const ComputationNodePtr& input)
{
    const std::string number = std::to_string(layer);
    const ComputationNodePtr inputWeights = m_parts.Network().Require("U" + number);
    const ComputationNodePtr weights = m_parts.AddRandom("W" + number, Size(layer + 1), Size(layer + 1));
    const ComputationNodePtr past = m_parts.AddDelay(Size(layer + 1));
    const ComputationNodePtr recurrent = Add("Times", {weights, past});
    const ComputationNodePtr product = Add("Times", {inputWeights, input});
    const ComputationNodePtr hidden = m_parts.AddNonlinearity(0, Add("Plus", {product, recurrent}));
    m_parts.Network().SetInputs(past, {hidden});
    return hidden;
}

// Layers of SIMPLERNN and CLASSLM from the given one on.
ComputationNodePtr RecurrentBuilder::AddRnnLayers(ComputationNodePtr hidden, size_t first)
{
    for (size_t layer = first; layer < m_hiddenLayers; layer++)
    {
        const std::string number = std::to_string(layer);
        const ComputationNodePtr weights = m_parts.AddRandom("U" + number, Size(layer + 1), Size(layer));
        if (IsNextRecurrent(layer + 1))
            hidden = AddRecurrentLayer(layer, hidden);
        else
        {
            // The original adds a bias that it never made; a bias of its own is what is meant.
            const ComputationNodePtr bias = m_parts.AddFixed("B" + number, Size(layer + 1), 1, 0);
            hidden = m_parts.AddNonlinearity(0, Add("Plus", {Add("Times", {weights, hidden}), bias}));
        }
        hidden = m_parts.AddDropout(hidden);
    }
    return hidden;
}

// f( WX<gate> x + b<gate> + WH<gate> h' + WC<gate> .* cell ). The peephole is made before where the original does.
ComputationNodePtr RecurrentBuilder::AddGate(const char* gate, const std::string& number,
                                             const ComputationNodePtr& input, const ComputationNodePtr& pastHidden,
                                             const ComputationNodePtr& cell, ComputationNodePtr peephole)
{
    ComputationNetwork& network = m_parts.Network();
    const auto parameter = [&](const char* prefix, const char* suffix)
    { return network.Require(Concat(prefix, suffix, number)); };
    if (!peephole)
        peephole = Add("DiagTimes", {parameter("WC", gate), cell});
    const ComputationNodePtr recurrent = Add("Times", {parameter("WH", gate), pastHidden});
    const ComputationNodePtr product = Add("Times", {parameter("WX", gate), input});
    const ComputationNodePtr sum = Add(
        "Plus", {Add("Plus", {Add("Plus", {product, parameter("b", ToLower(gate).c_str())}), recurrent}), peephole});
    return m_parts.AddNonlinearity(0, sum);
}

ComputationNodePtr RecurrentBuilder::AddLstm(size_t block, const ComputationNodePtr& input, size_t inputSize,
                                             size_t size)
{
    const std::string number = std::to_string(block);
    for (const char* name : {"WXO", "WXI", "WXF", "WXC"})
        m_parts.AddRandom(name + number, size, inputSize);
    m_parts.AddFixed("bo" + number, size, 1, m_options.outputGateInitVal);
    const ComputationNodePtr cellBias = m_parts.AddFixed("bc" + number, size, 1, 0);
    m_parts.AddFixed("bi" + number, size, 1, m_options.inputGateInitVal);
    m_parts.AddFixed("bf" + number, size, 1, m_options.forgetGateInitVal);
    for (const char* name : {"WHI", "WCI", "WHF", "WCF", "WHO", "WCO", "WHC"})
        m_parts.AddRandom(name + number, size, name[1] == 'C' ? 1 : size);

    ComputationNetwork& network = m_parts.Network();
    std::vector<ComputationNodePtr> pastHidden, pastCell; // of the input, forget and output gate, the cell
    for (size_t i = 0; i < 4; i++)
        pastHidden.push_back(m_parts.AddDelay(size));
    for (size_t i = 0; i < 3; i++)
        pastCell.push_back(m_parts.AddDelay(size));

    ComputationNodePtr inputGate;
    if (!m_options.constInputGateValue)
        inputGate = AddGate("I", number, input, pastHidden[0], pastCell[0], nullptr);
    const ComputationNodePtr recurrent = Add("Times", {network.Require("WHC" + number), pastHidden[3]});
    const ComputationNodePtr recurrentSum = Add("Plus", {recurrent, cellBias});
    const ComputationNodePtr product = Add("Times", {network.Require("WXC" + number), input});
    ComputationNodePtr added = Add("Tanh", {Add("Plus", {product, recurrentSum})});
    if (inputGate)
        added = Add("ElementTimes", {inputGate, added});
    ComputationNodePtr kept = pastCell[2];
    if (!m_options.constForgetGateValue)
        kept = Add("ElementTimes", {AddGate("F", number, input, pastHidden[1], pastCell[1], nullptr), pastCell[2]});
    const ComputationNodePtr cell = Add("Plus", {kept, added});
    ComputationNodePtr outputGate;
    if (!m_options.constOutputGateValue)
        outputGate = AddGate("O", number, input, pastHidden[2], cell, nullptr);
    ComputationNodePtr hidden = Add("Tanh", {cell});
    if (outputGate)
        hidden = Add("ElementTimes", {outputGate, hidden});
    for (const ComputationNodePtr& past : pastHidden)
        network.SetInputs(past, {hidden});
    for (const ComputationNodePtr& past : pastCell)
        network.SetInputs(past, {cell});
    return m_parts.AddDropout(hidden);
}

// The first layer behind the lookup table is block 0; the others keep their number and are blocks where all are, or
// where recurrentLayer names that number.
ComputationNodePtr RecurrentBuilder::AddLstmLayers(ComputationNodePtr hidden, size_t offset, bool all,
                                                   std::vector<ComputationNodePtr>* layers)
{
    if (offset >= m_hiddenLayers)
        Fail(ErrorKind::Config, "layerSizes has no hidden layer behind the lookup table; expected one more size, as in "
                                "1000:100:200:1000");
    hidden = AddLstm(0, hidden, Size(offset) * std::max<size_t>(offset > 0 ? m_options.lookupTableOrder : 1, 1),
                     Size(offset + 1));
    if (layers != nullptr)
        layers->push_back(hidden);
    for (size_t layer = offset + 1; layer < m_hiddenLayers; layer++)
    {
        const std::string number = std::to_string(layer);
        if (all || IsNextRecurrent(layer))
            hidden = AddLstm(layer, hidden, Size(layer), Size(layer + 1));
        else
        {
            const ComputationNodePtr weights = m_parts.AddRandom("U" + number, Size(layer + 1), Size(layer));
            const ComputationNodePtr bias = m_parts.AddFixed("B" + number, Size(layer + 1), 1, 0);
            hidden = m_parts.AddNonlinearity(layer, Add("Plus", {Add("Times", {weights, hidden}), bias}));
            hidden = m_parts.AddDropout(hidden);
        }
        if (layers != nullptr)
            layers->push_back(hidden);
    }
    return hidden;
}

// Word classes: W<n> (hidden x vocabulary), labels of four rows, class scores, criteria.
void RecurrentBuilder::AddClassOutput(const ComputationNodePtr& hidden, Output& output, ComputationNodePtr& evaluation)
{
    RequireClasses();
    output.hidden = hidden;
    output.weights = m_parts.AddRandom(Numbered("W", m_hiddenLayers), Size(m_hiddenLayers), Size(m_hiddenLayers + 1));
    evaluation = AddClassCriteria(output);
}

void RecurrentBuilder::RequireClasses() const
{
    const size_t vocabulary = Size(m_hiddenLayers + 1);
    if (m_options.vocabSize < 0 || size_t(m_options.vocabSize) != vocabulary)
        Fail(ErrorKind::Config, "vocabSize is ", m_options.vocabSize, ", but the last of the layerSizes is ",
             vocabulary, "; expected the same: the vocabulary size should be the same as the output layer size");
    if (m_options.nbrClass <= 0)
        Fail(ErrorKind::Config, "nbrClass is ", m_options.nbrClass, "; expected the number of word classes, 1 or more");
}

// Behind the output's weights.
ComputationNodePtr RecurrentBuilder::AddClassCriteria(Output& output)
{
    const ComputationNodePtr labels = m_parts.AddLabels(4);
    const ComputationNodePtr classWeights =
        m_parts.AddRandom("WeightForClassPostProb", size_t(m_options.nbrClass), Size(m_hiddenLayers));
    output.extra = Add("Times", {classWeights, output.hidden}, "ClassPostProb");
    return m_parts.AddCriteria(labels, output, "TrainNodeClassBasedCrossEntropy", "EvalNodeClassBasedCrossEntrpy");
}

// ---- networks ----

void RecurrentBuilder::BuildSimpleRnn()
{
    RequireHiddenLayer("SIMPLERNN");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), true));
    Output output;
    output.hidden = AddRnnLayers(features, 0);
    output.weights = m_parts.AddRandom(Numbered("W", m_hiddenLayers), Size(m_hiddenLayers + 1), Size(m_hiddenLayers));
    const ComputationNodePtr labels = m_parts.AddLabels(Size(m_hiddenLayers + 1));
    m_parts.AddCriteria(labels, output, "criterion", "eval");
    SetOutput(Add("Times", {output.weights, output.hidden}, "outputs"));
    AddUnusedPrior(labels);
}

void RecurrentBuilder::BuildClassLm()
{
    RequireHiddenLayer("CLASSLM");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), true));
    const ComputationNodePtr weights = m_parts.AddRandom("U0", Size(1), Size(0));
    ComputationNodePtr hidden;
    if (IsNextRecurrent(1))
        hidden = AddRecurrentLayer(0, features);
    else
    {
        const ComputationNodePtr bias = m_parts.AddRandom("B0", Size(1), 1); // not 0, as in the original
        hidden = m_parts.AddNonlinearity(0, Add("Plus", {Add("Times", {weights, features}), bias}));
    }
    hidden = AddRnnLayers(m_parts.AddDropout(hidden), 1);
    Output output;
    ComputationNodePtr evaluation;
    AddClassOutput(hidden, output, evaluation);
    SetOutput(evaluation);
}

void RecurrentBuilder::BuildLstm()
{
    RequireHiddenLayer("LSTM");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), m_options.sparseinput));
    const ComputationNodePtr input = AddLookupTable(features, "LookupTable");
    Output output;
    output.hidden = AddLstmLayers(input, m_options.lookupTableOrder > 0 ? 1 : 0, false);
    output.weights = m_parts.AddRandom(Numbered("W", m_hiddenLayers), Size(m_hiddenLayers + 1), Size(m_hiddenLayers));
    const ComputationNodePtr labels = m_parts.AddLabels(Size(m_hiddenLayers + 1));
    m_parts.AddCriteria(labels, output);
    const ComputationNodePtr outputs = Add("Times", {output.weights, output.hidden}, "outputs");
    if (m_options.needPrior)
    {
        const ComputationNodePtr logOfPrior = Add("Log", {Add("Mean", {labels})}, "LogOfPrior");
        SetOutput(Add("Minus", {outputs, logOfPrior}, "ScaledLogLikelihood"));
    }
    else
        SetOutput(outputs);
    AddPosterior(outputs);
}

void RecurrentBuilder::BuildClassLstm(bool isConditional)
{
    if (m_options.lookupTableOrder == 0)
        Fail(ErrorKind::Config, "rnnType ", isConditional ? "CLSTM" : "CLASSLSTM",
             " needs a lookup table: set lookupTableOrder=1 and layerSizes=vocabulary:embedding:hidden:vocabulary, as "
             "in "
             "10000:100:200:10000");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), true));
    ComputationNodePtr hidden = AddLstmLayers(AddLookupTable(features, "LookupTable"), 1, true);
    if (isConditional)
    {
        const ComputationNodePtr auxiliary = m_parts.AddFeatures("binaryFeature", m_options.auxfeatdim, false);
        const ComputationNodePtr weights = m_parts.AddRandom("AuxTrans0", Size(m_hiddenLayers), m_options.auxfeatdim);
        ComputationNodePtr bias = Add("Times", {weights, auxiliary});
        bias = m_parts.AddNonlinearity(m_hiddenLayers, bias, "TimesToGetGlobalBias");
        hidden = Add("Plus", {hidden, bias}, "PlusGlobalBias");
    }
    Output output;
    ComputationNodePtr evaluation;
    AddClassOutput(hidden, output, evaluation);
    const ComputationNodePtr outputs = Add("TransposeTimes", {output.weights, hidden}, "outputs");
    SetOutput(outputs);
    AddPosterior(outputs);
}

void RecurrentBuilder::BuildNceLstm()
{
    if (m_options.noise_number <= 0)
        Fail(ErrorKind::Config, "rnnType NCELSTM needs noise_number, the number of noise words, 1 or more; found ",
             m_options.noise_number);
    RequireHiddenLayer("NCELSTM");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), true));
    const size_t offset = m_options.lookupTableOrder > 0 ? 1 : 0;
    const ComputationNodePtr input = AddLookupTable(features, "LookupTable");
    std::vector<ComputationNodePtr> layers(offset, input); // by number, from 1 on
    ComputationNodePtr hidden = AddLstmLayers(input, offset, false, &layers);
    const size_t size = Size(m_hiddenLayers);
    for (size_t j = 0; j < m_options.directConnect.size(); j++)
    {
        const size_t layer = m_options.directConnect[j];
        if (layer == 0 || layer > layers.size())
            Fail(ErrorKind::Config, "directConnect names layer ", layer, "; expected 1 to ", layers.size());
        const size_t factor = layer == 1 && offset == 1 ? m_options.lookupTableOrder : 1;
        const ComputationNodePtr weights = m_parts.AddRandom(Numbered("D", j), size, Size(layer) * factor);
        const ComputationNodePtr direct = m_parts.AddNonlinearity(j, Add("Times", {weights, layers[layer - 1]}));
        const ComputationNodePtr scale = m_parts.AddFixed(Numbered("SV", j), 1, 1, 0.01);
        hidden = Add("Plus", {hidden, Add("ElementTimes", {scale, direct}, Numbered("S", j))});
    }
    const size_t vocabulary = Size(m_hiddenLayers + 1);
    Output output;
    output.hidden = hidden;
    output.weights = m_parts.AddRandom(Numbered("W", m_hiddenLayers), size, vocabulary);
    const ComputationNodePtr labels = m_parts.AddLabels(2 * (size_t(m_options.noise_number) + 1));
    output.extra = m_parts.AddFixed("BiasVector", 1, vocabulary, -std::log(double(vocabulary)));
    SetOutput(m_parts.AddCriteria(labels, output, "TrainNodeNCEBasedCrossEntropy", "EvalNodeNCEBasedCrossEntrpy"));
}

void RecurrentBuilder::BuildLogBilinear()
{
    RequireHiddenLayer("LBLM");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), false));
    const ComputationNodePtr input = AddLookupTable(features, "Lookuptatble");
    const size_t offset = m_options.lookupTableOrder > 0 ? 1 : 0;
    const size_t inputSize = offset > 0 ? Size(1) * m_options.lookupTableOrder : Size(0);
    ComputationNodePtr hidden = input;
    for (size_t k = 1; k <= m_options.maOrder; k++)
    {
        const ComputationNodePtr past = m_parts.AddDelay(inputSize, k, Numbered("pastValue", k));
        m_parts.Network().SetInputs(past, {input});
        const ComputationNodePtr weights = m_parts.AddRandom(Numbered("DD", k), inputSize, inputSize);
        hidden = Add("Plus", {hidden, Add("Times", {weights, past})});
    }
    for (size_t layer = offset; layer < m_hiddenLayers; layer++)
    {
        const size_t rows = Size(layer + 1);
        const size_t columns = layer == offset ? inputSize : Size(layer);
        const ComputationNodePtr weights = m_parts.AddRandom(Numbered("U", layer), rows, columns);
        hidden = Add("Times", {weights, hidden});
        if (IsNextRecurrent(layer + 1))
        {
            const ComputationNodePtr recurrent = m_parts.AddRandom(Numbered("R", layer + 1), rows, rows);
            const ComputationNodePtr past = m_parts.AddDelay(rows);
            hidden = Add("Plus", {Add("Times", {recurrent, past}), hidden});
            m_parts.Network().SetInputs(past, {hidden});
        }
        hidden = Add("Plus", {hidden, m_parts.AddFixed(Numbered("bi", layer), rows, 1, 0)});
        hidden = m_parts.AddDropout(hidden);
    }
    Output output;
    output.hidden = hidden;
    output.weights = m_parts.AddRandom(Numbered("W", m_hiddenLayers), Size(m_hiddenLayers + 1), Size(m_hiddenLayers));
    const ComputationNodePtr labels = m_parts.AddLabels(Size(m_hiddenLayers + 1));
    m_parts.AddCriteria(labels, output);
    SetOutput(Add("Times", {output.weights, hidden}, "outputs"));
    AddUnusedPrior(labels);
}

// h = tanh( WXI4 x(t-4) + WXI3 x(t-3) + WXI2 x(t-2) + WXI1 x(t-1) + WXI x ) + bi0
void RecurrentBuilder::BuildNplm()
{
    RequireHiddenLayer("NPLM");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), true));
    const ComputationNodePtr bias = m_parts.AddFixed("bi0", Size(1), 1, 0);
    std::vector<ComputationNodePtr> words{features};
    for (size_t step = 1; step <= 4; step++)
    {
        words.push_back(m_parts.AddDelay(Size(0), step));
        m_parts.Network().SetInputs(words.back(), {features});
    }
    if (!IsNextRecurrent(1))
        Fail(ErrorKind::Config, "rnnType NPLM needs recurrentLayer to begin with 1");
    std::vector<ComputationNodePtr> weights(5);
    for (const size_t step : {2, 3, 4, 1})
        weights[step] = m_parts.AddRandom(Numbered("WXI", step), Size(1), Size(0));
    weights[0] = m_parts.AddRandom("WXI", Size(1), Size(0));
    ComputationNodePtr sum = Add("Times", {weights[4], words[4]});
    for (const size_t step : {3, 2, 1, 0})
        sum = Add("Plus", {sum, Add("Times", {weights[step], words[step]})});
    ComputationNodePtr hidden = Add("Plus", {Add("Tanh", {sum}), bias});
    hidden = AddRnnLayers(m_parts.AddDropout(hidden), 1);
    Output output;
    output.hidden = hidden;
    output.weights = m_parts.AddRandom(Numbered("W", m_hiddenLayers), Size(m_hiddenLayers + 1), Size(m_hiddenLayers));
    const ComputationNodePtr labels = m_parts.AddLabels(Size(m_hiddenLayers + 1), true);
    m_parts.AddCriteria(labels, output);
    SetOutput(output.product ? output.product : Add("Times", {output.weights, hidden}));
    AddUnusedPrior(labels);
}

// Scores of labels and of transitions between them; whole sequences are trained and decoded.
void RecurrentBuilder::BuildCrf()
{
    RequireHiddenLayer("CRF");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), false));
    ComputationNodePtr hidden = AddLookupTable(features, "LookupTable");
    const size_t offset = m_options.lookupTableOrder > 0 ? 1 : 0;
    if (offset >= m_hiddenLayers)
        Fail(ErrorKind::Config, "layerSizes has no hidden layer behind the lookup table; expected one more size, as in "
                                "1000:100:200:20");
    for (size_t layer = offset; layer < m_hiddenLayers; layer++)
    {
        const size_t inputs = layer == 1 && offset == 1 ? Size(1) * m_options.lookupTableOrder : Size(layer);
        if (IsNextRecurrent(layer + 1))
        {
            hidden = AddLstm(layer, hidden, inputs, Size(layer + 1));
            continue;
        }
        const ComputationNodePtr weights = m_parts.AddRandom(Numbered("U", layer), Size(layer + 1), inputs);
        const ComputationNodePtr bias = m_parts.AddFixed(Numbered("B", layer), Size(layer + 1), 1, 0);
        hidden = m_parts.AddNonlinearity(layer, Add("Plus", {Add("Times", {weights, hidden}), bias}));
        hidden = m_parts.AddDropout(hidden);
    }
    const size_t labelSize = Size(m_hiddenLayers + 1);
    const ComputationNodePtr weights =
        m_parts.AddRandom(Numbered("TimesBeforeSoftMax", m_hiddenLayers), labelSize, Size(m_hiddenLayers));
    Output output;
    output.hidden = Add("Times", {weights, hidden}, "outputsBeforeSoftmax");
    output.transitions =
        m_parts.AddFixed(Numbered("TransProb", m_hiddenLayers), labelSize, labelSize, 1.0 / double(labelSize));
    const ComputationNodePtr labels = m_parts.AddLabels(labelSize);
    m_parts.AddCriteria(labels, output, "CRFTrainCriterion", "CRFEvalCriterion");
    SetOutput(Add("SequenceDecoderNode", {labels, output.hidden, output.transitions}, "outputs"));
    AddPosterior(output.hidden);
}

// No labels and no criterion: all sizes but the first are those of hidden layers. The last one is what a decoder sees.
void RecurrentBuilder::BuildLstmEncoder()
{
    m_hiddenLayers = m_sizes.size() - 1;
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), m_options.sparseinput));
    const ComputationNodePtr input = AddLookupTable(features, "EncoderLookupTable", "EncoderE0");
    const ComputationNodePtr hidden = AddLstmLayers(input, m_options.lookupTableOrder > 0 ? 1 : 0, true);
    SetOutput(hidden);
    m_parts.Network().AddToGroup(NodeGroup::Evaluation, hidden);
}

// While a decoder is alone, an input with an axis of its own stands for what the encoder computes.
ComputationNodePtr RecurrentBuilder::AddPairNetwork(const char* kind)
{
    const ComputationNode* encoder = m_parts.EncoderOutput();
    if (encoder == nullptr)
        Fail(ErrorKind::Config, "rnnType ", kind, " is a decoder and needs an encoder before it; expected it in the ",
             "DecoderNetworkBuilder of a trainEncoderDecoder command");
    NodeParameters parameters;
    parameters.Set("rows", std::to_string(encoder->SampleElements()));
    parameters.Set("dynamicAxis", "encoder");
    const ComputationNodePtr alone = m_parts.Network().Add("InputValue", "encoderOutput", {}, parameters);
    return Add("PairNetwork", {alone}, "pairNetwork");
}

// h = nonlinearity(U2 x + W2 a), where a is the average of what was encoded, weighted by its similarity to h(t-1).
ComputationNodePtr RecurrentBuilder::AddAlignedLayer(const ComputationNodePtr& input, const ComputationNodePtr& encoded)
{
    const size_t size = Size(2), encodedSize = m_parts.EncoderOutput()->SampleElements();
    const ComputationNodePtr inputWeights = m_parts.AddRandom("U2", size, Size(1) * m_options.lookupTableOrder);
    const ComputationNodePtr weights = m_parts.AddRandom("W2", size, encodedSize);
    const ComputationNodePtr similarity = m_parts.AddRandom("MatForSimilarity2", encodedSize, size);
    const ComputationNodePtr past = m_parts.AddDelay(size);
    const ComputationNodePtr keys = Add("TransposeTimes", {similarity, encoded});
    const ComputationNodePtr attended = Add("Attention", {encoded, keys, past});
    const ComputationNodePtr sum =
        Add("Plus", {Add("Times", {inputWeights, input}), Add("Times", {weights, attended})});
    const ComputationNodePtr hidden = m_parts.AddNonlinearity(0, sum);
    m_parts.Network().SetInputs(past, {hidden});
    return m_parts.AddDropout(hidden);
}

void RecurrentBuilder::BuildAlignmentDecoder(bool hasCriteria)
{
    const char* kind = hasCriteria ? "ALIGNMENTSIMILARITYGENERATOR" : "ALIGNMENTSIMILARITYGFORWARDDECODER";
    if (m_options.lookupTableOrder == 0 || m_hiddenLayers < 2)
        Fail(ErrorKind::Config, "rnnType ", kind,
             " needs a lookup table and a hidden layer: set lookupTableOrder=1 and "
             "layerSizes=vocabulary:embedding:hidden:vocabulary, as in 10000:100:200:10000");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), true));
    const ComputationNodePtr embedded = AddLookupTable(features, "LookupTable");
    ComputationNodePtr hidden = AddAlignedLayer(embedded, AddPairNetwork(kind));
    for (size_t layer = 2; layer < m_hiddenLayers; layer++)
        hidden = AddLstm(layer, hidden, Size(layer), Size(layer + 1));

    Output output;
    output.hidden = hidden;
    if (!hasCriteria)
    {
        SetOutput(hidden); // first: what the next network is paired with
        output.weights =
            m_parts.AddRandom(Numbered("OW", m_hiddenLayers), Size(m_hiddenLayers), Size(m_hiddenLayers + 1));
        AddPosterior(Add("TransposeTimes", {output.weights, hidden}, "outputs"));
        return;
    }
    const bool hasClasses = FindCriterion(m_options.trainingCriterion)->inputs == CriterionWord::Inputs::Classes;
    if (hasClasses)
        RequireClasses();
    output.weights = m_parts.AddRandom(Numbered("OW", m_hiddenLayers), Size(m_hiddenLayers), Size(m_hiddenLayers + 1));
    ComputationNodePtr labels;
    if (hasClasses)
        AddClassCriteria(output);
    else
        labels = m_parts.AddLabels(Size(m_hiddenLayers + 1));
    const ComputationNodePtr outputs = Add("TransposeTimes", {output.weights, hidden}, "outputs");
    output.product = outputs;
    if (!hasClasses)
        m_parts.AddCriteria(labels, output);
    SetOutput(outputs);
    AddPosterior(outputs);
}

// One node instead of many; the biases are the first columns of its matrices.
ComputationNodePtr RecurrentBuilder::AddLstmNode(size_t block, const ComputationNodePtr& input, size_t inputSize,
                                                 size_t size)
{
    struct Gate
    {
        const char* name;
        size_t columns; // beside those of the input and of the layer's own past
        double bias;
    };
    const Gate gates[] = {{"WINPUTGATE", 2, m_options.inputGateInitVal},
                          {"WFORGETGATE", 2, m_options.forgetGateInitVal},
                          {"WOUTPUTGATE", 2, m_options.outputGateInitVal},
                          {"WMEMORYCELLWEIGHT", 1, 0}};
    std::vector<ComputationNodePtr> inputs{input};
    for (const Gate& gate : gates)
    {
        const size_t columns = inputSize + size + gate.columns;
        inputs.push_back(m_parts.AddRandom(Numbered(gate.name, block), size, columns));
        Matrix& values = std::dynamic_pointer_cast<LearnableParameterNode>(inputs.back())->Values();
        std::vector<double> elements = values.ToHost();
        std::fill_n(elements.begin(), size, gate.bias);
        values.FromHost(elements);
    }
    return m_parts.AddDropout(Add("LSTM", std::move(inputs), Numbered("LSTM", block)));
}

// The label before and the letters, each embedded, one above the other.
ComputationNodePtr RecurrentBuilder::AddStreams(size_t& rows)
{
    constexpr const char* c_names[] = {"featurepastValueedTarget", "ltrForward"};
    constexpr size_t c_streams = 2;
    if (m_options.streamSizes.size() != c_streams || m_options.lookupTableOrderSizes.size() != c_streams)
        Fail(ErrorKind::Config, "rnnType TRANSDUCER needs two entries each in streamSizes and lookupTableOrderSizes, ",
             "for ", c_names[0], " and ", c_names[1], "; found ", m_options.streamSizes.size(), " and ",
             m_options.lookupTableOrderSizes.size());
    std::vector<ComputationNodePtr> features, embedded;
    for (size_t stream = 0; stream < c_streams; stream++)
    {
        const size_t size = m_options.streamSizes[stream], order = m_options.lookupTableOrderSizes[stream];
        if (size == 0 || order == 0 || size % order != 0)
            Fail(ErrorKind::Config, "streamSizes says ", size, " for ", c_names[stream],
                 ", expected a multiple of its lookupTableOrderSizes, ", order);
        features.push_back(m_parts.AddFeatures(c_names[stream], size, m_options.sparseinput));
    }
    rows = 0;
    for (size_t stream = 0; stream < c_streams; stream++)
    {
        const size_t order = m_options.lookupTableOrderSizes[stream];
        const ComputationNodePtr embedding =
            m_parts.AddRandom(Numbered("Embedding", stream), Size(1), m_options.streamSizes[stream] / order);
        embedded.push_back(Add("LookupTable", {embedding, features[stream]}, Numbered("LOOKUP", stream)));
        rows += Size(1) * order;
    }
    return Add("RowStack", std::move(embedded), "Parallel0");
}

void RecurrentBuilder::BuildTransducer()
{
    if (m_hiddenLayers < 2)
        Fail(ErrorKind::Config, "rnnType TRANSDUCER needs an embedding and a hidden layer in layerSizes, as in "
                                "100:50:200:40");
    if (m_options.applyMeanVarNorm)
        Fail(ErrorKind::Config, "applyMeanVarNorm=true: rnnType TRANSDUCER embeds words, which are not normalised");
    size_t rows = 0;
    ComputationNodePtr hidden = AddStreams(rows);
    for (size_t layer = 1; layer < m_hiddenLayers; layer++)
        hidden = AddLstmNode(layer, hidden, layer == 1 ? rows : Size(layer), Size(layer + 1));
    const ComputationNodePtr weights =
        m_parts.AddRandom("ConnectToLowerLayers", Size(m_hiddenLayers + 1), Size(m_hiddenLayers));
    Output output;
    output.hidden = Add("Times", {weights, hidden});
    const ComputationNodePtr labels = m_parts.AddLabels(Size(m_hiddenLayers + 1));
    m_parts.AddCriteria(labels, output);
    const ComputationNodePtr outputs = Add("Softmax", {output.hidden}, "outputs");
    if (!m_options.needPrior)
        return SetOutput(outputs);
    const ComputationNodePtr logOfPrior = Add("Log", {Add("Mean", {labels})}, "LogOfPrior");
    SetOutput(Add("Minus", {outputs, logOfPrior}, "ScaledLogLikelihood"));
}

} // namespace

void BuildRecurrentNetwork(const std::string& kind, NetworkParts& parts)
{
    RecurrentBuilder builder(parts);
    if (kind == "SIMPLERNN")
        builder.BuildSimpleRnn();
    else if (kind == "LSTM")
        builder.BuildLstm();
    else if (kind == "CLASSLM")
        builder.BuildClassLm();
    else if (kind == "LBLM")
        builder.BuildLogBilinear();
    else if (kind == "NPLM")
        builder.BuildNplm();
    else if (kind == "CLASSLSTM")
        builder.BuildClassLstm(false);
    else if (kind == "NCELSTM")
        builder.BuildNceLstm();
    else if (kind == "CLSTM")
        builder.BuildClassLstm(true);
    else if (kind == "CRF")
        builder.BuildCrf();
    else if (kind == "LSTMENCODER")
        builder.BuildLstmEncoder();
    else if (kind == "ALIGNMENTSIMILARITYGENERATOR")
        builder.BuildAlignmentDecoder(true);
    else if (kind == "ALIGNMENTSIMILARITYGFORWARDDECODER")
        builder.BuildAlignmentDecoder(false);
    else if (kind == "TRANSDUCER")
        builder.BuildTransducer();
    else
        Fail(ErrorKind::Internal, "no builder for rnnType ", kind);
}

} // namespace cntk
