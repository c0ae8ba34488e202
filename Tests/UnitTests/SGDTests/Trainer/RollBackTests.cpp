// Trainings under AdjustAfterEpoch: what is left of epochs that are undone, and what a stop between two looks keeps.
#include "Common/Error.h"
#include "Common/File.h"
#include "ComputationNetwork/Files/CheckpointFile.h"
#include "SGDTests/TrainingFixture.h"

#include <cmath>
#include <filesystem>

namespace cntk
{

namespace
{

// The first epoch's fifth minibatch has no criterion; the second epoch is sound.
class RollBackTest : public TrainingTest
{
protected:
    static constexpr size_t c_samples = 24;

    TrainingRequest Request(size_t maxEpochs, const SyntheticData& data) const
    {
        TrainingRequest request = ClassifierRequest(maxEpochs);
        request.options.minibatchSize = 4;
        request.options.epochSize = c_samples;
        request.options.learningRatesPerSample = {};
        request.openReader = [data]
        { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(data)); };
        return request;
    }
    static SyntheticData Whole()
    {
        SyntheticData data = TwoClasses(2 * c_samples, 7);
        data.features[data.featureDim * 17] = std::nan("");
        return data;
    }
    static SyntheticData SecondHalf()
    {
        SyntheticData data = Whole();
        data.features.erase(data.features.begin(), data.features.begin() + data.featureDim * c_samples);
        data.labels.erase(data.labels.begin(), data.labels.begin() + data.labelDim * c_samples);
        return data;
    }
    // Runs, or goes on, until so many epochs are done.
    void StopBehind(TrainingRequest request, size_t epochs)
    {
        request.epochDone = [&, inner = request.epochDone](const EpochReport& report)
        {
            if (inner)
                inner(report);
            m_isEnough = report.epoch + 1 == epochs;
        };
        m_isEnough = false;
        request.stopRequested = [this] { return m_isEnough; };
        EXPECT_THROW(Run(request), Interrupted) << LogText();
    }

private:
    bool m_isEnough = false;
};

} // namespace

// The rate without a list is 0.5 / 4; half of it is left. The second epoch is that of a training which begins with it,
// so that neither the state of the update rule nor the number of the noise may be those of the four minibatches before.
TEST_F(RollBackTest, TheNextEpochIsThatOfATrainingWhichBeginsWithTheReducedRate)
{
    for (const GradientUpdateType type :
         {GradientUpdateType::None, GradientUpdateType::AdaGrad, GradientUpdateType::RmsProp,
          GradientUpdateType::FSAdaGrad, GradientUpdateType::Adam})
    {
        const std::string number = std::to_string(int(type));
        TrainingRequest back = Request(2, Whole());
        back.modelPath = Path("back" + number);
        back.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
        back.options.autoAdjust.learnRateDecreaseFactor = 0.5;
        TrainingRequest fresh = Request(1, SecondHalf());
        fresh.modelPath = Path("fresh" + number);
        fresh.options.learningRatesPerSample = 0.0625f;
        for (TrainingRequest* request : {&back, &fresh})
        {
            request->options.gradUpdateType = type;
            request->options.gaussianNoiseInjectStd = 0.01;
            Run(*request);
        }
        EXPECT_EQ(BytesOf(back.modelPath), BytesOf(fresh.modelPath)) << number;
    }
    EXPECT_EQ(Count("Loading (rolling back to) previous model"), 5u) << LogText();
    EXPECT_EQ(Count("learnRatePerSample reduced to 0.0625\n"), 5u);
    // Samples of an epoch that is undone are not seen.
    EXPECT_EQ(Count("TotalSamplesSeen = 24; "), 10u) << LogText();
}

