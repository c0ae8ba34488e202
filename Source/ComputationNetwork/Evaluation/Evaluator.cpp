// Runs a plan: flat arrays of steps with raw pointers, made once; memory is bound anew only when a minibatch has
// another number of columns or another evaluator ran in between (BoundMemory).
#include "ComputationNetwork/Evaluation/Evaluator.h"

#include "Common/Error.h"
#include "ComputationNetwork/Evaluation/BackwardPass.h"
#include "ComputationNetwork/Evaluation/BoundMemory.h"
#include "ComputationNetwork/Evaluation/LookupProducts.h"
#include "ComputationNetwork/Evaluation/NodeBinder.h"
#include "ComputationNetwork/Evaluation/StepCounters.h"
#include "ComputationNetwork/Evaluation/StepKey.h"
#include "ComputationNetwork/Loops/LoopProducts.h"
#include "ComputationNetwork/NodeError.h"
#include "ComputationNetwork/Nodes/ConvolutionNode.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "ComputationNetwork/Plan/EvaluationProgram.h"
#include "Math/Operations.h"
#include "Math/RepeatedWork.h"

#include <algorithm>
#include <optional>

namespace cntk
{

namespace
{

using ForwardStep = EvaluationProgram::ForwardStep;

bool Contains(const std::vector<const MBLayout*>& layouts, const ComputationNode& node)
{
    return std::find(layouts.begin(), layouts.end(), node.GetMBLayout().get()) != layouts.end();
}

// Whether the node's columns, or those of an input, are laid out by one of the layouts.
bool DependsOn(const ComputationNode& node, const std::vector<const MBLayout*>& layouts)
{
    return Contains(layouts, node) ||
           std::any_of(node.Inputs().begin(), node.Inputs().end(),
                       [&](const ComputationNodePtr& input) { return Contains(layouts, *input); });
}

} // namespace

struct Evaluator::Impl
{
    Impl(ComputationNetwork& network, std::vector<ComputationNodePtr> roots, const EvaluatorOptions& options);
    ~Impl();

    void Bind();
    void MakeLayout(ComputationNode& maker);
    void CheckInputs() const;

    bool IsReadAsSparse(const InputValueNode& input) const;
    void PlanLoops();
    void RunForward(size_t index);
    void RunFused(ComputationNode* const* nodes, size_t count, ElementwiseOp activation);
    void Forward();
    void Backward(const ComputationNodePtr& root, bool accumulate, GradientUpdates* updates);

    // The work of Forward and of Backward, which a device may record and repeat.
    class ForwardWork;
    class BackwardWork;
    void NoteWhatCannotBeRepeated();
    void RunForwardSteps();
    void RepeatForwardSteps();
    void RunBackwardSteps();

    ComputationNetwork& m_network;
    EvaluatorOptions m_options;
    EvaluationPlan m_plan;
    MemoryPlan m_memory;
    uint64_t m_structureVersion;
    std::vector<ComputationNodePtr> m_nodes;
    std::vector<const MBLayout*> m_layoutsToMake; // by nodes whose turn has not come yet

    std::unique_ptr<EvaluationProgram> m_program;
    LoopProducts::NodeSet m_wanted;
    Buffer m_loopPanels;                                    // packed weights of the loop at hand
    std::vector<std::unique_ptr<LoopProducts>> m_loops;     // by step; null: no loop, or run node by node
    std::vector<std::unique_ptr<LookupProducts>> m_lookups; // by step; null: none

    std::optional<BackwardPass> m_backwardPass;
    std::optional<BoundMemory> m_bound;
    std::vector<InputValueNode*> m_inputs;
    std::vector<InputValueNode*> m_inputsReadAsSparse; // of dense inputs those of which nobody reads the dense form
    std::vector<std::shared_ptr<LearnableParameterNode>> m_parameters;
    bool m_isBound = false;

    std::optional<StepKey> m_key;
    std::vector<uint64_t>* m_lastKey = nullptr; // of the last Forward
    std::vector<uint64_t> m_backwardKey;
    std::optional<RepeatedWork> m_forwardWork;
    std::optional<RepeatedWork> m_backwardWork;
    std::optional<StepCounters> m_counters; // where the device repeats the forward pass
};

class Evaluator::Impl::ForwardWork final : public RepeatedWork::Steps
{
public:
    explicit ForwardWork(Impl& evaluator) : m_evaluator(evaluator) {}

