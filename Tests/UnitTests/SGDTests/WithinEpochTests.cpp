// Trainings that are stopped within an epoch and go on: their files, and that they end with the same bits.
#include "Common/Error.h"
#include "Common/File.h"
#include "CommonTests/ThrownErrors.h"
#include "SGDTests/TrainingFixture.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace cntk
{

class WithinEpochTest : public TrainingTest
{
protected:
    // The saved points that are there whenever the training, which saves as often as it can, asks whether to stop.
    std::vector<std::string> PointsOf(TrainingRequest request)
    {
        request.options.saveEveryMinutes = 1e-9;
        std::vector<std::string> seen;
        request.stopRequested = [&]
        {
            std::string files;
            for (const auto& entry : std::filesystem::directory_iterator(m_folder))
                if (entry.path().string().find(".at") != std::string::npos && entry.path().extension() != ".ckp")
                    files += entry.path().filename().string() + " ";
            seen.push_back(files);
            return false;
        };
        Run(request);
        return seen;
    }
};

TEST_F(WithinEpochTest, AStoppedTrainingSavesItsPlaceAndSaysHowToGoOn)
{
    // Asked in front of the epoch, then after each minibatch.
    EXPECT_EQ(StopAt(ClassifierRequest(2), 4), "the training was stopped as asked in epoch 1, after minibatch 3; run "
                                               "the same command again to go on from '" +
                                                   Path("m.dnn.0.at3") + "'");
    EXPECT_TRUE(FileExists(Path("m.dnn.0.at3")));
    EXPECT_TRUE(FileExists(Path("m.dnn.0.at3.ckp")));
    EXPECT_FALSE(FileExists(Path("m.dnn.1")));
    Run(ClassifierRequest(2));
    EXPECT_NE(LogText().find("Loading network from '" + Path("m.dnn.0.at3") + "'.\n"), std::string::npos);
    EXPECT_NE(LogText().find("Going on behind minibatch 3 of the epoch.\n"), std::string::npos);
    EXPECT_FALSE(FileExists(Path("m.dnn.0.at3")));
    EXPECT_FALSE(FileExists(Path("m.dnn.0.at3.ckp")));
}

TEST_F(WithinEpochTest, NothingIsSavedBeforeTheMinutesAreOver)
{
    TrainingRequest request = ClassifierRequest(2);
    request.options.saveEveryMinutes = 1e6;
    Run(request);
    EXPECT_EQ(Count("SGD: Saving checkpoint model '" + Path("m.dnn.0.at")), 0u) << LogText();
}

TEST_F(WithinEpochTest, InFrontOfAnEpochNothingMoreIsSaved)
{
    EXPECT_EQ(StopAt(ClassifierRequest(2), 1), "the training was stopped as asked in front of epoch 1; run the same "
                                               "command again to go on from '" +
                                                   Path("m.dnn.0") + "'");
    EXPECT_FALSE(FileExists(Path("m.dnn.0.at0")));
}

TEST_F(WithinEpochTest, EndsWithTheSameBitsWhateverTheRule)
{
    for (const GradientUpdateType rule :
         {GradientUpdateType::None, GradientUpdateType::AdaGrad, GradientUpdateType::RmsProp,
          GradientUpdateType::FSAdaGrad, GradientUpdateType::Adam})
    {
        std::filesystem::remove(Path("whole.dnn"));
        std::filesystem::remove(Path("parts.dnn"));
        TrainingRequest request = ClassifierRequest(4, true);
        request.makeMode = true;
        request.options.dropoutRate = 0.3;
        request.options.gaussianNoiseInjectStd = 0.01;
        request.options.gradUpdateType = rule;
        request.options.epochSize = 40;
        request.options.traceLevel = 1;
        for (size_t epoch = 0; epoch < 4; ++epoch)
            for (const char* name : {"whole.dnn.", "parts.dnn."})
                std::filesystem::remove(Path(name + std::to_string(epoch)));
        ExpectSameBits(request, 5);
    }
}

TEST_F(WithinEpochTest, StoppedInTheValidationItGoesOnAtTheEndOfTheEpoch)
{
    TrainingRequest request = ClassifierRequest(3, true);
    request.options.dropoutRate = 0.3;
    request.options.learningRatesPerSample = {};
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    request.options.autoAdjust.reduceLearnRateIfImproveLessThan = 0.5;
    request.openCvReader = request.openReader;
    // In front of the epoch, 5 minibatches, 1 of the validation.
    EXPECT_EQ(StopAt(request, 7), "the training was stopped as asked in the validation after epoch 1; run the same "
                                  "command again to go on from '" +
                                      Path("m.dnn.0.at5") + "'");
    ExpectSameBits(request, 7);
}

TEST_F(WithinEpochTest, SaveEveryMinutesKeepsTheLastPointOnly)
{
    const std::vector<std::string> seen = PointsOf(ClassifierRequest(2));
    ASSERT_EQ(seen.size(), 12u); // twice: in front, then after each of 5 minibatches
    EXPECT_EQ(seen[1], "");
    EXPECT_EQ(seen[2], "m.dnn.0.at1 ");
    EXPECT_EQ(seen[5], "m.dnn.0.at4 ");
    EXPECT_EQ(seen[6], "");
    EXPECT_EQ(seen[8], "m.dnn.1.at1 ");
    EXPECT_FALSE(FileExists(Path("m.dnn.1.at5")));
}

TEST_F(WithinEpochTest, ATrainingThatEndsEarlyLeavesNoPoint)
{
    TrainingRequest request = ClassifierRequest(20);
    request.options.saveEveryMinutes = 1e-9;
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    request.options.autoAdjust.reduceLearnRateIfImproveLessThan = 0.9;
    request.options.autoAdjust.continueReduce = true;
    Run(request);
    EXPECT_NE(LogText().find("Finished training and saved final model\n"), std::string::npos);
    ASSERT_TRUE(FileExists(Path("m.dnn")));
    EXPECT_FALSE(FileExists(Path("m.dnn.19"))) << "it came to its end";
    for (const auto& entry : std::filesystem::directory_iterator(m_folder))
        EXPECT_EQ(entry.path().string().find(".at"), std::string::npos) << entry.path();
}

TEST_F(WithinEpochTest, ADamagedPointIsReportedAndTheEpochBeginsAnew)
{
    const TrainingRequest request = ClassifierRequest(2);
    StopAt(request, 4);
    std::ofstream(Path("m.dnn.0.at3.ckp"), std::ios::binary) << "no checkpoint";
    Run(request);
    EXPECT_NE(LogText().find("'" + Path("m.dnn.0.at3.ckp") + "' cannot be used: "), std::string::npos);
    EXPECT_NE(LogText().find("Loading network from '" + Path("m.dnn.0") + "'.\n"), std::string::npos);
    EXPECT_FALSE(FileExists(Path("m.dnn.0.at3")));
}

TEST_F(WithinEpochTest, FewerDataThanBeforeAreRefused)
{
    TrainingRequest request = ClassifierRequest(2);
    StopAt(request, 6);
    request.openReader = []
    { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(TwoClasses(9, 7))); };
    EXPECT_EQ(MessageOf(ErrorKind::Data, [&] { Run(request); }),
              "the reader delivered 2 minibatches for epoch 1, but the training was stopped after "
              "5 of them; were the data or the reader's options changed? Without the model "
              "'...at5' the epoch begins anew");
}

