// Orders the nodes: depth-first, recurrent loops as blocks; prunes gradients; then fuses nodes. No function here
// recurses: networks may be thousands of nodes deep.
#include "ComputationNetwork/Plan/EvaluationPlan.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/ConvolutionNode.h"
#include "ComputationNetwork/Nodes/ElementwiseNodes.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "ComputationNetwork/Plan/RecurrentLoops.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace cntk
{

namespace
{

PlanStep MakeLoop(const std::vector<ComputationNodePtr>& component)
{
    PlanStep step;
    step.kind = PlanStep::Kind::Loop;
    step.nodes = OrderOfOneStep(component);
    if (const std::optional<LoopFault> fault = FaultOf(step.nodes))
        Fail(ErrorKind::Model, fault->message);
    const auto delay = std::find_if(step.nodes.begin(), step.nodes.end(),
                                    [](const ComputationNodePtr& node) { return node->Type().traits.isDelay; });
    step.direction = (*delay)->Type().traits.delayDirection;
    return step;
}

// Returns any trained parameter at or below the node, for the message about a network that cannot be trained.
const ComputationNode* TrainedParameterBelow(const ComputationNodePtr& node)
{
    for (const ComputationNodePtr& below : ComputationNetwork::Below({node}))
        if (below->IsTrainableLeaf())
            return below.get();
    return nullptr;
}

// Finds the nodes at or above a trained parameter.
std::unordered_set<const ComputationNode*> NodesAboveParameters(const std::vector<PlanStep>& steps)
{
    std::unordered_set<const ComputationNode*> above;
    for (const PlanStep& step : steps)
    {
        // In a loop every node is above every other one.
        const bool any =
            std::any_of(step.nodes.begin(), step.nodes.end(),
                        [&](const ComputationNodePtr& node)
                        {
                            return node->IsTrainableLeaf() ||
                                   (node->ReadsInputs() &&
                                    std::any_of(node->Inputs().begin(), node->Inputs().end(),
                                                [&](const auto& input) { return above.contains(input.get()); }));
                        });
        if (any)
            for (const ComputationNodePtr& node : step.nodes)
                above.insert(node.get());
    }
    return above;
}

// Selects those nodes between a parameter and the criterion, which get a gradient.
std::vector<const ComputationNode*> NodesWithGradient(const std::vector<PlanStep>& steps,
                                                      const ComputationNodePtr& criterion)
{
    if (criterion->HasMBLayout() || criterion->SampleElements() != 1)
        Fail(ErrorKind::Model, "the training criterion '", criterion->Name(), "' (", criterion->TypeName(),
             ") is not a single number: its shape is [", criterion->SampleLayout().ToString(),
             criterion->HasMBLayout() ? " x *]" : "]");

    const std::unordered_set<const ComputationNode*> above = NodesAboveParameters(steps);
    std::vector<const ComputationNode*> withGradient;
    if (!above.contains(criterion.get()))
        return withGradient;
    std::unordered_set<const ComputationNode*> seen{criterion.get()};
    std::vector<ComputationNodePtr> open{criterion};
    while (!open.empty())
    {
        const ComputationNodePtr node = open.back();
        open.pop_back();
        withGradient.push_back(node.get());
        if (!node->Type().traits.differentiable && node->InputCount() > 0)
            Fail(ErrorKind::Model, "cannot train the criterion '", criterion->Name(), "': node '", node->Name(), "' (",
                 node->TypeName(), ") has no gradient, and the parameter '", TrainedParameterBelow(node)->Name(),
                 "' below it is trained; use another node type, or exclude the parameters below it from training");
        for (const ComputationNodePtr& input : node->Inputs())
            if (above.contains(input.get()) && seen.insert(input.get()).second)
                open.push_back(input);
    }
    std::sort(withGradient.begin(), withGradient.end(), std::less<>());
    return withGradient;
}

} // namespace

EvaluationPlan EvaluationPlan::Build(const std::vector<ComputationNodePtr>& roots, const Options& options)
{
    EvaluationPlan plan;
    plan.m_roots = roots;
    for (std::vector<ComputationNodePtr>& component : ComponentsBelow(roots))
    {
        if (IsLoop(component))
            plan.m_steps.push_back(MakeLoop(component));
        else
            plan.m_steps.push_back({PlanStep::Kind::Node, std::move(component), ElementwiseOp::Copy, +1});
    }
    if (options.training && !roots.empty())
    {
        plan.m_backwardRoot = options.backwardRoot ? options.backwardRoot : roots.back();
        if (std::find(roots.begin(), roots.end(), plan.m_backwardRoot) == roots.end())
            Fail(ErrorKind::Internal, "the backward root '", plan.m_backwardRoot->Name(), "' is not one of the roots");
        plan.m_needsGradient = NodesWithGradient(plan.m_steps, plan.m_backwardRoot);
    }
    if (options.fuse)
    {
        plan.FuseAffineChains(options.keepValues);
        plan.FuseLookups(options.keepValues);
    }
    return plan;
}

EvaluationPlan EvaluationPlan::FromSteps(std::vector<PlanStep> steps, std::vector<ComputationNodePtr> roots,
                                         ComputationNodePtr backwardRoot)
{
    EvaluationPlan plan;
    plan.m_steps = std::move(steps);
    plan.m_roots = std::move(roots);
    plan.m_backwardRoot = std::move(backwardRoot);
    if (plan.m_backwardRoot)
        plan.m_needsGradient = NodesWithGradient(plan.m_steps, plan.m_backwardRoot);
    return plan;
}

bool EvaluationPlan::NeedsGradient(const ComputationNode* node) const
{
    return std::binary_search(m_needsGradient.begin(), m_needsGradient.end(), node, std::less<>());
}

std::vector<ComputationNodePtr> EvaluationPlan::NodesInOrder() const
{
    std::vector<ComputationNodePtr> nodes;
    for (const PlanStep& step : m_steps)
        nodes.insert(nodes.end(), step.nodes.begin(), step.nodes.end());
    return nodes;
}

std::string EvaluationPlan::ToString() const
{
    std::string text;
    for (const PlanStep& step : m_steps)
    {
        std::vector<std::string> names;
        for (const ComputationNodePtr& node : step.nodes)
            names.push_back(node->Name());
        if (step.kind == PlanStep::Kind::Loop)
            text += step.direction > 0 ? "loop forward: " : "loop backward: ";
        else if (step.kind == PlanStep::Kind::FusedAffine)
            text += "fused: ";
        else if (step.kind == PlanStep::Kind::Lookup)
            text += "lookup: ";
        text += Join(names, ", ") + "\n";
    }
    return text;
}

// ---- fusion ----
// Times or Convolution, Plus of a bias and a non-linearity become one step if no other node reads the values in
// between; the gradients still flow through the three nodes. Then a LookupTable that only products read becomes one
// step with these products, which computes them for the distinct words (LookupStep).

namespace
{

// Returns the non-linearity that a product can apply to its result.
std::optional<ElementwiseOp> ActivationOf(const ComputationNode& node)
{
    const std::optional<ElementwiseOp> op = ElementwiseOpOf(node);
    const bool isKnown =
        op == ElementwiseOp::Sigmoid || op == ElementwiseOp::Tanh || op == ElementwiseOp::RectifiedLinear;
    return isKnown ? op : std::nullopt;
}

bool IsSparseInput(const ComputationNode& node)
{
    const auto* input = As<InputValueNode>(&node);
    return input != nullptr && input->IsSparseInput();
}

// Returns true for a matrix without layout times dense minibatch data. Either may be a tensor if all its dimensions are
// multiplied, such as a matrix applied to the pixels of an image.
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

// Returns true for a convolution of minibatch data.
bool IsConvolution(const ComputationNode& node)
{
    return As<ConvolutionNode>(&node) != nullptr && node.HasMBLayout();
}

// Returns true for Plus(product, bias) or Plus(bias, product), with a bias of one column without layout, or one value
// for each map.
bool IsBiasAddition(const ComputationNode& node, const ComputationNode& product)
{
    if (ElementwiseOpOf(node) != ElementwiseOp::Sum || node.GetMBLayout() != product.GetMBLayout() ||
        !(node.SampleLayout().WithoutTrailingOnes() == product.SampleLayout().WithoutTrailingOnes()))
        return false;
    const ComputationNode& bias = OtherInput(node, product);
    if (const auto* convolution = As<ConvolutionNode>(&product))
        return convolution->IsMapBias(bias);
    return !bias.HasMBLayout() && bias.ValueColumns() == 1 && bias.ValueRows() == product.SampleElements() &&
           bias.SampleLayout().WithoutTrailingOnes() == product.SampleLayout().WithoutTrailingOnes();
}

// Returns true for an embedding of words that the host can count.
bool IsEmbedding(const ComputationNode& node)
{
    return node.TypeName() == "LookupTable" && node.HasMBLayout() && !node.Input(0)->HasMBLayout() &&
           IsSparseInput(*node.Input(1)) && node.GetDevice().IsHostMemory() &&
           node.Input(1)->SampleElements() * node.Input(0)->ValueRows() ==
               node.SampleElements() * node.Input(0)->ValueColumns();
}

bool IsParameter(const ComputationNode& node)
{
    return As<LearnableParameterNode>(&node) != nullptr;
}

// Returns true for a product of an embedding, or its chain, that can be computed at the place of the first
// product: its other inputs are parameters.
bool IsChainOf(const PlanStep& step, const ComputationNode& embedding)
{
    if ((step.kind != PlanStep::Kind::Node && step.kind != PlanStep::Kind::FusedAffine) ||
        !IsPlainProduct(*step.nodes.front()) || step.nodes.front()->Input(1).get() != &embedding)
        return false;
    for (const ComputationNodePtr& node : step.nodes)
        for (const ComputationNodePtr& input : node->Inputs())
            if (input.get() != &embedding && !IsParameter(*input) &&
                std::find(step.nodes.begin(), step.nodes.end(), input) == step.nodes.end())
                return false;
    return true;
}

} // namespace

void EvaluationPlan::FuseAffineChains(const std::vector<ComputationNodePtr>& keepValues)
{
    // Nodes whose value must be kept, and the only consumer of every other node.
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

    // Returns the step that consumes the node, if it may absorb the node.
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

void EvaluationPlan::FuseLookups(const std::vector<ComputationNodePtr>& keepValues)
{
    for (size_t i = 0; i < m_steps.size(); i++)
    {
        // A step without nodes has been merged into a later one.
        if (m_steps[i].kind != PlanStep::Kind::Node || m_steps[i].nodes.empty() ||
            !IsEmbedding(*m_steps[i].nodes.front()))
            continue;
        const ComputationNodePtr embedding = m_steps[i].nodes.front();
        const auto isEmbedding = [&](const ComputationNodePtr& node) { return node == embedding; };
        std::vector<size_t> chains; // the steps that read the embedding
        bool isReadByChains = std::none_of(m_roots.begin(), m_roots.end(), isEmbedding) &&
                              std::none_of(keepValues.begin(), keepValues.end(), isEmbedding);
        for (size_t k = i + 1; k < m_steps.size() && isReadByChains; k++)
        {
            const std::vector<ComputationNodePtr>& nodes = m_steps[k].nodes;
            if (std::none_of(nodes.begin(), nodes.end(),
                             [&](const ComputationNodePtr& node)
                             { return std::any_of(node->Inputs().begin(), node->Inputs().end(), isEmbedding); }))
                continue;
            chains.push_back(k);
            isReadByChains = IsChainOf(m_steps[k], *embedding);
        }
        if (isReadByChains && !chains.empty())
            MergeLookup(i, chains);
    }
    std::erase_if(m_steps, [](const PlanStep& step) { return step.nodes.empty(); });
}

// Puts the merged step at the place of the first chain, and later parameters before it.
void EvaluationPlan::MergeLookup(size_t lookup, const std::vector<size_t>& chains)
{
    PlanStep merged{PlanStep::Kind::Lookup, std::move(m_steps[lookup].nodes), ElementwiseOp::Copy, +1};
    m_steps[lookup].nodes.clear();
    for (const size_t chain : chains)
    {
        merged.nodes.insert(merged.nodes.end(), m_steps[chain].nodes.begin(), m_steps[chain].nodes.end());
        m_steps[chain].nodes.clear();
    }
    std::vector<PlanStep> parameters;
    for (size_t k = chains.front(); k < chains.back(); k++)
    {
        std::vector<ComputationNodePtr>& nodes = m_steps[k].nodes;
        if (m_steps[k].kind == PlanStep::Kind::Node && !nodes.empty() && IsParameter(*nodes.front()))
        {
            parameters.push_back(m_steps[k]);
            nodes.clear();
        }
    }
    const auto place = m_steps.begin() + ptrdiff_t(chains.front());
    *place = std::move(merged);
    m_steps.insert(place, parameters.begin(), parameters.end());
}

} // namespace cntk
