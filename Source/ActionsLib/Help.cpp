// Help on the terminal and the reference pages in Markdown are two renderings of the same records.
#include "ActionsLib/Help.h"

#include "ActionsLib/Action.h"
#include "ActionsLib/Ndl/NdlFunctions.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "Math/Device.h"

#include <algorithm>
#include <sstream>

namespace cntk
{

namespace
{

constexpr size_t c_lineWidth = 100;
constexpr size_t c_shapesInHelp = 4;

// Breaks a text into lines; every line but the first is indented.
std::string Wrapped(std::string_view text, size_t indent, size_t firstColumn)
{
    std::string result;
    size_t column = firstColumn;
    std::istringstream words{std::string(text)};
    for (std::string word; words >> word;)
    {
        if (column > indent && column + 1 + word.size() > c_lineWidth)
        {
            result += "\n" + std::string(indent, ' ');
            column = indent;
        }
        else if (column > indent)
        {
            result += ' ';
            ++column;
        }
        result += word;
        column += word.size();
    }
    return result;
}

std::string TerminalRow(const std::string& left, std::string_view doc)
{
    constexpr size_t c_docColumn = 34;
    std::string line = "  " + left;
    if (line.size() + 2 > c_docColumn)
        line += "\n" + std::string(c_docColumn, ' ');
    else
        line.resize(c_docColumn, ' ');
    return line + Wrapped(doc, c_docColumn, c_docColumn) + "\n";
}

std::string OptionDoc(const OptionInfo& option)
{
    std::string doc = option.doc + " (" + option.type;
    if (!option.range.empty())
        doc += ", " + option.range;
    if (option.isRequired)
        doc += "; must be given";
    else if (!option.defaultText.empty())
        doc += "; default " + option.defaultText;
    if (!option.aliases.empty())
        doc += "; also " + Join(option.aliases, ", ");
    return doc + ")";
}

std::string TerminalOptions(const std::vector<OptionInfo>& options)
{
    std::string text;
    for (const OptionInfo& option : options)
        text += TerminalRow(option.name, OptionDoc(option));
    return text;
}

// ---- node types -----------------------------------------------------------------------------------------------------

// As errors of network descriptions show them. An alias may take its arguments in another order (RowSlice, Slice).
std::vector<std::string> Signatures(const NodeType& type)
{
    const NodeRegistry& registry = NodeRegistry::Standard();
    std::vector<std::string> signatures{NdlSignature(registry, type.name, true)};
    const NdlFunction::Form form = FindNdlFunction(registry, type.name).form;
    for (const std::string& alias : type.aliases)
        if (FindNdlFunction(registry, alias).form != form)
            signatures.push_back(NdlSignature(registry, alias, true));
    return signatures;
}

std::string InputName(const NodeType& type, size_t input)
{
    return type.inputNames.empty() ? Concat("input", input + 1)
                                   : type.inputNames[std::min(input, type.inputNames.size() - 1)];
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
    const std::shared_ptr<Device> device = MakeReferenceDevice();
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

std::string SparseInputsOf(const NodeType& type)
{
    std::vector<std::string> inputs;
    for (const GradientSample& sample : type.samples)
        for (size_t i = 0; i < sample.inputs.size(); ++i)
        {
            const std::string name = InputName(type, i);
            if (sample.inputs[i].sparse && std::find(inputs.begin(), inputs.end(), name) == inputs.end())
                inputs.push_back(name);
        }
    return Join(inputs, ", ");
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

std::string NodeHelp(const NodeType& type)
{
    std::string text = Join(Signatures(type), "\n") + "\n\n" + Wrapped(type.doc, 0, 0) + "\n";
    if (!type.aliases.empty())
        text += "Other names: " + Join(type.aliases, ", ") + "\n";
    if (!type.bookSection.empty())
        text += "Book: section " + type.bookSection + "\n";
    const std::vector<std::string> shapes = ShapesOf(type, false, c_shapesInHelp);
    for (size_t i = 0; i < shapes.size(); i++)
        text += (i == 0 ? "Shapes, * for the minibatch: " : std::string(29, ' ')) + shapes[i] + "\n";
    const std::string sparse = SparseInputsOf(type);
    if (!shapes.empty())
        text += "May be sparse: " + (sparse.empty() ? "no input" : sparse) + "\n";
    if (!type.traits.differentiable)
        text += "No gradient passes through it.\n";
    if (!type.parameters.empty())
        text += "\nArguments:\n";
    for (const NodeParameterInfo& parameter : type.parameters)
        text += TerminalRow(parameter.name, ParameterDoc(parameter));
    return text;
}

// A function of the language that is no name of a node type.
std::string FormHelp(const NdlFormRecord& form)
{
    std::string text =
        NdlSignature(NodeRegistry::Standard(), form.name, true) + "\n\n" + Wrapped(form.doc, 0, 0) + "\n";
    if (!form.aliases.empty())
        text += "Other names: " + Join(form.aliases, ", ") + "\n";
    if (!form.bookSection.empty())
        text += "Book: section " + form.bookSection + "\n";
    return text + "Makes a node of type " + form.type + " (cntk --help " + form.type + ").\n";
}

bool IsNameOf(const NdlFormRecord& form, std::string_view topic)
{
    return EqualsIgnoreCase(form.name, topic) ||
           std::any_of(form.aliases.begin(), form.aliases.end(),
                       [&](const std::string& alias) { return EqualsIgnoreCase(alias, topic); });
}

// ---- actions, blocks, plugins ---------------------------------------------------------------------------------------

std::string ActionHelp(const Action& action)
{
    std::string text = "action=" + action.name + "\n\n" + Wrapped(action.doc, 0, 0) + "\n";
    if (!action.aliases.empty())
        text += "Other names: " + Join(action.aliases, ", ") + "\n";
    if (!action.bookSection.empty())
        text += "Book: section " + action.bookSection + "\n";
    text += "\nParameters:\n" + TerminalOptions(action.options);
    if (!action.blocks.empty())
        text += "\nBlocks (cntk --help <block>): " + Join(action.blocks, ", ") + "\n";
    return text;
}

std::string BlockHelp(const BlockRecord& block)
{
    return (block.parent.empty() ? "the root of the config" : block.name + "=[ ... ]   in " + block.parent) + "\n\n" +
           Wrapped(block.doc, 0, 0) + "\n\nParameters:\n" + TerminalOptions(block.options);
}

std::string PluginHelp(const PluginRecord& plugin)
{
    std::string text = plugin.name + (plugin.reads ? "   readerType" : "") + (plugin.writes ? "   writerType" : "") +
                       "\n\n" + Wrapped(plugin.description.doc, 0, 0) + "\n";
    std::string block = "?";
    for (const PluginOption& option : plugin.description.options)
    {
        if (option.block != block)
        {
            block = option.block;
            text +=
                "\n" + (block.empty() ? std::string("In the reader block:") : "In each " + block + " block:") + "\n";
        }
        text += TerminalRow(option.name,
                            option.doc +
                                (option.defaultText.empty() ? std::string() : " (default " + option.defaultText + ")"));
    }
    return text;
}

std::string GeneralHelp()
{
    std::string text =
        "usage: cntk configFile=<file>[+<file>...] [name=value ...] [--check] [--print-config]\n"
        "       cntk --help [action|block|node|reader]   cntk --version\n\n"
        "Reads the config files in order, then name=value as if they stood at the end of the last file, and\n"
        "runs the commands that command= lists.\n\n"
        "  --check         read everything, build the networks, read one minibatch; train and write nothing\n"
        "  --print-config  print the effective config, each value with the file and line it came from\n"
        "  --version       what is built in\n\nActions:\n";
    for (const Action& action : Actions())
        text += TerminalRow(action.name, action.doc);
    text += "\nBlocks:\n";
    for (const BlockRecord& block : Blocks())
        text += TerminalRow(block.name, block.doc);
    text += "\nReaders and writers: " + Join(PluginNames(), ", ") + "\n";
    std::vector<std::string> names;
    for (const NodeType* type : SortedTypes())
        names.push_back(type->name);
    for (const NdlFormRecord& form : NdlForms(NodeRegistry::Standard()))
        names.push_back(form.name);
    std::sort(names.begin(), names.end(), LessIgnoreCase);
    text += "Functions of networks: " + Wrapped(Join(names, ", "), 23, 23) + "\n\n";
    text += "Exit codes: 0 success, 2 command line, 3 config, 4 data, 5 model, 6 device or disk, 70 internal, "
            "75 stopped\n";
    return text;
}

// ---- Markdown -------------------------------------------------------------------------------------------------------

constexpr const char* c_generated =
    "<!-- Made by `cntk --write-docs Documentation` from the program's own tables; edit those. -->\n\n";

std::string Cell(std::string text)
{
    for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
        text.replace(at, 1, "\\|");
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

std::string Code(const std::string& text)
{
    return text.empty() ? "" : "`" + Cell(text) + "`";
}

std::string MarkdownOptions(const std::vector<OptionInfo>& options)
{
    std::string text = "| parameter | type | default | meaning |\n|---|---|---|---|\n";
    for (const OptionInfo& option : options)
    {
        std::string name = Code(option.name);
        for (const std::string& alias : option.aliases)
            name += ", " + Code(alias);
        std::string meaning = option.doc;
        if (!option.range.empty())
            meaning += " (" + option.range + ")";
        text += "| " + name + " | " + Cell(option.type) + " | " +
                (option.isRequired ? "must be given" : Code(option.defaultText)) + " | " + Cell(meaning) + " |\n";
    }
    return text + "\n";
}

std::string OptionsPage()
{
    std::string text =
        "# Parameters of every block\n\n" + std::string(c_generated) +
        "Names are found in any case, in the block itself and then in the blocks around it. Of a schedule, "
        "`0.5:0.2*20:0.1`,\nthe first value is for the first epoch, and the last one stays. "
        "[ConfigLanguage](ConfigLanguage.md) has the rules.\n\n";
    for (const BlockRecord& block : Blocks())
        text += "## " + block.name + "\n\n" + block.doc +
                (block.parent.empty() ? "" : " Stands in: " + block.parent + ".") + "\n\n" +
                MarkdownOptions(block.options);
    return text;
}

std::string ActionsPage()
{
    std::string text =
        "# Actions\n\n" + std::string(c_generated) +
        "A command is a block at the root of the config; its `action` (default: train) says what it does. "
        "All actions but\ncreateLabelMap also want `modelPath`; this and `deviceId`, `traceLevel`, "
        "`minibatchSize` and the like may stand\naround the command, for several of them "
        "([Options](Options.md#root)).\n\n";
    for (const Action& action : Actions())
    {
        text += "## " + action.name + "\n\n" + action.doc;
        if (!action.aliases.empty())
            text += " Other names: " + Join(action.aliases, ", ") + ".";
        if (!action.bookSection.empty())
            text += " Book: section " + action.bookSection + ".";
        text += "\n\n" + MarkdownOptions(action.options);
        if (!action.blocks.empty())
            text += "Blocks ([Options.md](Options.md)): " + Join(action.blocks, ", ") + ".\n\n";
    }
    return text;
}

std::string SparseMatrix()
{
    std::string text =
        "## Sparse operands\n\n"
        "What may be a SparseInput, with examples of shapes (`*` is the minibatch). Each row is a case of "
        "the tests. Every other\ncombination is refused when the network is validated; the message "
        "names the node, the input and what can be done.\n\n"
        "| node | sparse | shapes |\n|---|---|---|\n";
    for (const NodeType* type : SortedTypes())
        if (const std::string inputs = SparseInputsOf(*type); !inputs.empty())
        {
            std::string shapes;
            for (const std::string& each : ShapesOf(*type, true, c_shapesInHelp))
                shapes += (shapes.empty() ? "" : "<br>") + Code(each);
            text += "| " + type->name + " | " + Cell(inputs) + " | " + shapes + " |\n";
        }
    return text + "\n";
}

std::string NodesPage()
{
    std::string text =
        "# Node types\n\n" + std::string(c_generated) +
        "What networks are made of, as functions of the network description language: `[...]` may be left "
        "out, what stands in\n`{...}` is given by name. Every function also takes `tag=feature`, `label`, `criterion`, "
        "`eval` or `output`.\n`cntk --help Times` prints the same on the terminal.\n\n"
        "| type | other names | inputs | may be sparse | gradient |\n|---|---|---|---|---|\n";
    for (const NodeType* type : SortedTypes())
    {
        std::vector<std::string> inputs;
        for (size_t i = 0; i < type->inputs.min || (i < type->inputNames.size() && i < type->inputs.max); i++)
            inputs.push_back(i < type->inputs.min ? InputName(*type, i) : "[" + InputName(*type, i) + "]");
        if (type->inputs.max == Arity::c_any)
            inputs.push_back("...");
        text += "| [" + type->name + "](#" + ToLower(type->name) + ") | " + Join(type->aliases, ", ") + " | " +
                Cell(Join(inputs, ", ")) + " | " + SparseInputsOf(*type) + " | " +
                (type->traits.isLeaf           ? ""
                 : type->traits.differentiable ? "yes"
                                               : "no") +
                " |\n";
    }
    text += "\nMore functions, which make nodes of these types: ";
    std::vector<std::string> names;
    for (const NdlFormRecord& form : NdlForms(NodeRegistry::Standard()))
        names.push_back("[" + form.name + "](#" + ToLower(form.name) + ")");
    text += Join(names, ", ") + ".\n\n" + SparseMatrix();
    for (const NdlFormRecord& form : NdlForms(NodeRegistry::Standard()))
        text += "## " + form.name + "\n\n`" + NdlSignature(NodeRegistry::Standard(), form.name, true) + "`\n\n" +
                form.doc + (form.aliases.empty() ? "" : " Other names: " + Join(form.aliases, ", ") + ".") +
                " Makes a node of type [" + form.type + "](#" + ToLower(form.type) + ")." +
                (form.bookSection.empty() ? "" : " Book: section " + form.bookSection + ".") + "\n\n";
    for (const NodeType* type : SortedTypes())
    {
        text += "## " + type->name + "\n\n`" + Join(Signatures(*type), "`, `") + "`\n\n" + type->doc +
                (type->bookSection.empty() ? "" : " Book: section " + type->bookSection + ".") + "\n\n";
        const std::vector<std::string> shapes = ShapesOf(*type, false, c_shapesInHelp);
        for (size_t i = 0; i < shapes.size(); i++)
            text += (i == 0 ? "Shapes: " : ", ") + Code(shapes[i]) + (i + 1 == shapes.size() ? "\n\n" : "");
        if (type->parameters.empty())
            continue;
        text += "| argument | meaning |\n|---|---|\n";
        for (const NodeParameterInfo& parameter : type->parameters)
            text += "| " + Code(parameter.name) + " | " + Cell(ParameterDoc(parameter)) + " |\n";
        text += "\n";
    }
    return text;
}

std::string ReadersPage()
{
    std::string text =
        "# Readers and writers\n\n" + std::string(c_generated) +
        "A reader block names its library with `readerType` and holds one block for each stream, named as "
        "the input node that it\nfeeds. What is said for features or labels may stand in the reader block, "
        "for all streams at once. `readers=a:b`\nreads from several readers, each described in a block of "
        "its own.\n\n";
    for (const PluginRecord& plugin : ListPlugins())
    {
        text += "## " + plugin.name + "\n\n" + plugin.description.doc + "\n\n";
        text += "| block | parameter | default | meaning |\n|---|---|---|---|\n";
        for (const PluginOption& option : plugin.description.options)
            text += "| " + (option.block.empty() ? "reader" : option.block) + " | " + Code(option.name) + " | " +
                    Code(option.defaultText) + " | " + Cell(option.doc) + " |\n";
        text += "\n";
    }
    return text;
}

void WritePage(const std::string& path, std::string text)
{
    while (text.size() > 1 && text[text.size() - 2] == '\n')
        text.pop_back();
    AtomicFile file(path);
    file.Write(text);
    file.Commit();
}

} // namespace

std::string HelpText(std::string_view topic)
{
    if (topic.empty())
        return GeneralHelp();
    std::string text;
    std::vector<std::string> candidates;
    if (const Action* action = FindAction(topic))
        text += ActionHelp(*action);
    for (const BlockRecord& block : Blocks())
    {
        candidates.push_back(block.name);
        if (EqualsIgnoreCase(block.name, topic))
            text += (text.empty() ? "" : "\n") + BlockHelp(block);
    }
    if (const NodeType* type = NodeRegistry::Standard().Find(topic))
        text += (text.empty() ? "" : "\n") + NodeHelp(*type);
    for (const NdlFormRecord& form : NdlForms(NodeRegistry::Standard()))
        if (IsNameOf(form, topic))
            text += (text.empty() ? "" : "\n") + FormHelp(form);
    for (const PluginRecord& plugin : ListPlugins())
    {
        candidates.push_back(plugin.name);
        if (EqualsIgnoreCase(plugin.name, topic))
            text += (text.empty() ? "" : "\n") + PluginHelp(plugin);
    }
    if (!text.empty())
        return text;

    for (const Action& action : Actions())
        candidates.push_back(action.name);
    for (std::string& function : NdlFunctionNames(NodeRegistry::Standard()))
        candidates.push_back(std::move(function));
    if (const std::string why = NodeRegistry::WhyMissing(topic); !why.empty())
        Fail(ErrorKind::Usage, "no help: the function ", why);
    Fail(ErrorKind::Usage, "no help on '", topic, "'; cntk --help lists actions, blocks, readers and node types",
         DidYouMean(topic, candidates));
}

void WriteReferencePages(const std::string& folder)
{
    WritePage(folder + "/Options.md", OptionsPage());
    WritePage(folder + "/Actions.md", ActionsPage());
    WritePage(folder + "/Nodes.md", NodesPage());
    WritePage(folder + "/Readers.md", ReadersPage());
}

} // namespace cntk
