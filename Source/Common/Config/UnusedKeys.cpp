// Describes each unread key together with the name, the block or the list that the user most likely meant.
#include "Common/Config/UnusedKeys.h"

#include "Common/Config/ConfigTree.h"
#include "Common/Config/Synonyms.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <optional>

namespace cntk
{

namespace
{

bool HasName(const OptionInfo& option, std::string_view name)
{
    return EqualsIgnoreCase(option.name, name) ||
           std::any_of(option.aliases.begin(), option.aliases.end(),
                       [&](const std::string& alias) { return EqualsIgnoreCase(alias, name); });
}

// The root is known under the empty name: its own name is that of a file.
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

// Adds the option's name, and its aliases if the name itself is not near to the wanted one.
void AddNames(const OptionInfo& option, std::string_view wanted, std::vector<std::string>& names)
{
    names.push_back(option.name);
    if (NearestNames(wanted, {option.name}).empty())
        names.insert(names.end(), option.aliases.begin(), option.aliases.end());
}

// "in block 'Train:SGD'" or "at the root of the config"
std::string InBlock(const ConfigParameters& block)
{
    if (!block.Parent())
        return "at the root of the config";
    return Concat("in block '", ConfigTree::KeyPathOf(*block.Parent(), block.Name()), "'");
}

// "Train=[SGD=[maxEpochs=...]]" for the parts Train, SGD and maxEpochs.
std::string WrittenAs(const std::vector<std::string_view>& parts, const char* value)
{
    std::string written;
    for (const std::string_view part : parts)
        written += (written.empty() ? "" : "=[") + std::string(part);
    return written + value + std::string(parts.size() - 1, ']');
}

// The table of known keys. The blocks outlive it.
class KnownKeys
{
public:
    explicit KnownKeys(const std::vector<KnownBlock>& blocks) : m_blocks(blocks) {}

    std::vector<const OptionInfo*> OptionsOf(const ConfigParameters& block) const
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

    // True for the name of any known block or option.
    bool IsKnown(std::string_view name) const
    {
        return std::any_of(m_blocks.begin(), m_blocks.end(),
                           [&](const KnownBlock& known) { return EqualsIgnoreCase(known.name, name); }) ||
               HasOption([&](const OptionInfo& option) { return HasName(option, name); });
    }

    // True if an option of that name takes a list or a schedule.
    bool IsList(std::string_view name) const
    {
        return HasOption(
            [&](const OptionInfo& option) {
                return HasName(option, name) &&
                       (option.type.starts_with("list") || option.type.starts_with("schedule"));
            });
    }

    // "the block SGD": the blocks that the key belongs in, the root first. Blocks that accept the key without effect
    // count only if no other block knows it.
    std::vector<std::string> HomesOf(std::string_view name) const
    {
        std::vector<std::string> homes = HomesOf(name, false);
        return homes.empty() ? HomesOf(name, true) : homes;
    }

    // The names that may stand in the block.
    std::vector<std::string> NamesIn(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        std::vector<std::string> names;
        for (const OptionInfo* option : OptionsOf(block))
            AddNames(*option, entry.name, names);
        if (!entry.isBlock)
            names.emplace_back("include");
        return names;
    }

    // Returns the block's name for a word of other programs: maxEpochs for epochs. Empty if the block has none.
    std::string SynonymIn(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        const Synonym* const synonym = FindSynonym(entry.name);
        if (synonym == nullptr)
            return {};
        const std::vector<const OptionInfo*> options = OptionsOf(block);
        const bool isKnown = std::any_of(options.begin(), options.end(),
                                         [&](const OptionInfo* option) { return HasName(*option, synonym->names[0]); });
        return isKnown ? synonym->names[0] : std::string();
    }

    // True if the entry's name is probably a misspelt name of the block, or another program's word for one.
    bool IsSlip(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        return !SynonymIn(block, entry).empty() || !NearestNames(entry.name, NamesIn(block, entry)).empty();
    }

