// Whole trainings over data in memory: the numbers, the files, what stops a training.
#include "Common/Error.h"
#include "Common/File.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Files/CheckpointFile.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"
#include "SGD/Evaluation/Evaluation.h"
#include "SGD/Schedules/Schedules.h"
#include "SGDTests/TrainerFixture.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace cntk
{

TEST_F(TrainerTest, MomentumFollowsTheFormulaAndShortMinibatchesGetMore)
{
    TrainingRequest request = LineRequest();
    std::vector<EpochReport> reports;
    request.epochDone = [&](const EpochReport& report) { reports.push_back(report); };
    Run(request);

    const double rate = double(0.01f);
    const double perSample = std::pow(double(0.5f), 0.5);
    double w = 0.25;
    double smoothed = 0;
    std::vector<double> losses;
    for (int epoch = 0; epoch < 2; ++epoch)
    {
        double loss = 0;
        for (const auto& [first, last] : {std::pair<size_t, size_t>{0, 2}, {2, 4}, {4, 5}})
        {
            double gradient = 0;
            for (size_t i = first; i < last; ++i)
            {
                const double error = m_points.labels[i] - w * m_points.features[i];
                loss += error * error;
                gradient -= 2 * error * m_points.features[i];
            }
            const double momentum = std::pow(perSample, double(last - first));
            smoothed = momentum * smoothed + (1 - momentum) * rate * gradient;
            w -= smoothed;
        }
        losses.push_back(loss / 5);
    }
    EXPECT_NEAR(ValuesOf(*Load("line.dnn"), "W")[0], w, 1e-14);
    ASSERT_EQ(reports.size(), 2u);
    for (size_t i = 0; i < 2; ++i)
    {
        EXPECT_NEAR(reports[i].criterion, losses[i], 1e-12);
        EXPECT_EQ(reports[i].samples, 5u);
        EXPECT_TRUE(reports[i].evaluations.empty());
    }
    const Checkpoint checkpoint = LoadCheckpoint(Path("line.dnn.ckp"), DataType::Float64, *m_device);
    EXPECT_EQ(checkpoint.info.samplesSeen, 10u);
    EXPECT_EQ(checkpoint.info.minibatchSize, 2u);
    EXPECT_DOUBLE_EQ(checkpoint.info.learningRatePerSample, rate);
    EXPECT_NEAR(checkpoint.info.previousCriterion, losses[1], 1e-12);
    ASSERT_EQ(checkpoint.smoothedGradients.size(), 1u);
    EXPECT_NEAR(checkpoint.smoothedGradients[0].ToHost()[0], smoothed, 1e-14);
}

// The momentum of a long minibatch is too small for a number, that of the short one at the end is not.
TEST_F(TrainerTest, AShortMinibatchGoesOnFromLongOnesThatHadNoMomentum)
{
    TrainingRequest request = LineRequest();
    request.options.maxEpochs = 1;
    request.options.minibatchSize = 400;
    request.options.momentumPerMB = {};
    request.options.momentumPerSample = 0.1f;
    request.options.learningRatesPerSample = 0.001f;
    m_points = {.featureDim = 1, .labelDim = 1, .features = {}, .labels = {}};
    for (size_t i = 0; i < 1201; ++i)
    {
        m_points.features.push_back(0.1 * double(i % 11) - 0.4);
        m_points.labels.push_back(0.1 * double(i % 7));
    }
    Run(request);

    double w = 0.25;
    double smoothed = 0;
    for (size_t first = 0; first < 1201; first += 400)
    {
        const size_t columns = std::min<size_t>(400, 1201 - first);
        double gradient = 0;
        for (size_t i = first; i < first + columns; ++i)
            gradient -= 2 * (m_points.labels[i] - w * m_points.features[i]) * m_points.features[i];
        const double momentum = std::pow(double(0.1f), double(columns));
        EXPECT_EQ(momentum == 0, columns > 1);
        smoothed = momentum * smoothed + (1 - momentum) * double(0.001f) * gradient;
        w -= smoothed;
    }
    EXPECT_NEAR(ValuesOf(*Load("line.dnn"), "W")[0], w, 1e-14);
    const Checkpoint checkpoint = LoadCheckpoint(Path("line.dnn.ckp"), DataType::Float64, *m_device);
    EXPECT_NEAR(checkpoint.smoothedGradients[0].ToHost()[0], smoothed, 1e-14);
}

TEST_F(TrainerTest, EpochsSmallerAndLargerThanTheDataGoOnWhereTheReaderStopped)
{
    for (const size_t epochSize : {3, 8})
    {
        TrainingRequest request = LineRequest();
        request.makeMode = false;
        request.options.epochSize = epochSize;
        std::vector<size_t> samples;
        request.epochDone = [&](const EpochReport& report) { samples.push_back(report.samples); };
        Run(request);
        EXPECT_EQ(samples, (std::vector<size_t>{epochSize, epochSize}));
    }
}

TEST_F(TrainerTest, LogSaysHowMinibatchesAreCut)
{
    TrainingRequest request = ClassifierRequest(1);
    request.options.numSubminibatches = 2;
    Run(request);
    EXPECT_NE(LogText().find("\nStarting minibatch loop, with 2 subminibatch.\n"), std::string::npos);
    request.options.maxSamplesInRAM = 3;
    request.makeMode = false;
    Run(request);
    EXPECT_NE(LogText().find("\nStarting minibatch loop, with maximum 3 samples in RAM.\n"), std::string::npos);
}

TEST_F(TrainerTest, LogHasTheOriginalsLines)
{
    TrainingRequest request = ClassifierRequest(2);
    request.options.traceLevel = 1;
    request.options.numMBsToShowResult = 2;
    Run(request);
    const std::string log = LogText();
    EXPECT_NE(log.find("\nTraining criterion node(s):\n\tce = CrossEntropyWithSoftmax\n"), std::string::npos) << log;
    EXPECT_NE(log.find("\nEvaluation criterion node(s):\n\terr = ErrorPrediction\n"), std::string::npos);
    EXPECT_NE(log.find("No PreCompute nodes found, skipping PreCompute step.\n"), std::string::npos);
    EXPECT_NE(log.find("\nStarting Epoch 1: learning rate per sample = 0.050000  effective momentum = 0.800000  "
                       "momentum as time constant = 22.4 samples\n"),
              std::string::npos);
    EXPECT_NE(log.find("Starting minibatch loop.\n"), std::string::npos);
    EXPECT_NE(log.find(" Epoch[ 1 of 2]-Minibatch[   1-   2]: SamplesSeen = 10; TrainLossPerSample = "),
              std::string::npos);
    EXPECT_NE(log.find(" Epoch[ 1 of 2]-Minibatch[   3-   4]: SamplesSeen = 10; "), std::string::npos);
    EXPECT_NE(log.find(" Epoch[ 2 of 2]-Minibatch[   1-   2, 43.48%]: SamplesSeen = 10; "), std::string::npos);
    EXPECT_NE(log.find("Finished Epoch[ 1 of 2]: [Training Set] TrainLossPerSample = "), std::string::npos);
    EXPECT_NE(log.find("; TotalSamplesSeen = 46; EvalErrPerSample = "), std::string::npos);
    EXPECT_NE(log.find("; AvgLearningRatePerSample = 0.050000001; EpochTime="), std::string::npos);
    EXPECT_NE(log.find("SGD: Saving checkpoint model '" + Path("m.dnn.1") + "'\n"), std::string::npos);
    EXPECT_NE(log.find("Waiting for data took "), std::string::npos);
}

TEST_F(TrainerTest, WithoutTraceLevelNoProgressLines)
{
    Run(ClassifierRequest(1));
    EXPECT_EQ(LogText().find("Minibatch["), std::string::npos);
    EXPECT_EQ(LogText().find("Waiting for data"), std::string::npos);
    EXPECT_NE(LogText().find("Finished Epoch[ 1 of 1]: [Training Set]"), std::string::npos);
}

TEST_F(TrainerTest, FilesHaveTheOriginalsNames)
{
    Run(ClassifierRequest(3));
    EXPECT_EQ(FilesLike("m.dnn"), (std::vector<std::string>{"m.dnn", "m.dnn.0", "m.dnn.1", "m.dnn.2", "m.dnn.ckp"}));
}

TEST_F(TrainerTest, KeepCheckPointFilesKeepsThemAll)
{
    TrainingRequest request = ClassifierRequest(3);
    request.options.keepCheckPointFiles = true;
    Run(request);
    EXPECT_EQ(FilesLike("m.dnn"), (std::vector<std::string>{"m.dnn", "m.dnn.0", "m.dnn.1", "m.dnn.1.ckp", "m.dnn.2",
                                                            "m.dnn.2.ckp", "m.dnn.ckp"}));
}

TEST_F(TrainerTest, ModelPathMayComeWithTheOptions)
{
    TrainingRequest request = ClassifierRequest(1);
    request.modelPath.clear();
    EXPECT_EQ(MessageOf(request),
              "modelPath is missing; expected the name of the model to write, in the SGD block or around it");
    request.options.modelPath = Path("folder/other.dnn");
    Run(request);
    EXPECT_TRUE(FileExists(Path("folder/other.dnn")));
}

TEST_F(TrainerTest, AModelPathThatCannotBeWrittenIsRefusedBeforeAnythingElse)
{
    TrainingRequest request = ClassifierRequest(2);
    request.buildNetwork = []() -> std::unique_ptr<ComputationNetwork> { throw std::logic_error("not to be built"); };
    request.modelPath = m_folder;
    for (const bool makeMode : {true, false})
    {
        request.makeMode = makeMode;
        EXPECT_EQ(MessageOf(request), "cannot write file '" + m_folder + "': Is a directory");
        EXPECT_EQ(m_kind, ErrorKind::Device);
    }
    std::ofstream(Path("file")) << "x";
    request.modelPath = Path("file/m.dnn");
    EXPECT_EQ(MessageOf(request),
              "cannot create folder '" + Path("file") + "' for file '" + Path("file/m.dnn") + "': Not a directory");
    EXPECT_EQ(m_kind, ErrorKind::Device);
    request.modelPath = "/proc/m.dnn"; // nobody may write there, nor into folders that forbid it
    if (::access("/proc", W_OK) != 0)
    {
        EXPECT_NE(MessageOf(request).find("cannot write into folder '/proc' for file '/proc/m.dnn': "),
                  std::string::npos);
    }
}

TEST_F(TrainerTest, AnotherNetworkThanTheOneContinuedIsAWarning)
{
    TrainingRequest request = ClassifierRequest(3);
    request.buildForComparison = [this] { return Classifier(); };
    Run(request);
    const std::string final = BytesOf(Path("m.dnn"));
    const auto resume = [&]
    {
        RemoveFile(Path("m.dnn"));
        RemoveFile(Path("m.dnn.2"));
        Run(request);
    };
    resume();
    EXPECT_EQ(LogText().find("is not the network described now"), std::string::npos);

    request.buildForComparison = [this]
    {
        auto network = Classifier();
        network->AddParameter("extra", {3, 1});
        return network;
    };
    resume();
    const std::string head =
        "WARNING: the model '" + Path("m.dnn.1") + "' that is continued is not the network described now: ";
    const std::string tail = "; the model's network is trained on; to start afresh give makeMode=false or another "
                             "modelPath\n";
    EXPECT_NE(LogText().find(head + "it has no parameter 'extra' (3 x 1)" + tail), std::string::npos) << LogText();

    request.buildForComparison = [this] { return Line(1); };
    resume();
    EXPECT_NE(LogText().find(head + "it has no parameter 'W' (1 x 1)" + tail), std::string::npos) << LogText();

    request.buildForComparison = [this]
    {
        auto network = std::make_unique<ComputationNetwork>(DataType::Float64, m_device);
        network->AddParameter("W0", {7, 2});
        return network;
    };
    resume();
    EXPECT_NE(LogText().find(head + "its 'W0' is 5 x 2, but 7 x 2 in the description" + tail), std::string::npos)
        << LogText();

    request.buildForComparison = []() -> std::unique_ptr<ComputationNetwork> { Fail(ErrorKind::Config, "odd"); };
    resume();
    EXPECT_NE(LogText().find(head + "the description cannot be built: odd" + tail), std::string::npos);
}

TEST_F(TrainerTest, ACheckpointOfAnotherNetworkIsRefused)
{
    TrainingRequest request = ClassifierRequest(3);
    Run(request);
    RemoveFile(Path("m.dnn"));
    std::filesystem::rename(Path("m.dnn.ckp"), Path("m.dnn.2.ckp"));
    request.options.gradUpdateType = GradientUpdateType::RmsProp;
    Run(request); // plain states are what rmsprop begins with
    RemoveFile(Path("m.dnn"));
    // CNTK v1.1 writes checkpoints without the rule.
    Checkpoint checkpoint = LoadCheckpoint(Path("m.dnn.ckp"), DataType::Float64, *m_device);
    EXPECT_EQ(checkpoint.info.extra.at("updateRule"), "rmsProp");
    checkpoint.info.extra.clear();
    std::vector<const Matrix*> states;
    for (const Matrix& state : checkpoint.smoothedGradients)
        states.push_back(&state);
    SaveCheckpoint(Path("m.dnn.2.ckp"), checkpoint.info, states);
    RemoveFile(Path("m.dnn.ckp"));
    request.options.gradUpdateType = GradientUpdateType::None;
    EXPECT_EQ(MessageOf(request), "checkpoint '" + Path("m.dnn.2.ckp") +
                                      "' holds a 5 x 3 state for parameter 'B0'; expected 5 x 1 for this network and "
                                      "gradUpdateType; if the model was edited, remove its checkpoint: the training "
                                      "then resumes with smoothed gradients of 0 and the rates of the config");
}

// Checkpoints of CNTK v1.1 have no average, and an infinite criterion until the first decision.
TEST_F(TrainerTest, ACheckpointOfTheOriginalBetweenTwoLooksIsNoReasonToRollBack)
{
    TrainingRequest request = LineRequest();
    request.options.maxEpochs = 4;
    request.options.keepCheckPointFiles = true;
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    request.options.autoAdjust.learnRateAdjustInterval = 2;
    std::vector<double> criteria;
    request.epochDone = [&](const EpochReport& report) { criteria.push_back(report.criterion); };
    Run(request);
    Checkpoint checkpoint = LoadCheckpoint(Path("line.dnn.1.ckp"), DataType::Float64, *m_device);
    EXPECT_TRUE(std::isinf(checkpoint.info.previousCriterion));
    checkpoint.info.extra.clear();
    const std::vector<const Matrix*> states{&checkpoint.smoothedGradients[0]};
    SaveCheckpoint(Path("line.dnn.1.ckp"), checkpoint.info, states);
    for (const char* name : {"line.dnn", "line.dnn.2", "line.dnn.3"})
        RemoveFile(Path(name));
    Run(request);
    EXPECT_EQ(LogText().find("rolling back"), std::string::npos) << LogText();
    EXPECT_EQ(LoadCheckpoint(Path("line.dnn.2.ckp"), DataType::Float64, *m_device).info.previousCriterion, criteria[1]);
}

TEST_F(TrainerTest, InfinityInTheDataStopsTheTrainingAtItsMinibatch)
{
    TrainingRequest request = LineRequest();
    request.options.learningRatesPerSample = 0.001f;
    request.options.epochSize = 5;
    request.makeMode = false;
    m_points.features.insert(m_points.features.end(), {1, 1, 1, 1, 1});
    m_points.labels.insert(m_points.labels.end(), {1, 1, 1, 1, 1});
    for (const double bad : {std::nan(""), double(INFINITY)})
    {
        m_points.features.end()[-3] = bad;
        const std::string message = MessageOf(request);
        EXPECT_EQ(m_kind, ErrorKind::Model);
        EXPECT_EQ(message, "the training criterion 'criterion' is not a finite number in epoch 2, minibatch 2 "
                           "(learning rate per sample 0.001); the first node that is not finite: value of 'features' "
                           "(InputValue)");
    }
    // The first epoch's model and checkpoint stay.
    EXPECT_EQ(FilesLike("line.dnn"), (std::vector<std::string>{"line.dnn.0", "line.dnn.1", "line.dnn.1.ckp"}));
    EXPECT_NO_THROW(Load("line.dnn.1"));
}

// The next run may have another description. A start model of the user stays.
TEST_F(TrainerTest, AFailureInTheFirstEpochRemovesTheStartModelThatTheTrainingWrote)
{
    TrainingRequest request = LineRequest();
    Run(request);
    const std::string start = BytesOf(Path("line.dnn.0"));
    for (const std::string& name : FilesLike("line.dnn"))
        RemoveFile(Path(name));
    m_points.features.front() = std::nan("");
    EXPECT_NE(MessageOf(request).find("is not a finite number in epoch 1"), std::string::npos);
    EXPECT_EQ(FilesLike("line.dnn"), std::vector<std::string>{});
    EXPECT_NE(LogText().find("The training saved only its start model '" + Path("line.dnn.0") + "', which is removed"),
              std::string::npos);

    std::ofstream(Path("line.dnn.0"), std::ios::binary) << start;
    EXPECT_NE(MessageOf(request).find("is not a finite number in epoch 1"), std::string::npos);
    EXPECT_EQ(FilesLike("line.dnn"), std::vector<std::string>{"line.dnn.0"});
}

TEST_F(TrainerTest, ADivergingRateStopsTheTrainingAndNamesTheNode)
{
    TrainingRequest request = LineRequest();
    request.options.learningRatesPerSample = 1e30f;
    request.options.maxEpochs = 50;
    const std::string message = MessageOf(request);
    EXPECT_NE(message.find("is not a finite number in epoch "), std::string::npos) << message;
    EXPECT_NE(message.find("(learning rate per sample 1e+30)"), std::string::npos) << message;
    EXPECT_NE(message.find("the first node that is not finite: value of '"), std::string::npos) << message;
}

TEST_F(TrainerTest, ARateBelowTheMinimumEndsTheTraining)
{
    TrainingRequest request = LineRequest();
    request.options.learningRatesPerSample.values = {0.01f, 0};
    Run(request);
    EXPECT_NE(LogText().find("Learn Rate Per Sample for Epoch[2] = 0 is less than minLearnRate "), std::string::npos);
    EXPECT_NE(LogText().find("a rate of the list ends the training before epoch 2 of 2: '" + Path("line.dnn.1") +
                             "' is the last model; a final one, '" + Path("line.dnn") + "', is not written"),
              std::string::npos)
        << LogText();
    EXPECT_EQ(FilesLike("line.dnn"), (std::vector<std::string>{"line.dnn.0", "line.dnn.1", "line.dnn.1.ckp"}));
}

TEST_F(TrainerTest, CrossValidationIsEvaluatedAfterEachEpoch)
{
    TrainingRequest request = ClassifierRequest(2);
    request.openCvReader = []
    { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(TwoClasses(12, 3))); };
    Run(request);
    const std::string log = LogText();
    EXPECT_NE(log.find("Final Results: Minibatch[1-3]: SamplesSeen = 12    ce: CrossEntropyWithSoftmax/Sample = "),
              std::string::npos)
        << log;
    EXPECT_NE(log.find("Perplexity = "), std::string::npos);
    EXPECT_NE(log.find("    err: ErrorPrediction/Sample = "), std::string::npos);
    EXPECT_NE(log.find("Finished Epoch[ 2 of 2]: [Validation Set] TrainLossPerSample = "), std::string::npos);
    EXPECT_NE(log.find("; EvalErrPerSample = "), std::string::npos);
}