    void Run() override { m_evaluator.RunForwardSteps(); }
    void Repeat() override { m_evaluator.RepeatForwardSteps(); }
    void Save() override { m_evaluator.m_counters->Save(); }
    void Restore() override { m_evaluator.m_counters->Restore(); }

private:
    Impl& m_evaluator;
};

class Evaluator::Impl::BackwardWork final : public RepeatedWork::Steps
{
public:
    explicit BackwardWork(Impl& evaluator) : m_evaluator(evaluator) {}

    void Run() override { m_evaluator.RunBackwardSteps(); }
    void Repeat() override {}
    // What gradients hold is not known after an attempt that ended midway.
    void Restore() override
    {
        for (const auto& parameter : m_evaluator.m_parameters)
            parameter->GradientColumns().all = true;
    }

private:
    Impl& m_evaluator;
};

// ---- planning ----

Evaluator::Impl::Impl(ComputationNetwork& network, std::vector<ComputationNodePtr> roots,
                      const EvaluatorOptions& options)
    : m_network(network), m_options(options), m_structureVersion(network.StructureVersion())
{
    m_plan = EvaluationPlan::Build(roots, {.training = options.training,
                                           .fuse = options.fuse && !options.frameByFrame,
                                           .backwardRoot = options.backwardRoot,
                                           .keepValues = options.keepValues});
    m_memory = MemoryPlan::Build(m_plan, {.share = options.shareMemory,
                                          .aliasGradients = options.shareMemory && !options.frameByFrame,
                                          .keepValues = options.keepValues});
#ifdef NDEBUG
    if (options.checkPlan)
#endif
        CheckPlan(m_plan, m_memory);

    m_nodes = m_plan.NodesInOrder();
    m_program = std::make_unique<EvaluationProgram>(m_plan, m_memory, options.frameByFrame);
    PlanLoops();
    m_backwardPass.emplace(*m_program, m_loops, m_lookups);

    for (const ComputationNodePtr& node : m_nodes)
    {
        if (auto* input = dynamic_cast<InputValueNode*>(node.get()))
        {
            m_inputs.push_back(input);
            if (IsReadAsSparse(*input))
                m_inputsReadAsSparse.push_back(input);
        }
        auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(node);
        if (parameter && m_plan.NeedsGradient(parameter.get()))
            m_parameters.push_back(std::move(parameter));
    }
    // Paired networks may have parameters of the same name: the order of the plan decides.
    std::stable_sort(m_parameters.begin(), m_parameters.end(),
                     [](const auto& a, const auto& b) { return a->Name() < b->Name(); });
    BoundMemory::Elsewhere elsewhere;
    for (const auto& loop : m_loops)
        if (loop)
            loop->AppendBound(elsewhere);
    m_bound.emplace(m_nodes, m_memory, elsewhere, network.GetDevice());
    m_key.emplace(m_nodes);
    m_forwardWork.emplace(network.GetDevice(), "the forward pass");
    m_backwardWork.emplace(network.GetDevice(), "the backward pass");
    if (m_forwardWork->IsOn())
    {
        m_counters.emplace(*m_program);
        NoteWhatCannotBeRepeated();
    }
}

void Evaluator::Impl::NoteWhatCannotBeRepeated()
{
    for (ComputationNode* node : m_program->forwardNodes)
    {
        // One pass over the data that looks at every minibatch.
        if (node->IsPrecomputed() && node->ReadsInputs())
            m_forwardWork->TurnOff(nullptr);
        if (node->Type().traits.makesLayout)
        {
            m_forwardWork->TurnOff("the layout of a minibatch follows from values");
            m_backwardWork->TurnOff("the layout of a minibatch follows from values");
        }
    }
}

// Whether all that is read of a dense input is its sparse form, where its data come in that.
bool Evaluator::Impl::IsReadAsSparse(const InputValueNode& input) const
{
    const auto isInput = [&](const ComputationNodePtr& node) { return node.get() == &input; };
    const std::vector<ComputationNodePtr>& kept = m_options.keepValues;
    if (input.IsSparseInput() || std::any_of(m_plan.Roots().begin(), m_plan.Roots().end(), isInput) ||
        std::any_of(kept.begin(), kept.end(), isInput))
        return false;
    for (const ComputationNodePtr& node : m_nodes)
        for (size_t i = 0; i < node->InputCount(); i++)
            if (isInput(node->Input(i)) && (node->Type().traits.inputsReadSparse >> i & 1) == 0)
                return false;
    return true;
}

void Evaluator::Impl::PlanLoops()
{
    const std::vector<PlanStep>& steps = m_plan.Steps();
    m_loops.resize(steps.size());
    m_lookups.resize(steps.size());
    for (size_t i = 0; i < steps.size(); i++)
        if (steps[i].kind == PlanStep::Kind::Lookup)
            m_lookups[i] = std::make_unique<LookupProducts>(steps[i], m_plan);
    if (!m_options.fuse || m_options.frameByFrame)
        return;
    for (const ComputationNodePtr& root : m_plan.Roots())
        m_wanted.insert(root.get());
    for (const ComputationNodePtr& node : m_options.keepValues)
        m_wanted.insert(node.get());
    for (size_t i = 0; i < steps.size(); i++)
    {
        if (steps[i].kind != PlanStep::Kind::Loop)
            continue;
        m_loops[i] = std::make_unique<LoopProducts>(steps[i], m_plan, m_wanted, m_loopPanels);
        if (m_program->backwardSteps.empty())
            continue;
        const EvaluationProgram::BackwardStep& backward = m_program->backwardSteps[steps.size() - 1 - i];
        m_loops[i]->SetBackward(backward.calls.Of(m_program->calls), backward.zeroed.Of(m_program->loopGradients),
                                backward.callsAfter.Of(m_program->calls), m_memory);
        m_loops[i]->ListProducts(m_program->calls);
    }
}

Evaluator::Impl::~Impl()
{
    if (m_network.BoundBy() != this)
        return;
    for (const auto& loop : m_loops)
        if (loop)
            loop->Unbind();
    for (InputValueNode* input : m_inputsReadAsSparse)
        input->ReadAsSparse(false);
    m_bound->Unbind(); // no views of memory that is gone
    m_network.SetBoundBy(nullptr);
}

// ---- memory ----

void Evaluator::Impl::Bind()
{
    const bool layoutsChanged = m_bound->TakeForms();
    if (m_isBound && m_network.BoundBy() == this && !layoutsChanged)
        return;
    if (m_network.StructureVersion() != m_structureVersion)
        Fail(ErrorKind::Internal, "the network has changed since its evaluation was planned");
    // What the gradients of parameters hold is known only if this evaluator was the last.
    if (!m_isBound || m_network.BoundBy() != this)
        for (const auto& parameter : m_parameters)
            parameter->GradientColumns().all = true;
    m_isBound = true;
    m_network.SetBoundBy(this);
    for (const ComputationNodePtr& node : m_nodes)
    {
        NodeBinder::Prepare(*node, m_plan.NeedsGradient(node.get()));
        NodeBinder::SetTraining(*node, m_options.training);
    }
    for (InputValueNode* input : m_inputs)
        input->ReadAsSparse(std::find(m_inputsReadAsSparse.begin(), m_inputsReadAsSparse.end(), input) !=
                            m_inputsReadAsSparse.end());
    m_bound->Bind();
    for (const auto& loop : m_loops)
        if (loop)
            loop->Bind();
    for (const auto& lookup : m_lookups)
        if (lookup)
            lookup->Bind();
}

void Evaluator::Impl::MakeLayout(ComputationNode& maker)
{
    const std::vector<const MBLayout*>& made = m_bound->MakeLayout(maker, m_network);
    std::erase(m_layoutsToMake, maker.GetMBLayout().get());
    const std::vector<PlanStep>& steps = m_plan.Steps();
    for (size_t i = 0; i < steps.size(); i++)
        if (m_loops[i] && Contains(made, *steps[i].nodes.front()))
            m_loops[i]->Bind();
    for (const ComputationNodePtr& node : m_nodes)
        if (DependsOn(*node, made) && !DependsOn(*node, m_layoutsToMake))
            node->BeginForwardProp();
}

void Evaluator::Impl::CheckInputs() const
{
    for (const InputValueNode* input : m_inputs)
    {
        if (!input->HasMBLayout())
            continue;
        const size_t columns =
            input->HasSparseForm() ? input->SparseValue(FrameRange::All()).columns : input->Value().columns;
        if (columns != input->GetMBLayout()->Columns())
            Fail(ErrorKind::Internal, "input '", input->Name(), "' holds ", columns,
                 " columns, but its minibatch layout has ", input->GetMBLayout()->Columns());
    }
}

// ---- forward ----

void Evaluator::Impl::RunForward(size_t index)
{
    const ForwardStep& step = m_program->forwardSteps[index];
    LoopProducts* loop = m_loops[index].get();
    ComputationNode* const* nodes = m_program->forwardNodes.data() + step.nodes.begin;
    const size_t count = step.nodes.end - step.nodes.begin;
    if (step.kind == PlanStep::Kind::Lookup)
        m_lookups[index]->Forward();
    else if (step.kind == PlanStep::Kind::FusedAffine)
        RunFused(nodes, count, step.activation);
    else if (step.kind == PlanStep::Kind::Node && !step.stepByStep)
    {
        const auto compute = [&]
        {
            if (nodes[0]->Type().traits.makesLayout)
                MakeLayout(*nodes[0]);
            nodes[0]->ForwardProp(FrameRange::All());
        };
        TellDataErrorsOf(*nodes[0], compute, [&] { return "while computing " + m_network.Describe(*nodes[0]); });
    }
    else if (loop != nullptr)
        loop->Forward(step.direction);
    else
    {
        const size_t steps = nodes[0]->GetMBLayout()->TimeSteps();
        for (size_t i = 0; i < steps; i++)
        {
            const FrameRange range = FrameRange::Step(step.direction > 0 ? i : steps - 1 - i);
            for (size_t k = 0; k < count; k++)
                nodes[k]->ForwardProp(range);
        }
    }
    for (size_t k = 0; k < count; k++)
        nodes[k]->EndForwardProp();
}

void Evaluator::Impl::RunFused(ComputationNode* const* nodes, size_t count, ElementwiseOp activation)
{
    const ComputationNode& product = *nodes[0];
    const ComputationNode& sum = *nodes[1];
    const ComputationNode& bias = OtherInput(sum, product);
    if (const auto* convolution = dynamic_cast<const ConvolutionNode*>(&product))
    {
        const MatrixView value = bias.Value();
        return convolution->ComputeWithEnding(Reshaped(value, value.Elements(), 1), activation,
                                              nodes[count - 1]->Value());
    }
    Ops::MultiplyBiasActivate(product.Input(0)->Value(), Ops::Transpose::No, product.Input(1)->Value(), bias.Value(),
                              activation, nodes[count - 1]->Value());
}

void Evaluator::Impl::Forward()
{
    m_layoutsToMake.clear();
    for (ComputationNode* node : m_program->forwardNodes)
        if (node->Type().traits.makesLayout)
        {
            node->ReserveLayout();
            m_layoutsToMake.push_back(node->GetMBLayout().get());
        }
    m_bound->UpdateLayouts(m_network);
    Bind();
    CheckInputs();
    for (const MBLayout* layout : m_key->Layouts())
        if (layout->HasGaps())
            m_network.GetDevice().ExpectMask(layout->ColumnMask());
    for (ComputationNode* node : m_program->forwardNodes)
        if (!DependsOn(*node, m_layoutsToMake))
            node->BeginForwardProp();
    m_lastKey = nullptr;
    if (!m_forwardWork->IsOn() && !m_backwardWork->IsOn())
        return RunForwardSteps();
    m_lastKey = &m_key->Make(m_options.training);
    ForwardWork work(*this);
    m_forwardWork->Run(*m_lastKey, work);
}

// Of a pass that the device repeats: what nodes count, and what they keep of the minibatch for the next one.
void Evaluator::Impl::RepeatForwardSteps()
{
    for (size_t i = 0; i < m_program->forwardSteps.size(); i++)
    {
        if (m_counters->StepCounts(i))
        {
            RunForward(i);
            continue;
        }
        const ForwardStep& step = m_program->forwardSteps[i];
        for (size_t k = step.nodes.begin; k < step.nodes.end; k++)
            m_program->forwardNodes[k]->EndForwardProp();
    }
}

void Evaluator::Impl::RunForwardSteps()
{
    for (size_t i = 0; i < m_program->forwardSteps.size(); i++)
    {
        if (m_options.poisonMemory)
            m_bound->Poison(i, BoundMemory::Moment::BeforeStep);
        RunForward(i);
        if (m_options.poisonMemory)
            m_bound->Poison(i, BoundMemory::Moment::BehindStep);
    }
}

// ---- backward ----

void Evaluator::Impl::Backward(const ComputationNodePtr& root, bool accumulate, GradientUpdates* updates)
{
    if (!m_plan.BackwardRoot() || root != m_plan.BackwardRoot())
        Fail(ErrorKind::Internal, "back-propagation from '", root->Name(), "' was not planned",
             m_plan.BackwardRoot() ? "; the plan's criterion is '" + m_plan.BackwardRoot()->Name() + "'" : "");
    if (m_network.BoundBy() != this)
        Fail(ErrorKind::Internal, "back-propagation from '", root->Name(), "' without a forward pass before it");
    if (!m_plan.NeedsGradient(root.get()))
        return;
    m_backwardPass->SetAccumulates(accumulate);
    m_backwardPass->SetUpdates(m_backwardWork->IsOn() ? nullptr : updates);
    if (m_lastKey == nullptr || !m_backwardWork->IsOn())
        return RunBackwardSteps();
    m_backwardKey.assign(m_lastKey->begin(), m_lastKey->end());
    m_backwardKey.push_back(accumulate);
    for (const auto& parameter : m_parameters)
        m_backwardKey.push_back(parameter->GradientColumns().all);
    BackwardWork work(*this);
    m_backwardWork->Run(m_backwardKey, work);
}

void Evaluator::Impl::RunBackwardSteps()
{
    Ops::Fill(m_plan.BackwardRoot()->Gradient(), 1);
    const size_t stepCount = m_program->backwardSteps.size();
    for (size_t i = 0; i < stepCount; i++)
    {
        m_backwardPass->RunStep(i);
        if (m_options.poisonMemory)
            m_bound->Poison(stepCount + i, BoundMemory::Moment::BehindStep);
    }
}

// ---- the class ----

Evaluator::Evaluator(ComputationNetwork& network, std::vector<ComputationNodePtr> roots,
                     const EvaluatorOptions& options)
    : m_impl(std::make_unique<Impl>(network, std::move(roots), options))
{
}

Evaluator::~Evaluator() = default;

void Evaluator::Forward()
{
    m_impl->Forward();
}

void Evaluator::Backward(const ComputationNodePtr& root, GradientUpdates* updates)
{
    m_impl->Backward(root, false, updates);
}

void Evaluator::BackwardAccumulate(const ComputationNodePtr& root)
{
    m_impl->Backward(root, true, nullptr);
}

void Evaluator::SetTraining(bool isTraining)
{
    m_impl->m_options.training = isTraining;
    for (const ComputationNodePtr& node : m_impl->m_nodes)
        NodeBinder::SetTraining(*node, isTraining);
}

const std::vector<std::shared_ptr<LearnableParameterNode>>& Evaluator::Parameters() const
{
    return m_impl->m_parameters;
}

const EvaluationPlan& Evaluator::Plan() const
{
    return m_impl->m_plan;
}

const MemoryPlan& Evaluator::Memory() const
{
    return m_impl->m_memory;
}

size_t Evaluator::BytesAllocated() const
{
    size_t bytes = m_impl->m_bound->Bytes() + m_impl->m_loopPanels.Bytes();
    for (const auto& loop : m_impl->m_loops)
        if (loop)
            bytes += loop->Bytes();
    for (const auto& lookup : m_impl->m_lookups)
        if (lookup)
            bytes += lookup->Bytes();
    return bytes;
}

} // namespace cntk
