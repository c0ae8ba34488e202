// Operations that compute element by element, and node types with their own rules.
#include "Api/Operations.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/DropoutNode.h"

#include <algorithm>
#include <utility>

namespace cntk::Api
{

namespace
{

using Options = std::vector<std::pair<std::string, std::string>>;

// Types whose inputs may have different axes: they compare or change them.
bool ChangesAxes(const std::string& type)
{
    static const std::vector<std::string> c_types = {"ReconcileDynamicAxis", "PackedIndex", "GatherPacked",
                                                     "ScatterPacked", "Attention"};
    return std::find(c_types.begin(), c_types.end(), type) != c_types.end();
}

class PlainOperation final : public Operation
{
public:
    PlainOperation(const NodeType& type, Options options) : m_type(type), m_options(std::move(options))
    {
        for (const auto& [name, value] : m_options)
            m_parameters.Set(name, value);
    }

    std::string TypeName() const override { return m_type.name; }
    Options Attributes() const override { return m_options; }
    bool TakesSeveralAxes() const override { return ChangesAxes(m_type.name); }
    bool IsDelay() const override { return m_type.traits.isDelay; }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        return m_type.traits.isDelay ? std::optional(operands.front().GetShape()) : std::nullopt;
    }

    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        if (operands.empty() && m_type.traits.isDelay)
            return writer.AddUnconnected(m_type.name, m_parameters);
        std::vector<ComputationNodePtr> inputs;
        for (const LoweredOperand& operand : operands)
            inputs.push_back(operand.node);
        return writer.Add(m_type.name, std::move(inputs), m_parameters);
    }

private:
    const NodeType& m_type;
    Options m_options;
    NodeParameters m_parameters;
};

class UnaryOperation final : public Operation
{
public:
    explicit UnaryOperation(std::string type) : m_type(std::move(type)) {}

    std::string TypeName() const override { return m_type; }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        return operands.front().GetShape();
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        return writer.Add(m_type, {operands.front().node});
    }

private:
    std::string m_type;
};

Shape BroadcastShape(const std::string& type, std::span<const OperandType> operands)
{
    std::optional<Shape> shape = Broadcast(operands[0].GetShape(), operands[1].GetShape());
    if (!shape)
        Fail(ErrorKind::Model, type, " cannot combine ", operands[0].Describe(), " and ", operands[1].Describe(),
             ": the shapes ", ToText(operands[0].GetShape()), " and ", ToText(operands[1].GetShape()),
             " do not broadcast; expected equal dimensions, counted from the last axis, or 1 in one of them");
    return *shape;
}

// Two operands with numpy's broadcasting.
class BroadcastOperation : public Operation
{
public:
    explicit BroadcastOperation(std::string type) : m_type(std::move(type)) {}

    std::string TypeName() const override { return m_type; }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        for (const OperandType& operand : operands)
            if (HasUnknown(operand.GetShape()))
                return std::nullopt;
        return BroadcastShape(m_type, operands);
    }
    // Takes the known operand's shape. The other one may have a larger shape, which the check at the end finds.
    std::optional<Shape> GuessShape(std::span<const OperandType> operands) const override
    {
        std::optional<Shape> guess;
        for (const OperandType& operand : operands)
            if (operand.value->shape && !HasUnknown(operand.GetShape()) && !operand.value->axis.empty())
                guess = operand.GetShape();
        return guess;
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        return writer.Add(m_type, {operands[0].node, operands[1].node});
    }

private:
    std::string m_type;
};

class DivideOperation final : public BroadcastOperation
{
public:
    DivideOperation() : BroadcastOperation("ElementTimes") {}
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        return writer.Add("ElementTimes", {operands[0].node, writer.Add("Reciprocal", {operands[1].node})});
    }
};

class SquareOperation final : public Operation
{
public:
    std::string TypeName() const override { return "ElementTimes"; }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        return operands.front().GetShape();
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        return writer.Add("ElementTimes", {operands.front().node, operands.front().node});
    }
};

class DropoutOperation final : public Operation
{
public:
    explicit DropoutOperation(double rate) : m_rate(rate)
    {
        if (!(rate >= 0 && rate < 1))
            Fail(ErrorKind::Model, "the rate of dropout is ", rate, "; expected 0 or more and less than 1");
    }

    std::string TypeName() const override { return "Dropout"; }
    std::vector<std::pair<std::string, std::string>> Attributes() const override
    {
        return {{"dropout_rate", Concat(m_rate)}};
    }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        return operands.front().GetShape();
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        const ComputationNodePtr node = writer.Add("Dropout", {operands.front().node});
        std::static_pointer_cast<DropoutNode>(node)->SetRate(m_rate);
        return node;
    }

private:
    double m_rate;
};

class CombineOperation final : public Operation
{
public:
    std::string TypeName() const override { return c_combine; }
    bool TakesSeveralAxes() const override { return true; }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        return operands.front().GetShape();
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        return writer.Add("Pass", {operands.front().node});
    }
};

} // namespace

OperationPtr EngineOperation(const std::string& type, const Options& options)
{
    const NodeRegistry& registry = NodeRegistry::Standard();
    const NodeType* const found = registry.Find(type);
    if (found == nullptr)
    {
        const std::vector<std::string> names = registry.NearestNames(type);
        Fail(ErrorKind::Model, "unknown node type '", type, "'",
             names.empty() ? "" : "; did you mean '" + names.front() + "'?");
    }
    return std::make_shared<PlainOperation>(*found, options);
}

OperationPtr Unary(const std::string& type)
{
    return std::make_shared<UnaryOperation>(type);
}

OperationPtr Binary(const std::string& type)
{
    return std::make_shared<BroadcastOperation>(type);
}

OperationPtr Divide()
{
    return std::make_shared<DivideOperation>();
}

OperationPtr Combine()
{
    return std::make_shared<CombineOperation>();
}

OperationPtr Square()
{
    return std::make_shared<SquareOperation>();
}

OperationPtr Dropout(double rate)
{
    return std::make_shared<DropoutOperation>(rate);
}

} // namespace cntk::Api