// Without momentum the smoothed gradient is the rate's part of the last one, of the fourth minibatch. Minibatches of
// the validation have more samples, for which the network's memory is laid out anew.
TEST_F(TrainerTest, CrossValidationLeavesTheLastGradientToTheCheckpoint)
{
    for (const bool validates : {false, true})
    {
        TrainingRequest request = LineRequest();
        request.modelPath = Path(validates ? "validated.dnn" : "line.dnn");
        request.options.maxEpochs = 1;
        request.options.epochSize = 4;
        request.options.momentumPerMB = 0.0f;
        request.options.minibatchSize = 4;
        request.options.learningRatesPerSample = 0.125f;
        request.openReader = []
        {
            const SyntheticData one{.featureDim = 1, .labelDim = 1, .features = {1}, .labels = {2}};
            return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(one));
        };
        if (validates)
            request.openCvReader = []
            {
                const SyntheticData many{.featureDim = 1,
                                         .labelDim = 1,
                                         .features = std::vector<double>(4, 1),
                                         .labels = std::vector<double>(4, 7)};
                return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(many));
            };
        Run(request);
        // The weight goes from 0.25 a quarter of the rest of the way to 2 with each; the last gradient is -2 of the
        // rest.
        const double rest = 1.75 * 0.75 * 0.75 * 0.75;
        const Checkpoint checkpoint = LoadCheckpoint(request.modelPath + ".ckp", DataType::Float64, *m_device);
        EXPECT_DOUBLE_EQ(checkpoint.smoothedGradients[0].ToHost()[0], -0.25 * rest);
        EXPECT_DOUBLE_EQ(ValuesOf(*LoadModel(request.modelPath, DataType::Float64, m_device), "W")[0], 2 - 0.75 * rest);
    }
}

