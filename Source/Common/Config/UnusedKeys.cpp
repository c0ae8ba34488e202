// Says for each unread key what the user most likely meant.
#include "Common/Config/UnusedKeys.h"

#include "Common/Characters.h"
#include "Common/Config/ConfigTree.h"
#include "Common/Config/StrayWords.h"
#include "Common/Error.h"
#include "Common/OddCharacters.h"
#include "Common/Text.h"

#include <algorithm>
#include <optional>

namespace cntk
{

namespace
{

// Of a line that other languages take for a comment.
bool IsForeignComment(std::string_view name)
{
    return name.starts_with("//") || name.starts_with("/*") || name.starts_with("--") || name.starts_with('%');
}

// Whether the word stands anywhere in the text outside of [begin, end), in any case.
bool HasWordElsewhere(std::string_view text, std::string_view word, size_t begin, size_t end)
{
    const std::string lower = ToLower(text);
    const std::string wanted = ToLower(word);
    for (size_t at = lower.find(wanted); at != std::string::npos; at = lower.find(wanted, at + 1))
    {
        const bool isWhole = (at == 0 || !IsNameChar(lower[at - 1])) &&
                             (at + wanted.size() == lower.size() || !IsNameChar(lower[at + wanted.size()]));
        if (isWhole && (at < begin || at >= end))
            return true;
    }
    return false;
}

class Finder
{
public:
    Finder(const ConfigParameters& root, const std::vector<KnownBlock>& blocks) : m_root(root), m_names(blocks) {}

    enum class What
    {
        All,
        LikelySlips
    };

    std::vector<UnusedKey> Find(What what = What::All)
    {
        for (const ConfigParameters::Unread& unread : m_root.UnreadEntries())
        {
            const ConfigEntry* const entry = ConfigTree::FindHere(*unread.block, unread.name);
            if (!entry)
                continue;
            std::string message = DescribeShadowed(*unread.block, *entry);
            if (message.empty())
                message = DescribeOtherName(*unread.block, *entry);
            if (message.empty() && IsExpected(*unread.block, *entry))
                continue;
            StrayWord stray;
            if (message.empty())
                stray = FindStray(*unread.block, *entry, m_names);
            if (message.empty())
                message = stray.message;
            if (message.empty() && what == What::LikelySlips && !m_names.IsNearOwnName(*unread.block, *entry))
                continue;
            if (message.empty())
                message = DescribeUnknown(*unread.block, *entry);
            Add(std::move(message), unread.where, stray.breaksNumbers);
        }
        AddReplacedWords(m_root);
        return std::move(m_found);
    }

private:
    // Several pieces of one list tell the same.
    void Add(std::string message, const SourcePos& where, bool isError)
    {
        const bool isNew =
            std::none_of(m_found.begin(), m_found.end(), [&](const UnusedKey& key) { return key.message == message; });
        if (isNew)
            m_found.push_back({std::move(message), where, isError});
    }

    // "command=Train,Test" above the block Test, which takes the stray word's place.
    void AddReplacedWords(const ConfigParameters& block)
    {
        for (const ConfigPiece& word : ConfigTree::Entries(block).replacedWords)
        {
            ConfigEntry entry;
            entry.name = word.View();
            entry.key = word;
            if (StrayWord stray = FindStray(block, entry, m_names); !stray.message.empty())
                Add(std::move(stray.message), word.Where(), stray.breaksNumbers);
        }
        for (const auto& entry : ConfigTree::Entries(block).entries)
            if (entry->block && entry->isReadAsBlock)
                AddReplacedWords(*entry->block);
    }

    // "AutoAdjust=adjustAfterEpoch" inside of SGD, where a block of that name is meant. At the root a value may have
    // the name of a block. AutoAdjust="" is the book's way to say that there is none.
    bool IsValueForBlock(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        const bool isEmpty =
            entry.hasEquals && std::all_of(entry.values.begin(), entry.values.end(),
                                           [](const ConfigPiece& value) { return value.View().empty(); });
        if (!block.Parent() || entry.isBlock || isEmpty)
            return false;
        const std::vector<const OptionInfo*> options = m_names.OptionsOf(block);
        return std::none_of(options.begin(), options.end(),
                            [&](const OptionInfo* option)
                            { return HasName(*option, entry.name) && option->type != "block"; });
    }

