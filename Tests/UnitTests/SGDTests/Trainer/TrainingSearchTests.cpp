// Trainings with searches, adaptation and minibatches in parts: their logs and that nothing leaks between trials.
#include "Common/Error.h"
#include "ComputationNetwork/Files/CheckpointFile.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "SGD/Evaluation/Evaluation.h"
#include "SGDTests/TrainingFixture.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <sstream>

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
        { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(TwoClasses(230, 11))); };
        return request;
    }
    // A line through the origin, which begins with this slope and learns these points.
    TrainingRequest LineRequest(size_t maxEpochs, double slope, const SyntheticData& points)
    {
        TrainingRequest request = SearchRequest(maxEpochs);
        request.buildNetwork = [this, slope] { return Line(slope); };
        request.openReader = [points]
        { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(points)); };
        request.options.dropoutRate = 0.0;
        request.options.momentumPerMB = 0.0f;
        return request;
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
    // The classifier with another criterion behind a batch normalization.
    std::unique_ptr<ComputationNetwork> NormalizedClassifier() const
    {
        auto network = Classifier();
        const auto parameter = [&](const char* name)
        {
            const ComputationNodePtr node = network->AddParameter(name, TensorShape{2, 1});
            dynamic_cast<LearnableParameterNode&>(*node).SetLearningRateMultiplier(0);
            return node;
        };
        const auto normalized = network->Add("BatchNormalization", "normalized",
                                             {network->Require("HLast"), parameter("scale"), parameter("bias"),
                                              parameter("mean"), parameter("deviation")});
        std::dynamic_pointer_cast<LearnableParameterNode>(network->Require("scale"))->InitUniform(9, 20);
        network->AddToGroup(NodeGroup::Criterion,
                            network->Add("CrossEntropyWithSoftmax", "other", {network->Require("labels"), normalized}));
        network->Validate();
        return network;
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

// gradientcheck computes the same, but an epoch whose minibatches are to be checked is not a trial that was not.
TEST_F(TrainingSearchTest, ATrialThatChoseTheRateIsTheEpochWhereItIsAsLong)
{
    for (const bool noise : {false, true})
    {
        SCOPED_TRACE(noise ? "with noise" : "without noise");
        TrainingRequest request = SearchRequest(6);
        request.makeMode = false;
        request.options.keepCheckPointFiles = true;
        request.options.dropoutRate = 0.0;
        request.options.gaussianNoiseInjectStd = noise ? 0.001 : 0;
        request.options.gradUpdateType = GradientUpdateType::FSAdaGrad;
        request.options.epochSize = 230;
        request.options.autoAdjust.numMiniBatch4LRSearch = 500; // more than the epoch has
        request.options.traceLevel = 1;
        request.options.numMBsToShowResult = 4;
        request.options.firstMBsToShowResult = 2;
        const auto run = [&](const std::string& name)
        {
            request.modelPath = Path(name);
            const size_t before = LogText().size();
            Run(request);
            std::string text;
            std::istringstream lines(LogText().substr(before));
            for (std::string line; std::getline(lines, line);)
                if (line.starts_with(" Epoch[") || line.starts_with("Finished Epoch["))
                    text += line.substr(0, std::min(line.find("TotalTime"), line.find("EpochTime"))) + "\n";
            return text;
        };
        const std::string continued = run("continued.dnn");
        EXPECT_NE(LogText().find(" without the last one, which is the epoch itself\n"), std::string::npos);
        const size_t count = Count(" without the last one");
        request.options.gradientCheck = !noise;
        request.options.sigFigs = 1;
        request.options.autoAdjust.autoAdjustMinibatch = noise; // the size search looks from the same state
        request.options.autoAdjust.minibatchSizeTuningMax = 5;
        const std::string anew = run("anew.dnn");
        // The size is not looked for before the first epoch, whose size is listed.
        EXPECT_EQ(Count(" without the last one"), count + (noise ? 1 : 0));
        EXPECT_EQ(continued, anew);
        for (const char* file : {"", ".1", ".2", ".5", ".3.ckp", ".5.ckp", ".ckp"})
            EXPECT_EQ(BytesOf(Path("continued.dnn") + file), BytesOf(Path("anew.dnn") + file)) << file;
    }
}

TEST_F(TrainingSearchTest, ATrialIsNoLongerThanItsEpochHoweverManyMinibatchesItMayHave)
{
    for (const size_t epochSize : {size_t(0), size_t(100)})
    {
        TrainingRequest request = SearchRequest(2);
        request.makeMode = false;
        request.options.epochSize = epochSize;
        request.options.minibatchSize = size_t(4);
        std::vector<std::string> models;
        for (const size_t most : {size_t(1000), size_t(1) << 62, std::numeric_limits<size_t>::max()})
        {
            request.options.autoAdjust.numMiniBatch4LRSearch = most;
            Run(request);
            models.push_back(BytesOf(Path("m.dnn")));
        }
        if (epochSize != 0) // else a trial of 4,000 samples goes through the 230 several times
        {
            EXPECT_EQ(models[1], models[0]);
        }
        EXPECT_EQ(models[2], models[1]);
    }
}

// Notes what it is asked for.
class NotingReader final : public SyntheticReader<double>
{
public:
    NotingReader(SyntheticData data, std::vector<EpochRequest>& requests)
        : SyntheticReader<double>(std::move(data)), m_requests(requests)
    {
    }
    void StartEpoch(const EpochRequest& request) override
    {
        m_requests.push_back(request);
        SyntheticReader<double>::StartEpoch(request);
    }

private:
    std::vector<EpochRequest>& m_requests;
};

TEST_F(TrainingSearchTest, ATrialIsAnEpochOfItsOwnLength)
{
    for (const bool ofSize : {false, true})
    {
        SCOPED_TRACE(ofSize ? "minibatch size" : "rate");
        TrainingRequest request = SearchRequest(2);
        request.makeMode = false;
        request.options.traceLevel = 1;
        std::vector<EpochRequest> requests;
        request.openReader = [&]
        { return std::make_unique<MinibatchSource>(std::make_unique<NotingReader>(TwoClasses(230, 11), requests)); };
        if (ofSize)
        {
            request.options.learningRatesPerSample = 0.001f;
            request.options.autoAdjust.autoAdjustLR = LearningRateSearch::None;
            request.options.autoAdjust.autoAdjustMinibatch = true;
            request.options.autoAdjust.minibatchSizeTuningMax = 64;
            request.options.autoAdjust.minibatchSearchCriterionErrorMargin = 1000;
        }
        const size_t before = LogText().size();
        Run(request);
        ASSERT_GE(requests.size(), 4u);
        size_t trials = 0, epochs = 0;
        for (const EpochRequest& asked : requests)
        {
            trials += asked.epoch == 1 && asked.epochSize == 75 ? 1 : 0; // 15 minibatches of 5
            epochs += asked.epochSize == c_wholeDataSet ? 1 : 0;
            if (!ofSize)
            {
                EXPECT_EQ(asked.minibatchSize, 5u);
            }
        }
        EXPECT_GE(trials, 2u);
        EXPECT_EQ(epochs, 2u);
        // Trials of all sizes are of so many samples, the last minibatch being what is left.
        const std::string log = LogText().substr(before);
        EXPECT_EQ(log.find("SamplesSeen = 128"), std::string::npos);
        EXPECT_EQ(requests.back().epochSize, c_wholeDataSet);
    }
}

TEST_F(TrainingSearchTest, SizesThatNoTrialCanTellApartAreWarnedOf)
{
    TrainingRequest request = SearchRequest(2);
    request.options.learningRatesPerSample = 0.001f;
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::None;
    request.options.autoAdjust.autoAdjustMinibatch = true;
    request.options.autoAdjust.minibatchSizeTuningMax = 256;
    request.options.autoAdjust.minibatchSearchCriterionErrorMargin = 1000;
    Run(request);
    EXPECT_EQ(Count("the search for a minibatch size had trials of 75 samples"), 1u) << LogText();
}

TEST_F(TrainingSearchTest, TrialsLeaveNoCountBehind)
{
    TrainingRequest request = SearchRequest(2);
    request.options.dropoutRate = 0;
    request.buildNetwork = [this] { return NormalizedClassifier(); };
    request.options.trainCriterionNodeName = "other";
    Run(request);
    const auto network = LoadModel(Path("m.dnn"), DataType::Float64, m_device);
    EXPECT_NE(network->Require("normalized")->DescribeFields().find("minibatches=92"), std::string::npos)
        << network->Require("normalized")->DescribeFields(); // two epochs of 46
}

TEST_F(TrainingSearchTest, AValidationUsesStatisticsAndLeavesThemAlone)
{
    TrainingRequest request = ClassifierRequest(3);
    request.makeMode = false;
    request.buildNetwork = [this] { return NormalizedClassifier(); };
    request.options.trainCriterionNodeName = "other";
    request.options.evalCriterionNodeName = "err";
    Run(request);
    const std::string alone = BytesOf(Path("m.dnn"));
    request.openCvReader = []
    { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(TwoClasses(40, 8))); };
    Run(request);
    EXPECT_EQ(BytesOf(Path("m.dnn")), alone);
    EXPECT_EQ(Count("[Validation Set]"), 3u);

    // A test of the model computes the same in minibatches of another size.
    const auto network = LoadModel(Path("m.dnn"), DataType::Float64, m_device);
    const auto source = request.openCvReader();
    const ComputationNodePtr criterion = network->Require("other");
    source->BindTo({criterion});
    EvaluationSettings settings;
    settings.minibatchSize = 40;
    const double tested = EvaluateCriteria(*network, {criterion}, *source, settings, *m_log).nodes[0].average;
    char text[80];
    std::snprintf(text, sizeof text, "Finished Epoch[ 3 of 3]: [Validation Set] TrainLossPerSample = %.8g;", tested);
    EXPECT_EQ(Count(text), 1u) << text << "\n" << LogText();
}

