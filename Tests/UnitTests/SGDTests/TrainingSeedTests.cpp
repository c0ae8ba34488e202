// trainingSeed in a training: dropout, noise, resuming, and the warning about another seed.
#include "Common/File.h"
#include "ComputationNetwork/Files/CheckpointFile.h"
#include "TrainingFixture.h"

#include <filesystem>
#include <utility>

namespace cntk
{

namespace
{

class TrainingSeedTest : public TrainingTest
{
protected:
    // A training whose start values and data no seed moves.
    TrainingRequest Request(uint64_t seed, double dropout, double noise) const
    {
        TrainingRequest request = ClassifierRequest(3, true);
        request.trainingSeed = seed;
        request.options.dropoutRate = dropout;
        request.options.gaussianNoiseInjectStd = noise;
        return request;
    }
    std::string ModelOf(uint64_t seed, double dropout, double noise)
    {
        TrainingRequest request = Request(seed, dropout, noise);
        request.makeMode = false;
        Run(request);
        return BytesOf(Path("m.dnn"));
    }
    bool Logged(const std::string& text) { return LogText().find(text) != std::string::npos; }
    size_t TimesLogged(const std::string& text)
    {
        const std::string log = LogText();
        size_t count = 0;
        for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1))
            ++count;
        return count;
    }
};

TEST_F(TrainingSeedTest, DropoutAndNoiseEachFollowIt)
{
    const std::string plain = ModelOf(0, 0, 0);
    EXPECT_EQ(ModelOf(7, 0, 0), plain) << "nothing is drawn";
    for (const auto& [dropout, noise] : {std::pair(0.5, 0.0), std::pair(0.0, 0.01), std::pair(0.5, 0.01)})
    {
        const std::string original = ModelOf(0, dropout, noise);
        const std::string seven = ModelOf(7, dropout, noise);
        EXPECT_NE(original, plain);
        EXPECT_NE(seven, original);
        EXPECT_NE(seven, ModelOf(8, dropout, noise));
        EXPECT_EQ(seven, ModelOf(7, dropout, noise));
    }
}

TEST_F(TrainingSeedTest, StoppedAnywhereItEndsWithTheSameBits)
{
    for (const size_t stopAfter : {2, 3, 4})
    {
        std::filesystem::remove_all(m_folder);
        std::filesystem::create_directory(m_folder);
        ExpectSameBits(Request(7, 0.5, 0.01), stopAfter);
    }
    EXPECT_FALSE(Logged("continues with trainingSeed"));
}

TEST_F(TrainingSeedTest, SaysWhichSeedAndWhenItIsNotTheCheckpoints)
{
    StopAt(Request(7, 0.5, 0), 9);
    EXPECT_TRUE(Logged("Training seed: 7\n"));
    EXPECT_FALSE(Logged("Training seed: 8\n"));
    ASSERT_TRUE(FileExists(Path("m.dnn.1.at2.ckp")));
    EXPECT_EQ(LoadCheckpoint(Path("m.dnn.1.at2.ckp"), DataType::Float64, *m_device).info.extra.at("trainingSeed"), "7");
    StopAt(Request(8, 0.5, 0), 2);
    EXPECT_TRUE(
        Logged("'" + Path("m.dnn.1.at2.ckp") +
               "' is of a training with trainingSeed=7, which continues with trainingSeed=8: from here on other "
               "random numbers are drawn; the models are those of neither seed"));
    StopAt(Request(0, 0.5, 0), 2);
    EXPECT_TRUE(Logged("is of a training with trainingSeed=8, which continues with trainingSeed=0: "));
    Run(Request(9, 0.5, 0));
    EXPECT_TRUE(Logged("is of a training with trainingSeed=0, which continues with trainingSeed=9: "));
    EXPECT_EQ(TimesLogged("continues with trainingSeed"), 3u);
}

TEST_F(TrainingSeedTest, ARollBackSaysNothingOfSeeds)
{
    TrainingRequest request = Request(7, 0, 0);
    request.options.learningRatesPerSample = 30.0f; // so that it becomes worse
    request.options.momentumPerMB = 0.0f;
    request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    Run(request);
    EXPECT_FALSE(Logged("continues with trainingSeed"));
}

TEST_F(TrainingSeedTest, CheckpointsOfTheOriginalsStreamsAreAsBefore)
{
    TrainingRequest request = Request(0, 0.5, 0);
    Run(request);
    EXPECT_FALSE(LoadCheckpoint(Path("m.dnn.ckp"), DataType::Float64, *m_device).info.extra.contains("trainingSeed"));
    EXPECT_FALSE(Logged("Training seed"));
}

} // namespace

} // namespace cntk
