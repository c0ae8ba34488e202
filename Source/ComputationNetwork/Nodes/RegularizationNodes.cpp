// Regularization: norms of a whole matrix as criteria (MatrixL1Reg, MatrixL2Reg), and Dropout.
#include "Common/Error.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/DropoutNode.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

namespace cntk
{

namespace
{

using Op = ElementwiseOp;

// Computes one value from the elements of all samples. Gaps do not count and get no gradient.
class NormNode : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        SetScalarShape();
    }

protected:
    // Computes v = the sum of op over all elements.
    void SumOf(Op op) const { Ops::ElementwiseOverData(op, Input(0)->Value(), Mask(), Value()); }
    // Adds op(a, b) to the gradient of x, where an operand without memory stands for x.
    void AddGradient(Op op, const MatrixView& a, const MatrixView& b, const MatrixView& inputGradient,
                     double beta) const
    {
        const MatrixView x = Input(0)->Value();
        if (!Mask().empty() && beta == 0)
        {
            Ops::Fill(inputGradient, 0);
            beta = 1;
        }
        ForEachDataStretch(Mask(), x.columns,
                           [&](size_t first, size_t count)
                           {
                               const MatrixView here = x.Columns(first, count);
                               Ops::Elementwise(op, a.data ? a : here, b.data ? b : here,
                                                inputGradient.Columns(first, count), 1, beta);
                           });
    }

private:
    std::span<const uint8_t> Mask() const { return Input(0)->ColumnMask(FrameRange::All()); }
};

class MatrixL1RegNode final : public NormNode
{
public:
    void ForwardProp(const FrameRange&) override { SumOf(Op::Abs); }
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        AddGradient(Op::AbsGradientFromInput, Gradient(), {}, InputGradient(input, range), GradientBeta(input));
    }
};

class MatrixL2RegNode final : public NormNode
{
public:
    std::vector<TemporarySpec> Temporaries() const override
    {
        return {FixedColumn(1, TemporarySpec::Lifetime::ForwardBackward)};
    }
    void ForwardProp(const FrameRange&) override
    {
        SumOf(Op::Square);
        Ops::Elementwise(Op::Sqrt, Value(), Value());
    }
    // Computes dx += x g / v, and 0 if all elements are 0.
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const MatrixView factor = Temporary(0, range);
        Ops::Elementwise(Op::Quotient, Gradient(), Value(), factor);
        AddGradient(Op::Product, {}, factor, InputGradient(input, range), GradientBeta(input));
    }
};

using namespace Samples;

} // namespace

void RegisterRegularizationNodes(NodeRegistry& registry)
{
    const NodeTraits traits = {.backpropReadsInputs = true,
                               .backpropReadsOutput = true,
                               .needsWholeMinibatch = true,
                               .isCriterion = true,
                               .backpropOverwrites = true};
    std::vector<GradientSample> samples = {Case({Data({3})}), Case({Parameter({3, 2})}), Case({Data({2, 2})})};
    for (GradientSample& sample : samples)
        sample.kinkDistance = 0.01;
    NodeType type = {.name = "MatrixL2Reg",
                     .aliases = {"L2Reg"},
                     .doc = "v = sqrt(sum of x_ij^2) over all elements: the Frobenius norm.",
                     .inputs = {1, 1},
                     .inputNames = {"X"},
                     .traits = traits,
                     .parameters = {},
                     .samples = samples,
                     .bookSection = "4.1.4.28",
                     .create = [] { return std::make_shared<MatrixL2RegNode>(); }};
    registry.Add(type);
    type.name = "MatrixL1Reg";
    type.aliases = {"L1Reg"};
    type.doc = "v = sum of |x_ij| over all elements; the gradient at 0 is 0.";
    type.traits.backpropReadsOutput = false;
    type.create = [] { return std::make_shared<MatrixL1RegNode>(); };
    registry.Add(type);
}

namespace
{

constexpr uint64_t c_seedStep = 1073807359;
constexpr uint64_t c_masksOfWorker = uint64_t(1) << 20; // masks before the range of the next worker begins

} // namespace

void DropoutNode::InferShape(ShapeInference& inference)
{
    RequireDenseInputs(*this, inference);
    SetShape(Input(0)->SampleLayout(), Input(0)->GetMBLayout());
}

void DropoutNode::SetRate(double rate)
{
    if (!(rate >= 0 && rate < 1))
        Fail(ErrorKind::Config, "the dropout rate is ", rate, "; expected 0 or more and less than 1");
    m_rate = rate;
}

std::vector<TemporarySpec> DropoutNode::Temporaries() const
{
    TemporarySpec mask;
    mask.rows = ValueRows();
    mask.fixedColumns = HasMBLayout() ? 0 : ValueColumns();
    return {mask};
}

void DropoutNode::ForwardProp(const FrameRange& range)
{
    if (m_rate == 0)
        return Ops::Copy(Input(0)->Value(range), Value(range));
    const MatrixView mask = Temporary(0, range);
    Ops::FillDropoutMask(mask, m_rate, 1 / (1 - m_rate), m_seeds(m_seed + m_worker * c_masksOfWorker * c_seedStep));
    m_seed += c_seedStep;
    Ops::Elementwise(ElementwiseOp::Product, Input(0)->Value(range), mask, Value(range));
}

void DropoutNode::BackpropTo(size_t input, const FrameRange& range)
{
    const MatrixView inputGradient = InputGradient(input, range);
    if (m_rate == 0)
        Ops::Elementwise(ElementwiseOp::Copy, Gradient(range), inputGradient, 1, GradientBeta(input));
    else
        Ops::Elementwise(ElementwiseOp::Product, Gradient(range), Temporary(0, range), inputGradient, 1,
                         GradientBeta(input));
}

void RegisterRandomNodes(NodeRegistry& registry)
{
    GradientSample samples;
    samples.inputs.resize(1);
    samples.inputs[0].shape = TensorShape{4};
    samples.inputs[0].inLayout = true;
    GradientSample parameter = samples;
    parameter.inputs[0].shape = TensorShape{2, 3};
    parameter.inputs[0].inLayout = false;
    registry.Add<DropoutNode>({.name = "Dropout",
                               .aliases = {},
                               .doc = "While training, v = x * mask, the mask 0 with probability dropoutRate and else "
                                      "1 / (1 - dropoutRate); otherwise v = x.",
                               .inputs = {1, 1},
                               .inputNames = {"x"},
                               .traits = {.isElementwise = true,
                                          .backpropReadsInputs = false,
                                          .backpropReadsOutput = false,
                                          .backpropOverwrites = true,
                                          .backpropInPlace = true},
                               .parameters = {},
                               .samples = {samples, parameter},
                               .bookSection = "4.1.4.33",
                               .create = {}});
}

} // namespace cntk
