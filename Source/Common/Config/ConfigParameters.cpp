// Look-up through the enclosing blocks, and the typed reading of values.
#include "Common/Config/ConfigParameters.h"

#include "Common/Characters.h"
#include "Common/Config/ConfigTree.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <limits>

namespace cntk
{

namespace
{

// No schedule or shape has more elements; "1*99999999999" would only eat the memory.
constexpr size_t c_maxElements = 10'000'000;

// "128 maxEpochs=3" is two parameters on a line, which only a ';' would part.
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
        const size_t behind = text.find_first_not_of(" \t", at);
        if (at > begin && behind != std::string_view::npos && text[behind] == '=')
            return "; parameters that share a line are separated by ';', here before '" +
                   std::string(text.substr(begin, at - begin)) + "'";
    }
    return {};
}

// "4#old" holds its comment.
const char* CommentHint(std::string_view text)
{
    const size_t hash = text.find('#');
    const bool isNumber = ParseDouble(text).has_value(); // 1#INF
    return hash == std::string_view::npos || hash == 0 || isNumber ? "" : "; a comment begins behind a blank";
}

// Two numbers where one should be are most likely a list.
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
    // Exact as long as no variable was inserted: then the value stands in the source as it is here.
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
        Fail(ErrorKind::Config, "an element of an empty array is asked for");
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
        if (entry && entry->RawText() == "default") // there is none, whatever stands around
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
            // Who needs the value will say what is wrong with it.
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

} // namespace cntk