// With the masks of a trial, or without the values of traced nodes, the epoch would be another one.
TEST_F(TrainingSearchTest, ATrialIsNotTheEpochWhereMasksAreDrawnOrValuesTraced)
{
    TrainingRequest request = SearchRequest(2);
    request.options.epochSize = 230;
    request.options.autoAdjust.numMiniBatch4LRSearch = 500;
    request.options.autoAdjust.numBestSearchEpoch = 0;
    const auto trialsThatAreEpochs = [&](const char* name, double dropoutRate, bool traces)
    {
        request.modelPath = Path(name);
        request.options.dropoutRate = dropoutRate;
        request.options.traceNodeNamesReal.names = traces ? std::vector<std::string>{"ce"} : std::vector<std::string>{};
        const size_t before = Count("which is the epoch itself");
        Run(request);
        return Count("which is the epoch itself") - before;
    };
    EXPECT_EQ(trialsThatAreEpochs("plain.dnn", 0, false), 2u) << LogText();
    EXPECT_EQ(trialsThatAreEpochs("dropout.dnn", 0.2, false), 0u);
    EXPECT_EQ(trialsThatAreEpochs("traced.dnn", 0, true), 0u);
}

// At rate 0 the data or the network are to blame: no smaller rate is any better.
TEST_F(TrainingSearchTest, ACriterionThatIsNoNumberAtRestEndsTheSearch)
{
    TrainingRequest request = SearchRequest(2);
    request.openReader = []
    {
        SyntheticData data = TwoClasses(230, 11);
        data.features[data.featureDim * 41] = std::nan("");
        return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(data));
    };
    const std::string message = MessageOf(request);
    EXPECT_NE(message.find("is not a finite number in the search before epoch 1, minibatch 9 (learning rate per sample "
                           "0); the first node that is not finite: value of 'features' (InputValue)"),
              std::string::npos)
        << message;
    EXPECT_EQ(Count("AdaptiveLearnRateSearch: Epoch["), 0u);
}