    // "; did you mean ...?" with names known in the block, else with names known anywhere. Empty if no name is near.
    std::string NearNames(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        if (const std::string name = SynonymIn(block, entry); !name.empty())
            return "; did you mean '" + name + "'?";
        const std::string near = DidYouMean(entry.name, NamesIn(block, entry));
        if (!near.empty())
            return near;
        std::vector<std::string> anywhere;
        for (const KnownBlock& known : m_blocks)
        {
            if (!known.name.empty() && known.name != "*")
                anywhere.push_back(known.name);
            for (const OptionInfo& option : known.options)
                AddNames(option, entry.name, anywhere);
        }
        return DidYouMean(entry.name, anywhere);
    }

private:
    template <class Predicate>
    bool HasOption(const Predicate& predicate) const
    {
        return std::any_of(m_blocks.begin(), m_blocks.end(),
                           [&](const KnownBlock& known)
                           { return std::any_of(known.options.begin(), known.options.end(), predicate); });
    }

    std::vector<std::string> HomesOf(std::string_view name, bool withoutEffect) const
    {
        std::vector<std::string> homes;
        bool belongsToRoot = false;
        const auto add = [&](const std::string& block, const char* what)
        {
            belongsToRoot = belongsToRoot || block.empty();
            if (!block.empty() && std::find(homes.begin(), homes.end(), what + block) == homes.end())
                homes.push_back(what + block);
        };
        for (const KnownBlock& known : m_blocks)
        {
            if (EqualsIgnoreCase(known.name, name))
                for (const std::string& parent : known.parents)
                    add(parent, "the block ");
            const bool hasOption =
                std::any_of(known.options.begin(), known.options.end(),
                            [&](const OptionInfo& option)
                            { return HasName(option, name) && (withoutEffect || !option.hasNoEffect); });
            if (hasOption && known.name != "*")
                add(known.name, "the block ");
            else if (hasOption)
                for (const std::string& parent : known.parents)
                    add(parent, "a block inside ");
        }
        if (belongsToRoot)
            homes.insert(homes.begin(), "the root of the config");
        return homes;
    }

