// Mean and InvStdDev: exact statistics over minibatches of any shape, gaps excluded; their life and their errors.
#include "Common/Error.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"
#include "ComputationNetworkTests/Files/FieldBytes.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace cntk::Testing
{

namespace
{

struct Statistics
{
    explicit Statistics(DataType type = DataType::Float64) : net(type)
    {
        x = std::dynamic_pointer_cast<InputValueNode>(net.Input("x", {2}));
        mean = std::dynamic_pointer_cast<PrecomputeNode>(net.Add("Mean", "mean", {x}));
        deviation = std::dynamic_pointer_cast<PrecomputeNode>(net.Add("InvStdDev", "deviation", {x}));
        net.network.Validate();
    }

    // Runs a minibatch whose data columns are taken from samples in turn.
    void Run(const std::vector<size_t>& lengths, std::vector<double>& samples)
    {
        net.SetSequences(lengths);
        const std::vector<uint8_t>& mask = net.network.Layout()->ColumnMask();
        const size_t columns = net.network.Layout()->Columns();
        std::vector<double> data;
        for (size_t column = 0; column < columns; column++)
            for (size_t row = 0; row < 2; row++)
            {
                const bool isGap = !mask.empty() && mask[column] == 0;
                const double value = std::sin(double(all.size()) * 1.3) * (row == 0 ? 1 : 0.01) + (row == 0 ? 0 : 100);
                data.push_back(isGap ? std::numeric_limits<double>::quiet_NaN() : value);
                if (!isGap)
                    all.push_back(value);
            }
        samples = all;
        x->SetDense(data.data(), 2, columns);
        Evaluator evaluator(net.network, {mean, deviation});
        evaluator.Forward();
    }

    TestNetwork net;
    std::shared_ptr<InputValueNode> x;
    std::shared_ptr<PrecomputeNode> mean, deviation;
    std::vector<double> all; // two rows a sample
};

// Around 2^22 single precision knows halves: distances are taken from 1/2, not from the mean, which is 1/3 above 2^22.
TEST(PrecomputeNodesTest, ARoundedMeanLeavesTheVarianceAsItIs)
{
    Statistics statistics(DataType::Float32);
    statistics.mean->BeginPrecompute();
    statistics.deviation->BeginPrecompute();
    statistics.net.SetFrames(3);
    const double large = 1 << 22;
    statistics.x->SetDense(std::vector<double>{large, 0, large, 0, large + 1, 1}.data(), 2, 3);
    Evaluator evaluator(statistics.net.network, {statistics.mean, statistics.deviation});
    evaluator.Forward();
    statistics.deviation->MarkComputed();
    for (const double value : ValueOf(statistics.deviation)) // a variance of 2/9
        EXPECT_NEAR(value, std::sqrt(4.5), 1e-5);
}

// A second pass over other data knows nothing of the first.
TEST(PrecomputeNodesTest, APassBeginsWithoutSamples)
{
    Statistics statistics;
    for (const double offset : {0.0, 10.0})
    {
        statistics.mean->BeginPrecompute();
        statistics.deviation->BeginPrecompute();
        statistics.net.SetFrames(2);
        statistics.x->SetDense(std::vector<double>{offset, 0, offset + 2, 4}.data(), 2, 2);
        Evaluator evaluator(statistics.net.network, {statistics.mean, statistics.deviation});
        evaluator.Forward();
        statistics.mean->MarkComputed();
        statistics.deviation->MarkComputed();
        EXPECT_EQ(ValueOf(statistics.mean), (std::vector<double>{offset + 1, 2}));
        EXPECT_EQ(ValueOf(statistics.deviation), (std::vector<double>{1, 0.5}));
    }
}

TEST(PrecomputeNodesTest, AreExactOverRaggedSequences)
{
    for (const auto& [type, tolerance] : {std::pair(DataType::Float64, 1e-12), {DataType::Float32, 1e-4}})
    {
        Statistics statistics(type);
        std::vector<double> samples;
        statistics.mean->BeginPrecompute();
        statistics.deviation->BeginPrecompute();
        for (const std::vector<size_t>& lengths :
             {std::vector<size_t>{4, 2, 3}, {1}, {5, 5}, {1, 1, 7}, {3, 2}, {9, 8, 7, 6}})
            statistics.Run(lengths, samples);
        statistics.mean->MarkComputed();
        statistics.deviation->MarkComputed();
        for (size_t row = 0; row < 2; row++)
        {
            const size_t count = samples.size() / 2;
            double mean = 0;
            for (size_t i = 0; i < count; i++)
                mean += samples[2 * i + row] / double(count);
            double variance = 0;
            for (size_t i = 0; i < count; i++)
                variance += (samples[2 * i + row] - mean) * (samples[2 * i + row] - mean) / double(count);
            EXPECT_NEAR(ValueOf(statistics.mean)[row], mean, tolerance * 100);
            EXPECT_NEAR(ValueOf(statistics.deviation)[row] * std::sqrt(variance), 1, tolerance * 100);
        }
    }
}

TEST(PrecomputeNodesTest, ConstantDataHaveAFloor)
{
    Statistics statistics;
    statistics.net.SetFrames(3);
    const std::vector<double> data = {1, 2, 1, 2, 1, 2};
    statistics.x->SetDense(data.data(), 2, 3);
    statistics.deviation->BeginPrecompute();
    Evaluator evaluator(statistics.net.network, {statistics.deviation});
    evaluator.Forward();
    statistics.deviation->MarkComputed();
    EXPECT_NEAR(ValueOf(statistics.deviation)[0], 1e5, 1e-6);
}

TEST(PrecomputeNodesTest, AreFixedOnceComputedAndSaved)
{
    Statistics statistics;
    std::vector<double> samples;
    for (PrecomputeNode* node : {statistics.mean.get(), statistics.deviation.get()})
        node->BeginPrecompute();
    statistics.Run({4, 3}, samples);
    for (PrecomputeNode* node : {statistics.mean.get(), statistics.deviation.get()})
        node->MarkComputed();
    const std::vector<double> fixed = ValueOf(statistics.mean);
    statistics.Run({9}, samples);
    EXPECT_EQ(ValueOf(statistics.mean), fixed);
    EXPECT_EQ(statistics.mean->DescribeFields(), "[2]   HasComputed=true");

    const std::string path = testing::TempDir() + "statistics.dnn";
    SaveModel(statistics.net.network, path);
    const auto loaded = LoadModel(path, DataType::Float64, MakeCpuDevice());
    const auto mean = std::dynamic_pointer_cast<PrecomputeNode>(loaded->Require("mean"));
    EXPECT_TRUE(mean->HasComputed());
    EXPECT_EQ(mean->Values().ToHost(), fixed);
}

TEST(PrecomputeNodesTest, SayWhatIsWrong)
{
    Statistics statistics;
    std::vector<double> samples;
    EXPECT_EQ(
        MessageOf([&] { statistics.Run({2}, samples); }),
        "the statistics of node 'mean' (Mean) have not been computed; train the model first, or give one that was "
        "trained");
    statistics.mean->BeginPrecompute();
    EXPECT_EQ(MessageOf([&] { statistics.mean->MarkComputed(); }),
              "node 'mean' (Mean) saw no sample in the pass over the training data; its statistics cannot be computed");
    EXPECT_EQ(MessageOf([&] { statistics.mean->SetComputed(std::vector<double>(3)); }),
              "node 'mean' (Mean) has 2 elements, but 3 values are given");
    TestNetwork net;
    net.Add("Mean", "m", {net.Parameter("W", {2, 2})});
    EXPECT_EQ(MessageOf([&] { net.network.Validate(); }),
              "Mean takes the statistics of minibatch data, but its input 'W' does not change with the samples");
}

// A small file must not ask for the memory of the input's size.
TEST(PrecomputeNodesTest, AStoredMatrixOfAnotherSizeIsAnErrorBeforeItIsComputed)
{
    Statistics statistics;
    FieldBytes().Add(false).DenseMatrix(1, 1).Load(*statistics.mean, 8);
    EXPECT_EQ(MessageOf([&] { statistics.net.network.Validate(); }),
              "the stored Mean has 1 element, but its input 'x' [2] has 2");
}

} // namespace

} // namespace cntk::Testing
