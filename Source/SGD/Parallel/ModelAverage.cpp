#include "SGD/Parallel/ModelAverage.h"

#include "SGD/Parallel/StripeSum.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace cntk
{

ModelAverage::ModelAverage(Workers& workers, std::vector<std::shared_ptr<LearnableParameterNode>> parameters,
                           Learner& learner, size_t period)
    : m_workers(workers), m_numbers(workers), m_parameters(std::move(parameters)), m_learner(learner), m_period(period)
{
}

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

// source may have fewer columns than target: the others are zeros.
void ModelAverage::Average(const Matrix& source, Matrix& target, double weight)
{
    if (target.Type() == DataType::Float64)
        AverageTyped<double>(source, target, weight);
    else
        AverageTyped<float>(source, target, weight);
}

// A worker without data has made no update yet; with the first update the states of some rules grow.
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
    m_numbers.Sum(counters);
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
    m_numbers.Sum(numbers);
    outcome.allHaveEnded = numbers[1] == double(m_workers.Count());
    if (outcome.notFiniteAt == 0 && numbers[0] > 0 && !m_parameters.empty()) // else nobody has trained anything
        Combine(double(m_columns) / numbers[0]);
    m_columns = 0;
    if (outcome.notFiniteAt == 0)
        outcome.error = m_numbers.AnyError(own.error);
    return outcome;
}

} // namespace cntk
