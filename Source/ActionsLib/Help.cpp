// Help on the terminal and the reference pages in Markdown are two renderings of the same records.
#include "ActionsLib/Help.h"

#include "ActionsLib/Action.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"

#include <algorithm>
#include <sstream>

namespace cntk
{

namespace
{

constexpr size_t c_lineWidth = 100;

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

std::string InputList(const NodeType& type)
{
    std::vector<std::string> names = type.inputNames;
    while (names.size() < type.inputs.min)
        names.push_back("input" + std::to_string(names.size() + 1));
    std::string text;
    for (size_t i = 0; i < names.size(); ++i)
        text += (i > 0 ? ", " : "") + (i < type.inputs.min ? names[i] : "[" + names[i] + "]");
    if (type.inputs.max == Arity::c_any)
        text += ", ...";
    return text;
}

std::string Signature(const NodeType& type)
{
    std::string arguments = InputList(type);
    for (const NodeParameterInfo& parameter : type.parameters)
    {
        const std::string argument =
            parameter.positional ? parameter.name : parameter.name + "=" + parameter.defaultText;
        arguments += arguments.empty() ? "" : ", ";
        arguments += parameter.required ? argument : "[" + argument + "]";
    }
    return type.name + "(" + arguments + ")";
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
            const std::string name =
                type.inputNames.empty() ? std::to_string(i) : type.inputNames[std::min(i, type.inputNames.size() - 1)];
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
    std::string text = Signature(type) + "\n\n" + Wrapped(type.doc, 0, 0) + "\n";
    if (!type.aliases.empty())
        text += "Other names: " + Join(type.aliases, ", ") + "\n";
    if (!type.bookSection.empty())
        text += "Book: section " + type.bookSection + "\n";
    if (const std::string sparse = SparseInputsOf(type); !sparse.empty())
        text += "May be sparse: " + sparse + "\n";
    if (!type.traits.differentiable)
        text += "No gradient passes through it.\n";
    if (!type.parameters.empty())
        text += "\nArguments:\n";
    for (const NodeParameterInfo& parameter : type.parameters)
        text += TerminalRow(parameter.name, ParameterDoc(parameter));
    return text;
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
    text += "Node types: " + Wrapped(Join(names, ", "), 12, 12) + "\n\n";
    text += "Exit codes: 0 success, 2 command line, 3 config, 4 data, 5 model, 6 device or disk, 70 internal\n";
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

std::string NodesPage()
{
    std::string text =
        "# Node types\n\n" + std::string(c_generated) +
        "What networks are made of, as functions of the network description language; `[...]` may be left "
        "out. Every function also\ntakes `tag=feature`, `label`, `criterion`, `eval` or `output`.\n\n"
        "| type | other names | inputs | may be sparse | gradient |\n|---|---|---|---|---|\n";
    for (const NodeType* type : SortedTypes())
        text += "| [" + type->name + "](#" + ToLower(type->name) + ") | " + Join(type->aliases, ", ") + " | " +
                Cell(InputList(*type)) + " | " + SparseInputsOf(*type) + " | " +
                (type->traits.isLeaf           ? ""
                 : type->traits.differentiable ? "yes"
                                               : "no") +
                " |\n";
    text += "\n";
    for (const NodeType* type : SortedTypes())
    {
        text += "## " + type->name + "\n\n`" + Signature(*type) + "`\n\n" + type->doc +
                (type->bookSection.empty() ? "" : " Book: section " + type->bookSection + ".") + "\n\n";
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
    for (const NodeType* type : SortedTypes())
        candidates.push_back(type->name);
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
