// The registries' records in the form that the search for unused keys wants.
#include "ActionsLib/KnownBlocks.h"

#include "ActionsLib/RootOptions.h"
#include "Common/Error.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"

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
    return info;
}

// What may stand in a command of this action: its parameters and its blocks.
std::vector<OptionInfo> OptionsOf(const Action& action)
{
    std::vector<OptionInfo> options = action.options;
    OptionInfo info;
    info.name = "action";
    options.push_back(info);
    info.type = "block";
    for (const std::string& block : action.blocks)
    {
        info.name = block;
        options.push_back(info);
    }
    return options;
}

std::string BlockNameOf(const ConfigParameters& root, std::string_view name)
{
    for (const std::string& spelled : root.BlockNames())
        if (EqualsIgnoreCase(spelled, name))
            return spelled;
    return std::string(name);
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
        for (const char* key : {"readers", "readerType", "randomize", "traceLevel"})
            composite.options.push_back(InfoOf({"", key, "", ""}));
        for (const ConfigValue& part : parts->AsArray())
        {
            OptionInfo block = InfoOf({"", part.Text(), "", ""});
            block.type = "block";
            composite.options.push_back(block);
            if (reader->ExistsHere(part.Text()))
                AddReader(*reader, part.Text(), blocks);
        }
        blocks.push_back(std::move(composite));
        return;
    }
    PluginDescription description;
    try
    {
        const PluginLibrary library = PluginLibrary::Open(ReaderTypeOf(*reader), PluginSearch::Default());
        const auto describe = reinterpret_cast<DescribePluginFunction>(library.FindSymbol("DescribePlugin"));
        if (describe == nullptr)
            return;
        describe(description);
    }
    catch (const Error&)
    {
        return; // reported when the reader is opened, with all that is to be said about it
    }
    KnownBlock own{name, {}, {}};
    KnownBlock streams{"*", {name}, {}};
    for (const PluginOption& option : description.options)
        (option.block.empty() ? own : streams).options.push_back(InfoOf(option));
    // Streams have names of the user's choice.
    for (const std::string& stream : reader->BlockNames())
    {
        OptionInfo info;
        info.name = stream;
        info.type = "block";
        own.options.push_back(info);
    }
    // A stream's keys may stand one level higher, for all streams at once.
    for (const OptionInfo& option : streams.options)
        own.options.push_back(option);
    blocks.push_back(std::move(own));
    blocks.push_back(std::move(streams));
}

void AddCommand(const ConfigParameters& root, const std::string& name, const Action& action,
                std::vector<KnownBlock>& blocks)
{
    blocks.push_back({BlockNameOf(root, name), {}, OptionsOf(action)});
    const ConfigParameters* own = root.FindBlock(name);
    if (own == nullptr)
        return;
    for (const std::string& inner : action.blocks)
        if (inner == "reader" || inner == "cvReader" || inner == "writer")
            AddReader(*own, inner, blocks);
}

} // namespace

std::vector<KnownBlock> KnownBlocksOf(const ConfigParameters& root,
                                      const std::vector<std::pair<std::string, const Action*>>& commands)
{
    std::vector<KnownBlock> blocks;
    blocks.push_back({"", {}, DescribeOptions<RootOptions>()});
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
        if (section && root.FindBlock(section->Text()) != nullptr)
            for (const Action& candidate : Actions())
                if (candidate.name == "train" || candidate.name == "test")
                    AddCommand(root, section->Text(), candidate, blocks);
    }
    return blocks;
}

} // namespace cntk
