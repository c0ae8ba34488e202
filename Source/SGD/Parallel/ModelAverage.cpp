#include "SGD/Parallel/ModelAverage.h"

#include "SGD/Parallel/StripeSum.h"

#include <algorithm>

namespace cntk
{

ModelAverage::ModelAverage(Workers& workers, std::vector<std::shared_ptr<LearnableParameterNode>> parameters,
                           Learner& learner, size_t period)
    : m_workers(workers), m_numbers(workers), m_parameters(std::move(parameters)), m_learner(learner), m_period(period)
{
}

template <class ElemType>
void ModelAverage::AverageMatrix(const Matrix& source, Matrix& target, double weight, std::vector<ElemType>& values,
                                 std::vector<ElemType>& scratch)
{
    values.resize(source.Rows() * source.Columns());
    source.CopyToHost(values.data());
    for (ElemType& value : values)
        value = ElemType(weight * double(value));
    SumOverWorkers<ElemType>(m_workers, values, scratch);
    target.CopyFromHost(values.data());
}

template <class ElemType>
void ModelAverage::AverageTyped(double weight)
{
    std::vector<ElemType> values, scratch;
    for (const auto& parameter : m_parameters)
        AverageMatrix(parameter->Values(), parameter->Values(), weight, values, scratch);
    std::vector<Matrix> states;
    for (const Matrix* const state : m_learner.States())
    {
        Matrix& mean = states.emplace_back(state->Rows(), state->Columns(), state->Type(), state->GetDevice());
        AverageMatrix(*state, mean, weight, values, scratch);
    }
    m_learner.CopyStates(states);
}

// weight: of this worker. Where nobody has trained there is nothing to do.
void ModelAverage::Average(double weight)
{
    if (m_parameters.empty())
        return;
    if (m_parameters.front()->GetDataType() == DataType::Float64)
        AverageTyped<double>(weight);
    else
        AverageTyped<float>(weight);
}

ModelAverage::Outcome ModelAverage::Meet(const News& own)
{
    Outcome outcome;
    for (const double minibatch : m_workers.Gather(double(own.notFiniteAt)))
        outcome.notFiniteAt = std::max(outcome.notFiniteAt, size_t(minibatch));
    std::vector<double> numbers{double(m_columns), own.hasEnded ? 1.0 : 0.0};
    m_numbers.Sum(numbers);
    outcome.allHaveEnded = numbers[1] == double(m_workers.Count());
    if (outcome.notFiniteAt == 0 && numbers[0] > 0)
        Average(double(m_columns) / numbers[0]);
    m_columns = 0;
    if (m_workers.Any(own.error.has_value()))
        m_numbers.Sum({}, own.error);
    return outcome;
}

} // namespace cntk