TEST_F(WithinEpochTest, OtherDataThanBeforeAreTold)
{
    TrainingRequest request = ClassifierRequest(2);
    request.options.epochSize = 40;
    StopAt(request, 4);
    StopAt(request, 2);
    const std::string warning = "WARNING: epoch 1: its first ";
    EXPECT_EQ(LogText().find(warning), std::string::npos) << LogText();
    request.openReader = []
    { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(TwoClasses(9, 7))); };
    Run(request);
    EXPECT_NE(LogText().find(warning + "4 minibatches have 18 samples, but had 20 when the training was stopped: the "
                                       "data or the reader's options are others now, so that it is an epoch of "
                                       "neither; without the model '...at4' it begins anew\n"),
              std::string::npos)
        << LogText();
}

TEST_F(WithinEpochTest, WithoutMakeModeAnOldPointIsKeptAside)
{
    TrainingRequest request = ClassifierRequest(2);
    StopAt(request, 4);
    const std::string model = BytesOf(Path("m.dnn.0.at3")), checkpoint = BytesOf(Path("m.dnn.0.at3.ckp"));
    request.makeMode = false;
    EXPECT_NE(StopAt(request, 1), "");
    EXPECT_FALSE(FileExists(Path("m.dnn.0.at3")));
    EXPECT_FALSE(FileExists(Path("m.dnn.0.at3.ckp")));
    EXPECT_EQ(BytesOf(Path("m.dnn.0.at3.old")), model);
    EXPECT_EQ(BytesOf(Path("m.dnn.0.at3.ckp.old")), checkpoint);
    EXPECT_NE(LogText().find("the training does not go on from '" + Path("m.dnn.0.at3") +
                             "': makeMode=false begins anew; the model is kept as '" + Path("m.dnn.0.at3.old") +
                             "', and so is its checkpoint"),
              std::string::npos)
        << LogText();
    EXPECT_NE(LogText().find("makeMode=false: the training begins anew; models of an earlier one are written over as "
                             "its epochs end: '" +
                             Path("m.dnn.0") + "'\n"),
              std::string::npos)
        << LogText();
    StopAt(request, 4); // another one of that name
    StopAt(request, 1);
    EXPECT_TRUE(FileExists(Path("m.dnn.0.at3.old2")));
    EXPECT_EQ(BytesOf(Path("m.dnn.0.at3.old")), model);
}

