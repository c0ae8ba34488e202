// Trainings on an emulated GPU that records its steps: the same bits as step by step, and no kernel of a minibatch is
// launched by itself.
#include "CudaEmulation/EmulatedGpu.h"
#include "SGD/DropoutSchedule.h"
#include "SGD/EpochLoop.h"
#include "SGDTests/TrainingFixture.h"

#include <functional>
#include <gmock/gmock.h>

namespace cntk
{

namespace
{

using testing::HasSubstr;

class GraphTraining : public TrainingTest
{
protected:
    // A device in the place of the CPU. Networks and requests made before keep theirs.
    const EmulatedRuntime& TakeGpu(bool graphs, WorkOrder order = WorkOrder::Late)
    {
        auto owned = std::make_unique<EmulatedRuntime>(EmulatedMemory::Open, size_t(64) << 20, order);
        const EmulatedRuntime& runtime = *owned;
        GpuRequest request{0};
        request.graphs = graphs;
        request.trace = [this](const std::string& text) { m_lines.push_back(text); };
        m_device = MakeEmulatedGpu(std::move(owned), request);
        return runtime;
    }

    // Launches of graphs.
    size_t ExpectSameModels(const std::function<TrainingRequest()>& makeRequest)
    {
        size_t launches = 0;
        const auto train = [&](bool graphs)
        {
            const EmulatedRuntime& runtime = TakeGpu(graphs);
            TrainingRequest request = makeRequest();
            request.makeMode = false;
            request.modelPath = Path(graphs ? "graphs.dnn" : "steps.dnn");
            Run(request);
            launches = std::max(launches, runtime.Counts().graphLaunches);
            return BytesOf(request.modelPath);
        };
        const std::string graphs = train(true);
        EXPECT_FALSE(graphs.empty());
        EXPECT_TRUE(graphs == train(false)) << "the models differ";
        return launches;
    }

    // Kernels that are launched one by one in so many minibatches, when all has been recorded.
    size_t KernelsOfMinibatches(const SgdOptions& options, bool dropout)
    {
        const EmulatedRuntime& runtime = TakeGpu(true);
        const auto network = Classifier(dropout, DataType::Float32);
        const TrainingNodes nodes = SelectTrainingNodes(*network, "", "");
        MinibatchSource source(std::make_unique<SyntheticReader<float>>(TwoClasses(500, 7)));
        source.BindTo(nodes.Roots());
        EvaluatorOptions evaluatorOptions;
        evaluatorOptions.training = true;
        Evaluator evaluator(*network, nodes.Roots(), evaluatorOptions);
        Learner learner(evaluator.Parameters(), options, DataType::Float32, *m_device);
        DropoutSchedule schedule(evaluator.Plan(), nodes.criterion);
        schedule.SetRate(dropout ? 0.3 : 0, *m_log);
        ProgressSettings display;
        display.numMBsToShowResult = 100;
        Progress progress(*m_log, display);
        EpochLoop loop(nodes, evaluator, source, learner, progress);
        EpochSettings settings;
        settings.minibatchSize = 25;
        settings.learningRatePerSample = 0.01;
        settings.momentumPerSample = 0.99;
        size_t minibatches = 0;
        CudaEmulation::WorkCounts before;
        CudaEmulation::WorkCounts after;
        settings.goesOn = [&]
        {
            ++minibatches;
            if (minibatches == 4)
                before = runtime.Counts();
            if (minibatches == 18)
                after = runtime.Counts();
            return true;
        };
        loop.Run(settings);
        EXPECT_EQ(minibatches, 20u);
        EXPECT_EQ(after.hostWaits, before.hostWaits) << "the host waited";
        EXPECT_EQ(after.captures, before.captures) << "work was recorded again";
        EXPECT_GE(after.graphLaunches, before.graphLaunches + 3 * 14);
        return after.kernels - before.kernels;
    }

    std::vector<std::string> m_lines;
};

} // namespace

TEST_F(GraphTraining, AMinibatchLaunchesNoKernelByItself)
{
    EXPECT_EQ(KernelsOfMinibatches({}, false), 0u);
    EXPECT_EQ(KernelsOfMinibatches({}, true), 0u);
    SgdOptions options;
    options.l1RegWeight = 0.001;
    options.l2RegWeight = 0.001;
    options.clippingThresholdPerSample = 0.1;
    options.gradientClippingWithTruncation = true;
    for (const auto rule : {GradientUpdateType::None, GradientUpdateType::AdaGrad, GradientUpdateType::RmsProp,
                            GradientUpdateType::FSAdaGrad, GradientUpdateType::Adam})
    {
        options.gradUpdateType = rule;
        EXPECT_EQ(KernelsOfMinibatches(options, true), 0u) << int(rule);
    }
    EXPECT_THAT(m_lines, testing::IsEmpty());
}

TEST_F(GraphTraining, AClassifierGetsTheSameBits)
{
    for (const double dropout : {0.0, 0.4})
        for (const auto rule : {GradientUpdateType::None, GradientUpdateType::AdaGrad, GradientUpdateType::RmsProp,
                                GradientUpdateType::FSAdaGrad, GradientUpdateType::Adam})
        {
            SCOPED_TRACE(testing::Message() << "rule " << int(rule) << ", dropout " << dropout);
            const size_t launches = ExpectSameModels(
                [&]
                {
                    TrainingRequest request = ClassifierRequest(4, dropout > 0);
                    request.options.gradUpdateType = rule;
                    request.options.dropoutRate = dropout;
                    request.options.l2RegWeight = 0.001;
                    request.options.l1RegWeight = 0.0005;
                    return request;
                });
            EXPECT_GT(launches, 12u);
        }
}

TEST_F(GraphTraining, RatesDropoutAndMomentumChangeFromEpochToEpoch)
{
    EXPECT_GT(ExpectSameModels(
                  [&]
                  {
                      TrainingRequest request = ClassifierRequest(5, true);
                      request.options.learningRatesPerSample.values = {0.1f, 0.1f, 0.02f, 0.05f};
                      request.options.dropoutRate.values = {0.5, 0.0, 0.0, 0.2};
                      return request;
                  }),
              12u);
}

TEST_F(GraphTraining, NoiseAndClippingByNormTrainStepByStep)
{
    const size_t launches = ExpectSameModels(
        [&]
        {
            TrainingRequest request = ClassifierRequest(4);
            request.options.gaussianNoiseInjectStd = 0.01;
            request.options.clippingThresholdPerSample = 0.01;
            request.options.gradientClippingWithTruncation = false;
            return request;
        });
    EXPECT_GT(launches, 8u); // forward and backward
    EXPECT_THAT(m_lines, testing::Contains(HasSubstr("the update runs step by step, not as a CUDA graph")));
}

} // namespace cntk
