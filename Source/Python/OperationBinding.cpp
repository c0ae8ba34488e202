// Operations. Operands are nodes, or anything that numpy makes an array of.
#include "Api/Operations.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "Python/State.h"

#include <pybind11/stl.h>
#include <utility>

namespace cntk::Python
{

namespace
{

using Api::NodePtr;
using Api::OperationPtr;
using Axes = std::optional<std::vector<long>>;

NodePtr Make(State& state, OperationPtr operation, const py::handle& operands, const std::string& name)
{
    return Api::MakeOperation(state.context, std::move(operation), OperandsFrom(state, operands), name);
}

// Delays whose operand may be the name of a node that is written later.
NodePtr MakeDelay(State& state, const std::string& type, const py::object& x, double initialState, long timeStep,
                  const std::string& name)
{
    if (timeStep < 1)
        Fail(ErrorKind::Model, "the time_step of ", type, " is ", timeStep, "; expected 1 or more");
    if (!py::isinstance<py::str>(x))
        return Make(state, Api::Delay(type, initialState, size_t(timeStep), ""), py::make_tuple(x), name);
    const std::string target = x.cast<std::string>();
    if (target.empty())
        Fail(ErrorKind::Model, type, " reads a node of an empty name; expected the name of a node");
    NodePtr node =
        Api::MakeOperation(state.context, Api::Delay(type, initialState, size_t(timeStep), target), {}, name);
    return node;
}

// An index of x[...]: integers keep their axis, steps are errors.
std::vector<Api::AxisRange> RangesFrom(const py::object& index, const Api::Node& node)
{
    const py::tuple parts = py::isinstance<py::tuple>(index) ? py::tuple(index) : py::make_tuple(index);
    std::vector<Api::AxisRange> ranges;
    long axis = 0;
    for (const py::handle& part : parts)
    {
        if (py::isinstance<py::slice>(part))
        {
            const auto bound = [&](const char* name) -> std::optional<long>
            {
                const py::object value = part.attr(name);
                return value.is_none() ? std::nullopt : std::optional(IndexFrom(value));
            };
            if (bound("step").value_or(1) != 1)
                Fail(ErrorKind::Model, "the index of ", node.Describe(), " has a step; expected begin:end");
            if (bound("start") || bound("stop"))
                ranges.push_back({axis, bound("start"), bound("stop")});
        }
        else if (PyIndex_Check(part.ptr()) && !py::isinstance<py::bool_>(part))
        {
            const long at = IndexFrom(part);
            ranges.push_back({axis, at, at == -1 ? std::nullopt : std::optional(at + 1)});
        }
        else
            FailType(Concat("the index of ", node.Describe(), " is ", py::repr(index).cast<std::string>(),
                            "; expected integers and slices"));
        axis++;
    }
    if (node.value.shape && size_t(axis) > node.value.shape->size())
        Fail(ErrorKind::Model, node.Describe(), " has ", Counted(node.value.shape->size(), "axis"),
             ", but the index has ", axis);
    return ranges;
}

void BindElementwise(py::module_& module, const StatePtr& state)
{
    module.def("unary", [state](const std::string& type, const py::object& x, const std::string& name)
               { return Make(*state, Api::Unary(type), py::make_tuple(x), name); });
    module.def("binary",
               [state](const std::string& type, const py::object& a, const py::object& b, const std::string& name)
               { return Make(*state, Api::Binary(type), py::make_tuple(a, b), name); });
    module.def("divide", [state](const py::object& a, const py::object& b, const std::string& name)
               { return Make(*state, Api::Divide(), py::make_tuple(a, b), name); });
    module.def("square", [state](const py::object& x, const std::string& name)
               { return Make(*state, Api::Square(), py::make_tuple(x), name); });
    module.def("dropout", [state](const py::object& x, double rate, const std::string& name)
               { return Make(*state, Api::Dropout(rate), py::make_tuple(x), name); });
    module.def("engine_operation",
               [state](const std::string& type, const py::tuple& inputs,
                       const std::vector<std::pair<std::string, std::string>>& options, const std::string& name)
               { return Make(*state, Api::EngineOperation(type, options), inputs, name); });
}

void BindShapes(py::module_& module, const StatePtr& state)
{
    module.def("times",
               [state](const py::object& a, const py::object& b, long outputRank, const std::string& name)
               {
                   if (outputRank < 0)
                       Fail(ErrorKind::Model, "the output_rank of times is ", outputRank, "; expected 0 or more");
                   return Make(*state, Api::Times(size_t(outputRank)), py::make_tuple(a, b), name);
               });
    module.def("along_axis", [state](const std::string& type, const py::object& x, long axis, const std::string& name)
               { return Make(*state, Api::AlongAxis(type, axis), py::make_tuple(x), name); });
    module.def("reduce",
               [state](const py::object& x, bool isMean, const Axes& axes, bool keepDimensions, const std::string& name)
               {
                   const Api::Reduction reduction = isMean ? Api::Reduction::Mean : Api::Reduction::Sum;
                   return Make(*state, Api::Reduce(reduction, axes, keepDimensions), py::make_tuple(x), name);
               });
    module.def("reshape", [state](const py::object& x, const std::vector<long>& shape, const std::string& name)
               { return Make(*state, Api::Reshape(shape), py::make_tuple(x), name); });
    module.def("transpose", [state](const py::object& x, const Axes& permutation, const std::string& name)
               { return Make(*state, Api::Transpose(permutation), py::make_tuple(x), name); });
    module.def("swapaxes", [state](const py::object& x, long axis1, long axis2, const std::string& name)
               { return Make(*state, Api::SwapAxes(axis1, axis2), py::make_tuple(x), name); });
    module.def("slice",
               [state](const py::object& x, long axis, std::optional<long> begin, std::optional<long> end,
                       const std::string& name) {
                   return Make(*state, Api::Slice({{axis, begin, end}}), py::make_tuple(x), name);
               });
    module.def("combine", [state](const py::tuple& nodes, const std::string& name)
               { return Make(*state, Api::Combine(), nodes, name); });
    module.def("getitem", [state](const NodePtr& x, const py::object& index)
               { return Make(*state, Api::Slice(RangesFrom(index, *x)), py::make_tuple(x), ""); });
    module.def("splice", [state](const py::tuple& inputs, long axis, const std::string& name)
               { return Make(*state, Api::Splice(axis), inputs, name); });
}

void BindWindows(py::module_& module, const StatePtr& state)
{
    using Sizes = std::vector<size_t>;
    using Flags = std::vector<bool>;
    module.def("convolution", [state](const py::object& kernels, const py::object& x, const Sizes& strides,
                                      const Flags& padding, const std::string& name)
               { return Make(*state, Api::Convolution(strides, padding), py::make_tuple(kernels, x), name); });
    module.def("pooling", [state](const py::object& x, const std::string& kind, const Sizes& window,
                                  const Sizes& strides, const Flags& padding, const std::string& name)
               { return Make(*state, Api::Pooling(kind, window, strides, padding), py::make_tuple(x), name); });
    module.def("cosine_distance", [state](const py::object& x, const py::object& y, const std::string& name)
               { return Make(*state, Api::CosineDistance(), py::make_tuple(x, y), name); });
}

void BindSequences(py::module_& module, const StatePtr& state)
{
    module.def("delay",
               [state](const std::string& type, const py::object& x, double initialState, long timeStep,
                       const std::string& name) { return MakeDelay(*state, type, x, initialState, timeStep, name); });
    module.def("reconcile", [state](const py::object& x, const py::object& like, const std::string& name)
               { return Make(*state, Api::Reconcile(), py::make_tuple(x, like), name); });
    module.def("sequence_operation",
               [state](const std::string& operation, const py::tuple& operands, const std::string& name)
               { return Make(*state, Api::SequenceOperation(operation), operands, name); });
}

} // namespace

void BindOperations(py::module_& module, const StatePtr& state)
{
    BindElementwise(module, state);
    BindShapes(module, state);
    BindSequences(module, state);
    BindWindows(module, state);
    module.def("cross_entropy_with_softmax",
               [state](const py::object& output, const py::object& target, const std::string& name)
               { return Make(*state, Api::CrossEntropyWithSoftmax(), py::make_tuple(output, target), name); });
    module.def("squared_error", [state](const py::object& output, const py::object& target, const std::string& name)
               { return Make(*state, Api::SquaredError(), py::make_tuple(output, target), name); });
    module.def("classification_error",
               [state](const py::object& output, const py::object& target, long topN, const std::string& name) {
                   return Make(*state, Api::ClassificationError(size_t(std::max(topN, 0L))),
                               py::make_tuple(output, target), name);
               });
}

} // namespace cntk::Python
