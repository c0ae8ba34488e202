// Gradients that a recurrent loop passes on as they are to nodes outside: the sums of an LSTM's gates, whose other
// operand is a product with the loop's input. They are the memory of the loop's own products' gradients instead of a
// copy.
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

// Of one loop.
class LoopGradients
{
public:
    using NodeSet = LoopMemory::NodeSet;

    // callsAfter: those of the loop to nodes outside, of which the ones that need not be made are marked. merged: the
    // loop's products, whose gradients last until the next backward pass.
    void Find(std::span<EvaluationProgram::BackwardCall> callsAfter, const EvaluationPlan& plan,
              const MemoryPlan& memory, const LoopMemory& loop, const NodeSet& merged, const NodeSet& wanted);

    // After the gradients of the loop's products are bound.
    void Bind() const;
    void Unbind() const;
    void AppendBound(BoundMemory::Elsewhere& bound) const;

    // Products with such gradients list what they contribute to their weights, for those of one operand to be computed
    // together. calls: of the whole backward pass.
    void ListProducts(std::span<EvaluationProgram::BackwardCall> calls) const;

private:
    struct Shared
    {
        const ComputationNode* owner = nullptr;
        std::vector<ComputationNode*> others; // outside of the loop
    };
    std::vector<Shared> m_shared;
};

} // namespace cntk
