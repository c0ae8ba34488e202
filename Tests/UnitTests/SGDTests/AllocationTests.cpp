// The steady state of training allocates nothing: every call of operator new in this program is counted.
#include "AllocationCounter.h"
#include "SGD/Schedules/Schedules.h"
#include "SGDTests/TrainingFixture.h"

namespace cntk
{

namespace
{

class AllocationTest : public TrainingTest
{
protected:
    // Allocations of the third epoch that depend on its number of minibatches: those of a long epoch less those of a
    // short one.
    size_t AllocationsPerManyMinibatches(const SgdOptions& options, bool dropout)
    {
        EpochRun run(*this, options, 2503, dropout);
        const auto count = [&](size_t samples)
        {
            run.settings.epochSize = samples;
            const size_t before = s_allocations;
            run.loop.Run(run.settings);
            return s_allocations - before;
        };
        count(2503);
        const size_t shortEpoch = count(53);
        const size_t longEpoch = count(2503);
        return longEpoch - shortEpoch;
    }
};

} // namespace

TEST_F(AllocationTest, HookCounts)
{
    const size_t before = s_allocations;
    const auto memory = std::make_unique<std::vector<int>>(5);
    EXPECT_EQ(s_allocations - before, 2u);
}

TEST_F(AllocationTest, PlainDescentAllocatesNothingPerMinibatch)
{
    EXPECT_EQ(AllocationsPerManyMinibatches({}, false), 0u);
}

TEST_F(AllocationTest, DropoutClippingAndRegularizationAllocateNothingPerMinibatch)
{
    SgdOptions options;
    options.clippingThresholdPerSample = 0.1;
    options.l1RegWeight = 0.001;
    options.l2RegWeight = 0.001;
    EXPECT_EQ(AllocationsPerManyMinibatches(options, true), 0u);
}

TEST_F(AllocationTest, OtherUpdateRulesAllocateNothingPerMinibatch)
{
    SgdOptions options;
    for (const auto rule : {GradientUpdateType::AdaGrad, GradientUpdateType::RmsProp, GradientUpdateType::FSAdaGrad})
    {
        options.gradUpdateType = rule;
        EXPECT_EQ(AllocationsPerManyMinibatches(options, false), 0u) << int(rule);
    }
}

} // namespace cntk