TEST_F(TrainingSearchTest, AValidationCriterionThatIsNoNumberIsWarnedOf)
{
    TrainingRequest request = ClassifierRequest(2);
    request.openCvReader = []
    {
        SyntheticData data = TwoClasses(40, 8);
        data.features[3] = std::nan("");
        return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(data));
    };
    Run(request);
    EXPECT_EQ(Count("of the validation data is not finite after epoch 1;"), 1u) << LogText();
    EXPECT_EQ(Count("of the validation data is not finite after epoch 2;"), 1u);
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
        request.options.learningRatesPerSample = 0.05f;        // of the first epoch
        request.options.autoAdjust.numMiniBatch4LRSearch = 46; // as long: the last epoch's criterion alone counts
        request.options.autoAdjust.learnRateSearchGoal = goal;
        const size_t before = LogText().size();
        Run(request);
        const std::string log = LogText().substr(before);
        const std::string loss = "Finished Mini-Epoch For LearnRate Selection: TrainLossPerSample = ";
        const double atRest = std::stod(log.substr(log.find(loss) + loss.size()));
        return std::stod(log.substr(log.find("baseCriterion=") + 14)) / atRest;
    };
    EXPECT_NEAR(allowance(RateSearchGoal::Improvement), 1, 2e-7); // digits in the log
    EXPECT_GT(allowance(RateSearchGoal::Sufficient), 1.01);

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

