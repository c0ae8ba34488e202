// All node types by name. Each file of Nodes/ is a family of types and defines its registration function. The functions
// are declared here, so that a new one recompiles nothing else, and called by Standard.
#include "ComputationNetwork/NodeRegistry.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{

void RegisterParameterNodes(NodeRegistry& registry);
void RegisterInputNodes(NodeRegistry& registry);
void RegisterElementwiseNodes(NodeRegistry& registry);
void RegisterProductNodes(NodeRegistry& registry);
void RegisterNormalizationNodes(NodeRegistry& registry); // Softmax family, statistics, PerDimMeanVarNormalization
void RegisterCriterionNodes(NodeRegistry& registry);     // SquareError, ErrorPrediction, SumElements
void RegisterCrossEntropyNodes(NodeRegistry& registry);  // CrossEntropyWithSoftmax, CrossEntropy, Logistic
void RegisterClassBasedCrossEntropyNodes(NodeRegistry& registry);
void RegisterNceNodes(NodeRegistry& registry);             // noise contrastive estimation
void RegisterLikelihoodNodes(NodeRegistry& registry);      // GMMLogLikelihood, DummyCriterion
void RegisterShapeNodes(NodeRegistry& registry);           // Slice, TransposeDimensions, Diagonal
void RegisterStackNodes(NodeRegistry& registry);           // RowStack, RowRepeat
void RegisterAlgebraNodes(NodeRegistry& registry);         // KhatriRaoProduct, CosDistance, sums along dimensions
void RegisterReshapeNodes(NodeRegistry& registry);         // Reshape, LegacyReshape, ReconcileDynamicAxis
void RegisterNegativeSamplesNodes(NodeRegistry& registry); // CosDistanceWithNegativeSamples
void RegisterStrideTimesNodes(NodeRegistry& registry);     // StrideTimes
void RegisterRegularizationNodes(NodeRegistry& registry);  // MatrixL1Reg, MatrixL2Reg
void RegisterTraceNodes(NodeRegistry& registry);           // Trace
void RegisterPairNetworkNodes(NodeRegistry& registry);     // PairNetwork, Attention
void RegisterLookupNodes(NodeRegistry& registry);          // LookupTable
void RegisterRandomNodes(NodeRegistry& registry);          // Dropout
void RegisterRecurrentNodes(NodeRegistry& registry);       // PastValue, FutureValue
void RegisterLstmNodes(NodeRegistry& registry);            // LSTM
void RegisterSequenceNodes(NodeRegistry& registry);        // TimeReverse, CRF, SequenceDecoderNode
void RegisterSequenceCriterion(NodeRegistry& registry);    // SequenceWithSoftmax
void RegisterPackingNodes(NodeRegistry& registry);         // Where, PackedIndex, GatherPacked, ScatterPacked
void RegisterConvolutionNodes(NodeRegistry& registry);
void RegisterPoolingNodes(NodeRegistry& registry);
void RegisterBatchNormalizationNodes(NodeRegistry& registry);

const NodeRegistry& NodeRegistry::Standard()
{
    static const NodeRegistry registry = []
    {
        NodeRegistry types;
        RegisterParameterNodes(types);
        RegisterInputNodes(types);
        RegisterElementwiseNodes(types);
        RegisterProductNodes(types);
        RegisterNormalizationNodes(types);
        RegisterCriterionNodes(types);
        RegisterCrossEntropyNodes(types);
        RegisterClassBasedCrossEntropyNodes(types);
        RegisterNceNodes(types);
        RegisterLikelihoodNodes(types);
        RegisterShapeNodes(types);
        RegisterStackNodes(types);
        RegisterAlgebraNodes(types);
        RegisterReshapeNodes(types);
        RegisterNegativeSamplesNodes(types);
        RegisterStrideTimesNodes(types);
        RegisterLookupNodes(types);
        RegisterRegularizationNodes(types);
        RegisterTraceNodes(types);
        RegisterPairNetworkNodes(types);
        RegisterRandomNodes(types);
        RegisterRecurrentNodes(types);
        RegisterLstmNodes(types);
        RegisterSequenceNodes(types);
        RegisterSequenceCriterion(types);
        RegisterPackingNodes(types);
        RegisterConvolutionNodes(types);
        RegisterPoolingNodes(types);
        RegisterBatchNormalizationNodes(types);
        return types;
    }();
    return registry;
}

