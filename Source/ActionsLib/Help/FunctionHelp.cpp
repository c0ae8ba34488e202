// Help on functions of network descriptions and on node types.
#include "ActionsLib/Help/HelpEntry.h"
#include "ActionsLib/Ndl/NdlFunctions.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "Exchange/OnnxExport.h"
#include "Math/Device.h"

#include <algorithm>

namespace cntk
{

namespace
{

using Kind = HelpFact::Kind;
constexpr size_t c_shapesInHelp = 4;

// True if the function with the name of the type makes nodes of another type.
bool IsNotCallable(const NodeType& type)
{
    return FindNdlFunction(NodeRegistry::Standard(), type.name).type != &type;
}

// Returns the signatures that error messages show. An alias may take its arguments in another order (RowSlice, Slice).
std::vector<std::string> Signatures(const NodeType& type)
{
    const NodeRegistry& registry = NodeRegistry::Standard();
    if (IsNotCallable(type))
        return {};
    std::vector<std::string> signatures;
    const std::string own = NdlSignature(registry, type.name, NamedParameters::Shown);
    for (const std::string_view call : Split(own, '\n'))
        signatures.emplace_back(call);
    const NdlFunction::Form form = FindNdlFunction(registry, type.name).form;
    for (const std::string& alias : type.aliases)
        if (FindNdlFunction(registry, alias).form != form)
            signatures.push_back(NdlSignature(registry, alias, NamedParameters::Shown));
    return signatures;
}

// Functions with other names that make nodes of the type.
std::vector<std::string> OtherMakers(const NodeType& type)
{
    std::vector<std::string> makers;
    for (const NdlFormRecord& form : NdlForms(NodeRegistry::Standard()))
        if (form.type == type.name &&
            std::find(type.aliases.begin(), type.aliases.end(), form.name) == type.aliases.end())
            makers.push_back(form.name);
    return makers;
}

std::string WhyNotCallable(const NodeType& type)
{
    const NdlFunction function = FindNdlFunction(NodeRegistry::Standard(), type.name);
    return Concat("Stands in models only (of version 1.1 and later): no function of networks makes it; ", type.name,
                  "(...) in a network makes a node of type ", function.type->name, ".");
}

// Builds the node of a gradient test and returns its shapes: "A [2 x 3], B [3 x *] sparse -> [2 x *]". Empty if the
// node needs a file or a loop.
std::string ShapesOf(const NodeType& type, const GradientSample& sample, const std::shared_ptr<Device>& device)
{
    try
    {
        ComputationNetwork network(DataType::Float32, device);
        std::vector<ComputationNodePtr> inputs;
        std::vector<std::string> words;
        for (size_t i = 0; i < sample.inputs.size(); i++)
        {
            const GradientSample::Input& input = sample.inputs[i];
            const std::string name = "input" + std::to_string(i);
            inputs.push_back(input.inLayout ? network.AddInput(name, input.shape, input.sparse)
                                            : network.AddParameter(name, input.shape));
            if (input.inLayout)
                continue;
            auto& parameter = static_cast<LearnableParameterNode&>(*inputs.back());
            if (!input.checkGradient)
                parameter.SetLearningRateMultiplier(0);
            if (!input.values.empty())
                parameter.Values().FromHost(input.values);
        }
        NodeParameters parameters;
        for (const auto& [name, value] : sample.parameters)
            parameters.Set(name, value);
        const ComputationNodePtr node = network.Add(type.name, "node", inputs, parameters);
        network.Validate();
        for (size_t i = 0; i < inputs.size(); i++)
            words.push_back(InputName(type, i) + " " + network.DescribeShape(*inputs[i]) +
                            (sample.inputs[i].sparse ? " sparse" : ""));
        return Join(words, ", ") + " -> " + network.DescribeShape(*node);
    }
    catch (const Error&)
    {
        return "";
    }
}

std::vector<std::string> ShapesOf(const NodeType& type, bool sparseOnly, size_t most)
{
    std::vector<std::string> shapes;
    const std::shared_ptr<Device> device = MakeCpuDevice({.threads = 1});
    for (const GradientSample& sample : type.samples)
    {
        const bool isSparse = std::any_of(sample.inputs.begin(), sample.inputs.end(),
                                          [](const GradientSample::Input& input) { return input.sparse; });
        if ((sparseOnly && !isSparse) || sample.inputs.empty() || shapes.size() >= most)
            continue;
        std::string text = ShapesOf(type, sample, device);
        if (!text.empty() && std::find(shapes.begin(), shapes.end(), text) == shapes.end())
            shapes.push_back(std::move(text));
    }
    return shapes;
}

// Names the inputs whose gradients the tests check.
std::string GradientInputs(const NodeType& type)
{
    if (type.traits.isLeaf)
        return "";
    std::vector<std::string> names;
    for (size_t input = 0; input < std::max<size_t>(type.inputNames.size(), 1); input++)
        if (type.traits.differentiable &&
            std::any_of(type.samples.begin(), type.samples.end(),
                        [&](const GradientSample& sample)
                        { return input < sample.inputs.size() && sample.inputs[input].checkGradient; }))
            names.push_back(InputName(type, input));
    return names.empty() ? "none" : Join(names, ", ");
}

std::vector<const NodeType*> SortedTypes()
{
    std::vector<const NodeType*> types;
    for (const NodeType& type : NodeRegistry::Standard().Types())
        types.push_back(&type);
    std::sort(types.begin(), types.end(),
              [](const NodeType* a, const NodeType* b) { return LessIgnoreCase(a->name, b->name); });
    return types;
}

std::vector<HelpRow> RowsOf(const std::vector<NodeParameterInfo>& parameters)
{
    std::vector<HelpRow> rows;
    for (const NodeParameterInfo& parameter : parameters)
        rows.push_back({.name = parameter.name,
                        .doc = parameter.doc,
                        .aliases = parameter.aliases,
                        .defaultText = parameter.defaultText,
                        .isRequired = parameter.required && parameter.defaultText.empty()});
    return rows;
}

void AddFact(HelpEntry& entry, std::string label, std::vector<std::string> values, Kind kind = Kind::Text)
{
    if (!values.empty())
        entry.facts.push_back({std::move(label), std::move(values), kind});
}

std::vector<std::string> SectionOf(const std::string& bookSection)
{
    return bookSection.empty() ? std::vector<std::string>{} : std::vector<std::string>{"section " + bookSection};
}

void AddShapes(HelpEntry& entry, const NodeType& type)
{
    const std::vector<std::string> shapes = ShapesOf(type, false, c_shapesInHelp);
    const std::string sparse = SparseInputNames(type);
    AddFact(entry, "Shapes, * for the minibatch", shapes, Kind::Example);
    if (!shapes.empty())
        AddFact(entry, "May be sparse", {sparse.empty() ? "no input" : sparse}, Kind::Terminal);
    if (!type.traits.isLeaf)
        AddFact(entry, "Get a gradient", {GradientInputs(type)}, Kind::Terminal);
}

void AddTags(HelpEntry& entry)
{
    AddFact(entry, "To join a group", {"tag=feature", "label", "criterion", "eval or output"}, Kind::Terminal);
}

// A function may have the name of a type that it does not make.
std::string HeadingOf(const NodeType& type)
{
    return IsNotCallable(type) ? type.name + " in models" : type.name;
}

HelpEntry EntryOf(const NodeType& type)
{
    HelpEntry entry{.heading = HeadingOf(type),
                    .calls = Signatures(type),
                    .doc = type.doc,
                    .facts = {},
                    .rows = RowsOf(type.parameters),
                    .rowsTitle = "Arguments"};
    if (IsNotCallable(type))
        entry.doc += " " + WhyNotCallable(type);
    AddFact(entry, "Other names", type.aliases);
    AddFact(entry, "Functions that make it, too", OtherMakers(type), Kind::Link);
    AddFact(entry, "Book", SectionOf(type.bookSection));
    AddShapes(entry, type);
    if (!IsNotCallable(type))
        AddTags(entry);
    return entry;
}

// A function that is more than another name of a node type.
HelpEntry EntryOf(const NdlFormRecord& form)
{
    const NodeRegistry& registry = NodeRegistry::Standard();
    const NodeType& type = *registry.Find(form.type);
    HelpEntry entry{.heading = form.name,
                    .calls = {NdlSignature(registry, form.name, NamedParameters::Shown)},
                    .doc = form.takesTypesArguments ? type.doc + " " + form.doc : form.doc,
                    .facts = {},
                    .rows = RowsOf(NdlNamedParameters(FindNdlFunction(registry, form.name))),
                    .rowsTitle = "Arguments"};
    AddFact(entry, "Other names", form.aliases);
    AddFact(entry, "Makes a node of type", {form.type}, Kind::Link);
    AddFact(entry, "Book", SectionOf(form.bookSection));
    if (form.takesTypesArguments)
        AddShapes(entry, type);
    AddTags(entry);
    return entry;
}

bool IsNameOf(const NdlFormRecord& form, std::string_view topic)
{
    return EqualsIgnoreCase(form.name, topic) ||
           std::any_of(form.aliases.begin(), form.aliases.end(),
                       [&](const std::string& alias) { return EqualsIgnoreCase(alias, topic); });
}

std::string SparseSupportTable()
{
    std::vector<std::vector<std::string>> rows;
    for (const NodeType* type : SortedTypes())
        if (const std::string inputs = SparseInputNames(*type, ", "); !inputs.empty())
        {
            std::vector<std::string> shapes;
            for (const std::string& each : ShapesOf(*type, true, c_shapesInHelp))
                shapes.push_back(Code(each));
            rows.push_back({type->name, Cell(inputs), Join(shapes, "<br>")});
        }
    return "## Sparse operands\n\n"
           "These inputs may be a SparseInput. The shapes are examples (`*` is the minibatch), each from a case of the "
           "tests. Every\nother combination is refused when the network is validated; the message names the node, the "
           "input and what to do.\n\n" +
           PageTable({"node", "sparse", "shapes"}, rows);
}

} // namespace

std::string NodesPage()
{
    std::vector<std::vector<std::string>> table;
    for (const NodeType* type : SortedTypes())
    {
        std::vector<std::string> inputs;
        for (size_t i = 0; i < type->inputs.min || (i < type->inputNames.size() && i < type->inputs.max); i++)
            inputs.push_back(i < type->inputs.min ? InputName(*type, i) : "[" + InputName(*type, i) + "]");
        if (type->inputs.max == Arity::c_any)
            inputs.push_back("...");
        table.push_back({LinkTo(type->name, HeadingOf(*type)), Join(type->aliases, ", "), Cell(Join(inputs, ", ")),
                         SparseInputNames(*type, ", "), GradientInputs(*type), OnnxFormOf(type->name)});
    }
    const std::vector<NdlFormRecord> forms = NdlForms(NodeRegistry::Standard());
    std::vector<std::string> names;
    for (const NdlFormRecord& form : forms)
        names.push_back(LinkTo(form.name, form.name));
    std::string text =
        BeginPage("Node types") +
        "This page lists the functions of the network description language. Arguments in `[...]` may be left out, "
        "arguments in\n`{...}` are given by name. Every function also takes `tag=feature`, `label`, `criterion`, "
        "`eval` or "
        "`output`.\n`cntk --help Times` prints the same on the terminal. The last "
        "column\nnames the operators that [action=export](Exporting.md) writes for a node of the type.\n\n" +
        PageTable({"type", "other names", "inputs", "may be sparse", "get a gradient", "ONNX"}, table) +
        "More functions, which make nodes of these types: " + Join(names, ", ") + ".\n\n" + SparseSupportTable();
    for (const NdlFormRecord& form : forms)
        text += ForPage(EntryOf(form));
    for (const NodeType* type : SortedTypes())
        text += ForPage(EntryOf(*type));
    return text;
}

std::string FunctionHelp(std::string_view name)
{
    std::string text;
    for (const NdlFormRecord& form : NdlForms(NodeRegistry::Standard()))
        if (IsNameOf(form, name))
            text += ForTerminal(EntryOf(form));
    const NodeType* const type = NodeRegistry::Standard().Find(name);
    if (type != nullptr && (text.empty() || IsNotCallable(*type)))
    {
        HelpEntry entry = EntryOf(*type);
        if (entry.calls.empty())
            entry.calls = {type->name + ", a node type"};
        text += (text.empty() ? "" : "\n") + ForTerminal(entry);
    }
    return text;
}

std::vector<std::string> FunctionNames()
{
    std::vector<std::string> names;
    for (const NodeType* type : SortedTypes())
        if (!IsNotCallable(*type))
            names.push_back(type->name);
    for (const NdlFormRecord& form : NdlForms(NodeRegistry::Standard()))
        names.push_back(form.name);
    std::sort(names.begin(), names.end(), LessIgnoreCase);
    return names;
}

std::string ParameterHelp(std::string_view name)
{
    std::string text;
    for (const std::string& function : FunctionNames())
        for (const NodeParameterInfo& parameter :
             NdlNamedParameters(FindNdlFunction(NodeRegistry::Standard(), function)))
            if (EqualsIgnoreCase(parameter.name, name) ||
                std::any_of(parameter.aliases.begin(), parameter.aliases.end(),
                            [&](const std::string& alias) { return EqualsIgnoreCase(alias, name); }))
                text += TerminalRow("function " + function, DocOf(RowsOf({parameter}).front()));
    return text;
}

} // namespace cntk
