// ModelAveragingSGD (engine sheet, section 16): each worker trains alone with its share of the data; from time to time
// they meet, and all go on from the mean of their parameters, in which each counts by what it has trained since.
#pragma once

#include "SGD/Parallel/SharedNumbers.h"
#include "SGD/Update/Learner.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace cntk
{

class ModelAverage
{
public:
    // learner: of these parameters. period: columns of a worker between two meetings. All must outlive this.
    ModelAverage(Workers& workers, std::vector<std::shared_ptr<LearnableParameterNode>> parameters, Learner& learner,
                 size_t period);

    // What a worker comes with.
    struct News
    {
        bool hasEnded = false;           // no data any more: comes again at once until all have ended
        size_t notFiniteAt = 0;          // the minibatch (from 1) whose criterion was not finite; 0: none
        std::optional<Error> error = {}; // its data cannot be read
    };
    struct Outcome
    {
        bool allHaveEnded = false;
        size_t notFiniteAt = 0;          // of the worker that has come farthest
        std::optional<Error> error = {}; // all fail with it
    };

    void BeginEpoch() { m_columns = 0; }
    // This worker has updated its parameters with so many columns.
    void Count(size_t columns) { m_columns += columns; }
    bool IsDue() const { return m_columns >= m_period; }
    // Collective: a worker comes when it is due, has ended, or cannot go on. Means are made unless a criterion was not
    // finite, where a worker's error does not count: what all go back to is older than both.
    Outcome Meet(const News& own);

    // Collective: numbers becomes the sums of all workers.
    void Sum(std::span<double> numbers) { m_numbers.Sum(numbers); }
    Workers& GetWorkers() { return m_workers; }

private:
    void Average(double weight);
    std::vector<size_t> MostColumns(const std::vector<const Matrix*>& states);
    template <class ElemType>
    void AverageTyped(double weight);
    template <class ElemType>
    void AverageMatrix(const Matrix& source, Matrix& target, double weight, std::vector<ElemType>& values,
                       std::vector<ElemType>& scratch);

    Workers& m_workers;
    SharedNumbers m_numbers;
    std::vector<std::shared_ptr<LearnableParameterNode>> m_parameters;
    Learner& m_learner;
    size_t m_period;
    size_t m_columns = 0; // since the last meeting
};

} // namespace cntk