TEST_F(WithinEpochTest, StoppedWithoutMakeModeItSaysThatMakeModeGoesOn)
{
    TrainingRequest request = ClassifierRequest(2);
    request.makeMode = false;
    EXPECT_EQ(StopAt(request, 4), "the training was stopped as asked in epoch 1, after minibatch 3; to go on from '" +
                                      Path("m.dnn.0.at3") +
                                      "', run it again with makeMode=true (with makeMode=false it begins anew)");
    request.makeMode = true;
    Run(request);
    EXPECT_NE(LogText().find("Going on behind minibatch 3 of the epoch.\n"), std::string::npos);
}

TEST_F(WithinEpochTest, StoppedWithoutMakeModeItNamesTheModelsThatAreInTheWay)
{
    TrainingRequest request = ClassifierRequest(3);
    Run(request);
    request.makeMode = false;
    EXPECT_EQ(StopAt(request, 1), "the training was stopped as asked in front of epoch 1; to go on from '" +
                                      Path("m.dnn.0") + "', move away '" + Path("m.dnn") + "', '" + Path("m.dnn.2") +
                                      "', '" + Path("m.dnn.1") +
                                      "' of an earlier training and run it again with makeMode=true (with "
                                      "makeMode=false it begins anew)");
    // In front of epoch 1, 5 minibatches, in front of epoch 2, 2 minibatches.
    EXPECT_EQ(StopAt(request, 9), "the training was stopped as asked in epoch 2, after minibatch 2; to go on from '" +
                                      Path("m.dnn.1.at2") + "', move away '" + Path("m.dnn") + "', '" +
                                      Path("m.dnn.2") +
                                      "' of an earlier training and run it again with makeMode=true (with "
                                      "makeMode=false it begins anew)");
    std::filesystem::remove(Path("m.dnn"));
    std::filesystem::remove(Path("m.dnn.2"));
    request.makeMode = true;
    Run(request);
    EXPECT_NE(LogText().find("Going on behind minibatch 2 of the epoch.\n"), std::string::npos);
}

TEST_F(WithinEpochTest, APointWhoseTimesCameInAnotherOrderIsKeptAside)
{
    const TrainingRequest request = ClassifierRequest(2);
    StopAt(request, 4);
    const std::string model = BytesOf(Path("m.dnn.0.at3"));
    std::filesystem::last_write_time(Path("m.dnn.0.at3"), std::filesystem::last_write_time(Path("m.dnn.0.at3.ckp")) +
                                                              std::chrono::seconds(1));
    Run(request);
    EXPECT_NE(LogText().find("the training does not go on from '" + Path("m.dnn.0.at3") +
                             "': it is newer than its checkpoint, which is written after it; the model is kept as '" +
                             Path("m.dnn.0.at3.old") + "', and so is its checkpoint"),
              std::string::npos)
        << LogText();
    EXPECT_EQ(BytesOf(Path("m.dnn.0.at3.old")), model);
    EXPECT_TRUE(FileExists(Path("m.dnn.0.at3.ckp.old")));
    EXPECT_FALSE(FileExists(Path("m.dnn.0.at3")));
}

