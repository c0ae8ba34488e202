// SIMPLERNN, LSTM, CRF, TRANSDUCER; which rnnType has which builder.
#include "ActionsLib/Networks/RecurrentBuilder.h"
#include "Common/Text.h"

#include <algorithm>
#include <iterator>

namespace cntk
{

void RecurrentBuilder::BuildSimpleRnn()
{
    RequireHiddenLayer("SIMPLERNN");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), InputForm::Sparse));
    Output output;
    output.hidden = AddRnnLayers(features, 0);
    output.weights = m_parts.AddRandom(Numbered("W", m_hiddenLayers), Size(m_hiddenLayers + 1), Size(m_hiddenLayers));
    const ComputationNodePtr labels = m_parts.AddLabels(Size(m_hiddenLayers + 1));
    m_parts.AddCriteria(labels, output, "criterion", "eval");
    SetOutput(Add("Times", {output.weights, output.hidden}, "outputs"));
    AddUnusedPrior(labels);
}

void RecurrentBuilder::BuildLstm()
{
    RequireHiddenLayer("LSTM");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), FormOfFeatures()));
    const ComputationNodePtr input = AddLookupTable(features, "LookupTable");
    Output output;
    output.hidden = AddLstmLayers(input, m_options.lookupTableOrder > 0 ? 1 : 0, LstmLayers::Listed);
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

// Scores of labels and of transitions between them; whole sequences are trained and decoded.
void RecurrentBuilder::BuildCrf()
{
    RequireHiddenLayer("CRF");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), InputForm::Dense));
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

// The label before and the letters, each embedded, one above the other.
RecurrentBuilder::Streams RecurrentBuilder::AddStreams(const char* kind)
{
    constexpr const char* c_names[] = {"featurepastValueedTarget", "ltrForward"};
    constexpr size_t c_streams = 2;
    if (m_hiddenLayers < 2)
        Fail(ErrorKind::Config, "rnnType ", kind,
             " needs an embedding and a hidden layer in layerSizes, as in 100:50:200:40");
    if (m_options.applyMeanVarNorm)
        Fail(ErrorKind::Config, "applyMeanVarNorm=true: rnnType ", kind, " embeds words, which are not normalised");
    if (m_options.streamSizes.size() != c_streams || m_options.lookupTableOrderSizes.size() != c_streams)
        Fail(ErrorKind::Config, "rnnType ", kind, " needs two entries each in streamSizes and lookupTableOrderSizes, ",
             "for ", c_names[0], " and ", c_names[1], "; found ", m_options.streamSizes.size(), " and ",
             m_options.lookupTableOrderSizes.size());
    std::vector<ComputationNodePtr> features, embedded;
    for (size_t stream = 0; stream < c_streams; stream++)
    {
        const size_t size = m_options.streamSizes[stream], order = m_options.lookupTableOrderSizes[stream];
        if (size == 0 || order == 0 || size % order != 0)
            Fail(ErrorKind::Config, "streamSizes says ", size, " for ", c_names[stream],
                 ", expected a multiple of its lookupTableOrderSizes, ", order);
        features.push_back(m_parts.AddFeatures(c_names[stream], size, FormOfFeatures()));
    }
    Streams streams;
    for (size_t stream = 0; stream < c_streams; stream++)
    {
        const size_t order = m_options.lookupTableOrderSizes[stream];
        const ComputationNodePtr embedding =
            m_parts.AddRandom(Numbered("Embedding", stream), Size(1), m_options.streamSizes[stream] / order);
        embedded.push_back(Add("LookupTable", {embedding, features[stream]}, Numbered("LOOKUP", stream)));
        streams.letterRows = Size(1) * order;
        streams.rows += streams.letterRows;
    }
    streams.letters = embedded.back();
    streams.both = Add("RowStack", std::move(embedded), "Parallel0");
    return streams;
}