// y = 2 x on large numbers: rates that do not diverge lie far below 0.01/minibatchSize.
TEST_F(TrainingSearchTest, ARateForLargeNumbersIsFoundBeforeTheFirstEpoch)
{
    SyntheticData points{.featureDim = 1, .labelDim = 1, .features = {}, .labels = {}};
    for (size_t i = 0; i < 60; ++i)
    {
        points.features.push_back(30 * (1 + 0.02 * double(i)));
        points.labels.push_back(2 * points.features.back());
    }
    TrainingRequest request = LineRequest(1, 1, points);
    request.options.autoAdjust.numMiniBatch4LRSearch = 6;
    std::vector<EpochReport> reports;
    request.epochDone = [&](const EpochReport& report) { reports.push_back(report); };
    Run(request);
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_LT(reports[0].learningRatePerSample, 0.1 * 0.01 / 5);
    // The first trial is at rate 0, on the first half.
    double atRest = 0;
    for (size_t i = 0; i < 30; ++i)
        atRest += std::pow(points.features[i], 2) / 30;
    EXPECT_LT(reports[0].criterion, atRest);
}

// Successive minibatches have opposite labels, so every rate is worse than rate 0.
TEST_F(TrainingSearchTest, WhereNoRateIsAnyBetterBeforeTheFirstEpochTheTrainingEndsAndSaysSo)
{
    SyntheticData points{.featureDim = 1, .labelDim = 1, .features = {}, .labels = {}};
    for (size_t i = 0; i < 230; ++i)
    {
        points.features.push_back(1);
        points.labels.push_back(i / 5 % 2 == 0 ? 1 : -1);
    }
    TrainingRequest request = LineRequest(2, 0, points);
    Run(request);
    EXPECT_EQ(Count("Finished Epoch"), 0u);
    EXPECT_EQ(
        Count("the search before epoch 1 of 2 rejected every learning rate, so the training ends here: give the rate "
              "of this epoch (learningRatesPerSample), or longer trials (numMiniBatch4LRSearch, now 15)\n"),
        1u)
        << LogText();
    EXPECT_EQ(Count("is less than minLearnRate 9.9999997e-10. Training complete.\n"), 1u);
    EXPECT_EQ(BytesOf(Path("m.dnn")), BytesOf(Path("m.dnn.0")));
}

// The last minibatch of the first epoch pushes the parameter away from its optimum, and its momentum continues to push.
TEST_F(TrainingSearchTest, MomentumOfTheEpochBeforeMayRejectEveryRateAndTheLogSaysWhatToDo)
{
    SyntheticData points{.featureDim = 1, .labelDim = 1, .features = {}, .labels = std::vector<double>(225, 0.0)};
    points.features.assign(230, 0.1);
    points.labels.resize(230, -1);
    const auto train = [&](float momentum)
    {
        TrainingRequest request = LineRequest(2, 0, points);
        request.makeMode = false;
        request.options.learningRatesPerSample = 0.05f; // of the first epoch
        request.options.momentumPerMB = momentum;
        request.options.autoAdjust.learnRateSearchGoal = RateSearchGoal::Improvement;
        Run(request);
    };
    train(0);
    EXPECT_EQ(Count("Finished Epoch"), 2u) << LogText();
    EXPECT_EQ(Count("as in CNTK v1.1"), 0u);
    train(0.9f);
    EXPECT_EQ(Count("Finished Epoch"), 3u);
    EXPECT_EQ(Count("Trials of learning rates begin with the momentum of the epoch before, as in CNTK v1.1"), 1u);
    EXPECT_EQ(
        Count("the search before epoch 2 of 2 rejected every learning rate, so the training ends here: trials begin "
              "with the momentum of the epoch before, which moves the parameters even at rate 0; give momentumPerMB=0"),
        1u);
}