TEST_F(WithinEpochTest, APointThatIsNewerThanTheFinalModelIsKeptAside)
{
    TrainingRequest request = ClassifierRequest(2);
    Run(request);
    request.makeMode = false;
    StopAt(request, 4);
    request.makeMode = true; // the final model was not moved away
    Run(request);
    EXPECT_NE(LogText().find("the training does not go on from '" + Path("m.dnn.0.at3") + "': the final model '" +
                             Path("m.dnn") + "' is there; the model is kept as '" + Path("m.dnn.0.at3.old") + "'"),
              std::string::npos)
        << LogText();
    EXPECT_TRUE(FileExists(Path("m.dnn.0.at3.ckp.old")));
}

TEST_F(WithinEpochTest, ModelsCopiedInAnotherOrderArePassedOverWithAWarning)
{
    const TrainingRequest request = ClassifierRequest(4);
    EXPECT_NE(StopAt(request, 16).find("in epoch 3, after minibatch 3"), std::string::npos);
    const auto now = std::filesystem::file_time_type::clock::now();
    int age = 10;
    for (const char* name : {"m.dnn.2.at3", "m.dnn.2.at3.ckp", "m.dnn.2", "m.dnn.1", "m.dnn.0"})
        std::filesystem::last_write_time(Path(name), now - std::chrono::seconds(age--));
    EXPECT_NE(StopAt(request, 1), "");
    EXPECT_NE(LogText().find("models of more epochs are passed over: '" + Path("m.dnn.2") + "' is older than '" +
                             Path("m.dnn.1") + "', '" + Path("m.dnn.1") + "' is older than '" + Path("m.dnn.0") +
                             "'; the training goes on from '" + Path("m.dnn.0") + "' and writes over them"),
              std::string::npos)
        << LogText();
    EXPECT_NE(LogText().find("does not go on from '" + Path("m.dnn.2.at3") + "': it is older than '" + Path("m.dnn.2") +
                             "', which its epoch began with; "),
              std::string::npos)
        << LogText();
    EXPECT_TRUE(FileExists(Path("m.dnn.2.at3.old")));
    EXPECT_TRUE(FileExists(Path("m.dnn.2.at3.ckp.old")));
    EXPECT_TRUE(FileExists(Path("m.dnn.2")));
}

TEST_F(WithinEpochTest, AnEpochGoesOnWithTheMinibatchSizeItBeganWithAndSaysSo)
{
    TrainingRequest request = ClassifierRequest(2);
    request.options.learningRatesPerSample = {};
    request.options.learningRatesPerMB = 0.25f;
    StopAt(request, 7); // in front of epoch 2
    const std::string whole = BytesOf(Path("m.dnn.1"));
    std::filesystem::remove(Path("m.dnn.1"));
    StopAt(request, 4);
    ASSERT_TRUE(FileExists(Path("m.dnn.0.at3")));
    EXPECT_EQ(LogText().find("was begun with"), std::string::npos);
    request.options.minibatchSize = 10;
    StopAt(request, 4); // after 2 more
    EXPECT_NE(LogText().find("epoch 1 was begun with minibatchSize=5 and goes on with it; minibatchSize=10 holds for "
                             "the epochs after it"),
              std::string::npos)
        << LogText();
    EXPECT_EQ(BytesOf(Path("m.dnn.1")), whole);
}

TEST_F(WithinEpochTest, TheEffectiveMomentumIsThatOfTheMinibatchesOfTheEpochThatGoesOn)
{
    TrainingRequest request = ClassifierRequest(1);
    request.options.momentumPerMB = {};
    request.options.momentumPerSample = 0.9f;
    StopAt(request, 4);
    request.options.minibatchSize = 10;
    Run(request);
    const std::string line = "effective momentum = 0.590490"; // 0.9^5
    const std::string log = LogText();
    const size_t first = log.find(line);
    ASSERT_NE(first, std::string::npos) << log;
    EXPECT_NE(log.find(line, first + 1), std::string::npos) << log;
}

TEST_F(WithinEpochTest, AnotherEpochSizeWithinAnEpochIsWarnedOf)
{
    TrainingRequest request = ClassifierRequest(1);
    request.options.epochSize = 20;
    StopAt(request, 3);
    request.options.epochSize = 15;
    Run(request);
    EXPECT_NE(LogText().find("epoch 1 was begun with epochSize=20 and goes on with epochSize=15: where it ends, and "
                             "which samples it consists of, is no longer what it was"),
              std::string::npos)
        << LogText();
}

