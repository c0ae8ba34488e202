// Says for each unread key what the user most likely meant.
#include "Common/Config/UnusedKeys.h"

#include "Common/Config/ConfigTree.h"
#include "Common/Error.h"
#include "Common/OddCharacters.h"
#include "Common/Text.h"

#include <algorithm>
#include <cctype>

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

std::string BlockPath(const ConfigParameters& block)
{
    return block.Parent() ? ConfigTree::KeyPathOf(*block.Parent(), block.Name()) : std::string();
}

// "in block 'Train:SGD'" or "at the root of the config"
std::string InBlock(const ConfigParameters& block)
{
    return block.Parent() ? "in block '" + BlockPath(block) + '\'' : "at the root of the config";
}

bool IsWordChar(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

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
        const bool isWhole = (at == 0 || !IsWordChar(lower[at - 1])) &&
                             (at + wanted.size() == lower.size() || !IsWordChar(lower[at + wanted.size()]));
        if (isWhole && (at < begin || at >= end))
            return true;
    }
    return false;
}

class Finder
{
public:
    Finder(const ConfigParameters& root, const std::vector<KnownBlock>& blocks) : m_root(root), m_blocks(blocks) {}

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
            if (message.empty() && IsExpected(*unread.block, *entry))
                continue;
            if (message.empty())
                message = DescribeStray(*unread.block, *entry);
            if (message.empty() && what == What::LikelySlips && !IsNearOwnName(*unread.block, *entry))
                continue;
            if (message.empty())
                message = DescribeUnknown(*unread.block, *entry);
            Add(std::move(message), unread.where);
        }
        AddReplacedWords(m_root);
        return std::move(m_found);
    }

