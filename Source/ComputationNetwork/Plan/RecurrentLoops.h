// Recurrent loops (book 2.6): nodes that depend on one another and are computed time step by time step together.
#pragma once

#include "ComputationNetwork/ComputationNode.h"

#include <optional>
#include <string>
#include <vector>

namespace cntk
{

// Returns the strongly connected components (Tarjan) below the roots, inputs before consumers, and the nodes of each in
// depth-first order. Uses no recursion: networks may be thousands of nodes deep.
std::vector<std::vector<ComputationNodePtr>> ComponentsBelow(const std::vector<ComputationNodePtr>& roots);

// Returns true for more than one node, or a node that is its own input.
bool IsLoop(const std::vector<ComputationNodePtr>& component);

// Returns the loop's nodes in the order of one time step. Fails (Model), listing the nodes, if the loop has no delay.
std::vector<ComputationNodePtr> OrderOfOneStep(const std::vector<ComputationNodePtr>& loop);

// The reason why a loop cannot run, in full sentences that list its nodes, and the node at fault.
struct LoopFault
{
    std::string message;
    const ComputationNode* node = nullptr;
};
// Finds faults that need no shapes: delays in opposite directions, a node that needs all steps at once.
std::optional<LoopFault> FaultOfStructure(const std::vector<ComputationNodePtr>& loop);
// Finds a delay whose input has other dimensions than the delay gave to the loop. The delay's dimensions are those of
// the previous pass.
std::optional<LoopFault> FaultOfShapes(const std::vector<ComputationNodePtr>& loop);
// Finds faults that need no shapes, and nodes with another layout than the loop's, or without one.
std::optional<LoopFault> FaultOf(const std::vector<ComputationNodePtr>& loop);

} // namespace cntk
