// Builds the steps of a plan and runs them. Memory is rebound only if a minibatch has another number of columns or
// another evaluator ran in between (BoundMemory).
#include "ComputationNetwork/Evaluation/Evaluator.h"

#include "Common/Error.h"
#include "ComputationNetwork/Evaluation/BoundMemory.h"
#include "ComputationNetwork/Evaluation/LookupStep.h"
#include "ComputationNetwork/Evaluation/LoopStep.h"
#include "ComputationNetwork/Evaluation/StepKey.h"
#include "ComputationNetwork/Evaluation/Steps.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "Math/Operations.h"
#include "Math/RepeatedWork.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace cntk
{

namespace
{

bool Contains(const std::vector<const MBLayout*>& layouts, const ComputationNode& node)
{
    return std::find(layouts.begin(), layouts.end(), node.GetMBLayout().get()) != layouts.end();
}

// Returns true if the node or one of its inputs has one of these layouts.
bool DependsOn(const ComputationNode& node, const std::vector<const MBLayout*>& layouts)
{
    return Contains(layouts, node) ||
           std::any_of(node.Inputs().begin(), node.Inputs().end(),
                       [&](const ComputationNodePtr& input) { return Contains(layouts, *input); });
}

} // namespace

// ---- captured passes ----

struct Evaluator::CapturedPasses
{
    CapturedPasses(const std::vector<ComputationNodePtr>& nodes, const std::vector<std::unique_ptr<Step>>& steps,
                   Device& device)
        : key(nodes), forward(device, "the forward pass"), backward(device, "the backward pass")
    {
        for (const auto& step : steps)
        {
            const size_t before = counters.size();
            for (const ComputationNodePtr& node : step->Plan().nodes)
            {
                auto* const state = Interface<StepState>(*node);
                if (uint64_t* const counter = state == nullptr ? nullptr : state->StepCounter())
                    counters.push_back(counter);
            }
            stepCounts.push_back(counters.size() > before);
        }
    }

    StepKey key;
    std::vector<uint64_t>* lastKey = nullptr; // of the last Forward
    std::vector<uint64_t> backwardKey;
    RepeatedWork forward, backward;
    std::vector<uint64_t*> counters; // that ForwardProp advances, in nodes, which the plan keeps alive
    std::vector<bool> stepCounts;    // of each step: true if one of its nodes has a counter
    std::vector<uint64_t> savedCounters;
};

class Evaluator::CapturedForward final : public RepeatedWork::Steps
{
public:
    explicit CapturedForward(Evaluator& evaluator) : m_evaluator(evaluator), m_passes(*evaluator.m_captured) {}

    void Run() override { m_evaluator.RunForwardSteps(); }
    // Runs the steps with counters, and saves the nodes' state for the next minibatch.
    void Repeat() override
    {
        for (size_t i = 0; i < m_evaluator.m_steps.size(); i++)
        {
            Step& step = *m_evaluator.m_steps[i];
            if (m_passes.stepCounts[i])
                step.Forward();
            step.EndForward();
        }
    }
    void Save() override
    {
        m_passes.savedCounters.clear();
        for (const uint64_t* counter : m_passes.counters)
            m_passes.savedCounters.push_back(*counter);
    }
    void Restore() override
    {
        for (size_t i = 0; i < m_passes.counters.size(); i++)
            *m_passes.counters[i] = m_passes.savedCounters[i];
    }

private:
    Evaluator& m_evaluator;
    CapturedPasses& m_passes;
};

class Evaluator::CapturedBackward final : public RepeatedWork::Steps
{
public:
    explicit CapturedBackward(Evaluator& evaluator) : m_evaluator(evaluator) {}

    void Run() override { m_evaluator.RunBackwardSteps(); }
    void Repeat() override {}
    // The contents of gradients are undefined after an attempt that stopped midway.
    void Restore() override
    {
        for (const auto& parameter : m_evaluator.m_parameters)
            parameter->GradientColumns().all = true;
    }

private:
    Evaluator& m_evaluator;
};

void Evaluator::PrepareCapture()
{
    m_captured = std::make_unique<CapturedPasses>(m_nodes, m_steps, m_network.GetDevice());
    if (!m_captured->forward.IsOn())
    {
        m_captured.reset();
        return;
    }
    for (const ComputationNodePtr& node : m_nodes)
    {
        // Precomputed nodes make one pass over the data and must run for every minibatch.
        if (node->IsPrecomputed() && node->ReadsInputs())
            m_captured->forward.TurnOff(nullptr);
        if (node->Type().traits.makesLayout)
        {
            m_captured->forward.TurnOff("the layout of a minibatch follows from values");
            m_captured->backward.TurnOff("the layout of a minibatch follows from values");
        }
    }
}

// ---- planning ----

Evaluator::Evaluator(ComputationNetwork& network, std::vector<ComputationNodePtr> roots,
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
    CollectLeaves();
    MakeSteps();
    BoundMemory::Elsewhere boundBySteps;
    for (const auto& step : m_steps)
        step->AppendBound(boundBySteps);
    m_bound = std::make_unique<BoundMemory>(m_nodes, m_memory, boundBySteps, network.GetDevice());
    m_backwardPass = std::make_unique<BackwardPass>();
    PrepareCapture();
}

void Evaluator::MakeSteps()
{
    std::unordered_set<const ComputationNode*> wanted; // nodes whose values are read after Forward
    for (const auto* nodes : {&m_plan.Roots(), &std::as_const(m_options.keepValues)})
        for (const ComputationNodePtr& node : *nodes)
            wanted.insert(node.get());
    std::vector<StepCalls> calls = PlanBackward(m_plan, m_memory, m_options.frameByFrame);
    const bool joinsLoops = m_options.fuse && !m_options.frameByFrame;
    const auto make = [&](const PlanStep& step, StepCalls own) -> std::unique_ptr<Step>
    {
        if (step.kind == PlanStep::Kind::Lookup)
            return std::make_unique<LookupStep>(step, std::move(own));
        if (step.kind == PlanStep::Kind::FusedAffine)
            return std::make_unique<AffineStep>(step, std::move(own));
        if (step.kind == PlanStep::Kind::Loop && joinsLoops)
            return std::make_unique<LoopStep>(step, std::move(own), m_plan, wanted, m_panels);
        if (step.kind == PlanStep::Kind::Loop || (m_options.frameByFrame && CanRunInTime(*step.nodes.front())))
            return std::make_unique<TimeStep>(step, std::move(own));
        return std::make_unique<NodeStep>(step, std::move(own), m_network,
                                          [this](ComputationNode& maker) { MakeLayout(maker); });
    };
    for (size_t i = 0; i < calls.size(); i++)
        m_steps.push_back(make(m_plan.Steps()[i], std::move(calls[i])));
}

void Evaluator::CollectLeaves()
{
    for (const ComputationNodePtr& node : m_nodes)
    {
        if (auto* input = As<InputValueNode>(node.get()))
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
}

// Returns true if all readers of a dense input use its sparse form whenever its data are sparse.
bool Evaluator::IsReadAsSparse(const InputValueNode& input) const
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

Evaluator::~Evaluator()
{
    if (m_network.BoundBy() != this)
        return;
    for (InputValueNode* input : m_inputsReadAsSparse)
        input->ReadAsSparse(false);
    m_bound->Unbind(); // no views of freed memory
    m_network.SetBoundBy(nullptr);
}

// ---- memory ----

void Evaluator::Bind()
{
    const bool layoutsChanged = m_bound->TakeForms();
    if (m_isBound && m_network.BoundBy() == this && !layoutsChanged)
        return;
    if (m_network.StructureVersion() != m_structureVersion)
        Fail(ErrorKind::Internal, "the network has changed since its evaluation was planned");
    // The contents of parameter gradients are known only if this evaluator was the last to run.
    if (!m_isBound || m_network.BoundBy() != this)
        for (const auto& parameter : m_parameters)
            parameter->GradientColumns().all = true;
    // Nor are those of gradients of data, which change their size with the minibatch.
    for (InputValueNode* input : m_inputs)
        input->GradientColumns().all = true;
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
    for (const auto& step : m_steps)
        step->Bind();
}

void Evaluator::MakeLayout(ComputationNode& maker)
{
    const std::vector<const MBLayout*>& made = m_bound->MakeLayout(maker, m_network);
    std::erase(m_layoutsToMake, maker.GetMBLayout().get());
    for (const auto& step : m_steps)
        if (step->Plan().kind == PlanStep::Kind::Loop && Contains(made, *step->Plan().nodes.front()))
            step->Bind();
    for (const ComputationNodePtr& node : m_nodes)
        if (DependsOn(*node, made) && !DependsOn(*node, m_layoutsToMake))
            node->BeginForwardProp();
}

void Evaluator::CheckInputs() const
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

size_t Evaluator::BytesAllocated() const
{
    size_t bytes = m_bound->Bytes() + m_panels.Bytes();
    for (const auto& step : m_steps)
        bytes += step->Bytes();
    return bytes;
}

void Evaluator::BindGradients()
{
    Bind();
}

void Evaluator::SetTraining(bool isTraining)
{
    m_options.training = isTraining;
    for (const ComputationNodePtr& node : m_nodes)
        NodeBinder::SetTraining(*node, isTraining);
}

// ---- forward ----

void Evaluator::Forward()
{
    m_layoutsToMake.clear();
    for (const ComputationNodePtr& node : m_nodes)
        if (node->Type().traits.makesLayout)
        {
            Interface<LayoutMaker>(*node)->ReserveLayout();
            m_layoutsToMake.push_back(node->GetMBLayout().get());
        }
    m_bound->UpdateLayouts(m_network);
    Bind();
    CheckInputs();
    m_bound->ExpectMasks(m_network.GetDevice());
    for (const ComputationNodePtr& node : m_nodes)
        if (!DependsOn(*node, m_layoutsToMake))
            node->BeginForwardProp();
    if (m_captured == nullptr)
        return RunForwardSteps();
    m_captured->lastKey = nullptr;
    if (!m_captured->forward.IsOn() && !m_captured->backward.IsOn())
        return RunForwardSteps();
    m_captured->lastKey = &m_captured->key.Make(m_options.training);
    CapturedForward work(*this);
    m_captured->forward.Run(*m_captured->lastKey, work);
}

void Evaluator::RunForwardSteps()
{
    for (size_t i = 0; i < m_steps.size(); i++)
    {
        if (m_options.poisonMemory)
            m_bound->Poison(i, BoundMemory::Moment::BeforeStep);
        m_steps[i]->Forward();
        m_steps[i]->EndForward();
        if (m_options.poisonMemory)
            m_bound->Poison(i, BoundMemory::Moment::AfterStep);
    }
}

// ---- backward ----

void Evaluator::Backward(const ComputationNodePtr& root, GradientUpdates* updates)
{
    Backward(root, false, updates);
}

void Evaluator::BackwardAccumulate(const ComputationNodePtr& root)
{
    Backward(root, true, nullptr);
}

void Evaluator::Backward(const ComputationNodePtr& root, bool accumulate, GradientUpdates* updates)
{
    if (!m_plan.BackwardRoot() || root != m_plan.BackwardRoot())
        Fail(ErrorKind::Internal, "back-propagation from '", root->Name(), "' was not planned",
             m_plan.BackwardRoot() ? "; the plan's criterion is '" + m_plan.BackwardRoot()->Name() + "'" : "");
    if (m_network.BoundBy() != this)
        Fail(ErrorKind::Internal, "back-propagation from '", root->Name(), "' without a forward pass before it");
    if (!m_plan.NeedsGradient(root.get()))
        return;
    const bool isCaptured = m_captured != nullptr && m_captured->backward.IsOn();
    m_backwardPass->Begin(accumulate, isCaptured ? nullptr : updates);
    if (!isCaptured || m_captured->lastKey == nullptr)
        return RunBackwardSteps();
    std::vector<uint64_t>& key = m_captured->backwardKey;
    key.assign(m_captured->lastKey->begin(), m_captured->lastKey->end());
    key.push_back(accumulate);
    for (const auto& parameter : m_parameters)
        key.push_back(parameter->GradientColumns().all);
    CapturedBackward work(*this);
    m_captured->backward.Run(key, work);
}

void Evaluator::RunBackwardSteps()
{
    Ops::Fill(m_plan.BackwardRoot()->Gradient(), 1);
    for (size_t i = m_steps.size(); i-- > 0;)
    {
        m_steps[i]->Backward(*m_backwardPass);
        if (m_options.poisonMemory)
            m_bound->Poison(2 * m_steps.size() - 1 - i, BoundMemory::Moment::AfterStep);
    }
}

} // namespace cntk