TEST_F(TrainerTest, ACriterionThatBecameWorseRollsBack)
{
    TrainingRequest request = RollingBackRequest();
    std::vector<double> rates;
    request.epochDone = [&](const EpochReport& report) { rates.push_back(report.learningRatePerSample); };
    Run(request);
    EXPECT_NE(LogText().find("Loading (rolling back to) previous model with best training-criterion value: " +
                             Path("line.dnn.1") + ".\n"),
              std::string::npos)
        << LogText();
    EXPECT_NE(LogText().find("learnRatePerSample reduced to 0.025\n"), std::string::npos);
    ASSERT_EQ(rates.size(), 3u);
    EXPECT_DOUBLE_EQ(rates[2], 0.025);
    EXPECT_EQ(ValuesOf(*Load("line.dnn.2"), "W"), ValuesOf(*Load("line.dnn.1"), "W"));
}

TEST_F(TrainerTest, WithoutAnEvaluationNodeTheCriterionDecides)
{
    TrainingRequest request = RollingBackRequest();
    request.options.autoAdjust.useEvalCriterionControlLR = true;
    Run(request);
    EXPECT_EQ(Count("Loading (rolling back to) previous model"), 2u) << LogText();
}

TEST_F(TrainerTest, ACheckpointBehindARollBackHasTheSizeOfItsEpoch)
{
    TrainingRequest request = RollingBackRequest();
    request.options.keepCheckPointFiles = true;
    request.options.minibatchSize.values = {2, 3};
    Run(request);
    ASSERT_NE(LogText().find("rolling back"), std::string::npos) << LogText();
    EXPECT_EQ(LoadCheckpoint(Path("line.dnn.2.ckp"), DataType::Float64, *m_device).info.minibatchSize, 3u);
}

