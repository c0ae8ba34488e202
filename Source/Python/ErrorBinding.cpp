// Errors of the engine as the exceptions of cntk.errors.
#include "Common/Error.h"
#include "Common/SourceText.h"
#include "Math/Device.h"
#include "Python/State.h"

#include <exception>
#include <new>

namespace cntk::Python
{

namespace
{

py::object WhereOf(const Error& error)
{
    const SourcePos& where = error.Where();
    if (!where)
        return py::none();
    return py::make_tuple(where.text->Name(), where.text->LineOf(where.offset), where.text->ColumnOf(where.offset));
}

void Raise(const Error& error)
{
    const py::module_ errors = py::module_::import("cntk.errors");
    const bool isOutOfMemory = dynamic_cast<const OutOfMemory*>(&error) != nullptr;
    const py::object type = errors.attr("class_of")(NameOf(error.Kind()), isOutOfMemory);
    py::list notes;
    for (const std::string& note : error.Notes())
        notes.append(note);
    const py::object exception = type(error.Report(), notes, WhereOf(error));
    PyErr_SetObject(type.ptr(), exception.ptr());
}

} // namespace

void FailType(const std::string& message)
{
    throw py::type_error(message);
}

void BindErrors(py::module_&)
{
    py::register_exception_translator(
        [](std::exception_ptr pointer)
        {
            try
            {
                if (pointer)
                    std::rethrow_exception(pointer);
            }
            catch (const Api::TypeFault& fault)
            {
                PyErr_SetString(PyExc_TypeError, fault.Message().c_str());
            }
            catch (const Error& error)
            {
                Raise(error);
            }
            catch (const py::builtin_exception&)
            {
                throw; // pybind11 translates its own
            }
            catch (const py::error_already_set&)
            {
                throw;
            }
            catch (const std::bad_alloc&)
            {
                throw;
            }
            catch (const std::exception& fault)
            {
                Raise(Error(ErrorKind::Internal, fault.what()));
            }
        });
}

} // namespace cntk::Python
