// Tests AdjustAfterEpoch with tables of criteria and rates.
#include "SGD/Schedules/Schedules.h"

#include <gtest/gtest.h>
#include <limits>

namespace cntk
{

namespace
{

AutoAdjustOptions AfterEpoch()
{
    AutoAdjustOptions options;
    options.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
    return options;
}

// A training without files that has given criterion values. The initial rate is 1 per sample.
class Epochs
{
public:
    // rates: number of epochs with a rate in the list, which is not adjusted.
    // isMaximised: the values are those of a maximised criterion, negated.
    explicit Epochs(const AutoAdjustOptions& options, size_t rates = 1, bool isMaximised = false)
        : m_control(options, rates, isMaximised)
    {
        state.learningRatePerSample = 1;
    }

    // Does what the trainer does at the end of an epoch. The first epoch is 0.
    RateChange Finish(size_t epoch, double criterion)
    {
        const bool rollsBack = WantsRollBack(epoch, criterion);
        const RateChange change = m_control.Adjust(state, epoch);
        m_control.EndDecision(state, epoch, rollsBack);
        return change;
    }

    // Does the first half of Finish.
    bool WantsRollBack(size_t epoch, double criterion)
    {
        m_control.Observe(state, epoch, criterion);
        return m_control.WantsRollBack(state, epoch);
    }