private:
    // Several pieces of one list tell the same.
    void Add(std::string message, const SourcePos& where)
    {
        const bool isNew =
            std::none_of(m_found.begin(), m_found.end(), [&](const UnusedKey& key) { return key.message == message; });
        if (isNew)
            m_found.push_back({std::move(message), where});
    }

    // "command=Train,Test" above the block Test, which takes the stray word's place.
    void AddReplacedWords(const ConfigParameters& block)
    {
        for (const ConfigPiece& word : ConfigTree::Entries(block).replacedWords)
        {
            ConfigEntry entry;
            entry.name = word.View();
            entry.key = word;
            if (std::string message = DescribeStray(block, entry); !message.empty())
                Add(std::move(message), word.Where());
        }
        for (const auto& entry : ConfigTree::Entries(block).entries)
            if (entry->block && entry->isReadAsBlock)
                AddReplacedWords(*entry->block);
    }

    // Names without a value, those included whose place a value took.
    static std::vector<ConfigPiece> WordsOf(const ConfigParameters& block)
    {
        std::vector<ConfigPiece> words = ConfigTree::Entries(block).replacedWords;
        for (const auto& entry : ConfigTree::Entries(block).entries)
            if (entry->values.empty())
                words.push_back(entry->key);
        return words;
    }

    bool IsKnownAs(const KnownBlock& known, const ConfigParameters& block) const
    {
        const bool isName = known.name == "*" ? block.Parent() != nullptr
                                              : EqualsIgnoreCase(known.name, block.Parent() ? block.Name() : "");
        if (!isName || known.parents.empty() || !block.Parent())
            return isName;
        return std::any_of(known.parents.begin(), known.parents.end(),
                           [&](const std::string& parent) { return EqualsIgnoreCase(parent, block.Parent()->Name()); });
    }

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

    // "the block SGD": blocks whose options include the name, or in which a block of that name stands; the root first.
    // Those that accept it without effect only where there is no other.
    std::vector<std::string> HomesOf(std::string_view name) const
    {
        std::vector<std::string> homes = HomesOf(name, false);
        return homes.empty() ? HomesOf(name, true) : homes;
    }
    std::vector<std::string> HomesOf(std::string_view name, bool withoutEffectToo) const
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
                    add(parent);
            for (const OptionInfo& option : known.options)
            {
                if (!HasName(option, name))
                    continue;
                if (!withoutEffectToo && option.hasNoEffect)
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

    bool IsKnownAnywhere(std::string_view name) const
    {
        return std::any_of(m_blocks.begin(), m_blocks.end(),
                           [&](const KnownBlock& known)
                           {
                               return EqualsIgnoreCase(known.name, name) ||
                                      std::any_of(known.options.begin(), known.options.end(),
                                                  [&](const OptionInfo& option) { return HasName(option, name); });
                           });
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
        const std::vector<const OptionInfo*> options = OptionsOf(block);
        return std::none_of(options.begin(), options.end(),
                            [&](const OptionInfo* option)
                            { return HasName(*option, entry.name) && option->type != "block"; });
    }

    bool IsExpected(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        for (const OptionInfo* option : OptionsOf(block))
            if (HasName(*option, entry.name))
                return !IsValueForBlock(block, entry);
        if (block.Parent())
            return false;
        if (IsKnownAnywhere(entry.name))
            return true;
        // Files that several configs share hold variables that some of them do not use.
        if (!entry.isBlock && entry.key.text->IsIncluded(entry.key.begin))
            return NearNames(block, entry).empty();
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

    // The path of a value or a block of that name, inside the block, that somebody read.
    static std::string FindReadBelow(const ConfigParameters& block, std::string_view name)
    {
        for (const auto& entry : ConfigTree::Entries(block).entries)
        {
            if (!entry->isReadAsBlock || !entry->block)
                continue;
            const ConfigEntry* const inner = ConfigTree::FindHere(*entry->block, name);
            if (inner && inner->isRead)
                return ConfigTree::KeyPathOf(*entry->block, inner->name) + "\n" + inner->Where().Location();
            std::string below = FindReadBelow(*entry->block, name);
            if (!below.empty())
                return below;
        }
        return {};
    }

    // A value or a block given on the command line for the whole config that has no effect, since a block has its own.
    std::string DescribeShadowed(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        if (block.Parent() || entry.Where().text->Name() != "command line")
            return {};
        const std::string found = FindReadBelow(block, entry.name);
        if (found.empty())
            return {};
        const std::string path = found.substr(0, found.find('\n'));
        std::string nested;
        std::string closing;
        for (const std::string_view part : Split(path, ':'))
        {
            nested += (nested.empty() ? "" : "=[") + std::string(part);
            closing += ']';
        }
        closing.pop_back();
        return '\'' + (entry.isBlock ? entry.name + "=[...]" : entry.RawTextAsWritten()) + "' has no effect: '" + path +
               "' at " + found.substr(found.find('\n') + 1) + " is nearer; to override it write " + nested +
               (entry.isBlock ? "=[...]" : "=...") + closing;
    }

    std::string DescribeUnknown(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        for (const OptionInfo* option : OptionsOf(block))
            if (HasName(*option, entry.name))
                return '\'' + entry.RawTextAsWritten() + "' has no effect " + InBlock(block) + "; expected a block, " +
                       option->name + "=[ name=value ... ]";
        const std::vector<std::string> homes = HomesOf(entry.name);
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
               (path.empty() ? NearNames(block, entry) : path) + LookalikeIn(entry.name) +
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

    // An alias stands for the parameter only where the user came near to it alone.
    static void AddNames(const OptionInfo& option, std::string_view wanted, std::vector<std::string>& names)
    {
        names.push_back(option.name);
        if (NearestNames(wanted, {option.name}).empty())
            names.insert(names.end(), option.aliases.begin(), option.aliases.end());
    }

    // What may stand in the block, include lines among it.
    std::vector<std::string> NamesIn(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        std::vector<std::string> here;
        for (const OptionInfo* option : OptionsOf(block))
            AddNames(*option, entry.name, here);
        if (!entry.isBlock)
            here.emplace_back("include");
        return here;
    }

    bool IsNearOwnName(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        const std::vector<std::string> here = NamesIn(block, entry);
        return !NearestNames(entry.name, here).empty();
    }

    // "; did you mean ...?": of the names known in the block, else of those known anywhere. Empty where none is near.
    std::string NearNames(const ConfigParameters& block, const ConfigEntry& entry) const
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

    // The last entry whose value ends before the stray key on the same line; pieces without a value do not count.
    static const ConfigEntry* OwnerOf(const ConfigParameters& block, const ConfigPiece& stray)
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
        const std::string_view between = stray.text->Text().substr(
            owner->values.back().end, stray.begin - std::min(stray.begin, owner->values.back().end));
        return between.find('\n') == std::string_view::npos ? owner : nullptr;
    }

    bool IsList(const ConfigParameters& block, std::string_view name) const
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

    // A key without value behind another value on the same line is most likely a part of that value.
    std::string DescribeStray(const ConfigParameters& block, const ConfigEntry& entry) const
    {
        if (entry.isBlock || (!entry.values.empty() && entry.hasEquals) || IsKnownAnywhere(entry.name))
            return {};
        const ConfigEntry* const owner = OwnerOf(block, entry.key);
        if (!owner)
            return {};
        const std::string_view text = entry.key.text->Text();
        const size_t before = text.find_last_not_of(" \t", entry.key.begin - 1);
        const char separator = text[before];
        const size_t begin = owner->key.begin;
        if (separator == ';' || separator == ',')
        {
            const char first = entry.name[0];
            const bool isNumber = (first >= '0' && first <= '9') || first == '.' || first == '-';
            if (!entry.values.empty() || owner->isBlock ||
                !(isNumber || separator == ',' || IsList(block, owner->name)))
                return {};
            // To the end of the record behind the last of the pieces.
            size_t end = entry.key.end;
            for (const ConfigPiece& other : WordsOf(block))
                if (other.text == entry.key.text && other.end > end && !IsKnownAnywhere(other.View()) &&
                    OwnerOf(block, other) == owner)
                    end = other.end;
            const std::string_view written = text.substr(begin, end - begin);
            std::string pieces, mended;
            size_t count = 0;
            bool areDigits = separator == ',';
            std::string rest(written);
            std::replace(rest.begin(), rest.end(), ',', ';');
            for (const std::string_view piece : Split(rest, ';'))
            {
                if (Trim(piece).empty())
                    continue;
                // "0,01": a decimal comma.
                const std::string_view digits = count == 0 ? piece.substr(piece.find('=') + 1) : piece;
                areDigits = areDigits && Trim(digits).find_first_not_of("0123456789") == std::string_view::npos;
                ++count;
                pieces += (pieces.empty() ? "'" : ", '") + std::string(Trim(piece)) + '\'';
                mended += (mended.empty() ? "" : ":") + std::string(Trim(piece));
            }
            std::string decimal = mended;
            std::replace(decimal.begin(), decimal.end(), ':', '.');
            return '\'' + std::string(written) + "' " + InBlock(block) + " falls into " + pieces +
                   ": the elements of a list are separated by ':', write " + mended +
                   (areDigits && count == 2 ? ", or for a fraction " + decimal : "");
        }
        if (separator == ')' || separator == ']' || separator == '}' || separator == '"')
            return '\'' + entry.RawTextAsWritten() + "' " + InBlock(block) + " is not part of the value of '" +
                   owner->name + "', which ends with the '" + separator + "' before it";
        return {};
    }

    const ConfigParameters& m_root;
    const std::vector<KnownBlock>& m_blocks;
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
                                 entry->Where()});
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
    const std::vector<UnusedKey> unused = FindUnusedKeys(root, blocks);
    if (strict && strict->AsBool() && !unused.empty())
    {
        Error error(ErrorKind::Config, unused[0].message, unused[0].where);
        for (size_t i = 1; i < unused.size(); ++i)
            error.AddNote(WithPlace(unused[i]));
        error.AddNote("strictConfig=true (" + strict->Where().Location() + ") makes unused keys an error");
        throw error;
    }
    for (const UnusedKey& key : unused)
        log.Warn(WithPlace(key));
    for (const UnusedKey& key : FindUnresolvedVariables(root))
        log.Warn(WithPlace(key));
}

} // namespace cntk