TEST_F(WithinEpochTest, StoppedWhilePrecomputingItSaysThatNothingIsKept)
{
    TrainingRequest request = ClassifierRequest(2);
    request.buildNetwork = [this]
    {
        auto network = Classifier();
        network->AddToGroup(NodeGroup::Output, network->Add("Mean", "mean", {network->Require("features")}));
        network->Validate();
        return network;
    };
    EXPECT_EQ(StopAt(request, 1),
              "precomputing was stopped as asked; nothing of it is kept, and the same command begins it again");
    EXPECT_FALSE(FileExists(Path("m.dnn.0")));
    Run(request);
    EXPECT_TRUE(FileExists(Path("m.dnn")));
}

namespace
{

class WithinSearchTest : public WithinEpochTest
{
protected:
    // A search whose trials are as long as the epoch: the last one may be the epoch.
    TrainingRequest SearchRequest(size_t maxEpochs, bool dropout = false)
    {
        TrainingRequest request = ClassifierRequest(maxEpochs, dropout);
        request.options.dropoutRate = dropout ? 0.02 : 0.0;
        request.options.learningRatesPerSample = {};
        request.options.epochSize = 40;
        request.options.autoAdjust.autoAdjustLR = LearningRateSearch::SearchBeforeEpoch;
        request.openReader = []
        { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(TwoClasses(120, 11))); };
        return request;
    }
    // What is the log's since then; without times and what only a training that was stopped says.
    std::string LogSince(size_t before)
    {
        std::string text;
        std::istringstream lines(LogText().substr(before));
        for (std::string line; std::getline(lines, line);)
            if (line.starts_with("Finished ") || line.starts_with("Best Learn Rate "))
                text += line.substr(0, line.find("EpochTime")) + "\n";
        return text;
    }
};

} // namespace

TEST_F(WithinSearchTest, AStoppedTrialSavesItsPlaceAndTheTrialsBefore)
{
    const TrainingRequest request = SearchRequest(2);
    // In front of the epoch, 8 minibatches of the first trial, 3 of the second.
    EXPECT_EQ(StopAt(request, 12), "the training was stopped as asked in the search before epoch 1, trial 2, after "
                                   "minibatch 3; run the same command again to go on from '" +
                                       Path("m.dnn.0.trial2.at3") + "'");
    EXPECT_TRUE(FileExists(Path("m.dnn.0.trial2.at3")));
    EXPECT_TRUE(FileExists(Path("m.dnn.0.trial2.at3.ckp")));
    EXPECT_EQ(Count("SGD: Saving checkpoint model '" + Path("m.dnn.0.trial2.at3") +
                    "' within trial 2 of the search before epoch 1\n"),
              1u);
    EXPECT_EQ(StopAt(request, 1), "the training was stopped as asked in front of epoch 1; run the same command again "
                                  "to go on from '" +
                                      Path("m.dnn.0.trial2.at3") + "'");
    const size_t before = LogText().size();
    Run(request);
    EXPECT_NE(LogText().find("Going on with the search before epoch 1: 1 trials are known, trial 2 goes on.\n", before),
              std::string::npos);
    EXPECT_NE(LogText().find("Going on behind minibatch 3 of the trial.\n", before), std::string::npos);
    EXPECT_FALSE(FileExists(Path("m.dnn.0.trial2.at3")));
    EXPECT_FALSE(FileExists(Path("m.dnn.0.trial2.at3.ckp")));

    TrainingRequest whole = request;
    whole.modelPath = Path("whole.dnn");
    const size_t beforeWhole = LogText().size();
    Run(whole);
    EXPECT_EQ(LogText().substr(before, beforeWhole - before).find("Loading network"),
              LogText().substr(before).find("Loading network"));
    EXPECT_EQ(BytesOf(Path("m.dnn")), BytesOf(Path("whole.dnn")));
    EXPECT_EQ(BytesOf(Path("m.dnn.1.ckp")), BytesOf(Path("whole.dnn.1.ckp")));
    std::filesystem::remove(Path("m.dnn"));
    const std::string log = LogSince(before), wholeLog = LogSince(beforeWhole);
    EXPECT_EQ(log, wholeLog + wholeLog); // the known trial's line, too
}

