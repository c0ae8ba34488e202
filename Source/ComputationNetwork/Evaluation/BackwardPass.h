// The backward steps of an evaluation: nodes add to the gradients of their inputs, for the whole minibatch, time step
// by time step, or through the products of a loop. Memory is bound, and the values are those of the preceding forward
// pass.
#pragma once

#include "ComputationNetwork/Evaluation/JoinedSteps.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "ComputationNetwork/Plan/EvaluationProgram.h"
#include "Math/Products.h"

#include <span>
#include <vector>

namespace cntk
{

class BackwardPass
{
public:
    // The program and the joined steps must outlive the pass.
    BackwardPass(const EvaluationProgram& program, const JoinedSteps& joined);

    // If true, parameter gradients are added to those of the previous pass.
    void SetAccumulates(bool accumulates) { m_accumulates = accumulates; }
    // Sets the receiver of parameter updates made during this pass, which then does not accumulate. Null: no updates.
    void SetUpdates(GradientUpdates* updates) { m_updates = updates; }

    void RunStep(size_t index);

private:
    using BackwardStep = EvaluationProgram::BackwardStep;
    using BackwardCall = EvaluationProgram::BackwardCall;

    // Says if a call's products may wait in m_products. They may wait only for calls that do not write what the
    // products read.
    enum class Products
    {
        AtOnce,
        MayWait
    };

    void PrepareGradient(const BackwardCall& call);
    // Calls add() when the input's gradient is prepared and GradientBeta has its proper value.
    template <class Add>
    void AddToGradient(const BackwardCall& call, Add&& add);
    void RunCall(const BackwardCall& call, const FrameRange& range, Products products);
    bool MayUpdate(const BackwardCall& call) const { return call.mayUpdate && m_updates != nullptr; }
    bool MayUpdateBehind(const BackwardCall& call) const;
    void AddUpdate(const BackwardCall& call, size_t first);
    void RunCalls(const BackwardStep& step);
    void RunLookup(const BackwardStep& step, LookupProducts& lookup);
    void ComputeProductsInto(const ComputationNode& input);
    void RunCallInTime(const BackwardCall& call, int direction);
    void RunCallsAfterLoop(std::span<const BackwardCall> calls, LoopProducts* loop);
    void ComputeProducts();

    const EvaluationProgram& m_program;
    const JoinedSteps& m_joined;
    std::vector<Product> m_products; // waiting to be computed together
    bool m_accumulates = false;
    GradientUpdates* m_updates = nullptr;
};

} // namespace cntk
