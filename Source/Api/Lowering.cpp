// Lowering: delays first, because loops go through them; then leaves and operations in order; then names.
#include "Api/Lowering.h"

#include "Api/UserFunction.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>
#include <utility>

namespace cntk::Api
{

namespace
{

bool IsDelayNode(const Node& node)
{
    return node.role == Node::Role::Operation && node.operation->IsDelay();
}

// Orders nodes so that inputs come before consumers, where the edge into a delay counts as none. Fails (Model) for a
// loop without a delay.
std::vector<NodePtr> OrderCutAtDelays(const std::vector<NodePtr>& nodes)
{
    enum class State : uint8_t
    {
        New,
        Open,
        Done
    };
    std::unordered_map<const Node*, State> states;
    std::vector<NodePtr> order;
    std::vector<std::pair<NodePtr, size_t>> stack;
    const auto open = [&](const NodePtr& given)
    {
        const NodePtr node = Resolved(given);
        State& state = states[node.get()];
        if (state == State::Open)
        {
            std::vector<std::string> names;
            for (auto entry = stack.rbegin(); entry != stack.rend(); ++entry)
            {
                names.push_back("'" + entry->first->Name() + "' (" + entry->first->TypeName() + ")");
                if (entry->first == node)
                    break;
            }
            Fail(ErrorKind::Model, "the loop of ", Join(names, ", "),
                 " has no delay; expected past_value or future_value in each loop");
        }
        if (state == State::New)
        {
            state = State::Open;
            stack.emplace_back(node, 0);
        }
    };
    for (const NodePtr& start : nodes)
    {
        open(start);
        while (!stack.empty())
        {
            auto& [node, next] = stack.back();
            if (!IsDelayNode(*node) && next < node->inputs.size())
            {
                open(node->inputs[next++]);
                continue;
            }
            states[node.get()] = State::Done;
            order.push_back(node);
            stack.pop_back();
        }
    }
    return order;
}

DataType ElementType(const std::vector<NodePtr>& nodes)
{
    const Node* first = nullptr;
    for (const NodePtr& node : nodes)
    {
        if (node->hasOpenType)
            continue;
        if (first == nullptr)
            first = node.get();
        else if (node->type != first->type)
            throw TypeFault(Concat("the network has nodes of two element types: ", first->Describe(), " and ",
                                   node->Describe(), "; expected float32 or float64 throughout"));
    }
    return first != nullptr ? first->type : nodes.front()->type;
}

std::shared_ptr<Device> DeviceOfNodes(Context& context, const std::vector<NodePtr>& nodes)
{
    const Node* first = nullptr;
    for (const NodePtr& node : nodes)
    {
        if (!node->parameter || node->hasOpenType)
            continue;
        if (first == nullptr)
            first = node.get();
        else if (node->parameter->GetDevice() != first->parameter->GetDevice())
            Fail(ErrorKind::Device, first->Describe(), " is on ", first->parameter->GetDevice()->Describe(), " and ",
                 node->Describe(), " on ", node->parameter->GetDevice()->Describe(),
                 "; expected all parameters of a network on one device");
    }
    return first != nullptr ? first->parameter->GetDevice() : context.CurrentDevice();
}

// Returns a name that NDL and model files accept.
std::string Identifier(std::string name)
{
    for (char& c : name)
        if (!IsNameChar(c) && c != '.')
            c = '_';
    return name.empty() || IsDigit(name.front()) ? "n" + name : name;
}

} // namespace

LoweredNetwork::LoweredNetwork(Context& context, const std::vector<NodePtr>& roots, Naming naming)
{
    m_nodes = Below(roots);
    FindTargets();
    m_nodes = OrderCutAtDelays(m_nodes);
    if (naming == Naming::ForFiles)
        for (const NodePtr& node : m_nodes)
            if (node->operation && IsUserFunction(*node->operation))
                Fail(ErrorKind::Model, "node ", node->Describe(),
                     " is a user function, which no file can hold; expected a graph of the engine's operations");
    DetermineShapes(context);
    m_device = DeviceOfNodes(context, m_nodes);
    m_network = std::make_unique<ComputationNetwork>(ElementType(m_nodes), m_device, GraphRegistry());
    m_writer = std::make_unique<NetworkWriter>(*m_network);
    for (const NodePtr& node : m_nodes)
        if (node->role == Node::Role::Input && node->value.axis == c_defaultAxis)
            m_hasDefaultAxis = true;
    for (const NodePtr& node : m_nodes)
        node->IsLeaf() ? LowerLeaf(*node) : LowerOperation(*node);
    ConnectDelays();
    NameNodes(naming);
    m_network->Validate();
    for (const NodePtr& node : m_nodes)
        if (const auto found = m_types.find(node.get()); found != m_types.end())
            node->value = found->second;
}

// ---- loops and open shapes ----

void LoweredNetwork::FindTargets()
{
    for (const NodePtr& node : m_nodes)
    {
        if (node->role == Node::Role::Placeholder)
            Fail(ErrorKind::Model, "the placeholder '", node->Name(),
                 "' stands for no node yet; replace it with replace_placeholders");
        if (!IsDelayNode(*node))
            continue;
        const std::string& name = node->operation->TargetName();
        if (name.empty())
        {
            m_targets[node.get()] = Resolved(node->inputs.front());
            continue;
        }
        m_hasNamedLoops = true;
        std::vector<std::string> names;
        for (const NodePtr& other : m_nodes)
        {
            if (other->GivenName() == name)
            {
                if (m_targets.contains(node.get()))
                    Fail(ErrorKind::Model, node->TypeName(), " '", node->Name(), "' reads '", name,
                         "', but two nodes have this name; expected one");
                m_targets[node.get()] = other;
            }
            if (!other->GivenName().empty())
                names.push_back(other->GivenName());
        }
        if (!m_targets.contains(node.get()))
            Fail(ErrorKind::Model, node->TypeName(), " '", node->Name(), "' reads '", name,
                 "', but no node below the roots has this name", DidYouMean(name, names));
    }
}

const ValueType& LoweredNetwork::TypeOf(const Node& node) const
{
    const auto found = m_types.find(&node);
    return found != m_types.end() ? found->second : node.value;
}

std::vector<OperandType> LoweredNetwork::OperandsOf(const Node& node) const
{
    std::vector<OperandType> operands;
    if (const auto target = m_targets.find(&node); target != m_targets.end())
        operands.push_back({target->second.get(), &TypeOf(*target->second)});
    else
        for (const NodePtr& input : node.inputs)
        {
            const NodePtr resolved = Resolved(input);
            operands.push_back({resolved.get(), &TypeOf(*resolved)});
        }
    return operands;
}

void LoweredNetwork::DetermineShapes(Context& context)
{
    std::vector<const Node*> open;
    for (const NodePtr& node : m_nodes)
        if (!node->value.shape)
        {
            m_types[node.get()] = {};
            open.push_back(node.get());
        }
    // Guesses go around the loops until all shapes are known.
    for (bool hasChanged = !open.empty(); hasChanged;)
    {
        hasChanged = false;
        for (const Node* node : open)
        {
            ValueType& type = m_types[node];
            if (type.shape)
                continue;
            const std::vector<OperandType> operands = OperandsOf(*node);
            const bool isKnown =
                std::all_of(operands.begin(), operands.end(),
                            [](const OperandType& operand) { return operand.value->shape.has_value(); });
            if (IsDelayNode(*node))
            {
                if (isKnown)
                    type = *operands.front().value;
            }
            else if (isKnown)
                type = CheckOperation(context, *node, operands);
            else if (std::optional<Shape> shape = node->operation->GuessShape(operands))
            {
                for (const OperandType& operand : operands)
                    if (type.axis.empty() && operand.value->shape)
                        type = {std::nullopt, operand.value->axis, operand.value->layout};
                type.shape = std::move(shape);
            }
            hasChanged = hasChanged || type.shape.has_value();
        }
    }
    // Now all operands have types, so that all operations can be checked.
    for (const Node* node : open)
    {
        const std::vector<OperandType> operands = OperandsOf(*node);
        if (!m_types[node].shape)
            Fail(ErrorKind::Model, "nothing determines the shape of ", node->TypeName(), " '", node->Name(),
                 "' in a loop; expected an operation with an input of known shape in the loop");
        const ValueType checked = CheckOperation(context, *node, operands);
        if (*checked.shape != *m_types[node].shape || checked.axis != m_types[node].axis)
            Fail(ErrorKind::Model, node->TypeName(), " '", node->Name(), "' in a loop is ", ToText(*checked.shape),
                 checked.axis.empty() ? "" : " x " + checked.axis, " and ", ToText(*m_types[node].shape),
                 m_types[node].axis.empty() ? "" : " x " + m_types[node].axis,
                 " at the same time; expected shapes and axes that agree around the loop");
    }
}

void CloseLoops(Context& context, const NodePtr& node)
{
    std::unordered_set<std::string> names;
    const std::vector<NodePtr> nodes = Below({node});
    for (const NodePtr& each : nodes)
        names.insert(each->GivenName());
    for (const NodePtr& each : nodes)
        if (each->role == Node::Role::Placeholder || (IsDelayNode(*each) && !each->operation->TargetName().empty() &&
                                                      !names.contains(each->operation->TargetName())))
            return;
    LoweredNetwork(context, {node}); // publishes the shapes
}

// ---- nodes ----

std::string LoweredNetwork::EngineAxis(const std::string& axis)
{
    if (axis == c_defaultAxis || (axis == c_batchAxis && !m_hasDefaultAxis))
        return "";
    ComputationNodePtr& node = m_axes[axis];
    if (node == nullptr)
    {
        // Nodes keep their names.
        std::string name = axis;
        const auto isTaken = [&](const NodePtr& each) { return EqualsIgnoreCase(each->Name(), name); };
        while (m_network->Find(name) || std::any_of(m_nodes.begin(), m_nodes.end(), isTaken))
            name += "_axis";
        node = m_network->Add("DynamicAxis", name);
    }
    return node->Name();
}

void LoweredNetwork::LowerLeaf(const Node& leaf)
{
    const TensorShape shape = EngineShape(*leaf.value.shape);
    if (leaf.role == Node::Role::Input)
    {
        auto input = m_network->Add<InputValueNode>(leaf.isSparse ? "SparseInputValue" : "InputValue", "", {},
                                                    Parameters({{"dynamicAxis", EngineAxis(leaf.value.axis)}}));
        input->SetSampleShape(shape);
        m_lowered[&leaf] = std::move(input);
        return;
    }
    const ParameterData& data = *leaf.parameter;
    if (data.Storage() == nullptr)
        Fail(ErrorKind::Model, "the shape ", ToText(data.GetShape()), " of parameter '", leaf.Name(),
             "' has unknown dimensions, and no operation uses it that determines them");
    auto parameter = m_network->Add<LearnableParameterNode>("LearnableParameter", "");
    if (data.Type() == m_network->GetDataType() && data.GetDevice() == m_device)
        parameter->ShareStorage(data.Storage(), shape);
    else // a literal beside nodes of open type
    {
        parameter->SetParameterShape(shape);
        parameter->Values().FromHost(data.Storage()->ToHost());
    }
    parameter->SetLearningRateMultiplier(data.LearningRateMultiplier());
    m_lowered[&leaf] = std::move(parameter);
}

void LoweredNetwork::LowerOperation(const Node& node)
{
    NetworkWriter& writer = *m_writer;
    if (node.operation->IsDelay())
    {
        m_lowered[&node] = node.operation->Lower(writer, {});
        return;
    }
    const std::vector<OperandType> types = OperandsOf(node);
    std::vector<LoweredOperand> operands;
    for (const OperandType& type : types)
        operands.push_back({m_lowered.at(type.node), type.GetShape(), !type.value->axis.empty(), type.node->isSparse});
    AlignBatchAxes(writer, types, operands);
    const ComputationNodePtr last = m_lowered[&node] = node.operation->Lower(writer, operands);
    for (ComputationNodePtr& added : writer.TakeAdded())
        if (added != last)
            m_intermediate.emplace_back(std::move(added), &node);
}

void LoweredNetwork::ConnectDelays()
{
    for (const auto& [delay, target] : m_targets)
        m_network->SetInputs(m_lowered.at(delay), {m_lowered.at(target.get())});
}

void LoweredNetwork::NameNodes(Naming naming)
{
    std::unordered_map<std::string, size_t> counts; // of unnamed nodes of a type
    for (const NodePtr& node : m_nodes)
    {
        std::string wanted = node->Name();
        if (naming == Naming::ForFiles)
            wanted = node->GivenName().empty() ? node->TypeName() + std::to_string(++counts[node->TypeName()])
                                               : Identifier(wanted);
        std::string name = wanted;
        for (size_t number = 2; m_network->Find(name) != nullptr; number++)
            name = Concat(wanted, "_", number);
        if (!node->GivenName().empty() && name != node->GivenName())
            m_changedNames.push_back(node->GivenName() + " -> " + name);
        m_network->Rename(m_lowered.at(node.get()), name);
    }
    if (naming == Naming::ForFiles)
        return;
    for (const auto& [engineNode, node] : m_intermediate)
    {
        const std::string wanted = Concat(node->Name(), ".", engineNode->TypeName());
        std::string name = wanted;
        for (size_t number = 2; m_network->Find(name) != nullptr; number++)
            name = Concat(wanted, "_", number);
        m_network->Rename(engineNode, name);
    }
}

} // namespace cntk::Api
