// Make mode: a training resumes from its newest usable model with the same bits. Files may be missing, damaged or
// left.
#include "Common/Error.h"
#include "Common/File.h"
#include "ComputationNetwork/Files/CheckpointFile.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "SGDTests/TrainerFixture.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace cntk
{

namespace
{

class ResumeTest : public TrainerTest
{
};

// With the times of the files, which say what is newest.
void CopyFolder(const std::filesystem::path& from, const std::filesystem::path& to)
{
    std::filesystem::copy(from, to);
    for (const auto& file : std::filesystem::directory_iterator(from))
        std::filesystem::last_write_time(to / file.path().filename(), file.last_write_time());
}

} // namespace

TEST_F(ResumeTest, AFinalModelEndsAMakeModeTrainingAtOnce)
{
    TrainingRequest request = ClassifierRequest(2);
    Run(request);
    request.buildNetwork = []() -> std::unique_ptr<ComputationNetwork> { throw std::logic_error("not to be built"); };
    Run(request);
    EXPECT_NE(LogText().find("Final model exists: " + Path("m.dnn") + "\nNo further training is necessary.\n"),
              std::string::npos);
    request.makeMode = false;
    EXPECT_THROW(Run(request), std::logic_error);
}

// CNTK v1.1 writes a smoothed gradient for each use of a parameter; the first one counts.
TEST_F(ResumeTest, ACheckpointWithAGradientForEachUseOfAParameterIsRead)
{
    TrainingRequest request = LineRequest();
    request.options.keepCheckPointFiles = true;
    request.options.maxEpochs = 3;
    request.buildNetwork = [this]
    {
        auto network = Line(0.25);
        const auto scale = std::dynamic_pointer_cast<LearnableParameterNode>(network->AddParameter("S", {1, 1}));
        scale->InitFixed(0.5);
        const ComputationNodePtr w = network->Require("W");
        const auto once = network->Add("Times", "a", {w, network->Require("features")});
        const auto sum = network->Add("Plus", "b", {network->Add("Times", "c", {w, once}), scale});
        const auto criterion = network->Add("SquareError", "other", {network->Require("labels"), sum});
        network->RemoveFromGroup(NodeGroup::Criterion, network->Require("criterion"));
        network->AddToGroup(NodeGroup::Criterion, criterion);
        // Uses by other nodes than the criterion's do not count.
        network->AddToGroup(NodeGroup::Evaluation, network->Require("criterion"));
        network->Validate();
        return network;
    };
    Run(request);
    const std::string whole = BytesOf(Path("line.dnn"));
    Checkpoint checkpoint = LoadCheckpoint(Path("line.dnn.1.ckp"), DataType::Float64, *m_device);
    ASSERT_EQ(checkpoint.smoothedGradients.size(), 2u);
    const Matrix other(1, 1, DataType::Float64, *m_device);
    EXPECT_NE(checkpoint.smoothedGradients[1].ToHost(), other.ToHost());
    const std::vector<const Matrix*> states{&checkpoint.smoothedGradients[0], &checkpoint.smoothedGradients[1], &other};
    SaveCheckpoint(Path("line.dnn.1.ckp"), checkpoint.info, states);
    for (const char* name : {"line.dnn", "line.dnn.2"})
        RemoveFile(Path(name));
    Run(request);
    EXPECT_EQ(BytesOf(Path("line.dnn")), whole);
}

// maxEpochs was raised: the finished training continues with its checkpoint.
TEST_F(ResumeTest, AFinalModelOfFewerEpochsIsTrainedFurther)
{
    TrainingRequest whole = ClassifierRequest(5), shorter = ClassifierRequest(2);
    whole.modelPath = Path("whole.dnn");
    Run(whole);
    Run(shorter);
    Run(shorter);
    const std::string final = Path("m.dnn");
    EXPECT_EQ(LogText().find("the training continues from it"), std::string::npos);
    TrainingRequest longer = ClassifierRequest(5);
    EXPECT_EQ(ReadTextFile(final), ReadTextFile(Path("whole.dnn.2")));
    Run(longer);
    EXPECT_NE(LogText().find("'" + final +
                             "' was trained for 2 epochs, and maxEpochs is 5 now: the training continues "
                             "from it, as '" +
                             final + ".2'.\n"),
              std::string::npos);
    EXPECT_EQ(ReadTextFile(final), ReadTextFile(whole.modelPath));
    EXPECT_EQ(ReadTextFile(final + ".2"), ReadTextFile(Path("whole.dnn.2")));
}

// The models have the times of a copy that took them in another order.
TEST_F(ResumeTest, TheEpochsOfAFinalModelAreNotGuessedByTheTimesOfACopy)
{
    const TrainingRequest request = ClassifierRequest(4);
    Run(request);
    const auto now = std::filesystem::last_write_time(Path("m.dnn"));
    for (int epoch = 0; epoch < 4; ++epoch)
        std::filesystem::last_write_time(Path("m.dnn." + std::to_string(epoch)), now - std::chrono::seconds(epoch + 1));
    Run(request);
    EXPECT_EQ(Count("Final model exists: "), 1u);
    EXPECT_EQ(LogText().find("It was trained for"), std::string::npos) << LogText();
}

// maxEpochs was lowered: what it asks for is there already, under another name.
TEST_F(ResumeTest, AModelOfALongerTrainingIsToldBeforeItsEpochIsTrainedAgain)
{
    Run(ClassifierRequest(4));
    const std::string final = Path("m.dnn");
    std::filesystem::remove(final);
    Run(ClassifierRequest(2));
    EXPECT_NE(LogText().find("'" + final +
                             ".2' is of a training with more epochs than maxEpochs=2: epoch 2 is trained "
                             "now, again; to take that model as it is, stop, and rename '" +
                             final + ".2' to '" + final + "'.\n"),
              std::string::npos)
        << LogText();
}

TEST_F(ResumeTest, MakeModeStartsFromModelZeroWhereThereIsOne)
{
    TrainingRequest request = LineRequest();
    SaveModel(*Line(7), Path("line.dnn.0"));
    request.options.learningRatesPerSample = 0.00001f;
    Run(request);
    EXPECT_NE(LogText().find("Starting from checkpoint. Loading network from '" + Path("line.dnn.0") + "'.\n"),
              std::string::npos);
    EXPECT_NEAR(ValuesOf(*Load("line.dnn"), "W")[0], 7, 0.1);
    EXPECT_EQ(Count("Checkpoint file is missing"), 0u); // nothing was trained yet
}

TEST_F(ResumeTest, ResumedTrainingIsBitIdentical)
{
    for (const bool dropout : {false, true})
    {
        TrainingRequest whole = ClassifierRequest(5, dropout);
        whole.modelPath = Path(dropout ? "dropout/whole.dnn" : "whole.dnn");
        whole.options.learningRatesPerMB.values = {};
        whole.options.momentumPerMB.values = {0.9f, 0.8f};
        whole.options.dropoutRate.values = dropout ? std::vector<double>{0.2, 0.5} : std::vector<double>{0};
        TrainingRequest stopped = whole;
        stopped.modelPath = Path(dropout ? "dropout/stopped.dnn" : "stopped.dnn");
        Run(whole);

        struct Interrupt
        {
        };
        stopped.epochDone = [](const EpochReport& report)
        {
            if (report.epoch == 2)
                throw Interrupt();
        };
        EXPECT_THROW(Run(stopped), Interrupt);
        EXPECT_FALSE(FileExists(stopped.modelPath));
        stopped.epochDone = nullptr;
        Run(stopped);
        EXPECT_EQ(BytesOf(whole.modelPath), BytesOf(stopped.modelPath)) << "dropout " << dropout;
        EXPECT_EQ(BytesOf(whole.modelPath + ".ckp"), BytesOf(stopped.modelPath + ".ckp")) << "dropout " << dropout;
    }
}

TEST_F(ResumeTest, EveryUpdateRuleResumesBitIdentically)
{
    for (const auto rule : {GradientUpdateType::None, GradientUpdateType::AdaGrad, GradientUpdateType::RmsProp,
                            GradientUpdateType::FSAdaGrad, GradientUpdateType::Adam})
    {
        TrainingRequest request = ClassifierRequest(4);
        request.makeMode = true;
        request.options.gradUpdateType = rule;
        request.options.gaussianNoiseInjectStd = 0.001;
        const std::string name = "rule" + std::to_string(int(rule));
        request.modelPath = Path(name + "/whole.dnn");
        Run(request);
        request.modelPath = Path(name + "/parts.dnn");
        request.options.keepCheckPointFiles = true;
        Run(request);
        const std::string final = BytesOf(request.modelPath);
        for (const char* suffix : {"", ".ckp", ".3", ".3.ckp"})
            RemoveFile(request.modelPath + suffix);
        Run(request);
        EXPECT_EQ(BytesOf(request.modelPath), final);
        EXPECT_EQ(BytesOf(Path(name + "/whole.dnn")), final);
    }
}

// The state of one rule is nothing that another could begin with.
TEST_F(ResumeTest, ATrainingThatGoesOnWithAnotherUpdateRuleBeginsItAnew)
{
    const std::pair<GradientUpdateType, const char*> rules[] = {{GradientUpdateType::None, "none"},
                                                                {GradientUpdateType::AdaGrad, "adagrad"},
                                                                {GradientUpdateType::RmsProp, "rmsProp"},
                                                                {GradientUpdateType::FSAdaGrad, "fsAdagrad"},
                                                                {GradientUpdateType::Adam, "adam"}};
    for (const auto& [before, nameBefore] : rules)
        for (const auto& [now, nameNow] : rules)
        {
            const std::string folder = std::string(nameBefore) + "-" + nameNow;
            TrainingRequest request = ClassifierRequest(4);
            request.modelPath = Path(folder + "/m.dnn");
            request.options.learningRatesPerSample = 0.01f;
            request.options.gradUpdateType = before;
            request.epochDone = [](const EpochReport& report)
            {
                if (report.epoch == 1)
                    Fail(ErrorKind::Device, "the power is gone");
            };
            EXPECT_THROW(Run(request), Error);
            request.epochDone = nullptr;
            request.options.gradUpdateType = now;
            const size_t logged = LogText().size();
            // A model without its checkpoint begins with no state.
            TrainingRequest anew = request;
            anew.modelPath = Path(folder + "/anew.dnn");
            std::filesystem::copy_file(Path(folder + "/m.dnn.2"), Path(folder + "/anew.dnn.2"));
            Run(request);
            const std::string warning = "'" + Path(folder + "/m.dnn.2.ckp") +
                                        "' is of a training with gradUpdateType=" + nameBefore +
                                        ", which continues with gradUpdateType=" + nameNow +
                                        ": the saved optimizer state does not fit and is reset";
            EXPECT_EQ(LogText().find(warning, logged) != std::string::npos, before != now) << folder;
            Run(anew);
            EXPECT_EQ(BytesOf(request.modelPath) == BytesOf(anew.modelPath), before != now) << folder;
        }
}

// The checkpoint's rate counts, as in CNTK v1.1, even if the list of rates has changed.
TEST_F(ResumeTest, AnotherRateThatAutoAdjustNoLongerReadsIsAWarning)
{
    for (const auto mode : {LearningRateSearch::AdjustAfterEpoch, LearningRateSearch::SearchBeforeEpoch})
    {
        const bool adjusts = mode == LearningRateSearch::AdjustAfterEpoch;
        TrainingRequest request = ClassifierRequest(4);
        request.modelPath = Path(adjusts ? "adjusted/m.dnn" : "searched/m.dnn");
        request.options.learningRatesPerSample = 0.01f;
        request.options.autoAdjust.autoAdjustLR = mode;
        request.options.autoAdjust.numMiniBatch4LRSearch = 2;
        request.epochDone = [](const EpochReport& report)
        {
            if (report.epoch == 1)
                Fail(ErrorKind::Device, "the power is gone");
        };
        EXPECT_THROW(Run(request), Error);
        request.epochDone = nullptr;
        const auto goOn = [&](std::vector<float> rates, const char* folder)
        {
            TrainingRequest other = request;
            other.modelPath = Path(folder + std::string("/m.dnn"));
            CopyFolder(Path(adjusts ? "adjusted" : "searched"), Path(folder));
            other.options.learningRatesPerSample.values = std::move(rates);
            const size_t logged = LogText().size();
            Run(other);
            return LogText().substr(logged);
        };
        const std::string warning =
            std::string("WARNING: learningRatesPerSample ends with 0.02, and ended with 0.01 when '") +
            Path(adjusts ? "a1/m.dnn.2.ckp" : "s1/m.dnn.2.ckp") +
            "' was saved: that has no effect on epoch 3, whose rate " +
            (adjusts ? "is what autoAdjustLR=adjustAfterEpoch has come to ("
                     : "autoAdjustLR=searchBeforeEpoch looks for; ");
        const std::string log = goOn({0.02f}, adjusts ? "a1" : "s1");
        EXPECT_NE(log.find(warning), std::string::npos) << log;
        EXPECT_NE(log.find("; a list of at least 3 rates says that epoch's own\n"), std::string::npos);
        EXPECT_EQ(goOn({0.01f}, adjusts ? "a2" : "s2").find("WARNING: learningRates"), std::string::npos);
        EXPECT_EQ(goOn({0.02f, 0.02f, 0.02f}, adjusts ? "a3" : "s3").find("WARNING: learningRates"), std::string::npos);
        EXPECT_EQ(goOn({0.02f, 0.01f}, adjusts ? "a4" : "s4").find("WARNING: learningRates"), std::string::npos);
    }
}

TEST_F(ResumeTest, AMissingCheckpointIsAWarning)
{
    TrainingRequest request = ClassifierRequest(3);
    Run(request);
    RemoveFile(Path("m.dnn"));
    Run(request);
    EXPECT_NE(LogText().find("Warning: Checkpoint file is missing. Learning parameters will be initialized from 0\n"),
              std::string::npos);
    EXPECT_TRUE(FileExists(Path("m.dnn")));
}

TEST_F(ResumeTest, ADamagedCheckpointIsReportedAndTheOneBeforeIsUsed)
{
    TrainingRequest request = ClassifierRequest(4);
    request.options.keepCheckPointFiles = true;
    Run(request);
    const std::string final = BytesOf(Path("m.dnn"));
    RemoveFile(Path("m.dnn"));
    RemoveFile(Path("m.dnn.ckp"));
    const std::string checkpoint = BytesOf(Path("m.dnn.3.ckp"));
    std::ofstream(Path("m.dnn.3.ckp"), std::ios::binary) << checkpoint.substr(0, checkpoint.size() / 2);
    Run(request);
    EXPECT_NE(LogText().find("WARNING: '" + Path("m.dnn.3.ckp") + "' cannot be used: "), std::string::npos);
    EXPECT_NE(LogText().find("going back to the checkpoint before it"), std::string::npos);
    EXPECT_NE(LogText().find("Loading network from '" + Path("m.dnn.2") + "'"), std::string::npos);
    EXPECT_EQ(BytesOf(Path("m.dnn")), final);
}

// Its model is gone: the newest one, which is whole, is as far as the training came.
TEST_F(ResumeTest, ADamagedCheckpointIsNoReasonToGoBackToAModelThatIsGone)
{
    TrainingRequest request = ClassifierRequest(4);
    request.options.keepCheckPointFiles = true;
    Run(request);
    for (const char* name : {"m.dnn", "m.dnn.ckp", "m.dnn.2"})
        RemoveFile(Path(name));
    std::ofstream(Path("m.dnn.3.ckp"), std::ios::binary) << "x";
    Run(request);
    EXPECT_EQ(Count("there is no older checkpoint: continuing from the model, with smoothed gradients of 0"), 1u)
        << LogText();
    EXPECT_EQ(Count("Starting Epoch 3: "), 1u); // in the first run
    EXPECT_TRUE(FileExists(Path("m.dnn")));
}

TEST_F(ResumeTest, ADamagedModelIsReportedAndTheOneBeforeIsUsed)
{
    TrainingRequest request = ClassifierRequest(3);
    request.options.keepCheckPointFiles = true;
    Run(request);
    const std::string final = BytesOf(Path("m.dnn"));
    RemoveFile(Path("m.dnn"));
    const std::string model = BytesOf(Path("m.dnn.2"));
    std::ofstream(Path("m.dnn.2"), std::ios::binary) << model.substr(0, model.size() - 40);
    Run(request);
    EXPECT_NE(LogText().find("WARNING: '" + Path("m.dnn.2") + "' cannot be used: "), std::string::npos);
    EXPECT_NE(LogText().find("going back to the model before it"), std::string::npos);
    EXPECT_EQ(BytesOf(Path("m.dnn")), final);
}

TEST_F(ResumeTest, DamagedNewestFilesResumeBitIdenticallyWithoutKeptCheckpoints)
{
    struct Interrupt
    {
    };
    TrainingRequest request = ClassifierRequest(6);
    Run(request);
    const std::string final = BytesOf(Path("m.dnn"));
    const std::string finalCheckpoint = BytesOf(Path("m.dnn.ckp"));
    for (const char* damaged : {".4", ".4.ckp"})
    {
        request.modelPath = Path("damaged" + std::string(damaged) + "/m.dnn");
        request.epochDone = [](const EpochReport& report)
        {
            if (report.epoch == 3)
                throw Interrupt();
        };
        EXPECT_THROW(Run(request), Interrupt);
        EXPECT_FALSE(FileExists(request.modelPath + ".2.ckp"));
        const std::string path = request.modelPath + damaged;
        const std::string bytes = BytesOf(path);
        std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
        request.epochDone = nullptr;
        Run(request);
        EXPECT_NE(LogText().find("WARNING: '" + path + "' cannot be used: "), std::string::npos);
        EXPECT_EQ(BytesOf(request.modelPath), final) << damaged;
        EXPECT_EQ(BytesOf(request.modelPath + ".ckp"), finalCheckpoint) << damaged;
        EXPECT_FALSE(FileExists(request.modelPath + ".4.ckp"));
        EXPECT_FALSE(FileExists(request.modelPath + ".5.ckp"));
    }
}

TEST_F(ResumeTest, WhatAKilledTrainingLeftGoes)
{
    TrainingRequest request = ClassifierRequest(4);
    request.options.keepCheckPointFiles = true;
    Run(request);
    request.options.keepCheckPointFiles = false;
    const auto leave = [&](const char* name) { std::ofstream(Path(name)) << "x"; };
    const std::vector<std::string> documented{"m.dnn", "m.dnn.0", "m.dnn.1", "m.dnn.2", "m.dnn.3", "m.dnn.ckp"};

    // After the final model, before the old checkpoint went.
    leave("m.dnn.2.tmp");
    Run(request);
    EXPECT_EQ(FilesLike("m.dnn"), documented);

    RemoveFile(Path("m.dnn"));
    RemoveFile(Path("m.dnn.3"));
    leave("m.dnn.1.ckp");
    leave("m.dnn.3.ckp.tmp");
    leave("m.dnn.tmp");
    Run(request);
    EXPECT_EQ(FilesLike("m.dnn"), documented);
}

TEST_F(ResumeTest, AnEarlyEndLeavesOneCheckpoint)
{
    TrainingRequest request = LineRequest();
    request.options.maxEpochs = 5;
    request.options.learningRatesPerSample.values = {0.01f, 0.01f, 0.01f, 0};
    Run(request);
    EXPECT_EQ(FilesLike("line.dnn"),
              (std::vector<std::string>{"line.dnn.0", "line.dnn.1", "line.dnn.2", "line.dnn.3", "line.dnn.3.ckp"}));
}

// Its numbers are others than those of the training set, which it would have to fall below.
TEST_F(ResumeTest, AValidationSetThatIsAddedBeginsWithItsOwnNumbers)
{
    TrainingRequest request = LineRequest();
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    request.options.earlyStopPatience = 1;
    Run(request);
    for (const char* name : {"line.dnn", "line.dnn.ckp"})
        std::filesystem::rename(Path(name), Path(std::string(name).replace(0, 8, "line.dnn.2")));
    request.options.maxEpochs = 4;
    request.openCvReader = []
    {
        return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(
            SyntheticData{.featureDim = 1, .labelDim = 1, .features = {10, 20}, .labels = {21, 41}}));
    };
    Run(request);
    const std::string log = LogText();
    EXPECT_EQ(Count("rolling back"), 0u) << log;
    EXPECT_EQ(Count("Finished Epoch[ 4 of 4]: [Validation Set]"), 1u) << log;
    const std::string before = "'" + Path("line.dnn.2.ckp") + "' has 'criterion' of the training data, and now ";
    EXPECT_NE(log.find(before + "the learning rate goes by 'criterion' of the validation data: the first "
                                "new value has no predecessor"),
              std::string::npos)
        << log;
    EXPECT_NE(log.find(before +
                       "the best model is found by 'criterion' of the validation data: of the models so far none "
                       "is the best"),
              std::string::npos)
        << log;
    // The same numbers are compared.
    std::filesystem::rename(Path("line.dnn"), Path("line.dnn.4"));
    std::filesystem::rename(Path("line.dnn.ckp"), Path("line.dnn.4.ckp"));
    request.options.maxEpochs = 5;
    Run(request);
    EXPECT_EQ(Count("' has 'criterion' of the "), 2u);
}

// It was killed when the final model was there, but the checkpoints before the last one were not yet gone.
TEST_F(ResumeTest, WhatATrainingLeftThatWasKilledAtItsEarlyEndGoes)
{
    TrainingRequest request = LineRequest();
    request.options.maxEpochs = 50;
    request.options.learningRatesPerSample = 0.01f;
    request.options.earlyStopPatience = 1;
    request.options.earlyStopMinImprovement = 1e9; // no epoch but the first is progress
    Run(request);
    const std::vector<std::string> ended{"line.dnn",   "line.dnn.0",     "line.dnn.1",
                                         "line.dnn.2", "line.dnn.2.ckp", "line.dnn.best"};
    EXPECT_EQ(FilesLike("line.dnn"), ended);
    std::filesystem::copy_file(Path("line.dnn.2.ckp"), Path("line.dnn.1.ckp"));
    Run(request);
    EXPECT_EQ(FilesLike("line.dnn"), ended);
    // Unless they are to stay.
    std::filesystem::copy_file(Path("line.dnn.2.ckp"), Path("line.dnn.1.ckp"));
    request.options.keepCheckPointFiles = true;
    Run(request);
    EXPECT_TRUE(FileExists(Path("line.dnn.1.ckp")));
}

} // namespace cntk
