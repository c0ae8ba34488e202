#include "ActionsLib/Networks/NetworkParts.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>

namespace cntk
{

namespace
{

using Inputs = CriterionWord::Inputs;

// Messages list the first word of a criterion; other words are other spellings.
constexpr CriterionWord c_criteria[] = {
    {"CrossEntropyWithSoftmax", "CrossEntropyWithSoftmax", "CrossEntropyWithSoftmax", true, Inputs::Product},
    {"SquareError", "SquareError", "SquareError", true, Inputs::Product},
    {"Logistic", "Logistic", "Logistic", true, Inputs::Product},
    {"ErrorPrediction", "ErrorPrediction", "EvalErrorPrediction", false, Inputs::Product},
    {"ClassCrossEntropyWithSoftmax", "ClassBasedCrossEntropyWithSoftmax", "ClassCrossEntropyWithSoftmax", true,
     Inputs::Classes},
    {"ClassBasedCrossEntropyWithSoftmax", "ClassBasedCrossEntropyWithSoftmax", "ClassCrossEntropyWithSoftmax", true,
     Inputs::Classes},
    {"NoiseContrastiveEstimation", "NCEBasedCrossEntropyWithSoftmax", "NoiseContrastiveEstimationNode", true,
     Inputs::Noise},
    {"NoiseContrastiveEstimationNode", "NCEBasedCrossEntropyWithSoftmax", "NoiseContrastiveEstimationNode", true,
     Inputs::Noise},
    {"CRF", "CRF", "CRF", true, Inputs::Sequence},
};

struct LayerWord
{
    const char* word;
    const char* nodeType;
};
constexpr LayerWord c_layers[] = {{"Sigmoid", "Sigmoid"},
                                  {"RectifiedLinear", "RectifiedLinear"},
                                  {"ReLU", "RectifiedLinear"},
                                  {"Tanh", "Tanh"},
                                  {"None", ""},
                                  {"", ""}};

} // namespace

const CriterionWord* FindCriterion(std::string_view word)
{
    for (const CriterionWord& criterion : c_criteria)
        if (EqualsIgnoreCase(criterion.word, word))
            return &criterion;
    return nullptr;
}

std::vector<std::string> CriterionWords(bool forTraining)
{
    std::vector<std::string> words;
    for (const CriterionWord& criterion : c_criteria)
        if (criterion.forTraining || !forTraining)
            words.emplace_back(criterion.word);
    return words;
}

const char* FindLayerType(std::string_view word)
{
    for (const LayerWord& layer : c_layers)
        if (EqualsIgnoreCase(layer.word, word))
            return layer.nodeType;
    return nullptr;
}

ComputationNodePtr NetworkParts::AddRandom(const std::string& name, size_t rows, size_t columns)
{
    ComputationNodePtr node = m_network.AddParameter(name, TensorShape{rows, columns});
    auto& parameter = static_cast<LearnableParameterNode&>(*node);
    const uint64_t seed = m_options.startValueSeeds(m_options.randomSeedOffset + ++m_seeds);
    if (m_options.uniformInit)
        parameter.InitUniform(seed, m_options.initValueScale);
    else
        parameter.InitGaussian(seed, m_options.initValueScale);
    return node;
}

ComputationNodePtr NetworkParts::AddFixed(const std::string& name, size_t rows, size_t columns, double value)
{
    ComputationNodePtr node = m_network.AddParameter(name, TensorShape{rows, columns});
    auto& parameter = static_cast<LearnableParameterNode&>(*node);
    parameter.InitFixed(value);
    return node;
}

ComputationNodePtr NetworkParts::AddFeatures(const std::string& name, size_t size, InputForm form)
{
    const ComputationNodePtr features = m_network.AddInput(name, TensorShape{size}, form == InputForm::Sparse);
    m_network.AddToGroup(NodeGroup::Feature, features);
    return features;
}

ComputationNodePtr NetworkParts::AddLabels(size_t size, InputForm form)
{
    const ComputationNodePtr labels = m_network.AddInput("labels", TensorShape{size}, form == InputForm::Sparse);
    m_network.AddToGroup(NodeGroup::Label, labels);
    return labels;
}

ComputationNodePtr NetworkParts::AddDelay(size_t rows, size_t timeStep, const std::string& name)
{
    NodeParameters parameters;
    parameters.Set("rows", std::to_string(rows));
    parameters.Set("timeStep", std::to_string(timeStep));
    parameters.Set("defaultHiddenActivity", PrintNumber(m_options.defaultHiddenActivity));
    return m_network.AddUnconnected("PastValue", name, parameters);
}

ComputationNodePtr NetworkParts::AddNonlinearity(size_t number, const ComputationNodePtr& input,
                                                 const std::string& name)
{
    const std::vector<std::string>& words = m_options.layerTypes;
    const std::string type = FindLayerType(words[std::min(number, words.size() - 1)]);
    return type.empty() ? input : Add(type, name, {input});
}

ComputationNodePtr NetworkParts::AddDropout(const ComputationNodePtr& input, const std::string& name)
{
    return m_options.addDropoutNodes ? Add("Dropout", name, {input}) : input;
}

ComputationNodePtr NetworkParts::AddCriterion(const CriterionWord& word, const std::string& name,
                                              const ComputationNodePtr& labels, Output& output)
{
    const std::string nodeName = name.empty() ? word.nodeName : name;
    if (word.inputs == Inputs::Product)
    {
        // These networks have weights of hidden x vocabulary; their criteria compute the scores of a few words only.
        if (output.extra)
            Fail(ErrorKind::Config, "the criterion ", word.word,
                 " needs the scores of all words, which this network does not compute; expected "
                 "ClassCrossEntropyWithSoftmax for rnnType CLASSLM, CLASSLSTM or CLSTM, and NoiseContrastiveEstimation "
                 "for NCELSTM");
        if (!output.product)
            output.product = output.weights ? Add("Times", "", {output.weights, output.hidden}) : output.hidden;
        return Add(word.nodeType, nodeName, {labels, output.product});
    }
    if (word.inputs == Inputs::Sequence)
    {
        if (!output.transitions)
            Fail(ErrorKind::Config, "the criterion ", word.word,
                 " needs a network that scores sequences of labels: rnnType CRF");
        return Add(word.nodeType, nodeName, {labels, output.hidden, output.transitions});
    }
    if (!output.extra)
        Fail(ErrorKind::Config, "the criterion ", word.word, " needs a network that has ",
             word.inputs == Inputs::Classes ? "word classes: rnnType CLASSLM, CLASSLSTM or CLSTM"
                                            : "noise contrastive estimation: rnnType NCELSTM");
    return Add(word.nodeType, nodeName, {labels, output.hidden, output.weights, output.extra});
}

ComputationNodePtr NetworkParts::AddCriteria(const ComputationNodePtr& labels, Output& output,
                                             const std::string& trainingName, const std::string& evaluationName)
{
    const CriterionWord& training = *FindCriterion(m_options.trainingCriterion);
    const CriterionWord& evaluation = *FindCriterion(m_options.evalCriterion);
    const ComputationNodePtr criterion = AddCriterion(training, trainingName, labels, output);
    m_network.AddToGroup(NodeGroup::Criterion, criterion);
    const ComputationNodePtr evaluated = std::string_view(training.nodeName) == evaluation.nodeName
                                             ? criterion
                                             : AddCriterion(evaluation, evaluationName, labels, output);
    m_network.AddToGroup(NodeGroup::Evaluation, evaluated);
    return evaluated;
}

} // namespace cntk
