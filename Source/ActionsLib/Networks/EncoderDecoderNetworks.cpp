// LSTMENCODER, ALIGNMENTSIMILARITYGENERATOR, ALIGNMENTSIMILARITYGFORWARDDECODER.
#include "ActionsLib/Networks/RecurrentBuilder.h"

namespace cntk
{

// No labels and no criterion: all sizes but the first are those of hidden layers. The last one is what a decoder sees.
void RecurrentBuilder::BuildLstmEncoder()
{
    m_hiddenLayers = m_sizes.size() - 1;
    const ComputationNodePtr features = AddNormalized(m_parts.AddFeatures("features", Size(0), FormOfFeatures()));
    const ComputationNodePtr input = AddLookupTable(features, "EncoderLookupTable", "EncoderE0");
    const ComputationNodePtr hidden = AddLstmLayers(input, m_options.lookupTableOrder > 0 ? 1 : 0, LstmLayers::All);
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

} // namespace cntk
