// Making and checking operations.
#include "Api/Operation.h"

#include "Api/Lowering.h"
#include "Api/UserFunction.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <utility>

namespace cntk::Api
{

// ---- writing nodes ----

NodeParameters Parameters(std::initializer_list<std::pair<const char*, std::string>> values)
{
    NodeParameters parameters;
    for (const auto& [name, value] : values)
        parameters.Set(name, value);
    return parameters;
}

ComputationNodePtr NetworkWriter::Reshape(const ComputationNodePtr& x, const Shape& shape)
{
    std::vector<std::string> dims;
    const TensorShape engineShape = EngineShape(shape);
    for (const size_t dimension : engineShape.Dims())
        dims.push_back(std::to_string(dimension));
    return Add("Reshape", {x}, Parameters({{"dims", Join(dims, ":")}}));
}

ComputationNodePtr NetworkWriter::Number(double number)
{
    auto node = m_network.Add<LearnableParameterNode>("LearnableParameter", "");
    node->SetParameterShape(TensorShape{1});
    node->InitFixed(number);
    node->SetLearningRateMultiplier(0);
    return node;
}

ComputationNodePtr NetworkWriter::Cached(std::string key, const std::function<ComputationNodePtr()>& make)
{
    if (const auto found = m_cache.find(key); found != m_cache.end())
        return found->second;
    return m_cache[std::move(key)] = make();
}

ComputationNodePtr NetworkWriter::Zeros(const ComputationNodePtr& x)
{
    return Cached(Concat("zeros of ", x->Name()),
                  [&]
                  {
                      // 0 times the sum would be NaN for data with NaN or infinity; max(-|sum|, 0) is 0 for all data.
                      const ComputationNodePtr sum = Reshape(Add("ReduceElements", {x}), {});
                      return Add("RectifiedLinear", {Add("Negate", {Add("Abs", {sum})})});
                  });
}

ComputationNodePtr NetworkWriter::Where(const ComputationNodePtr& condition)
{
    return Cached(Concat("where ", condition->Name()), [&] { return Add("Where", {condition}); });
}

ComputationNodePtr NetworkWriter::Mark(const ComputationNodePtr& x, End end)
{
    const char* const type = end == End::First ? "PastValue" : "FutureValue";
    return Cached(Concat(type, " mark of ", x->Name()),
                  [&] {
                      return Add(type, {Zeros(x)}, Parameters({{"defaultHiddenActivity", "1"}}));
                  });
}

// ---- defaults ----

std::optional<Shape> Operation::InferShape(std::span<const OperandType>) const
{
    return std::nullopt;
}

std::optional<Shape> Operation::GuessShape(std::span<const OperandType>) const
{
    return std::nullopt;
}

std::string Operation::NewAxis(const Node& node) const
{
    return ToLower(TypeName()) + std::to_string(node.uid);
}

const std::string& Operation::TargetName() const
{
    static const std::string c_none;
    return c_none;
}

std::string OperandType::Describe() const
{
    if (!value->shape)
        return node->Describe();
    const std::string shape = value->axis.empty() ? ToText(GetShape()) : ToText(GetShape()) + " x " + value->axis;
    return node->role == Node::Role::Constant && node->GivenName().empty() ? "a constant " + shape
                                                                           : Concat("'", node->Name(), "' ", shape);
}

// ---- checks ----

namespace
{

// A network of one operation and stand-ins for its operands.
class Scratch
{
public:
    Scratch(Context& context, const Node& node, std::span<const OperandType> types)
        : m_node(node), m_types(types), m_network(node.type, DeviceOf(context, types), GraphRegistry()),
          m_writer(m_network)
    {
        for (const OperandType& type : types)
            m_operands.push_back({StandInFor(type), type.GetShape(), !type.value->axis.empty(), type.node->isSparse});
        m_given = m_operands;
    }

