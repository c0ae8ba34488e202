// Trainings on an emulated GPU that records its steps: the same bits as step by step, and no kernel of a minibatch is
// launched by itself.
#include "Common/Error.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "SGDTests/TrainingFixture.h"

#include <cmath>
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
        ProgressSettings display;
        display.numMBsToShowResult = 100;
        EpochRun run(*this, options, 500, dropout, display);
        size_t minibatches = 0;
        CudaEmulation::WorkCounts before;
        CudaEmulation::WorkCounts after;
        run.settings.continues = [&]
        {
            ++minibatches;
            if (minibatches == 4)
                before = runtime.Counts();
            if (minibatches == 18)
                after = runtime.Counts();
            return true;
        };
        run.loop.Run(run.settings);
        EXPECT_EQ(minibatches, 20u);
        EXPECT_EQ(after.hostWaits, before.hostWaits) << "the host waited";
        EXPECT_EQ(after.captures, before.captures) << "work was recorded again";
        EXPECT_GE(after.graphLaunches, before.graphLaunches + 3 * 14);
        return after.kernels - before.kernels;
    }

    // Convolution, batch normalization, pooling and dropout on images of 6 x 6.
    std::unique_ptr<ComputationNetwork> ImageClassifier(double timeConstant) const
    {
        auto network = std::make_unique<ComputationNetwork>(DataType::Float32, m_device);
        const auto features = network->AddInput("features", {1, 6, 6});
        const auto labels = network->AddInput("labels", {2});
        uint64_t seed = 1;
        const auto parameter = [&](const char* name, const TensorShape& shape)
        {
            auto node = std::dynamic_pointer_cast<LearnableParameterNode>(network->AddParameter(name, shape));
            node->InitUniform(seed++, 10);
            return node;
        };
        NodeParameters plane;
        for (const char* name : {"kernelShape", "kernelHeight", "outputChannels"})
            plane.Set(name, "2");
        for (const char* name : {"horizontalSubsample", "verticalSubsample"})
            plane.Set(name, "1");
        std::vector<ComputationNodePtr> inputs{
            network->Add("Convolution", "c", {parameter("W", {2, 4}), features}, plane), parameter("scale", {2, 1}),
            parameter("bias", {2, 1})};
        for (const char* name : {"mean", "deviation"})
        {
            inputs.push_back(parameter(name, {2, 1}));
            dynamic_cast<LearnableParameterNode&>(*inputs.back()).SetLearningRateMultiplier(0);
        }
        NodeParameters options;
        options.Set("spatial", "true");
        options.Set("imageLayout", "HWC");
        options.Set("normalizationTimeConstant", std::to_string(timeConstant));
        const auto normalized = network->Add("BatchNormalization", "n", inputs, options);
        NodeParameters window;
        for (const char* name : {"windowWidth", "windowHeight"})
            window.Set(name, "2");
        for (const char* name : {"horizontalSubsample", "verticalSubsample"})
            window.Set(name, "1");
        const auto pooled = network->Add("MaxPooling", "p", {network->Add("Tanh", "t", {normalized})}, window);
        const auto dropped = network->Add("Dropout", "d", {pooled});
        const auto output = network->Add("Times", "o", {parameter("Wout", {2, 32}), dropped});
        network->AddToGroup(NodeGroup::Criterion, network->Add("CrossEntropyWithSoftmax", "ce", {labels, output}));
        network->AddToGroup(NodeGroup::Evaluation, network->Add("ErrorPrediction", "err", {labels, output}));
        network->Validate();
        return network;
    }

    static SyntheticData Images(size_t samples)
    {
        SyntheticData data{.featureDim = 36, .labelDim = 2, .features = {}, .labels = {}};
        for (size_t i = 0; i < samples; ++i)
        {
            for (size_t element = 0; element < 36; ++element)
                data.features.push_back(std::sin(double(i * 36 + element * (1 + i % 2))));
            data.labels.insert(data.labels.end(), {double(i % 2), double(1 - i % 2)});
        }
        return data;
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

// Where each minibatch counts as much as all before, the forward pass is another one each time.
TEST_F(GraphTraining, ANetworkForImagesGetsTheSameBits)
{
    for (const double timeConstant : {100.0, 0.0, -1.0})
    {
        SCOPED_TRACE(timeConstant);
        const size_t launches = ExpectSameModels(
            [&]
            {
                TrainingRequest request = ClassifierRequest(4);
                request.dataType = DataType::Float32;
                request.options.dropoutRate = 0.2;
                request.buildNetwork = [this, timeConstant] { return ImageClassifier(timeConstant); };
                request.openReader = []
                { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<float>>(Images(40))); };
                return request;
            });
        EXPECT_GT(launches, 20u);
    }
}

// Minibatches of a quarter of a megabyte, which travel on a stream of their own.
TEST_F(GraphTraining, EveryOrderOfTheStreamsGivesTheSameBits)
{
    constexpr size_t dimension = 600;
    SyntheticData data{.featureDim = dimension, .labelDim = 1, .features = {}, .labels = {}};
    for (size_t i = 0; i < 700; ++i)
    {
        for (size_t element = 0; element < dimension; ++element)
            data.features.push_back(std::sin(double(i * dimension + element)));
        data.labels.push_back(std::cos(double(i)));
    }
    std::string first;
    for (const WorkOrder order : {WorkOrder::Eager, WorkOrder::Late, WorkOrder::FirstLate, WorkOrder::FirstEager})
    {
        const EmulatedRuntime& runtime = TakeGpu(true, order);
        TrainingRequest request = ClassifierRequest(2);
        request.options.minibatchSize = 60;
        request.options.learningRatesPerSample = 0.0001f;
        request.makeMode = false;
        request.buildNetwork = [this]
        {
            auto network = std::make_unique<ComputationNetwork>(DataType::Float64, m_device);
            const auto features = network->AddInput("features", {dimension});
            const auto labels = network->AddInput("labels", {1});
            const auto w =
                std::dynamic_pointer_cast<LearnableParameterNode>(network->AddParameter("W", {1, dimension}));
            w->InitUniform(3, 1);
            const auto product = network->Add("Times", "y", {w, features});
            network->AddToGroup(NodeGroup::Criterion, network->Add("SquareError", "se", {labels, product}));
            network->Validate();
            return network;
        };
        request.openReader = [data]
        { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(data)); };
        request.modelPath = Path(Concat("order", int(order), ".dnn"));
        Run(request);
        EXPECT_GT(runtime.Counts().streamWaits, 20u) << "nothing travelled on the other stream";
        const std::string model = BytesOf(request.modelPath);
        first = first.empty() ? model : first;
        EXPECT_TRUE(model == first) << "order " << int(order);
    }
}

TEST_F(GraphTraining, NoiseAndClippingByNormAreAPartOfTheGraph)
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
    EXPECT_GT(launches, 12u); // forward, backward and update
    EXPECT_THAT(m_lines, testing::Not(testing::Contains(HasSubstr("step by step"))));
}

} // namespace cntk
