// The steps of a plan that are computed as a whole instead of node by node: recurrent loops by their products, and
// lookups of words together with the products that read them.
#pragma once

#include "ComputationNetwork/Evaluation/BoundMemory.h"
#include "ComputationNetwork/Evaluation/LookupProducts.h"
#include "ComputationNetwork/Loops/LoopProducts.h"
#include "ComputationNetwork/Plan/EvaluationProgram.h"
#include "Math/Matrix.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace cntk
{

class JoinedSteps
{
public:
    struct Settings
    {
        bool joinLoops = true;                      // false: node by node
        std::vector<ComputationNodePtr> keepValues; // nodes whose values are read, besides the roots
    };

    // All arguments must outlive this object. Loops mark in the program which calls of the backward pass they compute.
    JoinedSteps(const EvaluationPlan& plan, const EvaluationProgram& program,
                const Settings& settings);
    JoinedSteps(const JoinedSteps&) = delete;
    JoinedSteps& operator=(const JoinedSteps&) = delete;

    // Joined step of a forward step; null: the step is not joined.
    LoopProducts* Loop(size_t step) const { return m_loops[step].get(); }
    LookupProducts* Lookup(size_t step) const { return m_lookups[step].get(); }
    // Nodes whose memory the loops bind.
    BoundMemory::Elsewhere BoundElsewhere() const;

    // Call after the nodes' own memory was bound.
    void Bind();
    // Binds only the loops with one of these layouts.
    void BindLoopsOf(const std::vector<const MBLayout*>& layouts);
    void Unbind();
    size_t Bytes() const;

private:
    const EvaluationPlan& m_plan;
    LoopProducts::NodeSet m_wanted;
    Buffer m_panels;                                        // packed weights of the current loop
    std::vector<std::unique_ptr<LoopProducts>> m_loops;     // by step
    std::vector<std::unique_ptr<LookupProducts>> m_lookups; // by step
};

} // namespace cntk