    RateState state;

private:
    LearningRateControl m_control;
};

constexpr double c_notANumber = std::numeric_limits<double>::quiet_NaN();

} // namespace

TEST(LearningRateControl, ReducesWhenTheImprovementIsTooSmall)
{
    AutoAdjustOptions options = AfterEpoch();
    options.reduceLearnRateIfImproveLessThan = 0.05;
    options.learnRateDecreaseFactor = 0.5;
    Epochs epochs(options);
    epochs.state.learningRatePerSample = 0.05;
    EXPECT_EQ(epochs.Finish(0, 1.2436666), RateChange::None);
    EXPECT_EQ(epochs.state.previousCriterion, 1.2436666);
    EXPECT_EQ(epochs.Finish(1, 1.2170142), RateChange::Reduced);
    EXPECT_EQ(epochs.state.learningRatePerSample, 0.025);
    EXPECT_EQ(epochs.Finish(2, 1.0), RateChange::None);
}

TEST(LearningRateControl, IncreasesWhenTheImprovementIsLarge)
{
    AutoAdjustOptions options = AfterEpoch();
    options.increaseLearnRateIfImproveMoreThan = 0.1;
    Epochs epochs(options);
    epochs.Finish(0, 2);
    EXPECT_EQ(epochs.Finish(1, 1.5), RateChange::Increased);
    EXPECT_EQ(epochs.state.learningRatePerSample, 1.382);
}

// For negative criteria, an improvement is a share of the magnitude.
TEST(LearningRateControl, CriteriaThatAreToGrowMayBeBelowZero)
{
    AutoAdjustOptions options = AfterEpoch();
    options.reduceLearnRateIfImproveLessThan = 0.1;
    Epochs epochs(options, 1, true);
    epochs.Finish(0, -1);
    EXPECT_EQ(epochs.Finish(1, -1.2), RateChange::None);
    EXPECT_EQ(epochs.Finish(2, -1.21), RateChange::Reduced);
}

TEST(LearningRateControl, AnImprovementByExactlyTheShareIsNotYetLarge)
{
    AutoAdjustOptions options = AfterEpoch();
    options.increaseLearnRateIfImproveMoreThan = 0.25;
    Epochs epochs(options);
    epochs.Finish(0, 2);
    EXPECT_EQ(epochs.Finish(1, 1.5), RateChange::None);
    EXPECT_EQ(epochs.Finish(2, 1), RateChange::Increased); // an improvement of a third
}

TEST(LearningRateControl, ACriterionThatIsNoNumberReducesTheRateAlsoWithoutGoingBack)
{
    AutoAdjustOptions options = AfterEpoch();
    options.loadBestModel = false;
    options.learnRateDecreaseFactor = 0.5;
    Epochs epochs(options);
    epochs.Finish(0, 2);
    EXPECT_EQ(epochs.Finish(1, c_notANumber), RateChange::Reduced);
    EXPECT_EQ(epochs.state.learningRatePerSample, 0.5);
}

TEST(LearningRateControl, EpochsOfTheListAreLeftAlone)
{
    Epochs epochs(AfterEpoch(), 3);
    for (size_t epoch = 0; epoch < 3; ++epoch)
        EXPECT_EQ(epochs.Finish(epoch, 1.0 + double(epoch)), RateChange::None);
    EXPECT_EQ(epochs.Finish(3, 9), RateChange::Reduced);
}

TEST(LearningRateControl, WorseCriteriaAndNaNWantTheOlderModel)
{
    Epochs epochs(AfterEpoch());
    epochs.Finish(0, 2);
    EXPECT_TRUE(epochs.WantsRollBack(1, 3));
    EXPECT_TRUE(epochs.WantsRollBack(1, c_notANumber));
    EXPECT_FALSE(epochs.WantsRollBack(1, 1));

    AutoAdjustOptions options = AfterEpoch();
    options.loadBestModel = false;
    Epochs withoutIt(options);
    withoutIt.Finish(0, 2);
    EXPECT_FALSE(withoutIt.WantsRollBack(1, 3));
}

TEST(LearningRateControl, AfterRollingBackTheOldCriterionStays)
{
    Epochs epochs(AfterEpoch());
    epochs.Finish(0, 2);
    epochs.Finish(1, 3);
    EXPECT_EQ(epochs.state.previousCriterion, 2);
}

TEST(LearningRateControl, OfEpochsThatNobodyKnowsTheMeanHasNothing)
{
    AutoAdjustOptions options = AfterEpoch();
    options.learnRateAdjustInterval = 4;
    Epochs epochs(options);
    epochs.state.previousCriterion = 2;
    epochs.state.isAverageKnown = false;
    EXPECT_EQ(epochs.Finish(6, 1), RateChange::None);
    EXPECT_EQ(epochs.Finish(7, 1.5), RateChange::None);
    EXPECT_EQ(epochs.state.previousCriterion, 1.25);
    epochs.Finish(8, 1);
    epochs.Finish(9, 2); // all epochs of the next interval are known
    EXPECT_EQ(epochs.state.averageCriterion, 1.5);
}

TEST(LearningRateControl, LooksAtTheMeanOfAnInterval)
{
    AutoAdjustOptions options = AfterEpoch();
    options.learnRateAdjustInterval = 2;
    Epochs epochs(options, 0);
    EXPECT_EQ(epochs.Finish(0, 4), RateChange::None);
    EXPECT_EQ(epochs.Finish(1, 2), RateChange::None);
    EXPECT_EQ(epochs.state.previousCriterion, 3);
    EXPECT_EQ(epochs.Finish(2, 9), RateChange::None);
    EXPECT_EQ(epochs.Finish(3, 9), RateChange::Reduced);
}

TEST(LearningRateControl, ContinueReduceReducesEveryLaterEpochAndStopsAtTheSecondFailure)
{
    AutoAdjustOptions options = AfterEpoch();
    options.continueReduce = true;
    options.learnRateDecreaseFactor = 0.5;
    Epochs epochs(options);
    epochs.Finish(0, 2);
    EXPECT_EQ(epochs.Finish(1, 1.5), RateChange::None);
    EXPECT_EQ(epochs.Finish(2, 1.5), RateChange::Reduced);
    EXPECT_EQ(epochs.Finish(3, 1.0), RateChange::Reduced);
    EXPECT_EQ(epochs.state.learningRatePerSample, 0.25);
    EXPECT_EQ(epochs.Finish(4, 1.0), RateChange::Stop);
}

TEST(LearningRateControl, WithoutAutomaticControlNothingChanges)
{
    Epochs epochs{AutoAdjustOptions()};
    epochs.Finish(0, 2);
    EXPECT_EQ(epochs.Finish(1, 3), RateChange::None);
    EXPECT_FALSE(LearningRateControl(AutoAdjustOptions(), 1).MayRollBack());
    EXPECT_EQ(epochs.state.previousCriterion, 3);
}

} // namespace cntk
