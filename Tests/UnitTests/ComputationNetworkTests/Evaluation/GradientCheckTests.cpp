// The gradient check accepts what is right, names what is wrong, and leaves the network as it was.
#include "Common/Error.h"
#include "ComputationNetwork/Evaluation/GradientCheck.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace cntk::Testing
{
namespace
{

// Its gradient is wrong by a factor.
class CrookedNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference&) override { SetShape(Input(0)->SampleLayout(), Input(0)->GetMBLayout()); }
    void ForwardProp(const FrameRange& range) override { Ops::Copy(Input(0)->Value(range), Value(range)); }
    void BackpropTo(size_t, const FrameRange& range) override
    {
        Ops::Elementwise(ElementwiseOp::Copy, Gradient(range), InputGradient(0, range), 1.5, 1);
    }
};

struct CheckedNetwork
{
    explicit CheckedNetwork(bool crooked) : types(TestRegistry())
    {
        NodeType type;
        type.name = "Crooked";
        type.inputs = {1, 1};
        types.Add<CrookedNode>(type);
        network = std::make_unique<ComputationNetwork>(DataType::Float64, MakeCpuDevice({.threads = 1}), types);
        w = std::dynamic_pointer_cast<LearnableParameterNode>(network->AddParameter("W", {2, 2}));
        w->Values().FromHost(std::vector<double>{0.5, -1, 2, 0.25});
        auto x = std::dynamic_pointer_cast<InputValueNode>(network->AddInput("x", {2}));
        ComputationNodePtr top = network->Add("Times", "p", {w, x});
        if (crooked)
            top = network->Add("Crooked", "c", {top});
        criterion = network->Add("TestCriterion", "ce", {top});
        network->Validate();
        network->Layout()->InitAsFrameMode(2);
        const std::vector<double> values{1, 2, -1, 0.5};
        x->SetDense(values.data(), 2, 2);
        EvaluatorOptions options;
        options.training = true;
        evaluator = std::make_unique<Evaluator>(*network, std::vector<ComputationNodePtr>{criterion}, options);
    }
    NodeRegistry types;
    std::unique_ptr<ComputationNetwork> network;
    std::shared_ptr<LearnableParameterNode> w;
    ComputationNodePtr criterion;
    std::unique_ptr<Evaluator> evaluator;
};

TEST(GradientCheck, AcceptsRightGradientsAndRestoresTheParameters)
{
    CheckedNetwork net(false);
    const std::vector<double> before = net.w->Values().ToHost();
    CheckGradients(*net.evaluator, net.criterion, 6);
    EXPECT_EQ(net.w->Values().ToHost(), before);
    const std::vector<double> gradient = GradientOf(net.w);
    net.evaluator->Forward();
    net.evaluator->Backward(net.criterion);
    EXPECT_EQ(GradientOf(net.w), gradient);
}

TEST(GradientCheck, NamesParameterElementAndBothNumbers)
{
    CheckedNetwork net(true);
    const std::string message = MessageOf([&] { CheckGradients(*net.evaluator, net.criterion, 6); });
    EXPECT_THAT(message, ::testing::StartsWith("gradient check: the derivative of 'ce' by element ["));
    EXPECT_THAT(message, ::testing::HasSubstr("] of parameter 'W' is "));
    EXPECT_THAT(message, ::testing::EndsWith(" by central differences; expected agreement to 6 digits"));
}

TEST(GradientCheck, TellsTheWorst)
{
    CheckedNetwork right(false);
    const GradientComparison worst = CheckGradients(*right.evaluator, right.criterion, 6);
    ASSERT_EQ(worst.parameter, right.w);
    for (const GradientComparison& comparison : CompareGradients(*right.evaluator, right.criterion))
        EXPECT_LE(comparison.Disagreement(6), worst.Disagreement(6));

    CheckedNetwork wrong(true);
    std::string expected;
    double most = 0;
    for (const GradientComparison& comparison : CompareGradients(*wrong.evaluator, wrong.criterion))
        if (comparison.Disagreement(6) > most)
        {
            most = comparison.Disagreement(6);
            expected = comparison.Describe(*wrong.criterion);
        }
    EXPECT_EQ(MessageOf([&] { CheckGradients(*wrong.evaluator, wrong.criterion, 6); }),
              "gradient check: " + expected + "; expected agreement to 6 digits");
}

// Returns the kind of the error of a check that fails, and checks the end of its message: Config if too many digits are
// requested, Internal if the gradient is wrong.
ErrorKind KindOfDisagreement(CheckedNetwork& net, int digits, const std::string& end, double step = 1e-5)
{
    try
    {
        CheckGradients(*net.evaluator, net.criterion, digits, {.step = step});
    }
    catch (const Error& error)
    {
        EXPECT_THAT(error.Message(), ::testing::MatchesRegex("gradient check: the derivative of 'ce' by element .* "
                                                             "digits?" +
                                                             end));
        return error.Kind();
    }
    ADD_FAILURE() << "no error";
    return ErrorKind::Usage;
}

TEST(GradientCheck, SaysWhetherTheGradientIsWrongOrTooMuchIsAskedFor)
{
    CheckedNetwork right(false), wrong(true);
    EXPECT_EQ(KindOfDisagreement(wrong, 1, ""), ErrorKind::Internal);
    EXPECT_EQ(KindOfDisagreement(wrong, 15, ""), ErrorKind::Internal);
    EXPECT_EQ(KindOfDisagreement(right, 15,
                                 ", but here differences are exact to some [6-9] digits only; ask for no more "
                                 ".sigFigs.",
                                 1e-6),
              ErrorKind::Config);
    // Steps so small that nothing but rounding is left.
    EXPECT_EQ(KindOfDisagreement(right, 6,
                                 ", but here differences say nothing: the criterion has a kink or a jump "
                                 "within steps of 2e-16, or is too large",
                                 1e-16),
              ErrorKind::Model);
}

TEST(GradientCheck, ChoosesSomeElementsOfLargeParameters)
{
    CheckedNetwork net(false);
    EXPECT_EQ(CompareGradients(*net.evaluator, net.criterion).size(), 4u);
    EXPECT_EQ(CompareGradients(*net.evaluator, net.criterion, {.elementsPerParameter = 3}).size(), 3u);
}

TEST(GradientCheck, MeasuresAsTheOriginalDoes)
{
    const auto agrees = [](double a, double b, int digits) {
        return GradientComparison{nullptr, 0, 0, a, b}.AgreesTo(digits);
    };
    EXPECT_TRUE(agrees(0.5, 0.5000009, 6)); // 10^(0-6)
    EXPECT_FALSE(agrees(0.5, 0.5000011, 6));
    EXPECT_TRUE(agrees(523, 523.0009, 6)); // 10^(3-6)
    EXPECT_FALSE(agrees(523, 523.0011, 6));
    EXPECT_TRUE(agrees(0, 0, 6));
    EXPECT_FALSE(agrees(std::numeric_limits<double>::quiet_NaN(), 1, 6));
}

} // namespace
} // namespace cntk::Testing
