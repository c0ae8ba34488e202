// The update of all parameters after one minibatch.
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
    // The numbers of all rules are such as the device takes anew.
    void Repeat() override { Run(); }
    void Save() override
    {
        m_counter = m_learner.m_rule->Counter();
        m_secondCounter = m_learner.m_rule->SecondCounter();
        m_noiseNumber = m_learner.m_transforms.NoiseNumber();
    }
    void Restore() override
    {
        m_learner.m_rule->SetCounter(m_counter);
        m_learner.m_rule->SetSecondCounter(m_secondCounter);
        m_learner.m_transforms.SetNoiseNumber(m_noiseNumber);
    }

private:
    Learner& m_learner;
    double m_counter = 0;
    double m_secondCounter = 0;
    uint64_t m_noiseNumber = 0;
};

Learner::Learner(std::vector<std::shared_ptr<LearnableParameterNode>> parameters, const SgdOptions& options,
                 DataType type, Device& device, uint64_t trainingSeed, double fsAdagradColumns)
    : m_rule(MakeUpdateRule(options, fsAdagradColumns)), m_transforms(options, trainingSeed),
      m_isMomentum(options.gradUpdateType == GradientUpdateType::None && !options.useAdagrad && !options.useNAG),
      m_isPlainDescent(m_isMomentum && options.l2RegWeight == 0 && options.gaussianNoiseInjectStd == 0),
      m_work(device, "the update")
{
    for (auto& node : parameters)
    {
        const Matrix& values = node->Values();
        Matrix state(values.Rows(), values.Columns(), type, device);
        m_places.emplace(node.get(), m_parameters.size());
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

// All of the gradient is one product, so all columns count; it stays in memory where the state may still be made of it.
ProductUpdate Learner::UpdateOf(const ComputationNode& node)
{
    const auto found = m_places.find(&node);
    if (found == m_places.end() || !m_isMomentum)
        return {};
    Parameter& parameter = m_parameters[found->second];
    UpdateStep step = m_step;
    step.rate = RateOf(parameter);
    m_transforms.Prepare(step, nullptr);
    if (step.HasExtras())
        return {};
    const TouchedColumns* touched = ColumnsOf(parameter, step);
    parameter.isUpdated = true;
    parameter.waiting = MayWait(parameter, touched, step) ? Waiting::Gradient : Waiting::Nothing;
    parameter.wasDense = true;
    parameter.lastRate = step.rate;
    const bool waits = parameter.waiting == Waiting::Gradient;
    return {.parameter = parameter.node->Values(),
            .smoothed = waits ? MatrixView() : parameter.state.View(),
            .rate = step.rate,
            .momentum = step.momentum,
            .keepsGradient = waits};
}

// Without momentum, and from the operands of the gradient, which itself is not computed: its memory is scratch. The
// state is made of the operands when somebody asks.
bool Learner::UpdateBy(SliceOperands& operands, const ComputationNode& node)
{
    const auto found = m_places.find(&node);
    if (found == m_places.end())
        return false;
    Parameter& parameter = m_parameters[found->second];
    TouchedColumns touched;
    touched.standsForDense = true;
    UpdateStep step = m_step;
    step.rate = RateOf(parameter);
    m_transforms.Prepare(step, &touched);
    if (!MayWait(parameter, &touched, step) ||
        !Ops::SliceSoftmaxDescend(operands, parameter.node->Values(), step.rate, parameter.node->Gradient()))
        return false;
    m_transforms.Finish(parameter.node->Values(), step, &touched);
    parameter.node->GradientColumns().all = true;
    std::swap(parameter.operands, operands);
    parameter.waiting = Waiting::Operands;
    parameter.isUpdated = parameter.isPartial = true;
    parameter.wasDense = false;
    parameter.lastRate = step.rate;
    return true;
}

// Memory, and whatever else decides what is done rather than with which numbers.
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

double Learner::RateOf(const Parameter& parameter) const
{
    return m_step.rate * double(parameter.node->LearningRateMultiplier());
}

// Whether the state can be made of the gradient later, if at all.
bool Learner::MayWait(const Parameter& parameter, const TouchedColumns* touched, const UpdateStep& step) const
{
    return m_gradientsStay && m_isPlainDescent && step.momentum == 0 && !step.HasExtras() &&
           (touched == nullptr ? parameter.wasDense : touched->standsForDense);
}

void Learner::UpdateParameters()
{
    m_rule->BeginUpdate(m_step.momentum);
    UpdateStep step = m_step;
    for (Parameter& parameter : m_parameters)
    {
        if (std::exchange(parameter.isUpdated, false))
            continue;
        LearnableParameterNode& node = *parameter.node;
        const MatrixView values = node.Values();
        step.rate = RateOf(parameter);
        const TouchedColumns* touched = ColumnsOf(parameter, step);
        m_transforms.Prepare(step, touched);
        const bool mayWait = MayWait(parameter, touched, step);
        parameter.wasDense = touched == nullptr;
        parameter.wasSparse = touched != nullptr && !touched->standsForDense;
        const bool waits = mayWait && Ops::Descend(values, node.Gradient(), step.rate, touched);
        parameter.waiting = waits ? Waiting::Gradient : Waiting::Nothing;
        if (waits)
            parameter.lastRate = step.rate;
        else
            m_rule->Step(values, parameter.state, node.Gradient(), touched, step);
        m_transforms.Finish(values, step, touched);
    }
}

// The columns that the update is about; null: all. A gradient that stands for a dense one may be updated in part only
// where that changes nothing: its smoothed gradient is then completed when somebody wants to see it.
const TouchedColumns* Learner::ColumnsOf(Parameter& parameter, const UpdateStep& step) const
{
    TouchedColumns& touched = parameter.node->GradientColumns();
    if (!touched.all && !touched.standsForDense)
        return &touched;
    if (touched.all || !m_isPlainDescent || step.momentum != 0)
    {
        if (step.momentum != 0 || !m_isPlainDescent)
            Complete(parameter);
        parameter.isPartial = false; // without momentum all of the state is new
        // L2 and noise add to all of the gradient; all of it must be cleared before the next one.
        touched.all = touched.all || !m_isPlainDescent;
        return nullptr;
    }
    parameter.lastColumns.assign(touched.columns.begin(), touched.columns.end());
    parameter.lastRate = step.rate;
    parameter.isPartial = true;
    return &touched;
}

// Makes the state what a dense update would have left: S = rate G in the columns that were updated last, 0 elsewhere.
// What waits is taken from the gradient; it is added to 0, as an update does, so that no zero becomes a negative one.
void Learner::Complete(Parameter& parameter)
{
    const MatrixView state = parameter.state;
    const MatrixView gradient = parameter.node->Gradient();
    if (parameter.waiting == Waiting::Operands)
    {
        const SliceOperands& operands = parameter.operands;
        TouchedColumns& touched = parameter.node->GradientColumns();
        Ops::SliceSoftmaxWeightGradient(operands.slices, operands.gathered, operands.errors, operands.scale, gradient,
                                        touched, true);
        parameter.lastColumns.assign(touched.columns.begin(), touched.columns.end());
    }
    const bool isWaiting = parameter.waiting != Waiting::Nothing;
    if (isWaiting)
        Ops::Fill(state, 0);
    if (isWaiting && !parameter.isPartial)
        Ops::Elementwise(ElementwiseOp::Copy, gradient, state, parameter.lastRate, 1);
    if (parameter.isPartial)
    {
        size_t next = 0; // the first column not looked at yet
        for (const int32_t column : parameter.lastColumns)
        {
            const MatrixView own = state.Columns(size_t(column), 1);
            Ops::Fill(state.Columns(next, size_t(column) - next), 0);
            if (isWaiting)
                Ops::Elementwise(ElementwiseOp::Copy, gradient.Columns(size_t(column), 1), own, 1, 1);
            Ops::Scale(own, parameter.lastRate);
            next = size_t(column) + 1;
        }
        Ops::Fill(state.Columns(next, state.columns - next), 0);
    }
    parameter.SetComplete();
}

void Learner::LetGradientsStay(bool stay)
{
    m_gradientsStay = stay && !m_work.IsOn();
    for (Parameter& parameter : m_parameters)
        if (!m_gradientsStay)
        {
            if (parameter.waiting != Waiting::Nothing)
                Complete(parameter);
            parameter.wasDense = false;
        }
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
    m_rule->SetCounter(m_rule->FirstCounter());
    m_rule->SetSecondCounter(0);
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
    constexpr const char* c_whatToDo = "; if the model was edited, remove its checkpoint: the training then goes on "
                                       "with smoothed gradients of 0 and the rates of the config";
    if (states.size() != m_parameters.size())
        Fail(ErrorKind::Model, "checkpoint '", path, "' holds the state of ", states.size(),
             " parameters, but the network has ", m_parameters.size(), " that are trained", c_whatToDo);
    for (size_t i = 0; i < states.size(); ++i)
    {
        const Matrix& values = m_parameters[i].node->Values();
        const size_t later = m_rule->StateColumns(values.Columns());
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

void Learner::SetCounters(const std::array<double, 2>& counters)
{
    m_rule->SetCounter(counters[0]);
    m_rule->SetSecondCounter(counters[1]);
}

std::string Learner::OtherRuleIn(const std::map<std::string, std::string>& extra) const
{
    const auto found = extra.find(c_ruleKey);
    return found == extra.end() || found->second == m_rule->Name() ? "" : found->second;
}

std::vector<std::string> Learner::LeftToAdaGrad() const
{
    std::vector<std::string> names;
    for (const Parameter& parameter : m_parameters)
        if (parameter.wasSparse && m_rule->LeavesSparseToAdaGrad())
            names.push_back(parameter.node->Name());
    return names;
}

double Learner::FsAdagradColumns(double before) const
{
    return m_rule->Name() == c_fsAdagradName ? m_rule->Counter() : before;
}

double Learner::FsAdagradColumnsIn(const std::map<std::string, std::string>& extra, double before)
{
    return TextOf(extra, c_ruleKey) == c_fsAdagradName ? NumberOf(extra, c_counterKey, before) : before;
}

void Learner::SaveExtra(std::map<std::string, std::string>& extra) const
{
    extra[c_ruleKey] = m_rule->Name();
    extra[c_counterKey] = ExactText(m_rule->Counter());
    extra["updateCounter2"] = ExactText(m_rule->SecondCounter());
    extra["noiseSeed"] = std::to_string(m_transforms.NoiseNumber());
}

void Learner::RestoreExtra(const std::map<std::string, std::string>& extra)
{
    if (OtherRuleIn(extra).empty())
    {
        m_rule->SetCounter(NumberOf(extra, c_counterKey, m_rule->FirstCounter()));
        m_rule->SetSecondCounter(NumberOf(extra, "updateCounter2", 0));
    }
    m_transforms.SetNoiseNumber(uint64_t(NumberOf(extra, "noiseSeed", double(c_firstNoise))));
}

} // namespace cntk