    ComputationNodePtr Validate()
    {
        AlignBatchAxes(m_writer, m_types, m_operands);
        ComputationNodePtr result = m_node.operation->Lower(m_writer, m_operands);
        m_network.Rename(result, m_node.GivenName().empty() ? "(new)" : m_node.GivenName() + " (new)");
        m_network.Validate();
        return result;
    }
    // Returns the operand with the layout of the node; null if there is none.
    const ValueType* WithLayoutOf(const ComputationNode& node) const
    {
        for (size_t i = 0; i < m_operands.size(); i++)
            if (m_operands[i].node->GetMBLayout() == node.GetMBLayout())
                return m_types[i].value;
        return nullptr;
    }
    const ComputationNode& Given(size_t operand) const { return *m_given[operand].node; }

private:
    static std::shared_ptr<Device> DeviceOf(Context& context, std::span<const OperandType> types)
    {
        for (const OperandType& type : types)
            if (type.node->parameter)
                return type.node->parameter->GetDevice();
        return context.CurrentDevice();
    }

    std::string FreeName(const Node& node) const
    {
        std::string name = node.Name();
        while (m_network.Find(name))
            name += "_";
        return name;
    }

    ComputationNodePtr StandInFor(const OperandType& type)
    {
        for (size_t i = 0; i < m_operands.size(); i++)
            if (m_types[i].node == type.node)
                return m_operands[i].node;
        const Node& node = *type.node;
        const TensorShape shape = EngineShape(type.GetShape());
        if (node.parameter)
        {
            auto parameter = m_network.Add<LearnableParameterNode>("LearnableParameter", FreeName(node));
            if (node.parameter->Storage() && node.parameter->Type() == m_network.GetDataType() &&
                node.parameter->GetDevice().get() == &m_network.GetDevice())
                parameter->ShareStorage(node.parameter->Storage(), shape);
            else
                parameter->SetParameterShape(shape);
            parameter->SetLearningRateMultiplier(node.parameter->LearningRateMultiplier());
            return parameter;
        }
        const std::string axis = type.value->layout == c_defaultAxis ? "" : type.value->layout;
        const MBLayoutPtr layout = type.value->axis.empty() ? nullptr : m_network.Layout(axis);
        if (node.isSparse)
        {
            auto input = m_network.Add<InputValueNode>("SparseInputValue", FreeName(node), {},
                                                       Parameters({{"dynamicAxis", axis}}));
            input->SetSampleShape(shape);
            return input;
        }
        if (IsStatistic(node)) // its consumers check its type
        {
            auto data = m_network.Add<StandInNode>("StandIn", FreeName(node) + " data");
            data->Set(shape, m_network.Layout());
            return m_network.Add(node.TypeName(), FreeName(node), {data});
        }
        auto standIn = m_network.Add<StandInNode>("StandIn", FreeName(node));
        standIn->Set(shape, layout);
        return standIn;
    }

    bool IsStatistic(const Node& node) const
    {
        const NodeType* const type = node.operation ? m_network.Registry().Find(node.TypeName()) : nullptr;
        return type != nullptr && type->traits.kind == NodeKind::Statistic;
    }

