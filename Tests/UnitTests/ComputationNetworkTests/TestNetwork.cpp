// A network in double on the CPU with node types of the tests' own.
#include "ComputationNetworkTests/TestNetwork.h"

#include "Common/Error.h"
#include "ComputationNetwork/Evaluation/GradientCheck.h"
#include "Math/Operations.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace cntk::Testing
{

namespace
{

// v at (s, t) = x at (s, t - direction), or 0.1 outside the sequence.
class DelayNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference&) override { SetShape(Input(0)->SampleLayout(), Input(0)->GetMBLayout()); }

    void ForwardProp(const FrameRange& range) override
    {
        ForEachColumn(range,
                      [&](size_t column, size_t source)
                      {
                          const MatrixView to = Value().Columns(column, 1);
                          if (source == c_outside)
                              Ops::Fill(to, 0.1);
                          else
                              Ops::Copy(Input(0)->Value().Columns(source, 1), to);
                      });
    }

    void BackpropTo(size_t, const FrameRange& range) override
    {
        ForEachColumn(range,
                      [&](size_t column, size_t source)
                      {
                          if (source != c_outside)
                              Ops::Elementwise(ElementwiseOp::Copy, Gradient().Columns(column, 1),
                                               Input(0)->Gradient().Columns(source, 1), 1, 1);
                      });
    }

private:
    static constexpr size_t c_outside = SIZE_MAX;

    template <class Body>
    void ForEachColumn(const FrameRange& range, Body&& body)
    {
        const MBLayout& layout = *GetMBLayout();
        const size_t rows = layout.ParallelSequences();
        const bool isPast = Type().traits.delayDirection > 0;
        for (size_t t = range.IsAll() ? 0 : range.Time(); t < (range.IsAll() ? layout.TimeSteps() : range.Time() + 1);
             t++)
            for (size_t s = 0; s < rows; s++)
            {
                const bool isOutside =
                    layout.IsGap(s, t) || (isPast ? layout.IsBeyondStart(s, t, 1) : layout.IsBeyondEnd(s, t, 1));
                body(t * rows + s, isOutside ? c_outside : (isPast ? t - 1 : t + 1) * rows + s);
            }
    }
};

// v = sum c_ij x_ij^2 / 2 over columns with data
class CriterionNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference&) override { SetScalarShape(); }

    void ForwardProp(const FrameRange&) override
    {
        const std::vector<double> x = HostCopy(Input(0)->Value());
        double sum = 0;
        for (size_t i = 0; i < x.size(); i++)
            if (IsData(i))
                sum += Weight(i) * x[i] * x[i] / 2;
        Ops::Fill(Value(), sum);
    }

    void BackpropTo(size_t, const FrameRange&) override
    {
        const std::vector<double> x = HostCopy(Input(0)->Value());
        const double scale = Ops::ScalarOf(Gradient());
        const MatrixView gradient = InputGradient(0, FrameRange::All());
        for (size_t i = 0; i < x.size(); i++)
            if (IsData(i))
            {
                const MatrixView element = gradient.Columns(i / gradient.rows, 1).Rows(i % gradient.rows, 1);
                Ops::Fill(element, Ops::ScalarOf(element) + scale * Weight(i) * x[i]);
            }
    }

private:
    bool IsData(size_t element) const
    {
        const std::span<const uint8_t> mask = Input(0)->ColumnMask(FrameRange::All());
        return mask.empty() || mask[element / Input(0)->ValueRows()] != 0;
    }
    static double Weight(size_t element) { return std::sin(1.0 + 1.7 * double(element)); }
};

class CopyNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference&) override { SetShape(Input(0)->SampleLayout(), Input(0)->GetMBLayout()); }
    void ForwardProp(const FrameRange& range) override { Ops::Copy(Input(0)->Value(range), Value(range)); }
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        if (!Type().traits.differentiable)
            ComputationNode::BackpropTo(input, range);
        Ops::Elementwise(ElementwiseOp::Copy, Gradient(range), InputGradient(0, range), 1, 1);
    }
};

} // namespace

const NodeRegistry& TestRegistry()
{
    static const NodeRegistry registry = []
    {
        NodeRegistry types = NodeRegistry::Standard();
        const auto describe = [](const char* name, NodeTraits traits)
        {
            NodeType type;
            type.name = name;
            type.doc = "For tests.";
            type.inputs = {1, 1};
            type.traits = traits;
            return type;
        };
        types.Add<DelayNode>(describe(
            "TestDelay",
            {.backpropReadsInputs = false, .backpropReadsOutput = false, .isDelay = true, .delayDirection = +1}));
        types.Add<DelayNode>(describe(
            "TestDelayFromFuture",
            {.backpropReadsInputs = false, .backpropReadsOutput = false, .isDelay = true, .delayDirection = -1}));
        types.Add<CriterionNode>(describe(
            "TestCriterion", {.backpropReadsOutput = false, .needsWholeMinibatch = true, .isCriterion = true}));
        types.Add<CopyNode>(describe("TestOpaque", {.differentiable = false}));
        types.Add<CopyNode>(describe("TestWhole", {.needsWholeMinibatch = true}));
        return types;
    }();
    return registry;
}

