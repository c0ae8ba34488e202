// What others ask about element-wise nodes when they run them together with others: the evaluation plan with the
// product before them, recurrent loops with one another.
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "Math/ElementwiseOps.h"

#include <cstddef>
#include <optional>

namespace cntk
{

// The formula that a node of the element-wise table computes from its inputs; nothing for other nodes.
std::optional<ElementwiseOp> ElementwiseOpOf(const ComputationNode& node);

// What ForwardProp or BackpropTo of a node does, where that is one operation over the elements of the node's samples.
// Operands have as many elements a sample as the node and its layout, or none: then one column stands for all samples.
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
    Operand output; // replaced in the forward pass; the gradient is added
};

// Nothing for other nodes, and where operands are repeated in other ways.
std::optional<ElementwisePass> ForwardPassOf(const ComputationNode& node);
// Of the gradient of an input that has the node's layout.
std::optional<ElementwisePass> BackwardPassOf(const ComputationNode& node, size_t input);

} // namespace cntk
