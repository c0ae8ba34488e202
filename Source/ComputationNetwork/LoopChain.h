// Element-wise passes of nodes of a recurrent loop that follow one another: a time step runs them as one.
#pragma once

#include "ComputationNetwork/LoopMemory.h"
#include "ComputationNetwork/Nodes/ElementwiseNodes.h"
#include "Math/ElementwiseChain.h"

#include <vector>

namespace cntk
{

class LoopChain
{
public:
    // False, and nothing is added, where the pass is over other rows than those before it.
    bool Add(const ElementwisePass& pass, bool overwrites, const LoopMemory& memory);
    // Once a minibatch, when the memory of all nodes is bound.
    void Bind();
    void Run(size_t firstColumn, size_t columns, size_t firstSequence) const
    {
        Ops::RunChain(m_chain, firstColumn, columns, firstSequence);
    }

private:
    struct Part
    {
        ElementwisePass pass;
        double beta = 0;
    };
    std::vector<Part> m_parts;
    ElementwiseChain m_chain;
};

} // namespace cntk
