// Parallel training in which each worker trains a model of its own on its share of the data (engine sheet, section 16).
// Workers meet from time to time, combine their models and continue from the same one.
#pragma once

#include "ComputationNetwork/Files/CheckpointFile.h"
#include "SGD/Parallel/WorkerAgreement.h"
#include "SGD/TrainingOptions.h"
#include "SGD/Update/Learner.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

// ModelAveragingSGD: workers continue from the mean of their parameters, weighted by the columns that each has trained
// since the last meeting.
class ModelAverage
{
public:
    // learner: updates these parameters. period: columns of a worker between two meetings. All must outlive this.
    ModelAverage(Workers& workers, std::vector<std::shared_ptr<LearnableParameterNode>> parameters, Learner& learner,
                 size_t period)
        : m_workers(workers), m_parameters(std::move(parameters)), m_learner(learner), m_period(period)
    {
    }
    virtual ~ModelAverage() = default;
    ModelAverage(const ModelAverage&) = delete;
    ModelAverage& operator=(const ModelAverage&) = delete;

    // State that a worker reports at a meeting.
    struct News
    {
        bool hasEnded = false;           // no more data: the worker meets again until all workers have ended
        size_t notFiniteAt = 0;          // minibatch (from 1) whose criterion was NaN or infinite; 0: none
        std::optional<Error> error = {}; // its data cannot be read
    };
    struct Outcome
    {
        bool allHaveEnded = false;
        size_t notFiniteAt = 0;          // the largest of all workers
        std::optional<Error> error = {}; // all workers fail with it
    };

    virtual void BeginEpoch() { m_columns = 0; }
    // Counts columns with which this worker has updated its parameters.
    void Count(size_t columns) { m_columns += columns; }
    bool IsDue() const { return m_columns >= m_period; }
    // Collective: a worker comes if it is due, has ended or fails. Combines the models unless a criterion was NaN or
    // infinite. Errors are ignored then, because all workers return to an older model.
    Outcome Meet(const News& own);

    Workers& GetWorkers() { return m_workers; }

    // State besides models and learner that continues from one meeting to the next, the same in all workers: as a
    // section of checkpoints, and as copies by parameter name. Empty for a mean.
    virtual std::optional<BlockMomentumSection> Section() const { return std::nullopt; }
    virtual std::map<std::string, Matrix> Velocities() const { return {}; }
    // Parameters without a velocity get zeros. Fails (Model) if a shape does not fit.
    virtual void SetVelocities(const std::map<std::string, Matrix>&) {}

protected:
    const std::vector<std::shared_ptr<LearnableParameterNode>>& Parameters() const { return m_parameters; }
    Learner& GetLearner() { return m_learner; }
    // Collective. weight: this worker's share of the columns trained since the last meeting.
    virtual void Combine(double weight);
    void AverageStates(double weight);
    // Collective: continues with the same noise in all workers, which have made different numbers of updates.
    void EqualizeNoise();

private:
    std::vector<size_t> MostColumns(const std::vector<const Matrix*>& states);
    void Average(const Matrix& source, Matrix& target, double weight);
    template <class ElemType>
    void AverageTyped(const Matrix& source, Matrix& target, double weight);

    Workers& m_workers;
    std::vector<std::shared_ptr<LearnableParameterNode>> m_parameters;
    Learner& m_learner;
    size_t m_period;
    size_t m_columns = 0; // since the last meeting
};

struct BlockMomentumSettings
{
    size_t periodPerWorker = 1; // columns of a block
    double momentum = 0;        // of the previous block gradients
    double learningRate = 1;    // of the block gradient
    bool isNesterov = true;
    bool resetsMomentum = true; // clears the smoothed gradients of the workers after each block

    // Samples after which the weight of a block gradient has fallen to 1/e; 0: no momentum.
    double TimeConstantPerWorker() const;
};

// Fills in the defaults for this number of workers.
BlockMomentumSettings SettingsOfBlocks(const BlockMomentumOptions& options, size_t workers);

// BlockMomentumSGD: workers sum their changes over a block of data, smooth the sum over blocks (block momentum), and
// start the next block from the same model. With momentum 1 - 1/N, N workers make N times the step of a mean.
class BlockMomentum final : public ModelAverage
{
public:
    BlockMomentum(Workers& workers, std::vector<std::shared_ptr<LearnableParameterNode>> parameters, Learner& learner,
                  const BlockMomentumSettings& settings);

    // The first block starts from the current model, which is the same in all workers.
    void BeginEpoch() override;

    std::optional<BlockMomentumSection> Section() const override;
    std::map<std::string, Matrix> Velocities() const override;
    void SetVelocities(const std::map<std::string, Matrix>& velocities) override;

private:
    struct Block
    {
        Matrix start;    // the parameter's values at the beginning of the block
        Matrix velocity; // smoothed block gradient
    };
    void Combine(double weight) override;
    template <class ElemType>
    void CombineTyped();

    BlockMomentumSettings m_settings;
    std::vector<Block> m_blocks; // one for each parameter
};

} // namespace cntk
