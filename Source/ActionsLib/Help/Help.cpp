// Help on the terminal and the reference pages in Markdown are two renderings of the same records.
#include "ActionsLib/Help/Help.h"

#include "ActionsLib/Action.h"
#include "ActionsLib/Help/FunctionHelp.h"
#include "ActionsLib/Help/HelpLayout.h"
#include "ActionsLib/Mel/MelCommands.h"
#include "ActionsLib/Ndl/NdlFunctions.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"

#include <algorithm>
#include <cctype>

namespace cntk
{

namespace
{

std::string OptionDoc(const OptionInfo& option)
{
    std::string doc = option.doc + " (" + option.type;
    if (!option.range.empty())
        doc += ", " + option.range;
    if (option.isRequired)
        doc += "; must be given";
    else if (!option.defaultText.empty())
        doc += "; default " + (Trim(option.defaultText).empty() ? "'" + option.defaultText + "'" : option.defaultText);
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

// The actions that read the block, and what its record names.
std::string PlacesOf(const BlockRecord& block)
{
    std::vector<std::string> places;
    for (const Action& action : Actions())
        if (std::find(action.blocks.begin(), action.blocks.end(), block.name) != action.blocks.end())
            places.push_back(action.name);
    if (std::find(places.begin(), places.end(), block.parent) == places.end())
        places.push_back(block.parent);
    return Join(places, ", ");
}

std::string BlockHelp(const BlockRecord& block)
{
    return (block.parent.empty() ? "the root of the config" : block.name + "=[ ... ]   in " + PlacesOf(block)) +
           "\n\n" + Wrapped(block.doc, 0, 0) + "\n\nParameters:\n" + TerminalOptions(block.options);
}

std::string DocWithAliases(const PluginOption& option)
{
    return option.aliases.empty() ? option.doc : option.doc + "; also " + Join(option.aliases, ", ");
}

std::string PluginOptionDoc(const PluginOption& option)
{
    return DocWithAliases(option) +
           (option.defaultText.empty() ? std::string() : " (default " + option.defaultText + ")");
}

std::string PluginHelp(const PluginRecord& plugin)
{
    const std::vector<std::string> aliases = PluginAliases(plugin.name);
    std::vector<std::string> uses;
    if (plugin.reads)
        uses.push_back("readerType=" + plugin.name);
    if (plugin.writes)
        uses.push_back("writerType=" + (aliases.empty() ? plugin.name : aliases.front()));
    std::string text = Join(uses, "   ") + "\n\n" + Wrapped(plugin.description.doc, 0, 0) + "\n";
    if (!aliases.empty())
        text += "Other names: " + Join(aliases, ", ") + "\n";
    std::string block = "?";
    for (const PluginOption& option : plugin.description.options)
    {
        if (option.block != block)
        {
            block = option.block;
            text += "\n" +
                    (block.empty()       ? std::string("In the reader block:")
                     : block == "writer" ? std::string("In the writer block:")
                                         : "In each " + block + " block:") +
                    "\n";
        }
        text += TerminalRow(option.name, PluginOptionDoc(option));
    }
    return text;
}

std::string MelHelp(const MelCommandInfo& command)
{
    std::string text = command.usage + "\n\n" + Wrapped(command.doc, 0, 0) + "\n";
    if (command.names.size() > 1)
        text += "Other names: " + Join({command.names.begin() + 1, command.names.end()}, ", ") + "\n";
    if (EqualsIgnoreCase(command.names.front().substr(0, 11), "SetProperty"))
        text += "Properties: " + Wrapped(Join(MelPropertyNames(), ", "), 12, 12) + "\n";
    return text + "A command of the model editing language, in the script of action=edit. Book: section 4.2.\n";
}

bool IsNameOf(const MelCommandInfo& command, std::string_view topic)
{
    return std::any_of(command.names.begin(), command.names.end(),
                       [&](const std::string& name) { return EqualsIgnoreCase(name, topic); });
}

// Blocks of actions whose parameters are those of a plugin or of another block.
std::string InnerBlockHelp(std::string_view name)
{
    std::string spelled;
    std::vector<std::string> places;
    for (const Action& action : Actions())
        for (const std::string& block : action.blocks)
            if (EqualsIgnoreCase(block, name))
            {
                spelled = block;
                places.push_back(action.name);
            }
    if (places.empty())
        return "";
    std::string text = spelled + "=[ ... ]   in " + Join(places, ", ") + "\n\n";
    std::vector<std::string> plugins;
    const bool isWriter = ToLower(name).ends_with("writer");
    if (isWriter || IsReaderBlock(name))
    {
        for (const PluginRecord& plugin : ListPlugins())
            if (isWriter ? plugin.writes : plugin.reads)
                plugins.push_back(plugin.name);
        return text +
               Wrapped(Concat("Where data ", isWriter ? "go to" : "come from", ": ",
                              isWriter ? "writerType" : "readerType",
                              "=<library> and its parameters, with a block for each stream, which has the name "
                              "of a node. Libraries (cntk --help <library>): ",
                              Join(plugins, ", ")),
                       0, 0) +
               "\n";
    }
    return text +
           Wrapped("A network: with networkDescription, as NDLNetworkBuilder, otherwise as "
                   "SimpleNetworkBuilder (cntk --help <block>).",
                   0, 0) +
           "\n";
}

// Blocks of streams, whose parameters each reader has for itself: features, labels.
std::string StreamBlockHelp(std::string_view name)
{
    std::string rows;
    for (const PluginRecord& plugin : ListPlugins())
    {
        std::vector<std::string> parameters;
        for (const PluginOption& option : plugin.description.options)
            if (EqualsIgnoreCase(option.block, name))
                parameters.push_back(option.name);
        if (!parameters.empty())
            rows += TerminalRow(plugin.name, Join(parameters, ", "));
    }
    if (rows.empty())
        return "";
    return Concat(ToLower(name), "=[ ... ]   in a reader block\n\n") +
           Wrapped(
               "A stream of data. The block has the name of the input node that it feeds, which need not be this one. "
               "Parameters (cntk --help <reader> explains them):",
               0, 0) +
           "\n" + rows;
}

// Whether a list of words, "one of none|adagrad", or a text that gives them in capitals, "CLASSLM and CLASSLSTM", has
// this one.
bool HasWord(const OptionInfo& option, std::string_view word)
{
    constexpr std::string_view c_list = "one of ";
    if (option.type.starts_with(c_list))
        for (const std::string_view choice : Split(std::string_view(option.type).substr(c_list.size()), '|'))
            if (EqualsIgnoreCase(choice, word))
                return true;
    std::string capitals(word);
    std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                   [](unsigned char c) { return char(std::toupper(c)); });
    const auto isPart = [&](size_t at)
    { return at < option.doc.size() && std::isalnum(static_cast<unsigned char>(option.doc[at])) != 0; };
    for (size_t at = option.doc.find(capitals); at != std::string::npos; at = option.doc.find(capitals, at + 1))
        if (capitals.size() > 1 && !isPart(at + capitals.size()) && (at == 0 || !isPart(at - 1)))
            return true;
    return false;
}

// A value, such as adagrad: the parameters that take it, or are for it.
std::string ValueHelp(std::string_view word)
{
    std::string text;
    for (const BlockRecord& block : Blocks())
        for (const OptionInfo& option : block.options)
            if (HasWord(option, word))
                text += TerminalRow(option.name, "block " + block.name + ": " + OptionDoc(option));
    for (const Action& action : Actions())
        for (const OptionInfo& option : action.options)
            if (HasWord(option, word) && text.find("\n  " + option.name + " ") == std::string::npos)
                text += TerminalRow(option.name, "action " + action.name + ": " + OptionDoc(option));
    return text.empty() ? "" : Concat("Parameters that speak of ", word, "\n\n", text);
}

bool IsNameOf(const OptionInfo& option, std::string_view name)
{
    return EqualsIgnoreCase(option.name, name) ||
           std::any_of(option.aliases.begin(), option.aliases.end(),
                       [&](const std::string& alias) { return EqualsIgnoreCase(alias, name); });
}

// Every place where a parameter of this name stands, with what it means there.
std::string OptionHelp(std::string_view name)
{
    std::string text;
    for (const BlockRecord& block : Blocks())
        for (const OptionInfo& option : block.options)
            if (option.type != "block" && IsNameOf(option, name))
                text += TerminalRow(block.parent.empty() ? block.name : "block " + block.name, OptionDoc(option));
    for (const Action& action : Actions())
        for (const OptionInfo& option : action.options)
            if (option.type != "block" && IsNameOf(option, name))
                text += TerminalRow("action " + action.name, OptionDoc(option));
    for (const PluginRecord& plugin : ListPlugins())
        for (const PluginOption& option : plugin.description.options)
            if (EqualsIgnoreCase(option.name, name) ||
                std::any_of(option.aliases.begin(), option.aliases.end(),
                            [&](const std::string& alias) { return EqualsIgnoreCase(alias, name); }))
                text += TerminalRow(option.block.empty() ? plugin.name : plugin.name + ", " + option.block,
                                    PluginOptionDoc(option));
    text += ParameterHelp(name);
    return text.empty() ? "" : Concat("Parameter ", name, "\n\n", text);
}

std::string GeneralHelp()
{
    std::string text =
        "usage: cntk configFile=<file>[+<file>...] [name=value ...] [--check] [--print-config]\n"
        "       cntk --help [action|block|parameter|reader|writer|function|command of the edit action]\n"
        "       cntk --version\n\n"
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
    text += "Functions of networks: " + Wrapped(Join(FunctionNames(), ", "), 23, 23) + "\n";
    std::vector<std::string> commands;
    for (const MelCommandInfo& command : MelCommands())
        commands.push_back(command.names.front());
    text += "Commands of the edit action: " + Wrapped(Join(commands, ", "), 29, 29) + "\n\n";
    text += "Exit codes: 0 success, 2 command line, 3 config, 4 data, 5 model, 6 device or disk, 70 internal, "
            "75 stopped\n";
    return text;
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
        "# Parameters of every block\n\n" + std::string(c_generatedNote) +
        "Names are found in any case, in the block itself and then in the blocks around it. Of a schedule, "
        "`0.5:0.2*20:0.1`,\nthe first value is for the first epoch, and the last one stays. "
        "[ConfigLanguage](ConfigLanguage.md) has the rules.\n\n";
    for (const BlockRecord& block : Blocks())
        text += "## " + block.name + "\n\n" + block.doc +
                (block.parent.empty() ? "" : " Stands in: " + PlacesOf(block) + ".") + "\n\n" +
                MarkdownOptions(block.options);
    return text;
}

std::string ActionsPage()
{
    std::string text =
        "# Actions\n\n" + std::string(c_generatedNote) +
        "A command is a block at the root of the config; its `action` (default: train) says what it does. "
        "All parameters,\nand `deviceId`, may also stand around the command, for several of them. What holds for the "
        "whole run,\nas `precision`, stands at the root ([Options](Options.md#root)).\n\n";
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

std::string ReadersPage()
{
    std::string text =
        "# Readers and writers\n\n" + std::string(c_generatedNote) +
        "A reader block names its library with `readerType` and holds one block for each stream, named as "
        "the input node that it\nfeeds. What is said for features or labels may stand in the reader block, "
        "for all streams at once, but what tells\nthe one from the other stands in their own blocks: `dim`, of images "
        "`width`, of speech `scpFile` for features; `labelDim`, `labelType`,\n`labelMappingFile`, of speech `mlfFile` "
        "for labels. `readers=a:b` reads from several readers, each described in a block of its own.\n\n";
    for (const PluginRecord& plugin : ListPlugins())
    {
        text += "## " + plugin.name + "\n\n" + plugin.description.doc + "\n\n";
        text += "| block | parameter | default | meaning |\n|---|---|---|---|\n";
        for (const PluginOption& option : plugin.description.options)
            text += "| " + (option.block.empty() ? "reader" : option.block) + " | " + Code(option.name) + " | " +
                    Code(option.defaultText) + " | " + Cell(DocWithAliases(option)) + " |\n";
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
    std::string text; // a name may stand for several things, which follow one another
    const auto append = [&](const std::string& help)
    {
        if (!text.empty() && !help.empty())
            text += "\n";
        text += help;
    };
    std::vector<std::string> candidates;
    if (const Action* action = FindAction(topic))
        append(ActionHelp(*action));
    for (const BlockRecord& block : Blocks())
    {
        candidates.push_back(block.name);
        if (EqualsIgnoreCase(block.name, topic))
            append(BlockHelp(block));
    }
    append(FunctionHelp(topic));
    for (const PluginRecord& plugin : ListPlugins())
    {
        const std::vector<std::string> aliases = PluginAliases(plugin.name);
        candidates.push_back(plugin.name);
        candidates.insert(candidates.end(), aliases.begin(), aliases.end());
        if (EqualsIgnoreCase(plugin.name, topic) ||
            std::any_of(aliases.begin(), aliases.end(),
                        [&](const std::string& alias) { return EqualsIgnoreCase(alias, topic); }))
            append(PluginHelp(plugin));
    }
    for (const MelCommandInfo& command : MelCommands())
    {
        candidates.insert(candidates.end(), command.names.begin(), command.names.end());
        if (IsNameOf(command, topic))
            append(MelHelp(command));
    }
    if (text.empty())
        text = InnerBlockHelp(topic);
    if (text.empty())
        text = StreamBlockHelp(topic);
    append(OptionHelp(topic));
    if (text.empty())
        text = ValueHelp(topic);
    if (!text.empty())
        return text;

    for (const BlockRecord& block : Blocks())
        for (const OptionInfo& option : block.options)
            candidates.push_back(option.name);
    for (const Action& action : Actions())
        candidates.push_back(action.name);
    for (std::string& function : NdlFunctionNames(NodeRegistry::Standard()))
        candidates.push_back(std::move(function));
    if (const std::string why = WhyMissingAction(topic); !why.empty())
        Fail(ErrorKind::Usage, "no help: action '", topic, "' is not there: ", why);
    Fail(ErrorKind::Usage, "no help on '", topic,
         "'; cntk --help lists actions, blocks, readers, functions of networks and commands of the edit action",
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
