// Trainings that are stopped within an epoch and resumed: their files, and the same bits at the end.
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
                                               "the same command again to continue from '" +
                                                   Path("m.dnn.0.at3") + "'");
    EXPECT_TRUE(FileExists(Path("m.dnn.0.at3")));
    EXPECT_TRUE(FileExists(Path("m.dnn.0.at3.ckp")));
    EXPECT_FALSE(FileExists(Path("m.dnn.1")));
    Run(ClassifierRequest(2));
    EXPECT_NE(LogText().find("Loading network from '" + Path("m.dnn.0.at3") + "'.\n"), std::string::npos);
    EXPECT_NE(LogText().find("Resuming after minibatch 3 of the epoch.\n"), std::string::npos);
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
                                               "command again to continue from '" +
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
                                  "command again to continue from '" +
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
              "'...at5' the epoch restarts");
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
                                       "data or the reader's options have changed, so the epoch mixes both; "
                                       "without the model '...at4' it restarts\n"),
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
    EXPECT_NE(LogText().find("the training does not continue from '" + Path("m.dnn.0.at3") +
                             "': makeMode=false restarts the training; the model is kept as '" +
                             Path("m.dnn.0.at3.old") + "', and so is its checkpoint"),
              std::string::npos)
        << LogText();
    EXPECT_NE(LogText().find("makeMode=false: the training restarts; models of an earlier one are overwritten as "
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
    EXPECT_EQ(StopAt(request, 4),
              "the training was stopped as asked in epoch 1, after minibatch 3; to continue from '" +
                  Path("m.dnn.0.at3") + "', run it again with makeMode=true (with makeMode=false it restarts)");
    request.makeMode = true;
    Run(request);
    EXPECT_NE(LogText().find("Resuming after minibatch 3 of the epoch.\n"), std::string::npos);
}

TEST_F(WithinEpochTest, StoppedWithoutMakeModeItNamesTheModelsThatAreInTheWay)
{
    TrainingRequest request = ClassifierRequest(3);
    Run(request);
    request.makeMode = false;
    EXPECT_EQ(StopAt(request, 1), "the training was stopped as asked in front of epoch 1; to continue from '" +
                                      Path("m.dnn.0") + "', move away '" + Path("m.dnn") + "', '" + Path("m.dnn.2") +
                                      "', '" + Path("m.dnn.1") +
                                      "' of an earlier training and run it again with makeMode=true (with "
                                      "makeMode=false it restarts)");
    // In front of epoch 1, 5 minibatches, in front of epoch 2, 2 minibatches.
    EXPECT_EQ(StopAt(request, 9),
              "the training was stopped as asked in epoch 2, after minibatch 2; to continue from '" +
                  Path("m.dnn.1.at2") + "', move away '" + Path("m.dnn") + "', '" + Path("m.dnn.2") +
                  "' of an earlier training and run it again with makeMode=true (with "
                  "makeMode=false it restarts)");
    std::filesystem::remove(Path("m.dnn"));
    std::filesystem::remove(Path("m.dnn.2"));
    request.makeMode = true;
    Run(request);
    EXPECT_NE(LogText().find("Resuming after minibatch 2 of the epoch.\n"), std::string::npos);
}

TEST_F(WithinEpochTest, APointWhoseTimesCameInAnotherOrderIsKeptAside)
{
    const TrainingRequest request = ClassifierRequest(2);
    StopAt(request, 4);
    const std::string model = BytesOf(Path("m.dnn.0.at3"));
    std::filesystem::last_write_time(Path("m.dnn.0.at3"), std::filesystem::last_write_time(Path("m.dnn.0.at3.ckp")) +
                                                              std::chrono::seconds(1));
    Run(request);
    EXPECT_NE(LogText().find("the training does not continue from '" + Path("m.dnn.0.at3") +
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
    EXPECT_NE(LogText().find("the training does not continue from '" + Path("m.dnn.0.at3") + "': the final model '" +
                             Path("m.dnn") + "' exists; the model is kept as '" + Path("m.dnn.0.at3.old") + "'"),
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
                             "'; the training continues from '" + Path("m.dnn.0") + "' and writes over them"),
              std::string::npos)
        << LogText();
    EXPECT_NE(LogText().find("does not continue from '" + Path("m.dnn.2.at3") + "': it is older than '" +
                             Path("m.dnn.2") + "', which its epoch began with; "),
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
    EXPECT_NE(LogText().find("epoch 1 was begun with minibatchSize=5 and continues with it; minibatchSize=10 holds for "
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
    EXPECT_NE(LogText().find("epoch 1 was begun with epochSize=20 and continues with epochSize=15: where it ends, and "
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
    // A search whose trials are as long as the epoch: the last trial may be the epoch.
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
    // Stops after more and more minibatches of trials and epochs until the training ends, and compares its files with
    // those of a training that was never stopped.
    void ExpectSameBitsAfterStops(TrainingRequest request)
    {
        request.modelPath = Path("whole.dnn");
        Run(request);
        request.modelPath = Path("parts.dnn");
        size_t count = 7;
        while (!StopAt(request, count).empty())
            count += 6;
        EXPECT_GT(count, 25u);
        EXPECT_EQ(BytesOf(Path("parts.dnn")), BytesOf(Path("whole.dnn")));
        EXPECT_EQ(BytesOf(Path("parts.dnn.ckp")), BytesOf(Path("whole.dnn.ckp")));
    }
    void RemoveModels()
    {
        for (const auto& entry : std::filesystem::directory_iterator(m_folder))
            if (entry.path().filename().string().find(".dnn") != std::string::npos)
                std::filesystem::remove(entry.path());
    }
};

} // namespace

TEST_F(WithinSearchTest, AStoppedSearchRestartsItsEpoch)
{
    const TrainingRequest request = SearchRequest(2);
    // The training asks before the epoch, after 8 minibatches of the first trial, and after 3 of the second.
    EXPECT_EQ(StopAt(request, 12), "the training was stopped as asked in the search before epoch 1; run the same "
                                   "command again to continue from '" +
                                       Path("m.dnn.0") + "'");
    for (const auto& entry : std::filesystem::directory_iterator(m_folder))
        EXPECT_EQ(entry.path().string().find(".at"), std::string::npos) << entry.path();
    const size_t before = LogText().size();
    Run(request);
    EXPECT_NE(LogText().find("Loading network from '" + Path("m.dnn.0") + "'.\n", before), std::string::npos);
    TrainingRequest whole = request;
    whole.modelPath = Path("whole.dnn");
    Run(whole);
    EXPECT_EQ(BytesOf(Path("m.dnn")), BytesOf(Path("whole.dnn")));
    EXPECT_EQ(BytesOf(Path("m.dnn.1.ckp")), BytesOf(Path("whole.dnn.1.ckp")));
}

TEST_F(WithinSearchTest, EndsWithTheSameBitsWhateverTheRule)
{
    // Trials have 4 or 8 minibatches; the epoch has 8.
    for (const GradientUpdateType rule : {GradientUpdateType::None, GradientUpdateType::FSAdaGrad})
        for (const auto& [minibatches, dropout] : {std::pair(size_t(4), true), {8, true}, {8, false}})
        {
            SCOPED_TRACE(Concat("rule ", int(rule), ", trials of ", minibatches, dropout ? " with dropout" : ""));
            RemoveModels();
            TrainingRequest request = SearchRequest(3, dropout);
            request.options.gradUpdateType = rule;
            request.options.gaussianNoiseInjectStd = 0.001;
            request.options.traceLevel = 1;
            request.options.autoAdjust.numMiniBatch4LRSearch = minibatches;
            ExpectSameBitsAfterStops(request);
        }
    EXPECT_GT(Count(" without the last one, which is the epoch itself\n"), 2u);
    EXPECT_GE(Count("Finished Epoch[ 3 of 3]"), 6u);
}

TEST_F(WithinSearchTest, AStoppedSearchForASizeEndsWithTheSameBits)
{
    TrainingRequest request = SearchRequest(4, true);
    request.options.autoAdjust.numMiniBatch4LRSearch = 4;
    request.options.autoAdjust.autoAdjustMinibatch = true;
    request.options.autoAdjust.minibatchSizeTuningMax = 16;
    request.options.autoAdjust.minibatchSearchCriterionErrorMargin = 1000;
    ExpectSameBitsAfterStops(request);
    EXPECT_GT(Count("Search successful. New minibatchSize is "), 3u);
}

TEST_F(WithinSearchTest, SaveEveryMinutesSavesNothingWithinTrials)
{
    TrainingRequest request = SearchRequest(1);
    request.options.epochSize = 10;
    size_t points = 0;
    for (const std::string& files : PointsOf(request))
        points += files.empty() ? 0 : 1;
    EXPECT_LE(points, 2u); // minibatches of the epoch
}

// A stopped search keeps nothing, so a changed option holds for all trials of the repeated search.
TEST_F(WithinSearchTest, AChangedOptionHoldsForTheRepeatedSearch)
{
    TrainingRequest request = SearchRequest(2);
    StopAt(request, 12);
    request.options.l2RegWeight = 0.02;
    Run(request);
    const std::string changed = BytesOf(Path("m.dnn"));
    request.modelPath = Path("whole.dnn");
    Run(request);
    EXPECT_EQ(changed, BytesOf(Path("whole.dnn")));
}

} // namespace cntk
