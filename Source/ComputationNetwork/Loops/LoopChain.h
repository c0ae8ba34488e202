// Consecutive element-wise nodes of a recurrent loop, fused into one operation per time step.
#pragma once

#include "ComputationNetwork/Loops/LoopMemory.h"
#include "ComputationNetwork/Nodes/ElementwiseNodes.h"
#include "Math/ElementwiseChain.h"

#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

namespace cntk
{

class LoopChain
{
public:
    // Adds a pass. Returns false, and adds nothing, if its rows differ from those of the passes before it.
    bool Add(const ElementwisePass& pass, bool overwrites, const LoopMemory& memory);
    // Returns true if the chain computes this value.
    bool Computes(const ComputationNode* node) const;
    // Binds the chains of one direction. Call once a minibatch, when the memory of all nodes is bound.
    static void Bind(std::span<const std::unique_ptr<LoopChain>> chains);
    void Run(size_t firstColumn, size_t columns, size_t firstSequence) const
    {
        Ops::RunChain(m_chain, firstColumn, columns, firstSequence);
    }

private:
    bool BindPlaces();
    void NumberTemporaries(const std::unordered_set<const void*>& own);

    struct Part
    {
        ElementwisePass pass;
        double beta = 0;
    };
    std::vector<Part> m_parts;
    ElementwiseChain m_chain;
};

} // namespace cntk
