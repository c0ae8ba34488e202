// The records of node types and functions as help.
#include "ActionsLib/Help/FunctionHelp.h"

#include "ActionsLib/Help/HelpLayout.h"
#include "ActionsLib/Ndl/NdlFunctions.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "Math/Device.h"

#include <algorithm>

namespace cntk
{

namespace
{

constexpr size_t c_shapesInHelp = 4;

// Its name is a function that makes nodes of another type.
bool IsNotCallable(const NodeType& type)
{
    return FindNdlFunction(NodeRegistry::Standard(), type.name).type != &type;
}

// As errors of network descriptions show them. An alias may take its arguments in another order (RowSlice, Slice).
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

// What a case of the generic tests says about shapes: "A [2 x 3], B [3 x *] sparse -> [2 x *]". Empty where the node
// needs more than its shapes (a file, a loop).
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
            auto& parameter = dynamic_cast<LearnableParameterNode&>(*inputs.back());
            if (!input.checkGradient)
                parameter.SetLearningRateMultiplier(0);
            if (!input.values.empty()) // that the node may look at
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

std::string ParameterDoc(const NodeParameterInfo& parameter)
{
    std::string doc = parameter.doc;
    if (!parameter.defaultText.empty())
        doc += " (default " + parameter.defaultText + ")";
    else if (parameter.required)
        doc += " (must be given)";
    if (!parameter.aliases.empty())
        doc += "; also " + Join(parameter.aliases, ", ");
    return doc;
}

// The inputs whose gradients cases of the tests ask for.
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

constexpr const char* c_aboutTags = "With tag=feature, label, criterion, eval or output the node joins a group.\n";

std::string TerminalArguments(const std::vector<NodeParameterInfo>& parameters)
{
    std::string text;
    for (const NodeParameterInfo& parameter : parameters)
        text += TerminalRow(parameter.name, ParameterDoc(parameter));
    return text.empty() ? "" : "\nArguments:\n" + text;
}

std::string TerminalShapes(const NodeType& type)
{
    std::string text;
    const std::vector<std::string> shapes = ShapesOf(type, false, c_shapesInHelp);
    for (size_t i = 0; i < shapes.size(); i++)
        text += (i == 0 ? "Shapes, * for the minibatch: " : std::string(29, ' ')) + shapes[i] + "\n";
    const std::string sparse = SparseInputNames(type);
    if (!shapes.empty())
        text += "May be sparse: " + (sparse.empty() ? "no input" : sparse) + "\n";
    if (!type.traits.isLeaf)
        text += "Get a gradient: " + GradientInputs(type) + "\n";
    return text;
}

std::string TerminalSignatures(const std::vector<std::string>& signatures)
{
    std::string text;
    for (const std::string& signature : signatures)
        text += Wrapped(signature, 4, 0) + "\n";
    return text;
}

// What its type computes, and in what the function differs.
std::string DocOf(const NdlFormRecord& form)
{
    const NodeType& type = *NodeRegistry::Standard().Find(form.type);
    return form.takesTypesArguments ? type.doc + " " + form.doc : form.doc;
}

std::string NodeHelp(const NodeType& type)
{
    std::string text;
    if (IsNotCallable(type))
        text = type.name + ", a node type\n\n" + Wrapped(type.doc + " " + WhyNotCallable(type), 0, 0) + "\n";
    else
        text = TerminalSignatures(Signatures(type)) + "\n" + Wrapped(type.doc, 0, 0) + "\n";
    if (!type.aliases.empty())
        text += "Other names: " + Join(type.aliases, ", ") + "\n";
    if (const std::vector<std::string> makers = OtherMakers(type); !makers.empty())
        text += "Functions that make it, too: " + Join(makers, ", ") + "\n";
    if (!type.bookSection.empty())
        text += "Book: section " + type.bookSection + "\n";
    text += TerminalShapes(type);
    if (!IsNotCallable(type))
        text += c_aboutTags;
    return text + TerminalArguments(type.parameters);
}

// A function of the language that is more than another name of a node type.
std::string FormHelp(const NdlFormRecord& form)
{
    const NodeRegistry& registry = NodeRegistry::Standard();
    std::string text = TerminalSignatures({NdlSignature(registry, form.name, NamedParameters::Shown)}) + "\n" +
                       Wrapped(DocOf(form), 0, 0) + "\n";
    if (!form.aliases.empty())
        text += "Other names: " + Join(form.aliases, ", ") + "\n";
    if (!form.bookSection.empty())
        text += "Book: section " + form.bookSection + "\n";
    text += "Makes a node of type " + form.type + " (cntk --help " + form.type + ").\n";
    if (form.takesTypesArguments)
        text += TerminalShapes(*registry.Find(form.type));
    return text + c_aboutTags + TerminalArguments(NdlNamedParameters(FindNdlFunction(registry, form.name)));
}

bool IsNameOf(const NdlFormRecord& form, std::string_view topic)
{
    return EqualsIgnoreCase(form.name, topic) ||
           std::any_of(form.aliases.begin(), form.aliases.end(),
                       [&](const std::string& alias) { return EqualsIgnoreCase(alias, topic); });
}

std::string SparseSupportTable()
{
    std::string text =
        "## Sparse operands\n\n"
        "What may be a SparseInput, with examples of shapes (`*` is the minibatch). Each row is a case of "
        "the tests. Every other\ncombination is refused when the network is validated; the message "
        "names the node, the input and what can be done.\n\n"
        "| node | sparse | shapes |\n|---|---|---|\n";
    for (const NodeType* type : SortedTypes())
        if (const std::string inputs = SparseInputNames(*type, ", "); !inputs.empty())
        {
            std::string shapes;
            for (const std::string& each : ShapesOf(*type, true, c_shapesInHelp))
                shapes += (shapes.empty() ? "" : "<br>") + Code(each);
            text += "| " + type->name + " | " + Cell(inputs) + " | " + shapes + " |\n";
        }
    return text + "\n";
}

// A function may have the name of a type that it does not make.
std::string Heading(const NodeType& type)
{
    return IsNotCallable(type) ? type.name + " in models" : type.name;
}

// Of a heading on the same page.
std::string Anchor(std::string heading)
{
    std::replace(heading.begin(), heading.end(), ' ', '-');
    return ToLower(heading);
}

std::string MarkdownShapes(const NodeType& type)
{
    std::vector<std::string> shapes = ShapesOf(type, false, c_shapesInHelp);
    for (std::string& shape : shapes)
        shape = Code(shape);
    return shapes.empty() ? "" : "Shapes: " + Join(shapes, ", ") + "\n\n";
}

std::string MarkdownArguments(const std::vector<NodeParameterInfo>& parameters)
{
    if (parameters.empty())
        return "";
    std::string text = "| argument | meaning |\n|---|---|\n";
    for (const NodeParameterInfo& parameter : parameters)
        text += "| " + Code(parameter.name) + " | " + Cell(ParameterDoc(parameter)) + " |\n";
    return text + "\n";
}

std::string FormSection(const NdlFormRecord& form)
{
    const NodeRegistry& registry = NodeRegistry::Standard();
    const NodeType& type = *registry.Find(form.type);
    return "## " + form.name + "\n\n`" + NdlSignature(registry, form.name, NamedParameters::Shown) + "`\n\n" +
           DocOf(form) + (form.aliases.empty() ? "" : " Other names: " + Join(form.aliases, ", ") + ".") +
           " Makes a node of type [" + form.type + "](#" + Anchor(Heading(type)) + ")." +
           (form.bookSection.empty() ? "" : " Book: section " + form.bookSection + ".") + "\n\n" +
           (form.takesTypesArguments ? MarkdownShapes(type) : "") +
           MarkdownArguments(NdlNamedParameters(FindNdlFunction(registry, form.name)));
}

std::string NodeSection(const NodeType& type)
{
    std::string text = "## " + Heading(type) + "\n\n";
    if (!IsNotCallable(type))
        text += "`" + Join(Signatures(type), "`, `") + "`\n\n";
    text += type.doc;
    if (IsNotCallable(type))
        text += " " + WhyNotCallable(type);
    std::vector<std::string> makers;
    for (const std::string& maker : OtherMakers(type))
        makers.push_back("[" + maker + "](#" + Anchor(maker) + ")");
    if (!makers.empty())
        text += " Functions that make it, too: " + Join(makers, ", ") + ".";
    if (!type.bookSection.empty())
        text += " Book: section " + type.bookSection + ".";
    return text + "\n\n" + MarkdownShapes(type) + MarkdownArguments(type.parameters);
}

} // namespace

std::string NodesPage()
{
    std::string text =
        "# Node types\n\n" + std::string(c_generatedNote) +
        "What networks are made of, as functions of the network description language: `[...]` may be left "
        "out, what stands in\n`{...}` is given by name. Every function also takes `tag=feature`, `label`, `criterion`, "
        "`eval` or `output`.\n`cntk --help Times` prints the same on the terminal.\n\n"
        "| type | other names | inputs | may be sparse | get a gradient |\n|---|---|---|---|---|\n";
    for (const NodeType* type : SortedTypes())
    {
        std::vector<std::string> inputs;
        for (size_t i = 0; i < type->inputs.min || (i < type->inputNames.size() && i < type->inputs.max); i++)
            inputs.push_back(i < type->inputs.min ? InputName(*type, i) : "[" + InputName(*type, i) + "]");
        if (type->inputs.max == Arity::c_any)
            inputs.push_back("...");
        text += "| [" + type->name + "](#" + Anchor(Heading(*type)) + ") | " + Join(type->aliases, ", ") + " | " +
                Cell(Join(inputs, ", ")) + " | " + SparseInputNames(*type, ", ") + " | " + GradientInputs(*type) +
                " |\n";
    }
    text += "\nMore functions, which make nodes of these types: ";
    const std::vector<NdlFormRecord> forms = NdlForms(NodeRegistry::Standard());
    std::vector<std::string> names;
    for (const NdlFormRecord& form : forms)
        names.push_back("[" + form.name + "](#" + Anchor(form.name) + ")");
    text += Join(names, ", ") + ".\n\n" + SparseSupportTable();
    for (const NdlFormRecord& form : forms)
        text += FormSection(form);
    for (const NodeType* type : SortedTypes())
        text += NodeSection(*type);
    return text;
}

std::string FunctionHelp(std::string_view name)
{
    std::string text;
    for (const NdlFormRecord& form : NdlForms(NodeRegistry::Standard()))
        if (IsNameOf(form, name))
            text += FormHelp(form);
    if (const NodeType* type = NodeRegistry::Standard().Find(name); type && (text.empty() || IsNotCallable(*type)))
        text += (text.empty() ? "" : "\n") + NodeHelp(*type);
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
                text += TerminalRow("function " + function, ParameterDoc(parameter));
    return text;
}

} // namespace cntk
