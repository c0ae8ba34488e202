#include "SGD/Parallel/ModelAveraging.h"

#include "Common/Error.h"
#include "SGD/Parallel/WorkerSums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

namespace cntk
{

template <class ElemType>
void ModelAverage::AverageTyped(const Matrix& source, Matrix& target, double weight)
{
    std::vector<ElemType> values(target.Rows() * target.Columns(), ElemType(0)), scratch;
    source.CopyToHost(values.data());
    for (ElemType& value : values)
        value = ElemType(weight * double(value));
    SumOverWorkers<ElemType>(m_workers, values, scratch);
    target.CopyFromHost(values.data());
}

// Missing columns of source count as zeros.
void ModelAverage::Average(const Matrix& source, Matrix& target, double weight)
{
    if (target.Type() == DataType::Float64)
        AverageTyped<double>(source, target, weight);
    else
        AverageTyped<float>(source, target, weight);
}

// Returns the largest number of columns that each state has in any worker. The states of some rules grow with the first
// update, and a worker without data has made none.
std::vector<size_t> ModelAverage::MostColumns(const std::vector<const Matrix*>& states)
{
    std::vector<double> own;
    for (const Matrix* const state : states)
        own.push_back(double(state->Columns()));
    std::vector<double> all(own.size() * m_workers.Count());
    m_workers.Gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
    std::vector<size_t> most(own.size(), 0);
    for (size_t i = 0; i < all.size(); ++i)
        most[i % own.size()] = std::max(most[i % own.size()], size_t(all[i]));
    return most;
}

void ModelAverage::AverageStates(double weight)
{
    const std::vector<const Matrix*> own = m_learner.States();
    const std::vector<size_t> columns = MostColumns(own);
    std::vector<Matrix> states;
    for (size_t i = 0; i < own.size(); ++i)
    {
        Matrix& mean = states.emplace_back(own[i]->Rows(), columns[i], own[i]->Type(), own[i]->GetDevice());
        Average(*own[i], mean, weight);
    }
    m_learner.CopyStates(states);
    std::array<double, 2> counters = m_learner.Counters();
    for (double& counter : counters)
        counter *= weight;
    SumCounts(m_workers, counters);
    m_learner.SetCounters(counters);
}

void ModelAverage::EqualizeNoise()
{
    uint64_t noise = m_learner.NoiseNumber();
    for (const double number : m_workers.Gather(double(noise)))
        noise = std::max(noise, uint64_t(number));
    m_learner.SetNoiseNumber(noise);
}

void ModelAverage::Combine(double weight)
{
    for (const auto& parameter : m_parameters)
        Average(parameter->Values(), parameter->Values(), weight);
    AverageStates(weight);
    EqualizeNoise();
}

ModelAverage::Outcome ModelAverage::Meet(const News& own)
{
    Outcome outcome;
    for (const double minibatch : m_workers.Gather(double(own.notFiniteAt)))
        outcome.notFiniteAt = std::max(outcome.notFiniteAt, size_t(minibatch));
    std::vector<double> numbers{double(m_columns), own.hasEnded ? 1.0 : 0.0};
    SumCounts(m_workers, numbers);
    outcome.allHaveEnded = numbers[1] == double(m_workers.Count());
    if (outcome.notFiniteAt == 0 && numbers[0] > 0 && !m_parameters.empty()) // else no worker has trained anything
        Combine(double(m_columns) / numbers[0]);
    m_columns = 0;
    if (outcome.notFiniteAt == 0)
        outcome.error = AnyError(m_workers, own.error);
    return outcome;
}

double BlockMomentumSettings::TimeConstantPerWorker() const
{
    return momentum > 0 ? -double(periodPerWorker) / std::log(momentum) : 0;
}

BlockMomentumSettings SettingsOfBlocks(const BlockMomentumOptions& options, size_t workers)
{
    BlockMomentumSettings settings;
    settings.periodPerWorker =
        std::max(options.syncPeriodPerWorker.value_or(options.syncPeriod.value_or(120000) / workers), size_t(1));
    settings.momentum = 1 - 1 / double(workers);
    std::optional<double> timeConstant = options.blockMomentumAsTimeConstantPerWorker;
    if (options.blockMomentumAsTimeConstant)
        timeConstant = *options.blockMomentumAsTimeConstant / double(workers);
    if (timeConstant)
        settings.momentum = *timeConstant > 0 ? std::exp(-double(settings.periodPerWorker) / *timeConstant) : 0;
    settings.learningRate = options.blockLearningRate;
    settings.isNesterov = options.useNesterovMomentum;
    settings.resetsMomentum = options.resetSGDMomentum;
    return settings;
}

BlockMomentum::BlockMomentum(Workers& workers, std::vector<std::shared_ptr<LearnableParameterNode>> parameters,
                             Learner& learner, const BlockMomentumSettings& settings)
    : ModelAverage(workers, std::move(parameters), learner, settings.periodPerWorker), m_settings(settings)
{
    for (const auto& parameter : Parameters())
    {
        const Matrix& values = parameter->Values();
        m_blocks.push_back(
            {values.Clone(), Matrix(values.Rows(), values.Columns(), values.Type(), values.GetDevice())});
    }
}

void BlockMomentum::BeginEpoch()
{
    ModelAverage::BeginEpoch();
    for (size_t i = 0; i < m_blocks.size(); ++i)
        m_blocks[i].start.CopyFrom(Parameters()[i]->Values());
}

// Uses the sum of all workers' changes, whatever their shares of the data.
void BlockMomentum::Combine(double weight)
{
    if (Parameters().front()->GetDataType() == DataType::Float64)
        CombineTyped<double>();
    else
        CombineTyped<float>();
    if (m_settings.resetsMomentum)
        GetLearner().ResetStates();
    else
        AverageStates(weight);
    EqualizeNoise();
}

// W: values at the start of the block; w: a worker's values at its end; b: block momentum; r: block learning rate.
// G = sum of W - w;  V = b V + (1-b) r G;  the next block starts from W - V, with Nesterov's momentum from W - V - b V.
template <class ElemType>
void BlockMomentum::CombineTyped()
{
    const double momentum = m_settings.momentum, gain = (1 - momentum) * m_settings.learningRate;
    const double ahead = m_settings.isNesterov ? 1 + momentum : 1;
    std::vector<ElemType> values, gradient, velocity, scratch;
    for (size_t i = 0; i < m_blocks.size(); ++i)
    {
        Block& block = m_blocks[i];
        Matrix& parameter = Parameters()[i]->Values();
        values.resize(parameter.Elements());
        gradient.resize(parameter.Elements());
        velocity.resize(parameter.Elements());
        parameter.CopyToHost(values.data());
        block.start.CopyToHost(gradient.data());
        for (size_t k = 0; k < values.size(); ++k)
            gradient[k] -= values[k];
        SumOverWorkers<ElemType>(GetWorkers(), gradient, scratch);
        block.start.CopyToHost(values.data());
        block.velocity.CopyToHost(velocity.data());
        for (size_t k = 0; k < values.size(); ++k)
        {
            velocity[k] = ElemType(momentum * double(velocity[k]) + gain * double(gradient[k]));
            values[k] = ElemType(double(values[k]) - ahead * double(velocity[k]));
        }
        block.velocity.CopyFromHost(velocity.data());
        block.start.CopyFromHost(values.data());
        parameter.CopyFromHost(values.data());
    }
}

std::optional<BlockMomentumSection> BlockMomentum::Section() const
{
    BlockMomentumSection section;
    section.resetsMomentum = m_settings.resetsMomentum;
    section.timeConstantPerWorker = m_settings.TimeConstantPerWorker();
    section.periodPerWorker = m_settings.periodPerWorker;
    for (size_t i = 0; i < m_blocks.size(); ++i)
    {
        const LearnableParameterNode& parameter = *Parameters()[i];
        section.models[parameter.Name()] = &parameter.Values();
        section.velocities[parameter.Name()] = &m_blocks[i].velocity;
    }
    return section;
}

std::map<std::string, Matrix> BlockMomentum::Velocities() const
{
    std::map<std::string, Matrix> velocities;
    for (size_t i = 0; i < m_blocks.size(); ++i)
        velocities[Parameters()[i]->Name()] = m_blocks[i].velocity.Clone();
    return velocities;
}

void BlockMomentum::SetVelocities(const std::map<std::string, Matrix>& velocities)
{
    for (size_t i = 0; i < m_blocks.size(); ++i)
    {
        const std::string& name = Parameters()[i]->Name();
        Matrix& velocity = m_blocks[i].velocity;
        const auto found = velocities.find(name);
        if (found == velocities.end())
            velocity.SetZero();
        else if (found->second.Rows() != velocity.Rows() || found->second.Columns() != velocity.Columns())
            Fail(ErrorKind::Model, "the checkpoint's block momentum of parameter '", name, "' is ",
                 found->second.Rows(), " x ", found->second.Columns(), "; expected ", velocity.Rows(), " x ",
                 velocity.Columns(), "; if the model was edited, remove its checkpoint");
        else
            velocity.CopyFrom(found->second);
    }
}

} // namespace cntk
