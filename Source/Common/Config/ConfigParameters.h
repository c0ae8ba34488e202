// The config language of the book (3.9, 5.1.3): a tree of blocks, arrays and values with source positions, parsed once.
// Names are case-insensitive. A name is looked up in its block, then in the enclosing blocks, up to the root. If a
// block is found in an enclosing block, it looks up missing names as if it stood in the block that asked for it.
// ConfigTree.cpp implements these classes.
#pragma once

#include "Common/SourceText.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class ConfigParameters;
class ConfigArray;
struct ConfigEntry; // one "name=value" with its positions (ConfigTree.h)

// A value as the user wrote it, with $variables$ resolved, and its source position. Cheap to copy.
class ConfigValue
{
public:
    ConfigValue() = default;
    ConfigValue(std::string text, SourcePos where, const ConfigParameters* block, std::string keyPath);

    // Returns the text without quotes and with braces. A block merged from several blocks gives "[..] [..]".
    const std::string& Text() const;
    const SourcePos& Where() const { return m_where; }
    const std::string& KeyPath() const { return m_keyPath; } // "Train:SGD:minibatchSize"

    // Each function fails (Config) with the key path, the position, the value and the accepted forms.
    bool AsBool() const;
    double AsDouble() const;
    int AsInt() const;
    size_t AsSize() const;
    ConfigArray AsArray() const;

    // Fails (Config) with "'Train:SGD:momentumPerMB' is 'x', expected <expected>" at the value's position.
    [[noreturn]] void FailExpected(std::string_view expected) const;

private:
    friend class ConfigParameters;
    friend class ConfigTree;
    // The text of a block is built at its first use, because most blocks are only read by name.
    mutable std::string m_text;
    mutable bool m_isPending = false;
    SourcePos m_where;
    const ConfigParameters* m_block = nullptr; // the block that holds the value
    const ConfigEntry* m_entry = nullptr;      // null for elements of arrays
    std::string m_keyPath;
};

// An array such as a:b*3:c. An index beyond the end gives the last element, as schedules need.
class ConfigArray
{
public:
    ConfigArray() = default;
    explicit ConfigArray(std::vector<ConfigValue> elements) : m_elements(std::move(elements)) {}

    size_t size() const { return m_elements.size(); }
    bool empty() const { return m_elements.empty(); }
    const ConfigValue& operator[](size_t index) const; // fails if the array is empty
    auto begin() const { return m_elements.begin(); }
    auto end() const { return m_elements.end(); }

private:
    std::vector<ConfigValue> m_elements;
};

// A block. The root block owns the tree.
class ConfigParameters
{
public:
    ~ConfigParameters();
    ConfigParameters(const ConfigParameters&) = delete;
    ConfigParameters& operator=(const ConfigParameters&) = delete;

    // Parses a text as root block, for tests and scripts. The program uses Config/ConfigFiles.h.
    static std::unique_ptr<ConfigParameters> Parse(std::string text, std::string sourceName = "text");

    const std::string& Name() const; // "SGD"; the root: name of the last config file
    const std::string& Path() const; // "exp.cntk:Train:SGD"
    const ConfigParameters* Parent() const;
    const SourcePos& Where() const;

    // Searches this block, then the enclosing blocks, and marks the key as read. The value "default" counts as absent.
    std::optional<ConfigValue> Find(std::string_view name) const;
    // Searches only this block.
    std::optional<ConfigValue> FindHere(std::string_view name) const;
    bool Exists(std::string_view name) const; // searches enclosing blocks, too; does not mark the key as read
    bool ExistsHere(std::string_view name) const;
    // Fails (Config) with "required parameter missing", the path, the position of the block and near names.
    ConfigValue Require(std::string_view name) const;
    // Returns the position of the value that Find returns, or of this block if there is no value. Does not mark the key
    // as read.
    SourcePos WhereOf(std::string_view name) const;
    // Returns the block of that name in this block or an enclosing block, or null. A scalar of that name is not a block
    // (book pitfall: parallelTrain). Parent() of the result is this block, wherever the block was written.
    const ConfigParameters* FindBlock(std::string_view name) const;
    // Returns the block of that name in this block, or null.
    const ConfigParameters* FindBlockHere(std::string_view name) const;
    const ConfigParameters& RequireBlock(std::string_view name) const;

    // Names of the entries of this block in the order of the text. BlockNames returns only entries whose value is a
    // block.
    std::vector<std::string> Names() const;
    std::vector<std::string> BlockNames() const;
    // Values of this block and of the blocks inside, without values whose variables are undefined. Marks nothing as
    // read.
    std::vector<ConfigValue> Values() const;

    // Adds or replaces a value as if the user had written it (randomize=none of the write action).
    void Set(std::string_view name, std::string value) const;

    // An entry of this block or a block inside that has not been read so far.
    struct Unread
    {
        std::string path;
        std::string name;
        SourcePos where;
        const ConfigParameters* block;
    };
    std::vector<Unread> UnreadEntries() const;

    // Substitutes $name$ in a text as seen from this block (NDL and MEL scripts, book 3.9.3).
    std::string ResolveVariables(std::string_view text, const SourcePos& where) const;

private:
    ConfigParameters();
    friend class ConfigValue;
    friend class ConfigTree;
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace cntk
