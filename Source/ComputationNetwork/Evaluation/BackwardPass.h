// The backward steps of an evaluation: nodes add to the gradients of their inputs, at once, in time, or through a
// loop's products. Memory is bound, and the values are those of the forward pass before.
#pragma once

#include "ComputationNetwork/Evaluation/GradientUpdates.h"
#include "ComputationNetwork/Evaluation/JoinedSteps.h"
#include "ComputationNetwork/Plan/EvaluationProgram.h"
#include "Math/Products.h"

#include <span>
#include <vector>

namespace cntk
{

class BackwardPass
{
public:
    // Both must outlive the pass.
    BackwardPass(const EvaluationProgram& program, const JoinedSteps& joined);

    // Whether gradients of parameters are added to what the pass before left.
    void SetAccumulates(bool accumulates) { m_accumulates = accumulates; }
    // Who updates parameters in this pass, which then does not accumulate; null: nobody.
    void SetUpdates(GradientUpdates* updates) { m_updates = updates; }

    void RunStep(size_t index);

private:
    using BackwardStep = EvaluationProgram::BackwardStep;
    using BackwardCall = EvaluationProgram::BackwardCall;

    // Whether a call's products may wait in m_products, if only for calls that do not write what they read.
    enum class Products
    {
        AtOnce,
        MayWait
    };

    void PrepareGradient(const BackwardCall& call);
    // Calls add() where the input's gradient is ready for it: GradientBeta is then what it must be.
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
    std::vector<Product> m_products; // that wait to be computed together
    bool m_accumulates = false;
    GradientUpdates* m_updates = nullptr;
};

} // namespace cntk
