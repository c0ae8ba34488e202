// The steady state of training allocates nothing: every call of operator new in this program is counted.
#include "AllocationCounter.h"
#include "SGD/DropoutSchedule.h"
#include "SGD/EpochLoop.h"
#include "SGD/Schedules.h"
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
        const auto network = Classifier(dropout, DataType::Float32);
        const TrainingNodes nodes = SelectTrainingNodes(*network, "", "");
        MinibatchSource source(std::make_unique<SyntheticReader<float>>(TwoClasses(2503, 7)));
        source.BindTo(nodes.Roots());
        EvaluatorOptions evaluatorOptions;
        evaluatorOptions.training = true;
        Evaluator evaluator(*network, nodes.Roots(), evaluatorOptions);
        Learner learner(evaluator.Parameters(), options, DataType::Float32, *m_device);
        DropoutSchedule schedule(evaluator.Plan(), nodes.criterion);
        schedule.SetRate(dropout ? 0.3 : 0, *m_log);
        Progress progress(*m_log, {});
        EpochLoop loop(nodes, evaluator, source, learner, progress);
        EpochSettings settings;
        settings.minibatchSize = 25;
        settings.learningRatePerSample = 0.01;
        settings.momentumPerSample = 0.99;
        const auto count = [&](size_t samples)
        {
            settings.epochSize = samples;
            const size_t before = s_allocations;
            loop.Run(settings);
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
