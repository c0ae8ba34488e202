// Leaves: inputs, parameters, constants, placeholders, random seeds.
#include "Api/Operation.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "Python/State.h"

#include <chrono>
#include <pybind11/stl.h>
#include <random>

namespace cntk::Python
{

namespace
{

using Api::NodePtr;

NodeParameters InitializationFrom(State& state, const std::map<std::string, std::string>& options)
{
    NodeParameters parameters;
    for (const auto& [name, value] : options)
        parameters.Set(name, value);
    if (!parameters.Has("randomSeed"))
        parameters.Set("randomSeed", std::to_string(state.context.NextSeed()));
    return parameters;
}

// The values of a parameter from an array, which may be broadcast to the shape.
std::shared_ptr<Api::ParameterData> DataOfArray(State& state, const py::handle& values, const py::object& shape,
                                                DataType type, const std::string& what)
{
    py::array array = RealArray(values, what);
    if (!shape.is_none())
    {
        const Api::Shape wanted = ShapeFrom(shape);
        try
        {
            array = py::module_::import("numpy").attr("broadcast_to")(array, TupleOf(wanted));
        }
        catch (py::error_already_set& error)
        {
            if (!error.matches(PyExc_ValueError))
                throw;
            Fail(ErrorKind::Model, what, " has the shape ",
                 Api::ToText(Api::Shape(array.shape(), array.shape() + array.ndim())), ", but the shape ",
                 Api::ToText(wanted), " is wanted; expected values of this shape, or that repeat to it");
        }
    }
    const Api::Shape found(array.shape(), array.shape() + array.ndim());
    if (Api::HasUnknown(found))
        Fail(ErrorKind::Model, what, " has the shape ", Api::ToText(found), ", which has no elements");
    return std::make_shared<Api::ParameterData>(state.context.CurrentDevice(), type, found, ValuesOf(array));
}

// Reads text, one row of the first axis a line.
std::pair<Api::Shape, std::vector<double>> ReadValues(const std::string& path)
{
    const TextMatrix text = ReadTextMatrix(path);
    std::vector<double> values(text.values.size());
    for (size_t row = 0; row < text.rows; row++)
        for (size_t column = 0; column < text.columns; column++)
            values[row * text.columns + column] = text.values[column * text.rows + row];
    return {{text.rows, text.columns}, std::move(values)};
}

} // namespace

void BindLeaves(py::module_& module, const StatePtr& state)
{
    module.def("input",
               [state](const py::object& shape, const py::object& axis, const std::string& name,
                       const py::object& dtype, bool isSparse, const std::string& noAxis)
               {
                   return Api::MakeInput(state->context, ShapeFrom(shape), AxisFrom(axis, noAxis),
                                         TypeFrom(*state, dtype), isSparse, name);
               });
    module.def("set_input_data", [](const NodePtr& node, const py::object& value)
               { node->data = DataFrom(value, node->Name(), *node->value.shape, node->value.axis, node->type); });
    module.def(
        "parameter_from_values",
        [state](const py::object& values, const py::object& shape, const py::object& dtype, const std::string& name)
        {
            return Api::MakeParameter(
                state->context, DataOfArray(*state, values, shape, TypeFrom(*state, dtype), "the initial value"), name);
        });
    module.def("parameter_from_initializer",
               [state](const py::object& shape, const std::map<std::string, std::string>& options,
                       const py::object& dtype, const std::string& name)
               {
                   auto data =
                       std::make_shared<Api::ParameterData>(state->context.CurrentDevice(), TypeFrom(*state, dtype),
                                                            ShapeFrom(shape), InitializationFrom(*state, options));
                   return Api::MakeParameter(state->context, std::move(data), name);
               });
    module.def(
        "parameter_from_file",
        [state](const py::object& shape, const std::string& path, const py::object& dtype, const std::string& name)
        {
            auto [found, values] = ReadValues(path);
            if (!shape.is_none())
            {
                Api::Shape wanted = ShapeFrom(shape);
                for (size_t axis = 0; axis < wanted.size(); axis++)
                    if (wanted[axis] == 0)
                        wanted[axis] = found[std::min<size_t>(axis, 1)];
                if (Api::ElementsOf(wanted) != values.size() || (wanted.size() > 1 && wanted[0] != found[0]))
                    Fail(ErrorKind::Data, "file '", path, "' holds ", Counted(found[0], "row"), " of ",
                         Counted(found[1], "number"), ", but the parameter's shape is ", Api::ToText(wanted),
                         "; expected one row of its first axis a line");
                found = wanted;
            }
            auto data = std::make_shared<Api::ParameterData>(state->context.CurrentDevice(), TypeFrom(*state, dtype),
                                                             found, values);
            return Api::MakeParameter(state->context, std::move(data), name);
        });
    module.def(
        "constant",
        [state](const py::object& value, const py::object& shape, const py::object& dtype, const std::string& name)
        {
            return Api::MakeConstant(state->context,
                                     DataOfArray(*state, value, shape, TypeFrom(*state, dtype), "the constant"), name);
        });
    module.def(
        "placeholder",
        [state](const py::object& shape, const py::object& axis, const std::string& name)
        {
            const std::optional<Api::Shape> known = shape.is_none() ? std::nullopt : std::optional(ShapeFrom(shape));
            return Api::MakePlaceholder(state->context, known, AxisFrom(axis, Api::c_noAxis), state->defaultType, name);
        });
    module.def("set_seed", [state](const std::optional<uint64_t>& seed)
               { state->context.SetSeed(seed ? *seed : uint64_t(std::random_device()()) + 1); });
    module.def("default_dtype", [state] { return DtypeOf(state->defaultType); });
    module.def("set_default_dtype", [state](const py::object& dtype) { state->defaultType = TypeFrom(*state, dtype); });
    module.def("new_uid", [state] { return state->context.NextUid(); });
}

} // namespace cntk::Python
