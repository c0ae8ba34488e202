// The config tree and the functions of ConfigParameters.h. The records of a level become entries, and blocks of the
// same name merge. The inside of a block is parsed at its first use, so that a config may have sections in other
// languages (NDL).
#include "Common/Config/ConfigTree.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <limits>

namespace cntk
{

namespace
{

// Refuses "1*99999999999", which would only fill the memory.
constexpr size_t c_maxElements = 1'000'000; // about 120 bytes each

// Explains "128 maxEpochs=3", two parameters on a line without a ';'. Empty for other values.
std::string NeighbourHint(std::string_view text)
{
    for (size_t at = text.find_first_of(" \t"); at != std::string_view::npos; at = text.find_first_of(" \t", at))
    {
        const size_t begin = text.find_first_not_of(" \t", at);
        if (begin == std::string_view::npos)
            break;
        at = begin;
        while (at < text.size() && IsNameChar(text[at]))
            ++at;
        const size_t after = text.find_first_not_of(" \t", at);
        if (at > begin && after != std::string_view::npos && text[after] == '=')
            return "; parameters that share a line are separated by ';', here before '" +
                   std::string(text.substr(begin, at - begin)) + "'";
    }
    return {};
}

// Explains "4#old", a value with a comment in it. Empty for other values.
const char* CommentHint(std::string_view text)
{
    const size_t hash = text.find('#');
    const bool isNumber = ParseDouble(text).has_value(); // 1#INF
    return hash == std::string_view::npos || hash == 0 || isNumber ? "" : "; a comment begins after a blank";
}

// Explains two numbers in place of one, which are most likely a list. Empty for other values.
const char* ListHint(std::string_view text)
{
    const size_t gap = text.find_first_of(" \t;|");
    const bool isList =
        gap != std::string_view::npos && ParseDouble(text.substr(0, gap)) && NeighbourHint(text).empty();
    return isList ? "; elements of a list are separated by ':'" : "";
}

} // namespace

// ---- ConfigValue

ConfigValue::ConfigValue(std::string text, SourcePos where, const ConfigParameters* block, std::string keyPath)
    : m_text(std::move(text)), m_where(std::move(where)), m_block(block), m_keyPath(std::move(keyPath))
{
}

const std::string& ConfigValue::Text() const
{
    if (m_isPending)
    {
        m_text = ConfigTree::ResolvedText(*m_block, *m_entry);
        m_isPending = false;
    }
    return m_text;
}

void ConfigValue::FailExpected(std::string_view expected) const
{
    FailAt(m_where, ErrorKind::Config, "'", m_keyPath, "' is '", Text(), "', expected ", expected,
           NeighbourHint(Text()), CommentHint(Text()),
           m_entry && m_entry->values.empty() ? "; a name without a value stands for true" : "");
}

bool ConfigValue::AsBool() const
{
    const std::optional<bool> value = ParseBool(Text());
    if (!value)
        FailExpected("a boolean: true, t or 1, false, f or 0, in any case");
    return *value;
}

double ConfigValue::AsDouble() const
{
    const std::optional<double> value = ParseDouble(Text());
    if (!value)
        FailExpected(std::string("a number such as 0.5, 1e-3, inf or 1#INF") + ListHint(Text()));
    return *value;
}

int ConfigValue::AsInt() const
{
    const std::optional<long long> value = ParseInteger(Text());
    if (!value || *value < std::numeric_limits<int>::min() || *value > std::numeric_limits<int>::max())
        FailExpected(std::string("a whole number between -2147483648 and 2147483647") + ListHint(Text()));
    return static_cast<int>(*value);
}

size_t ConfigValue::AsSize() const
{
    const std::optional<unsigned long long> value = ParseSize(Text());
    if (!value && !Text().empty() && Text().find_first_not_of("0123456789") == std::string::npos)
        FailExpected("a whole number of at most 18446744073709551615");
    if (!value)
        FailExpected(std::string("a whole number that is not negative") + ListHint(Text()));
    return static_cast<size_t>(*value);
}

ConfigArray ConfigValue::AsArray() const
{
    const std::string& text = Text();
    // Positions are exact if the value stands in the source unchanged, without inserted variables.
    const bool isVerbatim = m_where && m_where.text->Text().substr(
                                           std::min(m_where.offset, m_where.text->Text().size()), text.size()) == text;
    const PositionOf positionOf = [&](size_t offset, size_t length) {
        return isVerbatim ? SourcePos{m_where.text, m_where.offset + offset, length} : m_where;
    };

    std::vector<ConfigValue> elements;
    for (const std::string_view part : SplitElements(text, SplitLevel::Array, positionOf))
    {
        const size_t offset = static_cast<size_t>(part.data() - text.data());
        const RepeatedElement repeated = SplitRepeat(part, offset, positionOf, m_entry && m_entry->isQuoted);
        if (repeated.count > c_maxElements - elements.size())
            FailAt(positionOf(offset, part.size()), ErrorKind::Config, "'", m_keyPath, "' has more than ",
                   c_maxElements, " elements");
        const ConfigValue element(std::string(repeated.text), positionOf(offset, part.size()), m_block, m_keyPath);
        elements.insert(elements.end(), repeated.count, element);
    }
    return ConfigArray(std::move(elements));
}

// ---- ConfigArray

const ConfigValue& ConfigArray::operator[](size_t index) const
{
    if (m_elements.empty())
        Fail(ErrorKind::Config, "an element of an empty array was requested");
    return m_elements[std::min(index, m_elements.size() - 1)];
}

// ---- ConfigParameters

ConfigParameters::ConfigParameters() : m_impl(std::make_unique<Impl>()) {}

ConfigParameters::~ConfigParameters() = default;

std::unique_ptr<ConfigParameters> ConfigParameters::Parse(std::string text, std::string sourceName)
{
    const auto source = std::make_shared<const SourceText>(sourceName, std::move(text));
    return ConfigTree::Build(std::make_unique<ConfigText>(source), std::move(sourceName));
}

const std::string& ConfigParameters::Name() const
{
    return m_impl->name;
}

const ConfigParameters* ConfigParameters::Parent() const
{
    return m_impl->parent;
}

const SourcePos& ConfigParameters::Where() const
{
    return m_impl->where;
}

const std::string& ConfigParameters::Path() const
{
    return m_impl->path;
}

ConfigValue ConfigTree::ValueOf(const ConfigParameters& holder, const ConfigEntry& entry)
{
    ConfigValue value;
    value.m_entry = &entry;
    value.m_block = &holder;
    value.m_where = entry.Where();
    value.m_keyPath = KeyPathOf(holder, entry.name);
    value.m_isPending = entry.isBlock;
    if (!entry.isBlock)
        value.m_text = ResolvedText(holder, entry);
    return value;
}

std::optional<ConfigValue> ConfigParameters::FindHere(std::string_view name) const
{
    ConfigEntry* const entry = ConfigTree::FindHere(*this, name);
    if (!entry)
        return std::nullopt;
    entry->isRead = true;
    ConfigValue value = ConfigTree::ValueOf(*this, *entry);
    if (!entry->isBlock && value.Text() == "default")
        return std::nullopt;
    return value;
}

std::optional<ConfigValue> ConfigParameters::Find(std::string_view name) const
{
    for (const ConfigParameters* block = this; block; block = block->Parent())
        if (block->ExistsHere(name))
            return block->FindHere(name);
    return std::nullopt;
}

bool ConfigParameters::ExistsHere(std::string_view name) const
{
    return ConfigTree::FindHere(*this, name) != nullptr;
}

bool ConfigParameters::Exists(std::string_view name) const
{
    for (const ConfigParameters* block = this; block; block = block->Parent())
        if (block->ExistsHere(name))
            return true;
    return false;
}

SourcePos ConfigParameters::WhereOf(std::string_view name) const
{
    for (const ConfigParameters* block = this; block; block = block->Parent())
        if (const ConfigEntry* const entry = ConfigTree::FindHere(*block, name))
            return entry->Where();
    return Where();
}

ConfigValue ConfigParameters::Require(std::string_view name) const
{
    std::vector<std::string> near;
    for (const ConfigParameters* block = this; block; block = block->Parent())
    {
        if (ConfigEntry* const entry = ConfigTree::FindHere(*block, name))
        {
            entry->isRead = true;
            ConfigValue value = ConfigTree::ValueOf(*block, *entry);
            if (!entry->isBlock && value.Text().empty())
                FailAt(value.Where(), ErrorKind::Config, "required parameter missing: ", Path(), ':', name,
                       ": the value of '", value.KeyPath(), "' is empty");
            return value;
        }
        for (std::string& other : block->Names())
            near.push_back(std::move(other));
    }
    FailAt(Where(), ErrorKind::Config, "required parameter missing: ", Path(), ':', name, DidYouMean(name, near));
}

const ConfigParameters* ConfigParameters::FindBlock(std::string_view name) const
{
    for (const ConfigParameters* holder = this; holder; holder = holder->Parent())
    {
        if (const ConfigParameters* const block = holder->FindBlockHere(name))
            return &ConfigTree::SeenFrom(*this, *block);
        ConfigEntry* const entry = ConfigTree::FindHere(*holder, name);
        if (entry && entry->RawText() == "default") // no block, even if an enclosing block has one
        {
            entry->isRead = true;
            return nullptr;
        }
    }
    return nullptr;
}

const ConfigParameters* ConfigParameters::FindBlockHere(std::string_view name) const
{
    ConfigEntry* const entry = ConfigTree::FindHere(*this, name);
    const ConfigParameters* const block = entry ? ConfigTree::BlockOf(*this, *entry) : nullptr;
    if (block)
        entry->isRead = entry->isReadAsBlock = true;
    return block;
}

const ConfigParameters& ConfigParameters::RequireBlock(std::string_view name) const
{
    if (const ConfigParameters* const block = FindBlock(name))
        return *block;
    const ConfigValue value = Require(name);
    const bool isBare = value.m_entry && value.m_entry->values.empty();
    FailAt(value.Where(), ErrorKind::Config, "'", value.KeyPath(), "' is '", value.Text(),
           "', expected a block: [ name=value ... ]",
           isBare ? Concat("; a name without a value stands for true, and the bracket belongs on its line: ",
                           value.m_entry->name, "=[")
                  : "");
}

std::vector<std::string> ConfigParameters::Names() const
{
    std::vector<std::string> names;
    for (const auto& entry : ConfigTree::Entries(*this).entries)
        names.push_back(entry->name);
    return names;
}

std::vector<std::string> ConfigParameters::BlockNames() const
{
    std::vector<std::string> names;
    for (const auto& entry : ConfigTree::Entries(*this).entries)
        if (ConfigTree::BlockOf(*this, *entry))
            names.push_back(entry->name);
    return names;
}

std::vector<ConfigValue> ConfigParameters::Values() const
{
    std::vector<ConfigValue> values;
    for (const auto& entry : ConfigTree::Entries(*this).entries)
    {
        try
        {
            if (const ConfigParameters* const block = ConfigTree::BlockOf(*this, *entry))
                for (ConfigValue& inner : block->Values())
                    values.push_back(std::move(inner));
            else
                values.push_back(ConfigTree::ValueOf(*this, *entry));
        }
        catch (const Error&)
        {
            // The reader of the value will report the error.
        }
    }
    return values;
}

void ConfigParameters::Set(std::string_view name, std::string value) const
{
    ConfigTree::Entries(*this);
    std::string line(name);
    const size_t nameSize = line.size();
    line.append("=").append(value);
    const ConfigText& text = m_impl->tree->Keep(std::move(line), SourcePos{});
    ConfigRecord record;
    record.name = text.Text().substr(0, nameSize);
    record.value = text.Text().substr(nameSize + 1);
    record.hasValue = true;
    record.hasEquals = true;
    ConfigTree::Insert(ConfigTree::Written(*this), text, record);
    ConfigEntry* const entry = ConfigTree::FindHere(*this, name);
    entry->isRead = true;
    entry->isSet = true;
}

std::vector<ConfigParameters::Unread> ConfigParameters::UnreadEntries() const
{
    std::vector<Unread> unread;
    const auto& referenced = m_impl->tree->ReferencedNames();
    for (const auto& entry : ConfigTree::Entries(*this).entries)
    {
        if (entry->isSet)
            continue;
        if (!entry->isRead && !referenced.contains(ToLower(entry->name)))
            unread.push_back({Path(), entry->name, entry->key.Where(), this});
        else if (entry->block && entry->isReadAsBlock)
            for (Unread& inner : entry->block->UnreadEntries())
                unread.push_back(std::move(inner));
    }
    return unread;
}

std::string ConfigParameters::ResolveVariables(std::string_view text, const SourcePos& where) const
{
    return m_impl->tree->Resolve(*this, text, where);
}

// ---- ConfigTree

std::string ConfigEntry::RawText() const
{
    if (values.empty())
        return "true";
    std::string text(values[0].View());
    for (size_t i = 1; i < values.size(); ++i)
        text.append(" ").append(values[i].View());
    return text;
}

std::string ConfigEntry::RawTextAsWritten() const
{
    const size_t end = values.empty() || values.back().text != key.text ? key.end : values.back().end;
    return std::string(key.text->Text().substr(key.begin, end - key.begin));
}

SourcePos ConfigEntry::Where() const
{
    return values.empty() ? key.Where() : values.back().Where();
}

std::unique_ptr<ConfigParameters> ConfigTree::NewBlock(ConfigTree* tree, const ConfigParameters* parent,
                                                       std::string name, SourcePos where)
{
    std::unique_ptr<ConfigParameters> block(new ConfigParameters());
    block->m_impl->tree = tree;
    block->m_impl->parent = parent;
    block->m_impl->path = parent ? parent->Path() + ':' + name : name;
    block->m_impl->name = std::move(name);
    block->m_impl->where = std::move(where);
    return block;
}

std::unique_ptr<ConfigParameters> ConfigTree::Build(std::unique_ptr<ConfigText> text, std::string rootName)
{
    std::unique_ptr<ConfigTree> tree(new ConfigTree());
    std::unique_ptr<ConfigParameters> root = NewBlock(tree.get(), nullptr, std::move(rootName), {});
    tree->m_root = root.get();
    const ConfigText& kept = *tree->m_texts.emplace_back(std::move(text));
    root->m_impl->unparsed.push_back({&kept, 0, kept.Text().size()});
    root->m_impl->ownedTree = std::move(tree);
    ParsePieces(*root);
    return root;
}

void ConfigTree::ParsePieces(const ConfigParameters& block)
{
    std::vector<ConfigPiece> pieces;
    pieces.swap(block.m_impl->unparsed);
    try
    {
        for (const ConfigPiece& piece : pieces)
        {
            const ConfigText& text = *piece.text;
            ForEachRecord(
                piece.View(), [&](size_t offset, size_t length) { return text.At(piece.begin + offset, length); },
                [&](const ConfigRecord& record) { Insert(block, text, record); });
        }
    }
    catch (...)
    {
        // The next access gets the same error instead of half a block.
        block.m_impl->unparsed.insert(block.m_impl->unparsed.begin(), pieces.begin(), pieces.end());
        throw;
    }
}

const ConfigParameters& ConfigTree::Written(const ConfigParameters& block)
{
    return block.m_impl->written != nullptr ? *block.m_impl->written : block;
}

const ConfigParameters& ConfigTree::SeenFrom(const ConfigParameters& asking, const ConfigParameters& block)
{
    if (block.Parent() == &asking)
        return block;
    const ConfigParameters& written = Written(block);
    std::unique_ptr<ConfigParameters>& seen = asking.m_impl->blocksSeenHere[&written];
    if (!seen)
    {
        seen = NewBlock(asking.m_impl->tree, &asking, written.Name(), written.Where());
        seen->m_impl->written = &written;
    }
    return *seen;
}

ConfigParameters::Impl& ConfigTree::Entries(const ConfigParameters& block)
{
    const ConfigParameters& written = Written(block);
    if (!written.m_impl->unparsed.empty())
        ParsePieces(written);
    return *written.m_impl;
}

// Substitutes variables in a name. Returns true if the record was only variables and has been inserted as text.
bool ConfigTree::ExpandKey(const ConfigParameters& block, const ConfigText& text, ConfigRecord& record,
                           std::string& keyText)
{
    ConfigTree& tree = *block.m_impl->tree;
    const ConfigParameters* const scope = block.Parent();
    for (auto variable = NextVariable(record.name, 0); variable; variable = NextVariable(record.name, variable->end))
        if (!tree.FindVariable(*scope, variable->name).first)
            return false;
    const SourcePos where = text.At(static_cast<size_t>(record.name.data() - text.Text().data()), record.name.size());
    keyText = tree.Resolve(*scope, record.name, where);
    if (record.hasValue)
        return false;
    const ConfigText& expanded = tree.Keep(keyText, where);
    ForEachRecord(
        expanded.Text(), [&](size_t, size_t) { return where; },
        [&](const ConfigRecord& inner) { Insert(block, expanded, inner); });
    return true;
}

void ConfigTree::Insert(const ConfigParameters& block, const ConfigText& text, const ConfigRecord& given)
{
    ConfigRecord record = given;
    std::string keyText(record.name);
    // Same as CNTK v1.1, which substitutes variables in a block's text before it parses the block. Names of the root
    // keep their variables.
    if (block.Parent() && NextVariable(record.name, 0) && text.At(0, 1))
    {
        if (ExpandKey(block, text, record, keyText))
            return;
    }

    const auto offsetOf = [&](std::string_view part) { return static_cast<size_t>(part.data() - text.Text().data()); };
    const auto pieceOf = [&](std::string_view part) {
        return ConfigPiece{&text, offsetOf(part), offsetOf(part) + part.size()};
    };
    ConfigParameters::Impl& impl = *block.m_impl;
    if (&text != impl.tree->m_texts.front().get())
        ++impl.tree->m_changes;
    ConfigEntry*& slot = impl.byName[ToLower(keyText)];
    if (!slot)
    {
        slot = impl.entries.emplace_back(std::make_unique<ConfigEntry>()).get();
        slot->name = keyText;
    }
    ConfigEntry& entry = *slot;
    if (entry.key.text && entry.values.empty() && record.hasValue)
        impl.replacedWords.push_back(entry.key);
    const bool isBlock = record.hasValue && !record.isQuoted && record.value.starts_with('[');
    if (!(isBlock && entry.isBlock))
    {
        entry.values.clear();
        entry.block.reset();
    }
    entry.key = pieceOf(record.name);
    entry.isBlock = isBlock;
    entry.isQuoted = record.isQuoted;
    entry.hasEquals = record.hasEquals || !record.hasValue;
    if (record.hasValue)
        entry.values.push_back(pieceOf(record.value));
    if (isBlock && entry.block)
        entry.block->m_impl->unparsed.push_back(entry.values.back());
}

ConfigEntry* ConfigTree::FindHere(const ConfigParameters& block, std::string_view name)
{
    const ConfigParameters::Impl& impl = Entries(block);
    const auto found = impl.byName.find(ToLower(name));
    return found == impl.byName.end() ? nullptr : found->second;
}

const ConfigParameters* ConfigTree::BlockOf(const ConfigParameters& holder, const ConfigEntry& entry)
{
    if (const ConfigParameters& written = Written(holder); &written != &holder)
    {
        const ConfigParameters* const block = BlockOf(written, entry);
        return block != nullptr ? &SeenFrom(holder, *block) : nullptr;
    }
    if (entry.block)
        return entry.block.get();
    ConfigTree* const tree = holder.m_impl->tree;
    if (!entry.isBlock)
    {
        const std::string raw = entry.RawText();
        if (entry.isQuoted || !NextVariable(raw, 0))
            return nullptr;
        std::string text = ResolvedText(holder, entry);
        if (!text.starts_with('['))
            return nullptr;
        entry.block = NewBlock(tree, &holder, entry.name, entry.key.Where());
        const ConfigText& kept = tree->Keep(std::move(text), entry.Where());
        entry.block->m_impl->unparsed.push_back({&kept, 0, kept.Text().size()});
        return entry.block.get();
    }
    entry.block = NewBlock(tree, &holder, entry.name, entry.key.Where());
    entry.block->m_impl->unparsed = entry.values;
    return entry.block.get();
}

const ConfigText& ConfigTree::MainText(const ConfigParameters& block)
{
    return *block.m_impl->tree->m_texts.front();
}

std::string ConfigTree::KeyPathOf(const ConfigParameters& holder, std::string_view name)
{
    std::string path(name);
    for (const ConfigParameters* block = &Written(holder); block->Parent(); block = block->Parent())
        path = block->Name() + ':' + path;
    return path;
}

const ConfigText& ConfigTree::Keep(std::string text, const SourcePos& where)
{
    return *m_texts.emplace_back(std::make_unique<ConfigText>(std::move(text), where));
}

} // namespace cntk
