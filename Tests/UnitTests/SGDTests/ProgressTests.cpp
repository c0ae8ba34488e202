// Line shapes, character by character.
#include "SGD/Progress.h"
#include "SGDTests/TrainingFixture.h"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <pty.h>
#include <unistd.h>

namespace cntk
{

namespace
{

// While it lives, standard error is a terminal; what was written to it can be read.
class Terminal
{
public:
    Terminal() : m_before(dup(STDERR_FILENO))
    {
        int slave = -1;
        winsize size{};
        size.ws_row = 24;
        size.ws_col = 120;
        if (openpty(&m_master, &slave, nullptr, nullptr, &size) != 0)
            return;
        fcntl(m_master, F_SETFL, O_NONBLOCK);
        dup2(slave, STDERR_FILENO);
        close(slave);
        setenv("TERM", "xterm", 1);
    }
    ~Terminal()
    {
        dup2(m_before, STDERR_FILENO);
        close(m_before);
        close(m_master);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    std::string Written() const
    {
        std::string text;
        char buffer[4096];
        for (ssize_t length = 0; (length = read(m_master, buffer, sizeof buffer)) > 0;)
            text.append(buffer, size_t(length));
        return text;
    }

private:
    int m_before;
    int m_master = -1;
};

class ProgressTest : public TrainingTest
{
protected:
    Progress Make(size_t show = 10, size_t first = 0, int traceLevel = 1)
    {
        return Progress(
            *m_log,
            {.traceLevel = traceLevel, .numMBsToShowResult = show, .firstMBsToShowResult = first, .maxEpochs = 3});
    }
    static Progress::EpochEnd End(std::vector<double> evaluations)
    {
        Progress::EpochEnd end;
        end.averages.criterion = 0.68508362;
        end.averages.evaluations = std::move(evaluations);
        end.totalSamplesSeen = 400;
        end.learningRatePerSample = 0.02;
        end.seconds = 0.039039;
        end.secondsWaited = 0.0039039;
        return end;
    }
};

} // namespace

TEST_F(ProgressTest, NumbersAreFixedUnlessGeneralFormWouldUseAnExponent)
{
    EXPECT_EQ(FormatPadded(0.69502281, 11, 8), " 0.69502281");
    EXPECT_EQ(FormatPadded(1.23456789e-05, 11, 8), "1.23456789e-05");
    EXPECT_EQ(FormatPadded(123456789012.0, 0, 8), "1.23456789e+11");
    EXPECT_EQ(FormatPadded(0, 0, 8), "0.00000000");
    EXPECT_EQ(FormatPadded(12345.678, 0, 8), "12345.67800000");
}

TEST_F(ProgressTest, LinesAreDueEverySoManyMinibatchesAndForTheFirst)
{
    const Progress progress = Make(10, 2);
    EXPECT_TRUE(progress.IsDue(1));
    EXPECT_TRUE(progress.IsDue(2));
    EXPECT_FALSE(progress.IsDue(3));
    EXPECT_TRUE(progress.IsDue(20));
    EXPECT_FALSE(Make(0).IsDue(20));
}

TEST_F(ProgressTest, ProgressLinesShowWhatHappenedSinceTheLast)
{
    Progress progress = Make(4);
    progress.BeginEpoch({.epoch = 1,
                         .learningRatePerSample = 0.02,
                         .effectiveMomentum = 0.9,
                         .momentumTimeConstant = 237.3,
                         .expectedSamples = 400});
    const std::vector<double> first{69.502281, 51}, second{140.757194, 99};
    progress.ShowMinibatches(4, {first, 100});
    progress.ShowMinibatches(8, {second, 200});
    const std::string log = LogText();
    EXPECT_TRUE(log.starts_with("\nStarting Epoch 2: learning rate per sample = 0.020000  effective momentum = "
                                "0.900000  momentum as time constant = 237.3 samples\n"))
        << log;
    EXPECT_THAT(log, testing::ContainsRegex(
                         " Epoch\\[ 2 of 3\\]-Minibatch\\[   1-   4, 25\\.00%\\]: SamplesSeen = 100; "
                         "TrainLossPerSample =  0\\.69502281; EvalErr\\[0\\]PerSample = 0\\.51000000; TotalTime = "
                         "[0-9.]+s; SamplesPerSecond = [0-9.]+\n"
                         " Epoch\\[ 2 of 3\\]-Minibatch\\[   5-   8, 50\\.00%\\]: SamplesSeen = 100; "
                         "TrainLossPerSample =  0\\.71254913; EvalErr\\[0\\]PerSample = 0\\.48000000; "));
}

// The original counts back from the line's last minibatch, also where firstMBsToShowResult asked for it.
TEST_F(ProgressTest, LinesOfTheFirstMinibatchesCountBack)
{
    Progress progress = Make(3, 1);
    progress.BeginEpoch({});
    progress.ShowMinibatches(1, {std::vector<double>{1}, 10});
    progress.ShowMinibatches(3, {std::vector<double>{2}, 30});
    EXPECT_THAT(LogText(),
                testing::ContainsRegex(" Epoch\\[ 1 of 3\\]-Minibatch\\[  -1-   1\\]: SamplesSeen = 10; [^\n]*\n"
                                       " Epoch\\[ 1 of 3\\]-Minibatch\\[   1-   3\\]: SamplesSeen = 20; "));
    // An epoch that is taken up again behind its fourth minibatch.
    progress.BeginEpoch({});
    progress.ResumeAt(4, {std::vector<double>{3}, 40});
    progress.ShowMinibatches(6, {std::vector<double>{4}, 60});
    progress.ShowMinibatches(9, {std::vector<double>{5}, 90});
    EXPECT_THAT(LogText(), testing::ContainsRegex("Minibatch\\[   5-   6\\]: SamplesSeen = 20; [^\n]*\n"
                                                  " Epoch\\[ 1 of 3\\]-Minibatch\\[   7-   9\\]: "));
}

TEST_F(ProgressTest, EpochEndWithoutOneAndWithSeveralEvaluations)
{
    Progress progress = Make(10, 0, 0);
    progress.BeginEpoch({});
    progress.EndEpoch(End({}), "ce", {});
    progress.EndEpoch(End({0.4}), "ce", {"err"});
    progress.EndEpoch(End({0.4, 0.75}), "ce", {"err", "sqe"});
    const std::string log = LogText();
    for (const char* line :
         {"\nFinished Epoch[ 1 of 3]: [Training Set] TrainLossPerSample = 0.68508362; TotalSamplesSeen = 400; "
          "AvgLearningRatePerSample = 0.02; EpochTime=0.039039\n",
          "\nFinished Epoch[ 1 of 3]: [Training Set] TrainLossPerSample = 0.68508362; TotalSamplesSeen = 400; "
          "EvalErrPerSample = 0.4; AvgLearningRatePerSample = 0.02; EpochTime=0.039039\n",
          "\nFinished Epoch[ 1 of 3]: [Training Set] TrainLossPerSample = 0.68508362; TotalSamplesSeen = 400; "
          "EvalErrPerSample [0]=0.4; [1]=0.75; AvgLearningRatePerSample = 0.02; EpochTime=0.039039\n"
          "Finished Epoch[ 1 of 3]:     Criterion Node [ce] Per Sample = 0.68508362\n"
          "Finished Epoch[ 1 of 3]:     Evaluation Node [err] Per Sample = 0.4\n"
          "Finished Epoch[ 1 of 3]:     Evaluation Node [sqe] Per Sample = 0.75\n"})
        EXPECT_NE(log.find(line), std::string::npos) << line << "\nin\n" << log;
}

TEST_F(ProgressTest, WaitingForDataIsALineOfItsOwn)
{
    Progress progress = Make();
    progress.BeginEpoch({});
    progress.EndEpoch(End({0.4}), "ce", {"err"});
    EXPECT_NE(LogText().find("\nWaiting for data took 0.003904 s (10.0%) of the epoch.\n"), std::string::npos)
        << LogText();
}

TEST_F(ProgressTest, ValidationLine)
{
    Progress progress = Make();
    progress.BeginEpoch({});
    progress.ShowValidation({.criterion = 1.121904, .evaluations = {0.76}});
    progress.ShowValidation({.criterion = 1.121904, .evaluations = {}});
    EXPECT_NE(LogText().find("Finished Epoch[ 1 of 3]: [Validation Set] TrainLossPerSample = 1.121904; "
                             "EvalErrPerSample = 0.76\n"
                             "Finished Epoch[ 1 of 3]: [Validation Set] TrainLossPerSample = 1.121904\n"),
              std::string::npos);
}

// A line that is drawn over itself, on a terminal only; the log in a file has none of it.
TEST_F(ProgressTest, ATerminalShowsHowFarTheEpochIs)
{
    const Terminal terminal;
    Log log;
    log.RedirectTo(Path("run.log"));
    ASSERT_TRUE(log.HasTerminal());
    const EpochStart start{.epoch = 1,
                           .learningRatePerSample = 0.02,
                           .effectiveMomentum = 0.9,
                           .momentumTimeConstant = 237.3,
                           .expectedSamples = 400};
    Progress slow(log, {.maxEpochs = 3, .redrawInterval = std::chrono::hours(1)});
    slow.BeginEpoch(start);
    slow.Tick(1, 25);
    slow.Tick(2, 50);
    EXPECT_EQ(terminal.Written(), ""); // not at every minibatch
    Progress progress(log, {.maxEpochs = 3, .redrawInterval = std::chrono::milliseconds(0)});
    progress.BeginEpoch(start);
    progress.Tick(4, 100);
    const std::string drawn = terminal.Written();
    EXPECT_THAT(drawn, testing::MatchesRegex("\r?42%  [0-9]+:[0-9][0-9] left  epoch 2 of 3  minibatch 4  "
                                             "100 samples  [0-9]+ samples/s\x1b\\[K"));
    progress.EndEpoch(End({0.4}), "ce", {"err"});
    EXPECT_EQ(terminal.Written(), "\r\x1b[K"); // wiped before the next line of the log
    log.Finish();
    EXPECT_EQ(BytesOf(Path("run.log")).find("minibatch 4"), std::string::npos);
}

// The sizes of a first epoch are not known: no percentage and no time left.
TEST_F(ProgressTest, ATerminalWithoutKnownSizes)
{
    const Terminal terminal;
    Log log;
    log.RedirectTo(Path("run.log"));
    Progress progress(log, {.maxEpochs = 1, .redrawInterval = std::chrono::milliseconds(0)});
    progress.BeginEpoch({});
    progress.Tick(7, 70);
    EXPECT_THAT(terminal.Written(),
                testing::MatchesRegex("\repoch 1 of 1  minibatch 7  70 samples  [0-9]+ samples/s\x1b\\[K"));
}

TEST_F(ProgressTest, EvaluationLinesEndInFourBlanks)
{
    const std::vector<EvaluatedNode> nodes{{"EvalErrorPrediction", "ErrorPrediction", 0.3925},
                                           {"ce", "CrossEntropyWithSoftmax", 0.67086067}};
    EXPECT_EQ(
        FormatEvaluation(1, 4, 400, nodes, EvaluationLine::Final),
        "Final Results: Minibatch[1-4]: SamplesSeen = 400    EvalErrorPrediction: ErrorPrediction/Sample = 0.3925  "
        "  ce: CrossEntropyWithSoftmax/Sample = 0.67086067    Perplexity = 1.95592    ");
    EXPECT_EQ(FormatEvaluation(1, 100, 12800, nodes, EvaluationLine::Intermediate),
              "Minibatch[1-100]: SamplesSeen = 12800    EvalErrorPrediction: ErrorPrediction/Sample = 0.3925    ce: "
              "CrossEntropyWithSoftmax/Sample = 0.67086067    ");
}

} // namespace cntk
