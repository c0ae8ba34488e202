// Gradients that a loop passes on to sums and products outside of it, and weights to which several nodes add: held
// against differences.
#include "ComputationNetworkTests/TestNetwork.h"

#include <gtest/gtest.h>
#include <string>

namespace cntk::Testing
{

namespace
{

// h = Tanh(what the test makes of U x, V x and R past), and a criterion on it.
struct SumInLoop : TestNetwork
{
    SumInLoop()
    {
        x = Input("x", {3});
        NodeParameters parameters;
        parameters.Set("rows", "2");
        past = network.AddUnconnected("PastValue", "past", parameters);
        recurrent = Times("R", {2, 2}, past);
    }
    ComputationNodePtr Times(const std::string& weight, const TensorShape& shape, const ComputationNodePtr& of)
    {
        const ComputationNodePtr known = network.Find(weight);
        return Add("Times", "", {known ? known : Parameter(weight, shape), of});
    }
    // U x, V x, ...
    ComputationNodePtr OfInput(const std::string& weight) { return Times(weight, {2, 3}, x); }
    ComputationNodePtr Plus(const ComputationNodePtr& a, const ComputationNodePtr& b)
    {
        return Add("Plus", "", {a, b});
    }

    void ExpectAgreement(const ComputationNodePtr& sum)
    {
        const auto h = Add("Tanh", "h", {sum});
        network.SetInputs(past, {h});
        const auto criterion = Add("TestCriterion", "criterion", {h});
        network.Validate();
        SetSequences({5, 2, 4});
        FillInputs();
        Evaluator evaluator(network, {criterion}, Training(true));
        ExpectGradientsAgree(evaluator, criterion);
    }

    ComputationNodePtr x, past, recurrent;
};

} // namespace

// One gradient cannot be the memory of two others: what the non-linearities make of theirs stands in its place.
TEST(LoopGradients, OfTwoNonLinearitiesOutsideInOneSum)
{
    SumInLoop net;
    const auto first = net.Add("Sigmoid", "s", {net.OfInput("U")}), second = net.Add("Tanh", "t", {net.OfInput("V")});
    net.ExpectAgreement(net.Plus(net.Plus(first, net.recurrent), second));
}

TEST(LoopGradients, OfWhatIsSubtractedAreNegative)
{
    SumInLoop net;
    net.ExpectAgreement(net.Add("Minus", "difference", {net.recurrent, net.OfInput("U")}));
}

TEST(LoopGradients, OfAWeightThatTwoProductsOutsideShare)
{
    SumInLoop net;
    const auto gate = net.Add("Sigmoid", "gate", {net.Plus(net.OfInput("U"), net.Times("S", {2, 2}, net.past))});
    net.ExpectAgreement(net.Add("ElementTimes", "gated", {net.Plus(net.OfInput("U"), net.recurrent), gate}));
}

// The weights of a product over all time steps are computed last, together with others: not behind a bias, and not
// beside another product, that add to the same ones.
TEST(LoopGradients, OfAWeightThatIsABiasToo)
{
    SumInLoop net;
    const auto biased = net.Plus(net.past, net.Parameter("w", {2, 1}));
    const auto number = net.Times("v", {1, 2}, biased);
    const auto product = net.Times("w", {2, 1}, number);
    net.ExpectAgreement(net.Plus(net.Plus(product, net.OfInput("U")), net.recurrent));
}

TEST(LoopGradients, OfAWeightThatTwoProductsInsideShare)
{
    SumInLoop net;
    const auto gate = net.Add("Sigmoid", "gate", {net.Plus(net.OfInput("U"), net.recurrent)});
    const auto gated = net.Times("R", {2, 2}, net.Add("ElementTimes", "gated", {gate, net.past}));
    net.ExpectAgreement(net.Plus(gated, net.OfInput("V")));
}

} // namespace cntk::Testing
