#include "ActionsLib/Actions/CriterionTransfer.h"

#include "ActionsLib/Mel/NodeCopy.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/GeneratedName.h"

#include <algorithm>
#include <cstddef>
#include <map>

namespace cntk
{

namespace
{

ComputationNodePtr FirstCriterion(const ComputationNetwork& network, const char* which)
{
    const auto& criteria = network.Group(NodeGroup::Criterion);
    if (criteria.empty())
        Fail(ErrorKind::Model, which, " has no training criterion; expected one to replace");
    return criteria.front();
}

bool IsInSomeGroup(const ComputationNetwork& network, const ComputationNodePtr& node)
{
    for (size_t group = 0; group < c_nodeGroups; ++group)
    {
        const auto& nodes = network.Group(NodeGroup(group));
        if (std::find(nodes.begin(), nodes.end(), node) != nodes.end())
            return true;
    }
    return false;
}

bool IsConsumed(const ComputationNetwork& network, const ComputationNodePtr& node)
{
    const std::vector<ComputationNodePtr> nodes = network.Nodes();
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const ComputationNodePtr& consumer)
                       {
                           const auto& inputs = consumer->Inputs();
                           return std::find(inputs.begin(), inputs.end(), node) != inputs.end();
                       });
}

// The nodes to copy, sorted by name: the criterion, and the nodes below it that the model lacks.
class Missing
{
public:
    Missing(const ComputationNetwork& model, const ComputationNodePtr& criterion)
        : m_model(model), m_criterion(criterion)
    {
        std::vector<ComputationNodePtr> open{criterion};
        while (!open.empty())
        {
            const ComputationNodePtr node = open.back();
            open.pop_back();
            if (!Take(node))
                continue;
            for (const ComputationNodePtr& input : node->Inputs())
                if (!IsThere(*input))
                    open.push_back(input);
        }
    }

    void Add(const ComputationNodePtr& node)
    {
        if (!IsThere(*node))
            Take(node);
    }

    const std::map<std::string, ComputationNodePtr>& Nodes() const { return m_nodes; }

    // The name of the described node in the model.
    const std::string& NameOf(const ComputationNodePtr& node) const
    {
        const auto found = m_names.find(node.get());
        return found == m_names.end() ? node->Name() : found->second;
    }

private:
    bool Take(const ComputationNodePtr& node)
    {
        if (!m_nodes.emplace(node->Name(), node).second)
            return false;
        std::string name = node->Name();
        if (node != m_criterion && IsGeneratedName(name))
            for (size_t number = 1; m_model.Find(name) != nullptr; ++number)
                name = Concat(m_criterion->Name(), ".", node->Name(), number == 1 ? "" : Concat("_", number));
        m_names.emplace(node.get(), std::move(name));
        return true;
    }

    // A node of a loop counts as existing while the other nodes of the loop are compared.
    bool IsThere(const ComputationNode& node)
    {
        const auto [known, isNew] = m_there.emplace(&node, true);
        if (!isNew)
            return known->second;
        if (Compare(node))
            return true;
        std::erase_if(m_there,
                      [](const auto& entry) { return entry.second; }); // these answers may rest on the assumption
        m_there[&node] = false;
        return false;
    }

    bool Compare(const ComputationNode& node)
    {
        const ComputationNodePtr found = m_model.Find(node.Name());
        if (found == nullptr)
            return false;
        const bool isGenerated = IsGeneratedName(node.Name());
        if (&found->Type() != &node.Type())
        {
            if (isGenerated)
                return false;
            Fail(ErrorKind::Model, "node '", node.Name(), "' is of type ", node.TypeName(),
                 " in the described network and ", found->TypeName(),
                 " in the original model; the criterion's inputs are found by their names: expected the same type");
        }
        if (!isGenerated)
            return true;
        const auto& inputs = node.Inputs();
        return std::equal(inputs.begin(), inputs.end(), found->Inputs().begin(), found->Inputs().end(),
                          [&](const ComputationNodePtr& a, const ComputationNodePtr& b)
                          { return a && b && EqualsIgnoreCase(a->Name(), b->Name()) && IsThere(*a); });
    }

    const ComputationNetwork& m_model;
    ComputationNodePtr m_criterion;
    std::map<std::string, ComputationNodePtr> m_nodes;
    std::map<const ComputationNode*, std::string> m_names;
    std::map<const ComputationNode*, bool> m_there;
};

} // namespace

std::vector<std::string> TakeCriterion(ComputationNetwork& model, const ComputationNetwork& described)
{
    const ComputationNodePtr criterion = FirstCriterion(described, "the described network");
    const ComputationNodePtr old = FirstCriterion(model, "the original model");
    model.RemoveFromGroup(NodeGroup::Criterion, old);
    if (!IsInSomeGroup(model, old) && !IsConsumed(model, old))
        model.Delete(old);
    else if (old->Name() == criterion->Name() && &old->Type() != &criterion->Type())
        Fail(ErrorKind::Model, "the criterion '", old->Name(),
             "' of the original model is used for evaluation or by other nodes and cannot be replaced by one of the "
             "same name and another type; expected another name");

    Missing missing(model, criterion);
    for (const ComputationNodePtr& feature : described.Group(NodeGroup::Feature))
        missing.Add(feature);
    std::vector<NodeCopyPair> pairs;
    std::vector<std::string> copied;
    for (const auto& [name, node] : missing.Nodes())
    {
        pairs.push_back({node, missing.NameOf(node)});
        if (node != criterion)
            copied.push_back(pairs.back().to);
    }
    CopyNodes(pairs, model);
    for (const NodeCopyPair& pair : pairs)
    {
        const ComputationNodePtr copy = model.Require(pair.to);
        for (size_t i = 0; i < pair.from->InputCount(); ++i)
            model.SetInput(copy, i, model.Require(missing.NameOf(pair.from->Input(i))));
        for (const NodeGroup group : {NodeGroup::Feature, NodeGroup::Label})
        {
            const auto& nodes = described.Group(group);
            if (std::find(nodes.begin(), nodes.end(), pair.from) != nodes.end())
                model.AddToGroup(group, copy);
        }
    }
    // Puts the new criterion first, because the first criterion is trained.
    const std::vector<ComputationNodePtr> others = model.Group(NodeGroup::Criterion);
    for (const ComputationNodePtr& other : others)
        model.RemoveFromGroup(NodeGroup::Criterion, other);
    model.AddToGroup(NodeGroup::Criterion, model.Require(criterion->Name()));
    for (const ComputationNodePtr& other : others)
        model.AddToGroup(NodeGroup::Criterion, other);
    return copied;
}

} // namespace cntk
