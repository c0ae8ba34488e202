// One table of the keys that may stand in each block, from the records of actions, blocks and plugins.
#include "ActionsLib/KnownBlocks.h"

#include "ActionsLib/JobParts/ReaderSource.h"
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "ActionsLib/Networks/SimpleNetworkBuilder.h"
#include "ActionsLib/RootOptions.h"
#include "Common/Config/Tokenizer.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"

#include <algorithm>
#include <initializer_list>

namespace cntk
{

namespace
{

using Options = std::vector<OptionInfo>;

void AddKeys(Options& options, std::initializer_list<const char*> names, bool hasNoEffect = false)
{
    for (const char* name : names)
    {
        OptionInfo info;
        info.name = name;
        info.hasNoEffect = hasNoEffect;
        options.push_back(std::move(info));
    }
}

void AddBlock(Options& options, const std::string& name)
{
    OptionInfo info;
    info.name = name;
    info.type = "block";
    options.push_back(std::move(info));
}

void Append(Options& options, const Options& more)
{
    options.insert(options.end(), more.begin(), more.end());
}

// Old configs describe the original's binary cache in the reader, in its blocks, and in inner blocks with a
// sectionType. The keys have no effect.
void AddCacheKeys(Options& options)
{
    AddKeys(options, {"writerType", "wfile", "wsize", "wrecords", "windowSize", "wref", "sectionType", "elementSize"},
            true);
}

// The parameters and blocks of a command with this action.
Options OptionsOf(const Action& action)
{
    Options options = action.options;
    AddKeys(options, {"action", "modelPath"}); // modelPath of a training may also stand in SGD
    for (const std::string& block : action.blocks)
        AddBlock(options, block);
    return options;
}

// A reader or writer reads its keys when it is opened. Marks keys that stand around its block as read now.
void MarkKeysAround(const ConfigParameters& block, const Options& options)
{
    for (const OptionInfo& option : options)
    {
        const bool isHere = block.ExistsHere(option.name) ||
                            std::any_of(option.aliases.begin(), option.aliases.end(),
                                        [&](const std::string& alias) { return block.ExistsHere(alias); });
        if (isHere || option.hasNoEffect)
            continue;
        try
        {
            FindOption(block, option, false);
        }
        catch (const Error&)
        {
            // The reader will report the wrong value.
        }
    }
}

class KnownBlockTable
{
public:
    std::vector<KnownBlock> blocks;

    void AddCommand(const ConfigParameters& holder, const std::string& name, const Action& action)
    {
        Options options = OptionsOf(action);
        AddKeys(options, {"deviceId", "traceLevel"}); // in old configs also in commands without a use for them
        std::string spelled = name;
        for (const std::string& other : holder.BlockNames())
            if (EqualsIgnoreCase(other, name))
                spelled = other;
        // The parent tells the command from a stream of the same name.
        blocks.push_back({spelled, {holder.Parent() ? holder.Name() : ""}, std::move(options)});
        const ConfigParameters* const own = holder.FindBlock(name);
        if (own == nullptr)
            return;
        for (const std::string& inner : action.blocks)
            if (IsReaderBlock(inner) || inner == "writer")
                AddReader(*own, inner);
            else if (inner.ends_with("coderNetworkBuilder")) // of an encoder or a decoder, by either builder
            {
                blocks.push_back({inner, {}, DescribeOptions<SimpleNetworkOptions>()});
                Append(blocks.back().options, DescribeOptions<NdlNetworkOptions>());
            }
    }

private:
    // The block of a reader (reader, cvReader, ...) or writer and all stream blocks inside it.
    void AddReader(const ConfigParameters& command, const std::string& name)
    {
        const ConfigParameters* const reader = command.FindBlock(name);
        if (reader == nullptr)
            return;
        if (reader->ExistsHere("readers"))
            return AddComposite(*reader, name);
        const bool isWriter = name == "writer";
        const auto description = isWriter ? DescriptionOfWriter(*reader) : DescriptionOfReader(*reader);
        if (!description)
            return;
        AddLevel(*description, isWriter ? "writer" : "", isWriter ? "writer:" : "", *reader);
        // Blocks that are complete readers of the same type (LUSequenceReader).
        if (const auto parts = reader->ExistsHere("ioNodeNames") ? reader->FindHere("ioNodeNames") : std::nullopt)
            for (const ConfigValue& part : parts->AsArray())
                if (const ConfigParameters* const inner = reader->FindBlock(part.Text()))
                    AddLevel(*description, "", "", *inner);
        blocks.push_back({reader->Name(), {}, {}});
        AddKeys(blocks.back().options, {isWriter ? "writerType" : "readerType"});
        if (isWriter)
            AddKeys(blocks.back().options, {"unittest"});
    }

    // Keys of the parts may also stand in the composite reader, for all parts.
    void AddComposite(const ConfigParameters& reader, const std::string& name)
    {
        KnownBlock composite{name, {}, {}};
        AddKeys(composite.options, {"readers", "readerType"});
        const size_t first = blocks.size();
        for (const ConfigParameters* const part : PartsOfReader(reader))
        {
            AddBlock(composite.options, part->Name());
            AddReader(reader, part->Name());
            for (size_t i = first; i < blocks.size(); ++i)
                if (EqualsIgnoreCase(part->Name(), blocks[i].name))
                    Append(composite.options, blocks[i].options);
        }
        blocks.push_back(std::move(composite));
    }

