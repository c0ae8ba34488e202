// Conversions of types, shapes, axes, numbers and operands.
#include "Api/Operation.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "Python/State.h"

#include <algorithm>

namespace cntk::Python
{

DataType TypeFrom(const State& state, const py::handle& dtype)
{
    if (dtype.is_none())
        return state.defaultType;
    const bool isFloat = dtype.is(py::handle(reinterpret_cast<PyObject*>(&PyFloat_Type))) ||
                         (py::isinstance<py::str>(dtype) && dtype.cast<std::string>() == "float");
    if (isFloat)
        FailType("the dtype 'float' is ambiguous: numpy means float64 and CNTK float32; expected numpy.float32 or "
                 "numpy.float64");
    py::dtype given;
    try
    {
        given = py::dtype::from_args(py::reinterpret_borrow<py::object>(dtype));
    }
    catch (py::error_already_set&)
    {
        FailType(Concat("the dtype ", py::repr(dtype).cast<std::string>(),
                        " is no element type; expected numpy.float32 or numpy.float64"));
    }
    if (given.is(py::dtype::of<float>()) || given.equal(py::dtype::of<float>()))
        return DataType::Float32;
    if (given.equal(py::dtype::of<double>()))
        return DataType::Float64;
    FailType(
        Concat("the dtype ", py::str(given).cast<std::string>(), " is not supported; expected float32 or float64"));
}

py::dtype DtypeOf(DataType type)
{
    return type == DataType::Float32 ? py::dtype::of<float>() : py::dtype::of<double>();
}

long IndexFrom(const py::handle& value)
{
    const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    const long number = index ? PyLong_AsLong(index.ptr()) : -1;
    if (PyErr_Occurred() != nullptr)
        throw py::error_already_set();
    return number;
}

Api::Shape ShapeFrom(const py::handle& shape)
{
    const auto dimension = [&](const py::handle& value)
    {
        if (py::isinstance<py::bool_>(value) || !PyIndex_Check(value.ptr()))
            FailType(Concat("the shape is ", py::repr(shape).cast<std::string>(),
                            "; expected an integer or a tuple of integers"));
        const long number = IndexFrom(value);
        if (number < 0)
            Fail(ErrorKind::Model, "the shape ", py::repr(shape).cast<std::string>(),
                 " has a negative dimension; expected dimensions of 1 or more");
        return size_t(number);
    };
    Api::Shape result;
    if (PyIndex_Check(shape.ptr()) && !py::isinstance<py::array>(shape))
        return {dimension(shape)};
    if (!py::isinstance<py::tuple>(shape) && !py::isinstance<py::list>(shape) && !py::isinstance<py::array>(shape))
        dimension(shape);                           // fails
    for (const py::handle& value : py::iter(shape)) // a 0-d array fails
        result.push_back(dimension(value));
    return result;
}

py::tuple TupleOf(const Api::Shape& shape)
{
    py::tuple tuple(shape.size());
    for (size_t axis = 0; axis < shape.size(); axis++)
        tuple[axis] = shape[axis];
    return tuple;
}

std::string AxisFrom(const py::handle& axis, const std::string& none)
{
    if (axis.is_none())
        return none;
    if (py::isinstance<DynamicAxis>(axis))
        return axis.cast<const DynamicAxis&>().name;
    if (!py::isinstance<py::str>(axis))
        FailType(Concat("the dynamic axis is ", py::repr(axis).cast<std::string>(),
                        "; expected a DynamicAxis, its name or None"));
    const std::string name = axis.cast<std::string>();
    return name.empty() ? none : name;
}

py::array RealArray(const py::handle& value, const std::string& what)
{
    py::array array = py::array::ensure(value);
    if (!array)
    {
        PyErr_Clear();
        FailType(Concat(what, " is ", py::repr(value).cast<std::string>().substr(0, 200),
                        "; expected numbers that form a rectangular array"));
    }
    const char kind = array.dtype().kind();
    if (kind != 'f' && kind != 'i' && kind != 'u' && kind != 'b')
        FailType(Concat(what, " is ", py::repr(value).cast<std::string>().substr(0, 200), " of the type ",
                        py::str(array.dtype()).cast<std::string>(), "; expected real numbers"));
    return array;
}

std::vector<double> ValuesOf(const py::array& array)
{
    const auto values = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(array);
    return {values.data(), values.data() + values.size()};
}

Api::NodePtr OperandFrom(State& state, const py::handle& value, const Api::Node* beside)
{
    if (py::isinstance<Api::Node>(value))
        return Api::Resolved(value.cast<Api::NodePtr>());
    const py::array array = RealArray(value, "an operand");
    const Api::Shape shape(array.shape(), array.shape() + array.ndim());
    if (Api::HasUnknown(shape))
        Fail(ErrorKind::Model, "an operand is an array of the shape ", Api::ToText(shape), ", which has no elements");
    const DataType type = beside == nullptr     ? state.defaultType
                          : beside->hasOpenType ? DataType::Float64
                                                : beside->type;
    auto data = std::make_shared<Api::ParameterData>(state.context.CurrentDevice(), type, shape, ValuesOf(array));
    Api::NodePtr node = Api::MakeConstant(state.context, std::move(data), "");
    node->hasOpenType = beside != nullptr && beside->hasOpenType;
    return node;
}

std::vector<Api::NodePtr> OperandsFrom(State& state, const py::handle& values)
{
    const Api::Node* beside = nullptr;
    for (const py::handle& value : values)
        if ((beside == nullptr || beside->hasOpenType) && py::isinstance<Api::Node>(value))
            beside = value.cast<const Api::Node*>();
    std::vector<Api::NodePtr> operands;
    for (const py::handle& value : values)
        operands.push_back(OperandFrom(state, value, beside));
    return operands;
}

} // namespace cntk::Python
