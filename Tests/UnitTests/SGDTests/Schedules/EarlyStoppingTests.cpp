// Tests when a training ends early, which model it writes, and that a resumed training decides the same.
#include "Common/Error.h"
#include "Common/File.h"
#include "CommonTests/ThrownErrors.h"
#include "SGD/Schedules/Schedules.h"
#include "SGDTests/TrainingFixture.h"

#include <cmath>
#include <filesystem>
#include <gmock/gmock.h>
#include <limits>

namespace cntk
{

TEST(EarlyStoppingTest, WaitsForProgressAsLongAsItsPatience)
{
    EarlyStopping stopping(2, 0.1);
    EXPECT_TRUE(stopping.Observe(1, 5));
    EXPECT_FALSE(stopping.ShouldStop(1));
    EXPECT_TRUE(stopping.Observe(2, 4.95)); // better, but below the minimum improvement
    EXPECT_FALSE(stopping.ShouldStop(2));
    EXPECT_FALSE(stopping.Observe(3, std::nan("")));
    EXPECT_TRUE(stopping.ShouldStop(3));
    EXPECT_EQ(stopping.BestEpoch(), 2u);
    EXPECT_EQ(stopping.Best(), 4.95);
    EXPECT_TRUE(stopping.Observe(4, 4.85)); // the sum of both steps is an improvement
    EXPECT_FALSE(stopping.ShouldStop(5));
    EXPECT_TRUE(stopping.ShouldStop(6));
}

TEST(EarlyStoppingTest, OfEquallyGoodEpochsTheFirstIsTheBest)
{
    EarlyStopping stopping(2, 0);
    EXPECT_TRUE(stopping.Observe(1, 5));
    EXPECT_FALSE(stopping.Observe(2, 5));
    EXPECT_EQ(stopping.BestEpoch(), 1u);
}

TEST(EarlyStoppingTest, WithoutPatienceNeverStops)
{
    EarlyStopping stopping(0, 0);
    for (size_t epoch = 1; epoch < 10; epoch++)
    {
        stopping.Observe(epoch, double(epoch));
        EXPECT_FALSE(stopping.ShouldStop(epoch));
    }
}

TEST(EarlyStoppingTest, PatienceMayBeEndless)
{
    EarlyStopping stopping(std::numeric_limits<size_t>::max(), 0);
    EXPECT_FALSE(stopping.ShouldStop(0));
    stopping.Observe(1, 5);
    for (size_t epoch = 1; epoch < 10; epoch++)
        EXPECT_FALSE(stopping.ShouldStop(epoch));
}

TEST(EarlyStoppingTest, CheckpointsKeepEverything)
{
    EarlyStopping stopping(3, 0);
    stopping.Observe(1, 0.1);
    stopping.Observe(2, 0.3);
    std::map<std::string, std::string> extra;
    stopping.SaveExtra(extra);
    EarlyStopping restored(3, 0);
    restored.RestoreExtra(extra);
    EXPECT_EQ(restored.Best(), 0.1);
    EXPECT_EQ(restored.BestEpoch(), 1u);
    EXPECT_FALSE(restored.ShouldStop(3));
    EXPECT_TRUE(restored.ShouldStop(4));
}

// The best value, 4.95, is no sufficient improvement on 5, so the best epoch and the last improvement differ.
TEST(EarlyStoppingTest, CheckpointsKeepTheLastProgressApartFromTheBest)
{
    EarlyStopping stopping(2, 0.1);
    stopping.Observe(1, 5);
    stopping.Observe(2, 4.95);
    std::map<std::string, std::string> extra;
    stopping.SaveExtra(extra);
    EarlyStopping restored(2, 0.1);
    restored.RestoreExtra(extra);
    EXPECT_FALSE(restored.ShouldStop(2));
    EXPECT_TRUE(restored.ShouldStop(3));
    restored.Observe(3, 4.88); // 0.12 below 5, 0.07 below 4.95
    EXPECT_FALSE(restored.ShouldStop(4));
    EXPECT_TRUE(restored.ShouldStop(5));
}

class EarlyStoppingTraining : public TrainingTest
{
protected:
    // The validation set has the opposite labels, so that each epoch makes its criterion worse.
    TrainingRequest Request(size_t maxEpochs) const
    {
        TrainingRequest request = ClassifierRequest(maxEpochs);
        request.options.earlyStopPatience = 3;
        request.openCvReader = []
        {
            SyntheticData data = TwoClasses(23, 7);
            for (double& label : data.labels)
                label = 1 - label;
            return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(data));
        };
        return request;
    }
    // Simulates a power failure after the model of the second epoch was written.
    void KillAfterTwoEpochs(TrainingRequest request)
    {
        request.epochDone = [](const EpochReport& report)
        {
            if (report.epoch == 1)
                Fail(ErrorKind::Device, "the power is gone");
        };
        EXPECT_THROW(Run(request), Error);
    }
    // Returns the number of epochs that a training runs.
    size_t EpochsOf(TrainingRequest request)
    {
        size_t epochs = 0;
        request.epochDone = [&](const EpochReport&) { ++epochs; };
        Run(request);
        return epochs;
    }
};

