// The steps of a plan that are computed as a whole instead of node by node: recurrent loops by their products, and
// words that are looked up together with the products that read them.
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
        std::vector<ComputationNodePtr> keepValues; // whose values somebody wants besides those of the roots
    };

    // All must outlive this. Loops mark in the program which calls of the backward pass are theirs.
    JoinedSteps(const EvaluationPlan& plan, const MemoryPlan& memory, EvaluationProgram& program,
                const Settings& settings);
    JoinedSteps(const JoinedSteps&) = delete;
    JoinedSteps& operator=(const JoinedSteps&) = delete;

    // By forward step; null: none.
    LoopProducts* Loop(size_t step) const { return m_loops[step].get(); }
    LookupProducts* Lookup(size_t step) const { return m_lookups[step].get(); }
    // Nodes whose memory the loops bind.
    BoundMemory::Elsewhere BoundElsewhere() const;

    // After the nodes' own memory was bound.
    void Bind();
    // The same for loops whose columns are laid out by one of these.
    void BindLoopsOf(const std::vector<const MBLayout*>& layouts);
    void Unbind();
    size_t Bytes() const;

private:
    const EvaluationPlan& m_plan;
    LoopProducts::NodeSet m_wanted;
    Buffer m_panels;                                        // packed weights of the loop at hand
    std::vector<std::unique_ptr<LoopProducts>> m_loops;     // by step
    std::vector<std::unique_ptr<LookupProducts>> m_lookups; // by step
};

} // namespace cntk
