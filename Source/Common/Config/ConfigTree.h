// Internals of the config language: entries, blocks that are parsed at their first use, and the substitution of
// $variables$. Users of configs include only ConfigParameters.h.
#pragma once

#include "Common/Config/ConfigParameters.h"
#include "Common/Config/ConfigText.h"
#include "Common/Config/Tokenizer.h"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace cntk
{

class ConfigTree;

// A part of a config text. The text outlives the entries of the tree.
struct ConfigPiece
{
    const ConfigText* text = nullptr;
    size_t begin = 0;
    size_t end = 0;

    std::string_view View() const { return text->Text().substr(begin, end - begin); }
    SourcePos Where() const { return text->At(begin, end - begin); }
};

// One name of a block. A block value has one piece for every merged "[...]"; later pieces override earlier ones.
struct ConfigEntry
{
    std::string name;
    ConfigPiece key;
    std::vector<ConfigPiece> values; // empty: the name stood alone and means "true"
    bool isBlock = false;
    bool isQuoted = false;
    bool hasEquals = true;
    bool isRead = false;
    bool isSet = false; // by the program, not by the user
    // Caches.
    mutable bool isReadAsBlock = false;
    mutable std::unique_ptr<ConfigParameters> block; // created at the first use
    mutable std::string resolved;                    // with variables inserted
    mutable size_t resolvedAt = 0;                   // number of changes of the tree when `resolved` was computed

    std::string RawText() const;
    // Returns name and value as the user wrote them.
    std::string RawTextAsWritten() const;
    SourcePos Where() const;
};

struct ConfigParameters::Impl
{
    ConfigTree* tree = nullptr;
    const ConfigParameters* parent = nullptr;
    std::string name;
    std::string path;
    SourcePos where;
    std::vector<std::unique_ptr<ConfigEntry>> entries; // in the order of first appearance
    std::unordered_map<std::string, ConfigEntry*> byName;
    std::vector<ConfigPiece> replacedWords; // names without a value that a later value of the same name replaced
    std::vector<ConfigPiece> unparsed;
    std::unique_ptr<ConfigTree> ownedTree; // root only
    // A block as seen from another block has its own parent and the entries of the written block.
    const ConfigParameters* written = nullptr; // null: this block is the written one
    std::unordered_map<const ConfigParameters*, std::unique_ptr<ConfigParameters>> blocksSeenHere; // by written block
};

class ConfigTree
{
public:
    // Parses the text as root block, which owns the tree and the text.
    static std::unique_ptr<ConfigParameters> Build(std::unique_ptr<ConfigText> text, std::string rootName);

    // Returns the text of all files and arguments.
    static const ConfigText& MainText(const ConfigParameters& block);

    // Returns the block as it stands in the text. That block holds the entries.
    static const ConfigParameters& Written(const ConfigParameters& block);
    // Returns the block as a child of the asking block. Repeated calls return the same object.
    static const ConfigParameters& SeenFrom(const ConfigParameters& asking, const ConfigParameters& block);

    // Returns the block's entries. Parses them if necessary.
    static ConfigParameters::Impl& Entries(const ConfigParameters& block);
    static ConfigEntry* FindHere(const ConfigParameters& block, std::string_view name);
    // Returns the block of an entry, also of a scalar whose variables expand to "[...]". Null for other scalars.
    static const ConfigParameters* BlockOf(const ConfigParameters& holder, const ConfigEntry& entry);
    static ConfigValue ValueOf(const ConfigParameters& holder, const ConfigEntry& entry);
    static std::string KeyPathOf(const ConfigParameters& holder, std::string_view name);
    static std::string ResolvedText(const ConfigParameters& holder, const ConfigEntry& entry);
    // Returns the texts of the blocks that were merged into a value, in order. For other values returns the value's
    // text.
    static std::vector<std::pair<std::string, SourcePos>> PiecesOf(const ConfigValue& value);

    // Stores a text that entries of this tree may refer to.
    const ConfigText& Keep(std::string text, const SourcePos& where);

    // The blocks that are searched for $name$. In a config the root has precedence over the innermost block. In a
    // script file the innermost block has precedence, same as CNTK v1.1.
    enum class Lookup
    {
        RootFirst,
        InnermostFirst
    };
    // Replaces every $name$.
    std::string Resolve(const ConfigParameters& scope, std::string_view text, const SourcePos& where,
                        Lookup lookup = Lookup::RootFirst);
    // Resolves the text of a script file as seen from the block.
    static std::string ResolveScript(const ConfigParameters& block, std::string_view text, const SourcePos& where);
    // Returns the entry that $name$ refers to as seen from scope, and the block that holds it. Null if there is none.
    std::pair<ConfigEntry*, const ConfigParameters*> FindVariable(const ConfigParameters& scope, std::string_view name,
                                                                  Lookup lookup = Lookup::RootFirst);
    static bool HasVariable(const ConfigParameters& scope, std::string_view name);
    // Returns the lower-case names of all variables that occur in the texts.
    const std::unordered_set<std::string>& ReferencedNames();

    static void Insert(const ConfigParameters& block, const ConfigText& text, const ConfigRecord& record);

private:
    ConfigTree() = default;
    static std::unique_ptr<ConfigParameters> NewBlock(ConfigTree* tree, const ConfigParameters* parent,
                                                      std::string name, SourcePos where);
    static void ParsePieces(const ConfigParameters& block);
    static const ConfigParameters* ScopeOf(const ConfigParameters& holder, const ConfigEntry& entry,
                                           std::string_view text);
    static bool ExpandKey(const ConfigParameters& block, const ConfigText& text, ConfigRecord& record,
                          std::string& keyText);

    const ConfigParameters* m_root = nullptr;
    std::vector<std::unique_ptr<ConfigText>> m_texts;
    std::vector<std::pair<const ConfigEntry*, std::string>>
        m_resolving; // variables being expanded, for the detection of loops
    std::unordered_set<std::string> m_referenced;
    bool m_hasReferenced = false;
    size_t m_changes = 1; // number of changes; invalidates older resolved texts
};

} // namespace cntk