TEST_F(TrainerTest, ARollBackWithoutCheckpointWarns)
{
    TrainingRequest request = RollingBackRequest();
    const std::string warning = "the checkpoint '" + Path("line.dnn.1.ckp") +
                                "' of the model gone back to is missing (was learnRateAdjustInterval or loadBestModel "
                                "changed?); smoothed gradients begin at 0";
    Run(request);
    ASSERT_EQ(LogText().find(warning), std::string::npos);
    request.makeMode = false;
    request.epochDone = [&](const EpochReport& report)
    {
        if (report.epoch == 0)
            std::filesystem::remove(Path("line.dnn.1.ckp"));
    };
    Run(request);
    EXPECT_NE(LogText().find(warning), std::string::npos) << LogText();
}

TEST_F(TrainerTest, DropoutSeedsCountOnOnlyWhereTheRateChanges)
{
    TrainingRequest request = ClassifierRequest(3, true);
    request.options.keepCheckPointFiles = true;
    request.options.dropoutRate.values = {0.5, 0.5, 0.2};
    Run(request);
    const auto nextSeed = [&](const std::string& name)
    { return LoadCheckpoint(Path(name), DataType::Float64, *m_device).info.extra.at("dropoutNextSeed"); };
    EXPECT_EQ(nextSeed("m.dnn.1.ckp"), "2");
    EXPECT_EQ(nextSeed("m.dnn.2.ckp"), "2");
    EXPECT_EQ(nextSeed("m.dnn.ckp"), "3");
    EXPECT_NE(LogText().find("Setting dropout rate to 0.5.\n"), std::string::npos);
    EXPECT_NE(LogText().find("Setting dropout rate to 0.2.\n"), std::string::npos);
}