TEST_F(WithinSearchTest, EndsWithTheSameBitsWhateverTheRule)
{
    // Trials of 4 and of 8 minibatches; the epoch's are 8.
    for (const GradientUpdateType rule : {GradientUpdateType::None, GradientUpdateType::FSAdaGrad})
        for (const auto& [minibatches, dropout] : {std::pair(size_t(4), true), {8, true}, {8, false}})
        {
            SCOPED_TRACE(Concat("rule ", int(rule), ", trials of ", minibatches, dropout ? " with dropout" : ""));
            for (const auto& entry : std::filesystem::directory_iterator(m_folder))
                if (entry.path().filename().string().find(".dnn") != std::string::npos)
                    std::filesystem::remove(entry.path());
            TrainingRequest request = SearchRequest(3, dropout);
            request.options.gradUpdateType = rule;
            request.options.gaussianNoiseInjectStd = 0.001;
            request.options.traceLevel = 1;
            request.options.autoAdjust.numMiniBatch4LRSearch = minibatches;
            ExpectSameBits(request, 7);
        }
    EXPECT_GT(Count(" without the last one, which is the epoch itself\n"), 2u);
    EXPECT_GE(Count("Finished Epoch[ 3 of 3]"), 6u);
}

TEST_F(WithinSearchTest, ASearchForASizeGoesOnToo)
{
    TrainingRequest request = SearchRequest(4, true);
    request.options.autoAdjust.numMiniBatch4LRSearch = 4;
    request.options.autoAdjust.autoAdjustMinibatch = true;
    request.options.autoAdjust.minibatchSizeTuningMax = 16;
    request.options.autoAdjust.minibatchSearchCriterionErrorMargin = 1000;
    ExpectSameBits(request, 3);
    EXPECT_GT(Count("Search successful. New minibatchSize is "), 3u);
}

TEST_F(WithinSearchTest, SaveEveryMinutesSavesWithinTrials)
{
    TrainingRequest request = SearchRequest(1);
    request.options.epochSize = 10;
    const std::vector<std::string> seen = PointsOf(request);
    ASSERT_GT(seen.size(), 12u);
    EXPECT_EQ(seen[1], "");
    EXPECT_EQ(seen[2], "m.dnn.0.trial1.at1 ");
    EXPECT_EQ(seen[3], "m.dnn.0.trial1.at2 ");
    EXPECT_EQ(seen[4], "m.dnn.0.trial2.at1 ");
    for (const auto& entry : std::filesystem::directory_iterator(m_folder))
        EXPECT_EQ(entry.path().string().find(".at"), std::string::npos) << entry.path();
}

TEST_F(WithinSearchTest, OtherOptionsThanBeforeAreToldAndTheirTrialsRunAnew)
{
    TrainingRequest request = SearchRequest(2);
    StopAt(request, 12); // in the second trial
    request.options.autoAdjust.numMiniBatch4LRSearch = 3;
    Run(request);
    EXPECT_EQ(Count("the search before epoch 1 asks for another trial than before the training was stopped (were "
                    "options changed?); "
                    "the search goes on with trial 1, without what was found from there on\n"),
              1u);
    const std::string changed = BytesOf(Path("m.dnn"));
    request.modelPath = Path("whole.dnn");
    Run(request);
    EXPECT_EQ(changed, BytesOf(Path("whole.dnn")));

    // The first trial is the same, at rate 0; the second begins elsewhere.
    request = SearchRequest(2);
    request.modelPath = Path("other.dnn");
    request.options.learningRatesPerSample = 0.05f; // of the first epoch
    StopAt(request, 1 + 8 + 1 + 8 + 3);             // a whole epoch, and into the second trial
    ASSERT_TRUE(FileExists(Path("other.dnn.1.trial2.at3")));
    request.options.minibatchSize = 4;
    Run(request);
    EXPECT_EQ(Count("the search before epoch 2 asks for another trial than"), 1u);
}

