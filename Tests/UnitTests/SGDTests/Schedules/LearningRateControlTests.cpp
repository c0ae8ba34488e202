// AdjustAfterEpoch as a table of criteria and rates.
#include "SGD/Schedules/LearningRateControl.h"

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

// What the trainer does at the end of an epoch, without files.
RateChange Finish(const LearningRateControl& control, RateState& state, size_t epoch, double value)
{
    control.Observe(state, epoch, value);
    const bool rollsBack = control.WantsRollBack(state, epoch);
    const RateChange change = control.Adjust(state, epoch);
    control.EndLook(state, epoch, rollsBack);
    return change;
}

} // namespace

TEST(LearningRateControl, ReducesWhenTheImprovementIsTooSmall)
{
    AutoAdjustOptions options = AfterEpoch();
    options.reduceLearnRateIfImproveLessThan = 0.05;
    options.learnRateDecreaseFactor = 0.5;
    const LearningRateControl control(options, 1);
    RateState state;
    state.learningRatePerSample = 0.05;
    EXPECT_EQ(Finish(control, state, 0, 1.2436666), RateChange::None);
    EXPECT_EQ(state.previousCriterion, 1.2436666);
    EXPECT_EQ(Finish(control, state, 1, 1.2170142), RateChange::Reduced);
    EXPECT_EQ(state.learningRatePerSample, 0.025);
    EXPECT_EQ(Finish(control, state, 2, 1.0), RateChange::None);
}

TEST(LearningRateControl, IncreasesWhenTheImprovementIsLarge)
{
    AutoAdjustOptions options = AfterEpoch();
    options.increaseLearnRateIfImproveMoreThan = 0.1;
    const LearningRateControl control(options, 1);
    RateState state;
    state.learningRatePerSample = 1;
    Finish(control, state, 0, 2);
    EXPECT_EQ(Finish(control, state, 1, 1.5), RateChange::Increased);
    EXPECT_EQ(state.learningRatePerSample, 1.382);
}

TEST(LearningRateControl, AnImprovementByExactlyTheShareIsNotYetLarge)
{
    AutoAdjustOptions options = AfterEpoch();
    options.increaseLearnRateIfImproveMoreThan = 0.25;
    const LearningRateControl control(options, 1);
    RateState state;
    state.learningRatePerSample = 1;
    Finish(control, state, 0, 2);
    EXPECT_EQ(Finish(control, state, 1, 1.5), RateChange::None);
    EXPECT_EQ(Finish(control, state, 2, 1), RateChange::Increased); // a third
}

TEST(LearningRateControl, ACriterionThatIsNoNumberReducesTheRateAlsoWithoutGoingBack)
{
    AutoAdjustOptions options = AfterEpoch();
    options.loadBestModel = false;
    options.learnRateDecreaseFactor = 0.5;
    const LearningRateControl control(options, 1);
    RateState state;
    state.learningRatePerSample = 1;
    Finish(control, state, 0, 2);
    EXPECT_EQ(Finish(control, state, 1, std::numeric_limits<double>::quiet_NaN()), RateChange::Reduced);
    EXPECT_EQ(state.learningRatePerSample, 0.5);
}

TEST(LearningRateControl, EpochsOfTheListAreLeftAlone)
{
    const LearningRateControl control(AfterEpoch(), 3);
    RateState state;
    state.learningRatePerSample = 1;
    for (size_t epoch = 0; epoch < 3; ++epoch)
        EXPECT_EQ(Finish(control, state, epoch, 1.0 + double(epoch)), RateChange::None);
    EXPECT_EQ(Finish(control, state, 3, 9), RateChange::Reduced);
}

TEST(LearningRateControl, WorseCriteriaAndNaNWantTheOlderModel)
{
    const LearningRateControl control(AfterEpoch(), 1);
    RateState state;
    Finish(control, state, 0, 2);
    control.Observe(state, 1, 3);
    EXPECT_TRUE(control.WantsRollBack(state, 1));
    control.Observe(state, 1, std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(control.WantsRollBack(state, 1));
    control.Observe(state, 1, 1);
    EXPECT_FALSE(control.WantsRollBack(state, 1));

    AutoAdjustOptions options = AfterEpoch();
    options.loadBestModel = false;
    control.Observe(state, 1, 3);
    EXPECT_FALSE(LearningRateControl(options, 1).WantsRollBack(state, 1));
}

TEST(LearningRateControl, AfterRollingBackTheOldCriterionStays)
{
    const LearningRateControl control(AfterEpoch(), 1);
    RateState state;
    Finish(control, state, 0, 2);
    Finish(control, state, 1, 3);
    EXPECT_EQ(state.previousCriterion, 2);
}

TEST(LearningRateControl, OfEpochsThatNobodyKnowsTheMeanHasNothing)
{
    AutoAdjustOptions options = AfterEpoch();
    options.learnRateAdjustInterval = 4;
    const LearningRateControl control(options, 1);
    RateState state;
    state.learningRatePerSample = 1;
    state.previousCriterion = 2;
    state.isAverageKnown = false;
    EXPECT_EQ(Finish(control, state, 6, 1), RateChange::None);
    EXPECT_EQ(Finish(control, state, 7, 1.5), RateChange::None);
    EXPECT_EQ(state.previousCriterion, 1.25);
    Finish(control, state, 8, 1);
    Finish(control, state, 9, 2); // of the next interval all are known
    EXPECT_EQ(state.averageCriterion, 1.5);
}

TEST(LearningRateControl, LooksAtTheMeanOfAnInterval)
{
    AutoAdjustOptions options = AfterEpoch();
    options.learnRateAdjustInterval = 2;
    const LearningRateControl control(options, 0);
    RateState state;
    state.learningRatePerSample = 1;
    EXPECT_EQ(Finish(control, state, 0, 4), RateChange::None);
    EXPECT_EQ(Finish(control, state, 1, 2), RateChange::None);
    EXPECT_EQ(state.previousCriterion, 3);
    EXPECT_EQ(Finish(control, state, 2, 9), RateChange::None);
    EXPECT_EQ(Finish(control, state, 3, 9), RateChange::Reduced);
}

TEST(LearningRateControl, ContinueReduceReducesEveryLaterEpochAndStopsAtTheSecondFailure)
{
    AutoAdjustOptions options = AfterEpoch();
    options.continueReduce = true;
    options.learnRateDecreaseFactor = 0.5;
    const LearningRateControl control(options, 1);
    RateState state;
    state.learningRatePerSample = 1;
    Finish(control, state, 0, 2);
    EXPECT_EQ(Finish(control, state, 1, 1.5), RateChange::None);
    EXPECT_EQ(Finish(control, state, 2, 1.5), RateChange::Reduced);
    EXPECT_EQ(Finish(control, state, 3, 1.0), RateChange::Reduced);
    EXPECT_EQ(state.learningRatePerSample, 0.25);
    EXPECT_EQ(Finish(control, state, 4, 1.0), RateChange::Stop);
}

TEST(LearningRateControl, WithoutAutomaticControlNothingChanges)
{
    const LearningRateControl control(AutoAdjustOptions(), 1);
    RateState state;
    state.learningRatePerSample = 1;
    Finish(control, state, 0, 2);
    EXPECT_EQ(Finish(control, state, 1, 3), RateChange::None);
    EXPECT_FALSE(control.MayRollBack());
    EXPECT_EQ(state.previousCriterion, 3);
}

} // namespace cntk