    bool IsExpected(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        for (const OptionInfo* option : m_names.OptionsOf(block))
            if (HasName(*option, entry.name))
                return !IsValueForBlock(block, entry);
        if (block.Parent())
            return false;
        if (m_names.IsKnown(entry.name))
            return true;
        // Files that several configs share hold variables that some of them do not use.
        if (!entry.isBlock && entry.key.text->IsIncluded(entry.key.begin))
            return m_names.NearNames(block, entry).empty();
        if (!entry.isBlock)
            return false;
        try
        {
            const ConfigParameters* const inner = ConfigTree::BlockOf(block, entry);
            if (inner && inner->ExistsHere("action"))
                return true;
        }
        catch (const Error&)
        {
            // A section in another language, or a broken block of a command that is not run.
        }
        // Sections of NDL and the like are named by load=, run=, command=.
        const ConfigText& text = *entry.key.text;
        return HasWordElsewhere(text.Text(), entry.name, entry.key.begin, entry.key.end);
    }

    // A value or a block that somebody read: "Train:SGD:maxEpochs", and where it was written.
    struct ReadEntry
    {
        std::string path;
        std::string location;
    };
    // One of that name inside the block.
    static std::optional<ReadEntry> FindReadBelow(const ConfigParameters& block, std::string_view name)
    {
        for (const auto& entry : ConfigTree::Entries(block).entries)
        {
            if (!entry->isReadAsBlock || !entry->block)
                continue;
            const ConfigEntry* const inner = ConfigTree::FindHere(*entry->block, name);
            if (inner && inner->isRead)
                return ReadEntry{ConfigTree::KeyPathOf(*entry->block, inner->name), inner->Where().Location()};
            if (auto below = FindReadBelow(*entry->block, name))
                return below;
        }
        return std::nullopt;
    }

    // A value or a block given on the command line for the whole config that has no effect, since a block has its own.
    static std::string DescribeShadowed(const ConfigParameters& block, const ConfigEntry& entry)
    {
        if (block.Parent() || entry.Where().text->Name() != "command line")
            return {};
        const std::optional<ReadEntry> found = FindReadBelow(block, entry.name);
        if (!found)
            return {};
        std::string nested;
        std::string closing;
        for (const std::string_view part : Split(found->path, ':'))
        {
            nested += (nested.empty() ? "" : "=[") + std::string(part);
            closing += ']';
        }
        closing.pop_back();
        return Concat("'", entry.isBlock ? entry.name + "=[...]" : entry.RawTextAsWritten(), "' has no effect: '",
                      found->path, "' at ", found->location, " is nearer; to override it write ", nested,
                      entry.isBlock ? "=[...]" : "=...", closing);
    }

    // One of two names of a parameter, where the other one is read and says something else.
    std::string DescribeOtherName(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        const ConfigEntry* read = nullptr;
        for (const OptionInfo* option : m_names.OptionsOf(block))
        {
            if (!HasName(*option, entry.name))
                continue;
            std::vector<std::string> names = option->aliases;
            names.push_back(option->name);
            const auto isRead = [&](const std::string& name)
            {
                const ConfigEntry* const other = ConfigTree::FindHere(block, name);
                return other && other != &entry && other->isRead && !other->isBlock;
            };
            const auto found = std::find_if(names.begin(), names.end(), isRead);
            if (found == names.end())
                return {}; // of this option nothing is read here
            read = ConfigTree::FindHere(block, *found);
        }
        if (!read || entry.isBlock || read->RawText() == entry.RawText())
            return {};
        return Concat("'", entry.RawTextAsWritten(), "' has no effect ", InBlock(block), ": '",
                      read->RawTextAsWritten(), "' at ", read->Where().Location(), " is the same parameter");
    }