TEST_F(TrainerTest, DropoutSeedsFollowTheCriterionWhateverIsEvaluatedBeforeIt)
{
    const auto network = Line(1, DataType::Float64);
    const auto y = network->Require("y");
    const auto first = network->Add("Dropout", "zFirst", {network->Add("Tanh", "t", {y})});
    const auto second = network->Add("Dropout", "aSecond", {y});
    const auto beside = network->Add("Dropout", "beside", {y});
    const auto criterion =
        network->Add("SquareError", "c", {network->Require("labels"), network->Add("Plus", "sum", {first, second})});
    const auto evaluation = network->Add("SumElements", "evaluation", {network->Add("Plus", "sum2", {second, beside})});
    network->Validate();
    EvaluatorOptions options;
    options.training = true;
    options.backwardRoot = criterion;
    const Evaluator evaluator(*network, {evaluation, criterion}, options);
    DropoutSchedule(criterion).SetRate(0.5, *m_log);
    const auto nodeOf = [](const ComputationNodePtr& node) { return std::dynamic_pointer_cast<DropoutNode>(node); };
    EXPECT_EQ(nodeOf(first)->Seed(), 1u);
    EXPECT_EQ(nodeOf(second)->Seed(), 2u);
    EXPECT_EQ(nodeOf(beside)->Rate(), 0);
}

