// The forward steps of an evaluation: nodes compute their values, for the whole minibatch, time step by time step, as a
// fused chain or as a whole loop. Memory is bound, and BeginForwardProp of all nodes has run.
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
    // All arguments must outlive the pass. makeLayout is called before a node computes whose layout follows from
    // values.
    ForwardPass(const ComputationNetwork& network, const EvaluationProgram& program, const JoinedSteps& joined,
                std::function<void(ComputationNode&)> makeLayout);

    void RunStep(size_t index);
    // Saves the nodes' state for the next minibatch, after a step that the device repeated.
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
