#include "SGD/Parallel/BlockMomentum.h"

#include "Common/Error.h"
#include "SGD/Parallel/StripeSum.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

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

// The sum of all workers' steps counts, whatever share of the data each of them had.
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

// With W the start of the block, w a worker's values at its end, b the block momentum and r the block learning rate:
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
