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

// copy=all: new nodes are made, existing ones of the same type overwritten. An input that is copied as well is replaced
// by its copy; any other input of an existing node stays, of a new node it is missing. Fails (Model) where types
// differ.
void CopyNodes(const std::vector<NodeCopyPair>& pairs, ComputationNetwork& target);

// copy=value: fields and values only. Nodes that are not there are made, without inputs; their names are returned.
std::vector<std::string> CopyNodeValues(const std::vector<NodeCopyPair>& pairs, ComputationNetwork& target);

} // namespace cntk
