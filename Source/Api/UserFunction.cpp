// The node type of user functions: copies values to the host and back.
#include "Api/UserFunction.h"

#include "Api/Data.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "Math/Operations.h"

#include <cstring>
#include <utility>

namespace cntk::Api
{

namespace
{

class UserFunctionNode final : public ComputationNode
{
public:
    void Set(std::shared_ptr<UserFunctionBody> body, Shape shape, std::vector<Shape> operands)
    {
        m_body = std::move(body);
        m_shape = std::move(shape);
        m_operands = std::move(operands);
    }

    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        SetShape(EngineShape(m_shape), CommonLayoutOfInputs(inference));
    }
    void ForwardProp(const FrameRange&) override
    {
        m_values.clear();
        for (size_t i = 0; i < InputCount(); i++)
            m_values.push_back(Fetch(*Input(i), Input(i)->Value(), m_operands[i]));
        HostColumns result = FormOf(*this, m_shape);
        m_body->Forward(m_values, result);
        Store(*this, result, Value());
    }
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        // All gradients come from one call.
        if (m_gradients.empty())
        {
            for (size_t i = 0; i < InputCount(); i++)
                m_gradients.push_back(FormOf(*Input(i), m_operands[i]));
            m_body->Backward(Fetch(*this, Gradient(), m_shape), m_values, m_gradients);
        }
        if (m_gradients[input].values.empty())
            return;
        const MatrixView target = InputGradient(input, range);
        Matrix added(target.rows, target.columns, target.type, GetDevice());
        Store(*Input(input), m_gradients[input], added);
        Ops::Elementwise(ElementwiseOp::Copy, added.View(), target, 1, 1);
    }
    void BeginForwardProp() override { m_gradients.clear(); }

private:
    static size_t ColumnsOf(const ComputationNode& node)
    {
        return node.HasMBLayout() ? node.GetMBLayout()->ActualSamples() : 1;
    }
    HostColumns FormOf(const ComputationNode& node, const Shape& shape) const
    {
        return {shape, GetDataType(), node.HasMBLayout(), ColumnsOf(node), {}};
    }

    // Calls body(column of the minibatch, position among the columns without gaps).
    template <class Body>
    static void ForEachColumn(const ComputationNode& node, size_t columns, const Body& body)
    {
        if (!node.HasMBLayout())
        {
            for (size_t column = 0; column < columns; column++)
                body(column, column);
            return;
        }
        const SequencePlaces places(*node.GetMBLayout());
        size_t position = 0;
        for (const SequencePlaces::Place& place : places.places)
            for (size_t step = 0; step < place.length; step++)
                body(place.firstColumn + step * places.stride, position++);
    }

    HostColumns Fetch(const ComputationNode& node, const MatrixView& values, const Shape& shape) const
    {
        HostColumns host = FormOf(node, shape);
        Matrix copy(values.rows, values.columns, values.type, GetDevice());
        Ops::Copy(values, copy);
        const size_t bytes = values.rows * SizeOf(values.type);
        std::vector<std::byte> all(values.columns * bytes);
        copy.CopyToHost(all.data());
        host.values.resize(host.columns * ElementsOf(shape) * SizeOf(values.type));
        ForEachColumn(node, values.columns,
                      [&](size_t column, size_t position)
                      { std::memcpy(host.values.data() + position * bytes, all.data() + column * bytes, bytes); });
        return host;
    }

    void Store(const ComputationNode& node, const HostColumns& host, const MatrixView& target) const
    {
        const size_t bytes = target.rows * SizeOf(target.type);
        std::vector<std::byte> all(target.columns * bytes, std::byte(0));
        ForEachColumn(node, target.columns,
                      [&](size_t column, size_t position)
                      { std::memcpy(all.data() + column * bytes, host.values.data() + position * bytes, bytes); });
        Matrix copy(target.rows, target.columns, target.type, GetDevice());
        copy.CopyFromHost(all.data());
        Ops::Copy(copy, target);
    }

    std::shared_ptr<UserFunctionBody> m_body;
    Shape m_shape;
    std::vector<Shape> m_operands;
    std::vector<HostColumns> m_values, m_gradients;
};

class UserFunctionOperation final : public Operation
{
public:
    explicit UserFunctionOperation(std::shared_ptr<UserFunctionBody> body) : m_body(std::move(body)) {}

    std::string TypeName() const override { return "UserFunction"; }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        std::vector<Shape> shapes;
        for (const OperandType& operand : operands)
            shapes.push_back(operand.GetShape());
        return m_body->InferShape(shapes);
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        std::vector<ComputationNodePtr> inputs;
        std::vector<Shape> shapes;
        for (const LoweredOperand& operand : operands)
        {
            inputs.push_back(operand.node);
            shapes.push_back(operand.shape);
        }
        Shape shape = m_body->InferShape(shapes);
        ComputationNodePtr node = writer.Add("UserFunction", std::move(inputs));
        static_cast<UserFunctionNode&>(*node).Set(m_body, std::move(shape), std::move(shapes));
        return node;
    }

private:
    std::shared_ptr<UserFunctionBody> m_body;
};

// Stands for an operand in the validation of a single node.
NodeType StandInType()
{
    NodeType type;
    type.name = "StandIn";
    type.traits.isLeaf = true;
    return type;
}

NodeType UserFunctionType()
{
    NodeType type;
    type.name = "UserFunction";
    type.inputs = {1, Arity::c_any};
    type.inputNames = {"x"};
    type.traits.backpropReadsOutput = false;
    type.traits.needsWholeMinibatch = true;
    return type;
}

} // namespace

OperationPtr UserFunction(std::shared_ptr<UserFunctionBody> body)
{
    return std::make_shared<UserFunctionOperation>(std::move(body));
}

bool IsUserFunction(const Operation& operation)
{
    return dynamic_cast<const UserFunctionOperation*>(&operation) != nullptr;
}

const NodeRegistry& GraphRegistry()
{
    static const NodeRegistry c_registry = []
    {
        NodeRegistry registry = NodeRegistry::Standard();
        registry.Add<StandInNode>(StandInType());
        registry.Add<UserFunctionNode>(UserFunctionType());
        return registry;
    }();
    return c_registry;
}

} // namespace cntk::Api
