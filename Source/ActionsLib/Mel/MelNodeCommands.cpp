// Commands on nodes: copying, connecting, properties, deleting, renaming.
#include "ActionsLib/Mel/MelEditor.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace cntk
{
namespace
{

bool IsModelAlone(const MelPattern& pattern)
{
    return EqualsIgnoreCase(pattern.written, pattern.model->name);
}

// Returns the part of a name that the star of a pattern matches.
std::string_view MatchedBy(const MelPattern& pattern, std::string_view name)
{
    return name.substr(pattern.Head().size(), name.size() - pattern.Head().size() - pattern.Tail().size());
}

// Returns the pattern with its star replaced by the text.
std::string Target(const MelPattern& pattern, std::string_view matched)
{
    std::string name(pattern.Head());
    name += matched;
    name += pattern.Tail();
    return name;
}

LearnableParameterNode* AsParameter(ComputationNode& node)
{
    return dynamic_cast<LearnableParameterNode*>(&node);
}

NodeGroup GroupOf(MelProperty property)
{
    switch (property)
    {
    case MelProperty::Feature:
        return NodeGroup::Feature;
    case MelProperty::Label:
        return NodeGroup::Label;
    case MelProperty::Criterion:
        return NodeGroup::Criterion;
    case MelProperty::Evaluation:
        return NodeGroup::Evaluation;
    default:
        return NodeGroup::Output;
    }
}

} // namespace

std::vector<NodeCopyPair> MelEditor::Pair(const MelPattern& from, const MelPattern& to) const
{
    std::vector<NodeCopyPair> pairs;
    const std::vector<ComputationNodePtr> nodes = m_models.FindNodes(from);
    if (!from.HasWildcard())
    {
        if (IsModelAlone(to))
            return {{nodes[0], nodes[0]->Name()}};
        if (!to.HasWildcard())
            return {{nodes[0], to.text}};
        for (const ComputationNodePtr& target : to.model->network->FindPattern(to.text))
            if (target != nodes[0])
                pairs.push_back({nodes[0], target->Name()});
        if (pairs.empty())
            FailAt(
                to.where, ErrorKind::Config,
                "Setting a single input to multiple outputs requires the multiple outputs to exist. No node matches '",
                to.written, "'");
        return pairs;
    }
    if (!to.HasWildcard() && nodes.size() == 1)
        return {{nodes[0], to.text}};
    if (!to.HasWildcard() || from.Head().empty() != to.Head().empty() || from.Tail().empty() != to.Tail().empty())
    {
        const std::string hint =
            to.HasWildcard() ? "; expected text before the '*' in both or in neither, and after it likewise" : "";
        FailAt(to.where, ErrorKind::Config,
               "The input symbols and output symbols must match, when the input matches has more than one element. '",
               from.written, "' = '", to.written, "' not allowed", hint);
    }
    pairs.reserve(nodes.size());
    for (const ComputationNodePtr& node : nodes)
        pairs.push_back({node, Target(to, MatchedBy(from, node->Name()))});
    return pairs;
}

void MelEditor::CopyPairs(const std::vector<NodeCopyPair>& pairs, ComputationNetwork& target,
                          const MelStatement& statement)
{
    if (!CopiesValuesOnly(statement))
        return CopyNodes(pairs, target);
    const std::vector<std::string> made = CopyNodeValues(pairs, target);
    if (!made.empty())
        m_log.Warn(Concat(statement.where.Location(), ": copy=value created nodes without inputs: ", JoinSome(made)));
}

void MelEditor::Copy(const MelStatement& statement)
{
    const MelPattern from = m_models.ParsePattern(statement.arguments[0]);
    const MelPattern to = m_models.ParsePattern(statement.arguments[1]);
    CopyPairs(Pair(from, to), *to.model->network, statement);
}

// With three arguments, each node below `from` is copied as prefix + its name. With two arguments, the root is copied
// as `to`, and the nodes below it as `to` + "." + their names. If `to` has a star, the star stands for the text that
// the star of `from` matched; for a node below that `from` does not match, it stands for the node's whole name.
void MelEditor::CopySubTree(const MelStatement& statement)
{
    const std::vector<const MelArgument*> arguments = PositionalArguments(statement);
    const MelPattern from = m_models.ParsePattern(*arguments[0]);
    const MelPattern to = m_models.ParsePattern(*arguments[1]);
    const bool hasPrefix = arguments.size() == 3;
    if (hasPrefix && to.text == to.written) // the text names no model
        m_models.Require(*arguments[1]);
    const bool namesRoot = !hasPrefix && !to.HasWildcard();
    const bool starsMatch = !hasPrefix && from.HasWildcard() && to.HasWildcard() &&
                            from.Head().empty() == to.Head().empty() && from.Tail().empty() == to.Tail().empty();
    const std::vector<ComputationNodePtr> roots = m_models.FindNodes(from);
    if (namesRoot && roots.size() > 1)
        FailAt(arguments[1]->where, ErrorKind::Config, "'", from.written, "' names ", roots.size(), " nodes, and '",
               to.written, "' can be the copy of one only; give a prefix with a '*'");
    const std::unordered_set<ComputationNodePtr> matched(roots.begin(), roots.end());
    const auto nameOfCopy = [&](const ComputationNodePtr& node)
    {
        const std::string& name = node->Name();
        if (hasPrefix)
            return arguments[2]->text + name;
        if (namesRoot)
            return node == roots[0] ? to.text : Concat(to.text, ".", name);
        const bool isMatched = starsMatch && matched.contains(node);
        return Target(to, isMatched ? MatchedBy(from, name) : std::string_view(name));
    };
    std::vector<NodeCopyPair> pairs;
    std::unordered_map<std::string, std::string> sources; // source node by lower-case name of the copy
    for (const ComputationNodePtr& node : ComputationNetwork::Below(roots))
    {
        pairs.push_back({node, nameOfCopy(node)});
        const auto [other, isFirst] = sources.emplace(ToLower(pairs.back().to), node->Name());
        if (!isFirst)
            FailAt(to.where, ErrorKind::Config, "'", other->second, "' and '", node->Name(), "' would both become '",
                   pairs.back().to, "'; give another pattern, or a prefix");
    }
    CopyPairs(pairs, *to.model->network, statement);
}

void MelEditor::CopyInputs(const MelStatement& statement)
{
    const MelPattern from = m_models.ParsePattern(statement.arguments[0]);
    const MelPattern to = m_models.ParsePattern(statement.arguments[1]);
    if (from.model != to.model)
        FailAt(to.where, ErrorKind::Config, "inputs can be copied within one model only; '", from.written,
               "' is in model '", from.model->name, "', '", to.written, "' in '", to.model->name, "'");
    for (const NodeCopyPair& pair : Pair(from, to))
    {
        const ComputationNodePtr target = to.model->network->Require(pair.to);
        const size_t count = pair.from->InputCount();
        if (count > target->Type().inputs.max)
            FailAt(to.where, ErrorKind::Config, "node '", target->Name(), "' (", target->TypeName(),
                   ") cannot take the inputs of '", pair.from->Name(), "' (", pair.from->TypeName(), "): those are ",
                   count, ", expected ", target->Type().inputs.max, " at most");
        to.model->network->SetPartialInputs(target, pair.from->Inputs());
    }
}

void MelEditor::SetInput(const MelStatement& statement)
{
    const MelPattern pattern = m_models.ParsePattern(statement.arguments[0]);
    const std::vector<ComputationNodePtr> nodes = m_models.FindNodes(pattern);
    const size_t index = ParseInputNumber(statement.arguments[1]);
    const MelPattern inputPattern = m_models.ParsePattern(statement.arguments[2]);
    const ComputationNodePtr input = m_models.FindSingle(statement.arguments[2], inputPattern);
    if (inputPattern.model != pattern.model)
        FailAt(inputPattern.where, ErrorKind::Config, "'", inputPattern.written, "' is in model '",
               inputPattern.model->name, "', expected a node of model '", pattern.model->name, "'");
    for (const ComputationNodePtr& node : nodes)
        pattern.model->network->SetInput(node, index, input);
}

void MelEditor::SetInputs(const MelStatement& statement)
{
    const MelPattern pattern = m_models.ParsePattern(statement.arguments[0]);
    const ComputationNodePtr node = m_models.FindSingle(statement.arguments[0], pattern);
    std::vector<ComputationNodePtr> inputs;
    for (size_t i = 1; i < statement.arguments.size(); ++i)
    {
        const MelPattern inputPattern = m_models.ParsePattern(statement.arguments[i]);
        inputs.push_back(m_models.FindSingle(statement.arguments[i], inputPattern));
        if (inputPattern.model != pattern.model)
            FailAt(inputPattern.where, ErrorKind::Config, "'", inputPattern.written, "' is in model '",
                   inputPattern.model->name, "', expected a node of model '", pattern.model->name, "'");
    }
    pattern.model->network->SetInputs(node, std::move(inputs));
}

void MelEditor::SetParameterProperty(MelProperty property, const std::vector<ComputationNodePtr>& nodes,
                                     const MelStatement& statement)
{
    const MelArgument& value = statement.arguments[2];
    const double multiplier =
        property == MelProperty::NeedsGradient ? double(ParseMelFlag(value)) : ParseMultiplier(value);
    bool hasParameter = false;
    for (const ComputationNodePtr& node : nodes)
        if (auto* const parameter = AsParameter(*node))
        {
            parameter->SetLearningRateMultiplier(float(multiplier));
            hasParameter = true;
        }
    if (!hasParameter)
        m_log.Warn(Concat(statement.arguments[0].where.Location(), ": ", statement.arguments[1].text,
                          " has no effect: '", statement.arguments[0].text, "' names no parameter"));
}

void MelEditor::SetProperty(MelCommand command, const MelStatement& statement)
{
    const MelPattern pattern = m_models.ParsePattern(statement.arguments[0]);
    std::vector<ComputationNodePtr> nodes = m_models.FindNodes(pattern);
    const MelArgument& value = statement.arguments[2];
    const MelProperty property = RequireMelProperty(statement.arguments[1]);
    ComputationNetwork& network = *pattern.model->network;
    if (command == MelCommand::SetPropertyForSubTree)
    {
        RequireSubTreeProperty(statement.arguments[1]);
        nodes = ComputationNetwork::Below(nodes);
    }
    if (IsParameterProperty(property))
        return SetParameterProperty(property, nodes, statement);
    const bool isMember = ParseMelFlag(value);
    if (property == MelProperty::None)
        return;
    if (isMember && (property == MelProperty::Feature || property == MelProperty::Label))
    {
        std::vector<std::string> others;
        for (const ComputationNodePtr& node : nodes)
            if (!IsInputNode(*node))
                others.push_back(Concat("'", node->Name(), "' (", node->TypeName(), ")"));
        if (!others.empty())
            m_log.Warn(Concat(pattern.where.Location(), ": ", JoinSome(others),
                              others.size() == 1 ? " is no input node" : " are no input nodes",
                              "; no reader gives data for ", others.size() == 1 ? "it" : "them", " as a ",
                              statement.arguments[1].text));
    }
    if (isMember)
        network.AddToGroup(GroupOf(property), nodes);
    else
        network.RemoveFromGroup(GroupOf(property), nodes);
}

void MelEditor::Delete(const MelStatement& statement)
{
    for (const MelArgument& argument : statement.arguments)
    {
        const MelPattern pattern = m_models.ParsePattern(argument);
        pattern.model->network->Delete(m_models.FindNodes(pattern));
    }
}

void MelEditor::Rename(const MelStatement& statement)
{
    const MelPattern from = m_models.ParsePattern(statement.arguments[0]);
    MelPattern to = m_models.ParsePattern(statement.arguments[1]);
    if (to.text == to.written) // without a model's name: the model of the source
        to.model = from.model;
    if (from.model != to.model)
        FailAt(to.where, ErrorKind::Config, "a node cannot be renamed from model '", from.model->name, "' into model '",
               to.model->name, "'; copy it");
    ComputationNetwork& network = *from.model->network;
    for (const NodeCopyPair& pair : Pair(from, to))
    {
        const ComputationNodePtr existing = network.Find(pair.to);
        if (existing && existing != pair.from)
            FailAt(to.where, ErrorKind::Config, "RenameNode: Target name already exists. '", pair.from->Name(),
                   "' cannot become '", pair.to, "'");
        network.Rename(pair.from, pair.to);
    }
}

void MelEditor::Revise(const MelStatement& statement)
{
    const MelPattern pattern = m_models.ParsePattern(statement.arguments[0]);
    const MelArgument& file = statement.arguments[1];
    Protect({"the parameter file of " + file.where.Location(), ResolveInputPath(file.text)});
    for (const ComputationNodePtr& node : m_models.FindNodes(pattern))
    {
        auto* const parameter = AsParameter(*node);
        if (parameter == nullptr)
        {
            m_log.Print("WARNING: you want to change the parameter of node (%s), but it is not a learnable parameter "
                        "(it is a %s node). Skipping this node\n",
                        node->Name().c_str(), node->TypeName().c_str());
            continue;
        }
        m_log.Print("Revise node %s using parameter file %s\n", node->Name().c_str(), file.text.c_str());
        parameter->InitFromFile(ResolveInputPath(file.text));
    }
}

} // namespace cntk
