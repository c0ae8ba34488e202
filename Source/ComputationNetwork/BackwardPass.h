// The backward steps of an evaluation: nodes add to the gradients of their inputs, at once, in time, or through a
// loop's products. Memory is bound, and the values are those of the forward pass before.
#pragma once

#include "ComputationNetwork/EvaluationProgram.h"
#include "ComputationNetwork/LoopProducts.h"
#include "Math/ProductList.h"

#include <memory>
#include <span>
#include <vector>

namespace cntk
{

class BackwardPass
{
public:
    // Program and loops (by forward step; null: run node by node) live longer than the pass.
    BackwardPass(const EvaluationProgram& program, std::span<const std::unique_ptr<LoopProducts>> loops);

    // Whether gradients of parameters are added to what the pass before left.
    void SetAccumulates(bool accumulates) { m_accumulates = accumulates; }

    void RunStep(size_t index);

private:
    using BackwardStep = EvaluationProgram::BackwardStep;
    using BackwardCall = EvaluationProgram::BackwardCall;

    void PrepareGradient(const BackwardCall& call);
    void RunCall(const BackwardCall& call, const FrameRange& range, bool isListed = false);
    void RunCallInTime(const BackwardCall& call, int direction);
    void RunCallsAfterLoop(const EvaluationProgram::Range& range);
    void ComputeProducts();

    const EvaluationProgram& m_program;
    std::span<const std::unique_ptr<LoopProducts>> m_loops;
    std::vector<Product> m_products; // that wait to be computed together
    bool m_accumulates = false;
};

} // namespace cntk
