// Criteria over a data set, with and without intermediate lines.
#include "Common/Error.h"
#include "SGD/Evaluation.h"
#include "SGDTests/TrainingFixture.h"

namespace cntk
{

namespace
{

class EvaluationTest : public TrainingTest
{
protected:
    static MinibatchSource Source(SyntheticData data)
    {
        return MinibatchSource(std::make_unique<SyntheticReader<double>>(std::move(data)));
    }
};

} // namespace

TEST_F(EvaluationTest, AveragesAreOverSamplesWhateverTheMinibatchSize)
{
    const auto network = Line(2);
    const SyntheticData data{.featureDim = 1, .labelDim = 1, .features = {1, 2, 3}, .labels = {3, 3, 3}};
    for (const size_t minibatchSize : {1, 2, 100})
    {
        MinibatchSource source = Source(data);
        EvaluationSettings settings;
        settings.minibatchSize = minibatchSize;
        const auto result = EvaluateCriteria(*network, SelectEvaluationNodes(*network, {}), source, settings, *m_log);
        EXPECT_EQ(result.samples, 3u);
        ASSERT_EQ(result.nodes.size(), 1u);
        EXPECT_NEAR(result.nodes[0].average, (1.0 + 1.0 + 9.0) / 3, 1e-14);
    }
    EXPECT_NE(LogText().find("Final Results: Minibatch[1-3]: SamplesSeen = 3    criterion: SquareError/Sample = "
                             "3.6666667    \n"),
              std::string::npos)
        << LogText();
    EXPECT_EQ(LogText().find("\nMinibatch["), std::string::npos);
}

TEST_F(EvaluationTest, IntermediateLinesShowTheirStretchAndTheRest)
{
    const auto network = Line(0);
    const SyntheticData data{.featureDim = 1, .labelDim = 1, .features = {0, 0, 0, 0, 0}, .labels = {1, 2, 3, 4, 5}};
    MinibatchSource source = Source(data);
    EvaluationSettings settings;
    settings.minibatchSize = 1;
    settings.numMBsToShowResult = 2;
    settings.traceLevel = 1;
    EvaluateCriteria(*network, SelectEvaluationNodes(*network, {}), source, settings, *m_log);
    EXPECT_EQ(LogText(), "Minibatch[1-2]: SamplesSeen = 2    criterion: SquareError/Sample = 2.5    \n"
                         "Minibatch[3-4]: SamplesSeen = 2    criterion: SquareError/Sample = 12.5    \n"
                         "Minibatch[5-5]: SamplesSeen = 1    criterion: SquareError/Sample = 25    \n"
                         "Final Results: Minibatch[1-5]: SamplesSeen = 5    criterion: SquareError/Sample = 11    \n");
}

// Of four samples, which are two lines: there is no rest.
TEST_F(EvaluationTest, APartOfTheDataIsTheFirstSamples)
{
    const auto network = Line(0);
    const SyntheticData data{.featureDim = 1, .labelDim = 1, .features = {0, 0, 0, 0, 0}, .labels = {1, 2, 3, 4, 5}};
    MinibatchSource source = Source(data);
    EvaluationSettings settings;
    settings.minibatchSize = 1;
    settings.epochSize = 4;
    settings.numMBsToShowResult = 2;
    settings.traceLevel = 1;
    EvaluateCriteria(*network, SelectEvaluationNodes(*network, {}), source, settings, *m_log);
    EXPECT_EQ(LogText(), "Minibatch[1-2]: SamplesSeen = 2    criterion: SquareError/Sample = 2.5    \n"
                         "Minibatch[3-4]: SamplesSeen = 2    criterion: SquareError/Sample = 12.5    \n"
                         "Final Results: Minibatch[1-4]: SamplesSeen = 4    criterion: SquareError/Sample = 7.5    \n");
}

} // namespace cntk
