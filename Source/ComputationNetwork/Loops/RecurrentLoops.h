// Recurrent loops (book 2.6): nodes that depend on one another, stepped in time together.
#pragma once

#include "ComputationNetwork/ComputationNode.h"

#include <optional>
#include <string>
#include <vector>

namespace cntk
{

// Strongly connected components (Tarjan) below the roots, inputs before consumers; the nodes of each in depth-first
// order. Nothing recurses: networks may be thousands of nodes deep.
std::vector<std::vector<ComputationNodePtr>> ComponentsBelow(const std::vector<ComputationNodePtr>& roots);

// More than one node, or a node that is its own input.
bool IsLoop(const std::vector<ComputationNodePtr>& component);

// The loop's nodes in the order of one time step. A loop without a delay is an error (Model) that lists it.
std::vector<ComputationNodePtr> OrderOfOneStep(const std::vector<ComputationNodePtr>& loop);

// Why a loop cannot run, in full sentences that list its nodes, and the node to blame.
struct LoopFault
{
    std::string message;
    const ComputationNode* node = nullptr;
};
// What shows before shapes are known: delays in opposite directions, a node that needs all steps at once.
std::optional<LoopFault> FaultOfStructure(const std::vector<ComputationNodePtr>& loop);
// A delay whose input has other dimensions than the delay gave to the loop; what the delay has is of the pass before.
std::optional<LoopFault> FaultOfShapes(const std::vector<ComputationNodePtr>& loop);
// What shows before shapes are known, and nodes of another layout than the loop's, or of none.
std::optional<LoopFault> FaultOf(const std::vector<ComputationNodePtr>& loop);

} // namespace cntk
