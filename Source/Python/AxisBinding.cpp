// Dynamic axes.
#include "Python/State.h"

#include <functional>
#include <pybind11/operators.h>

namespace cntk::Python
{

void BindAxis(py::module_& module)
{
    py::class_<DynamicAxis>(module, "DynamicAxis", "A dynamic axis. Axes with equal names are the same axis.")
        .def(py::init([](std::string name) { return DynamicAxis{std::move(name)}; }), py::arg("name"))
        .def_readonly("name", &DynamicAxis::name)
        .def("__eq__", [](const DynamicAxis& axis, const py::object& other)
             { return py::isinstance<DynamicAxis>(other) && other.cast<const DynamicAxis&>().name == axis.name; })
        .def("__hash__", [](const DynamicAxis& axis) { return std::hash<std::string>()(axis.name); })
        .def("__repr__", [](const DynamicAxis& axis) { return "DynamicAxis('" + axis.name + "')"; });
}

} // namespace cntk::Python
