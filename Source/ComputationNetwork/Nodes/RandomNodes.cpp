// Nodes that draw random numbers: Dropout.
#include "Common/Error.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/DropoutNode.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

namespace cntk
{

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
