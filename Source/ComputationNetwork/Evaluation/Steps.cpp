// Plans the backward calls of each step, runs them, and runs nodes, affine chains and nodes in time.
#include "ComputationNetwork/Evaluation/Steps.h"

#include "ComputationNetwork/NodeError.h"
#include "ComputationNetwork/Nodes/ConvolutionNode.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "Math/Operations.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace cntk
{

// ---- planning of the backward calls ----

namespace
{

class CallPlanner
{
public:
    CallPlanner(const EvaluationPlan& plan, const MemoryPlan& memory, bool frameByFrame)
        : m_plan(plan), m_memory(memory), m_frameByFrame(frameByFrame), m_started{plan.BackwardRoot().get()}
    {
    }

    std::vector<StepCalls> Run()
    {
        const std::vector<PlanStep>& steps = m_plan.Steps();
        std::vector<StepCalls> all(steps.size());
        for (size_t i = steps.size(); i-- > 0;)
        {
            if (steps[i].kind == PlanStep::Kind::Loop)
                PlanLoop(steps[i], all[i]);
            else
                for (size_t k = steps[i].nodes.size(); k-- > 0;)
                    AddCalls(
                        *steps[i].nodes[k], steps[i], [](bool) { return true; }, all[i].calls);
        }
        MarkUpdates(all);
        return all;
    }

private:
    bool RunsInTime(const ComputationNode& node) const { return m_frameByFrame && CanRunInTime(node); }

    void PlanLoop(const PlanStep& step, StepCalls& planned)
    {
        for (const ComputationNodePtr& node : step.nodes)
            if (m_plan.NeedsGradient(node.get()) && m_started.insert(node.get()).second)
                planned.zeroed.push_back(node.get());
        for (size_t k = step.nodes.size(); k-- > 0;)
            AddCalls(
                *step.nodes[k], step, [](bool isOfStep) { return isOfStep; }, planned.calls);
        for (size_t k = step.nodes.size(); k-- > 0;)
            AddCalls(
                *step.nodes[k], step, [](bool isOfStep) { return !isOfStep; }, planned.callsAfter);
    }

    // Appends the calls of one node to its inputs. select(true if the input is a node of the step) chooses the inputs.
    template <class Select>
    void AddCalls(ComputationNode& node, const PlanStep& step, Select select, std::vector<BackwardCall>& calls)
    {
        if (!m_plan.NeedsGradient(&node))
            return;
        for (size_t i = 0; i < node.InputCount(); i++)
        {
            ComputationNode& input = *node.Input(i);
            const bool isOfStep = std::find(step.nodes.begin(), step.nodes.end(), node.Input(i)) != step.nodes.end();
            if (!m_plan.NeedsGradient(&input) || !select(isOfStep) ||
                (step.IsGradientFusedAway(0) && &input == step.nodes.front().get()))
                continue;
            const NodeTraits& traits = node.Type().traits;
            calls.push_back({.node = &node,
                             .input = &input,
                             .inputIndex = i,
                             .isFirst = m_started.insert(&input).second,
                             .mayOverwrite = traits.backpropOverwrites && !RunsInTime(node),
                             .isParameter = input.IsTrainableLeaf(),
                             .mayUpdate = false,
                             .isPassedOn = traits.gradientPassesThrough && m_memory.IsGradientAlias(&input)});
        }
    }

    // Marks calls that contribute a parameter's whole gradient, except those made time step by time step.
    void MarkUpdates(std::vector<StepCalls>& all) const
    {
        std::unordered_map<const ComputationNode*, size_t> contributions;
        for (const StepCalls& step : all)
            for (const auto* calls : {&step.calls, &step.callsAfter})
                for (const BackwardCall& call : *calls)
                    contributions[call.input] += RunsInTime(*call.node) ? 2 : 1;
        for (StepCalls& step : all)
            for (auto* calls : {&step.calls, &step.callsAfter})
                for (BackwardCall& call : *calls)
                    call.mayUpdate = call.isParameter && contributions.at(call.input) == 1 && CanUpdate(call);
    }

    static bool CanUpdate(const BackwardCall& call)
    {
        MatrixView gradient;
        gradient.rows = gradient.stride = call.input->ValueRows();
        gradient.columns = call.input->ValueColumns();
        gradient.type = call.input->GetDataType();
        gradient.device = &call.input->GetDevice();
        return call.node->Type().traits.replacesTouchedColumns || Ops::CanUpdateBehind(gradient, SIZE_MAX);
    }

    const EvaluationPlan& m_plan;
    const MemoryPlan& m_memory;
    bool m_frameByFrame;
    std::unordered_set<const ComputationNode*> m_started; // gradients with a contribution
};

} // namespace

bool CanRunInTime(const ComputationNode& node)
{
    return node.HasMBLayout() && !node.Type().traits.isLeaf && !node.Type().traits.needsWholeMinibatch &&
           std::all_of(node.Inputs().begin(), node.Inputs().end(),
                       [&](const ComputationNodePtr& input)
                       { return !input->HasMBLayout() || input->GetMBLayout() == node.GetMBLayout(); });
}

std::vector<StepCalls> PlanBackward(const EvaluationPlan& plan, const MemoryPlan& memory, bool frameByFrame)
{
    if (!plan.BackwardRoot())
        return std::vector<StepCalls>(plan.Steps().size());
    return CallPlanner(plan, memory, frameByFrame).Run();
}

// ---- backward pass ----

void BackwardPass::Begin(bool accumulates, GradientUpdates* updates)
{
    m_accumulates = accumulates;
    m_updates = updates;
}

// Zeroes the input's gradient before the first contribution. For a parameter, zeroes only the touched columns.
void BackwardPass::PrepareGradient(const BackwardCall& call) const
{
    ComputationNode& input = *call.input;
    if (!call.isParameter)
    {
        Ops::Fill(input.Gradient(), 0);
        return;
    }
    TouchedColumns& touched = input.GradientColumns();
    if (touched.all)
        Ops::Fill(input.Gradient(), 0);
    else
        Ops::ZeroColumns(input.Gradient(), touched.columns);
    touched.all = false;
    touched.columns.clear();
}

bool BackwardPass::BeginContribution(const BackwardCall& call)
{
    const NodeTraits& traits = call.node->Type().traits;
    // Products with sparse data touch a few columns of a parameter and record them.
    bool records = call.isParameter && traits.recordsTouchedColumns;
    if (call.isParameter)
        for (const ComputationNodePtr& input : call.node->Inputs())
            records = records || input->IsSparse();
    const bool begins = call.isFirst && !(call.isParameter && m_accumulates);
    if (begins && (records ? traits.replacesTouchedColumns : call.mayOverwrite))
        NodeBinder::SetGradientIsFresh(*call.input, true);
    else if (begins)
        PrepareGradient(call);
    if (records)
        call.input->GradientColumns().isRecorded = false;
    else if (call.isParameter)
        call.input->GradientColumns().all = true;
    return records;
}

void BackwardPass::EndContribution(const BackwardCall& call, bool records)
{
    NodeBinder::SetGradientIsFresh(*call.input, false);
    // A node that added without recording makes the gradient dense. A recording node may touch known columns only, or
    // none.
    TouchedColumns& touched = call.input->GradientColumns();
    if (records && !touched.isRecorded)
        touched.all = true;
}

void BackwardPass::RunCall(const BackwardCall& call, const FrameRange& range, Products products)
{
    if (call.isPassedOn || (MayUpdate(call) && call.node->BackpropUpdating(call.inputIndex, *m_updates)))
        return;
    const bool records = BeginContribution(call);
    const size_t first = m_products.size();
    if (products == Products::AtOnce || !call.node->ListBackprop(call.inputIndex, m_products))
        call.node->BackpropTo(call.inputIndex, range);
    else
        AddUpdate(call, first);
    EndContribution(call, records);
}

// Attaches the update to the call's products. Together they are the parameter's whole gradient, and each computes some
// of its columns.
void BackwardPass::AddUpdate(const BackwardCall& call, size_t first)
{
    const std::span<Product> products = std::span(m_products).subspan(first);
    const auto canUpdate = [](const Product& product)
    {
        const size_t steps = product.transposeA == Ops::Transpose::Yes ? product.a.rows : product.a.columns;
        return Ops::CanUpdateBehind(product.c, steps);
    };
    if (!MayUpdate(call) || !std::all_of(products.begin(), products.end(), canUpdate))
        return;
    const ProductUpdate update = m_updates->UpdateOf(*call.input);
    size_t column = 0;
    for (Product& product : products)
    {
        product.update = update;
        for (MatrixView* view : {&product.update.parameter, &product.update.smoothed})
            if (view->data != nullptr)
                *view = Reshaped(*view, product.c.rows, view->Elements() / product.c.rows)
                            .Columns(column, product.c.columns);
        column += product.c.columns;
    }
}

// Returns true if the call may update the parameter and its product over the minibatch's columns is long enough.
bool BackwardPass::MayUpdateBehind(const BackwardCall& call) const
{
    return MayUpdate(call) && Ops::CanUpdateBehind(call.input->Gradient(), call.node->ValueColumns());
}

// Products that update a parameter wait for calls that still read it: those for the gradient of the product's other
// operand.
void BackwardPass::RunCalls(std::span<const BackwardCall> calls)
{
    bool hasUpdates = false;
    for (const BackwardCall& call : calls)
    {
        const bool waits = MayUpdateBehind(call);
        RunCall(call, FrameRange::All(), waits ? Products::MayWait : Products::AtOnce);
        hasUpdates = hasUpdates || waits;
    }
    if (hasUpdates)
        ComputeProducts();
}

void BackwardPass::RunReadingCalls(std::span<const BackwardCall> calls)
{
    for (const BackwardCall& call : calls)
    {
        ComputeProductsInto(*call.input);
        RunCall(call, FrameRange::All(), Products::MayWait);
    }
    ComputeProducts();
}

void BackwardPass::ComputeProductsInto(const ComputationNode& input)
{
    const MatrixView gradient = input.Gradient();
    const auto others = std::partition(m_products.begin(), m_products.end(),
                                       [&](const Product& product) { return product.c.IsWithin(gradient); });
    Ops::MultiplyAll({m_products.begin(), others});
    m_products.erase(m_products.begin(), others);
}

void BackwardPass::ComputeProducts()
{
    Ops::MultiplyAll(m_products);
    m_products.clear();
}

// ---- steps ----

void Step::EndForward()
{
    for (const ComputationNodePtr& node : m_plan.nodes)
        node->EndForwardProp();
}

void NodeStep::Forward()
{
    ComputationNode& node = *m_plan.nodes.front();
    const auto compute = [&]
    {
        if (node.Type().traits.makesLayout)
            m_makeLayout(node);
        node.ForwardProp(FrameRange::All());
    };
    TellDataErrorsOf(node, compute, [&] { return "while computing " + m_network.Describe(node); });
}

void AffineStep::Forward()
{
    const ComputationNode& product = *m_plan.nodes[0];
    const MatrixView bias = OtherInput(*m_plan.nodes[1], product).Value();
    const MatrixView result = m_plan.nodes.back()->Value();
    if (const auto* convolution = dynamic_cast<const ConvolutionNode*>(&product))
        return convolution->ComputeWithEnding(Reshaped(bias, bias.Elements(), 1), m_plan.activation, result);
    Ops::MultiplyBiasActivate(product.Input(0)->Value(), Ops::Transpose::No, product.Input(1)->Value(), bias,
                              m_plan.activation, result);
}

namespace
{

// Calls run(range) for each time step in this direction.
template <class Run>
void ForEachTimeStep(const ComputationNode& node, int direction, Run&& run)
{
    const size_t steps = node.GetMBLayout()->TimeSteps();
    for (size_t i = 0; i < steps; i++)
        run(FrameRange::Step(direction > 0 ? i : steps - 1 - i));
}

} // namespace

void TimeStep::Forward()
{
    ForEachTimeStep(*m_plan.nodes.front(), m_plan.direction,
                    [&](const FrameRange& range)
                    {
                        for (const ComputationNodePtr& node : m_plan.nodes)
                            node->ForwardProp(range);
                    });
}

void TimeStep::Backward(BackwardPass& pass)
{
    if (m_plan.kind != PlanStep::Kind::Loop)
    {
        for (BackwardCall call : m_calls.calls)
            ForEachTimeStep(*call.node, -m_plan.direction,
                            [&](const FrameRange& range)
                            {
                                pass.RunCall(call, range, BackwardPass::Products::AtOnce);
                                call.isFirst = false;
                            });
        return;
    }
    for (const ComputationNode* node : m_calls.zeroed)
        Ops::Fill(node->Gradient(), 0);
    ForEachTimeStep(*m_plan.nodes.front(), -m_plan.direction,
                    [&](const FrameRange& range)
                    {
                        for (const BackwardCall& call : m_calls.calls)
                            call.node->BackpropTo(call.inputIndex, range);
                    });
    pass.RunReadingCalls(m_calls.callsAfter);
}

} // namespace cntk
