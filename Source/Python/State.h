// State and conversions that all bindings share: the context of the graphs, and Python objects as objects of
// Source/Api.
#pragma once

#include "Api/Context.h"
#include "Api/Data.h"
#include "Api/Node.h"
#include "Api/Session.h"

#include <memory>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

namespace cntk::Api
{
class DataSource;
}

namespace cntk::Python
{

namespace py = pybind11;

struct State
{
    Api::Context context;
    DataType defaultType = DataType::Float32;
};
using StatePtr = std::shared_ptr<State>;

// A dynamic axis: nothing but its name.
struct DynamicAxis
{
    std::string name;
};

// Raises a TypeError with this text.
[[noreturn]] void FailType(const std::string& message);

// ---- Conversions.cpp ----

// None: the default. Fails with TypeError for anything but float32 and float64.
DataType TypeFrom(const State& state, const py::handle& dtype);
py::dtype DtypeOf(DataType type);
// Fails with TypeError for anything but an integer.
long IndexFrom(const py::handle& value);
// An integer, or a tuple, list or array of integers.
Api::Shape ShapeFrom(const py::handle& shape);
py::tuple TupleOf(const Api::Shape& shape);
// None, a DynamicAxis or its name. none: the axis for None.
std::string AxisFrom(const py::handle& axis, const std::string& none);
// Real numbers of any form as an array. what: for the TypeError of anything else.
py::array RealArray(const py::handle& value, const std::string& what);
std::vector<double> ValuesOf(const py::array& array);

// Returns the node, or a constant of the type of the node beside it (null: the default type).
Api::NodePtr OperandFrom(State& state, const py::handle& value, const Api::Node* beside);
std::vector<Api::NodePtr> OperandsFrom(State& state, const py::handle& values); // each beside the first node of them

// ---- DataConversion.cpp ----

// The form of an InputData's blocks.
enum class BlockType
{
    OfInput, // the input's element type, in C order
    AnyFloat // also the other floating-point type and other orders: a feeder converts them
};
// Converts data for an input in the forms of sheet 8.2. Keeps the arrays it refers to.
std::shared_ptr<const Api::InputData> DataFrom(const py::handle& value, const std::string& name,
                                               const Api::Shape& shape, const std::string& axis, DataType type,
                                               BlockType blockType = BlockType::OfInput);
// Converts the arguments of a call: None, a dict of inputs or names, or the data of the only input.
Api::Session::Arguments ArgumentsFrom(const Api::Session& session, const py::object& given);

// The data of one stream of a reader's minibatch.
struct MinibatchData
{
    std::shared_ptr<const Api::InputData> data;
    Api::Shape shape; // of a sample
};

// Makes arrays for a value. blocks: their memory.
py::object ArraysFor(const Api::ValueForm& form, std::vector<void*>& blocks);
// The same as a list with an array [steps, *shape] for each sequence; without axis one of [1, *shape].
py::object SequenceArraysFor(const Api::ValueForm& form, std::vector<void*>& blocks);

// Sends the lines that a reader has logged to logging.getLogger('cntk').
void ForwardLog(Api::DataSource& source);

// ---- one file a class ----

void BindErrors(py::module_& module);
void BindAxis(py::module_& module);
void BindFunction(py::module_& module, const StatePtr& state);
void BindLeaves(py::module_& module, const StatePtr& state);
void BindOperations(py::module_& module, const StatePtr& state);
void BindEvaluation(py::module_& module, const StatePtr& state);
void BindModel(py::module_& module, const StatePtr& state);
void BindReader(py::module_& module, const StatePtr& state);
void BindTrainer(py::module_& module, const StatePtr& state);
void BindUserFunctions(py::module_& module, const StatePtr& state);
void BindDevices(py::module_& module, const StatePtr& state);
void BindContexts(py::module_& module, const StatePtr& state);

} // namespace cntk::Python
