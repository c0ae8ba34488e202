// The registries' records in the form that the search for unused keys wants.
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

namespace cntk
{

namespace
{

OptionInfo InfoOf(const PluginOption& option)
{
    OptionInfo info;
    info.name = option.name;
    info.defaultText = option.defaultText;
    info.doc = option.doc;
    info.aliases = option.aliases;
    info.hasNoEffect = option.hasNoEffect;
    return info;
}

// What may stand in a command of this action: its parameters and its blocks.
std::vector<OptionInfo> OptionsOf(const Action& action)
{
    std::vector<OptionInfo> options = action.options;
    OptionInfo info;
    info.name = "action";
    options.push_back(info);
    info.name = "modelPath"; // of most actions; of training it may stand in SGD as well
    options.push_back(info);
    info.type = "block";
    for (const std::string& block : action.blocks)
    {
        info.name = block;
        options.push_back(info);
    }
    return options;
}

// Old configs describe the original's binary cache in the reader and in its blocks, and in blocks inside of those,
// which say what sectionType they are. Nothing of it is needed.
constexpr const char* c_cacheKeys[] = {"writerType", "wfile", "wsize",       "wrecords",
                                       "windowSize", "wref",  "sectionType", "elementSize"};

void AddCacheKeys(KnownBlock& block)
{
    for (const char* key : c_cacheKeys)
    {
        block.options.push_back(InfoOf({"", key, "", ""}));
        block.options.back().hasNoEffect = true;
    }
}

// The blocks of a stream that are sections of a binary file.
void AddSections(const ConfigParameters& stream, KnownBlock& streams, std::vector<KnownBlock>& blocks)
{
    for (const std::string& name : stream.BlockNames())
    {
        const ConfigParameters* const section = stream.FindBlockHere(name);
        if (section == nullptr || !section->ExistsHere("sectionType"))
            continue;
        KnownBlock known{name, {stream.Name()}, {}};
        for (const char* key : {"dim", "labelDim", "labelType", "labelMappingFile", "compute"})
            known.options.push_back(InfoOf({"", key, "", ""}));
        AddCacheKeys(known);
        blocks.push_back(std::move(known));
        OptionInfo info;
        info.name = name;
        info.type = "block";
        streams.options.push_back(std::move(info));
    }
}

std::string BlockNameOf(const ConfigParameters& holder, std::string_view name)
{
    for (const std::string& spelled : holder.BlockNames())
        if (EqualsIgnoreCase(spelled, name))
            return spelled;
    return std::string(name);
}

// A reader or writer reads its keys when it is opened. Those that its block lacks are marked as read in the blocks
// around it now.
void MarkKeysAround(const ConfigParameters& block, const std::vector<OptionInfo>& options)
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
            // The reader will say what is wrong with the value.
        }
    }
}

// The rows of one level of a reader or writer and of the blocks inside it: streams, which have names of the user's
// choice
// ("features", "writer:<node>"), and blocks that hold streams ("input:<stream>"). FindBlockHere looks into the inner
// blocks now, so that their unread keys count as well; the reader itself looks when it is opened.
void AddRows(const PluginDescription& description, const std::string& level, const std::string& streamPrefix,
             const ConfigParameters& block, std::vector<KnownBlock>& blocks)
{
    KnownBlock own{block.Name(), {}, {}};
    KnownBlock streams{"*", {block.Name()}, {}};
    std::vector<std::string> holders;
    for (const PluginOption& option : description.options)
    {
        const size_t colon = option.block.find(':');
        if (option.block == level)
            own.options.push_back(InfoOf(option));
        else if (option.block.starts_with(streamPrefix) && option.block != "writer" &&
                 (!streamPrefix.empty() || colon == std::string::npos))
            streams.options.push_back(InfoOf(option));
        else if (streamPrefix.empty() && colon != std::string::npos && !option.block.starts_with("writer:"))
            holders.push_back(option.block.substr(0, colon));
    }
    MarkKeysAround(block, own.options);
    for (const std::string& inner : block.BlockNames())
    {
        OptionInfo info;
        info.name = inner;
        info.type = "block";
        own.options.push_back(info);
        const ConfigParameters* const found = block.FindBlockHere(inner);
        const auto holder = std::find_if(holders.begin(), holders.end(),
                                         [&](const std::string& known) { return EqualsIgnoreCase(known, inner); });
        if (holder != holders.end())
        {
            AddRows(description, *holder, *holder + ":", *found, blocks);
            // Two levels higher, too; the last rows are those of its streams.
            own.options.insert(own.options.end(), blocks.back().options.begin(), blocks.back().options.end());
        }
        else if (found != nullptr)
        {
            MarkKeysAround(*found, streams.options);
            AddSections(*found, streams, blocks);
        }
    }
    AddCacheKeys(own);
    AddCacheKeys(streams);
    // A stream's keys may stand one level higher, for all streams at once.
    for (const OptionInfo& option : streams.options)
        own.options.push_back(option);
    blocks.push_back(std::move(own));
    blocks.push_back(std::move(streams));
}

