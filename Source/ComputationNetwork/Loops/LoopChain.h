// Element-wise passes of nodes of a recurrent loop that follow one another: a time step runs them as one.
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
    // False, and nothing is added, where the pass is over other rows than those before it.
    bool Add(const ElementwisePass& pass, bool overwrites, const LoopMemory& memory);
    // Whether a value is one that the chain computes.
    bool Computes(const ComputationNode* node) const;
    // Those of one direction, once a minibatch, when the memory of all nodes is bound.
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
