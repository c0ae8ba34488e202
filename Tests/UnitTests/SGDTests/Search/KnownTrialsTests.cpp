// The trials that a search which is taken up again need not run again.
#include "SGD/Search/KnownTrials.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace cntk
{
namespace
{

Trial MakeTrial(double rate, size_t size, double criterion, std::vector<double> evaluations = {})
{
    Trial trial{rate, size, 1000};
    trial.averages.criterion = criterion;
    trial.averages.evaluations = std::move(evaluations);
    return trial;
}

TEST(KnownTrialsTest, AreAskedForInTheirOrder)
{
    KnownTrials known({MakeTrial(0.1, 256, 1.5), MakeTrial(0.05, 256, 1.25)});
    EXPECT_EQ(known.Find(MakeTrial(0.1, 256, 0)), KnownTrials::Next::Known); // what it gave is not asked about
    EXPECT_EQ(known.Take().averages.criterion, 1.5);
    EXPECT_EQ(known.Find(MakeTrial(0.1, 256, 0)), KnownTrials::Next::Other);
    EXPECT_EQ(known.Find(MakeTrial(0.05, 128, 0)), KnownTrials::Next::Other);
    EXPECT_EQ(known.Take().averages.criterion, 1.25);
    EXPECT_EQ(known.Find(MakeTrial(0.05, 256, 0)), KnownTrials::Next::NotKnown);
}

TEST(KnownTrialsTest, ATrialThatWasRunIsKnownAndAskedFor)
{
    KnownTrials known;
    known.Add(MakeTrial(0.1, 256, 1.5));
    EXPECT_EQ(known.All().size(), 1u);
    EXPECT_EQ(known.Asked(), 1u);
    EXPECT_EQ(known.Find(MakeTrial(0.1, 256, 0)), KnownTrials::Next::NotKnown);
}

TEST(KnownTrialsTest, ThoseBehindTheFirstOnesAreForgotten)
{
    KnownTrials known({MakeTrial(0.1, 256, 1.5), MakeTrial(0.05, 256, 1.25), MakeTrial(0.02, 256, 1)});
    known.Take();
    known.Take();
    known.Keep(1);
    EXPECT_EQ(known.All().size(), 1u);
    EXPECT_EQ(known.Asked(), 1u);
    known.Keep(0);
    EXPECT_EQ(known.Asked(), 0u);
}

TEST(KnownTrialsTest, NumbersGiveTheSameTrials)
{
    const std::vector<double> numbers = NumbersOfTrials(
        {MakeTrial(0.1, 256, 1.5, {0.25, 0.5}), MakeTrial(0, 512, std::numeric_limits<double>::quiet_NaN())});
    const std::vector<Trial> trials = TrialsOfNumbers(numbers);
    ASSERT_EQ(trials.size(), 2u);
    EXPECT_TRUE(trials[0].IsSame(MakeTrial(0.1, 256, 0)));
    EXPECT_EQ(trials[0].averages.criterion, 1.5);
    EXPECT_EQ(trials[0].averages.evaluations, (std::vector<double>{0.25, 0.5}));
    EXPECT_TRUE(trials[1].IsSame(MakeTrial(0, 512, 0)));
    EXPECT_TRUE(std::isnan(trials[1].averages.criterion));
    EXPECT_TRUE(trials[1].averages.evaluations.empty());
}

TEST(KnownTrialsTest, NumbersThatEndWithinATrialGiveThoseBefore)
{
    std::vector<double> numbers = NumbersOfTrials({MakeTrial(0.1, 256, 1.5), MakeTrial(0.05, 256, 1.25)});
    numbers.pop_back();
    EXPECT_EQ(TrialsOfNumbers(numbers).size(), 1u);
}

} // namespace
} // namespace cntk