TestNetwork::TestNetwork(DataType type, std::shared_ptr<Device> device)
    : network(type, device ? std::move(device) : MakeCpuDevice({.threads = 1}), TestRegistry())
{
}

ComputationNodePtr TestNetwork::Parameter(const std::string& name, const TensorShape& shape)
{
    auto node = std::dynamic_pointer_cast<LearnableParameterNode>(network.AddParameter(name, shape));
    std::seed_seq seed(name.begin(), name.end());
    std::mt19937 random(seed);
    std::vector<double> values(node->Values().Elements());
    for (double& value : values)
        value = double(random()) / double(random.max()) * 2 - 1;
    node->Values().FromHost(values);
    return node;
}

ComputationNodePtr TestNetwork::Input(const std::string& name, const TensorShape& shape)
{
    return network.AddInput(name, shape);
}

void TestNetwork::SetFrames(size_t samples)
{
    network.Layout()->InitAsFrameMode(samples);
}

void TestNetwork::SetSequences(const std::vector<size_t>& lengths)
{
    size_t longest = 0;
    for (const size_t length : lengths)
        longest = std::max(longest, length);
    MBLayout& layout = *network.Layout();
    layout.Init(lengths.size(), longest);
    for (size_t s = 0; s < lengths.size(); s++)
    {
        layout.AddSequence(s, s, 0, ptrdiff_t(lengths[s]));
        if (lengths[s] < longest)
            layout.AddGap(s, ptrdiff_t(lengths[s]), ptrdiff_t(longest));
    }
}

void TestNetwork::FillInputs(unsigned seed)
{
    std::mt19937 random(seed);
    for (const ComputationNodePtr& node : network.Nodes())
    {
        auto input = std::dynamic_pointer_cast<InputValueNode>(node);
        if (!input)
            continue;
        const std::vector<uint8_t>& mask = input->GetMBLayout()->ColumnMask();
        const size_t rows = input->SampleElements(), columns = input->GetMBLayout()->Columns();
        std::vector<double> values(rows * columns);
        for (size_t i = 0; i < values.size(); i++)
        {
            values[i] = double(random()) / double(random.max()) * 2 - 1;
            if (!mask.empty() && mask[i / rows] == 0)
                values[i] = std::numeric_limits<double>::quiet_NaN();
        }
        if (network.GetDataType() == DataType::Float64)
            input->SetDense(values.data(), rows, columns);
        else
            input->SetDense(std::vector<float>(values.begin(), values.end()).data(), rows, columns);
    }
}

EvaluatorOptions Checked(bool training)
{
    EvaluatorOptions options;
    options.training = training;
    options.checkPlan = true;
    options.poisonMemory = true;
    return options;
}

EvaluatorOptions Training(bool fuse)
{
    EvaluatorOptions options = Checked(true);
    options.fuse = fuse;
    return options;
}

void SetInput(const ComputationNodePtr& node, const std::vector<double>& values)
{
    auto& input = dynamic_cast<InputValueNode&>(*node);
    input.SetDense(values.data(), input.SampleElements(), values.size() / input.SampleElements());
}

std::vector<double> SomeData(size_t count)
{
    std::vector<double> data(count);
    for (size_t i = 0; i < count; i++)
        data[i] = std::sin(0.7 * double(i) + 1);
    return data;
}

void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance)
{
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); i++)
        EXPECT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
}

void ExpectGradientsAgree(Evaluator& evaluator, const ComputationNodePtr& criterion)
{
    size_t compared = 0;
    for (const GradientComparison& comparison : CompareGradients(evaluator, criterion))
    {
        compared++;
        EXPECT_NEAR(comparison.backpropagated, comparison.numeric, 1e-7 * (1 + std::abs(comparison.numeric)))
            << comparison.parameter->Name() << " [" << comparison.row << ", " << comparison.column << "]";
    }
    EXPECT_GT(compared, 0u);
}

std::vector<double> HostCopy(const MatrixView& view)
{
    std::vector<double> values;
    VisitType(view.type,
              [&](auto tag)
              {
                  std::vector<decltype(tag)> column(view.rows);
                  for (size_t j = 0; j < view.columns; j++)
                  {
                      view.device->CopyToHost(column.data(), view.Columns(j, 1).data, view.rows * sizeof(tag));
                      values.insert(values.end(), column.begin(), column.end());
                  }
              });
    return values;
}

std::vector<double> ValueOf(const ComputationNodePtr& node)
{
    return HostCopy(node->Value());
}

std::vector<double> GradientOf(const ComputationNodePtr& node)
{
    return HostCopy(node->Gradient());
}

std::string MessageOf(const std::function<void()>& body)
{
    try
    {
        body();
    }
    catch (const Error& error)
    {
        return error.Message();
    }
    return "";
}

std::string ValidationMessage(TestNetwork& net)
{
    return MessageOf([&] { net.network.Validate(); });
}

std::string ReportOf(const std::function<void()>& body)
{
    try
    {
        body();
    }
    catch (const Error& error)
    {
        return error.Report();
    }
    return "";
}

} // namespace cntk::Testing
