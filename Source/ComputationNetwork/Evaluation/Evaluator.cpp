// Runs a plan: flat arrays of steps with raw pointers, built once. Memory is rebound only if a minibatch has another
// number of columns or another evaluator ran in between (BoundMemory).
#include "ComputationNetwork/Evaluation/Evaluator.h"

#include "Common/Error.h"
#include "ComputationNetwork/Evaluation/BackwardPass.h"
#include "ComputationNetwork/Evaluation/BoundMemory.h"
#include "ComputationNetwork/Evaluation/ForwardPass.h"
#include "ComputationNetwork/Evaluation/JoinedSteps.h"
#include "ComputationNetwork/Evaluation/NodeBinder.h"
#include "ComputationNetwork/Evaluation/StepCounters.h"
#include "ComputationNetwork/Evaluation/StepKey.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "ComputationNetwork/Plan/EvaluationProgram.h"
#include "Math/Operations.h"
#include "Math/RepeatedWork.h"

#include <algorithm>
#include <optional>

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

struct Evaluator::Impl
{
    Impl(ComputationNetwork& network, std::vector<ComputationNodePtr> roots, const EvaluatorOptions& options);
    ~Impl();

    void Bind();
    void MakeLayout(ComputationNode& maker);
    void CheckInputs() const;

    bool IsReadAsSparse(const InputValueNode& input) const;
    void Forward();
    void Backward(const ComputationNodePtr& root, bool accumulate, GradientUpdates* updates);

    // The work of Forward and of Backward, which a device may capture and repeat.
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
    std::vector<const MBLayout*> m_layoutsToMake; // layouts whose nodes have not run yet

    std::unique_ptr<EvaluationProgram> m_program;
    std::optional<JoinedSteps> m_joined;
    std::optional<ForwardPass> m_forwardPass;
    std::optional<BackwardPass> m_backwardPass;
    std::optional<BoundMemory> m_bound;
    std::vector<InputValueNode*> m_inputs;
    std::vector<InputValueNode*> m_inputsReadAsSparse; // dense inputs whose dense form has no reader
    std::vector<std::shared_ptr<LearnableParameterNode>> m_parameters;
    bool m_isBound = false;

    std::optional<StepKey> m_key;
    std::vector<uint64_t>* m_lastKey = nullptr; // of the last Forward
    std::vector<uint64_t> m_backwardKey;
    std::optional<RepeatedWork> m_forwardWork;
    std::optional<RepeatedWork> m_backwardWork;
    std::optional<StepCounters> m_counters; // only if the device repeats the forward pass
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
    // The contents of gradients are undefined after an attempt that stopped midway.
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
    m_joined.emplace(
        m_plan, m_memory, *m_program,
        JoinedSteps::Settings{.joinLoops = options.fuse && !options.frameByFrame, .keepValues = options.keepValues});
    m_forwardPass.emplace(network, *m_program, *m_joined, [this](ComputationNode& maker) { MakeLayout(maker); });
    m_backwardPass.emplace(*m_program, *m_joined);

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
    m_bound.emplace(m_nodes, m_memory, m_joined->BoundElsewhere(), network.GetDevice());
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
        // Precomputed nodes make one pass over the data and must run for every minibatch.
        if (node->IsPrecomputed() && node->ReadsInputs())
            m_forwardWork->TurnOff(nullptr);
        if (node->Type().traits.makesLayout)
        {
            m_forwardWork->TurnOff("the layout of a minibatch follows from values");
            m_backwardWork->TurnOff("the layout of a minibatch follows from values");
        }
    }
}

// Returns true if all readers of a dense input use its sparse form whenever its data are sparse.
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

Evaluator::Impl::~Impl()
{
    if (m_network.BoundBy() != this)
        return;
    m_joined->Unbind();
    for (InputValueNode* input : m_inputsReadAsSparse)
        input->ReadAsSparse(false);
    m_bound->Unbind(); // no views of freed memory
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
    // The contents of parameter gradients are known only if this evaluator was the last to run.
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
    m_joined->Bind();
}

void Evaluator::Impl::MakeLayout(ComputationNode& maker)
{
    const std::vector<const MBLayout*>& made = m_bound->MakeLayout(maker, m_network);
    std::erase(m_layoutsToMake, maker.GetMBLayout().get());
    m_joined->BindLoopsOf(made);
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

void Evaluator::Impl::Forward()
{
    m_layoutsToMake.clear();
    for (ComputationNode* node : m_program->forwardNodes)
        if (node->Type().traits.makesLayout)
        {
            Interface<LayoutMaker>(*node)->ReserveLayout();
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

// Advances counters and saves the nodes' state for the next minibatch, after a pass that the device repeated.
void Evaluator::Impl::RepeatForwardSteps()
{
    for (size_t i = 0; i < m_program->forwardSteps.size(); i++)
        if (m_counters->StepCounts(i))
            m_forwardPass->RunStep(i);
        else
            m_forwardPass->EndStep(i);
}

void Evaluator::Impl::RunForwardSteps()
{
    for (size_t i = 0; i < m_program->forwardSteps.size(); i++)
    {
        if (m_options.poisonMemory)
            m_bound->Poison(i, BoundMemory::Moment::BeforeStep);
        m_forwardPass->RunStep(i);
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

// ---- public interface ----

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

void Evaluator::BindGradients()
{
    m_impl->Bind();
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
    return m_impl->m_bound->Bytes() + m_impl->m_joined->Bytes();
}

} // namespace cntk
