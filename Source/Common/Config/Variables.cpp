// Substitutes $name$ textually and recursively. A value is resolved in the block that holds it, and the inserted text
// is not scanned again.
#include "Common/Config/ConfigTree.h"
#include "Common/Error.h"
#include "Common/Text.h"

namespace cntk
{

namespace
{

// Limits for chains of variables and for texts that double at each step.
constexpr size_t c_maxDepth = 500;
constexpr size_t c_maxResolvedSize = size_t{1} << 22;

// Removes the innermost variable from the stack at the end of the scope, also after an error.
template <class Stack>
class ScopedPush
{
public:
    ScopedPush(Stack& stack, typename Stack::value_type item) : m_stack(stack) { stack.push_back(std::move(item)); }
    ~ScopedPush() { m_stack.pop_back(); }
    ScopedPush(const ScopedPush&) = delete;
    ScopedPush& operator=(const ScopedPush&) = delete;

private:
    Stack& m_stack;
};

} // namespace

std::pair<ConfigEntry*, const ConfigParameters*> ConfigTree::FindVariable(const ConfigParameters& scope,
                                                                          std::string_view name, Lookup lookup)
{
    if (ConfigEntry* const entry = lookup == Lookup::RootFirst ? FindHere(*m_root, name) : nullptr)
        return {entry, m_root};
    for (const ConfigParameters* block = &scope; block; block = block->Parent())
        if (ConfigEntry* const entry = FindHere(*block, name))
            return {entry, block};
    return {nullptr, nullptr};
}

bool ConfigTree::HasVariable(const ConfigParameters& scope, std::string_view name)
{
    return scope.m_impl->tree->FindVariable(scope, name).first != nullptr;
}

std::string ConfigTree::ResolveScript(const ConfigParameters& block, std::string_view text, const SourcePos& where)
{
    return block.m_impl->tree->Resolve(block, text, where, Lookup::InnermostFirst);
}

std::string ConfigTree::Resolve(const ConfigParameters& scope, std::string_view text, const SourcePos& where,
                                Lookup lookup)
{
    std::string result;
    size_t done = 0;
    for (auto variable = NextVariable(text, 0); variable; variable = NextVariable(text, variable->end))
    {
        SourcePos at = where;
        if (where && where.text->Text().substr(std::min(where.offset, where.text->Text().size()), text.size()) == text)
        {
            at.offset += variable->begin;
            at.length = variable->end - variable->begin;
        }
        const auto [entry, holder] = FindVariable(scope, variable->name, lookup);
        if (!entry)
        {
            std::vector<std::string> names;
            for (const ConfigParameters* block = &scope; block; block = block->Parent())
                for (std::string& name : block->Names())
                    names.push_back(std::move(name));
            FailAt(at, ErrorKind::Config, "no variable found with the name '", variable->name, "' for '$",
                   variable->name, "$'", DidYouMean(variable->name, names));
        }
        for (const auto& active : m_resolving)
        {
            if (active.first != entry)
                continue;
            std::string cycle;
            bool isInside = false;
            for (const auto& [other, name] : m_resolving)
            {
                isInside = isInside || other == entry;
                if (isInside)
                    cycle += name + " -> ";
            }
            FailAt(at, ErrorKind::Config, "variables refer to each other in a loop: ", cycle, entry->name);
        }
        if (m_resolving.size() >= c_maxDepth)
            FailAt(at, ErrorKind::Config, "variables refer to each other more than ", c_maxDepth, " deep");

        entry->isRead = true;
        const std::string value = ResolvedText(*holder, *entry);
        if (value.empty())
            FailAt(at, ErrorKind::Config, "variable '", variable->name, "' is empty, expected a value for '$",
                   variable->name, "$'");
        if (value.find('\n') != std::string::npos)
            FailAt(at, ErrorKind::Config, "variable '", variable->name, "' has a value of several lines (",
                   entry->Where().Location(), "), which cannot be inserted for '$", variable->name, "$'");
        result += text.substr(done, variable->begin - done);
        result += value;
        done = variable->end;
        if (result.size() > c_maxResolvedSize)
            FailAt(at, ErrorKind::Config, "the value grows beyond ", c_maxResolvedSize,
                   " characters when its variables are inserted");
    }
    return result += text.substr(done);
}

std::string ConfigTree::ResolvedText(const ConfigParameters& holder, const ConfigEntry& entry)
{
    ConfigTree& tree = *holder.m_impl->tree;
    std::string raw = entry.RawText();
    if (!NextVariable(raw, 0))
        return raw;
    // A block that several commands share may have a different text in each.
    const bool isWritten = &Written(holder) == &holder;
    if (isWritten && entry.resolvedAt == tree.m_changes)
        return entry.resolved;
    const ScopedPush guard(tree.m_resolving, {&entry, entry.name});
    if (!isWritten)
        return tree.Resolve(*ScopeOf(holder, entry, raw), raw, entry.Where());
    entry.resolved = tree.Resolve(*ScopeOf(holder, entry, raw), raw, entry.Where());
    entry.resolvedAt = tree.m_changes;
    return entry.resolved;
}

// Returns the block that variables of a value are searched in: the block inside the value if only that block knows a
// variable of the text.
const ConfigParameters* ConfigTree::ScopeOf(const ConfigParameters& holder, const ConfigEntry& entry,
                                            std::string_view text)
{
    for (auto variable = NextVariable(text, 0); entry.isBlock && variable; variable = NextVariable(text, variable->end))
        if (!holder.m_impl->tree->FindVariable(holder, variable->name).first)
            return BlockOf(holder, entry);
    return &holder;
}

std::vector<std::pair<std::string, SourcePos>> ConfigTree::PiecesOf(const ConfigValue& value)
{
    if (value.m_entry == nullptr || value.m_entry->values.size() < 2)
        return {{value.Text(), value.Where()}};
    const ConfigEntry& entry = *value.m_entry;
    ConfigTree& tree = *value.m_block->m_impl->tree;
    const ScopedPush guard(tree.m_resolving, {&entry, entry.name});
    std::vector<std::pair<std::string, SourcePos>> pieces;
    for (const ConfigPiece& piece : entry.values)
        pieces.emplace_back(tree.Resolve(*ScopeOf(*value.m_block, entry, piece.View()), piece.View(), piece.Where()),
                            piece.Where());
    return pieces;
}

const std::unordered_set<std::string>& ConfigTree::ReferencedNames()
{
    if (m_hasReferenced)
        return m_referenced;
    for (const std::unique_ptr<ConfigText>& text : m_texts)
        for (auto variable = NextVariable(text->Text(), 0); variable;
             variable = NextVariable(text->Text(), variable->end))
            m_referenced.insert(ToLower(variable->name));
    m_hasReferenced = true;
    return m_referenced;
}

} // namespace cntk
