// User functions: the engine calls back into Python, once a pass, with Python's lock.
#include "Api/UserFunction.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "Python/State.h"

#include <cstring>

namespace cntk::Python
{

namespace
{

using Api::HostColumns;

std::vector<size_t> DimensionsOf(const HostColumns& host)
{
    std::vector<size_t> dimensions;
    if (host.hasAxis)
        dimensions.push_back(host.columns);
    dimensions.insert(dimensions.end(), host.shape.begin(), host.shape.end());
    return dimensions;
}

py::array ArrayOf(const HostColumns& host)
{
    py::array array(DtypeOf(host.type), DimensionsOf(host));
    std::memcpy(array.mutable_data(), host.values.data(), host.values.size());
    return array;
}

class PythonBody final : public Api::UserFunctionBody
{
public:
    explicit PythonBody(py::object object) : m_object(std::move(object)) {}
    ~PythonBody() override
    {
        const py::gil_scoped_acquire acquired;
        m_object = py::object();
    }

    std::string Name() const override
    {
        const py::gil_scoped_acquire acquired;
        return py::str(py::type::of(m_object).attr("__name__"));
    }
    Api::Shape InferShape(const std::vector<Api::Shape>& shapes) override
    {
        const py::gil_scoped_acquire acquired;
        py::tuple given(shapes.size());
        for (size_t i = 0; i < shapes.size(); i++)
            given[i] = TupleOf(shapes[i]);
        return ShapeFrom(m_object.attr("infer_shape")(*given));
    }
    void Forward(const std::vector<HostColumns>& operands, HostColumns& result) override
    {
        const py::gil_scoped_acquire acquired;
        Take(m_object.attr("forward")(*ArraysOf(operands)), result, "forward");
    }
    void Backward(const HostColumns& gradient, const std::vector<HostColumns>& operands,
                  std::vector<HostColumns>& gradients) override
    {
        const py::gil_scoped_acquire acquired;
        py::object returned = m_object.attr("backward")(ArrayOf(gradient), *ArraysOf(operands));
        if (!py::isinstance<py::tuple>(returned) && !py::isinstance<py::list>(returned))
            returned = py::make_tuple(returned);
        if (py::len(returned) != gradients.size())
            Fail(ErrorKind::Model, "backward of user function ", Name(), " returned ", py::len(returned),
                 " gradients; expected one for each of its ", Counted(gradients.size(), "input"), ", None for none");
        size_t i = 0;
        for (const py::handle& each : returned)
        {
            if (!each.is_none())
                Take(py::reinterpret_borrow<py::object>(each), gradients[i], "backward");
            i++;
        }
    }

private:
    static py::tuple ArraysOf(const std::vector<HostColumns>& hosts)
    {
        py::tuple arrays(hosts.size());
        for (size_t i = 0; i < hosts.size(); i++)
            arrays[i] = ArrayOf(hosts[i]);
        return arrays;
    }

    void Take(const py::object& value, HostColumns& host, const char* method) const
    {
        const py::array given = RealArray(value, Concat("the result of ", method, " of user function ", Name()));
        const Api::Shape shape(given.shape(), given.shape() + given.ndim());
        const std::vector<size_t> wanted = DimensionsOf(host);
        if (shape != wanted)
            Fail(ErrorKind::Model, method, " of user function ", Name(), " returned an array of the shape ",
                 Api::ToText(shape), "; expected ", Api::ToText(wanted));
        const py::array array =
            host.type == DataType::Float32
                ? py::array(py::array_t<float, py::array::c_style | py::array::forcecast>::ensure(given))
                : py::array(py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(given));
        const auto* const data = static_cast<const std::byte*>(array.data());
        host.values.assign(data, data + size_t(array.nbytes()));
    }

    py::object m_object;
};

} // namespace

void BindUserFunctions(py::module_& module, const StatePtr& state)
{
    module.def("user_function",
               [state](const py::object& object, const py::tuple& inputs, const std::string& name)
               {
                   return Api::MakeOperation(state->context, Api::UserFunction(std::make_shared<PythonBody>(object)),
                                             OperandsFrom(*state, inputs), name);
               });
}

} // namespace cntk::Python