NodeRegistry::NodeRegistry(const NodeRegistry& other)
{
    for (const NodeType& type : other.m_types)
        Add(type);
}

void NodeRegistry::Add(NodeType type)
{
    m_types.push_back(std::move(type));
    const NodeType& added = m_types.back();
    const auto addName = [&](const std::string& name)
    {
        if (!m_byName.emplace(ToLower(name), &added).second)
            Fail(ErrorKind::Internal, "the node type name '", name, "' is registered twice");
    };
    addName(added.name);
    for (const std::string& alias : added.aliases)
        addName(alias);
}

const NodeType* NodeRegistry::Find(std::string_view name) const
{
    const auto found = m_byName.find(ToLower(name));
    return found == m_byName.end() ? nullptr : found->second;
}

std::vector<std::string> NodeRegistry::NearestNames(std::string_view name) const
{
    std::vector<std::string> names;
    for (const NodeType& type : m_types)
    {
        names.push_back(type.name);
        names.insert(names.end(), type.aliases.begin(), type.aliases.end());
    }
    return cntk::NearestNames(name, names);
}

ComputationNodePtr NodeRegistry::Create(const NodeType& type, std::string name, DataType dataType, Device& device) const
{
    ComputationNodePtr node = type.create();
    node->m_type = &type;
    node->m_name = std::move(name);
    node->m_dataType = dataType;
    node->m_device = &device;
    return node;
}

namespace
{

// Lists types with sparse inputs: "CrossEntropy (labels), SquareError (a or b)". Selects the criteria, or all other
// types.
std::string TypesWithSparseInputs(bool criteria)
{
    std::vector<std::string> types;
    for (const NodeType& type : NodeRegistry::Standard().Types())
        if (type.traits.isCriterion == criteria && !SparseInputs(type).empty())
            types.push_back(Concat(type.name, " (", SparseInputNames(type), ")"));
    std::sort(types.begin(), types.end(), LessIgnoreCase);
    return Join(types, ", ");
}

} // namespace

std::string InputName(const NodeType& type, size_t input)
{
    return type.inputNames.empty() ? Concat("input", input + 1)
                                   : type.inputNames[std::min(input, type.inputNames.size() - 1)];
}

std::vector<size_t> SparseInputs(const NodeType& type)
{
    std::vector<size_t> inputs;
    for (const GradientSample& sample : type.samples)
        for (size_t i = 0; i < sample.inputs.size(); ++i)
            if (sample.inputs[i].sparse && std::find(inputs.begin(), inputs.end(), i) == inputs.end())
                inputs.push_back(i);
    std::sort(inputs.begin(), inputs.end());
    return inputs;
}

std::string SparseInputNames(const NodeType& type, std::string_view separator)
{
    std::vector<std::string> names;
    for (const size_t input : SparseInputs(type))
        names.push_back(InputName(type, input));
    return Join(names, separator);
}

void FailSparseInput(const ComputationNode& node, size_t input, std::string_view condition)
{
    const NodeType& type = node.Type();
    const std::string name = InputName(type, input);
    const std::vector<size_t> sparse = SparseInputs(type);
    constexpr std::string_view makeDense = "make it dense: InputValue in place of SparseInputValue";
    const std::string head = Concat("input '", node.Input(input)->Name(), "' is sparse, but ", type.name);
    if (std::find(sparse.begin(), sparse.end(), input) != sparse.end())
        Fail(ErrorKind::Model, head, " takes sparse values as ", name, " ", condition, "; ", makeDense);
    Fail(ErrorKind::Model, head, " takes dense values as ", name,
         sparse.empty() ? "" : Concat("; only ", SparseInputNames(type), " may be sparse"), "; sparse values go into ",
         type.traits.isCriterion ? "the criteria " : "", TypesWithSparseInputs(type.traits.isCriterion), "; or ",
         makeDense);
}

} // namespace cntk
