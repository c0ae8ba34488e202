// All node types by name and alias, case-insensitive, and the inputs of a type that may be sparse. Types are registered
// explicitly, family by family (no static initialisers). A program or a test may add its own types
// (Documentation/AddingANode.md).
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/NodeType.h"

#include <cstddef>
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
    // Returns the registry of all built-in types. Families: Nodes/InputNodes.cpp, Nodes/ElementwiseNodes.cpp, ...
    // listed in NodeRegistry.cpp.
    static const NodeRegistry& Standard();
    NodeRegistry() = default;
    // Copies a registry, so that a program or a test can add types: NodeRegistry mine = NodeRegistry::Standard().
    NodeRegistry(const NodeRegistry& other);
    NodeRegistry& operator=(const NodeRegistry&) = delete;

    // Fails (Internal) if the name or an alias exists already.
    void Add(NodeType type);
    template <class Node>
    void Add(NodeType type)
    {
        type.create = [] { return std::make_shared<Node>(); };
        Add(std::move(type));
    }

    const NodeType* Find(std::string_view name) const; // null for an unknown name
    const std::deque<NodeType>& Types() const { return m_types; }
    std::vector<std::string> NearestNames(std::string_view name) const;

    // Creates a node without inputs and sets its element type and device. The name may be empty.
    ComputationNodePtr Create(const NodeType& type, std::string name, DataType dataType, Device& device) const;

private:
    std::deque<NodeType> m_types;                                 // addresses stay valid
    std::map<std::string, const NodeType*, std::less<>> m_byName; // lower case
};

// Returns the input's name in signatures: "labels".
std::string InputName(const NodeType& type, size_t input);

std::vector<size_t> SparseInputs(const NodeType& type);
// Lists the names as "a or b"; empty if no input may be sparse.
std::string SparseInputNames(const NodeType& type, std::string_view separator = " or ");

// Fails with node, input and possible corrections. condition: the restriction under which the input may be sparse:
// "only beside a dense A".
[[noreturn]] void FailSparseInput(const ComputationNode& node, size_t input, std::string_view condition = {});

} // namespace cntk
