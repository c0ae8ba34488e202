// The names that may stand in the blocks of a config, as the options of its commands, readers and writers say: what
// messages about keys that nobody read suggest.
#pragma once

#include "Common/Config/ConfigParameters.h"
#include "Common/Config/Options.h"

#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct ConfigEntry;

// What may stand in a block. A command's block is known under the command's name with the options of its actions; the
// root under the empty name; all blocks inside a "reader", whatever their names, under the name "*".
struct KnownBlock
{
    std::string name;
    std::vector<std::string> parents; // blocks it stands in, the root under the empty name; empty: anywhere
    std::vector<OptionInfo> options;
};

// By its own name or an alias, in any case.
bool HasName(const OptionInfo& option, std::string_view name);

// The blocks live longer than this.
class KnownNames
{
public:
    explicit KnownNames(const std::vector<KnownBlock>& blocks) : m_blocks(blocks) {}

    // What may stand in the block.
    std::vector<const OptionInfo*> OptionsOf(const ConfigParameters& block) const;
    // Of a block or of an option, wherever it may stand.
    bool IsKnown(std::string_view name) const;
    // The option of that name, in the block or else anywhere, takes a list or a schedule.
    bool IsList(const ConfigParameters& block, std::string_view name) const;

    // "the block SGD": blocks whose options include the name, or in which a block of that name stands; the root first.
    // Those that accept it without effect only where there is no other.
    std::vector<std::string> HomesOf(std::string_view name) const;

    // The entry's name is near to one that its block knows.
    bool IsNearOwnName(const ConfigParameters& block, const ConfigEntry& entry) const;
    // "; did you mean ...?": of the names known in the block, else of those known anywhere. Empty where none is near.
    std::string NearNames(const ConfigParameters& block, const ConfigEntry& entry) const;

private:
    enum class Homes
    {
        WithEffect,
        All
    };
    std::vector<std::string> HomesOf(std::string_view name, Homes which) const;
    std::vector<std::string> NamesIn(const ConfigParameters& block, const ConfigEntry& entry) const;

    const std::vector<KnownBlock>& m_blocks;
};

} // namespace cntk
