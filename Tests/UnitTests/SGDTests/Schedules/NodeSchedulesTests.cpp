// Time constants of batch normalization and memory limits of convolutions.
#include "SGD/Schedules/Schedules.h"
#include "SGDTests/TrainingFixture.h"

#include <gmock/gmock.h>

namespace cntk
{

namespace
{

using testing::HasSubstr;

class NodeSchedulesTest : public testing::Test
{
protected:
    NodeSchedulesTest() : m_network(DataType::Float32, MakeCpuDevice())
    {
        const ComputationNodePtr x = m_network.AddInput("x", {1, 4, 4});
        NodeParameters plane;
        for (const char* name : {"kernelShape", "kernelHeight", "outputChannels"})
            plane.Set(name, "2");
        for (const char* name : {"horizontalSubsample", "verticalSubsample"})
            plane.Set(name, "1");
        plane.Set("maxTempMemSizeInSamples", "7");
        m_convolution = m_network.Add("Convolution", "c", {m_network.AddParameter("W", {2, 4}), x}, plane);
        std::vector<ComputationNodePtr> inputs = {m_convolution};
        for (const char* name : {"scale", "bias", "mean", "deviation"})
        {
            inputs.push_back(m_network.AddParameter(name, {2, 1}));
            dynamic_cast<LearnableParameterNode&>(*inputs.back()).SetLearningRateMultiplier(0);
        }
        NodeParameters options;
        options.Set("spatial", "true");
        options.Set("imageLayout", "HWC");
        options.Set("normalizationTimeConstant", "5");
        m_normalization = m_network.Add("BatchNormalization", "n", inputs, options);
        m_network.Validate();
        m_plan = EvaluationPlan::Build({m_normalization},
                                       {.training = false, .fuse = false, .backwardRoot = {}, .keepValues = {}});
    }

    ComputationNetwork m_network;
    ComputationNodePtr m_convolution, m_normalization;
    EvaluationPlan m_plan;
};

TEST_F(NodeSchedulesTest, TimeConstantsOfNodesStayUntilTheConfiguredOnesChange)
{
    BatchNormalizationSchedule settings(m_plan);
    Log log;
    settings.SetTimeConstants(0, 0, log);
    EXPECT_THAT(m_normalization->DescribeFields(), HasSubstr("normalizationTimeConstant=5  blendTimeConstant=0"));
    settings.SetTimeConstants(0, 20, log);
    EXPECT_THAT(m_normalization->DescribeFields(), HasSubstr("normalizationTimeConstant=5  blendTimeConstant=20"));
    settings.SetTimeConstants(30, 20, log);
    EXPECT_THAT(m_normalization->DescribeFields(), HasSubstr("normalizationTimeConstant=30  blendTimeConstant=20"));
    settings.SetTimeConstants(0, 0, log);
    EXPECT_THAT(m_normalization->DescribeFields(), HasSubstr("normalizationTimeConstant=0  blendTimeConstant=0"));
}

TEST_F(NodeSchedulesTest, AMemoryLimitReplacesTheLimitsOfTheNodes)
{
    Log log;
    LimitConvolutionMemory(m_plan, 0, log);
    EXPECT_THAT(m_convolution->DescribeFields(), HasSubstr("maxTempMemSizeInSamples=7"));
    LimitConvolutionMemory(m_plan, 3, log);
    EXPECT_THAT(m_convolution->DescribeFields(), HasSubstr("maxTempMemSizeInSamples=3"));
}

} // namespace

} // namespace cntk
