// A node of the symbolic graph: an immutable record of an operation and its inputs, or a leaf. Building a graph
// computes nothing. Sessions (Session.h) lower the graph below their roots to a ComputationNetwork.
#pragma once

#include "Api/Context.h"
#include "Api/Shapes.h"
#include "Common/Error.h"
#include "ComputationNetwork/NodeType.h"
#include "Math/DataType.h"
#include "Math/Matrix.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cntk::Api
{

class Operation;
class Session;
struct InputData;

class Node;
using NodePtr = std::shared_ptr<Node>;

// Names of dynamic axes. Nodes with equal names share the axis (sheet 7.1).
inline const std::string c_noAxis;            // one value for all samples
inline const std::string c_defaultAxis = "*"; // of inputs
inline const std::string c_batchAxis = "#";   // exactly one step a sequence

// Mistakes that are a TypeError in Python: mixed element types, no number.
class TypeFault final : public Error
{
public:
    explicit TypeFault(const std::string& message) : Error(ErrorKind::Usage, message) {}
};

// Values of a parameter or a constant. All sessions and all copies of the node share them.
class ParameterData
{
public:
    // initialization: the parameters of LearnableParameter (init, value, ..), used once the shape is known.
    ParameterData(std::shared_ptr<Device> device, DataType type, Shape shape, NodeParameters initialization);
    // values: in C order.
    ParameterData(std::shared_ptr<Device> device, DataType type, Shape shape, const std::vector<double>& values);

    // Takes a storage that others may share.
    ParameterData(std::shared_ptr<Device> device, DataType type, Shape shape, std::shared_ptr<Matrix> storage)
        : m_device(std::move(device)), m_type(type), m_shape(std::move(shape)), m_storage(std::move(storage))
    {
    }

    const std::shared_ptr<Device>& GetDevice() const { return m_device; }
    DataType Type() const { return m_type; }
    const Shape& GetShape() const { return m_shape; } // a dimension 0 is still to be inferred
    // Null until all dimensions are known.
    const std::shared_ptr<Matrix>& Storage() const { return m_storage; }
    const NodeParameters& Initialization() const { return m_initialization; }
    // Fixes the inferred dimensions and initializes the values.
    void Complete(const Shape& shape);
    // Replaces the values, of all elements in C order.
    void SetValues(const std::vector<double>& values);
    void Fill(double value);

    float LearningRateMultiplier() const { return m_multiplier; }
    void SetLearningRateMultiplier(float multiplier) { m_multiplier = multiplier; }

private:
    void RequireStorage() const;

    std::shared_ptr<Device> m_device; // outlives the storage
    DataType m_type;
    Shape m_shape;
    NodeParameters m_initialization;
    std::shared_ptr<Matrix> m_storage;
    float m_multiplier = 1;
};

// Shape and axis of a node's values.
struct ValueType
{
    std::optional<Shape> shape; // nothing while a loop leaves it open
    std::string axis;
    // Values of one axis `#` can have different layouts in the engine: equal keys mean the same layout.
    std::string layout;
};

class Node final : public std::enable_shared_from_this<Node>
{
public:
    enum class Role
    {
        Input,
        Parameter,
        Constant,
        Operation,
        Placeholder
    };

    Node(Context& context, Role role, DataType type, std::string name);
    ~Node(); // without recursion: graphs may be thousands of nodes deep
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    // ---- identity ----
    const uint64_t uid;
    const Role role;
    const DataType type;
    // True for delays by name and literals beside them: their element type is that of the other nodes of the network.
    bool hasOpenType = false;
    // Returns the user's name; for an unnamed node its number.
    std::string Name() const { return m_name.empty() ? std::to_string(uid) : m_name; }
    const std::string& GivenName() const { return m_name; }
    void SetName(Context& context, std::string name);
    // Empty, criterion, output, eval, feature or label. Fails (Model) for others.
    const std::string& Tag() const { return m_tag; }
    void SetTag(std::string tag);

    // ---- structure, fixed when the node is made ----
    std::shared_ptr<const Operation> operation; // of Role::Operation
    std::vector<NodePtr> inputs;
    std::shared_ptr<ParameterData> parameter; // of parameters and constants
    bool isSparse = false;                    // of an input
    std::shared_ptr<const InputData> data;    // of an input with data of its own
    // The node in place of a placeholder, once it is known.
    NodePtr replacement;

    // ---- values ----
    ValueType value;
    bool IsOpen() const { return !value.shape || HasUnknown(*value.shape); }
    bool IsLeaf() const { return role != Role::Operation && role != Role::Placeholder; }

    // "Times", "InputValue", "LearnableParameter"
    std::string TypeName() const;
    // "'features' (2, 3) x *"
    std::string Describe() const;
    // "(2, 3) x *"; "unknown" while a loop leaves it open.
    std::string DescribeShape() const;

    // Sessions with this node as their first root, the last used one first.
    std::vector<std::shared_ptr<Session>> sessions;

private:
    std::string m_name;
    std::string m_tag;
};

// ---- leaves ----

NodePtr MakeInput(Context& context, const Shape& shape, const std::string& axis, DataType type, bool isSparse,
                  std::string name);
NodePtr MakeParameter(Context& context, std::shared_ptr<ParameterData> data, std::string name);
NodePtr MakeConstant(Context& context, std::shared_ptr<ParameterData> data, std::string name);
NodePtr MakePlaceholder(Context& context, const std::optional<Shape>& shape, const std::string& axis, DataType type,
                        std::string name);

// ---- walks ----

// Returns the nodes below the roots in depth-first order, inputs left to right and before their consumers, each once.
// Delays by name have no inputs here.
std::vector<NodePtr> Below(const std::vector<NodePtr>& roots);
// Returns the node that stands for this one: a replaced placeholder's replacement.
NodePtr Resolved(const NodePtr& node);

} // namespace cntk::Api
