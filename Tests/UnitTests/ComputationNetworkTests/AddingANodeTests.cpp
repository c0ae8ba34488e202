// The worked example of Documentation/AddingANode.md: a node type of one's own, in one file. The page quotes this file.
#include "Common/Error.h"
#include "ComputationNetwork/Files/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "Math/Operations.h"
#include "RegistryTest.h"
#include "TestNetwork.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

// v = exp(-x^2 / (2 w^2)), element by element; w is the parameter "width".
class GaussianBumpNode final : public ComputationNode
{
public:
    void SetParameters(const NodeParameters& parameters) override
    {
        m_width = parameters.Real("width", 1);
        if (!(m_width > 0))
            Fail(ErrorKind::Config, "parameter 'width' is ", m_width, "; expected a number above 0");
    }

    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        SetShape(Input(0)->SampleLayout(), Input(0)->GetMBLayout());
    }

    void ForwardProp(const FrameRange& range) override
    {
        const MatrixView v = Value(range);
        Ops::Elementwise(ElementwiseOp::Square, Input(0)->Value(range), v, -1 / (2 * m_width * m_width));
        Ops::Elementwise(ElementwiseOp::Exp, v, v);
    }

    // dv/dx = -x v / w^2
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        Ops::Elementwise(ElementwiseOp::ProductOfThree, Gradient(range), Value(range), Input(0)->Value(range),
                         InputGradient(input, range), -1 / (m_width * m_width), 1);
    }

    void SerializeFields(ModelArchive& archive) override { archive.Field(m_width); }
    std::string DescribeFields() const override { return Concat("width=", m_width); }

private:
    double m_width = 1;
};

GradientSample BumpSample(bool isData, const char* width)
{
    GradientSample sample;
    sample.inputs = {{.shape = {3, 2}, .inLayout = isData, .low = -2, .high = 2, .values = {}}};
    sample.parameters = {{"width", width}};
    return sample;
}

void RegisterBumpNodes(NodeRegistry& registry)
{
    registry.Add<GaussianBumpNode>(
        {.name = "GaussianBump",
         .aliases = {"Bump"},
         .doc = "v = exp(-x^2 / (2 width^2)), element by element: 1 at 0, falling to 0 on both sides.",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = {.isElementwise = true, .backpropReadsInputs = true, .backpropReadsOutput = true},
         .parameters = {{.name = "width",
                         .kind = ParameterKind::Real,
                         .defaultText = "1",
                         .doc = "distance from 0 at which v is exp(-1/2)",
                         .aliases = {}}},
         .samples = {BumpSample(true, "1"), BumpSample(false, "0.5")},
         .bookSection = "",
         .create = {}});
}

// The product's types and ours.
const NodeRegistry& MyRegistry()
{
    static const NodeRegistry registry = []
    {
        NodeRegistry types = NodeRegistry::Standard();
        RegisterBumpNodes(types);
        return types;
    }();
    return registry;
}

// Every generic test of node types, for ours.
INSTANTIATE_TEST_SUITE_P(MyTypes, RegistryTest, testing::ValuesIn(TypesOf(MyRegistry(), &NodeRegistry::Standard())),
                         NameOfType);

TEST(AddingANodeTest, WorksInANetwork)
{
    ComputationNetwork network(DataType::Float64, MakeCpuDevice(), MyRegistry());
    const auto x = network.Add<LearnableParameterNode>("LearnableParameter", "x");
    x->SetParameterShape({3});
    NodeParameters parameters;
    parameters.Set("width", "2");
    const ComputationNodePtr y = network.Add("Bump", "y", {x}, parameters);
    const ComputationNodePtr sum = network.Add("SumElements", "sum", {y});
    network.Validate();
    x->Values().FromHost(std::vector<double>{-2, 0, 1});

    EvaluatorOptions options;
    options.training = true;
    options.keepValues = {y};
    Evaluator evaluator(network, {sum}, options);
    evaluator.Forward();
    evaluator.Backward(sum);
    EXPECT_THAT(ValueOf(y), testing::ElementsAre(std::exp(-0.5), 1, std::exp(-0.125)));
    EXPECT_THAT(GradientOf(x), testing::ElementsAre(testing::DoubleEq(0.5 * std::exp(-0.5)), 0,
                                                    testing::DoubleEq(-0.25 * std::exp(-0.125))));
}

TEST(AddingANodeTest, SaysWhatAWrongParameterIs)
{
    ComputationNetwork network(DataType::Float64, MakeCpuDevice(), MyRegistry());
    const ComputationNodePtr x = network.AddParameter("x", {3});
    NodeParameters parameters;
    parameters.Set("width", "-1");
    EXPECT_EQ(MessageOf([&] { network.Add("GaussianBump", "y", {x}, parameters); }),
              "parameter 'width' is -1; expected a number above 0");
}

} // namespace

} // namespace cntk::Testing