TEST_F(TrainerTest, ADropoutRateWithoutDropoutNodeIsAWarning)
{
    TrainingRequest request = ClassifierRequest(1);
    request.options.dropoutRate = 0.5;
    Run(request);
    EXPECT_NE(LogText().find("Setting dropout rate to 0.5.\nWARNING: there is no dropout node.\n"), std::string::npos);
}

TEST_F(TrainerTest, MeanAndDeviationAreComputedBeforeTheFirstEpoch)
{
    TrainingRequest request = LineRequest();
    request.buildNetwork = [this]
    {
        auto network = Line(0.25);
        const auto features = network->Require("features");
        const auto mean = network->Add("Mean", "mean", {features});
        const auto deviation = network->Add("InvStdDev", "deviation", {features});
        const auto normalized = network->Add("PerDimMeanVarNormalization", "normalized", {features, mean, deviation});
        network->SetInput(network->Require("y"), 1, normalized);
        network->Validate();
        return network;
    };
    Run(request);
    EXPECT_NE(LogText().find("Precomputing --> 2 PreCompute nodes found.\n"), std::string::npos);
    EXPECT_NE(LogText().find("Precomputing --> Completed.\n"), std::string::npos);
    const auto meanOf = [this](const std::string& model)
    { return StoredValues(*Load(model)->Require("mean"))->ToHost().at(0); };
    EXPECT_DOUBLE_EQ(meanOf("line.dnn.0"), (1 + 2 - 1 + 0.5 + 3) / 5);
    // A second training from the saved model has nothing to compute.
    RemoveFile(Path("line.dnn"));
    Run(request);
    EXPECT_NE(LogText().find("No PreCompute nodes found, skipping PreCompute step.\n"), std::string::npos);

    // Computes over the first epoch's samples only. A model without the values gets them, and is saved with them.
    request.modelPath = Path("part.dnn");
    request.options.epochSize = 2;
    request.options.useAllDataForPreComputedNode = false;
    SaveModel(*request.buildNetwork(), Path("part.dnn.0"));
    Run(request);
    EXPECT_DOUBLE_EQ(meanOf("part.dnn.0"), (1 + 2) / 2.0);
    EXPECT_DOUBLE_EQ(meanOf("part.dnn"), (1 + 2) / 2.0);
}

