// The forward steps of an evaluation: nodes compute their values, at once, in time, as a fused chain or as a whole
// loop. Memory is bound, and nodes have been told that the pass begins.
#pragma once

#include "ComputationNetwork/Evaluation/JoinedSteps.h"
#include "ComputationNetwork/Plan/EvaluationProgram.h"

#include <cstddef>
#include <functional>
#include <span>

namespace cntk
{

class ForwardPass
{
public:
    // All must outlive the pass. makeLayout: called with a node whose layout follows from values, before it computes.
    ForwardPass(const ComputationNetwork& network, const EvaluationProgram& program, const JoinedSteps& joined,
                std::function<void(ComputationNode&)> makeLayout);

    void RunStep(size_t index);
    // Of a step that the device repeats: only what its nodes keep of the minibatch for the next one.
    void EndStep(size_t index);

private:
    void RunNode(ComputationNode& node);
    void RunInTime(std::span<ComputationNode* const> nodes, int direction);

    const ComputationNetwork& m_network;
    const EvaluationProgram& m_program;
    const JoinedSteps& m_joined;
    std::function<void(ComputationNode&)> m_makeLayout;
};

} // namespace cntk
