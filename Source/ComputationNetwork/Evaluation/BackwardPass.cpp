// Runs the backward steps. Before the first contribution a gradient is zeroed, or the contribution overwrites it; later
// ones add.
#include "ComputationNetwork/Evaluation/BackwardPass.h"

#include "ComputationNetwork/Evaluation/NodeBinder.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "Math/Operations.h"

#include <algorithm>

namespace cntk
{

BackwardPass::BackwardPass(const EvaluationProgram& program, const JoinedSteps& joined)
    : m_program(program), m_joined(joined)
{
}

// Zeroes the input's gradient before the first contribution. For a parameter, zeroes only the touched columns.
void BackwardPass::PrepareGradient(const BackwardCall& call)
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

template <class Add>
void BackwardPass::AddToGradient(const BackwardCall& call, Add&& add)
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

    TouchedColumns& touched = call.input->GradientColumns();
    if (records)
        touched.isRecorded = false;
    else if (call.isParameter)
        touched.all = true;
    add();
    NodeBinder::SetGradientIsFresh(*call.input, false);
    // A node that added without recording makes the gradient dense. A recording node may touch known columns only, or
    // none.
    if (records && !touched.isRecorded)
        touched.all = true;
}

void BackwardPass::RunCall(const BackwardCall& call, const FrameRange& range, Products products)
{
    if (call.isPassedOn)
        return;
    if (auto* const updater = MayUpdate(call) ? Interface<BackpropByUpdates>(*call.node) : nullptr;
        updater != nullptr && updater->BackpropUpdating(call.inputIndex, *m_updates))
        return;
    AddToGradient(call,
                  [&]
                  {
                      const size_t first = m_products.size();
                      auto* const lister =
                          products == Products::AtOnce ? nullptr : Interface<BackpropByProducts>(*call.node);
                      if (lister == nullptr || !lister->ListBackprop(call.inputIndex, m_products))
                          call.node->BackpropTo(call.inputIndex, range);
                      else
                          AddUpdate(call, first);
                  });
}

// Attaches the update to the call's products from `first` on. Together they are the parameter's whole gradient, and
// each computes some of its columns.
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

// Runs the calls of a step. Products wait for others, or for calls that still read the parameter to be updated: those
// for the gradient of the product's other operand.
void BackwardPass::RunCalls(const BackwardStep& step)
{
    const std::span<const BackwardCall> calls = step.calls.Of(m_program.calls);
    bool endsList = false, hasUpdates = false;
    for (const BackwardCall& call : calls)
    {
        const bool waits = !call.isListed && MayUpdateBehind(call);
        RunCall(call, FrameRange::All(), call.isListed || waits ? Products::MayWait : Products::AtOnce);
        endsList = endsList || call.endsList;
        hasUpdates = hasUpdates || waits;
    }
    if (endsList)
        return ComputeProducts();
    for (const BackwardCall& call : calls)
        if (hasUpdates && MayUpdate(call) && !call.isListed)
            ComputeProductsInto(*call.input);
}

void BackwardPass::RunCallInTime(const BackwardCall& call, int direction)
{
    const size_t steps = call.node->GetMBLayout()->TimeSteps();
    BackwardCall once = call;
    for (size_t i = 0; i < steps; i++)
    {
        RunCall(once, FrameRange::Step(direction > 0 ? i : steps - 1 - i), Products::AtOnce);
        once.isFirst = false;
    }
}

void BackwardPass::RunStep(size_t index)
{
    const BackwardStep& step = m_program.backwardSteps[index];
    const size_t forward = m_program.forwardSteps.size() - 1 - index; // backward steps are in reverse order
    LoopProducts* const loop = m_joined.Loop(forward);
    const std::span<const BackwardCall> calls = step.calls.Of(m_program.calls);
    if (step.kind == PlanStep::Kind::Lookup)
        return RunLookup(step, *m_joined.Lookup(forward));
    if (step.kind != PlanStep::Kind::Loop)
    {
        if (!step.stepByStep)
            return RunCalls(step);
        for (const BackwardCall& call : calls)
            RunCallInTime(call, step.direction);
        return;
    }
    if (loop != nullptr && !calls.empty())
        loop->Backward(step.direction);
    else
    {
        for (const ComputationNode* node : step.zeroed.Of(m_program.loopGradients))
            Ops::Fill(node->Gradient(), 0);
        const size_t steps = calls.empty() ? 0 : step.node->GetMBLayout()->TimeSteps();
        for (size_t i = 0; i < steps; i++)
        {
            const FrameRange range = FrameRange::Step(step.direction > 0 ? i : steps - 1 - i);
            for (const BackwardCall& call : calls)
                call.node->BackpropTo(call.inputIndex, range);
        }
    }
    RunCallsAfterLoop(step.callsAfter.Of(m_program.calls), loop);
}

// Computes gradients of the loop's inputs. These calls only read the loop's gradients, so that several small products
// with weights can run together.
void BackwardPass::RunCallsAfterLoop(std::span<const BackwardCall> calls, LoopProducts* loop)
{
    for (const BackwardCall& call : calls)
    {
        ComputeProductsInto(*call.input);
        RunCall(call, FrameRange::All(), Products::MayWait);
    }
    if (loop != nullptr)
        loop->SumBeginnings(m_products);
    ComputeProducts();
    if (loop != nullptr)
        loop->RestoreGradients();
}

// Propagates gradients along the chains to the products. From there on, gradients are those of the distinct words.
void BackwardPass::RunLookup(const BackwardStep& step, LookupProducts& lookup)
{
    lookup.BeginBackward();
    for (const BackwardCall& call : step.calls.Of(m_program.calls))
    {
        ComputeProductsInto(*call.input);
        if (lookup.IsLookup(*call.node))
            AddToGradient(call, [&] { lookup.AddTableGradient(); });
        else if (call.inputIndex == 0 && lookup.IsProduct(*call.node))
            AddToGradient(call,
                          [&]
                          {
                              const size_t first = m_products.size();
                              lookup.ListWeightGradient(*call.node, m_products);
                              AddUpdate(call, first);
                          });
        else
            RunCall(call, FrameRange::All(), Products::AtOnce);
    }
    ComputeProducts();
}

// Computes waiting products before something else is added to the same gradient. The other products keep waiting,
// because the parameters that they update may still be read.
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

} // namespace cntk
