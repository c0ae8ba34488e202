// Descriptions of element-wise nodes for code that fuses them: the evaluation plan with the product before them,
// recurrent loops with one another.
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "Math/ElementwiseOps.h"

#include <cstddef>
#include <optional>

namespace cntk
{

// Returns the formula that a node of the element-wise table computes from its inputs; nothing for other nodes.
std::optional<ElementwiseOp> ElementwiseOpOf(const ComputationNode& node);

// ForwardProp or BackpropTo of a node as one element-wise operation over its samples. An operand has as many elements
// per sample as the node. It has the node's layout, or none: then one column stands for all samples.
struct ElementwisePass
{
    struct Operand
    {
        const ComputationNode* node = nullptr;
        bool isGradient = false;
    };

    ElementwiseOp op = ElementwiseOp::Copy;
    double factor = 1; // of the result
    size_t inputCount = 0;
    Operand inputs[2];
    Operand output; // overwritten in the forward pass; added to in the backward pass
};

// Returns nothing for other nodes, and where operands are broadcast in other ways.
std::optional<ElementwisePass> ForwardPassOf(const ComputationNode& node);
// Describes the gradient of an input that has the node's layout.
std::optional<ElementwisePass> BackwardPassOf(const ComputationNode& node, size_t input);

} // namespace cntk