// Each forward pass of a trial draws the next mask, as in CNTK v1.1, whose files do not hold seeds.
TEST_F(TrainingSearchTest, MasksOfDropoutGoOnThroughTrials)
{
    TrainingRequest request = SearchRequest(3);
    request.options.traceLevel = 1;
    request.options.numMBsToShowResult = 1; // a line for each forward pass
    request.options.autoAdjust.numMiniBatch4LRSearch = 500;
    Run(request);
    const size_t passes = Count("]-Minibatch[");
    EXPECT_GT(passes, Count(" Epoch[ 1 of 3]-Minibatch[") + 2 * 46);
    EXPECT_EQ(Count("which is the epoch itself"), 0u) << "its masks are others";
    const Checkpoint checkpoint = LoadCheckpoint(Path("m.dnn.ckp"), DataType::Float64, *m_device);
    EXPECT_EQ(checkpoint.info.extra.at("dropoutSeeds"), std::to_string(1 + passes * 1073807359) + " ");
}

TEST_F(TrainingSearchTest, TrialsLeaveNoTrace)
{
    // The rates that were found, as a list: the same training.
    TrainingRequest request = SearchRequest(3);
    request.options.dropoutRate = 0.0;
    std::vector<double> rates;
    request.epochDone = [&](const EpochReport& report) { rates.push_back(report.learningRatePerSample); };
    Run(request);
    const std::string searched = BytesOf(Path("m.dnn"));
    ASSERT_EQ(rates.size(), 3u);

    const Checkpoint checkpoint = LoadCheckpoint(Path("m.dnn.ckp"), DataType::Float64, *m_device);
    EXPECT_EQ(checkpoint.info.learningRatePerSample, rates[2]);

    TrainingRequest listed = ClassifierRequest(3, true);
    listed.makeMode = false;
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
    // Twice in each of two searches: 90.5, too, is rounded to it.
    EXPECT_EQ(Count("AdaptiveMinibatchSearch: Evaluating trial minibatchSize=64 out of range 64..128 ...\n"), 4u);
    // The sizes of the epochs, next to the rates.
    EXPECT_EQ(Count("Minibatch size of epoch 1: "), 0u);
    EXPECT_EQ(Count("Minibatch size of epoch 2: 128\n"), 1u);
    EXPECT_EQ(Count("Minibatch size of epoch 4: 128\n"), 1u);
    EXPECT_EQ(Count("AdaptiveMinibatchSearch: Search for a better minibatchSize in epoch 4 skipped, keeping "
                    "minibatchSize of 128\n"),
              1u);
    const Checkpoint checkpoint = LoadCheckpoint(Path("m.dnn.ckp"), DataType::Float64, *m_device);
    EXPECT_EQ(checkpoint.info.minibatchSize, 128u);
}

// How far the rate fell says with which size the search begins: 5 over the root of the ratio.
TEST_F(TrainingSearchTest, ARateThatASearchFoundSaysWhereTheSizesBegin)
{
    TrainingRequest request = SearchRequest(2);
    request.options.dropoutRate = 0.0;
    request.options.learningRatesPerSample = 1.0f;
    request.options.autoAdjust.autoAdjustMinibatch = true;
    Run(request);
    const std::string log = LogText(), begin = "Best Learn Rate Per Sample for Epoch[2] = ";
    ASSERT_NE(log.find(begin), std::string::npos) << log;
    const double rate = std::stod(log.substr(log.find(begin) + begin.size()));
    ASSERT_LT(rate, 0.5);
    EXPECT_GT(Count(Concat(" out of range ", size_t(5 / std::sqrt(rate)), "..1048576 ...\n")), 0u) << log;
}

// Parts that are long enough for updates in the backward pass.
TEST_F(TrainingSearchTest, LongPartsTrainAsTheWholeMinibatch)
{
    for (const float momentum : {0.0f, 0.9f})
    {
        TrainingRequest request = ClassifierRequest(2);
        request.options.minibatchSize = 100;
        request.options.momentumPerMB = momentum;
        request.openReader = []
        { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(TwoClasses(200, 7))); };
        const auto train = [&](size_t parts)
        {
            request.modelPath = Path(Concat("m", parts, momentum, ".dnn"));
            request.options.numSubminibatches = parts;
            Run(request);
            return Values(request.modelPath.substr(m_folder.size() + 1), "W0");
        };
        const std::vector<double> whole = train(1), inParts = train(2);
        for (size_t i = 0; i < whole.size(); ++i)
            EXPECT_NEAR(inParts[i], whole[i], 1e-12) << momentum << ", element " << i;
    }
}

