// An operation of the symbolic graph: its rules for shapes, and the engine's nodes that compute it. Operations.h lists
// the operations.
#pragma once

#include "Api/Node.h"
#include "ComputationNetwork/ComputationNetwork.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cntk::Api
{

// Adds nodes for operations to a network, under the engine's own names.
class NetworkWriter
{
public:
    explicit NetworkWriter(ComputationNetwork& network) : m_network(network) {}

    ComputationNodePtr Add(const std::string& type, std::vector<ComputationNodePtr> inputs,
                           const NodeParameters& parameters = {})
    {
        return m_added.emplace_back(m_network.Add(type, "", std::move(inputs), parameters));
    }
    // A node whose inputs follow later (delays of loops).
    ComputationNodePtr AddUnconnected(const std::string& type, const NodeParameters& parameters)
    {
        return m_network.AddUnconnected(type, "", parameters);
    }
    // Returns x with the elements in another shape.
    ComputationNodePtr Reshape(const ComputationNodePtr& x, const Shape& shape);
    // Returns a number that is not trained.
    ComputationNodePtr Number(double number);
    // Returns 0 for each step of x.
    ComputationNodePtr Zeros(const ComputationNodePtr& x);
    // Returns the positions of the steps whose condition is not 0, the same node for the same condition.
    ComputationNodePtr Where(const ComputationNodePtr& condition);
    enum class End
    {
        First,
        Last
    };
    // Returns 1 at one end of each sequence of x, else 0.
    ComputationNodePtr Mark(const ComputationNodePtr& x, End end);
    // Returns the nodes that Add has added since the call before.
    std::vector<ComputationNodePtr> TakeAdded() { return std::exchange(m_added, {}); }

private:
    ComputationNodePtr Cached(std::string key, const std::function<ComputationNodePtr()>& make);

    ComputationNetwork& m_network;
    std::map<std::string, ComputationNodePtr> m_cache;
    std::vector<ComputationNodePtr> m_added;
};

NodeParameters Parameters(std::initializer_list<std::pair<const char*, std::string>> values);

// An input of an operation, for checks and their messages.
struct OperandType
{
    const Node* node;
    const ValueType* value; // known before the node's own while a loop is being closed

    const Shape& GetShape() const { return *value->shape; }
    std::string Describe() const; // "'x' (2, 3) x *"
};

// An input of an operation that is being lowered.
struct LoweredOperand
{
    ComputationNodePtr node;
    Shape shape;
    bool hasAxis = false;
    bool isSparse = false;
};

class Operation
{
public:
    virtual ~Operation() = default;

    virtual std::string TypeName() const = 0; // the type of the engine's last node
    // The same where it depends on the operands of a node.
    virtual std::string TypeNameOf(const Node& /*node*/) const { return TypeName(); }
    virtual std::vector<std::pair<std::string, std::string>> Attributes() const { return {}; }

    // Returns the shape that follows from those of the operands by numpy's rules. All dimensions are known. Nothing:
    // the engine's validation determines it. Fails (Model) for shapes that do not fit.
    virtual std::optional<Shape> InferShape(std::span<const OperandType> operands) const;
    // The same for operands some of which are open (in a loop): the shape, if the known ones determine it.
    virtual std::optional<Shape> GuessShape(std::span<const OperandType> operands) const;
    // True if operands may have different axes.
    virtual bool TakesSeveralAxes() const { return false; }
    // The name of a new axis: that of a result whose layout is no operand's.
    virtual std::string NewAxis(const Node& node) const;

    // Adds the nodes to the network and returns the last one, a new node.
    virtual ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const = 0;

    // ---- delays ----
    virtual bool IsDelay() const { return false; }
    // The name of the node that a delay reads; empty: its operand.
    virtual const std::string& TargetName() const;
};

using OperationPtr = std::shared_ptr<const Operation>;

// Makes the node of an operation and checks it at once (sheet 4.2), unless an operand is open in a loop. If the name
// closes a loop by name, the whole loop is checked. Fails with TypeFault for mixed element types and with Model.
NodePtr MakeOperation(Context& context, OperationPtr operation, std::vector<NodePtr> inputs, std::string name);

// Determines shape and axis of an operation's node from those of its operands, which are known: numpy's rules first,
// then a validation by the engine of this node with stand-ins for its operands. Completes parameters with unknown
// dimensions.
ValueType CheckOperation(Context& context, const Node& node, std::span<const OperandType> operands);

// Gives values of axis `#` the layout of the first of them, by ReconcileDynamicAxis.
void AlignBatchAxes(NetworkWriter& writer, std::span<const OperandType> types, std::span<LoweredOperand> operands);

} // namespace cntk::Api
