// Which minibatches are of one form.
#include "ComputationNetwork/StepKey.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

// Of a network that looks so many steps back and ahead: one sequence, of which the minibatch has five steps.
std::vector<uint64_t> KeyOf(const std::string& type, size_t delay, ptrdiff_t begin, ptrdiff_t end)
{
    TestNetwork net;
    NodeParameters parameters;
    parameters.Set("timeStep", std::to_string(delay));
    net.network.Add(type, "delay", {net.Input("x", {2})}, parameters);
    net.network.Validate();
    net.network.Layout()->Init(1, 5);
    net.network.Layout()->AddSequence(0, 0, begin, end);
    std::vector<ComputationNodePtr> nodes; // without the values, whose memory is another one each time
    for (const ComputationNodePtr& node : net.network.Nodes())
        if (node->TypeName() == type)
            nodes.push_back(node);
    return StepKey(nodes).Make(true);
}

} // namespace

TEST(StepKeyTest, HowFarAwayASequenceBeginsMakesNoDifference)
{
    EXPECT_EQ(KeyOf("PastValue", 1, -1, 5), KeyOf("PastValue", 1, -40, 5));
    EXPECT_NE(KeyOf("PastValue", 1, 0, 5), KeyOf("PastValue", 1, -1, 5));
    EXPECT_EQ(KeyOf("PastValue", 3, -3, 5), KeyOf("PastValue", 3, -40, 5));
    EXPECT_NE(KeyOf("PastValue", 3, -2, 5), KeyOf("PastValue", 3, -3, 5));
    EXPECT_EQ(KeyOf("FutureValue", 2, 0, 7), KeyOf("FutureValue", 2, 0, 100));
    EXPECT_NE(KeyOf("FutureValue", 2, 0, 6), KeyOf("FutureValue", 2, 0, 7));
    EXPECT_NE(KeyOf("FutureValue", 2, 0, 5), KeyOf("FutureValue", 2, 0, 6));
}

} // namespace cntk::Testing
