// Gradients of data: an input that takes one gets it from every kind of consumer.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <gtest/gtest.h>

namespace cntk::Testing
{
namespace
{

// v = the sum of w x over samples; the sum of a softmax is constant.
TEST(InputGradient, IsTheDerivativeForEachMinibatch)
{
    TestNetwork net;
    const ComputationNodePtr x = net.Input("x", {2});
    std::dynamic_pointer_cast<InputValueNode>(x)->SetTakesGradient(true);
    const ComputationNodePtr w = net.Parameter("w", {1, 2});
    std::dynamic_pointer_cast<LearnableParameterNode>(w)->Values().FromHost(std::vector<double>{3, -1});
    const ComputationNodePtr product = net.Add("Times", "p", {w, x});
    const ComputationNodePtr softmax = net.Add("Softmax", "s", {x}); // adds to the gradient
    const ComputationNodePtr sum = net.Add("SumElements", "v", {product});
    const ComputationNodePtr other = net.Add("SumElements", "u", {softmax});
    const ComputationNodePtr root = net.Add("Plus", "r", {sum, other});
    net.network.Validate();
    EvaluatorOptions options;
    options.training = true;
    options.backwardRoot = root;
    Evaluator evaluator(net.network, {root}, options);
    for (const size_t samples : {3, 2, 5})
    {
        net.SetFrames(samples);
        SetInput(x, SomeData(2 * samples));
        evaluator.Forward();
        evaluator.Backward(root);
        const std::vector<double> gradient = GradientOf(x);
        ASSERT_EQ(gradient.size(), 2 * samples);
        for (size_t i = 0; i < gradient.size(); i++)
            EXPECT_NEAR(gradient[i], i % 2 == 0 ? 3 : -1, 1e-12); // a softmax sums to 1 whatever x is
    }
}

} // namespace
} // namespace cntk::Testing
