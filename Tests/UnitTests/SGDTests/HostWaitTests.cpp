// On a device of its own memory an epoch runs without the host waiting for it: what a training decides by numbers
// (clipping, criteria that are not finite, means of multipliers) is decided there.
#include "Common/Error.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "Math/Gpu/GpuDevice.h"
#include "Math/Operations.h"
#include "SGD/Evaluation/Criteria.h"
#include "SGDTests/TrainingFixture.h"

#include <cmath>
#include <limits>

namespace cntk
{

namespace
{

class HostWaitTest : public TrainingTest
{
protected:
    HostWaitTest()
    {
        auto runtime = std::make_unique<EmulatedRuntime>(EmulatedMemory::Open);
        m_counts = &runtime->Counts();
        m_device = FindGpu({0, GpuMatrixMath::Float}, std::move(runtime), MakeEmulatedBlas);
    }

    // Waits of an epoch of so many minibatches, a progress line every so many of them.
    size_t WaitsOf(const SgdOptions& options, size_t minibatches, bool dropout = false, size_t interval = 0)
    {
        EpochRun run(*this, options, 1000, dropout, {.traceLevel = 1, .numMBsToShowResult = interval});
        run.settings.minibatchSize = 5;
        run.settings.epochSize = 5 * minibatches;
        const size_t before = m_counts->hostWaits;
        run.loop.Run(run.settings);
        return m_counts->hostWaits - before;
    }
    void ExpectNone(const SgdOptions& options, const std::string& what, bool dropout = false)
    {
        EXPECT_EQ(WaitsOf(options, 40, dropout), WaitsOf(options, 2, dropout)) << what;
    }

    const CudaEmulation::WorkCounts* m_counts;
};

} // namespace

TEST_F(HostWaitTest, ThereAreNoneWithinAnEpoch)
{
    ExpectNone({}, "plain descent");
    ExpectNone({}, "dropout", true);
    EXPECT_LE(WaitsOf({}, 40), 2u); // the sums at the end of the epoch
}

TEST_F(HostWaitTest, AProgressLineIsOne)
{
    EXPECT_EQ(WaitsOf({}, 40, false, 10), WaitsOf({}, 10, false, 10) + 3);
}

TEST_F(HostWaitTest, ThereAreNoneForAnyUpdateRuleAndClipping)
{
    for (const auto rule : {GradientUpdateType::None, GradientUpdateType::AdaGrad, GradientUpdateType::RmsProp,
                            GradientUpdateType::FSAdaGrad, GradientUpdateType::Adam})
        for (const double threshold : {std::numeric_limits<double>::infinity(), 0.01})
            for (const bool truncates : {false, true})
            {
                SgdOptions options;
                options.gradUpdateType = rule;
                options.clippingThresholdPerSample = threshold;
                options.gradientClippingWithTruncation = truncates;
                options.normWithAveMultiplier = !truncates;
                options.l1RegWeight = 0.001;
                options.l2RegWeight = 0.001;
                ExpectNone(options, Concat("rule ", int(rule), ", clipping ", threshold, ", truncation ", truncates));
            }
    SgdOptions options;
    options.useNAG = true;
    options.clippingThresholdPerSample = 0.01;
    options.gradientClippingWithTruncation = false;
    options.gaussianNoiseInjectStd = 0.01;
    ExpectNone(options, "Nesterov with noise");
}

// One weight on points of which the fourth minibatch's are no numbers.
class NotFiniteOnGpuTest : public HostWaitTest
{
protected:
    // stopAfter: minibatches.
    EpochResult RunLine(Device& device, double& weight, size_t interval, size_t stopAfter = 100)
    {
        m_device = std::shared_ptr<Device>(std::shared_ptr<Device>(), &device);
        const auto network = Line(0.25);
        const TrainingNodes nodes = SelectTrainingNodes(*network, "", "");
        SyntheticData data{.featureDim = 1, .labelDim = 1, .features = {}, .labels = {}};
        for (size_t i = 0; i < 20; ++i)
        {
            data.features.push_back(i == 7 ? std::nan("") : double(i % 3) + 1);
            data.labels.push_back(double(i % 5));
        }
        MinibatchSource source(std::make_unique<SyntheticReader<double>>(data));
        source.BindTo(nodes.Roots());
        EvaluatorOptions evaluatorOptions;
        evaluatorOptions.training = true;
        Evaluator evaluator(*network, nodes.Roots(), evaluatorOptions);
        Learner learner(evaluator.Parameters(), {}, DataType::Float64, device);
        Progress progress(*m_log, {.traceLevel = 1, .numMBsToShowResult = interval});
        EpochLoop loop(nodes, evaluator, source, learner, progress);
        EpochSettings settings;
        settings.minibatchSize = 2;
        settings.learningRatePerSample = 0.01;
        size_t done = 0;
        settings.continues = [&] { return ++done < stopAfter; };
        const EpochResult result = loop.Run(settings);
        weight = ValuesOf(*network, "W")[0];
        if (result.wentOn)
        {
            EXPECT_TRUE(loop.ReadAgain(*result.notFiniteAt));
            EXPECT_EQ(FindNotFinite(*network, nodes), "value of 'features' (InputValue)");
        }
        return result;
    }
};

TEST_F(NotFiniteOnGpuTest, TheMinibatchIsKnownAndNothingIsUpdatedFromItOn)
{
    const auto cpu = MakeCpuDevice({.threads = 1});
    const auto gpu = m_device;
    double expected = 0, found = 0;
    const EpochResult onCpu = RunLine(*cpu, expected, 0);
    EXPECT_EQ(onCpu.notFiniteAt, 4u);
    EXPECT_FALSE(onCpu.wentOn);
    for (const size_t interval : {0, 1, 5})
    {
        const EpochResult onGpu = RunLine(*gpu, found, interval);
        EXPECT_EQ(onGpu.notFiniteAt, 4u) << interval;
        EXPECT_EQ(onGpu.wentOn, interval != 1) << interval;
        EXPECT_NEAR(found, expected, 1e-15) << interval;
    }
}

// A training could not resume from that state.
TEST_F(NotFiniteOnGpuTest, AStopBehindItIsNone)
{
    const auto gpu = m_device;
    double found = 0;
    const EpochResult before = RunLine(*gpu, found, 0, 3);
    EXPECT_TRUE(before.stopped);
    EXPECT_FALSE(before.notFiniteAt);
    const EpochResult behind = RunLine(*gpu, found, 0, 6);
    EXPECT_FALSE(behind.stopped);
    EXPECT_EQ(behind.notFiniteAt, 4u);
}

} // namespace cntk