// A look every third epoch. The labels of the fourth to sixth epoch are the wrong way round, so that the model of the
// third is gone back to, with its smoothed gradients, whose checkpoint has to be there still.
TEST_F(RollBackTest, AnIntervalOfEpochsIsUndoneAsAWhole)
{
    SyntheticData data = TwoClasses(7 * c_samples, 7);
    for (size_t i = 2 * 3 * c_samples; i < 2 * 6 * c_samples; ++i)
        data.labels[i] = 1 - data.labels[i];
    TrainingRequest request = Request(7, data);
    request.buildNetwork = [this] { return Classifier(true); };
    request.options.dropoutRate = 0.1;
    request.options.learningRatesPerSample = 0.25f;
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    request.options.autoAdjust.learnRateAdjustInterval = 3;
    std::vector<Checkpoint> checkpoints;
    request.epochDone = [&](const EpochReport& report)
    {
        if (report.epoch == 2 || report.epoch == 5)
            checkpoints.push_back(LoadCheckpoint(Path("m.dnn." + std::to_string(report.epoch + 1) + ".ckp"),
                                                 DataType::Float64, *m_device));
    };
    Run(request);
    EXPECT_EQ(Count("value: " + Path("m.dnn.3") + ".\n"), 1u) << LogText();
    EXPECT_EQ(Count("smoothed gradients begin at 0"), 0u);
    EXPECT_EQ(Count("learnRatePerSample reduced to 0.1545\n"), 1u);
    EXPECT_EQ(BytesOf(Path("m.dnn.6")), BytesOf(Path("m.dnn.3")));
    ASSERT_EQ(checkpoints.size(), 2u);
    EXPECT_EQ(checkpoints[1].info.samplesSeen, 3 * c_samples);
    // Masks go on: those of the epochs that are undone do not come again.
    EXPECT_NE(checkpoints[1].info.extra.at("dropoutSeeds"), checkpoints[0].info.extra.at("dropoutSeeds"));
    for (size_t i = 0; i < checkpoints[0].smoothedGradients.size(); ++i)
        EXPECT_EQ(checkpoints[1].smoothedGradients[i].ToHost(), checkpoints[0].smoothedGradients[i].ToHost()) << i;
}

// A look every third epoch; none of them improves by half. Eight epochs end between two looks; the ninth is the second
// one in a row that disappoints, which ends the training.
TEST_F(RollBackTest, StoppedBetweenTwoLooksItEndsWithTheSameBits)
{
    for (const size_t epochs : {8, 9})
    {
        SCOPED_TRACE(epochs);
        for (const char* name : {"whole.dnn", "parts.dnn"})
            for (const auto& entry : std::filesystem::directory_iterator(m_folder))
                if (entry.path().filename().string().starts_with(name))
                    std::filesystem::remove(entry.path());
        TrainingRequest request = ClassifierRequest(epochs);
        request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
        request.options.autoAdjust.learnRateAdjustInterval = 3;
        request.options.autoAdjust.reduceLearnRateIfImproveLessThan = 0.5;
        request.options.autoAdjust.continueReduce = true;
        ExpectSameBits(request, 4);
    }
    EXPECT_EQ(Count("Finished training and saved final model"), 2u) << LogText();
}

// The training may be continued from the last epoch that was saved.
TEST_F(RollBackTest, TheSecondDisappointmentLeavesTheCheckpointOfTheEpochBefore)
{
    TrainingRequest request = ClassifierRequest(9);
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    request.options.autoAdjust.reduceLearnRateIfImproveLessThan = 0.9;
    request.options.autoAdjust.continueReduce = true;
    Run(request);
    EXPECT_TRUE(FileExists(Path("m.dnn"))) << LogText();
    EXPECT_TRUE(FileExists(Path("m.dnn.2")));
    EXPECT_TRUE(FileExists(Path("m.dnn.2.ckp")));
    EXPECT_FALSE(FileExists(Path("m.dnn.1.ckp")));
    EXPECT_FALSE(FileExists(Path("m.dnn.3")));
}