    const std::vector<KnownBlock>& m_blocks;
};

// ---- Lists that a wrong separator broke up

// A word without a value after a value on the same line.
struct StrayWord
{
    std::string message;        // explains the word and the correction; empty if the word is not stray
    bool breaksNumbers = false; // the word and the value before it are numbers
};

// Returns the keys without a value, including keys that a later value of the same name replaced.
std::vector<ConfigPiece> WordsOf(const ConfigParameters& block)
{
    std::vector<ConfigPiece> words = ConfigTree::Entries(block).replacedWords;
    for (const auto& entry : ConfigTree::Entries(block).entries)
        if (entry->values.empty())
            words.push_back(entry->key);
    return words;
}

// Returns the last entry with a value before the stray word on the same line; null if there is none.
const ConfigEntry* OwnerOf(const ConfigParameters& block, const ConfigPiece& stray)
{
    const ConfigEntry* owner = nullptr;
    for (const auto& entry : ConfigTree::Entries(block).entries)
    {
        if (entry->values.empty() || entry->key.text != stray.text || entry->key.begin >= stray.begin)
            continue;
        if (!owner || entry->key.begin > owner->key.begin)
            owner = entry.get();
    }
    if (!owner)
        return nullptr;
    const size_t end = owner->values.back().end;
    const std::string_view between = stray.text->Text().substr(end, stray.begin - std::min(stray.begin, end));
    return between.find('\n') == std::string_view::npos ? owner : nullptr;
}

// Returns the owner's entry and all pieces of its list, as the user wrote them.
std::string_view ListFrom(const ConfigParameters& block, const ConfigEntry& owner, const ConfigPiece& stray,
                          const KnownKeys& keys)
{
    size_t end = stray.end;
    for (const ConfigPiece& other : WordsOf(block))
        if (other.text == stray.text && other.end > end && !keys.IsKnown(other.View()) &&
            OwnerOf(block, other) == &owner)
            end = other.end;
    return stray.text->Text().substr(owner.key.begin, end - owner.key.begin);
}

bool AreDigits(std::string_view text)
{
    return Trim(text).find_first_not_of("0123456789") == std::string_view::npos;
}

// Describes a list such as "layerSizes=2;50;2". "0,01" may also be a fraction with a decimal comma.
std::string DescribeBrokenList(const ConfigParameters& block, std::string_view written, char separator, bool isNumber)
{
    std::string list(written);
    std::replace(list.begin(), list.end(), ',', ';');
    std::vector<std::string> pieces;
    for (const std::string_view piece : Split(list, ';'))
        if (!Trim(piece).empty())
            pieces.emplace_back(Trim(piece));
    const bool mayBeFraction = separator == ',' && pieces.size() == 2 && AreDigits(pieces[1]) &&
                               AreDigits(std::string_view(pieces[0]).substr(pieces[0].find('=') + 1));
    const std::string begin = Concat("'", written, "' ", InBlock(block), " falls into '", Join(pieces, "', '"), "'");
    if (isNumber && mayBeFraction)
        return Concat(begin, ": expected one number, write for a fraction ", Join(pieces, "."));
    return Concat(begin, ": the elements of a list are separated by ':', write ", Join(pieces, ":"),
                  mayBeFraction ? ", or for a fraction " + Join(pieces, ".") : "");
}

// True for "0.1", "0.1*5" and lists of them, "0.1:0.05*3".
bool AreNumbers(std::string_view text)
{
    const std::vector<std::string_view> elements = Split(text, ':');
    return std::all_of(elements.begin(), elements.end(),
                       [](std::string_view element)
                       {
                           const size_t star = element.find('*');
                           return ParseDouble(Trim(element.substr(0, star))) &&
                                  (star == std::string_view::npos || ParseSize(Trim(element.substr(star + 1))));
                       });
}

StrayWord FindStray(const ConfigParameters& block, const ConfigEntry& entry, const KnownKeys& keys)
{
    if (entry.isBlock || (!entry.values.empty() && entry.hasEquals) || keys.IsKnown(entry.name))
        return {};
    const ConfigEntry* const owner = OwnerOf(block, entry.key);
    if (!owner)
        return {};
    const std::string_view text = entry.key.text->Text();
    const char separator = text[text.find_last_not_of(" \t", entry.key.begin - 1)];
    if (separator == ';' || separator == ',')
    {
        const char first = entry.name[0];
        const bool isNumber = IsDigit(first) || first == '.' || first == '-';
        const bool isPiece = isNumber || separator == ',' || keys.IsList(owner->name);
        if (!entry.values.empty() || owner->isBlock || !isPiece)
            return {};
        const bool breaksNumbers = owner->isRead && AreNumbers(entry.name) && AreNumbers(owner->values.back().View());
        return {DescribeBrokenList(block, ListFrom(block, *owner, entry.key, keys), separator,
                                   keys.IsKnown(owner->name) && !keys.IsList(owner->name)),
                breaksNumbers};
    }
    if (separator == ')' || separator == ']' || separator == '}' || separator == '"')
        return {Concat("'", entry.RawTextAsWritten(), "' ", InBlock(block), " is not part of the value of '",
                       owner->name, "', which ends with the '", separator, "' before it")};
    return {};
}

// ---- Unread keys

// True for a line that another language takes for a comment.
bool IsForeignComment(std::string_view name)
{
    return name.starts_with("//") || name.starts_with("/*") || name.starts_with("--") || name.starts_with('%');
}

// True if the word occurs in the text outside of [begin, end), in any case.
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

// Returns an entry of that name inside the block that something has read, with the block that holds it.
std::pair<const ConfigParameters*, const ConfigEntry*> FindReadBelow(const ConfigParameters& block,
                                                                     std::string_view name)
{
    for (const auto& entry : ConfigTree::Entries(block).entries)
    {
        if (!entry->isReadAsBlock || !entry->block)
            continue;
        const ConfigEntry* const inner = ConfigTree::FindHere(*entry->block, name);
        if (inner && inner->isRead)
            return {entry->block.get(), inner};
        if (const auto below = FindReadBelow(*entry->block, name); below.second)
            return below;
    }
    return {};
}

// Describes a value or block of the command line at the root that has no effect because a block has its own.
std::string DescribeShadowed(const ConfigParameters& block, const ConfigEntry& entry)
{
    if (block.Parent() || entry.Where().text->Name() != "command line")
        return {};
    const auto [holder, found] = FindReadBelow(block, entry.name);
    if (!found)
        return {};
    const std::string path = ConfigTree::KeyPathOf(*holder, found->name);
    return Concat("'", entry.isBlock ? entry.name + "=[...]" : entry.RawTextAsWritten(), "' has no effect: '", path,
                  "' at ", found->Where().Location(), " has precedence; to override it write ",
                  WrittenAs(Split(path, ':'), entry.isBlock ? "=[...]" : "=..."));
}

// Explains how "Train:SGD:maxEpochs" or "Train.SGD.maxEpochs" is written in a config. Empty for other names.
std::string DescribePath(const ConfigParameters& block, const ConfigEntry& entry)
{
    std::string names = entry.name;
    std::replace(names.begin(), names.end(), ':', '.');
    const std::vector<std::string_view> parts = Split(names, '.');
    if (entry.isBlock || parts.size() < 2 || block.FindBlock(parts[0]) == nullptr)
        return {};
    return "; a key of a block is written " + WrittenAs(parts, "=...");
}

class Finder
{
public:
    Finder(const ConfigParameters& root, const std::vector<KnownBlock>& blocks) : m_root(root), m_keys(blocks) {}

