// What the evaluation plan asks about element-wise nodes when it fuses them with what stands before them.
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "Math/ElementwiseOps.h"

#include <optional>

namespace cntk
{

// The formula that a node of the element-wise table computes from its inputs; nothing for other nodes.
std::optional<ElementwiseOp> ElementwiseOpOf(const ComputationNode& node);

} // namespace cntk
