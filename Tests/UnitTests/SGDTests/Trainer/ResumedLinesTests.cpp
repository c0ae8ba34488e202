// Progress lines of resumed trainings: lines after the stop cover only minibatches after the stop.
#include "SGDTests/TrainingFixture.h"

#include <sstream>

namespace cntk
{

namespace
{

class ResumedLinesTest : public TrainingTest
{
protected:
    // Eight minibatches of 15 samples an epoch.
    TrainingRequest Request() const
    {
        TrainingRequest request = ClassifierRequest(2);
        request.options.traceLevel = 1;
        request.options.minibatchSize = 15;
        request.options.epochSize = 120;
        request.openReader = []
        { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(TwoClasses(120, 11))); };
        return request;
    }

    // The lines of epochs, without those of trials, in the log since then; without times.
    std::vector<std::string> LinesSince(size_t before)
    {
        std::vector<std::string> found;
        std::istringstream lines(LogText().substr(before));
        for (std::string line; std::getline(lines, line);)
            if (line.starts_with(" Epoch["))
                found.push_back(line.substr(0, line.find("TotalTime")));
        return found;
    }

    std::vector<std::string> LinesOfWhole(TrainingRequest request, size_t interval)
    {
        request.modelPath = Path("whole" + std::to_string(interval));
        request.makeMode = false;
        request.options.numMBsToShowResult = interval;
        const size_t before = LogText().size();
        Run(request);
        return LinesSince(before);
    }

    // Stopped when asked for the stop-th time, behind the third minibatch of an epoch, with two minibatches a line: the
    // first line behind it is that of the fourth alone, the others are those of a training that was not stopped.
    void ExpectLinesBehind(TrainingRequest request, size_t stop, size_t epoch)
    {
        const std::vector<std::string> single = LinesOfWhole(request, 1), pairs = LinesOfWhole(request, 2);
        ASSERT_EQ(single.size(), 16u) << LogText();
        ASSERT_EQ(pairs.size(), 8u);
        request.options.numMBsToShowResult = 2;
        const std::string message = StopAt(request, stop);
        ASSERT_NE(message.find("after minibatch 3"), std::string::npos) << message;
        const size_t before = LogText().size();
        Run(request);
        const std::vector<std::string> behind = LinesSince(before);
        ASSERT_EQ(behind.size(), 7 - 4 * epoch) << LogText();
        EXPECT_EQ(behind[0], single[8 * epoch + 3]);
        for (size_t i = 1; i < behind.size(); ++i)
            EXPECT_EQ(behind[i], pairs[4 * epoch + i + 1]);
    }
};

} // namespace

TEST_F(ResumedLinesTest, OfAnEpoch)
{
    ExpectLinesBehind(Request(), 4, 0); // asked in front of the epoch, too
}

// An epoch over all data has as many samples as the previous epoch.
TEST_F(ResumedLinesTest, OfAnEpochWithoutASize)
{
    TrainingRequest request = Request();
    request.options.epochSize = 0;
    ExpectLinesBehind(request, 1 + 8 + 1 + 3, 1);
}

} // namespace cntk
