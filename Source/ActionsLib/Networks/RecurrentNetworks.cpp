// Networks SIMPLERNN, LSTM, CRF, TRANSDUCER, JOINTCONDITIONALBILSTMSTREAMS, LSTMENCODER, ALIGNMENTSIMILARITYGENERATOR
// and ALIGNMENTSIMILARITYGFORWARDDECODER; the table of rnnType.
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

// Scores labels and transitions between labels; trains and decodes whole sequences.
void RecurrentBuilder::BuildCrf()
{
    RequireHiddenLayer("CRF");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), InputForm::Dense));
    ComputationNodePtr hidden = AddLookupTable(features, "LookupTable");
    const size_t offset = m_options.lookupTableOrder > 0 ? 1 : 0;
    if (offset >= m_hiddenLayers)
        Fail(ErrorKind::Config, "layerSizes has no hidden layer after the lookup table; expected one more size, as in "
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

// Embeds the previous label and the letters and stacks both.
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

// Adds the output layer, the criteria and the posteriors of a network over streams.
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

// Stacks LSTM blocks for all hidden layers after the embedding.
ComputationNodePtr RecurrentBuilder::AddLstmStack(size_t firstBlock, ComputationNodePtr hidden, size_t rows)
{
    for (size_t layer = 1; layer < m_hiddenLayers; layer++)
        hidden = AddLstm(firstBlock + layer - 1, hidden, layer == 1 ? rows : Size(layer), Size(layer + 1));
    return hidden;
}

// Reads the letters in both directions, forwards together with the previous label. Both directions have the layers'
// sizes; the block over both has the last size.
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

// The network has neither labels nor a criterion, so all sizes but the first belong to hidden layers. A decoder takes
// the values of the last layer.
void RecurrentBuilder::BuildLstmEncoder()
{
    m_hiddenLayers = m_sizes.size() - 1;
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), FormOfFeatures()));
    const ComputationNodePtr input = AddLookupTable(features, "EncoderLookupTable", "EncoderE0");
    const ComputationNodePtr hidden = AddLstmLayers(input, m_options.lookupTableOrder > 0 ? 1 : 0, LstmLayers::All);
    SetOutput(hidden);
    m_parts.Network().AddToGroup(NodeGroup::Evaluation, hidden);
}

// Adds an input with its own axis, which stands for the encoder's output until the decoder is paired.
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

// h = nonlinearity(U2 x + W2 a), where a is the average of the encoder's outputs, weighted by their similarity to
// h(t-1).
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

void RecurrentBuilder::BuildAligned(Ending ending)
{
    const bool hasCriteria = ending == Ending::Criteria;
    const char* kind = hasCriteria ? "ALIGNMENTSIMILARITYGENERATOR" : "ALIGNMENTSIMILARITYGFORWARDDECODER";
    if (m_options.lookupTableOrder == 0 || m_hiddenLayers < 2)
        Fail(ErrorKind::Config, "rnnType ", kind,
             " needs a lookup table and a hidden layer: set lookupTableOrder=1 and "
             "layerSizes=vocabulary:embedding:hidden:vocabulary, as in 10000:100:200:10000");
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), InputForm::Sparse));
    const ComputationNodePtr embedded = AddLookupTable(features, "LookupTable");
    ComputationNodePtr hidden = AddAlignedLayer(embedded, AddPairNetwork(kind));
    for (size_t layer = 2; layer < m_hiddenLayers; layer++)
        hidden = AddLstm(layer, hidden, Size(layer), Size(layer + 1));

    Output output;
    output.hidden = hidden;
    if (!hasCriteria)
    {
        SetOutput(hidden); // first, because the next network is paired with it
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

namespace
{

struct NetworkKind
{
    const char* name;
    void (RecurrentBuilder::*build)();
};

// The order in which the original searches.
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