    const Node& m_node;
    std::span<const OperandType> m_types;
    ComputationNetwork m_network;
    NetworkWriter m_writer;
    std::vector<LoweredOperand> m_operands;
    std::vector<LoweredOperand> m_given; // before their axes were aligned
};

// Different axes are incompatible (sheet 7.1).
void CheckAxes(const Node& node, std::span<const OperandType> operands)
{
    if (node.operation->TakesSeveralAxes())
        return;
    const OperandType* first = nullptr;
    for (const OperandType& operand : operands)
    {
        if (operand.value->axis.empty())
            continue;
        if (first == nullptr)
            first = &operand;
        else if (operand.value->axis != first->value->axis)
            Fail(ErrorKind::Model, node.TypeName(), " cannot combine ", first->Describe(), " and ", operand.Describe(),
                 ": their dynamic axes '", first->value->axis, "' and '", operand.value->axis,
                 "' differ; if both have the same sequences, use reconcile_dynamic_axis");
    }
}

bool HasOpenParameter(std::span<const OperandType> operands)
{
    return std::any_of(operands.begin(), operands.end(),
                       [](const OperandType& operand) { return HasUnknown(operand.GetShape()); });
}

// Determines the unknown dimensions of parameters by the engine's validation.
void CompleteParameters(Context& context, const Node& node, std::span<const OperandType> operands)
{
    Scratch scratch(context, node, operands);
    scratch.Validate();
    for (size_t i = 0; i < operands.size(); i++)
        if (HasUnknown(operands[i].GetShape()))
        {
            Node& leaf = *std::const_pointer_cast<Node>(operands[i].node->shared_from_this());
            const Shape shape = FromEngine(scratch.Given(i).SampleLayout());
            leaf.parameter->Complete(shape);
            leaf.value.shape = shape;
        }
}

} // namespace

void AlignBatchAxes(NetworkWriter& writer, std::span<const OperandType> types, std::span<LoweredOperand> operands)
{
    const auto isBatch = [](const OperandType& type) { return type.value->axis == c_batchAxis; };
    const auto first = std::find_if(types.begin(), types.end(), isBatch);
    if (first == types.end())
        return;
    const ComputationNodePtr like = operands[size_t(first - types.begin())].node;
    for (size_t i = 0; i < types.size(); i++)
        if (isBatch(types[i]) && types[i].value->layout != first->value->layout)
            operands[i].node = writer.Add("ReconcileDynamicAxis", {operands[i].node, like});
}

ValueType CheckOperation(Context& context, const Node& node, std::span<const OperandType> operands)
{
    CheckAxes(node, operands);
    if (HasOpenParameter(operands))
        CompleteParameters(context, node, operands);
    const std::optional<Shape> shape = node.operation->InferShape(operands);
    Scratch scratch(context, node, operands);
    const ComputationNodePtr result = scratch.Validate();
    ValueType value;
    value.shape = shape ? *shape : result->Type().traits.isCriterion ? Shape{} : FromEngine(result->SampleLayout());
    if (ElementsOf(*value.shape) != result->SampleElements())
        Fail(ErrorKind::Internal, node.TypeName(), " has the shape ", ToText(*value.shape), ", but the engine has [",
             result->SampleLayout().ToString(), "]");
    if (!result->HasMBLayout())
        return value;
    if (const ValueType* like = scratch.WithLayoutOf(*result))
    {
        value.axis = like->axis;
        value.layout = like->layout;
        return value;
    }
    value.axis = node.operation->NewAxis(node);
    value.layout = value.axis == c_batchAxis ? Concat(value.axis, node.uid) : value.axis;
    return value;
}

// ---- making nodes ----

namespace
{

// The element type of an operation: that of all inputs.
DataType CommonType(const Operation& operation, const std::vector<NodePtr>& inputs)
{
    const Node* first = nullptr;
    for (const NodePtr& input : inputs)
    {
        if (input->hasOpenType)
            continue;
        if (first == nullptr)
            first = input.get();
        else if (input->type != first->type)
        {
            const auto describe = [](const Node& node)
            { return Concat(node.Describe(), " of ", node.type == DataType::Float32 ? "float32" : "float64"); };
            throw TypeFault(Concat(operation.TypeName(), " cannot combine ", describe(*first), " and ",
                                   describe(*input), "; expected one element type in a network"));
        }
    }
    return first != nullptr ? first->type : inputs.empty() ? DataType::Float32 : inputs.front()->type;
}

} // namespace

NodePtr MakeOperation(Context& context, OperationPtr operation, std::vector<NodePtr> inputs, std::string name)
{
    for (NodePtr& input : inputs)
        input = Resolved(input);
    const DataType type = CommonType(*operation, inputs);
    auto node = std::make_shared<Node>(context, Node::Role::Operation, type, std::move(name));
    node->hasOpenType =
        std::all_of(inputs.begin(), inputs.end(), [](const NodePtr& input) { return input->hasOpenType; });
    node->operation = std::move(operation);
    node->inputs = std::move(inputs);
    std::vector<OperandType> operands;
    for (const NodePtr& input : node->inputs)
        operands.push_back({input.get(), &input->value});
    const bool isOpen = !node->operation->TargetName().empty() ||
                        std::any_of(operands.begin(), operands.end(),
                                    [](const OperandType& operand)
                                    { return !operand.value->shape || operand.node->role == Node::Role::Placeholder; });
    if (isOpen)
        CloseLoops(context, node);
    else
        node->value = CheckOperation(context, *node, operands);
    return node;
}

} // namespace cntk::Api