// At so small a rate the sums of the epoch are those of an evaluation of its model.
TEST_F(TrainerTest, EachEvaluationNodeIsReported)
{
    TrainingRequest request = ClassifierRequest(1);
    request.options.learningRatesPerSample = 1e-9f;
    request.buildNetwork = [this]
    {
        auto network = Classifier();
        const auto last = network->Require("HLast"), labels = network->Require("labels");
        network->AddToGroup(NodeGroup::Evaluation, network->Add("SquareError", "se", {labels, last}));
        network->Validate();
        return network;
    };
    std::vector<double> reported;
    request.epochDone = [&](const EpochReport& report) { reported = report.evaluations; };
    Run(request);
    const auto network = LoadModel(Path("m.dnn"), DataType::Float64, m_device);
    const auto source = request.openReader();
    EvaluationSettings settings;
    settings.minibatchSize = 100;
    const auto tested =
        EvaluateCriteria(*network, {network->Require("err"), network->Require("se")}, *source, settings, *m_log);
    ASSERT_EQ(reported.size(), 2u);
    for (size_t i = 0; i < 2; ++i)
    {
        EXPECT_NEAR(reported[i], tested.nodes[i].average, 1e-6);
        char text[80];
        std::snprintf(text, sizeof text, "    Evaluation Node [%s] Per Sample = %.8g\n", tested.nodes[i].name.c_str(),
                      reported[i]);
        EXPECT_EQ(Count(text), 1u) << text << LogText();
    }
}

TEST_F(TrainerTest, FloatAndDoubleReadersBothServe)
{
    TrainingRequest request = ClassifierRequest(1);
    request.dataType = DataType::Float32;
    request.buildNetwork = [this] { return Classifier(false, DataType::Float32); };
    request.openReader = []
    { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<float>>(TwoClasses(23, 7))); };
    Run(request);
    EXPECT_TRUE(FileExists(Path("m.dnn")));
}

TEST_F(TrainerTest, ContradictingOptionsAreRefused)
{
    TrainingRequest request = ClassifierRequest(1);
    request.options.learningRatesPerMB = 0.1f;
    EXPECT_EQ(MessageOf(request), "block 'SGD': learningRatesPerMB and learningRatesPerSample are both given; expected "
                                  "one of them (the other one may be given as 'default', which means none)");
}

} // namespace cntk
