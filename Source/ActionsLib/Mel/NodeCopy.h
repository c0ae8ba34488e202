// Copies nodes within a network or from one to another: their fields and values, and the links among them.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <string>
#include <vector>

namespace cntk
{

// A node and the name of its copy.
struct NodeCopyPair
{
    ComputationNodePtr from;
    std::string to;
};

// Implements copy=all: creates new nodes and overwrites existing nodes of the same type. An input that is copied too is
// replaced by its copy. Any other input stays as it was in an existing node and is missing in a new node. Fails (Model)
// if types differ.
void CopyNodes(const std::vector<NodeCopyPair>& pairs, ComputationNetwork& target);

// Implements copy=value: copies fields and values only. Creates missing nodes without inputs and returns their names.
std::vector<std::string> CopyNodeValues(const std::vector<NodeCopyPair>& pairs, ComputationNetwork& target);

} // namespace cntk