    std::string DescribeUnknown(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        for (const OptionInfo* option : m_names.OptionsOf(block))
            if (HasName(*option, entry.name))
                return '\'' + entry.RawTextAsWritten() + "' has no effect " + InBlock(block) + "; expected a block, " +
                       option->name + "=[ name=value ... ]";
        const std::vector<std::string> homes = m_names.HomesOf(entry.name);
        if (!homes.empty())
        {
            return '\'' + entry.name + "' is not read " + InBlock(block) + "; it belongs in " +
                   Join({homes.begin(), homes.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(homes.size(), 3))},
                        " or ");
        }
        if (EqualsIgnoreCase(entry.name, "include") && !entry.isBlock)
            return '\'' + entry.RawTextAsWritten() + "' includes nothing " + InBlock(block) +
                   "; an include line begins with include= in its first column: include=" + entry.RawText();
        const std::string path = DescribePath(block, entry);
        return (entry.isBlock ? "unused block '" : "unknown key '") + entry.name + "' " + InBlock(block) +
               (path.empty() ? m_names.NearNames(block, entry) : path) + LookalikeIn(entry.name) +
               (IsForeignComment(entry.name) ? "; a comment begins with '#'" : "");
    }

    // "Train:SGD:maxEpochs", as messages name a key, or with dots between: how it is written.
    static std::string DescribePath(const ConfigParameters& block, const ConfigEntry& entry)
    {
        std::string names = entry.name;
        std::replace(names.begin(), names.end(), ':', '.');
        const std::vector<std::string_view> parts = Split(names, '.');
        if (entry.isBlock || parts.size() < 2 || block.FindBlock(parts[0]) == nullptr)
            return {};
        std::string written;
        for (const std::string_view part : parts)
            written += (written.empty() ? "" : "=[") + std::string(part);
        return "; a key of a block is written " + written + "=..." + std::string(parts.size() - 1, ']');
    }

    const ConfigParameters& m_root;
    KnownNames m_names;
    std::vector<UnusedKey> m_found;
};

void CollectUnresolved(const ConfigParameters& block, std::vector<UnusedKey>& found)
{
    for (const auto& entry : ConfigTree::Entries(block).entries)
    {
        if (entry->isBlock)
        {
            try
            {
                CollectUnresolved(*ConfigTree::BlockOf(block, *entry), found);
            }
            catch (const Error&)
            {
                // Not a config block, or one that is not used.
            }
            continue;
        }
        const std::string raw = entry->RawText();
        if (entry->isRead)
            continue;
        for (auto variable = NextVariable(raw, 0); variable; variable = NextVariable(raw, variable->end))
            if (!ConfigTree::HasVariable(block, variable->name))
                found.push_back({"no variable found with the name '" + std::string(variable->name) + "' for '" +
                                     ConfigTree::KeyPathOf(block, entry->name) + "', which this run does not use",
                                 entry->Where(), false});
    }
}

std::string WithPlace(const UnusedKey& key)
{
    return key.where ? key.where.Location() + ": " + key.message : key.message;
}

} // namespace

std::vector<UnusedKey> FindUnusedKeys(const ConfigParameters& root, const std::vector<KnownBlock>& blocks)
{
    return Finder(root, blocks).Find();
}

std::vector<UnusedKey> FindLikelySlips(const ConfigParameters& root, const std::vector<KnownBlock>& blocks)
{
    return Finder(root, blocks).Find(Finder::What::LikelySlips);
}

std::vector<UnusedKey> FindUnresolvedVariables(const ConfigParameters& root)
{
    std::vector<UnusedKey> found;
    CollectUnresolved(root, found);
    return found;
}

void CheckUnusedKeys(const ConfigParameters& root, const std::vector<KnownBlock>& blocks, Log& log)
{
    const std::optional<ConfigValue> strict = root.Find("strictConfig");
    std::vector<UnusedKey> unused = FindUnusedKeys(root, blocks);
    std::stable_partition(unused.begin(), unused.end(), [](const UnusedKey& key) { return key.isError; });
    const bool isStrict = strict && strict->AsBool();
    if (!unused.empty() && (isStrict || unused[0].isError))
    {
        Error error(ErrorKind::Config, unused[0].message, unused[0].where);
        for (size_t i = 1; i < unused.size(); ++i)
            error.AddNote(WithPlace(unused[i]));
        if (isStrict)
            error.AddNote("strictConfig=true (" + strict->Where().Location() + ") makes unused keys an error");
        throw error;
    }
    for (const UnusedKey& key : unused)
        log.Warn(WithPlace(key));
    for (const UnusedKey& key : FindUnresolvedVariables(root))
        log.Warn(WithPlace(key));
}

} // namespace cntk