// Of networks over streams: what every word of the output gets, the criteria, the posteriors.
void RecurrentBuilder::AddStreamOutput(const ComputationNodePtr& hidden)
{
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

void RecurrentBuilder::BuildTransducer()
{
    const Streams streams = AddStreams("TRANSDUCER");
    ComputationNodePtr hidden = streams.both;
    for (size_t layer = 1; layer < m_hiddenLayers; layer++)
        hidden = AddLstmNode(layer, hidden, layer == 1 ? streams.rows : Size(layer), Size(layer + 1));
    AddStreamOutput(hidden);
}

// LSTM blocks of all hidden layers behind the embedding, one above the other.
ComputationNodePtr RecurrentBuilder::AddLstmStack(size_t firstBlock, ComputationNodePtr hidden, size_t rows)
{
    for (size_t layer = 1; layer < m_hiddenLayers; layer++)
        hidden = AddLstm(firstBlock + layer - 1, hidden, layer == 1 ? rows : Size(layer), Size(layer + 1));
    return hidden;
}

// The letters are read in both directions, forwards together with the label before. The layers' sizes hold for either
// direction; the block over both has the last of them.
void RecurrentBuilder::BuildBidirectionalStreams()
{
    constexpr size_t c_firstForward = 101, c_firstBackward = 201;
    const Streams streams = AddStreams("JOINTCONDITIONALBILSTMSTREAMS");
    const ComputationNodePtr forward = AddLstmStack(c_firstForward, streams.both, streams.rows);
    const ComputationNodePtr reversed = Add("TimeReverse", {streams.letters});
    const ComputationNodePtr backward =
        Add("TimeReverse", {AddLstmStack(c_firstBackward, reversed, streams.letterRows)});
    const ComputationNodePtr both = Add("RowStack", {forward, backward}, "Parallel1");
    const size_t size = Size(m_hiddenLayers);
    AddStreamOutput(AddLstm(m_hiddenLayers, both, 2 * size, size));
}

namespace
{

struct NetworkKind
{
    const char* name;
    void (RecurrentBuilder::*build)();
};

// In the order in which the original looks for them.
constexpr NetworkKind c_networkKinds[] = {
    {"SIMPLERNN", &RecurrentBuilder::BuildSimpleRnn},
    {"LSTM", &RecurrentBuilder::BuildLstm},
    {"CLASSLM", &RecurrentBuilder::BuildClassLm},
    {"LBLM", &RecurrentBuilder::BuildLogBilinear},
    {"NPLM", &RecurrentBuilder::BuildNplm},
    {"CLASSLSTM", &RecurrentBuilder::BuildClassLstm},
    {"NCELSTM", &RecurrentBuilder::BuildNceLstm},
    {"CLSTM", &RecurrentBuilder::BuildConditionalLstm},
    {"CRF", &RecurrentBuilder::BuildCrf},
    {"LSTMENCODER", &RecurrentBuilder::BuildLstmEncoder},
    {"ALIGNMENTSIMILARITYGENERATOR", &RecurrentBuilder::BuildAlignmentGenerator},
    {"ALIGNMENTSIMILARITYGFORWARDDECODER", &RecurrentBuilder::BuildAlignmentDecoder},
    {"TRANSDUCER", &RecurrentBuilder::BuildTransducer},
    {"JOINTCONDITIONALBILSTMSTREAMS", &RecurrentBuilder::BuildBidirectionalStreams}};

} // namespace

std::vector<std::string> RecurrentNetworkKinds()
{
    std::vector<std::string> names;
    for (const NetworkKind& kind : c_networkKinds)
        names.emplace_back(kind.name);
    return names;
}

void BuildRecurrentNetwork(const std::string& kind, NetworkParts& parts)
{
    const auto* const found = std::find_if(std::begin(c_networkKinds), std::end(c_networkKinds),
                                           [&](const NetworkKind& known) { return known.name == kind; });
    if (found == std::end(c_networkKinds))
        Fail(ErrorKind::Internal, "no builder for rnnType ", kind);
    RecurrentBuilder builder(parts);
    (builder.*found->build)();
}

} // namespace cntk