TEST_F(EarlyStoppingTraining, EndsWithTheBestModel)
{
    EXPECT_EQ(EpochsOf(Request(20)), 4u);
    EXPECT_EQ(BytesOf(Path("m.dnn")), BytesOf(Path("m.dnn.1")));
    EXPECT_EQ(BytesOf(Path("m.dnn")), BytesOf(Path("m.dnn.best")));
    EXPECT_FALSE(FileExists(Path("m.dnn.5")));
    EXPECT_THAT(LogText(), ::testing::HasSubstr("Early stopping: the best of 4 epochs was epoch 1 ("));
    EXPECT_EQ(EpochsOf(Request(20)), 0u); // the training has ended
}

// The validation set decides which model is best, also if the training data control the learning rate.
TEST_F(EarlyStoppingTraining, TheValidationSetDecidesWhateverControlsTheLearningRate)
{
    for (const LearningRateSearch control : {LearningRateSearch::None, LearningRateSearch::AdjustAfterEpoch})
    {
        TrainingRequest request = Request(20);
        request.makeMode = false;
        request.options.autoAdjust.autoAdjustLR = control;
        request.options.autoAdjust.useCVSetControlLRIfCVExists = false;
        EXPECT_EQ(EpochsOf(request), 4u);
        EXPECT_EQ(BytesOf(Path("m.dnn")), BytesOf(Path("m.dnn.1")));
        EXPECT_THAT(LogText(), ::testing::Not(::testing::HasSubstr("learnRatePerSample reduced")));
    }
}

// The last epoch is the best on the validation set, and the rate control rolls back in it: the second half of the data
// has the labels of the validation set.
TEST_F(EarlyStoppingTraining, TheBestModelIsTakenWhereTheRateGoesBackInItsEpoch)
{
    TrainingRequest request = Request(2);
    request.openReader = []
    {
        SyntheticData data = TwoClasses(64, 3);
        for (size_t i = data.labels.size() / 2; i < data.labels.size(); i++)
            data.labels[i] = 1 - data.labels[i];
        return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(data));
    };
    request.options.epochSize = 32;
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    request.options.autoAdjust.useCVSetControlLRIfCVExists = false;
    EXPECT_EQ(EpochsOf(request), 2u);
    EXPECT_THAT(LogText(), ::testing::HasSubstr("(rolling back to) previous model"));
    EXPECT_THAT(LogText(), ::testing::HasSubstr("Early stopping: the best of 2 epochs was epoch 2 ("));
    EXPECT_EQ(BytesOf(Path("m.dnn")), BytesOf(Path("m.dnn.best")));
    EXPECT_NE(BytesOf(Path("m.dnn")), BytesOf(Path("m.dnn.1")));
}

TEST_F(EarlyStoppingTraining, TheBestModelIsTakenWhereEpochsRunOut)
{
    EXPECT_EQ(EpochsOf(Request(3)), 3u);
    EXPECT_EQ(BytesOf(Path("m.dnn")), BytesOf(Path("m.dnn.1")));
}

TEST_F(EarlyStoppingTraining, AResumedTrainingStopsAtTheSameEpoch)
{
    KillAfterTwoEpochs(Request(20));
    EXPECT_EQ(EpochsOf(Request(20)), 2u);
    EXPECT_EQ(BytesOf(Path("m.dnn")), BytesOf(Path("m.dnn.1")));
}

// Writing the final model fails. No other model may have its name, and the next run writes it.
TEST_F(EarlyStoppingTraining, NoOtherModelHasTheFinalName)
{
    for (const size_t maxEpochs : {size_t(3), size_t(20)})
    {
        TrainingRequest request = Request(maxEpochs);
        request.modelPath = Path("stopped" + std::to_string(maxEpochs));
        const std::string refused = request.modelPath + ".tmp";
        request.epochDone = [&](const EpochReport& report)
        {
            if (report.epoch == (maxEpochs == 3 ? 1u : 3u)) // the final model is written after it
                std::filesystem::create_directory(refused);
        };
        EXPECT_THROW(Run(request), Error);
        EXPECT_FALSE(FileExists(request.modelPath));
        std::filesystem::remove(refused);
        request.epochDone = nullptr;
        EXPECT_EQ(EpochsOf(request), maxEpochs == 3 ? 1u : 0u);
        EXPECT_EQ(BytesOf(request.modelPath), BytesOf(request.modelPath + ".1"));
    }
}

