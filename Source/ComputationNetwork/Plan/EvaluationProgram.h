// A plan as flat arrays of raw pointers, so that a minibatch needs no lookups. Forward and Backward iterate over them.
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
    // A range of indices of one of the arrays.
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
        bool isFirst;      // nothing was added to the input's gradient before
        bool mayOverwrite; // property of the node's type
        bool isParameter;  // the input is one; its gradient may be known to be sparse
        bool mayUpdate; // the input is a parameter with no other contribution, and the device may update it right after
        bool isPassedOn; // no call needed: the two gradients share memory
    };

    struct BackwardStep
    {
        PlanStep::Kind kind;
        int direction; // of the loop, backwards
        bool stepByStep;
        ComputationNode* node; // any of the step's; its layout gives the time steps
        Range zeroed;          // loops: in loopGradients, to zero before the first time step
        Range calls;           // in calls; loops: calls inside the loop, for each time step
        Range callsAfter;      // loops: contributions to nodes outside, the whole minibatch at once
    };

    // frameByFrame: runs every node step by step that can be (tests).
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
    // Selects inputs. For a loop: its own nodes, called in each time step, or other nodes, called after the loop.
    enum class Inputs
    {
        All,
        OfTheStep,
        OfOthers
    };
    // Adds the calls of one node of the step to the selected inputs.
    void AddCalls(ComputationNode& node, const PlanStep& step, Inputs inputs);
    void MarkUpdates();

    const EvaluationPlan& m_plan;
    const MemoryPlan& m_memory;
    bool m_frameByFrame;
    std::unordered_set<const ComputationNode*> m_started; // while planning: gradients with a contribution
};

} // namespace cntk
