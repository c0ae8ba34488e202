// Building the tree: records of a level become entries; blocks of the same name merge; a block's inside is parsed when
// it is first looked into, so that sections in other languages (NDL) may stand in a config.
#include "Common/Config/ConfigTree.h"

#include "Common/Error.h"
#include "Common/Text.h"

namespace cntk
{

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
        // Whoever looks again gets the same error, not half a block.
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

// Substitutes variables in a name. True: the record was nothing but variables and has been inserted as text.
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
    // As the original substitutes in a block's text before it parses it; the root's own names are left as they are.
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