TEST_F(EarlyStoppingTraining, TheBestModelIsTakenWhereTheRateBecomesTooSmall)
{
    TrainingRequest request = Request(20);
    request.options.earlyStopPatience = 10;
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    request.options.autoAdjust.loadBestModel = false;
    request.options.autoAdjust.learnRateDecreaseFactor = 1e-12;
    EXPECT_EQ(EpochsOf(request), 2u);
    EXPECT_THAT(LogText(), ::testing::HasSubstr("Training complete.\n"));
    EXPECT_NE(BytesOf(Path("m.dnn.2")), BytesOf(Path("m.dnn.1")));
    EXPECT_EQ(BytesOf(Path("m.dnn")), BytesOf(Path("m.dnn.1")));
    EXPECT_FALSE(FileExists(Path("m.dnn.1.ckp")));
    EXPECT_TRUE(FileExists(Path("m.dnn.2.ckp")));
}

// The best model was removed while the training was stopped.
TEST_F(EarlyStoppingTraining, ARemovedBestModelIsMadeAgainOrMissedAtOnce)
{
    KillAfterTwoEpochs(Request(20));
    std::filesystem::remove(Path("m.dnn.best"));
    std::filesystem::rename(Path("m.dnn.1"), Path("elsewhere"));
    const std::string before = LogText();
    EXPECT_EQ(MessageOf(ErrorKind::Model, [&] { EpochsOf(Request(20)); }),
              "the best model so far, '" + Path("m.dnn.best") + "' of epoch 1, is gone, and so is '" + Path("m.dnn.1") +
                  "', which could take its place; put it back, or continue without it "
                  "(earlyStopPatience=0), or start afresh (makeMode=false)");
    EXPECT_THAT(LogText().substr(before.size()), ::testing::Not(::testing::HasSubstr("Starting Epoch")));

    std::filesystem::rename(Path("elsewhere"), Path("m.dnn.1"));
    EXPECT_EQ(EpochsOf(Request(20)), 2u);
    EXPECT_THAT(LogText(),
                ::testing::HasSubstr("the best model so far, '" + Path("m.dnn.best") + "' of epoch 1, is gone; '" +
                                     Path("m.dnn.1") + "' is the same model, and takes its place"));
    EXPECT_EQ(BytesOf(Path("m.dnn")), BytesOf(Path("m.dnn.1")));
    EXPECT_EQ(BytesOf(Path("m.dnn.best")), BytesOf(Path("m.dnn.1")));
}

// The best model was removed while the training ran. The final model must not exist before it is complete.
TEST_F(EarlyStoppingTraining, ABestModelThatGoesWhileItTrainsIsMissedAtTheEnd)
{
    TrainingRequest request = Request(3);
    request.epochDone = [this](const EpochReport&)
    {
        std::filesystem::remove(Path("m.dnn.best"));
        std::filesystem::remove(Path("m.dnn.1"));
    };
    EXPECT_THROW(Run(request), Error);
    EXPECT_FALSE(FileExists(Path("m.dnn")));
    EXPECT_THAT(LogText(), ::testing::Not(::testing::HasSubstr("the best of 3 epochs was")));
}

TEST_F(EarlyStoppingTraining, WithoutPatienceNobodyMissesTheBestModel)
{
    KillAfterTwoEpochs(Request(20));
    std::filesystem::remove(Path("m.dnn.best"));
    std::filesystem::remove(Path("m.dnn.1"));
    TrainingRequest request = Request(4);
    request.options.earlyStopPatience = 0;
    EXPECT_EQ(EpochsOf(request), 2u);
    EXPECT_NE(BytesOf(Path("m.dnn")), BytesOf(Path("m.dnn.3")));
}

TEST_F(EarlyStoppingTraining, AnImprovingTrainingGoesOn)
{
    TrainingRequest request = ClassifierRequest(6);
    const std::string plain = [&]
    {
        Run(request);
        return BytesOf(Path("m.dnn"));
    }();
    request.makeMode = false;
    request.options.earlyStopPatience = 2;
    EXPECT_EQ(EpochsOf(request), 6u);
    EXPECT_EQ(BytesOf(Path("m.dnn")), plain);
}

} // namespace cntk
