// A plan as flat arrays of raw pointers, so that a minibatch needs no look-ups: what Forward and Backward walk along.
#pragma once

#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "ComputationNetwork/Plan/MemoryPlan.h"

#include <cstddef>
#include <span>
#include <unordered_set>
#include <vector>

namespace cntk
{

class EvaluationProgram
{
public:
    // A part of one of the arrays.
    struct Range
    {
        size_t begin = 0;
        size_t end = 0;

        template <class Array>
        auto Of(Array& array) const
        {
            return std::span(array).subspan(begin, end - begin);
        }
    };

    struct ForwardStep
    {
        PlanStep::Kind kind;
        ElementwiseOp activation;
        int direction;
        bool stepByStep; // one node, for tests
        Range nodes;     // in forwardNodes
    };

    // One call of BackpropTo. The first contribution to a gradient zeroes it, or replaces it where the node can.
    struct BackwardCall
    {
        ComputationNode* node;
        ComputationNode* input;
        size_t inputIndex;
        bool isFirst;      // nothing was added to the input's gradient yet
        bool mayOverwrite; // of the node's type
        bool isParameter;  // the input is one; its gradient may be known to be sparse
        bool mayUpdate;    // the input is a parameter that no other call adds to, and the device may update it behind
        bool isPassedOn;   // nothing to do: the two gradients are the same memory
        bool isListed;     // outside of loops: a product that can wait for others of its operand,
        bool endsList;     // the last of which this is
    };

    struct BackwardStep
    {
        PlanStep::Kind kind;
        int direction; // of the loop, backwards
        bool stepByStep;
        ComputationNode* node; // any of the step's; its layout gives the time steps
        Range zeroed;          // loops: in loopGradients, to zero before the first time step
        Range calls;           // in calls; loops: those inside, for each time step
        Range callsAfter;      // loops: contributions to nodes outside, the whole minibatch at once
    };

    // frameByFrame: every node that can is run step by step (tests).
    EvaluationProgram(const EvaluationPlan& plan, const MemoryPlan& memory, bool frameByFrame);

    std::vector<ForwardStep> forwardSteps;
    std::vector<ComputationNode*> forwardNodes;
    std::vector<BackwardStep> backwardSteps; // one for each step of the plan: the index is the plan's time
    std::vector<BackwardCall> calls;
    std::vector<ComputationNode*> loopGradients;

private:
    bool StepsInTime(const ComputationNode& node) const;
    void PlanForward();
    void PlanBackward();
    void PlanLoopBackward(const PlanStep& step, BackwardStep& backward);
    // Of a loop those of its own nodes, which are called in each time step, and those of others, called behind it.
    enum class Inputs
    {
        All,
        OfTheStep,
        OfOthers
    };
    // The calls of one node of the step to such inputs.
    void AddCalls(ComputationNode& node, const PlanStep& step, Inputs inputs);
    void MarkUpdates();

    const EvaluationPlan& m_plan;
    const MemoryPlan& m_memory;
    bool m_frameByFrame;
    std::unordered_set<const ComputationNode*> m_started; // while planning: gradients that have a contribution
};

} // namespace cntk
