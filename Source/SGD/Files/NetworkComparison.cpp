// Compares two networks node by node, from their criteria down.
#include "SGD/Files/NetworkComparison.h"

#include "Common/Text.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/Nodes/ConvolutionNode.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"

#include <algorithm>
#include <set>
#include <utility>

namespace cntk
{

namespace
{

// Returns the parameters whose names are not generated. Networks that a run builds one after another continue the
// numbering of generated names.
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

// Returns the arguments of a node as a model file stores them. Empty if training changes them: statistics, counts, the
// memory limit of a convolution.
std::string ArgumentsOf(ComputationNode& node)
{
    std::string bytes;
    auto* const state = Interface<StepState>(node);
    if (node.InputCount() == 0 || node.IsPrecomputed() || (state != nullptr && state->StepCounter() != nullptr) ||
        As<ConvolutionNode>(&node) != nullptr)
        return bytes;
    ByteWriter out(&bytes);
    ModelArchive archive(out);
    archive.SetElementType(node.GetDataType());
    node.SerializeFields(archive);
    return bytes;
}

// Compares parameters and inputs by name; if neither has a name of its own, by their position.
std::string DifferenceOfLeaves(const ComputationNode& loaded, const ComputationNode& described)
{
    if (!IsGeneratedName(loaded.Name()) || !IsGeneratedName(described.Name()))
        return EqualsIgnoreCase(loaded.Name(), described.Name())
                   ? ""
                   : Concat("it has '", loaded.Name(), "' where '", described.Name(), "' stands in the description");
    if (As<LearnableParameterNode>(&loaded) == nullptr || loaded.SampleLayout() == described.SampleLayout())
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

// Searches depth first, inputs left to right. Each pair is compared once, so loops end.
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

std::string FirstDifference(const ComputationNetwork& loaded, const ComputationNetwork& described)
{
    std::string difference = DifferenceOfParameters(loaded, described);
    return difference.empty() ? DifferenceOfCriteria(loaded, described) : difference;
}

} // namespace cntk
