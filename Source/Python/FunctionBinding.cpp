// Function: a node of the graph, its properties and its operators.
#include "Api/Lowering.h"
#include "Api/Operations.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "Python/State.h"

#include <pybind11/stl.h>

namespace cntk::Python
{

namespace
{

using Api::Node;
using Api::NodePtr;

NodePtr MakeBinary(const StatePtr& state, Api::OperationPtr operation, const py::object& a, const py::object& b)
{
    return Api::MakeOperation(state->context, std::move(operation), OperandsFrom(*state, py::make_tuple(a, b)), "");
}

// Defines __name__ and its reflected form.
template <class Make>
void DefineOperator(py::class_<Node, NodePtr>& type, const std::string& name, const StatePtr& state, Make make)
{
    type.def(("__" + name + "__").c_str(),
             [state, make](const py::object& a, const py::object& b) { return MakeBinary(state, make(), a, b); });
    type.def(("__r" + name + "__").c_str(),
             [state, make](const py::object& a, const py::object& b) { return MakeBinary(state, make(), b, a); });
}

void BindOperators(py::class_<Node, NodePtr>& type, const StatePtr& state)
{
    DefineOperator(type, "add", state, [] { return Api::Binary("Plus"); });
    DefineOperator(type, "sub", state, [] { return Api::Binary("Minus"); });
    DefineOperator(type, "mul", state, [] { return Api::Binary("ElementTimes"); });
    DefineOperator(type, "truediv", state, [] { return Api::Divide(); });
    DefineOperator(type, "matmul", state, [] { return Api::Times(1); });
    type.def("__neg__",
             [state](const NodePtr& x) { return Api::MakeOperation(state->context, Api::Unary("Negate"), {x}, ""); });
    type.def("__abs__",
             [state](const NodePtr& x) { return Api::MakeOperation(state->context, Api::Unary("Abs"), {x}, ""); });
    type.def("__pos__", [](const NodePtr& x) { return x; });
    type.attr("__array_ufunc__") = py::none(); // so that `array * node` comes here
    for (const char* name :
         {"__bool__", "__len__", "__iter__", "__float__", "__int__", "__index__", "__array__", "__contains__"})
        type.def(name,
                 [name](const Node& node, const py::args&, const py::kwargs&) -> py::object
                 {
                     FailType(Concat("node ", node.Describe(), " (", node.TypeName(),
                                     ") is symbolic: it has no value for ", name,
                                     "; compute one with eval, or use its shape"));
                 });
}

// Nodes of a role below a node, depth-first, each once.
py::tuple NodesBelow(const NodePtr& node, Node::Role role)
{
    py::list nodes;
    for (const NodePtr& each : Api::Below({node}))
        if (each->role == role)
            nodes.append(each);
    return py::tuple(nodes);
}

py::object AxisOf(const Node& node)
{
    if (node.value.axis.empty())
        return py::none();
    return py::cast(DynamicAxis{node.value.axis});
}

void BindProperties(py::class_<Node, NodePtr>& type, const StatePtr& state)
{
    type.def_property(
        "name", [](const Node& node) { return node.Name(); },
        [state](const NodePtr& node, const py::object& name)
        {
            if (!py::isinstance<py::str>(name))
                FailType(Concat("the name of node ", node->Describe(), " is ", py::repr(name).cast<std::string>(),
                                "; expected a text"));
            node->SetName(state->context, name.cast<std::string>());
            if (!node->value.shape)
                Api::CloseLoops(state->context, node);
        },
        "The name: given, else a number. Loops by name refer to it.");
    type.def_property_readonly("given_name", &Node::GivenName, "The given name; '' if there is none.");
    type.def_property(
        "tag",
        [](const Node& node) { return node.Tag().empty() ? py::object(py::none()) : py::object(py::str(node.Tag())); },
        [](Node& node, const py::object& tag)
        {
            if (!tag.is_none() && (!py::isinstance<py::str>(tag) || py::len(tag) == 0))
                Fail(ErrorKind::Model, "the tag of node '", node.Name(), "' is ", py::repr(tag).cast<std::string>(),
                     "; expected criterion, output, eval, feature, label or None");
            node.SetTag(tag.is_none() ? "" : tag.cast<std::string>());
        },
        "None, 'criterion', 'output', 'eval', 'feature' or 'label'.");
    type.def_property_readonly(
        "shape",
        [](const Node& node)
        { return node.value.shape ? py::object(TupleOf(*node.value.shape)) : py::object(py::none()); },
        "The shape of one sample; None while a loop leaves it open.");
    type.def_property_readonly("dtype", [](const Node& node) { return DtypeOf(node.type); });
    type.def_property_readonly("dynamic_axis", AxisOf, "The DynamicAxis; None for one value for all samples.");
    type.def_property_readonly("op_name", &Node::TypeName);
    type.def_property_readonly("is_sparse", [](const Node& node) { return node.isSparse; });
    type.def_property_readonly("attributes",
                               [](const Node& node)
                               {
                                   py::dict attributes;
                                   if (node.operation)
                                       for (const auto& [name, value] : node.operation->Attributes())
                                           attributes[py::str(name)] = value;
                                   return attributes;
                               });
    type.def_property_readonly("inputs",
                               [](const Node& node)
                               {
                                   py::list inputs;
                                   for (const NodePtr& input : node.inputs)
                                       inputs.append(Api::Resolved(input));
                                   return py::tuple(inputs);
                               });
    const std::pair<const char*, Node::Role> roles[] = {{"parameters", Node::Role::Parameter},
                                                        {"constants", Node::Role::Constant},
                                                        {"arguments", Node::Role::Input},
                                                        {"placeholders", Node::Role::Placeholder}};
    for (const auto& [name, role] : roles)
        type.def_property_readonly(name, [role = role](const NodePtr& node) { return NodesBelow(node, role); });
    type.def_property_readonly("output", [](const NodePtr& node) { return node; });
    type.def_property_readonly("uid", [](const Node& node) { return std::to_string(node.uid); });
    type.def_property_readonly(
        "_role",
        [](const Node& node)
        {
            static constexpr const char* c_names[] = {"input", "parameter", "constant", "operation", "placeholder"};
            return c_names[size_t(node.role)];
        });
}

Api::ParameterData& DataOf(const Node& node)
{
    if (!node.parameter)
        FailType(Concat("node ", node.Describe(), " (", node.TypeName(),
                        ") has no value of its own; parameters and constants have one"));
    if (!node.parameter->Storage())
        Fail(ErrorKind::Model, "parameter ", node.Describe(),
             " has no value yet: the first operation on it determines its shape");
    return *node.parameter;
}

py::array ValueOf(const StatePtr& state, const Node& node)
{
    const Api::ParameterData& data = DataOf(node);
    py::array array(DtypeOf(node.type), data.GetShape());
    void* const target = array.mutable_data();
    const py::gil_scoped_release released;
    const auto lock = state->context.Lock(*data.GetDevice());
    data.Storage()->CopyToHost(target);
    return array;
}

void SetValue(const StatePtr& state, const Node& node, const py::object& value)
{
    Api::ParameterData& data = DataOf(node);
    const std::string what = "the value of '" + node.Name() + "'";
    const py::array array = RealArray(value, what);
    const Api::Shape shape(array.shape(), array.shape() + array.ndim());
    if (!shape.empty() && shape != data.GetShape())
        Fail(ErrorKind::Model, what, " is an array of the shape ", Api::ToText(shape), "; expected ",
             Api::ToText(data.GetShape()), " or a number");
    std::vector<double> values = ValuesOf(array);
    const py::gil_scoped_release released;
    const auto lock = state->context.Lock(*data.GetDevice());
    if (shape.empty())
        data.Fill(values.front());
    else
        data.SetValues(values);
}

// A view of the values that sees updates. Keeps storage and device.
py::array ViewOf(const StatePtr& state, const Node& node)
{
    const Api::ParameterData& data = DataOf(node);
    py::array array;
    if (data.GetDevice()->IsHostMemory())
    {
        using Owner = std::pair<std::shared_ptr<Device>, std::shared_ptr<Matrix>>;
        const auto owner = std::make_unique<Owner>(data.GetDevice(), data.Storage());
        const py::capsule base(new Owner(*owner), [](void* pointer) { delete static_cast<Owner*>(pointer); });
        array = py::array(DtypeOf(node.type), data.GetShape(), data.Storage()->View().data, base);
    }
    else
        array = ValueOf(state, node);
    array.attr("flags").attr("writeable") = false;
    return array;
}

} // namespace

void BindFunction(py::module_& module, const StatePtr& state)
{
    py::class_<Node, NodePtr> type(module, "Function",
                                   "A node of a graph. Graphs compute nothing until they are asked.");
    BindProperties(type, state);
    BindOperators(type, state);
    type.def("__repr__",
             [](const Node& node)
             {
                 const bool isConstant = node.role == Node::Role::Constant && node.GivenName().empty();
                 return Concat(node.TypeName(), isConstant ? " " : " '", isConstant ? "" : node.Name(),
                               isConstant ? "" : "' ", node.DescribeShape());
             });
    module.def("nodes_below", [](const NodePtr& node) { return Api::Below({node}); });
    type.def("__getitem__",
             [module](const py::object& node, const py::object& index) -> py::object
             {
                 const Node& self = node.cast<const Node&>();
                 if (self.TypeName() == Api::c_combine)
                     return node.attr("inputs")[index];
                 return module.attr("getitem")(node, index);
             });
    type.def_property(
        "value", [state](const Node& node) { return ValueOf(state, node); },
        [state](const Node& node, const py::object& value) { SetValue(state, node, value); },
        "The value of a parameter or constant: a copy. Can be set with an array of the shape or a number.");
    type.def(
        "asarray", [state](const Node& node) { return ViewOf(state, node); },
        "A read-only view of the value of a parameter or constant, without a copy on the CPU. Sees updates.");
    type.def_property(
        "learning_rate_multiplier", [](const Node& node) { return DataOf(node).LearningRateMultiplier(); },
        [](const Node& node, const py::object& value)
        {
            if (PyNumber_Check(value.ptr()) == 0 || py::isinstance<Node>(value))
                FailType(Concat("the learning rate multiplier of ", node.Describe(), " is ",
                                py::repr(value).cast<std::string>(), "; expected a number"));
            const float multiplier = py::float_(value).cast<float>();
            if (!(multiplier >= 0))
                Fail(ErrorKind::Model, "the learning rate multiplier of ", node.Describe(), " is ", double(multiplier),
                     "; expected 0 or more");
            DataOf(node).SetLearningRateMultiplier(multiplier);
        });
}

} // namespace cntk::Python
