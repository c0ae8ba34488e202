#include "Common/Config/KnownNames.h"

#include "Common/Config/ConfigTree.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{

namespace
{

// The root's name is that of a file.
std::string_view NameOf(const ConfigParameters& block)
{
    return block.Parent() ? std::string_view(block.Name()) : std::string_view();
}

bool IsKnownAs(const KnownBlock& known, const ConfigParameters& block)
{
    const bool isName = known.name == "*" ? block.Parent() != nullptr : EqualsIgnoreCase(known.name, NameOf(block));
    if (!isName || known.parents.empty() || !block.Parent())
        return isName;
    return std::any_of(known.parents.begin(), known.parents.end(),
                       [&](const std::string& parent) { return EqualsIgnoreCase(parent, NameOf(*block.Parent())); });
}

// An alias stands for the parameter only where the user came near to it alone.
void AddNames(const OptionInfo& option, std::string_view wanted, std::vector<std::string>& names)
{
    names.push_back(option.name);
    if (NearestNames(wanted, {option.name}).empty())
        names.insert(names.end(), option.aliases.begin(), option.aliases.end());
}

} // namespace

bool HasName(const OptionInfo& option, std::string_view name)
{
    return EqualsIgnoreCase(option.name, name) ||
           std::any_of(option.aliases.begin(), option.aliases.end(),
                       [&](const std::string& alias) { return EqualsIgnoreCase(alias, name); });
}

std::vector<const OptionInfo*> KnownNames::OptionsOf(const ConfigParameters& block) const
{
    std::vector<const OptionInfo*> options;
    bool hasOwn = false;
    for (const KnownBlock& known : m_blocks)
    {
        if (!IsKnownAs(known, block) || (known.name == "*" && hasOwn))
            continue;
        hasOwn = hasOwn || known.name != "*";
        for (const OptionInfo& option : known.options)
            options.push_back(&option);
    }
    return options;
}

bool KnownNames::IsKnown(std::string_view name) const
{
    return std::any_of(m_blocks.begin(), m_blocks.end(),
                       [&](const KnownBlock& known)
                       {
                           return EqualsIgnoreCase(known.name, name) ||
                                  std::any_of(known.options.begin(), known.options.end(),
                                              [&](const OptionInfo& option) { return HasName(option, name); });
                       });
}

bool KnownNames::IsList(const ConfigParameters& block, std::string_view name) const
{
    const auto isList = [&](const OptionInfo& option)
    { return HasName(option, name) && (option.type.starts_with("list") || option.type.starts_with("schedule")); };
    for (const OptionInfo* option : OptionsOf(block))
        if (isList(*option))
            return true;
    return std::any_of(m_blocks.begin(), m_blocks.end(),
                       [&](const KnownBlock& known)
                       { return std::any_of(known.options.begin(), known.options.end(), isList); });
}

std::vector<std::string> KnownNames::HomesOf(std::string_view name) const
{
    std::vector<std::string> homes = HomesOf(name, Homes::WithEffect);
    return homes.empty() ? HomesOf(name, Homes::All) : homes;
}

std::vector<std::string> KnownNames::HomesOf(std::string_view name, Homes which) const
{
    std::vector<std::string> homes;
    const auto add = [&](const std::string& home, const char* what = "the block ")
    {
        if (!home.empty() && std::find(homes.begin(), homes.end(), what + home) == homes.end())
            homes.push_back(what + home);
    };
    bool belongsToRoot = false;
    for (const KnownBlock& known : m_blocks)
    {
        if (EqualsIgnoreCase(known.name, name))
            for (const std::string& parent : known.parents)
            {
                belongsToRoot = belongsToRoot || parent.empty();
                add(parent);
            }
        for (const OptionInfo& option : known.options)
        {
            if (!HasName(option, name))
                continue;
            if (which == Homes::WithEffect && option.hasNoEffect)
                continue;
            belongsToRoot = belongsToRoot || known.name.empty();
            if (known.name != "*")
                add(known.name);
            else
                for (const std::string& parent : known.parents)
                    add(parent, "a block inside ");
        }
    }
    if (belongsToRoot)
        homes.insert(homes.begin(), "the root of the config");
    return homes;
}

// What may stand in the block, include lines among it.
std::vector<std::string> KnownNames::NamesIn(const ConfigParameters& block, const ConfigEntry& entry) const
{
    std::vector<std::string> here;
    for (const OptionInfo* option : OptionsOf(block))
        AddNames(*option, entry.name, here);
    if (!entry.isBlock)
        here.emplace_back("include");
    return here;
}

bool KnownNames::IsNearOwnName(const ConfigParameters& block, const ConfigEntry& entry) const
{
    const std::vector<std::string> here = NamesIn(block, entry);
    return !NearestNames(entry.name, here).empty();
}

std::string KnownNames::NearNames(const ConfigParameters& block, const ConfigEntry& entry) const
{
    const std::vector<std::string> here = NamesIn(block, entry);
    std::vector<std::string> anywhere;
    for (const KnownBlock& known : m_blocks)
    {
        if (!known.name.empty() && known.name != "*")
            anywhere.push_back(known.name);
        for (const OptionInfo& option : known.options)
            AddNames(option, entry.name, anywhere);
    }
    const std::string near = DidYouMean(entry.name, here);
    return near.empty() ? DidYouMean(entry.name, anywhere) : near;
}

} // namespace cntk
