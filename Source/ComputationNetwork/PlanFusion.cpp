// A pass over the plan: Times or Convolution, Plus of a bias and a non-linearity become one step where nobody else
// wants the values in between. The gradients still flow through the three nodes.
#include "ComputationNetwork/EvaluationPlan.h"
#include "ComputationNetwork/Nodes/ConvolutionNode.h"
#include "ComputationNetwork/Nodes/ElementwiseNodes.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace cntk
{

namespace
{

// What a product's pass can apply to its result.
std::optional<ElementwiseOp> ActivationOf(const ComputationNode& node)
{
    const std::optional<ElementwiseOp> op = ElementwiseOpOf(node);
    const bool isKnown =
        op == ElementwiseOp::Sigmoid || op == ElementwiseOp::Tanh || op == ElementwiseOp::RectifiedLinear;
    return isKnown ? op : std::nullopt;
}

bool IsSparseInput(const ComputationNode& node)
{
    const auto* input = dynamic_cast<const InputValueNode*>(&node);
    return input != nullptr && input->IsSparseInput();
}

// A matrix without layout times dense minibatch data; either may be a tensor of which nothing is left over, as a matrix
// that takes the pixels of an image is.
bool IsPlainProduct(const ComputationNode& node)
{
    if (node.TypeName() != "Times" || node.InputCount() != 2)
        return false;
    const ComputationNode& matrix = *node.Input(0);
    const ComputationNode& data = *node.Input(1);
    return !matrix.HasMBLayout() && data.HasMBLayout() && !IsSparseInput(data) &&
           data.SampleElements() == matrix.ValueColumns() && node.SampleElements() == matrix.ValueRows() &&
           node.GetMBLayout() == data.GetMBLayout();
}

// Convolution of minibatch data.
bool IsConvolution(const ComputationNode& node)
{
    return dynamic_cast<const ConvolutionNode*>(&node) != nullptr && node.HasMBLayout();
}

// Plus(product, bias) or Plus(bias, product), the bias one column without layout, or one value for each map.
bool IsBiasAddition(const ComputationNode& node, const ComputationNode& product)
{
    if (ElementwiseOpOf(node) != ElementwiseOp::Sum || node.GetMBLayout() != product.GetMBLayout() ||
        !(node.SampleLayout().WithoutTrailingOnes() == product.SampleLayout().WithoutTrailingOnes()))
        return false;
    const ComputationNode& bias = node.Input(0).get() == &product ? *node.Input(1) : *node.Input(0);
    if (const auto* convolution = dynamic_cast<const ConvolutionNode*>(&product))
        return convolution->IsMapBias(bias);
    return !bias.HasMBLayout() && bias.ValueColumns() == 1 && bias.ValueRows() == product.SampleElements() &&
           bias.SampleLayout().WithoutTrailingOnes() == product.SampleLayout().WithoutTrailingOnes();
}

} // namespace

void EvaluationPlan::FuseAffineChains(const std::vector<ComputationNodePtr>& keepValues)
{
    // Who may not lose its value, and the only consumer of everybody else.
    std::unordered_set<const ComputationNode*> wanted;
    for (const ComputationNodePtr& node : m_roots)
        wanted.insert(node.get());
    for (const ComputationNodePtr& node : keepValues)
        wanted.insert(node.get());
    std::unordered_map<const ComputationNode*, size_t> stepOfOnlyConsumer;
    for (size_t i = 0; i < m_steps.size(); i++)
        for (const ComputationNodePtr& node : m_steps[i].nodes)
            for (const ComputationNodePtr& input : node->Inputs())
                if (!stepOfOnlyConsumer.emplace(input.get(), i).second)
                    wanted.insert(input.get());

    // The step that consumes the node, if that may swallow it.
    const auto next = [&](const ComputationNode& node) -> PlanStep*
    {
        const auto found = stepOfOnlyConsumer.find(&node);
        if (found == stepOfOnlyConsumer.end() || wanted.contains(&node))
            return nullptr;
        if (NeedsGradient(&node) && node.Type().traits.backpropReadsOutput)
            return nullptr;
        PlanStep& step = m_steps[found->second];
        if (step.kind != PlanStep::Kind::Node)
            return nullptr;
        const ComputationNode& consumer = *step.nodes.front();
        return NeedsGradient(&consumer) && consumer.Type().traits.backpropReadsInputs ? nullptr : &step;
    };

    for (PlanStep& productStep : m_steps)
    {
        if (productStep.kind != PlanStep::Kind::Node || productStep.nodes.empty() ||
            !(IsPlainProduct(*productStep.nodes.front()) || IsConvolution(*productStep.nodes.front())))
            continue;
        const ComputationNodePtr product = productStep.nodes.front();
        PlanStep* sumStep = next(*product);
        if (sumStep == nullptr || !IsBiasAddition(*sumStep->nodes.front(), *product))
            continue;
        const ComputationNodePtr sum = sumStep->nodes.front();
        PlanStep fused{PlanStep::Kind::FusedAffine, {product, sum}, ElementwiseOp::Copy, +1};
        PlanStep* last = sumStep;
        if (PlanStep* activationStep = next(*sum))
            if (const auto activation = ActivationOf(*activationStep->nodes.front()))
            {
                fused.nodes.push_back(activationStep->nodes.front());
                fused.activation = *activation;
                sumStep->nodes.clear();
                last = activationStep;
            }
        productStep.nodes.clear();
        *last = std::move(fused);
    }
    std::erase_if(m_steps, [](const PlanStep& step) { return step.nodes.empty(); });
}

} // namespace cntk
