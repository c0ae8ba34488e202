// Criteria over a data set, with and without intermediate lines.
#include "SGD/Evaluation/Evaluation.h"
#include "SGDTests/TrainingFixture.h"

namespace cntk
{

namespace
{

// The network's value is weight * feature, the criterion its SquareError to the label.
class EvaluationTest : public TrainingTest
{
protected:
    EvaluationResult Evaluate(double weight, const std::vector<double>& features, const std::vector<double>& labels,
                              const EvaluationSettings& settings)
    {
        const auto network = Line(weight);
        MinibatchSource source(std::make_unique<SyntheticReader<double>>(
            SyntheticData{.featureDim = 1, .labelDim = 1, .features = features, .labels = labels}));
        return EvaluateCriteria(*network, SelectEvaluationNodes(*network, {}), source, settings, *m_log);
    }

    // Samples with the errors 1, 4, 9, 16 and 25, one a minibatch, with a line in the log for every two of them.
    void EvaluateFiveSamples(size_t epochSize = c_wholeDataSet)
    {
        EvaluationSettings settings;
        settings.minibatchSize = 1;
        settings.epochSize = epochSize;
        settings.numMBsToShowResult = 2;
        settings.traceLevel = 1;
        Evaluate(0, {0, 0, 0, 0, 0}, {1, 2, 3, 4, 5}, settings);
    }
};

} // namespace

TEST_F(EvaluationTest, AveragesAreOverSamplesWhateverTheMinibatchSize)
{
    for (const size_t minibatchSize : {1, 2, 100})
    {
        EvaluationSettings settings;
        settings.minibatchSize = minibatchSize;
        const EvaluationResult result = Evaluate(2, {1, 2, 3}, {3, 3, 3}, settings);
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
    EvaluateFiveSamples();
    EXPECT_EQ(LogText(), "Minibatch[1-2]: SamplesSeen = 2    criterion: SquareError/Sample = 2.5    \n"
                         "Minibatch[3-4]: SamplesSeen = 2    criterion: SquareError/Sample = 12.5    \n"
                         "Minibatch[5-5]: SamplesSeen = 1    criterion: SquareError/Sample = 25    \n"
                         "Final Results: Minibatch[1-5]: SamplesSeen = 5    criterion: SquareError/Sample = 11    \n");
}

// Four samples are two lines; no rest remains.
TEST_F(EvaluationTest, APartOfTheDataIsTheFirstSamples)
{
    EvaluateFiveSamples(4);
    EXPECT_EQ(LogText(), "Minibatch[1-2]: SamplesSeen = 2    criterion: SquareError/Sample = 2.5    \n"
                         "Minibatch[3-4]: SamplesSeen = 2    criterion: SquareError/Sample = 12.5    \n"
                         "Final Results: Minibatch[1-4]: SamplesSeen = 4    criterion: SquareError/Sample = 7.5    \n");
}

} // namespace cntk