    // Adds one level of a reader or writer and the blocks inside it: streams with names of the user's choice
    // ("features", "writer:<node>"), and blocks that hold streams ("input:<stream>"). FindBlockHere marks the inner
    // blocks as used, so that their unused keys are reported; the reader itself uses them only when it is opened.
    void AddLevel(const PluginDescription& description, const std::string& level, const std::string& streamPrefix,
                  const ConfigParameters& block)
    {
        KnownBlock own{block.Name(), {}, {}};
        KnownBlock streams{"*", {block.Name()}, {}};
        std::vector<std::string> holders;
        for (const PluginOption& option : description.options)
        {
            OptionInfo info;
            info.name = option.name;
            info.defaultText = option.defaultText;
            info.doc = option.doc;
            info.aliases = option.aliases;
            info.hasNoEffect = option.hasNoEffect;
            const size_t colon = option.block.find(':');
            if (option.block == level)
                own.options.push_back(std::move(info));
            else if (option.block.starts_with(streamPrefix) && option.block != "writer" &&
                     (!streamPrefix.empty() || colon == std::string::npos))
                streams.options.push_back(std::move(info));
            else if (streamPrefix.empty() && colon != std::string::npos && !option.block.starts_with("writer:"))
                holders.push_back(option.block.substr(0, colon));
        }
        MarkKeysAround(block, own.options);
        for (const std::string& inner : block.BlockNames())
        {
            AddBlock(own.options, inner);
            const ConfigParameters* const found = block.FindBlockHere(inner);
            const auto holder = std::find_if(holders.begin(), holders.end(),
                                             [&](const std::string& known) { return EqualsIgnoreCase(known, inner); });
            if (holder != holders.end())
            {
                AddLevel(description, *holder, *holder + ":", *found);
                Append(own.options, blocks.back().options); // keys of its streams may stand two levels higher
            }
            else if (found != nullptr)
            {
                MarkKeysAround(*found, streams.options);
                AddSections(*found, streams);
            }
        }
        AddCacheKeys(own.options);
        AddCacheKeys(streams.options);
        Append(own.options, streams.options); // keys of streams may stand one level higher, for all streams
        blocks.push_back(std::move(own));
        blocks.push_back(std::move(streams));
    }

    // The blocks of a stream that are sections of a binary file.
    void AddSections(const ConfigParameters& stream, KnownBlock& streams)
    {
        for (const std::string& name : stream.BlockNames())
            if (const ConfigParameters* const section = stream.FindBlockHere(name);
                section != nullptr && section->ExistsHere("sectionType"))
            {
                blocks.push_back({name, {stream.Name()}, {}});
                AddKeys(blocks.back().options, {"dim", "labelDim", "labelType", "labelMappingFile", "compute"});
                AddCacheKeys(blocks.back().options);
                AddBlock(streams.options, name);
            }
    }
};

// The actions of a block that is a command of its own.
std::vector<const Action*> ActionsIn(const ConfigParameters& block)
{
    std::vector<const Action*> actions;
    if (const auto words = block.FindHere("action"))
        for (const ConfigValue& word : words->AsArray())
            if (const Action* const action = FindAction(word.Text()))
                actions.push_back(action);
    if (actions.empty())
        actions = {FindAction("train"), FindAction("test")};
    return actions;
}

// The variables of all scripts that the config names. Commands that do not run now do not read their scripts.
Options VariablesOfScripts(const ConfigParameters& root)
{
    Options variables;
    for (const NamedFile& file : FilesNamedIn(root))
    {
        const std::string key = file.key.substr(file.key.rfind(':') + 1);
        if (!EqualsIgnoreCase(key, "networkDescription") && !EqualsIgnoreCase(key, "ndlMacros") &&
            !EqualsIgnoreCase(key, "editPath"))
            continue;
        try
        {
            const std::string text = ReadTextFile(file.path);
            for (auto variable = NextVariable(text, 0); variable; variable = NextVariable(text, variable->end))
                AddKeys(variables, {std::string(variable->name).c_str()});
        }
        catch (const Error&)
        {
            // The command that needs the script will report why it cannot be read.
        }
    }
    return variables;
}

} // namespace

std::vector<KnownBlock> KnownBlocksOf(const ConfigParameters& root,
                                      const std::vector<std::pair<std::string, const Action*>>& commands)
{
    KnownBlockTable table;
    table.blocks.push_back({"", {}, DescribeOptions<RootOptions>()});
    table.blocks.push_back({"", {}, VariablesOfScripts(root)});
    for (const BlockRecord& block : Blocks())
        if (!block.parent.empty())
            table.blocks.push_back({block.name, {}, block.options});
    // Root values may be defaults for commands that do not run now.
    for (const Action& action : Actions())
        table.blocks.push_back({"of a " + action.name + " command", {}, OptionsOf(action)});
    for (const auto& [name, action] : commands)
    {
        table.AddCommand(root, name, *action);
        // createLabelMap reads the reader of another block, which may stand in the command itself.
        const ConfigParameters* const own = root.FindBlock(name);
        const auto section = own != nullptr ? own->FindHere("section") : std::nullopt;
        const ConfigParameters* const read = section ? own->FindBlock(section->Text()) : nullptr;
        if (read == nullptr)
            continue;
        const ConfigParameters& holder = own->FindBlockHere(section->Text()) != nullptr ? *own : root;
        for (const Action* const candidate : ActionsIn(*read))
            table.AddCommand(holder, section->Text(), *candidate);
    }
    return std::move(table.blocks);
}

} // namespace cntk
