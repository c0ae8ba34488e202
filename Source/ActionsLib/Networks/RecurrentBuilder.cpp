// Parts of several recurrent networks: lookup tables, recurrent layers, LSTM blocks.
#include "ActionsLib/Networks/RecurrentBuilder.h"

#include "Common/Text.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>

namespace cntk
{

ComputationNodePtr RecurrentBuilder::AddNormalized(const ComputationNodePtr& features)
{
    if (!m_options.applyMeanVarNorm)
        return features;
    const ComputationNodePtr mean = Add("Mean", {features});
    const ComputationNodePtr deviation = Add("InvStdDev", {features});
    return Add("PerDimMeanVarNormalization", {features, mean, deviation});
}

// Embeds each of lookupTableOrder stacked words with the same matrix. Without lookupTableOrder, returns the features.
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

// Adds the layers of SIMPLERNN and CLASSLM from the layer `first` on.
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
            // The original adds a bias that it never created; this layer gets its own bias.
            const ComputationNodePtr bias = m_parts.AddFixed("B" + number, Size(layer + 1), 1, 0);
            hidden = m_parts.AddNonlinearity(layer, Add("Plus", {Add("Times", {weights, hidden}), bias}));
        }
        hidden = m_parts.AddDropout(hidden);
    }
    return hidden;
}

// f( WX<gate> x + b<gate> + WH<gate> h' + WC<gate> .* cell )
ComputationNodePtr RecurrentBuilder::AddGate(const char* gate, const std::string& number,
                                             const ComputationNodePtr& input, const ComputationNodePtr& pastHidden,
                                             const ComputationNodePtr& cell)
{
    ComputationNetwork& network = m_parts.Network();
    const auto parameter = [&](const char* prefix, const char* suffix)
    { return network.Require(Concat(prefix, suffix, number)); };
    const ComputationNodePtr peephole = Add("DiagTimes", {parameter("WC", gate), cell});
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
        inputGate = AddGate("I", number, input, pastHidden[0], pastCell[0]);
    const ComputationNodePtr recurrent = Add("Times", {network.Require("WHC" + number), pastHidden[3]});
    const ComputationNodePtr recurrentSum = Add("Plus", {recurrent, cellBias});
    const ComputationNodePtr product = Add("Times", {network.Require("WXC" + number), input});
    ComputationNodePtr added = Add("Tanh", {Add("Plus", {product, recurrentSum})});
    if (inputGate)
        added = Add("ElementTimes", {inputGate, added});
    ComputationNodePtr kept = pastCell[2];
    if (!m_options.constForgetGateValue)
        kept = Add("ElementTimes", {AddGate("F", number, input, pastHidden[1], pastCell[1]), pastCell[2]});
    const ComputationNodePtr cell = Add("Plus", {kept, added});
    ComputationNodePtr outputGate;
    if (!m_options.constOutputGateValue)
        outputGate = AddGate("O", number, input, pastHidden[2], cell);
    ComputationNodePtr hidden = Add("Tanh", {cell});
    if (outputGate)
        hidden = Add("ElementTimes", {outputGate, hidden});
    for (const ComputationNodePtr& past : pastHidden)
        network.SetInputs(past, {hidden});
    for (const ComputationNodePtr& past : pastCell)
        network.SetInputs(past, {cell});
    return m_parts.AddDropout(hidden);
}

// The first layer after the lookup table is block 0. Later layers keep their numbers; they are blocks with
// LstmLayers::All or if recurrentLayer names them.
ComputationNodePtr RecurrentBuilder::AddLstmLayers(ComputationNodePtr hidden, size_t offset, LstmLayers blocks,
                                                   std::vector<ComputationNodePtr>* layers)
{
    if (offset >= m_hiddenLayers)
        Fail(ErrorKind::Config, "layerSizes has no hidden layer after the lookup table; expected one more size, as in "
                                "1000:100:200:1000");
    hidden = AddLstm(0, hidden, Size(offset) * std::max<size_t>(offset > 0 ? m_options.lookupTableOrder : 1, 1),
                     Size(offset + 1));
    if (layers != nullptr)
        layers->push_back(hidden);
    for (size_t layer = offset + 1; layer < m_hiddenLayers; layer++)
    {
        const std::string number = std::to_string(layer);
        if (blocks == LstmLayers::All)
            hidden = AddLstm(layer, hidden, Size(layer), Size(layer + 1));
        // The block has its own Dropout; as in the original, the layer adds another, and the masks multiply.
        else if (IsNextRecurrent(layer))
            hidden = m_parts.AddDropout(AddLstm(layer, hidden, Size(layer), Size(layer + 1)));
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

// Adds a single LSTM node. The biases are the first columns of its matrices.
ComputationNodePtr RecurrentBuilder::AddLstmNode(size_t block, const ComputationNodePtr& input, size_t inputSize,
                                                 size_t size)
{
    struct Gate
    {
        const char* name;
        size_t columns; // in addition to those of the input and of the layer's past
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
        Matrix& values = static_cast<LearnableParameterNode&>(*inputs.back()).Values();
        std::vector<double> elements = values.ToHost();
        std::fill_n(elements.begin(), size, gate.bias);
        values.FromHost(elements);
    }
    return m_parts.AddDropout(Add("LSTM", std::move(inputs), Numbered("LSTM", block)));
}

} // namespace cntk