// Trials that were made under other settings say nothing of these.
TEST_F(WithinSearchTest, OtherSettingsThanThoseOfTheTrialsBeginTheSearchAnew)
{
    using Change = std::function<void(SgdOptions&)>;
    for (const auto& [difference, change] :
         std::vector<std::pair<std::string, Change>>{
             {"L1RegWeight=0 (now 0.01)", [](SgdOptions& options) { options.l1RegWeight = 0.01; }},
             {"L2RegWeight=0 (now 0.02)", [](SgdOptions& options) { options.l2RegWeight = 0.02; }},
             {"dropoutRate=0.02 (now 0.5)", [](SgdOptions& options) { options.dropoutRate = 0.5; }},
             {"hSmoothingWeight=0.95 (now 0.5), seqGammarUsesMBR=0 (now 1)",
              [](SgdOptions& options)
              {
                  options.hSmoothingWeight = 0.5;
                  options.seqGammarUsesMBR = true;
              }},
             {"frameDropThresh=1e-10 (now 0), seqGammarAMF=14 (now 7), seqGammarLMF=14 (now 8), seqGammarBMMIFactor=0 "
              "(now 0.5), seqGammarWordPen=0 (now -1)",
              [](SgdOptions& options)
              {
                  options.frameDropThresh = 0;
                  options.seqGammarAMF = 7;
                  options.seqGammarLMF = 8;
                  options.seqGammarBMMIFactor = 0.5;
                  options.seqGammarWordPen = -1;
              }},
             {"momentumPerMB=0.9 (now 0.5), useNAG=0 (now 1)",
              [](SgdOptions& options)
              {
                  options.momentumPerMB = 0.5f;
                  options.useNAG = true;
              }},
             {"momentumPerMB=0.9 (now momentumPerSample=0.75)",
              [](SgdOptions& options) { options.momentumPerSample = 0.75f; }}})
    {
        SCOPED_TRACE(difference);
        TrainingRequest request = SearchRequest(1, true);
        request.options.momentumPerMB = 0.9f;
        StopAt(request, 12);
        change(request.options);
        if (!request.options.momentumPerSample.empty())
            request.options.momentumPerMB = {};
        Run(request);
        EXPECT_EQ(Count("m.dnn.0.trial2.at3.ckp' has trials that were made with " + difference +
                        "; the search goes on with trial 1, without what was found from there on\n"),
                  1u)
            << LogText();
        const std::string changed = BytesOf(Path("m.dnn"));
        request.modelPath = Path("whole.dnn");
        Run(request);
        EXPECT_EQ(changed, BytesOf(Path("whole.dnn")));
        for (const auto& entry : std::filesystem::directory_iterator(m_folder))
            if (entry.path().filename().string().find(".dnn") != std::string::npos)
                std::filesystem::remove(entry.path());
    }
}

// A trial goes on from the model and the checkpoint that its search began with, and with a checkpoint of its own.
TEST_F(WithinSearchTest, ATrialWithoutWhatItBeganWithDoesNotGoOn)
{
    TrainingRequest request = SearchRequest(2);
    request.options.learningRatesPerSample = 0.05f; // of the first epoch
    request.modelPath = Path("whole.dnn");
    Run(request);
    const std::string whole = BytesOf(Path("whole.dnn"));
    const auto removeAll = [this]
    {
        for (const auto& entry : std::filesystem::directory_iterator(m_folder))
            if (entry.path().filename().string().starts_with("m.dnn"))
                std::filesystem::remove(entry.path());
    };
    request.modelPath = Path("m.dnn");
    for (const char* lost : {"m.dnn.1", "m.dnn.1.ckp", "m.dnn.1.trial2.at3.ckp"})
    {
        SCOPED_TRACE(lost);
        removeAll();
        const std::string message = StopAt(request, 1 + 8 + 1 + 8 + 3);
        ASSERT_NE(message.find("before epoch 2, trial 2, after minibatch 3"), std::string::npos) << message;
        if (std::string(lost) == "m.dnn.1") // damaged
        {
            const auto time = std::filesystem::last_write_time(Path(lost));
            std::ofstream(Path(lost), std::ios::binary) << "x";
            std::filesystem::last_write_time(Path(lost), time);
        }
        else
            std::filesystem::remove(Path(lost));
        const size_t before = LogText().size();
        Run(request);
        EXPECT_EQ(LogText().find("Going on with the search", before), std::string::npos) << LogText().substr(before);
        if (std::string(lost) != "m.dnn.1.ckp") // its smoothed gradients are gone
        {
            EXPECT_EQ(BytesOf(Path("m.dnn")), whole);
        }
    }
}

