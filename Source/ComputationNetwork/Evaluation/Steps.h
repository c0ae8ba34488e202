// The steps of a plan as objects, each of which computes its nodes' values and propagates their gradients.
#pragma once

#include "ComputationNetwork/Evaluation/BoundMemory.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "ComputationNetwork/Plan/MemoryPlan.h"
#include "Math/Products.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace cntk
{

// One call of BackpropTo. The first contribution to a gradient zeroes it, or replaces it where the node can.
struct BackwardCall
{
    ComputationNode* node;
    ComputationNode* input;
    size_t inputIndex;
    bool isFirst;      // nothing was added to the input's gradient before
    bool mayOverwrite; // property of the node's type
    bool isParameter;  // the input is one; its gradient may be known to be sparse
    bool mayUpdate;    // the input is a parameter with no other contribution, and the device may update it right after
    bool isPassedOn;   // no call needed: the two gradients share memory
};

// The backward calls of one step.
struct StepCalls
{
    std::vector<BackwardCall> calls;      // loops: calls inside the loop, for each time step
    std::vector<BackwardCall> callsAfter; // loops: contributions to nodes outside, the whole minibatch at once
    std::vector<ComputationNode*> zeroed; // loops: gradients to zero before the first time step
};

// Returns true if a node runs time step by time step although it is in no loop (tests). Nodes whose inputs have other
// time steps cannot.
bool CanRunInTime(const ComputationNode& node);

// Returns the calls of each step of the plan, in the plan's order. Without a backward root there are none.
// frameByFrame: nodes outside of loops run in time if they can.
std::vector<StepCalls> PlanBackward(const EvaluationPlan& plan, const MemoryPlan& memory, bool frameByFrame);

// Runs backward calls. Knows which products wait to be computed together, and who updates parameters.
class BackwardPass
{
public:
    // Says if a call's products may wait. They may wait only for calls that do not write what the products read.
    enum class Products
    {
        AtOnce,
        MayWait
    };

    // accumulates: parameter gradients are added to those of the previous pass. updates: receiver of parameter updates
    // made during this pass, which then does not accumulate; null: no updates.
    void Begin(bool accumulates, GradientUpdates* updates);

    void RunCall(const BackwardCall& call, const FrameRange& range, Products products);
    // Runs the calls of one step for the whole minibatch.
    void RunCalls(std::span<const BackwardCall> calls);
    // Runs calls that only read the gradients of their nodes, so that several small products can run together.
    void RunReadingCalls(std::span<const BackwardCall> calls);

    // For contributions without BackpropTo. BeginContribution prepares the input's gradient and returns true if the
    // contribution records the columns that it touches.
    bool BeginContribution(const BackwardCall& call);
    static void EndContribution(const BackwardCall& call, bool records);
    // Waiting products; the last ones, from `first` on, are the call's. AddUpdate lets them update the parameter.
    std::vector<Product>& Waiting() { return m_products; }
    void AddUpdate(const BackwardCall& call, size_t first);
    // Computes waiting products before something else is added to the same gradient. The other products keep waiting,
    // because the parameters that they update may still be read.
    void ComputeProductsInto(const ComputationNode& input);
    void ComputeProducts();

private:
    void PrepareGradient(const BackwardCall& call) const;
    bool MayUpdate(const BackwardCall& call) const { return call.mayUpdate && m_updates != nullptr; }
    bool MayUpdateBehind(const BackwardCall& call) const;

    std::vector<Product> m_products;
    bool m_accumulates = false;
    GradientUpdates* m_updates = nullptr;
};

// Memory is bound when a step runs. Backward follows Forward of the same minibatch.
class Step
{
public:
    // The plan's step must outlive this object.
    Step(const PlanStep& plan, StepCalls calls) : m_plan(plan), m_calls(std::move(calls)) {}
    virtual ~Step() = default;
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

    // Requires BeginForwardProp of all nodes.
    virtual void Forward() = 0;
    virtual void Backward(BackwardPass& pass) = 0;

    // Memory of the step's own. Bind is called after the nodes' memory was bound. AppendBound lists the values and
    // gradients that Bind binds.
    virtual void Bind() {}
    virtual void AppendBound(BoundMemory::Elsewhere& /*bound*/) const {}
    virtual size_t Bytes() const { return 0; }

    // Saves the nodes' state for the next minibatch.
    void EndForward();
    const PlanStep& Plan() const { return m_plan; }

protected:
    const PlanStep& m_plan;
    StepCalls m_calls;
};

// A node computed for the whole minibatch.
class NodeStep final : public Step
{
public:
    // makeLayout is called before a node computes whose layout follows from values.
    using MakeLayout = std::function<void(ComputationNode&)>;
    NodeStep(const PlanStep& plan, StepCalls calls, const ComputationNetwork& network, MakeLayout makeLayout)
        : Step(plan, std::move(calls)), m_network(network), m_makeLayout(std::move(makeLayout))
    {
    }
    void Forward() override;
    void Backward(BackwardPass& pass) override { pass.RunCalls(m_calls.calls); }

private:
    const ComputationNetwork& m_network;
    MakeLayout m_makeLayout;
};

// A product or a convolution, computed together with its bias and the non-linearity.
class AffineStep final : public Step
{
public:
    using Step::Step;
    void Forward() override;
    void Backward(BackwardPass& pass) override { pass.RunCalls(m_calls.calls); }
};

// Nodes that run one time step after another: a loop node by node, or one node outside of loops (tests).
class TimeStep final : public Step
{
public:
    using Step::Step;
    void Forward() override;
    void Backward(BackwardPass& pass) override;
};

} // namespace cntk