    // onlySlips: reports unknown keys only if a name that their block knows is near.
    std::vector<UnusedKey> Find(bool onlySlips)
    {
        for (const ConfigParameters::Unread& unread : m_root.UnreadEntries())
        {
            const ConfigEntry* const entry = ConfigTree::FindHere(*unread.block, unread.name);
            if (!entry)
                continue;
            const ConfigParameters& block = *unread.block;
            StrayWord found{DescribeShadowed(block, *entry)};
            if (found.message.empty())
                found.message = DescribeOtherName(block, *entry);
            if (found.message.empty() && IsExpected(block, *entry))
                continue;
            if (found.message.empty())
                found = FindStray(block, *entry, m_keys);
            if (found.message.empty() && onlySlips && !m_keys.IsSlip(block, *entry))
                continue;
            if (found.message.empty())
                found.message = DescribeUnknown(block, *entry);
            Add(std::move(found), unread.where);
        }
        AddReplacedWords(m_root);
        return std::move(m_found);
    }

private:
    // Several pieces of one list have the same message, which is reported once.
    void Add(StrayWord found, const SourcePos& where)
    {
        if (std::none_of(m_found.begin(), m_found.end(),
                         [&](const UnusedKey& key) { return key.message == found.message; }))
            m_found.push_back({std::move(found.message), where, found.breaksNumbers});
    }

    // Reports stray words that a block of the same name replaced: "command=Train,Test" above the block Test.
    void AddReplacedWords(const ConfigParameters& block)
    {
        for (const ConfigPiece& word : ConfigTree::Entries(block).replacedWords)
        {
            ConfigEntry entry;
            entry.name = word.View();
            entry.key = word;
            if (StrayWord stray = FindStray(block, entry, m_keys); !stray.message.empty())
                Add(std::move(stray), word.Where());
        }
        for (const auto& entry : ConfigTree::Entries(block).entries)
            if (entry->block && entry->isReadAsBlock)
                AddReplacedWords(*entry->block);
    }

