// Nodes of the symbolic graph, the values of parameters, and walks over the graph.
#include "Api/Node.h"

#include "Api/Operation.h"
#include "Api/Session.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "Math/Operations.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace cntk::Api
{

// ---- values of parameters ----

ParameterData::ParameterData(std::shared_ptr<Device> device, DataType type, Shape shape, NodeParameters initialization)
    : m_device(std::move(device)), m_type(type), m_shape(std::move(shape)), m_initialization(std::move(initialization))
{
    if (!HasUnknown(m_shape))
        Complete(m_shape);
}

ParameterData::ParameterData(std::shared_ptr<Device> device, DataType type, Shape shape,
                             const std::vector<double>& values)
    : m_device(std::move(device)), m_type(type), m_shape(std::move(shape))
{
    Complete(m_shape);
    SetValues(values);
}

void ParameterData::Complete(const Shape& shape)
{
    // A parameter node knows all forms of initial values.
    const NodeRegistry& registry = NodeRegistry::Standard();
    const ComputationNodePtr node = registry.Create(*registry.Find("LearnableParameter"), "", m_type, *m_device);
    auto& parameter = static_cast<LearnableParameterNode&>(*node);
    parameter.SetParameterShape(EngineShape(shape));
    parameter.SetParameters(m_initialization);
    m_storage = parameter.Storage();
    m_shape = shape;
}

void ParameterData::RequireStorage() const
{
    if (m_storage == nullptr)
        Fail(ErrorKind::Model, "the parameter's shape ", ToText(m_shape),
             " has dimensions that the first operation on it determines; it has no values before");
}

void ParameterData::SetValues(const std::vector<double>& values)
{
    RequireStorage();
    m_storage->FromHost(std::span<const double>(values));
}

void ParameterData::Fill(double value)
{
    RequireStorage();
    Ops::Fill(*m_storage, value);
}

// ---- nodes ----

Node::Node(Context& context, Role nodeRole, DataType elementType, std::string name)
    : uid(context.NextUid()), role(nodeRole), type(elementType), m_name(std::move(name))
{
}

Node::~Node()
{
    std::vector<NodePtr> open = std::move(inputs);
    if (replacement)
        open.push_back(std::move(replacement));
    while (!open.empty())
    {
        const NodePtr node = std::move(open.back());
        open.pop_back();
        if (node.use_count() > 1)
            continue;
        for (NodePtr& input : node->inputs)
            open.push_back(std::move(input));
        node->inputs.clear();
    }
}

void Node::SetName(Context& context, std::string name)
{
    m_name = std::move(name);
    context.CountRename();
}

void Node::SetTag(std::string tag)
{
    const std::vector<std::string> known = {"criterion", "output", "eval", "feature", "label"};
    if (!tag.empty() && std::find(known.begin(), known.end(), tag) == known.end())
        Fail(ErrorKind::Model, "the tag of node '", Name(), "' is '", tag, "'; expected ", Join(known, ", "),
             " or None", DidYouMean(tag, known));
    m_tag = std::move(tag);
}

std::string Node::TypeName() const
{
    switch (role)
    {
    case Role::Input:
        return isSparse ? "SparseInputValue" : "InputValue";
    case Role::Parameter:
    case Role::Constant:
        return "LearnableParameter";
    case Role::Placeholder:
        return "Placeholder";
    case Role::Operation:
        break;
    }
    return operation->TypeName();
}

std::string Node::DescribeShape() const
{
    if (!value.shape)
        return "of unknown shape";
    return value.axis.empty() ? ToText(*value.shape) : ToText(*value.shape) + " x " + value.axis;
}

std::string Node::Describe() const
{
    if (role == Role::Constant && m_name.empty())
        return "a constant " + DescribeShape();
    return Concat("'", Name(), "' ", DescribeShape());
}

// ---- leaves ----

NodePtr MakeInput(Context& context, const Shape& shape, const std::string& axis, DataType type, bool isSparse,
                  std::string name)
{
    auto node = std::make_shared<Node>(context, Node::Role::Input, type, std::move(name));
    if (HasUnknown(shape))
        Fail(ErrorKind::Model, "the shape of input '", node->Name(), "' is ", ToText(shape),
             "; expected dimensions of 1 or more");
    node->isSparse = isSparse;
    node->value = {shape, axis, axis};
    EngineShape(shape); // fails for too many dimensions
    return node;
}

static NodePtr MakeLeaf(Context& context, Node::Role role, std::shared_ptr<ParameterData> data, std::string name)
{
    auto node = std::make_shared<Node>(context, role, data->Type(), std::move(name));
    node->value = {data->GetShape(), c_noAxis, c_noAxis};
    node->parameter = std::move(data);
    return node;
}

NodePtr MakeParameter(Context& context, std::shared_ptr<ParameterData> data, std::string name)
{
    return MakeLeaf(context, Node::Role::Parameter, std::move(data), std::move(name));
}

NodePtr MakeConstant(Context& context, std::shared_ptr<ParameterData> data, std::string name)
{
    data->SetLearningRateMultiplier(0);
    return MakeLeaf(context, Node::Role::Constant, std::move(data), std::move(name));
}

NodePtr MakePlaceholder(Context& context, const std::optional<Shape>& shape, const std::string& axis, DataType type,
                        std::string name)
{
    auto node = std::make_shared<Node>(context, Node::Role::Placeholder, type, std::move(name));
    node->hasOpenType = true;
    node->value = {shape, axis, axis};
    return node;
}

// ---- walks ----

NodePtr Resolved(const NodePtr& node)
{
    NodePtr resolved = node;
    while (resolved->replacement)
        resolved = resolved->replacement;
    return resolved;
}

std::vector<NodePtr> Below(const std::vector<NodePtr>& roots)
{
    struct Visit
    {
        NodePtr node;
        size_t nextInput;
    };
    std::vector<NodePtr> order;
    std::unordered_set<const Node*> seen;
    std::vector<Visit> stack;
    const auto open = [&](const NodePtr& node)
    {
        NodePtr resolved = Resolved(node);
        if (seen.insert(resolved.get()).second)
            stack.push_back({std::move(resolved), 0});
    };
    for (const NodePtr& root : roots)
    {
        open(root);
        while (!stack.empty())
        {
            Visit& top = stack.back();
            if (top.nextInput < top.node->inputs.size())
            {
                open(top.node->inputs[top.nextInput++]);
                continue;
            }
            order.push_back(std::move(top.node));
            stack.pop_back();
        }
    }
    return order;
}

} // namespace cntk::Api
