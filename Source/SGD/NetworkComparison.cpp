// Two networks, node by node from their criteria down.
#include "SGD/NetworkComparison.h"

#include "Common/Counted.h"
#include "Common/Message.h"
#include "Common/Text.h"
#include "ComputationNetwork/GeneratedName.h"
#include "ComputationNetwork/ModelStreams.h"
#include "ComputationNetwork/Nodes/ConvolutionNode.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace cntk
{

namespace
{

// Those whose names are not generated: networks that a run builds one after another go on counting.
std::vector<ComputationNodePtr> NamedParametersOf(const ComputationNetwork& network)
{
    std::vector<ComputationNodePtr> parameters = ParametersOf(network);
    std::erase_if(parameters, [](const ComputationNodePtr& parameter) { return IsGeneratedName(parameter->Name()); });
    return parameters;
}

std::string DifferenceOfParameters(const ComputationNetwork& loaded, const ComputationNetwork& described)
{
    for (const ComputationNodePtr& parameter : NamedParametersOf(described))
    {
        const ComputationNodePtr other = loaded.Find(parameter->Name());
        if (!other)
            return Concat("it has no parameter '", parameter->Name(), "' (", parameter->SampleLayout().ToString(), ")");
        if (other->SampleLayout() != parameter->SampleLayout())
            return Concat("its '", other->Name(), "' is ", other->SampleLayout().ToString(), ", but ",
                          parameter->SampleLayout().ToString(), " in the description");
    }
    for (const ComputationNodePtr& parameter : NamedParametersOf(loaded))
    {
        if (!described.Find(parameter->Name()))
            return Concat("its parameter '", parameter->Name(), "' (", parameter->SampleLayout().ToString(),
                          ") is not in the description");
    }
    return {};
}

// The arguments of a node as a model file has them. Empty where training changes what stands there: statistics, counts,
// a convolution's limit of memory.
std::string ArgumentsOf(ComputationNode& node)
{
    std::string bytes;
    if (node.InputCount() == 0 || node.IsPrecomputed() || node.StepCounter() != nullptr ||
        dynamic_cast<const ConvolutionNode*>(&node) != nullptr)
        return bytes;
    ByteWriter out(&bytes);
    ModelWriter archive(out);
    archive.SetElementType(node.GetDataType());
    node.SerializeFields(archive);
    return bytes;
}

// Parameters and inputs: by name, and where nobody named them, by what stands in the same place.
std::string DifferenceOfLeaves(const ComputationNode& loaded, const ComputationNode& described)
{
    if (!IsGeneratedName(loaded.Name()) || !IsGeneratedName(described.Name()))
        return EqualsIgnoreCase(loaded.Name(), described.Name())
                   ? ""
                   : Concat("it has '", loaded.Name(), "' where '", described.Name(), "' stands in the description");
    if (dynamic_cast<const LearnableParameterNode*>(&loaded) == nullptr ||
        loaded.SampleLayout() == described.SampleLayout())
        return {};
    return Concat("its '", loaded.Name(), "' is ", loaded.SampleLayout().ToString(), ", but ",
                  described.SampleLayout().ToString(), " in the description");
}

std::string DifferenceOf(ComputationNode& loaded, ComputationNode& described)
{
    if (loaded.TypeName() != described.TypeName())
        return Concat("its '", loaded.Name(), "' is ", loaded.TypeName(), ", but ", described.TypeName(),
                      " in the description");
    if (loaded.InputCount() != described.InputCount())
        return Concat("its '", loaded.Name(), "' (", loaded.TypeName(), ") has ", Counted(loaded.InputCount(), "input"),
                      ", but ", described.InputCount(), " in the description");
    if (loaded.InputCount() == 0)
        return DifferenceOfLeaves(loaded, described);
    if (ArgumentsOf(loaded) != ArgumentsOf(described))
        return Concat("its '", loaded.Name(), "' (", loaded.TypeName(), ") has other arguments in the description");
    return {};
}

// Depth first, inputs left to right. A pair is looked at once, so loops end.
std::string DifferenceBelow(const ComputationNodePtr& loaded, const ComputationNodePtr& described)
{
    using Pair = std::pair<ComputationNode*, ComputationNode*>;
    std::set<Pair> seen;
    std::vector<Pair> waiting{{loaded.get(), described.get()}};
    while (!waiting.empty())
    {
        const Pair pair = waiting.back();
        waiting.pop_back();
        if (!seen.insert(pair).second)
            continue;
        if (std::string difference = DifferenceOf(*pair.first, *pair.second); !difference.empty())
            return difference;
        for (size_t i = pair.first->InputCount(); i-- > 0;)
            waiting.emplace_back(pair.first->Input(i).get(), pair.second->Input(i).get());
    }
    return {};
}

std::string DifferenceOfCriteria(const ComputationNetwork& loaded, const ComputationNetwork& described)
{
    for (const auto& [group, noun] :
         {std::pair(NodeGroup::Criterion, "criterion node"), std::pair(NodeGroup::Evaluation, "evaluation node")})
    {
        const auto& ours = loaded.Group(group);
        const auto& theirs = described.Group(group);
        if (ours.size() != theirs.size())
            return Concat("it has ", Counted(ours.size(), noun), ", but ", theirs.size(), " in the description");
        for (size_t i = 0; i < ours.size(); ++i)
            if (std::string difference = DifferenceBelow(ours[i], theirs[i]); !difference.empty())
                return difference;
    }
    return {};
}

// Depth first, inputs left to right: in the same order in networks without a difference.
std::vector<std::shared_ptr<LearnableParameterNode>> ParametersBelowCriteria(const ComputationNetwork& network)
{
    std::vector<std::shared_ptr<LearnableParameterNode>> parameters;
    std::set<const ComputationNode*> seen;
    std::vector<ComputationNodePtr> waiting;
    for (const NodeGroup group : {NodeGroup::Evaluation, NodeGroup::Criterion})
        waiting.insert(waiting.end(), network.Group(group).rbegin(), network.Group(group).rend());
    while (!waiting.empty())
    {
        const ComputationNodePtr node = waiting.back();
        waiting.pop_back();
        if (!seen.insert(node.get()).second)
            continue;
        if (auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(node))
            parameters.push_back(std::move(parameter));
        waiting.insert(waiting.end(), node->Inputs().rbegin(), node->Inputs().rend());
    }
    return parameters;
}

std::optional<double> ConstantOf(const LearnableParameterNode& parameter)
{
    const bool isConstant = parameter.SampleElements() == 1 && !parameter.IsTrainableLeaf();
    return isConstant ? std::optional(parameter.Values().ToHost().front()) : std::nullopt;
}

} // namespace

std::vector<ComputationNodePtr> ParametersOf(const ComputationNetwork& network)
{
    std::vector<ComputationNodePtr> parameters = network.Nodes();
    std::erase_if(parameters, [](const ComputationNodePtr& node)
                  { return std::dynamic_pointer_cast<LearnableParameterNode>(node) == nullptr; });
    return parameters;
}

bool HaveSameValues(const ComputationNetwork& loaded, const ComputationNetwork& described)
{
    const std::vector<ComputationNodePtr> parameters = NamedParametersOf(described);
    const auto valuesOf = [](const ComputationNodePtr& node)
    { return std::dynamic_pointer_cast<LearnableParameterNode>(node)->Values().ToHost(); };
    return std::all_of(parameters.begin(), parameters.end(),
                       [&](const ComputationNodePtr& parameter)
                       { return valuesOf(parameter) == valuesOf(loaded.Find(parameter->Name())); });
}

std::string SettingsOf(const ComputationNetwork& described)
{
    uint64_t digest = 14695981039346656037u; // FNV-1a
    const auto add = [&](double value)
    {
        for (uint64_t bits = std::bit_cast<uint64_t>(value), i = 0; i < sizeof bits; ++i, bits >>= 8)
            digest = (digest ^ (bits & 0xFF)) * 1099511628211u;
    };
    for (const auto& parameter : ParametersBelowCriteria(described))
    {
        add(parameter->LearningRateMultiplier());
        add(ConstantOf(*parameter).value_or(0));
    }
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
    return text;
}

std::string FirstOtherSetting(const ComputationNetwork& loaded, const ComputationNetwork& described)
{
    const auto ours = ParametersBelowCriteria(loaded), theirs = ParametersBelowCriteria(described);
    for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i)
    {
        const float multiplier = ours[i]->LearningRateMultiplier(), wanted = theirs[i]->LearningRateMultiplier();
        if (multiplier != wanted)
            return Concat("its '", ours[i]->Name(), "' has learningRateMultiplier=", multiplier, ", but ", wanted,
                          " in the description");
        const auto constant = ConstantOf(*ours[i]), wantedConstant = ConstantOf(*theirs[i]);
        if (constant != wantedConstant)
            return Concat("its constant '", ours[i]->Name(), "' is ", *constant, ", but ", *wantedConstant,
                          " in the description");
    }
    return {};
}

std::string FirstDifference(const ComputationNetwork& loaded, const ComputationNetwork& described)
{
    std::string difference = DifferenceOfParameters(loaded, described);
    return difference.empty() ? DifferenceOfCriteria(loaded, described) : difference;
}

} // namespace cntk