    // True for "AutoAdjust=adjustAfterEpoch" in SGD, where a block of that name is expected. A root value may have the
    // name of a block. AutoAdjust="" is the book's way to leave the block out.
    bool IsValueForBlock(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        const bool isEmpty =
            entry.hasEquals && std::all_of(entry.values.begin(), entry.values.end(),
                                           [](const ConfigPiece& value) { return value.View().empty(); });
        if (!block.Parent() || entry.isBlock || isEmpty)
            return false;
        const std::vector<const OptionInfo*> options = m_keys.OptionsOf(block);
        return std::none_of(options.begin(), options.end(),
                            [&](const OptionInfo* option)
                            { return HasName(*option, entry.name) && option->type != "block"; });
    }

    bool IsExpected(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        for (const OptionInfo* option : m_keys.OptionsOf(block))
            if (HasName(*option, entry.name))
                return !IsValueForBlock(block, entry);
        if (block.Parent())
            return false;
        if (m_keys.IsKnown(entry.name))
            return true;
        // Files that several configs share hold variables that some of the configs do not use.
        if (!entry.isBlock && entry.key.text->IsIncluded(entry.key.begin))
            return m_keys.NearNames(block, entry).empty();
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
            // The block is a section in another language, or a command that this run does not use.
        }
        // load=, run= and command= name sections of NDL and the like.
        return HasWordElsewhere(entry.key.text->Text(), entry.name, entry.key.begin, entry.key.end);
    }

    // Describes a parameter that was given under two names with different values.
    std::string DescribeOtherName(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        const ConfigEntry* read = nullptr;
        for (const OptionInfo* option : m_keys.OptionsOf(block))
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
                return {};
            read = ConfigTree::FindHere(block, *found);
        }
        if (!read || entry.isBlock || read->RawText() == entry.RawText())
            return {};
        return Concat("'", entry.RawTextAsWritten(), "' has no effect ", InBlock(block), ": '",
                      read->RawTextAsWritten(), "' at ", read->Where().Location(), " is the same parameter");
    }

    std::string DescribeUnknown(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        for (const OptionInfo* option : m_keys.OptionsOf(block))
            if (HasName(*option, entry.name))
                return Concat("'", entry.RawTextAsWritten(), "' has no effect ", InBlock(block), "; expected a block, ",
                              option->name, "=[ name=value ... ]");
        std::vector<std::string> homes = m_keys.HomesOf(entry.name);
        if (!homes.empty())
        {
            homes.resize(std::min<size_t>(homes.size(), 3));
            return Concat("'", entry.name, "' is not read ", InBlock(block), "; it belongs in ", Join(homes, " or "));
        }
        if (EqualsIgnoreCase(entry.name, "include") && !entry.isBlock)
            return Concat("'", entry.RawTextAsWritten(), "' includes nothing ", InBlock(block),
                          "; an include line begins with include= in its first column: include=", entry.RawText());
        const std::string path = DescribePath(block, entry);
        return Concat(entry.isBlock ? "unused block '" : "unknown key '", entry.name, "' ", InBlock(block),
                      path.empty() ? m_keys.NearNames(block, entry) : path, LookalikeIn(entry.name),
                      IsForeignComment(entry.name) ? "; a comment begins with '#'" : "");
    }

    const ConfigParameters& m_root;
    KnownKeys m_keys;
    std::vector<UnusedKey> m_found;
};

// Adds unread values that refer to a variable without a value.
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
                // The block is not a config block, or this run does not use it.
            }
            continue;
        }
        const std::string raw = entry->RawText();
        if (entry->isRead)
            continue;
        for (auto variable = NextVariable(raw, 0); variable; variable = NextVariable(raw, variable->end))
            if (!ConfigTree::HasVariable(block, variable->name))
                found.push_back({Concat("no variable found with the name '", variable->name, "' for '",
                                        ConfigTree::KeyPathOf(block, entry->name), "', which this run does not use"),
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
    return Finder(root, blocks).Find(false);
}

std::vector<UnusedKey> FindLikelySlips(const ConfigParameters& root, const std::vector<KnownBlock>& blocks)
{
    return Finder(root, blocks).Find(true);
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
    CollectUnresolved(root, unused);
    for (const UnusedKey& key : unused)
        log.Warn(WithPlace(key));
}

} // namespace cntk
