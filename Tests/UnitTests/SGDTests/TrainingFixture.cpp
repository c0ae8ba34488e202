// Folder, log, data and networks of the learner's tests.
#include "SGDTests/TrainingFixture.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Interruption.h"
#include "SGD/Schedules/Schedules.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <unistd.h>

namespace cntk
{

static EvaluatorOptions ForTraining()
{
    EvaluatorOptions options;
    options.training = true;
    return options;
}

TrainingTest::TrainingTest() : m_device(MakeCpuDevice({.threads = 1}))
{
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    m_folder = (std::filesystem::temp_directory_path() /
                Concat("cntk_sgd_", ::getpid(), "_", info->test_suite_name(), "_", info->name()))
                   .string();
    std::filesystem::remove_all(m_folder);
    std::filesystem::create_directories(m_folder);
    m_log = std::make_unique<Log>();
    m_log->RedirectTo(Path("log.txt"));
}

TrainingTest::~TrainingTest()
{
    m_log.reset();
    std::filesystem::remove_all(m_folder);
}

std::string TrainingTest::LogText()
{
    return BytesOf(Path("log.txt"));
}

size_t TrainingTest::Count(const std::string& text)
{
    size_t count = 0;
    const std::string log = LogText();
    for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1))
        ++count;
    return count;
}

std::string TrainingTest::BytesOf(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
}

std::unique_ptr<ComputationNetwork> TrainingTest::Line(double weight, DataType type) const
{
    auto network = std::make_unique<ComputationNetwork>(type, m_device);
    const auto features = network->AddInput("features", {1});
    const auto labels = network->AddInput("labels", {1});
    const auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(network->AddParameter("W", {1, 1}));
    parameter->InitFixed(weight);
    const auto product = network->Add("Times", "y", {parameter, features});
    const auto criterion = network->Add("SquareError", "criterion", {labels, product});
    network->AddToGroup(NodeGroup::Feature, features);
    network->AddToGroup(NodeGroup::Label, labels);
    network->AddToGroup(NodeGroup::Criterion, criterion);
    network->Validate();
    return network;
}

std::unique_ptr<ComputationNetwork> TrainingTest::Classifier(bool dropout, DataType type) const
{
    auto network = std::make_unique<ComputationNetwork>(type, m_device);
    const auto features = network->AddInput("features", {2});
    const auto labels = network->AddInput("labels", {2});
    uint64_t seed = 1;
    const auto parameter = [&](const char* name, const TensorShape& shape)
    {
        auto node = std::dynamic_pointer_cast<LearnableParameterNode>(network->AddParameter(name, shape));
        node->InitUniform(seed++, 10);
        return node;
    };
    const auto product = network->Add("Times", "W0*features", {parameter("W0", {5, 2}), features});
    const auto sum = network->Add("Plus", "z", {product, parameter("B0", {5, 1})});
    ComputationNodePtr hidden = network->Add("Sigmoid", "H1", {sum});
    if (dropout)
        hidden = network->Add("Dropout", "H1_D", {hidden});
    const auto output = network->Add("Times", "W1*H1", {parameter("W1", {2, 5}), hidden});
    const auto last = network->Add("Plus", "HLast", {output, parameter("B1", {2, 1})});
    network->AddToGroup(NodeGroup::Feature, features);
    network->AddToGroup(NodeGroup::Label, labels);
    network->AddToGroup(NodeGroup::Criterion, network->Add("CrossEntropyWithSoftmax", "ce", {labels, last}));
    network->AddToGroup(NodeGroup::Evaluation, network->Add("ErrorPrediction", "err", {labels, last}));
    network->AddToGroup(NodeGroup::Output, last);
    network->Validate();
    return network;
}

SyntheticData TrainingTest::TwoClasses(size_t samples, unsigned seed)
{
    SyntheticData data{.featureDim = 2, .labelDim = 2, .features = {}, .labels = {}};
    std::minstd_rand0 random(seed);
    const auto draw = [&] { return double(random()) / 2147483647.0 * 2 - 1; };
    for (size_t i = 0; i < samples; ++i)
    {
        const double x = draw();
        const double y = draw();
        const bool isAbove = y > 0.5 * std::sin(3 * x);
        data.features.insert(data.features.end(), {x, y});
        data.labels.insert(data.labels.end(), {isAbove ? 1.0 : 0.0, isAbove ? 0.0 : 1.0});
    }
    return data;
}

TrainingRequest TrainingTest::ClassifierRequest(size_t maxEpochs, bool dropout) const
{
    TrainingRequest request;
    request.options.maxEpochs = maxEpochs;
    request.options.minibatchSize = 5;
    request.options.learningRatesPerSample = 0.05f;
    request.options.momentumPerMB = 0.8f;
    request.modelPath = Path("m.dnn");
    request.dataType = DataType::Float64;
    request.device = m_device;
    request.buildNetwork = [this, dropout] { return Classifier(dropout); };
    request.openReader = []
    { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(TwoClasses(23, 7))); };
    return request;
}

std::string TrainingTest::StopAt(TrainingRequest request, size_t count)
{
    request.stopRequested = [count, asked = size_t(0)]() mutable { return ++asked >= count; };
    try
    {
        Run(request);
    }
    catch (const Interrupted& stop)
    {
        return stop.what();
    }
    return "";
}

void TrainingTest::ExpectSameBits(TrainingRequest request, size_t stopAfter)
{
    request.modelPath = Path("whole.dnn");
    Run(request);
    request.modelPath = Path("parts.dnn");
    size_t stops = 0;
    while (!StopAt(request, stopAfter).empty())
    {
        ASSERT_LT(++stops, 1000u);
        EXPECT_FALSE(FileExists(Path("parts.dnn")));
    }
    EXPECT_GT(stops, 2u);
    EXPECT_EQ(BytesOf(Path("parts.dnn")), BytesOf(Path("whole.dnn")));
    EXPECT_EQ(BytesOf(Path("parts.dnn.ckp")), BytesOf(Path("whole.dnn.ckp")));
    for (const auto& entry : std::filesystem::directory_iterator(m_folder))
    {
        const std::string name = entry.path().filename().string();
        EXPECT_FALSE(name.starts_with("parts.dnn") && name.find(".at") != std::string::npos) << name;
    }
}

std::vector<double> TrainingTest::ValuesOf(const ComputationNetwork& network, const std::string& parameter)
{
    return std::dynamic_pointer_cast<LearnableParameterNode>(network.Require(parameter))->Values().ToHost();
}

TrainingTest::EpochRun::EpochRun(const TrainingTest& test, const SgdOptions& options, size_t samples, bool dropout,
                                 const ProgressSettings& display)
    : network(test.Classifier(dropout, DataType::Float32)), nodes(SelectTrainingNodes(*network, "", "")),
      source(std::make_unique<SyntheticReader<float>>(TwoClasses(samples, 7))),
      evaluator(*network, nodes.Roots(), ForTraining()),
      learner(evaluator.Parameters(), options, DataType::Float32, *test.m_device), progress(*test.m_log, display),
      loop(nodes, evaluator, source, learner, progress)
{
    source.BindTo(nodes.Roots());
    DropoutSchedule(nodes.criterion).SetRate(dropout ? 0.3 : 0, *test.m_log);
    settings.minibatchSize = 25;
    settings.learningRatePerSample = 0.01;
    settings.momentumPerSample = 0.99;
}

} // namespace cntk
