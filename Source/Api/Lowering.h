// Lowers the graph below some roots to a ComputationNetwork: loops are closed, open shapes determined, names made
// unique, and the values of parameters shared.
#pragma once

#include "Api/Operation.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cntk::Api
{

enum class Naming
{
    ForMessages, // names as in the graph; unnamed nodes have their numbers
    ForFiles     // identifiers: unnamed nodes are called after their type
};

class LoweredNetwork
{
public:
    // Validates the network. Publishes the shapes of nodes that were open until now. Fails (Model) if a delay names a
    // node that does not exist below the roots, or if a placeholder has not been replaced.
    LoweredNetwork(Context& context, const std::vector<NodePtr>& roots, Naming naming = Naming::ForMessages);
    LoweredNetwork(LoweredNetwork&&) = default;
    LoweredNetwork& operator=(LoweredNetwork&&) = default;

    ComputationNetwork& Network() const { return *m_network; }
    const std::shared_ptr<Device>& GetDevice() const { return m_device; }
    // Returns the engine's node of a node below the roots.
    const ComputationNodePtr& At(const Node& node) const { return m_lowered.at(&node); }
    // Nodes below the roots, inputs before consumers.
    const std::vector<NodePtr>& Nodes() const { return m_nodes; }
    // True if a delay names its target: another node may bear the name later.
    bool HasNamedLoops() const { return m_hasNamedLoops; }
    // Names that the file cannot keep, as "old -> new".
    const std::vector<std::string>& ChangedNames() const { return m_changedNames; }
    // Gives the network away. At stays valid for nodes that live.
    std::unique_ptr<ComputationNetwork> TakeNetwork() { return std::move(m_network); }

private:
    void FindTargets();
    void DetermineShapes(Context& context);
    void LowerLeaf(const Node& leaf);
    void LowerOperation(const Node& node);
    void ConnectDelays();
    void NameNodes(Naming naming);
    const ValueType& TypeOf(const Node& node) const;
    std::vector<OperandType> OperandsOf(const Node& node) const;
    std::string EngineAxis(const std::string& axis);

    std::shared_ptr<Device> m_device;
    std::unique_ptr<ComputationNetwork> m_network;
    std::unique_ptr<NetworkWriter> m_writer;
    std::vector<NodePtr> m_nodes;
    std::unordered_map<const Node*, ComputationNodePtr> m_lowered;
    // Further nodes that operations needed, and the operations' nodes, after which messages call them.
    std::vector<std::pair<ComputationNodePtr, const Node*>> m_intermediate;
    std::unordered_map<const Node*, NodePtr> m_targets; // of delays
    std::unordered_map<const Node*, ValueType> m_types; // of nodes that were open
    std::unordered_map<std::string, ComputationNodePtr> m_axes;
    std::vector<std::string> m_changedNames;
    bool m_hasDefaultAxis = false;
    bool m_hasNamedLoops = false;
};

// Checks the graph below a node with open operands if all its loops can be closed now. Then the nodes get their shapes.
// Otherwise does nothing.
void CloseLoops(Context& context, const NodePtr& node);

} // namespace cntk::Api
