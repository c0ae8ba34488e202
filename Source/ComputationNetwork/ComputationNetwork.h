// The graph: nodes by name, their inputs, and groups of nodes by role (features, labels, criteria, evaluations,
// outputs). Holds structure only; EvaluationPlan, MemoryPlan and Evaluator evaluate it.
#pragma once

#include "Common/MBLayout.h"
#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/NodeRegistry.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class DerivedLayouts
{
public:
    // Returns a layout with multiply / divide times as many steps as the source, which may be derived itself. Reversing
    // a change returns the original layout.
    MBLayoutPtr Get(const MBLayoutPtr& source, size_t multiply, size_t divide);
    // Updates a derived layout if its source has changed. Call once a minibatch for each layout in use. Fails (Data) if
    // the frames of a sequence cannot be divided into groups of the requested size.
    void Update(const MBLayout& layout);
    // Deletes layouts without users.
    void RemoveUnused();

private:
    struct Entry
    {
        MBLayoutPtr source;
        size_t multiply = 1;
        size_t divide = 1;
        MBLayoutPtr layout;
        uint64_t sourceVersion = UINT64_MAX;
        uint64_t sourcePass = 0;
        uint64_t sourceMinibatch = 0;
    };
    std::vector<Entry> m_entries;
};

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
    // Creates a node of a type (name or alias) and connects it to its inputs. An empty name becomes AutoName<N>. Fails
    // (Model) for an unknown type (suggesting similar names), a name in use, or a wrong number of inputs.
    ComputationNodePtr Add(std::string_view typeName, std::string name, std::vector<ComputationNodePtr> inputs = {},
                           const NodeParameters& parameters = {});
    template <class Node>
    std::shared_ptr<Node> Add(std::string_view typeName, std::string name, std::vector<ComputationNodePtr> inputs = {},
                              const NodeParameters& parameters = {})
    {
        return std::dynamic_pointer_cast<Node>(Add(typeName, std::move(name), std::move(inputs), parameters));
    }
    // Creates a node without inputs, for loops and files that list nodes before their links. SetInputs must follow
    // before Validate.
    ComputationNodePtr AddUnconnected(std::string_view typeName, std::string name,
                                      const NodeParameters& parameters = {});
    ComputationNodePtr AddParameter(std::string name, const TensorShape& shape);
    ComputationNodePtr AddInput(std::string name, const TensorShape& sampleShape, bool sparse = false);

    // ---- lookup ----
    ComputationNodePtr Find(std::string_view name) const;    // ignores case; null if no such node exists
    ComputationNodePtr Require(std::string_view name) const; // fails with similar names
    std::vector<ComputationNodePtr> FindPattern(std::string_view pattern) const; // "L1.*", "*.W", in name order
    // Returns the nodes in case-insensitive alphabetical order of names, the order of model files.
    std::vector<ComputationNodePtr> Nodes() const;
    std::vector<std::string> NearestNames(std::string_view name) const;
    size_t size() const { return m_nodes.size(); }

    // ---- editing ----
    void Rename(const ComputationNodePtr& node, std::string newName);
    // Removes the node from the network and all groups. Its consumers keep an empty input, which SetInput must fill
    // before the next Validate.
    void Delete(const ComputationNodePtr& node);
    void Delete(const std::vector<ComputationNodePtr>& nodes); // in one pass over the network
    void SetInput(const ComputationNodePtr& node, size_t index, ComputationNodePtr input);
    void SetInputs(const ComputationNodePtr& node, std::vector<ComputationNodePtr> inputs);
    // Like SetInputs, but inputs may be missing (null). SetInput must fill them before the next Validate.
    void SetPartialInputs(const ComputationNodePtr& node, std::vector<ComputationNodePtr> inputs);
    // Pairs a PairNetwork node with a node of another network: it takes its value from that node and gives it the
    // gradient. The other network must live as long as this one is evaluated. Model files ignore the pairing. Validate
    // both networks, the other one first. Fails (Model) if the dimensions differ.
    void Pair(const ComputationNodePtr& node, ComputationNetwork& other, const ComputationNodePtr& source);
    // Makes all other consumers of `old`, and the groups, refer to the replacement. `old` stays in the network.
    void Replace(const ComputationNodePtr& old, const ComputationNodePtr& replacement);

    // ---- groups ----
    const std::vector<ComputationNodePtr>& Group(NodeGroup group) const { return m_groups[size_t(group)]; }
    void AddToGroup(NodeGroup group, const ComputationNodePtr& node); // a node is added only once
    void AddToGroup(NodeGroup group, const std::vector<ComputationNodePtr>& nodes);
    void RemoveFromGroup(NodeGroup group, const ComputationNodePtr& node);
    void RemoveFromGroup(NodeGroup group, const std::vector<ComputationNodePtr>& nodes);

    // ---- validation ----
    // Finds the loops, infers shapes until they no longer change, then checks them. Errors name the node, its type, its
    // inputs and their shapes. `explain` lets the network's creator add to an error before it is rethrown, or throw its
    // own. It receives the node, and the loop if a loop is at fault.
    using ExplainInvalid =
        std::function<void(Error& error, const ComputationNode& node, const std::vector<ComputationNodePtr>& loop)>;
    void Validate(const ExplainInvalid& explain = {});
    // Returns the layout that inputs of a dynamic axis share ("" is the default axis).
    const MBLayoutPtr& Layout(const std::string& dynamicAxis = "") const;
    // Updates the layouts derived from this one. Call once a minibatch, when the layouts of the data are known.
    void UpdateLayout(const MBLayout& layout)
    {
        m_derivedLayouts.Update(layout);
        for (ComputationNetwork* other : m_pairedWith)
            other->UpdateLayout(layout);
    }
    // Describes a node, its type and its inputs with shapes and layouts: "h = Times(W [50 x 2], x [2 x *])".
    std::string Describe(const ComputationNode& node) const;
    // Describes a shape: "[2 x *]". A star is the minibatch, "*axis" that of a named dynamic axis.
    std::string DescribeShape(const ComputationNode& node) const;
    // Returns nodes without consumers, criteria, evaluation and output nodes, and precomputed nodes, by name.
    std::vector<ComputationNodePtr> Roots() const;
    // Returns the nodes below the roots in depth-first order, inputs left to right and before consumers. Loops are cut
    // at an arbitrary place.
    static std::vector<ComputationNodePtr> Below(const std::vector<ComputationNodePtr>& roots);

    // Increases with every change of structure. Cached plans are valid for one version.
    uint64_t StructureVersion() const { return m_structureVersion; }
    // The evaluator to whose memory the nodes are bound: several evaluators may take turns on one network.
    const void* BoundBy() const { return m_boundBy; }
    void SetBoundBy(const void* evaluator) { m_boundBy = evaluator; }

private:
    class Validation; // Plan/Validation.cpp
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

// Returns true for "unnamed3" or "L1.unnamed3" of an NDL network and "AutoName7" of others. In two networks such a name
// need not mean the same node.
bool IsGeneratedName(std::string_view name);

} // namespace cntk
