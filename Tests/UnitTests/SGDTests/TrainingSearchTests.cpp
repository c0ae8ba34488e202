// Trainings with searches, adaptation and minibatches in parts: their logs and that nothing leaks between trials.
#include "Common/Error.h"
#include "ComputationNetwork/CheckpointFile.h"
#include "ComputationNetwork/ModelFile.h"
#include "SGDTests/TrainingFixture.h"

#include <cmath>
#include <filesystem>

namespace cntk
{

namespace
{

class TrainingSearchTest : public TrainingTest
{
protected:
    TrainingRequest SearchRequest(size_t maxEpochs)
    {
        TrainingRequest request = ClassifierRequest(maxEpochs, true);
        request.options.dropoutRate = 0.2;
        request.options.learningRatesPerSample = {};
        request.options.autoAdjust.autoAdjustLR = LearningRateSearch::SearchBeforeEpoch;
        request.options.autoAdjust.numMiniBatch4LRSearch = 15;
        request.openReader = []
        { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(TwoClasses(230, 7))); };
        return request;
    }
    size_t Count(const std::string& text)
    {
        size_t count = 0;
        const std::string log = LogText();
        for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1))
            ++count;
        return count;
    }
    std::vector<double> Values(const std::string& file, const std::string& parameter)
    {
        return ValuesOf(*LoadModel(Path(file), DataType::Float64, m_device), parameter);
    }
    std::string MessageOf(const TrainingRequest& request)
    {
        try
        {
            Run(request);
        }
        catch (const Error& error)
        {
            return error.Message();
        }
        return "no error";
    }
};

} // namespace

TEST_F(TrainingSearchTest, EveryTrialAndEveryChoiceIsInTheLog)
{
    TrainingRequest request = SearchRequest(3);
    request.options.traceLevel = 1;
    request.options.numMBsToShowResult = 15;
    Run(request);
    EXPECT_EQ(Count("Best Learn Rate Per Sample for Epoch["), 3u);
    EXPECT_EQ(Count("BaseAdaptiveLearnRateSearch: Epoch[ 1 of 3]-Minibatch[   1-  15]: SamplesSeen = 75; "),
              2u); // and Detail
    EXPECT_EQ(Count("DetailBaseAdaptiveLearnRateSearch: Epoch[ 1 of 3]"), 1u);
    EXPECT_EQ(Count("DetailBaseAdaptiveLearnRateSearch: Epoch[ 2 of 3]"), 0u);
    const size_t trials = Count("AdaptiveLearnRateSearch: Epoch[");
    EXPECT_EQ(Count("Finished Mini-Epoch For LearnRate Selection: TrainLossPerSample = "), trials);
    EXPECT_GE(trials, 8u);
}

TEST_F(TrainingSearchTest, TheGoalSaysWhatLaterEpochsLookFor)
{
    // How much worse than the criterion at rate 0 is good enough, after an epoch that learned much.
    const auto allowance = [this](RateSearchGoal goal)
    {
        TrainingRequest request = SearchRequest(2);
        request.makeMode = false;
        request.options.dropoutRate = 0;
        request.options.epochSize = 230;
        request.options.learningRatesPerSample = 0.05f; // of the first epoch
        request.options.autoAdjust.learnRateSearchGoal = goal;
        const size_t before = LogText().size();
        Run(request);
        const std::string log = LogText().substr(before);
        const std::string loss = "Finished Mini-Epoch For LearnRate Selection: TrainLossPerSample = ";
        const double atRest = std::stod(log.substr(log.find(loss) + loss.size()));
        return std::stod(log.substr(log.find("baseCriterion=") + 14)) / atRest;
    };
    EXPECT_NEAR(allowance(RateSearchGoal::Improvement), 1, 2e-7); // digits in the log
    EXPECT_GT(allowance(RateSearchGoal::Sufficient), 1.01);       // the last epoch's criterion counts

    TrainingRequest request = SearchRequest(3);
    request.makeMode = false;
    request.options.traceLevel = 1;
    request.options.numMBsToShowResult = 15;
    request.options.autoAdjust.learnRateSearchGoal = RateSearchGoal::Best;
    Run(request);
    for (const char* epoch : {"1", "2", "3"})
        EXPECT_EQ(Count(Concat("DetailBaseAdaptiveLearnRateSearch: Epoch[ ", epoch, " of 3]")), 1u);
    EXPECT_EQ(Count("The search before epoch 3: "), 1u);
}

TEST_F(TrainingSearchTest, TrialsLeaveNoTrace)
{
    // The rates that were found, as a list: the same training.
    TrainingRequest request = SearchRequest(3);
    std::vector<double> rates;
    request.epochDone = [&](const EpochReport& report) { rates.push_back(report.learningRatePerSample); };
    Run(request);
    const std::string searched = BytesOf(Path("m.dnn"));
    ASSERT_EQ(rates.size(), 3u);

    const Checkpoint checkpoint = LoadCheckpoint(Path("m.dnn.ckp"), DataType::Float64, *m_device);
    EXPECT_EQ(checkpoint.info.learningRatePerSample, rates[2]);

    TrainingRequest listed = ClassifierRequest(3, true);
    listed.makeMode = false;
    listed.options.dropoutRate = 0.2;
    listed.openReader = request.openReader;
    // The list is single precision.
    listed.options.learningRatesPerSample.values = {float(rates[0]), float(rates[1]), float(rates[2])};
    Run(listed);
    const auto got = Values("m.dnn", "W0");
    request.modelPath = Path("again.dnn");
    Run(request);
    EXPECT_EQ(BytesOf(Path("again.dnn")), searched);
    const auto want = Values("again.dnn", "W0");
    for (size_t i = 0; i < want.size(); ++i)
        EXPECT_NEAR(got[i], want[i], 1e-5 * (1 + std::abs(want[i])));
}

