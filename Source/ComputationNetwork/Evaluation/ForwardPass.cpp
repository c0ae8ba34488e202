#include "ComputationNetwork/Evaluation/ForwardPass.h"

#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/Nodes/ConvolutionNode.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "Math/Operations.h"

#include <utility>

namespace cntk
{

namespace
{

// Computes a product or a convolution together with its bias and the non-linearity.
void RunFused(std::span<ComputationNode* const> nodes, ElementwiseOp activation)
{
    const ComputationNode& product = *nodes[0];
    const ComputationNode& sum = *nodes[1];
    const ComputationNode& bias = OtherInput(sum, product);
    const MatrixView result = nodes.back()->Value();
    if (const auto* convolution = As<ConvolutionNode>(&product))
    {
        const MatrixView value = bias.Value();
        return convolution->ComputeWithEnding(Reshaped(value, value.Elements(), 1), activation, result);
    }
    Ops::MultiplyBiasActivate(product.Input(0)->Value(), Ops::Transpose::No, product.Input(1)->Value(), bias.Value(),
                              activation, result);
}

} // namespace

ForwardPass::ForwardPass(const ComputationNetwork& network, const EvaluationProgram& program, const JoinedSteps& joined,
                         std::function<void(ComputationNode&)> makeLayout)
    : m_network(network), m_program(program), m_joined(joined), m_makeLayout(std::move(makeLayout))
{
}

void ForwardPass::RunNode(ComputationNode& node)
{
    const auto compute = [&]
    {
        if (node.Type().traits.makesLayout)
            m_makeLayout(node);
        node.ForwardProp(FrameRange::All());
    };
    TellDataErrorsOf(node, compute, [&] { return "while computing " + m_network.Describe(node); });
}

void ForwardPass::RunInTime(std::span<ComputationNode* const> nodes, int direction)
{
    const size_t steps = nodes[0]->GetMBLayout()->TimeSteps();
    for (size_t i = 0; i < steps; i++)
    {
        const FrameRange range = FrameRange::Step(direction > 0 ? i : steps - 1 - i);
        for (ComputationNode* node : nodes)
            node->ForwardProp(range);
    }
}

void ForwardPass::RunStep(size_t index)
{
    const EvaluationProgram::ForwardStep& step = m_program.forwardSteps[index];
    const std::span<ComputationNode* const> nodes = step.nodes.Of(m_program.forwardNodes);
    if (step.kind == PlanStep::Kind::Lookup)
        m_joined.Lookup(index)->Forward();
    else if (step.kind == PlanStep::Kind::FusedAffine)
        RunFused(nodes, step.activation);
    else if (step.kind == PlanStep::Kind::Node && !step.stepByStep)
        RunNode(*nodes[0]);
    else if (LoopProducts* const loop = m_joined.Loop(index))
        loop->Forward(step.direction);
    else
        RunInTime(nodes, step.direction);
    EndStep(index);
}

void ForwardPass::EndStep(size_t index)
{
    for (ComputationNode* node : m_program.forwardSteps[index].nodes.Of(m_program.forwardNodes))
        node->EndForwardProp();
}

} // namespace cntk
