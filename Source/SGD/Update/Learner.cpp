#include "SGD/Update/Learner.h"

#include "Common/Error.h"
#include "Math/Operations.h"
#include "SGD/CheckpointExtra.h"
#include "SGD/Schedules/Schedules.h"

#include <utility>

namespace cntk
{

namespace
{

constexpr const char* c_ruleKey = "updateRule";
constexpr const char* c_counterKey = "updateCounter";

} // namespace

class Learner::UpdateWork final : public RepeatedWork::Steps
{
public:
    explicit UpdateWork(Learner& learner) : m_learner(learner) {}

    void Run() override { m_learner.UpdateParameters(); }
    // The device collects the numbers of all rules for each repetition.
    void Repeat() override { Run(); }
    void Save() override
    {
        m_counters = m_learner.Counters();
        m_noiseNumber = m_learner.NoiseNumber();
    }
    void Restore() override
    {
        m_learner.SetCounters(m_counters);
        m_learner.SetNoiseNumber(m_noiseNumber);
    }

private:
    Learner& m_learner;
    std::array<double, 2> m_counters = {};
    uint64_t m_noiseNumber = 0;
};

Learner::Learner(std::vector<std::shared_ptr<LearnableParameterNode>> parameters, const SgdOptions& options,
                 DataType type, Device& device, uint64_t trainingSeed, double fsAdagradColumns)
    : m_rule(options, fsAdagradColumns), m_transforms(options, trainingSeed),
      m_isPlainDescent(m_rule.IsMomentum() && options.l2RegWeight == 0 && options.gaussianNoiseInjectStd == 0),
      m_work(device, "the update")
{
    for (auto& node : parameters)
    {
        const Matrix& values = node->Values();
        Matrix state(values.Rows(), values.Columns(), type, device);
        m_indices.emplace(node.get(), m_parameters.size());
        m_parameters.push_back({.node = std::move(node), .state = std::move(state)});
    }
}

void Learner::SetStep(double ratePerSample, double momentumPerSample, size_t columns, const MatrixView& stop)
{
    if (columns != m_momentumColumns || momentumPerSample != m_momentumPerSample)
    {
        m_step.momentum = MomentumOfMinibatch(momentumPerSample, columns);
        m_momentumColumns = columns;
        m_momentumPerSample = momentumPerSample;
    }
    m_step.rate = ratePerSample;
    m_step.columns = columns;
    m_step.stop = stop;
}

void Learner::Update(double ratePerSample, double momentumPerSample, size_t columns, const MatrixView& stop)
{
    SetStep(ratePerSample, momentumPerSample, columns, stop);
    UpdateWork work(*this);
    if (!m_work.IsOn())
        return work.Run();
    MakeKey();
    m_work.Run(m_key, work);
}

void Learner::BeginUpdate(double ratePerSample, double momentumPerSample, size_t columns)
{
    SetStep(ratePerSample, momentumPerSample, columns, {});
    for (Parameter& parameter : m_parameters)
        parameter.isUpdated = false;
}

ProductUpdate Learner::UpdateOf(const ComputationNode& node)
{
    const auto found = m_indices.find(&node);
    if (found == m_indices.end() || !m_rule.IsMomentum())
        return {};
    Parameter& parameter = m_parameters[found->second];
    UpdateStep step = StepOf(parameter);
    m_transforms.Prepare(step, nullptr);
    if (step.HasExtras())
        return {};
    ColumnsOf(parameter, step);
    parameter.isUpdated = true;
    return {.parameter = parameter.node->Values(),
            .smoothed = parameter.state.View(),
            .rate = step.rate,
            .momentum = step.momentum,
            .keepsGradient = false};
}

bool Learner::UpdateBy(SliceOperands& operands, const ComputationNode& node)
{
    const auto found = m_indices.find(&node);
    if (found == m_indices.end() || !m_isPlainDescent || m_step.momentum != 0)
        return false;
    Parameter& parameter = m_parameters[found->second];
    const MatrixView values = parameter.node->Values();
    UpdateStep step = StepOf(parameter);
    TouchedColumns touched;
    touched.standsForDense = true;
    m_transforms.Prepare(step, &touched);
    if (step.HasExtras() || !Ops::SliceSoftmaxDescend(operands, values, step.rate, parameter.node->Gradient()))
        return false;
    m_transforms.Finish(values, step, &touched);
    parameter.node->GradientColumns().all = true; // the gradient's memory was used as scratch
    std::swap(parameter.operands, operands);
    parameter.hasOperands = parameter.isPartial = parameter.isUpdated = true;
    parameter.wasSparse = false;
    parameter.lastRate = step.rate;
    return true;
}

// The key holds everything that decides which operations run: memory, touched columns and factors of 0.
void Learner::MakeKey()
{
    m_key.assign({m_step.columns == 0, reinterpret_cast<uintptr_t>(m_step.stop.data)});
    for (const Parameter& parameter : m_parameters)
    {
        LearnableParameterNode& node = *parameter.node;
        const TouchedColumns& touched = node.GradientColumns();
        m_key.insert(m_key.end(), {reinterpret_cast<uintptr_t>(node.Values().View().data),
                                   reinterpret_cast<uintptr_t>(node.Gradient().data),
                                   reinterpret_cast<uintptr_t>(parameter.state.View().data), parameter.state.Columns(),
                                   touched.all, touched.standsForDense, touched.columns.empty(), parameter.isPartial,
                                   node.LearningRateMultiplier() == 0, m_step.momentum == 0});
    }
}

UpdateStep Learner::StepOf(const Parameter& parameter) const
{
    UpdateStep step = m_step;
    step.rate *= double(parameter.node->LearningRateMultiplier());
    return step;
}

void Learner::UpdateParameters()
{
    m_rule.BeginUpdate(m_step.momentum);
    for (Parameter& parameter : m_parameters)
        if (!std::exchange(parameter.isUpdated, false))
            UpdateParameter(parameter);
}

void Learner::UpdateParameter(Parameter& parameter)
{
    const MatrixView values = parameter.node->Values();
    UpdateStep step = StepOf(parameter);
    const TouchedColumns* touched = ColumnsOf(parameter, step);
    parameter.wasSparse = touched != nullptr && !touched->standsForDense;
    m_transforms.Prepare(step, touched);
    m_rule.Step(values, parameter.state, parameter.node->Gradient(), touched, step);
    m_transforms.Finish(values, step, touched);
}

// Returns the columns that the update changes; null: all. A gradient that stands for a dense one is updated in its
// touched columns only if the other columns of the parameter would not change. Complete does the rest for the state.
const TouchedColumns* Learner::ColumnsOf(Parameter& parameter, const UpdateStep& step) const
{
    TouchedColumns& touched = parameter.node->GradientColumns();
    if (!touched.all && !touched.standsForDense)
        return &touched;
    const bool isPlainDescent = m_isPlainDescent && step.momentum == 0;
    if (touched.all || !isPlainDescent)
    {
        if (!isPlainDescent)
            Complete(parameter);
        parameter.SetComplete(); // plain descent replaces the whole state
        // L2 and noise change the whole gradient, which must then be cleared before the next minibatch.
        touched.all = touched.all || !m_isPlainDescent;
        return nullptr;
    }
    parameter.lastColumns.assign(touched.columns.begin(), touched.columns.end());
    parameter.lastRate = step.rate;
    parameter.hasOperands = false;
    parameter.isPartial = true;
    return &touched;
}

// Makes the state what a dense update would have left: S = rate G in the last columns and 0 elsewhere.
void Learner::Complete(Parameter& parameter)
{
    if (!parameter.isPartial)
        return;
    const MatrixView state = parameter.state;
    if (parameter.hasOperands)
    {
        const SliceOperands& operands = parameter.operands;
        TouchedColumns touched;
        Ops::Fill(state, 0);
        Ops::SliceSoftmaxWeightGradient(operands.slices, operands.gathered, operands.errors, operands.scale, state,
                                        touched);
        parameter.lastColumns.assign(touched.columns.begin(), touched.columns.end());
    }
    size_t next = 0; // the first column not handled yet
    for (const int32_t column : parameter.lastColumns)
    {
        Ops::Fill(state.Columns(next, size_t(column) - next), 0);
        Ops::Scale(state.Columns(size_t(column), 1), parameter.lastRate);
        next = size_t(column) + 1;
    }
    Ops::Fill(state.Columns(next, state.columns - next), 0);
    parameter.SetComplete();
}

void Learner::Reset()
{
    ResetStates();
    m_transforms.SetNoiseNumber(c_firstNoise);
}

void Learner::ResetStates()
{
    for (Parameter& parameter : m_parameters)
    {
        const Matrix& values = parameter.node->Values();
        parameter.state.Resize(values.Rows(), values.Columns());
        parameter.state.SetZero();
        parameter.SetComplete();
    }
    m_rule.counters = m_rule.FirstCounters();
}

std::vector<const Matrix*> Learner::States()
{
    std::vector<const Matrix*> states;
    for (Parameter& parameter : m_parameters)
    {
        Complete(parameter);
        states.push_back(&parameter.state);
    }
    return states;
}

void Learner::Restore(std::vector<Matrix> states, const std::string& path)
{
    constexpr const char* c_whatToDo = "; if the model was edited, remove its checkpoint: the training then resumes "
                                       "with smoothed gradients of 0 and the rates of the config";
    if (states.size() != m_parameters.size())
        Fail(ErrorKind::Model, "checkpoint '", path, "' holds the state of ", states.size(),
             " parameters, but the network has ", m_parameters.size(), " that are trained", c_whatToDo);
    for (size_t i = 0; i < states.size(); ++i)
    {
        const Matrix& values = m_parameters[i].node->Values();
        const size_t later = m_rule.StateColumns(values.Columns());
        const Matrix& state = states[i];
        if (state.Rows() != values.Rows() || (state.Columns() != values.Columns() && state.Columns() != later))
            Fail(ErrorKind::Model, "checkpoint '", path, "' holds a ", state.Rows(), " x ", state.Columns(),
                 " state for parameter '", m_parameters[i].node->Name(), "'; expected ", values.Rows(), " x ", later,
                 " for this network and gradUpdateType", c_whatToDo);
    }
    for (size_t i = 0; i < states.size(); ++i)
    {
        m_parameters[i].state = std::move(states[i]);
        m_parameters[i].SetComplete();
    }
}

void Learner::CopyStates(const std::vector<Matrix>& states)
{
    for (size_t i = 0; i < states.size(); ++i)
    {
        m_parameters[i].state.CopyFrom(states[i]);
        m_parameters[i].SetComplete();
    }
}

std::string Learner::OtherRuleIn(const std::map<std::string, std::string>& extra) const
{
    const auto found = extra.find(c_ruleKey);
    return found == extra.end() || found->second == m_rule.Name() ? "" : found->second;
}

std::vector<std::string> Learner::LeftToAdaGrad() const
{
    std::vector<std::string> names;
    for (const Parameter& parameter : m_parameters)
        if (parameter.wasSparse && m_rule.LeavesSparseToAdaGrad())
            names.push_back(parameter.node->Name());
    return names;
}

double Learner::FsAdagradColumns(double before) const
{
    return m_rule.Name() == c_fsAdagradName ? m_rule.counters[0] : before;
}

double Learner::FsAdagradColumnsIn(const std::map<std::string, std::string>& extra, double before)
{
    return TextOf(extra, c_ruleKey) == c_fsAdagradName ? NumberOf(extra, c_counterKey, before) : before;
}

void Learner::SaveExtra(std::map<std::string, std::string>& extra) const
{
    extra[c_ruleKey] = m_rule.Name();
    extra[c_counterKey] = ExactText(m_rule.counters[0]);
    extra["updateCounter2"] = ExactText(m_rule.counters[1]);
    extra["noiseSeed"] = std::to_string(m_transforms.NoiseNumber());
}

void Learner::RestoreExtra(const std::map<std::string, std::string>& extra)
{
    if (OtherRuleIn(extra).empty())
        m_rule.counters = {NumberOf(extra, c_counterKey, m_rule.FirstCounters()[0]),
                           NumberOf(extra, "updateCounter2", 0)};
    m_transforms.SetNoiseNumber(uint64_t(NumberOf(extra, "noiseSeed", double(c_firstNoise))));
}

} // namespace cntk
