// Networks CLASSLM, CLASSLSTM, CLSTM, NCELSTM, LBLM and NPLM.
#include "ActionsLib/Networks/RecurrentBuilder.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

namespace
{

// The default of the options is -1.
std::string Given(const char* name, int value)
{
    return value == -1 ? Concat(name, " is not given") : Concat(name, " is ", value);
}

} // namespace

// Adds W<n> (hidden x vocabulary), labels of four rows, class scores and criteria.
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
        Fail(ErrorKind::Config, Given("vocabSize", m_options.vocabSize), ", but the last of the layerSizes is ",
             vocabulary, "; expected the same: the vocabulary size should be the same as the output layer size");
    if (m_options.nbrClass <= 0)
        Fail(ErrorKind::Config, Given("nbrClass", m_options.nbrClass),
             "; expected the number of word classes, 1 or more");
}

ComputationNodePtr RecurrentBuilder::AddClassCriteria(Output& output)
{
    const ComputationNodePtr labels = m_parts.AddLabels(4);
    const ComputationNodePtr classWeights =
        m_parts.AddRandom("WeightForClassPostProb", size_t(m_options.nbrClass), Size(m_hiddenLayers));
    output.extra = Add("Times", {classWeights, output.hidden}, "ClassPostProb");
    return m_parts.AddCriteria(labels, output, "TrainNodeClassBasedCrossEntropy", "EvalNodeClassBasedCrossEntrpy");
}

void RecurrentBuilder::BuildClassLm()
{
    RequireHiddenLayer("CLASSLM");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), InputForm::Sparse));
    const ComputationNodePtr weights = m_parts.AddRandom("U0", Size(1), Size(0));
    ComputationNodePtr hidden;
    if (IsNextRecurrent(1))
        hidden = AddRecurrentLayer(0, features);
    else
    {
        const ComputationNodePtr bias = m_parts.AddRandom("B0", Size(1), 1); // random, as in the original
        hidden = m_parts.AddNonlinearity(0, Add("Plus", {Add("Times", {weights, features}), bias}));
    }
    hidden = AddRnnLayers(m_parts.AddDropout(hidden), 1);
    Output output;
    ComputationNodePtr evaluation;
    AddClassOutput(hidden, output, evaluation);
    SetOutput(evaluation);
    AddUnusedPrior(m_parts.Network().Require("labels"));
}

void RecurrentBuilder::BuildClassNetwork(SecondInput second)
{
    const bool isConditional = second == SecondInput::Auxiliary;
    if (m_options.lookupTableOrder == 0)
        Fail(ErrorKind::Config, "rnnType ", isConditional ? "CLSTM" : "CLASSLSTM",
             " needs a lookup table: set lookupTableOrder=1 and layerSizes=vocabulary:embedding:hidden:vocabulary, as "
             "in 10000:100:200:10000");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), InputForm::Sparse));
    ComputationNodePtr hidden = AddLstmLayers(AddLookupTable(features, "LookupTable"), 1, LstmLayers::All);
    if (isConditional)
    {
        const ComputationNodePtr auxiliary =
            m_parts.AddFeatures("binaryFeature", m_options.auxfeatdim, InputForm::Dense);
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
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), InputForm::Sparse));
    const size_t offset = m_options.lookupTableOrder > 0 ? 1 : 0;
    const ComputationNodePtr input = AddLookupTable(features, "LookupTable");
    std::vector<ComputationNodePtr> layers(offset, input); // by number, from 1 on
    ComputationNodePtr hidden = AddLstmLayers(input, offset, LstmLayers::Listed, &layers);
    const size_t size = Size(m_hiddenLayers);
    for (const size_t layer : m_options.directConnect)
        if (layer == 0 || layer > layers.size())
            Fail(ErrorKind::Config, "directConnect names layer ", layer, "; expected 1 to ", layers.size());
    // The order of the layers gives the seeds; the numbers in the names follow the list.
    for (size_t layer = 1; layer <= layers.size(); layer++)
    {
        const auto listed = std::find(m_options.directConnect.begin(), m_options.directConnect.end(), layer);
        if (listed == m_options.directConnect.end())
            continue;
        const size_t j = size_t(listed - m_options.directConnect.begin());
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
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), InputForm::Dense));
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
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), InputForm::Sparse));
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
    const ComputationNodePtr labels = m_parts.AddLabels(Size(m_hiddenLayers + 1), InputForm::Sparse);
    m_parts.AddCriteria(labels, output);
    SetOutput(output.product ? output.product : Add("Times", {output.weights, hidden}));
    AddUnusedPrior(labels);
}

} // namespace cntk
