// The graph: nodes by name, their inputs, and groups of nodes by role (features, labels, criteria, evaluations,
// outputs). Structure only; evaluation is EvaluationPlan, MemoryPlan and Evaluator.
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/Evaluation/DerivedLayouts.h"
#include "ComputationNetwork/NodeRegistry.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class Error;

enum class NodeGroup
{
    Feature,
    Label,
    Criterion,
    Evaluation,
    Output
};
constexpr size_t c_nodeGroups = 5;

class ComputationNetwork
{
public:
    ComputationNetwork(DataType dataType, std::shared_ptr<Device> device,
                       const NodeRegistry& registry = NodeRegistry::Standard());
    ~ComputationNetwork(); // disconnects the nodes: loops would keep each other alive
    ComputationNetwork(const ComputationNetwork&) = delete;
    ComputationNetwork& operator=(const ComputationNetwork&) = delete;

    DataType GetDataType() const { return m_dataType; }
    Device& GetDevice() const { return *m_device; }
    const NodeRegistry& Registry() const { return *m_registry; }

    // ---- building ----
    // Creates a node of a type (name or alias), connects it. An empty name becomes AutoName<N>. Fails (Model) for an
    // unknown type (near names), a name in use, a wrong number of inputs.
    ComputationNodePtr Add(std::string_view typeName, std::string name, std::vector<ComputationNodePtr> inputs = {},
                           const NodeParameters& parameters = {});
    template <class Node>
    std::shared_ptr<Node> Add(std::string_view typeName, std::string name, std::vector<ComputationNodePtr> inputs = {},
                              const NodeParameters& parameters = {})
    {
        return std::dynamic_pointer_cast<Node>(Add(typeName, std::move(name), std::move(inputs), parameters));
    }
    // Without inputs, for loops and files that list nodes before their links; SetInputs must follow before Validate.
    ComputationNodePtr AddUnconnected(std::string_view typeName, std::string name,
                                      const NodeParameters& parameters = {});
    ComputationNodePtr AddParameter(std::string name, const TensorShape& shape);
    ComputationNodePtr AddInput(std::string name, const TensorShape& sampleShape, bool sparse = false);

    // ---- looking ----
    ComputationNodePtr Find(std::string_view name) const;                        // any case; null if there is none
    ComputationNodePtr Require(std::string_view name) const;                     // fails with near names
    std::vector<ComputationNodePtr> FindPattern(std::string_view pattern) const; // "L1.*", "*.W", in name order
    // In case-insensitive alphabetical order of names, as model files have them.
    std::vector<ComputationNodePtr> Nodes() const;
    std::vector<std::string> NearestNames(std::string_view name) const;
    size_t size() const { return m_nodes.size(); }

    // ---- editing ----
    void Rename(const ComputationNodePtr& node, std::string newName);
    // Consumers keep an empty input, which SetInput must fill before the next Validate. Leaves all groups.
    void Delete(const ComputationNodePtr& node);
    void Delete(const std::vector<ComputationNodePtr>& nodes); // in one pass over the network
    void SetInput(const ComputationNodePtr& node, size_t index, ComputationNodePtr input);
    void SetInputs(const ComputationNodePtr& node, std::vector<ComputationNodePtr> inputs);
    // The same, but inputs may be missing (null); SetInput must fill them before the next Validate.
    void SetPartialInputs(const ComputationNodePtr& node, std::vector<ComputationNodePtr> inputs);
    // A PairNetwork node takes its value from a node of another network from now on, and gives it the gradient. The
    // other network must stay as long as this one is evaluated; a model file is written as if nothing were paired.
    // Validate both, the other one first. Fails (Model) where the dimensions differ.
    void Pair(const ComputationNodePtr& node, ComputationNetwork& other, const ComputationNodePtr& source);
    // All other consumers of old, and the groups, take the replacement instead. Old stays in the network.
    void Replace(const ComputationNodePtr& old, const ComputationNodePtr& replacement);

    // ---- groups ----
    const std::vector<ComputationNodePtr>& Group(NodeGroup group) const { return m_groups[size_t(group)]; }
    void AddToGroup(NodeGroup group, const ComputationNodePtr& node); // once
    void AddToGroup(NodeGroup group, const std::vector<ComputationNodePtr>& nodes);
    void RemoveFromGroup(NodeGroup group, const ComputationNodePtr& node);
    void RemoveFromGroup(NodeGroup group, const std::vector<ComputationNodePtr>& nodes);

    // ---- validation ----
    // Loops, shapes to a fixed point, then the checking pass; errors name the node, its type, inputs and their shapes.
    // Who made the network may explain more before the error goes on: it is told the node, and the loop if that is
    // what is wrong, and may throw an error of its own.
    using ExplainInvalid =
        std::function<void(Error& error, const ComputationNode& node, const std::vector<ComputationNodePtr>& loop)>;
    void Validate(const ExplainInvalid& explain = {});
    // All that Validate would fail for, if what it fails for first were mended. Nodes that lack inputs, or whose inputs
    // are invalid, are passed over. Shapes are undefined afterwards unless there is none.
    struct InvalidNode
    {
        std::shared_ptr<const ComputationNode> node;
        std::string message;
    };
    std::vector<InvalidNode> FindInvalidNodes();
    // The layout that inputs of a dynamic axis share ("" is the default axis).
    const MBLayoutPtr& Layout(const std::string& dynamicAxis = "") const;
    // Once a minibatch, when the layouts of the data are known: one that may be made of them.
    void UpdateLayout(const MBLayout& layout)
    {
        m_derivedLayouts.Update(layout);
        for (ComputationNetwork* other : m_pairedWith)
            other->UpdateLayout(layout);
    }
    // "h = Times(W [50 x 2], x [2 x *])": a node, its type, its inputs with their shapes and layouts.
    std::string Describe(const ComputationNode& node) const;
    // "[2 x *]": * stands for the minibatch, "*axis" for one of a named dynamic axis.
    std::string DescribeShape(const ComputationNode& node) const;
    // Nodes nobody consumes, criteria, evaluation and output nodes, and precomputed ones, by name.
    std::vector<ComputationNodePtr> Roots() const;
    // Nodes below the roots in depth-first order, inputs left to right and before consumers (loops: cut somewhere).
    static std::vector<ComputationNodePtr> Below(const std::vector<ComputationNodePtr>& roots);

    // Grows with every change of structure; plans are cached by it.
    uint64_t StructureVersion() const { return m_structureVersion; }
    // Whose memory the nodes are bound to: several evaluators may take turns on one network.
    const void* BoundBy() const { return m_boundBy; }
    void SetBoundBy(const void* evaluator) { m_boundBy = evaluator; }

private:
    class Validation; // ShapeInference.cpp
    void CheckOwned(const ComputationNodePtr& node) const;
    void CheckInputs(const NodeType& type, const std::string& name,
                     const std::vector<ComputationNodePtr>& inputs) const;

    DataType m_dataType;
    std::shared_ptr<Device> m_device;
    const NodeRegistry* m_registry;
    std::map<std::string, ComputationNodePtr, std::less<>> m_nodes; // key: lower case
    std::array<std::vector<ComputationNodePtr>, c_nodeGroups> m_groups;
    mutable std::map<std::string, MBLayoutPtr> m_layouts;
    DerivedLayouts m_derivedLayouts;
    std::vector<ComputationNetwork*> m_pairedWith;
    uint64_t m_structureVersion = 0;
    size_t m_autoNames = 0;
    const void* m_boundBy = nullptr;
};

} // namespace cntk