TEST_F(TrainingSearchTest, ASizeWhoseTrialLeavesTheNumbersIsNoSuccess)
{
    // Large numbers and, from the second epoch on, a rate that diverges.
    TrainingRequest request = ClassifierRequest(2);
    SyntheticData points{.featureDim = 1, .labelDim = 1, .features = {}, .labels = {}};
    for (size_t i = 0; i < 60; ++i)
    {
        points.features.push_back(1e6);
        points.labels.push_back(2e6);
    }
    request.buildNetwork = [this] { return Line(1); };
    request.openReader = LineRequest(2, 1, points).openReader;
    request.options.learningRatesPerSample = {};
    request.options.learningRatesPerSample.values = {2e-9f, 1.0f};
    request.options.minibatchSize = 2;
    request.options.autoAdjust.autoAdjustMinibatch = true;
    request.options.autoAdjust.minibatchSizeTuningMax = 8;
    EXPECT_NE(MessageOf(request).find("is not a finite number"), std::string::npos);
    EXPECT_EQ(Count("Search successful"), 0u) << LogText();
    EXPECT_EQ(Count("AdaptiveMinibatchSearch: Search failed before epoch 2: the criterion is no number already with "
                    "the smallest size, 2, which is kept; a smaller learning rate may help (now 1 per sample)\n"),
              1u)
        << LogText();
    EXPECT_EQ(Count("The criterion of this trial is no number from minibatch "), 1u);
}

TEST_F(TrainingSearchTest, TrialsAsLongAsEpochsAreWarnedOfOnce)
{
    const auto warnings = [this](size_t epochSize, size_t minibatches)
    {
        TrainingRequest request = SearchRequest(3);
        request.makeMode = false;
        request.options.dropoutRate = 0.0;
        request.options.epochSize = epochSize;
        request.options.autoAdjust.numMiniBatch4LRSearch = minibatches;
        const size_t before = Count("the search takes several times as long as the training");
        Run(request);
        return Count("the search takes several times as long as the training") - before;
    };
    EXPECT_EQ(warnings(0, 45), 0u);
    EXPECT_EQ(warnings(0, 60), 1u);
    EXPECT_EQ(Count("a trial of a search goes over 300 samples, and a whole epoch over 230: the search takes several "
                    "times as long as the training; give fewer minibatches for trials (numMiniBatch4LRSearch, now 60; "
                    "an epoch has 46, of which 10 to 20 % are usual)\n"),
              1u)
        << LogText();
    EXPECT_EQ(warnings(100, 19), 0u);
    EXPECT_EQ(warnings(100, 500), 1u); // a trial is then no longer than the epoch
    EXPECT_EQ(Count("a trial of a search goes over 100 samples, and a whole epoch over 100: "), 1u);
}

TEST_F(TrainingSearchTest, TheMasksOfDropoutStayOnInTheValidation)
{
    TrainingRequest request = ClassifierRequest(2, true);
    request.options.dropoutRate = 0.5;
    request.openCvReader = []
    { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(TwoClasses(40, 8))); };
    Run(request);
    const std::string log = LogText();
    const std::string line = "Finished Epoch[ 2 of 2]: [Validation Set] TrainLossPerSample = ";
    const double validated = std::stod(log.substr(log.find(line) + line.size()));

    // A test of the model has the same data and parameters, but no masks.
    const auto network = LoadModel(Path("m.dnn"), DataType::Float64, m_device);
    const auto source = request.openCvReader();
    const ComputationNodePtr criterion = network->Require("ce");
    source->BindTo({criterion});
    EvaluationSettings settings;
    settings.minibatchSize = 5;
    const double tested = EvaluateCriteria(*network, {criterion}, *source, settings, *m_log).nodes[0].average;
    EXPECT_GT(std::abs(validated - tested), 1e-4);
}

TEST_F(TrainingSearchTest, WhereTheLargestMinibatchSizeIsBelowTheSmallestNoneIsTried)
{
    TrainingRequest request = ClassifierRequest(2);
    request.options.autoAdjust.autoAdjustMinibatch = true;
    request.options.minibatchSize = 12;
    request.options.autoAdjust.minibatchSizeTuningMax = 8;
    Run(request);
    EXPECT_EQ(Count("AdaptiveMinibatchSearch: No size is tried: the smallest one, 12, is above the largest one, 8, "
                    "which is taken.\n"),
              1u)
        << LogText();
    EXPECT_EQ(Count("Search successful"), 0u) << "nothing was measured";
    EXPECT_EQ(LoadCheckpoint(Path("m.dnn.ckp"), DataType::Float64, *m_device).info.minibatchSize, 8u);
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
