// All node types by name and alias, in any case. Made explicitly, family by family (no static initialisers); a program
// or a test may add types of its own (Documentation/AddingANode.md).
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/NodeType.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class NodeRegistry
{
public:
    // Every type of the product. Families: Nodes/InputNodes.cpp, Nodes/ElementwiseNodes.cpp, ... one line each in
    // NodeRegistry.cpp.
    static const NodeRegistry& Standard();
    NodeRegistry() = default;
    // A copy to which a program or a test may add types: NodeRegistry mine = NodeRegistry::Standard().
    NodeRegistry(const NodeRegistry& other);
    NodeRegistry& operator=(const NodeRegistry&) = delete;

    // Fails (Internal) when a name or alias exists already.
    void Add(NodeType type);
    template <class Node>
    void Add(NodeType type)
    {
        type.create = [] { return std::make_shared<Node>(); };
        Add(std::move(type));
    }

    const NodeType* Find(std::string_view name) const; // null if there is none
    const std::deque<NodeType>& Types() const { return m_types; }
    std::vector<std::string> NearestNames(std::string_view name) const;
    // What to tell who names a type that the original has and this program does not; empty for all other names.
    static std::string WhyMissing(std::string_view name);

    // A node without inputs, element type and device set. The name may be empty.
    ComputationNodePtr Create(const NodeType& type, std::string name, DataType dataType, Device& device) const;

private:
    std::deque<NodeType> m_types;                                 // addresses stay valid
    std::map<std::string, const NodeType*, std::less<>> m_byName; // lower case
};

void RegisterParameterNodes(NodeRegistry& registry);
void RegisterInputNodes(NodeRegistry& registry);
void RegisterElementwiseNodes(NodeRegistry& registry);
void RegisterProductNodes(NodeRegistry& registry);
void RegisterNormalizationNodes(NodeRegistry& registry); // Softmax family, statistics, PerDimMeanVarNormalization
void RegisterCriterionNodes(NodeRegistry& registry);
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
void RegisterPackingNodes(NodeRegistry& registry);         // Where, PackedIndex, GatherPacked, ScatterPacked
void RegisterConvolutionNodes(NodeRegistry& registry);
void RegisterPoolingNodes(NodeRegistry& registry);
void RegisterBatchNormalizationNodes(NodeRegistry& registry);

} // namespace cntk