TEST_F(WithinSearchTest, AMomentumThatIsTheDefaultIsNoOtherSetting)
{
    TrainingRequest request = SearchRequest(1);
    request.options.momentumPerMB = {};
    StopAt(request, 12);
    TrainingRequest other = request;
    other.options.momentumPerMB = 0.5f;
    StopAt(other, 1);
    EXPECT_EQ(Count("has trials that were made with momentumPerMB=0.9 (now 0.5);"), 1u) << LogText();

    request.modelPath = other.modelPath = Path("same.dnn");
    StopAt(request, 12);
    other.options.momentumPerMB = 0.9f;
    const size_t before = LogText().size();
    Run(other);
    EXPECT_NE(LogText().find("1 trials are known, trial 2 goes on.\n", before), std::string::npos) << LogText();
    EXPECT_EQ(LogText().find("has trials that were made with", before), std::string::npos);
}

TEST_F(WithinSearchTest, ASearchThatIsNotAskedForAnyMoreDoesNotGoOn)
{
    TrainingRequest request = SearchRequest(2);
    StopAt(request, 12);
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::None;
    request.options.learningRatesPerSample = 0.05f;
    Run(request);
    EXPECT_EQ(Count("m.dnn.0.trial2.at3.ckp' is of a search before epoch 1, which the options do not ask for any more; "
                    "what it has found is not used\n"),
              1u)
        << LogText();
    EXPECT_EQ(Count("Going on with the search"), 0u);
    EXPECT_FALSE(FileExists(Path("m.dnn.0.trial2.at3")));
    EXPECT_FALSE(FileExists(Path("m.dnn.0.trial2.at3.ckp")));
    // A list of rates that now covers the epoch says the same.
    request = SearchRequest(2);
    request.modelPath = Path("other.dnn");
    StopAt(request, 12);
    request.options.learningRatesPerSample = 0.05f;
    Run(request);
    EXPECT_EQ(Count("which the options do not ask for any more"), 2u);
    EXPECT_EQ(Count("Going on with the search"), 0u);
    EXPECT_EQ(Count("The search before epoch 2"), 1u);
}

TEST_F(WithinSearchTest, WhatCannotBeUsedIsToldAndRunsAnew)
{
    TrainingRequest request = SearchRequest(1);
    request.modelPath = Path("whole.dnn");
    Run(request);
    request.modelPath = Path("m.dnn");
    const auto expectAnew = [&](const char* why)
    {
        Run(request);
        EXPECT_EQ(Count(why), 1u) << LogText();
        EXPECT_EQ(BytesOf(Path("m.dnn")), BytesOf(Path("whole.dnn")));
        std::filesystem::remove(Path("m.dnn"));
    };
    StopAt(request, 12);
    std::ofstream(Path("m.dnn.0.trial2.at3.ckp"), std::ios::binary) << "no checkpoint";
    expectAnew("; the search begins anew\n");

    StopAt(request, 12);
    std::ofstream(Path("m.dnn.0.trial2.at3"), std::ios::binary) << "no model";
    std::filesystem::last_write_time(Path("m.dnn.0.trial2.at3"),
                                     std::filesystem::last_write_time(Path("m.dnn.0.trial2.at3.ckp")));
    expectAnew("; the search goes on with trial 2, without what was found from there on\n");

    StopAt(request, 12);
    request.options.gradUpdateType = GradientUpdateType::AdaGrad;
    Run(request);
    EXPECT_EQ(Count("m.dnn.0.trial2.at3.ckp' is of a training with gradUpdateType=none; the search goes on with trial "
                    "1, without what was found from there on\n"),
              1u)
        << LogText();
    std::filesystem::remove(Path("m.dnn"));

    request.options.gradUpdateType = GradientUpdateType::None;
    StopAt(request, 12);
    request.trainingSeed = 3;
    Run(request);
    EXPECT_EQ(Count("m.dnn.0.trial2.at3.ckp' is of a training with another trainingSeed; the search goes on with trial "
                    "1, without what was found from there on\n"),
              1u);
}

TEST_F(WithinSearchTest, WithoutMakeModeItsPlaceIsKeptAside)
{
    TrainingRequest request = SearchRequest(2);
    StopAt(request, 12);
    request.makeMode = false;
    Run(request);
    EXPECT_FALSE(FileExists(Path("m.dnn.0.trial2.at3")));
    EXPECT_TRUE(FileExists(Path("m.dnn.0.trial2.at3.old")));
    EXPECT_TRUE(FileExists(Path("m.dnn.0.trial2.at3.ckp.old")));
}

} // namespace cntk