// Momentum cannot use the state that AdaGrad left in the first epoch. The labels of the second epoch are the wrong way
// round, so that the first one's model is gone back to: momentum begins anew there, not with gradients of what is
// undone.
TEST_F(RollBackTest, BehindAnotherRuleMomentumBeginsAnew)
{
    SyntheticData data = TwoClasses(3 * c_samples, 7);
    for (size_t i = 2 * c_samples; i < 2 * 2 * c_samples; ++i)
        data.labels[i] = 1 - data.labels[i];
    TrainingRequest request = Request(3, data);
    request.options.learningRatesPerSample = 0.25f;
    request.options.momentumPerMB = 0.9f;
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    request.options.gradUpdateType = GradientUpdateType::AdaGrad;
    StopBehind(request, 1);
    request.options.gradUpdateType = GradientUpdateType::None;
    StopBehind(request, 2); // which is told once
    EXPECT_EQ(Count("value: " + Path("m.dnn.1") + ".\n"), 1u) << LogText();
    EXPECT_EQ(Count("is of a training with gradUpdateType=adagrad, which continues with gradUpdateType=none: "), 1u);
    EXPECT_EQ(BytesOf(Path("m.dnn.2")), BytesOf(Path("m.dnn.1")));
    const Checkpoint checkpoint = LoadCheckpoint(Path("m.dnn.2.ckp"), DataType::Float64, *m_device);
    ASSERT_EQ(checkpoint.smoothedGradients.size(), 4u);
    for (const Matrix& state : checkpoint.smoothedGradients)
        EXPECT_EQ(state.ToHost(), std::vector<double>(state.Rows() * state.Columns()));
}

// A checkpoint of the original does not have the mean criterion of the epochs since the last look: this one takes in
// the second and the third epoch only, also where the training is stopped in between.
TEST_F(RollBackTest, BehindACheckpointOfTheOriginalTheMeanIsOfTheEpochsSeen)
{
    TrainingRequest request = Request(4, TwoClasses(4 * c_samples, 7));
    request.options.learningRatesPerSample = 0.05f;
    request.options.keepCheckPointFiles = true;
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    request.options.autoAdjust.learnRateAdjustInterval = 3;
    std::vector<double> criteria;
    request.epochDone = [&](const EpochReport& report) { criteria.push_back(report.criterion); };
    StopBehind(request, 1);
    const std::string path = Path("m.dnn.1.ckp");
    const auto time = std::filesystem::last_write_time(path);
    Checkpoint checkpoint = LoadCheckpoint(path, DataType::Float64, *m_device);
    ASSERT_EQ(checkpoint.info.extra.erase("averageCriterion"), 1u);
    std::vector<const Matrix*> states;
    for (const Matrix& state : checkpoint.smoothedGradients)
        states.push_back(&state);
    SaveCheckpoint(path, checkpoint.info, states);
    std::filesystem::last_write_time(path, time);
    StopBehind(request, 2);
    StopBehind(request, 3);
    ASSERT_EQ(criteria.size(), 3u) << LogText();
    ASSERT_GT(std::abs(criteria[1] - criteria[2]), 0.01);
    EXPECT_DOUBLE_EQ(LoadCheckpoint(Path("m.dnn.3.ckp"), DataType::Float64, *m_device).info.previousCriterion,
                     (criteria[1] + criteria[2]) / 2);
}

// There is no model that two epochs went by since: nothing to go back to, nor a look at what the first one gave.
TEST_F(RollBackTest, InsideAnIntervalTheTrainingFails)
{
    TrainingRequest request = Request(3, Whole());
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    request.options.autoAdjust.learnRateAdjustInterval = 2;
    try
    {
        Run(request);
        FAIL() << LogText();
    }
    catch (const Error& error)
    {
        EXPECT_NE(error.Message().find("'ce' is not a finite number in epoch 1, minibatch 5"), std::string::npos)
            << error.Message();
    }
}

} // namespace cntk
