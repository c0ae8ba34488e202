#include "SGD/NotFinite.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "Math/Operations.h"

#include <algorithm>

namespace cntk
{

namespace
{

std::string PlaceOfData(const ComputationNode& node, const std::vector<StreamInfo>& streams)
{
    for (const StreamInfo& stream : streams)
        if (!stream.source.empty() && EqualsIgnoreCase(stream.name, node.Name()))
            return Concat(", read from ", stream.source);
    return {};
}

// In the order of computing: a recurrent loop goes step by step, and its delay nodes stand before the culprit.
ComputationNodePtr FirstNotFiniteValue(const EvaluationPlan& plan)
{
    const auto firstOf = [](const PlanStep& step, const FrameRange& range)
    {
        const auto isBad = [&](const ComputationNodePtr& node)
        { return !node->IsSparse() && node->Value().data && Ops::HasNotFinite(node->Value(range)); };
        const auto found = std::find_if(step.nodes.begin(), step.nodes.end(), isBad);
        return found == step.nodes.end() ? nullptr : *found;
    };
    for (const PlanStep& step : plan.Steps())
    {
        const ComputationNodePtr found = firstOf(step, FrameRange::All());
        const size_t times = found && step.kind == PlanStep::Kind::Loop ? found->GetMBLayout()->TimeSteps() : 0;
        for (size_t t = 0; t < times; ++t)
            if (ComputationNodePtr first = firstOf(step, FrameRange::Step(step.direction > 0 ? t : times - 1 - t)))
                return first;
        if (found)
            return found;
    }
    return nullptr;
}

} // namespace

std::string FindNotFinite(ComputationNetwork& network, const TrainingNodes& nodes,
                          const std::vector<StreamInfo>& streams)
{
    // Nothing shares memory, so that every value and gradient can be looked at afterwards.
    EvaluatorOptions options;
    options.training = true;
    options.shareMemory = false;
    options.fuse = false;
    options.backwardRoot = nodes.criterion;
    options.keepValues = ComputationNetwork::Below(nodes.Roots());
    Evaluator evaluator(network, nodes.Roots(), options);
    const auto describe = [](const char* what, const ComputationNode& node)
    { return Concat(what, " of '", node.Name(), "' (", node.TypeName(), ")"); };

    evaluator.Forward();
    if (const ComputationNodePtr node = FirstNotFiniteValue(evaluator.Plan()))
        return describe("value", *node) + PlaceOfData(*node, streams);
    evaluator.Backward(nodes.criterion);
    for (const ComputationNodePtr& node : evaluator.Plan().NodesInOrder())
    {
        if (node->NeedsGradient() && node->Gradient().data && Ops::HasNotFinite(node->Gradient()))
            return describe("gradient", *node);
    }
    return {};
}

} // namespace cntk
