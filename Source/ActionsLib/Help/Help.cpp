// The topics of the help on actions, blocks, readers and commands of the edit action; the reference pages.
#include "ActionsLib/Help/Help.h"

#include "ActionsLib/Action.h"
#include "ActionsLib/Help/HelpEntry.h"
#include "ActionsLib/Mel/MelCommands.h"
#include "ActionsLib/Ndl/NdlFunctions.h"
#include "Common/Config/Synonyms.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Interruption.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"
#include "Common/WrappedText.h"

#include <algorithm>
#include <cctype>

namespace cntk
{

namespace
{

bool HasName(const std::string& name, const std::vector<std::string>& aliases, std::string_view topic)
{
    return EqualsIgnoreCase(name, topic) ||
           std::any_of(aliases.begin(), aliases.end(),
                       [&](const std::string& alias) { return EqualsIgnoreCase(alias, topic); });
}

HelpRow RowOf(const OptionInfo& option)
{
    return {.name = option.name,
            .doc = option.doc,
            .aliases = option.aliases,
            .type = option.type,
            .range = option.range,
            .defaultText = option.defaultText,
            .isRequired = option.isRequired};
}

HelpRow RowOf(const PluginOption& option)
{
    return {.name = option.name, .doc = option.doc, .aliases = option.aliases, .defaultText = option.defaultText};
}

template <class Option>
std::vector<HelpRow> RowsOf(const std::vector<Option>& options)
{
    std::vector<HelpRow> rows;
    for (const Option& option : options)
        rows.push_back(RowOf(option));
    return rows;
}

HelpEntry EntryOf(const Action& action)
{
    HelpEntry entry{.heading = action.name,
                    .calls = {"action=" + action.name},
                    .doc = action.doc,
                    .facts = {},
                    .rows = RowsOf(action.options)};
    if (!action.aliases.empty())
        entry.facts.push_back({"Other names", action.aliases});
    if (!action.bookSection.empty())
        entry.facts.push_back({"Book", {"section " + action.bookSection}});
    if (!action.blocks.empty())
        entry.facts.push_back({"Blocks", action.blocks});
    return entry;
}

// The actions that read the block, and the block or action that its record names.
std::vector<std::string> PlacesOf(const BlockRecord& block)
{
    std::vector<std::string> places;
    for (const Action& action : Actions())
        if (std::find(action.blocks.begin(), action.blocks.end(), block.name) != action.blocks.end())
            places.push_back(action.name);
    if (std::find(places.begin(), places.end(), block.parent) == places.end())
        places.push_back(block.parent);
    return places;
}

// "SGD=[ ... ]   in train, adapt"
std::string CallOf(const std::string& block, const std::vector<std::string>& places)
{
    return block + "=[ ... ]   in " + Join(places, ", ");
}

std::string BlockHelp(const BlockRecord& block)
{
    return (block.parent.empty() ? "the root of the config\n" : CallOf(block.name, PlacesOf(block)) + "\n") +
           ForTerminal(
               {.heading = block.name, .calls = {}, .doc = block.doc, .facts = {}, .rows = RowsOf(block.options)});
}

HelpEntry EntryOfPage(const BlockRecord& block)
{
    HelpEntry entry{.heading = block.name, .calls = {}, .doc = block.doc, .facts = {}, .rows = RowsOf(block.options)};
    if (!block.parent.empty())
        entry.facts.push_back({"Stands in", PlacesOf(block)});
    return entry;
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
            const bool isOne = block.empty() || block == "writer";
            text += isOne ? "\nIn the " + (block.empty() ? "reader" : block) + " block:\n"
                          : "\nIn each " + block + " block:\n";
        }
        text += TerminalRow(option.name, DocOf(RowOf(option)));
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

// Help on blocks of actions with the parameters of a plugin or of another block.
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
    std::string text = CallOf(spelled, places) + "\n\n";
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

// Help on the blocks of streams (features, labels), whose parameters depend on the reader.
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

// True if the option takes the word ("one of none|adagrad") or its documentation has the word in capitals ("CLASSLM").
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

// Help on a value, such as adagrad: the parameters that take the value or belong to it.
std::string ValueHelp(std::string_view word)
{
    std::string text;
    for (const BlockRecord& block : Blocks())
        for (const OptionInfo& option : block.options)
            if (HasWord(option, word))
                text += TerminalRow(option.name, "block " + block.name + ": " + DocOf(RowOf(option)));
    for (const Action& action : Actions())
        for (const OptionInfo& option : action.options)
            if (HasWord(option, word) && text.find("\n  " + option.name + " ") == std::string::npos)
                text += TerminalRow(option.name, "action " + action.name + ": " + DocOf(RowOf(option)));
    return text.empty() ? "" : Concat("Parameters that speak of ", word, "\n\n", text);
}

// A row for every place of a parameter of this name.
std::string OptionHelp(std::string_view name)
{
    std::string text;
    const auto add = [&](const std::vector<OptionInfo>& options, const std::string& place)
    {
        for (const OptionInfo& option : options)
            if (option.type != "block" && HasName(option.name, option.aliases, name))
                text += TerminalRow(place, DocOf(RowOf(option)));
    };
    for (const BlockRecord& block : Blocks())
        add(block.options, block.parent.empty() ? block.name : "block " + block.name);
    for (const Action& action : Actions())
        add(action.options, "action " + action.name);
    for (const PluginRecord& plugin : ListPlugins())
        for (const PluginOption& option : plugin.description.options)
            if (HasName(option.name, option.aliases, name))
                text += TerminalRow(option.block.empty() ? plugin.name : plugin.name + ", " + option.block,
                                    DocOf(RowOf(option)));
    text += ParameterHelp(name);
    return text.empty() ? "" : Concat("Parameter ", name, "\n\n", text);
}

// A row for a name of any kind: where it stands, and the begin of its text.
std::string RowOfName(const std::string& name)
{
    const auto find = [&](const std::vector<OptionInfo>& options) -> const OptionInfo*
    {
        const auto found = std::find_if(options.begin(), options.end(),
                                        [&](const OptionInfo& option) {
                                            return option.type != "block" && HasName(option.name, option.aliases, name);
                                        });
        return found == options.end() ? nullptr : &*found;
    };
    for (const BlockRecord& block : Blocks())
    {
        if (EqualsIgnoreCase(block.name, name))
            return TerminalRow(name, "block: " + block.doc);
        if (const OptionInfo* const option = find(block.options))
            return TerminalRow(name, (block.parent.empty() ? "root: " : "block " + block.name + ": ") + option->doc);
    }
    if (const Action* const action = FindAction(name))
        return TerminalRow(name, "action: " + action->doc);
    for (const Action& action : Actions())
    {
        if (const OptionInfo* const option = find(action.options))
            return TerminalRow(name, "action " + action.name + ": " + option->doc);
        if (std::find(action.blocks.begin(), action.blocks.end(), name) != action.blocks.end())
            return TerminalRow(name, "block of action " + action.name);
    }
    if (const NodeType* const type = NodeRegistry::Standard().Find(name))
        return TerminalRow(name, "function of networks: " + type->doc);
    for (const PluginRecord& plugin : ListPlugins())
    {
        if (EqualsIgnoreCase(plugin.name, name))
            return TerminalRow(name, "reader: " + plugin.description.doc);
        for (const PluginOption& option : plugin.description.options)
            if (!option.hasNoEffect && HasName(option.name, option.aliases, name))
                return TerminalRow(name, plugin.name + ": " + option.doc);
    }
    return TerminalRow(name, "cntk --help " + name);
}

// Help on a word of other programs: this program's words for it.
std::string SynonymHelp(std::string_view word)
{
    const Synonym* const synonym = FindSynonym(word);
    if (synonym == nullptr)
        return "";
    std::string text = Wrapped(Concat(word, ": ", synonym->explanation), 0, 0) + "\n\n";
    for (const std::string& name : synonym->names)
        text += RowOfName(name);
    return text;
}

std::string UsageText()
{
    std::string text = "usage: cntk <file>.cntk[+<file>...] [name=value ...] [--check] [--print-config]\n"
                       "       cntk --new <data> [<name>.cntk] [label=<column>]\n"
                       "       cntk argon <options>\n"
                       "       cntk --help [action|block|parameter|reader|function|any word]\n"
                       "       cntk --version\n\n"
                       "Reads the config files in order (also written configFile=<file>), then\n"
                       "name=value as if they stood at the end of the last file, and runs the commands\n"
                       "that command= lists. The help also knows words such as epochs, lr, batch.\n\n";
    for (const ProgramOption& option : ProgramOptions())
        text += TerminalRow(option.name + (option.argument.empty() ? "" : " " + option.argument), option.doc);
    return text;
}

std::vector<std::string> MelCommandNames()
{
    std::vector<std::string> commands;
    for (const MelCommandInfo& command : MelCommands())
        commands.push_back(command.names.front());
    return commands;
}

std::string GeneralHelp()
{
    std::string text = UsageText() + "\nActions:\n";
    for (const Action& action : Actions())
        text += TerminalRow(action.name, action.doc);
    text += "\nBlocks:\n";
    for (const BlockRecord& block : Blocks())
        text += TerminalRow(block.name, block.doc);
    text += "\nReaders and writers: " + Wrapped(Join(PluginNames(), ", "), 21, 21) + "\n";
    text += "Functions of networks: " + Wrapped(Join(FunctionNames(), ", "), 23, 23) + "\n";
    text += "Commands of the edit action: " + Wrapped(Join(MelCommandNames(), ", "), 29, 29) + "\n\n";
    std::vector<std::string> codes;
    for (const ExitCode& code : ExitCodes())
        codes.push_back(Concat(code.code, " ", code.meaning));
    text += "Exit codes: " + Wrapped(Join(codes, ", "), 12, 12) + "\n";
    return text;
}

std::string OptionsPage()
{
    std::string text =
        BeginPage("Parameters of every block") +
        "Names are found in any case, in the block itself and then in the blocks around it. The first value of a "
        "schedule,\n`0.5:0.2*20:0.1`, is for the first epoch; the last value stays. "
        "[ConfigLanguage](ConfigLanguage.md) has the rules.\n\n";
    for (const BlockRecord& block : Blocks())
        text += ForPage(EntryOfPage(block));
    return text;
}

std::string ActionsPage()
{
    std::string text =
        BeginPage("Actions") +
        "A command is a block at the root of the config; its `action` (default: train) says what the command does. "
        "All parameters,\nand `deviceId`, may also stand around the command, for several commands. Parameters of the "
        "whole run,\nsuch as `precision`, stand at the root ([Options](Options.md#root)). [Options](Options.md) also "
        "describes the blocks.\n\n";
    for (const Action& action : Actions())
        text += ForPage(EntryOf(action));
    return text;
}

std::string ReadersPage()
{
    std::string text =
        BeginPage("Readers and writers") +
        "A reader block names its library with `readerType` and holds one block for each stream, named as "
        "the input node that it\nfeeds. Parameters of features or labels may stand in the reader block, for all "
        "streams at "
        "once. Parameters that tell\nfeatures from labels stand in the stream's own block: `dim`, `width` of images "
        "and "
        "`scpFile` of speech for features; `labelDim`,\n`labelType`, `labelMappingFile` and `mlfFile` of speech for "
        "labels. `readers=a:b` reads from several readers, each described in\na block of its own.\n\n";
    for (const PluginRecord& plugin : ListPlugins())
    {
        std::vector<std::vector<std::string>> rows;
        for (const PluginOption& option : plugin.description.options)
            rows.push_back(
                {option.block.empty() ? "reader" : option.block, Code(option.name), Code(option.defaultText),
                 Cell(option.aliases.empty() ? option.doc : option.doc + "; also " + Join(option.aliases, ", "))});
        text += "## " + plugin.name + "\n\n" + plugin.description.doc + "\n\n" +
                PageTable({"block", "parameter", "default", "meaning"}, rows);
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

std::span<const ProgramOption> ProgramOptions()
{
    static const std::vector<ProgramOption> options = {
        {"--new", "DATA", "write a config for a table, a text, or a folder with one sub-folder of images a class"},
        {"--check", "", "read everything, build the networks, read one minibatch; train and write nothing"},
        {"--print-config", "", "print the effective config, each value with the file and line it came from"},
        {"--help", "[TOPIC]", "this list, or help on one topic"},
        {"--version", "", "what is built in"},
        {"--write-docs", "FOLDER", "write the reference pages"},
        {"--write-man", "FOLDER", "write the manual page cntk.1"},
        {"--complete", "WORDS", "candidates for the last word of a command line, for shells"},
    };
    return options;
}

std::span<const ExitCode> ExitCodes()
{
    static const std::vector<ExitCode> codes = {
        {0, "success"}, {2, "command line"},   {3, "config"},    {4, "data"},
        {5, "model"},   {6, "device or disk"}, {70, "internal"}, {c_interruptedExitCode, "stopped"},
    };
    return codes;
}

std::vector<std::string> HelpTopics()
{
    std::vector<std::string> topics;
    for (const Action& action : Actions())
        topics.push_back(action.name);
    for (const BlockRecord& block : Blocks())
        topics.push_back(block.name);
    for (const std::string& plugin : PluginNames())
        topics.push_back(plugin);
    for (const std::vector<std::string>& names : {FunctionNames(), MelCommandNames()})
        topics.insert(topics.end(), names.begin(), names.end());
    return topics;
}

std::string HelpText(std::string_view topic)
{
    if (topic.empty())
        return GeneralHelp();
    std::string text; // a name may have several meanings, which follow one another
    const auto append = [&](const std::string& help)
    {
        if (!text.empty() && !help.empty())
            text += "\n";
        text += help;
    };
    std::vector<std::string> candidates;
    if (const Action* action = FindAction(topic))
        append(ForTerminal(EntryOf(*action)));
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
        if (HasName(plugin.name, aliases, topic))
            append(PluginHelp(plugin));
    }
    for (const MelCommandInfo& command : MelCommands())
    {
        candidates.insert(candidates.end(), command.names.begin(), command.names.end());
        if (HasName(command.names.front(), command.names, topic))
            append(MelHelp(command));
    }
    if (text.empty())
        text = InnerBlockHelp(topic);
    if (text.empty())
        text = StreamBlockHelp(topic);
    append(OptionHelp(topic));
    append(SynonymHelp(topic));
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
        Fail(ErrorKind::Usage, "no help: action '", topic, "' is not supported: ", why);
    for (const Synonym& synonym : Synonyms())
        candidates.insert(candidates.end(), synonym.words.begin(), synonym.words.end());
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
