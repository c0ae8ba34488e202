// What the model lacks is found from the criterion downwards, as far as nodes of the model.
#include "ActionsLib/CriterionTransfer.h"

#include "ActionsLib/Mel/NodeCopy.h"
#include "Common/Error.h"

#include <algorithm>
#include <map>

namespace cntk
{

namespace
{

ComputationNodePtr FirstCriterion(const ComputationNetwork& network, const char* which)
{
    const auto& criteria = network.Group(NodeGroup::Criterion);
    if (criteria.empty())
        Fail(ErrorKind::Model, which, " has no training criterion; expected one whose place the other's can take");
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

// Nodes that have to be copied, by name: the criterion itself, and what below it the model does not have.
class Missing
{
public:
    Missing(const ComputationNetwork& model, const ComputationNodePtr& criterion) : m_model(model)
    {
        std::vector<ComputationNodePtr> open{criterion};
        while (!open.empty())
        {
            const ComputationNodePtr node = open.back();
            open.pop_back();
            if (!m_nodes.emplace(node->Name(), node).second)
                continue;
            for (const ComputationNodePtr& input : node->Inputs())
                if (!IsThere(*input))
                    open.push_back(input);
        }
    }

    void Add(const ComputationNodePtr& node)
    {
        if (!IsThere(*node))
            m_nodes.emplace(node->Name(), node);
    }

    const std::map<std::string, ComputationNodePtr>& Nodes() const { return m_nodes; }

private:
    bool IsThere(const ComputationNode& node) const
    {
        const ComputationNodePtr found = m_model.Find(node.Name());
        if (found != nullptr && &found->Type() != &node.Type())
            Fail(ErrorKind::Model, "node '", node.Name(), "' is of type ", node.TypeName(),
                 " in the described network and ", found->TypeName(),
                 " in the original model; the criterion's inputs are found by their names: expected the same type");
        return found != nullptr;
    }

    const ComputationNetwork& m_model;
    std::map<std::string, ComputationNodePtr> m_nodes;
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
        pairs.push_back({node, name});
        if (node != criterion)
            copied.push_back(name);
    }
    CopyNodes(pairs, model);
    for (const NodeCopyPair& pair : pairs)
    {
        const ComputationNodePtr copy = model.Require(pair.to);
        for (size_t i = 0; i < pair.from->InputCount(); ++i)
            model.SetInput(copy, i, model.Require(pair.from->Input(i)->Name()));
        for (const NodeGroup group : {NodeGroup::Feature, NodeGroup::Label})
        {
            const auto& nodes = described.Group(group);
            if (std::find(nodes.begin(), nodes.end(), pair.from) != nodes.end())
                model.AddToGroup(group, copy);
        }
    }
    // The first criterion is the one that is trained.
    const std::vector<ComputationNodePtr> others = model.Group(NodeGroup::Criterion);
    for (const ComputationNodePtr& other : others)
        model.RemoveFromGroup(NodeGroup::Criterion, other);
    model.AddToGroup(NodeGroup::Criterion, model.Require(criterion->Name()));
    for (const ComputationNodePtr& other : others)
        model.AddToGroup(NodeGroup::Criterion, other);
    return copied;
}

} // namespace cntk
