// Compares BlockMomentumSGD with a simulation of its steps (engine sheet, section 16) on plain numbers.
#include "ComputationNetwork/ComputationNetwork.h"
#include "SGD/Parallel/ModelAveraging.h"
#include "SGDTests/Parallel/ThreadWorkers.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace cntk
{

namespace
{

constexpr size_t c_elements = 5;

// Returns the change of an element by a worker in a block. The last worker has no data in the second block.
double StepOf(size_t rank, size_t workers, size_t block, size_t k)
{
    return rank + 1 == workers && block == 1 ? 0 : 0.01 * double(rank + 1) * double(block + 2) * (double(k) - 1.5);
}

struct SimulatedBlocks
{
    std::vector<double> start = std::vector<double>(c_elements), velocity = start;

    void Run(const BlockMomentumSettings& settings, size_t workers, size_t block)
    {
        for (size_t k = 0; k < c_elements; ++k)
        {
            double gradient = 0; // previous global W - local W
            for (size_t rank = 0; rank < workers; ++rank)
                gradient += start[k] - (start[k] + StepOf(rank, workers, block, k));
            velocity[k] = settings.momentum * velocity[k] + (1 - settings.momentum) * settings.learningRate * gradient;
            start[k] -= velocity[k];
            if (settings.isNesterov)
                start[k] -= settings.momentum * velocity[k];
        }
    }
};

struct TrainedBlocks
{
    std::vector<std::vector<double>> models; // at the end of each block
    std::vector<double> velocity, smoothed;
};

class BlockMomentumTest : public ::testing::TestWithParam<DataType>
{
protected:
    // Trains blocks first, first + 1, ... and returns the first worker's result, which all workers must have. from: the
    // result of an earlier run to resume from, or null.
    TrainedBlocks Train(size_t workers, const BlockMomentumSettings& settings, size_t first, size_t blocks,
                        const TrainedBlocks* from = nullptr) const
    {
        std::vector<TrainedBlocks> all(workers);
        ThreadWorkers::Run(workers,
                           [&](Workers& own) { all[own.Rank()] = TrainOne(own, settings, first, blocks, from); });
        for (size_t rank = 1; rank < workers; ++rank)
        {
            EXPECT_EQ(all[rank].models, all[0].models);
            EXPECT_EQ(all[rank].velocity, all[0].velocity);
            EXPECT_EQ(all[rank].smoothed, all[0].smoothed);
        }
        return std::move(all[0]);
    }

    TrainedBlocks TrainOne(Workers& workers, const BlockMomentumSettings& settings, size_t first, size_t blocks,
                           const TrainedBlocks* from) const
    {
        const auto device = MakeCpuDevice({.threads = 1});
        ComputationNetwork network(GetParam(), device);
        const auto node = std::dynamic_pointer_cast<LearnableParameterNode>(network.AddParameter("W", {c_elements}));
        Matrix& values = node->Values();
        values.FromHost(from != nullptr ? from->models.back() : std::vector<double>(c_elements));
        Learner learner({node}, SgdOptions(), GetParam(), *device);
        BlockMomentum momentum(workers, {node}, learner, settings);
        std::map<std::string, Matrix> velocities;
        if (from != nullptr && !from->velocity.empty())
        {
            velocities["W"] = Matrix(c_elements, 1, GetParam(), *device);
            velocities["W"].FromHost(from->velocity);
        }
        momentum.SetVelocities(velocities);
        momentum.BeginEpoch();
        TrainedBlocks trained;
        for (size_t block = first; block < first + blocks; ++block)
        {
            std::vector<double> local = values.ToHost();
            for (size_t k = 0; k < c_elements; ++k)
                local[k] += StepOf(workers.Rank(), workers.Count(), block, k);
            values.FromHost(local);
            std::vector<Matrix> states;
            states.emplace_back(c_elements, 1, GetParam(), *device);
            states[0].FromHost(std::vector<double>(c_elements, double(workers.Rank() + 1)));
            learner.CopyStates(states);
            const bool hasData = StepOf(workers.Rank(), workers.Count(), block, 0) != 0;
            EXPECT_FALSE(momentum.IsDue());
            momentum.Count(hasData ? settings.periodPerWorker : 0);
            EXPECT_EQ(momentum.IsDue(), hasData);
            momentum.Meet({.hasEnded = !hasData});
            trained.models.push_back(values.ToHost());
            trained.smoothed = learner.States()[0]->ToHost();
        }
        const std::optional<BlockMomentumSection> section = momentum.Section();
        EXPECT_EQ(section->models.at("W")->ToHost(), trained.models.back());
        trained.velocity = section->velocities.at("W")->ToHost();
        EXPECT_EQ(momentum.Velocities().at("W").ToHost(), trained.velocity);
        return trained;
    }

    void ExpectNear(const std::vector<double>& got, const std::vector<double>& want) const
    {
        ASSERT_EQ(got.size(), want.size());
        for (size_t k = 0; k < want.size(); ++k)
            EXPECT_NEAR(got[k], want[k], GetParam() == DataType::Float64 ? 1e-15 : 1e-6) << k;
    }
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Precisions, BlockMomentumTest, ::testing::Values(DataType::Float32, DataType::Float64),
                         [](const auto& info) { return NameOf(info.param); });

TEST_P(BlockMomentumTest, MakesTheStepsOfTheSheet)
{
    for (const size_t workers : {2, 3})
        for (const bool isNesterov : {false, true})
            for (const double learningRate : {1.0, 0.5})
            {
                SCOPED_TRACE(testing::Message() << workers << " workers, " << isNesterov << ", " << learningRate);
                BlockMomentumSettings settings = SettingsOfBlocks({}, workers);
                settings.isNesterov = isNesterov;
                settings.learningRate = learningRate;
                const TrainedBlocks trained = Train(workers, settings, 0, 4);
                SimulatedBlocks simulation;
                for (size_t block = 0; block < 4; ++block)
                {
                    simulation.Run(settings, workers, block);
                    ExpectNear(trained.models[block], simulation.start);
                }
                ExpectNear(trained.velocity, simulation.velocity);
            }
}

TEST_P(BlockMomentumTest, ResumesFromItsStateWithTheSameBits)
{
    const BlockMomentumSettings settings = SettingsOfBlocks({}, 3);
    const TrainedBlocks whole = Train(3, settings, 0, 5), begin = Train(3, settings, 0, 2);
    EXPECT_EQ(Train(3, settings, 2, 3, &begin).models.back(), whole.models.back());
    TrainedBlocks withoutState = Train(3, settings, 0, 2);
    withoutState.velocity.clear();
    EXPECT_NE(Train(3, settings, 2, 3, &withoutState).models.back(), whole.models.back());
}

TEST_P(BlockMomentumTest, ResetsTheSmoothedGradientsOfWorkersOrTakesTheirMean)
{
    BlockMomentumSettings settings = SettingsOfBlocks({}, 2);
    EXPECT_EQ(Train(2, settings, 0, 1).smoothed, std::vector<double>(c_elements, 0.0));
    settings.resetsMomentum = false;
    EXPECT_EQ(Train(2, settings, 0, 1).smoothed, std::vector<double>(c_elements, 1.5));
}

TEST(BlockMomentumSettingsTest, FollowTheOptions)
{
    const BlockMomentumSettings usual = SettingsOfBlocks({}, 4);
    EXPECT_EQ(usual.periodPerWorker, 30000u);
    EXPECT_EQ(usual.momentum, 0.75);
    EXPECT_EQ(usual.learningRate, 1);
    EXPECT_TRUE(usual.isNesterov && usual.resetsMomentum);
    EXPECT_NEAR(usual.TimeConstantPerWorker(), -30000 / std::log(0.75), 1e-9);

    BlockMomentumOptions options;
    options.syncPeriod = 2000;
    options.blockMomentumAsTimeConstant = 4000;
    EXPECT_EQ(SettingsOfBlocks(options, 4).periodPerWorker, 500u);
    EXPECT_DOUBLE_EQ(SettingsOfBlocks(options, 4).momentum, std::exp(-0.5));
    options = {};
    options.syncPeriodPerWorker = 2000;
    options.blockMomentumAsTimeConstantPerWorker = 4000;
    EXPECT_EQ(SettingsOfBlocks(options, 4).periodPerWorker, 2000u);
    EXPECT_DOUBLE_EQ(SettingsOfBlocks(options, 4).momentum, std::exp(-0.5));
    options.blockMomentumAsTimeConstantPerWorker = 0;
    EXPECT_EQ(SettingsOfBlocks(options, 4).momentum, 0);
    EXPECT_EQ(SettingsOfBlocks(options, 4).TimeConstantPerWorker(), 0);
}

} // namespace cntk
