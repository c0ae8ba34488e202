// Gradients that a recurrent loop passes unchanged to nodes outside: those of the sums of an LSTM's gates, whose other
// operand is a product with the loop's input. They share the memory of the gradients of the loop's own products instead
// of being copied.
#pragma once

#include "ComputationNetwork/Evaluation/BoundMemory.h"
#include "ComputationNetwork/Loops/LoopMemory.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "ComputationNetwork/Plan/EvaluationProgram.h"
#include "ComputationNetwork/Plan/MemoryPlan.h"

#include <span>
#include <unordered_set>
#include <vector>

namespace cntk
{

// The shared gradients of one loop.
class LoopGradients
{
public:
    using NodeSet = LoopMemory::NodeSet;

    // Finds the gradients to share and marks the calls that become unnecessary. callsAfter: calls of the loop that add
    // to nodes outside. merged: the loop's products, whose gradients last until the next backward pass.
    void Find(std::span<EvaluationProgram::BackwardCall> callsAfter, const EvaluationPlan& plan,
              const MemoryPlan& memory, const LoopMemory& loop, const NodeSet& merged, const NodeSet& wanted);

    // Call after the gradients of the loop's products are bound.
    void Bind() const;
    void Unbind() const;
    void AppendBound(BoundMemory::Elsewhere& bound) const;

    // Marks products with shared gradients as listed, so that the contributions to weights with the same operand are
    // computed together. calls: of the whole backward pass.
    void ListProducts(std::span<EvaluationProgram::BackwardCall> calls) const;

private:
    struct Shared
    {
        const ComputationNode* owner = nullptr;
        std::vector<ComputationNode*> others; // outside the loop
    };
    std::vector<Shared> m_shared;
};

} // namespace cntk