// The reader block (which any action may call reader, cvReader, ...) and all stream blocks inside it.
void AddReader(const ConfigParameters& command, const std::string& name, std::vector<KnownBlock>& blocks)
{
    const ConfigParameters* reader = command.FindBlock(name);
    if (reader == nullptr)
        return;
    if (const auto parts = reader->ExistsHere("readers") ? reader->FindHere("readers") : std::nullopt)
    {
        KnownBlock composite{name, {}, {}};
        composite.options.push_back(InfoOf({"", "readers", "", ""}));
        composite.options.push_back(InfoOf({"", "readerType", "", ""}));
        const size_t first = blocks.size();
        const ConfigArray names = parts->AsArray();
        for (const ConfigValue& part : names)
        {
            OptionInfo block = InfoOf({"", part.Text(), "", ""});
            block.type = "block";
            composite.options.push_back(block);
            if (reader->ExistsHere(part.Text()))
                AddReader(*reader, part.Text(), blocks);
        }
        // What the parts have in common may stand here.
        for (size_t i = first; i < blocks.size(); ++i)
            if (std::any_of(names.begin(), names.end(),
                            [&](const ConfigValue& part) { return EqualsIgnoreCase(part.Text(), blocks[i].name); }))
                composite.options.insert(composite.options.end(), blocks[i].options.begin(), blocks[i].options.end());
        blocks.push_back(std::move(composite));
        return;
    }
    const bool isWriter = name == "writer";
    if (const auto description = isWriter ? DescriptionOfWriter(*reader) : DescriptionOfReader(*reader))
    {
        AddRows(*description, isWriter ? "writer" : "", isWriter ? "writer:" : "", *reader, blocks);
        // Blocks that are complete readers of the same type (LUSequenceReader).
        if (const auto parts = reader->ExistsHere("ioNodeNames") ? reader->FindHere("ioNodeNames") : std::nullopt)
            for (const ConfigValue& part : parts->AsArray())
                if (const ConfigParameters* inner = reader->FindBlock(part.Text()); inner != nullptr)
                    AddRows(*description, "", "", *inner, blocks);
        blocks.push_back({reader->Name(), {}, {InfoOf({"", isWriter ? "writerType" : "readerType", "", ""})}});
        if (isWriter)
            blocks.back().options.push_back(InfoOf({"", "unittest", "", ""}));
    }
}

void AddCommand(const ConfigParameters& holder, const std::string& name, const Action& action,
                std::vector<KnownBlock>& blocks)
{
    // Only there: a stream may have a command's name, which counts in any case.
    blocks.push_back({BlockNameOf(holder, name), {holder.Parent() ? holder.Name() : ""}, OptionsOf(action)});
    // Old configs say these in every command, also of actions that have no use for them.
    for (const char* key : {"deviceId", "traceLevel"})
        blocks.back().options.push_back(InfoOf({"", key, "", ""}));
    const ConfigParameters* own = holder.FindBlock(name);
    if (own == nullptr)
        return;
    for (const std::string& inner : action.blocks)
        if (IsReaderBlock(inner) || inner == "writer")
            AddReader(*own, inner, blocks);
        else if (inner.ends_with("coderNetworkBuilder")) // of an encoder or a decoder, by either builder
        {
            KnownBlock builder{inner, {}, DescribeOptions<SimpleNetworkOptions>()};
            for (OptionInfo& option : DescribeOptions<NdlNetworkOptions>())
                builder.options.push_back(std::move(option));
            blocks.push_back(std::move(builder));
        }
}

// What the block does where it is a command of its own.
std::vector<const Action*> ActionsIn(const ConfigParameters& block)
{
    std::vector<const Action*> actions;
    if (const auto words = block.FindHere("action"))
        for (const ConfigValue& word : words->AsArray())
            if (const Action* const action = FindAction(word.Text()))
                actions.push_back(action);
    if (actions.empty())
        for (const char* name : {"train", "test"})
            actions.push_back(FindAction(name));
    return actions;
}

// Commands that are not run this time do not read their scripts, and not the variables in them.
std::vector<OptionInfo> VariablesOfScripts(const ConfigParameters& root)
{
    std::vector<OptionInfo> variables;
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
                variables.push_back(InfoOf({"", std::string(variable->name), "", ""}));
        }
        catch (const Error&)
        {
            // Who needs the script will say why it cannot be read.
        }
    }
    return variables;
}

} // namespace

std::vector<KnownBlock> KnownBlocksOf(const ConfigParameters& root,
                                      const std::vector<std::pair<std::string, const Action*>>& commands)
{
    std::vector<KnownBlock> blocks;
    blocks.push_back({"", {}, DescribeOptions<RootOptions>()});
    blocks.push_back({"", {}, VariablesOfScripts(root)});
    for (const BlockRecord& block : Blocks())
        if (!block.parent.empty())
            blocks.push_back({block.name, {}, block.options});
    // Root values may be defaults for commands that do not run this time.
    for (const Action& action : Actions())
        blocks.push_back({"of a " + action.name + " command", {}, OptionsOf(action)});
    for (const auto& [name, action] : commands)
    {
        AddCommand(root, name, *action, blocks);
        // createLabelMap reads the reader of another block.
        const ConfigParameters* own = root.FindBlock(name);
        const auto section = own != nullptr ? own->FindHere("section") : std::nullopt;
        const ConfigParameters* const read = section ? own->FindBlock(section->Text()) : nullptr;
        if (read != nullptr) // it may stand in the command itself
            for (const Action* const candidate : ActionsIn(*read))
                AddCommand(own->FindBlockHere(section->Text()) != nullptr ? *own : root, section->Text(), *candidate,
                           blocks);
    }
    return blocks;
}

} // namespace cntk
