// Inside of the config language: entries, blocks that are parsed when first asked for, and the substitution of
// $variables$. Users of configs include ConfigParameters.h only.
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

// A stretch of a config text; it outlives the tree's entries, which only refer to it.
struct ConfigPiece
{
    const ConfigText* text = nullptr;
    size_t begin = 0;
    size_t end = 0;

    std::string_view View() const { return text->Text().substr(begin, end - begin); }
    SourcePos Where() const { return text->At(begin, end - begin); }
};

// One name of a block. A block value has one piece for every "[...]" merged into it, the later ones overriding.
struct ConfigEntry
{
    std::string name;
    ConfigPiece key;
    std::vector<ConfigPiece> values; // none: the name stood alone and means "true"
    bool isBlock = false;
    bool isQuoted = false;
    bool hasEquals = true;
    bool isRead = false;
    bool isSet = false; // by the program, not by the user
    // Found out by those who look.
    mutable bool isReadAsBlock = false;
    mutable std::unique_ptr<ConfigParameters> block; // made when first asked for
    mutable std::string resolved;                    // with variables inserted, as of that change of the tree
    mutable size_t resolvedAt = 0;

    std::string RawText() const;
    // Name and value as they stand in the text.
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
    std::vector<ConfigPiece> replacedWords; // names that stood alone until a value of that name followed
    std::vector<ConfigPiece> unparsed;
    std::unique_ptr<ConfigTree> ownedTree; // root only
    // A block as another block sees it has its own parent and the entries of the block that was written.
    const ConfigParameters* written = nullptr; // null: this one
    std::unordered_map<const ConfigParameters*, std::unique_ptr<ConfigParameters>>
        blocksSeenHere; // by what was written
};

class ConfigTree
{
public:
    // Parses the text as root block; the root owns tree and text.
    static std::unique_ptr<ConfigParameters> Build(std::unique_ptr<ConfigText> text, std::string rootName);

    // All files and arguments.
    static const ConfigText& MainText(const ConfigParameters& block);

    // The block as it stands in the text, which holds the entries.
    static const ConfigParameters& Written(const ConfigParameters& block);
    // The block as if it stood in the asking block: the asking block is its parent. Asked again, the same object.
    static const ConfigParameters& SeenFrom(const ConfigParameters& asking, const ConfigParameters& block);

    // The block's entries, parsed by now.
    static ConfigParameters::Impl& Entries(const ConfigParameters& block);
    static ConfigEntry* FindHere(const ConfigParameters& block, std::string_view name);
    // The block's own ConfigParameters; scalars whose variables expand to "[...]" included. Null for other scalars.
    static const ConfigParameters* BlockOf(const ConfigParameters& holder, const ConfigEntry& entry);
    static ConfigValue ValueOf(const ConfigParameters& holder, const ConfigEntry& entry);
    static std::string KeyPathOf(const ConfigParameters& holder, std::string_view name);
    static std::string ResolvedText(const ConfigParameters& holder, const ConfigEntry& entry);
    // The blocks that were merged into a value, in their order, each as ConfigValue::Text has it; of any other value it
    // alone.
    static std::vector<std::pair<std::string, SourcePos>> PiecesOf(const ConfigValue& value);

    // A text that entries of this tree may refer to.
    const ConfigText& Keep(std::string text, const SourcePos& where);

    // Which value $name$ stands for: in a config the root's, else the innermost block's from the scope outwards; in a
    // script file, which the original resolves as the block sees it, the innermost block's.
    enum class Lookup
    {
        RootFirst,
        InnermostFirst
    };
    // Replaces every $name$.
    std::string Resolve(const ConfigParameters& scope, std::string_view text, const SourcePos& where,
                        Lookup lookup = Lookup::RootFirst);
    // The text of a script file, read for the block.
    static std::string ResolveScript(const ConfigParameters& block, std::string_view text, const SourcePos& where);
    // The entry that $name$ stands for as seen from scope, and the block that holds it; null if there is none.
    std::pair<ConfigEntry*, const ConfigParameters*> FindVariable(const ConfigParameters& scope, std::string_view name,
                                                                  Lookup lookup = Lookup::RootFirst);
    static bool HasVariable(const ConfigParameters& scope, std::string_view name);
    // Folded names of all variables that the user's text refers to anywhere.
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
    std::vector<std::pair<const ConfigEntry*, std::string>> m_resolving; // variables being expanded, to find loops
    std::unordered_set<std::string> m_referenced;
    bool m_hasReferenced = false;
    size_t m_changes = 1; // resolved texts of before the last change are not used
};

} // namespace cntk
