// Whole graphs: files, copies, placeholders, the records of all node types.
#include "Api/Lowering.h"
#include "Api/Model.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "Python/State.h"

#include <pybind11/stl.h>

namespace cntk::Python
{

namespace
{

using Api::NodePtr;

py::dict RecordOf(const NodeType& type)
{
    static constexpr const char* c_kinds[] = {"Integer", "Real", "Boolean", "Text", "Shape"};
    py::list parameters;
    for (const NodeParameterInfo& info : type.parameters)
    {
        py::dict parameter;
        parameter["name"] = info.name;
        parameter["kind"] = c_kinds[size_t(info.kind)];
        parameter["default"] = info.defaultText;
        parameter["required"] = info.required;
        parameter["doc"] = info.doc;
        parameter["aliases"] = info.aliases;
        parameters.append(parameter);
    }
    py::dict record;
    record["name"] = type.name;
    record["aliases"] = type.aliases;
    record["doc"] = type.doc;
    record["inputs"] = type.inputNames;
    record["min_inputs"] = type.inputs.min;
    record["max_inputs"] =
        type.inputs.max == Arity::c_any ? py::object(py::none()) : py::object(py::int_(type.inputs.max));
    record["parameters"] = parameters;
    record["book"] = type.bookSection;
    record["is_leaf"] = type.traits.isLeaf;
    return record;
}

} // namespace

void BindModel(py::module_& module, const StatePtr& state)
{
    module.def("save", [state](const std::vector<NodePtr>& roots, const std::string& path)
               { return Api::Save(state->context, roots, path); });
    module.def("file_names",
               [state](const std::vector<NodePtr>& roots)
               {
                   // The names that a model file gives the nodes.
                   const Api::LoweredNetwork lowered(state->context, roots, Api::Naming::ForFiles);
                   py::dict names;
                   for (const NodePtr& node : lowered.Nodes())
                       names[py::cast(node)] = lowered.At(*node)->Name();
                   return names;
               });
    module.def("has_input_data", [](const NodePtr& node) { return node->data != nullptr; });
    module.def("load", [state](const std::string& path, const py::object& dtype)
               { return Api::Load(state->context, path, TypeFrom(*state, dtype)); });
    module.def("copy",
               [state](const NodePtr& root, const std::vector<std::pair<NodePtr, NodePtr>>& substitutions,
                       const std::string& method)
               {
                   std::unordered_map<const Api::Node*, NodePtr> map;
                   for (const auto& [from, to] : substitutions)
                       map[Api::Resolved(from).get()] = to;
                   return Api::Copy(state->context, root, map,
                                    method == "clone"    ? Api::CopyMethod::Clone
                                    : method == "freeze" ? Api::CopyMethod::Freeze
                                                         : Api::CopyMethod::Share);
               });
    module.def("replace_placeholders",
               [state](const NodePtr& root, const std::vector<std::pair<NodePtr, NodePtr>>& replacements)
               { Api::ReplacePlaceholders(state->context, root, replacements); });
    module.def("node_types",
               []
               {
                   py::list records;
                   for (const NodeType& type : NodeRegistry::Standard().Types())
                       records.append(RecordOf(type));
                   return records;
               });
}

} // namespace cntk::Python
