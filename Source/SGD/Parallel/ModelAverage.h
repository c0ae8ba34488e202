// ModelAveragingSGD (engine sheet, section 16): each worker trains alone with its share of the data. From time to time
// all workers meet, and continue from the mean of their parameters, in which each worker counts by what it has trained
// since the last meeting. Other methods that train so combine the models in another way (BlockMomentum.h).
#pragma once

#include "ComputationNetwork/Files/CheckpointFile.h"
#include "SGD/Parallel/SharedNumbers.h"
#include "SGD/Update/Learner.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

class ModelAverage
{
public:
    // learner: updates these parameters. period: columns of a worker between two meetings. All must outlive this.
    ModelAverage(Workers& workers, std::vector<std::shared_ptr<LearnableParameterNode>> parameters, Learner& learner,
                 size_t period);
    virtual ~ModelAverage() = default;
    ModelAverage(const ModelAverage&) = delete;
    ModelAverage& operator=(const ModelAverage&) = delete;

    // What a worker brings to a meeting.
    struct News
    {
        bool hasEnded = false;           // no data any more: meets again at once until all workers have ended
        size_t notFiniteAt = 0;          // the minibatch (from 1) whose criterion was NaN or infinite; 0: none
        std::optional<Error> error = {}; // its data cannot be read
    };
    struct Outcome
    {
        bool allHaveEnded = false;
        size_t notFiniteAt = 0;          // of the worker that has come farthest
        std::optional<Error> error = {}; // all fail with it
    };

    virtual void BeginEpoch() { m_columns = 0; }
    // This worker has updated its parameters with so many columns.
    void Count(size_t columns) { m_columns += columns; }
    bool IsDue() const { return m_columns >= m_period; }
    // Collective: a worker comes when it is due, has ended, or cannot go on. The models are combined unless a criterion
    // was NaN or infinite. A worker's error does not count then: all return to a model that is older than both.
    Outcome Meet(const News& own);

    // Collective: numbers becomes the sums of all workers.
    void Sum(std::span<double> numbers) { m_numbers.Sum(numbers); }
    Workers& GetWorkers() { return m_workers; }

    // What the method carries from one meeting to the next besides models and states of the learner, the same in all
    // workers: the section of a checkpoint, and copies by the parameter's name. None in a mean.
    virtual std::optional<BlockMomentumSection> Section() const { return std::nullopt; }
    virtual std::map<std::string, Matrix> Velocities() const { return {}; }
    // Parameters that are not named get zeros. Fails (Model) where a size does not fit.
    virtual void SetVelocities(const std::map<std::string, Matrix>&) {}

protected:
    const std::vector<std::shared_ptr<LearnableParameterNode>>& Parameters() const { return m_parameters; }
    Learner& GetLearner() { return m_learner; }
    // Collective, as all below. weight: this worker's share of what was trained since the last meeting.
    virtual void Combine(double weight);
    void AverageStates(double weight);
    // Workers have made more updates or fewer, and continue with the same noise, as a resumed training does.
    void EqualizeNoise();

private:
    std::vector<size_t> MostColumns(const std::vector<const Matrix*>& states);
    void Average(const Matrix& source, Matrix& target, double weight);
    template <class ElemType>
    void AverageTyped(const Matrix& source, Matrix& target, double weight);

    Workers& m_workers;
    SharedNumbers m_numbers;
    std::vector<std::shared_ptr<LearnableParameterNode>> m_parameters;
    Learner& m_learner;
    size_t m_period;
    size_t m_columns = 0; // since the last meeting
};

} // namespace cntk