TEST_F(TrainingSearchTest, TheMinibatchSizeGrowsAndIsKeptBetweenSearches)
{
    TrainingRequest request = ClassifierRequest(5);
    request.openReader = []
    { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(TwoClasses(600, 7))); };
    request.options.minibatchSize = 64;
    request.options.learningRatesPerSample = 0.001f;
    request.options.autoAdjust.autoAdjustMinibatch = true;
    request.options.autoAdjust.minibatchSizeTuningFrequency = 3;
    request.options.autoAdjust.minibatchSizeTuningMax = 128;
    request.options.autoAdjust.minibatchSearchCriterionErrorMargin = 100;
    Run(request);
    // The first epoch has the list's size.
    EXPECT_EQ(Count("AdaptiveMinibatchSearch: Search successful. New minibatchSize is 128. EpochCriterion = "), 2u);
    EXPECT_EQ(Count("AdaptiveMinibatchSearch: Evaluating trial minibatchSize=64 out of range 64..128 ...\n"), 4u);
    EXPECT_EQ(Count("AdaptiveMinibatchSearch: Search for a better minibatchSize in epoch 4 skipped, keeping "
                    "minibatchSize of 128\n"),
              1u);
    const Checkpoint checkpoint = LoadCheckpoint(Path("m.dnn.ckp"), DataType::Float64, *m_device);
    EXPECT_EQ(checkpoint.info.minibatchSize, 128u);
}

TEST_F(TrainingSearchTest, PartsOfAMinibatchAddUp)
{
    Run(ClassifierRequest(2));
    const auto whole = Values("m.dnn", "W0");
    for (const bool byCount : {true, false})
    {
        TrainingRequest request = ClassifierRequest(2);
        request.makeMode = false;
        (byCount ? request.options.numSubminibatches : request.options.maxSamplesInRAM) = 2;
        std::vector<EpochReport> reports;
        request.epochDone = [&](const EpochReport& report) { reports.push_back(report); };
        Run(request);
        const auto parts = Values("m.dnn", "W0");
        for (size_t i = 0; i < whole.size(); ++i)
            EXPECT_NEAR(parts[i], whole[i], 1e-12);
        ASSERT_EQ(reports.size(), 2u);
        EXPECT_EQ(reports[1].samples, 23u);
    }
}

TEST_F(TrainingSearchTest, AnAdaptedNetworkIsPulledTowardsItsOriginal)
{
    // y = w x on labels of 2 x, where the original says 1 x: between them, by the weight.
    TrainingRequest request;
    request.options.maxEpochs = 60;
    request.options.minibatchSize = 5;
    request.options.learningRatesPerSample = 0.02f;
    request.options.momentumPerMB = 0.0f;
    request.options.adaptationRegType = AdaptationRegularization::KL;
    request.options.adaptationRegWeight = 0.25;
    request.modelPath = Path("line.dnn");
    request.dataType = DataType::Float64;
    request.device = m_device;
    request.buildNetwork = [this] { return Line(1); };
    request.openReference = request.buildNetwork;
    request.referenceNode = "y";
    const SyntheticData points{
        .featureDim = 1, .labelDim = 1, .features = {1, 2, -1, 0.5, 3}, .labels = {2, 4, -2, 1, 6}};
    request.openReader = [points]
    { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(points)); };
    Run(request);
    EXPECT_NEAR(Values("line.dnn", "W")[0], 0.25 * 1 + 0.75 * 2, 1e-9);

    request.modelPath = Path("other.dnn");
    request.referenceNode = "";
    EXPECT_EQ(MessageOf(request), "refNodeName is missing; adaptationRegType=KL needs the name of the original model's "
                                  "output node (its posteriors)");
    request.referenceNode = "z";
    EXPECT_EQ(MessageOf(request).find("refNodeName names 'z', but there is no such node in the original model"), 0u);
    request.openReference = nullptr;
    EXPECT_EQ(MessageOf(request),
              "adaptationRegType=KL needs an original model to stay near; expected action=adapt with "
              "originalModelFileName and refNodeName");
}

TEST_F(TrainingSearchTest, ReferenceAndLabelsMustHaveOneDimension)
{
    TrainingRequest request = ClassifierRequest(1);
    request.options.adaptationRegType = AdaptationRegularization::KL;
    request.options.adaptationRegWeight = 0.5;
    request.openReference = [this] { return Classifier(); };
    request.referenceNode = "H1";
    EXPECT_EQ(MessageOf(request),
              "refNodeName 'H1' has dimension 5, but label 'labels' has 2; expected the same, since "
              "they are mixed");
}

} // namespace cntk
